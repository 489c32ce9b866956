//! Pixels become an image: scaled down, encoded, measured. Pure.

use std::fmt::Write as _;

use deskhand_contract::action::ImageBounds;
use deskhand_contract::geometry::Size;
use deskhand_contract::provider::Bitmap;
use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use jpeg_encoder::{ColorType, Encoder};
use sha2::{Digest, Sha256};

/// Quality of a JPEG: text of user interfaces stays readable, and a desktop stays below a few hundred kilobytes.
const QUALITY: u8 = 78;
/// Most pixels that are encoded.
const MAX_AREA: u64 = 64 << 20;

/// An encoded image.
#[derive(Clone)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: Size,
    pub(crate) mime: &'static str,
    /// SHA-256 in hexadecimal.
    pub(crate) sha256: String,
}

/// Encodes `bitmap` as JPEG within `bounds`.
///
/// # Errors
/// A word for what is wrong with the bitmap.
pub(crate) fn jpeg(bitmap: Bitmap, bounds: ImageBounds) -> Result<Encoded, &'static str> {
    let size = bounds.fit(bitmap.size);
    let pixels = tight(bitmap, size)?;
    let (Ok(width), Ok(height)) = (u16::try_from(size.width), u16::try_from(size.height)) else {
        return Err("the image is too large");
    };
    let mut bytes = Vec::with_capacity(pixels.len() / 24);
    Encoder::new(&mut bytes, QUALITY)
        .encode(&pixels, width, height, ColorType::Bgra)
        .map_err(|_| "the image could not be encoded")?;
    let sha256 = hex(&Sha256::digest(&bytes));
    Ok(Encoded { bytes, size, mime: "image/jpeg", sha256 })
}

/// The bitmap's pixels at `size`, rows without gaps.
fn tight(bitmap: Bitmap, size: Size) -> Result<Vec<u8>, &'static str> {
    let source = bitmap.size;
    if source.area() == 0 {
        return Err("the image has no pixel");
    }
    if source.area() > MAX_AREA {
        return Err("the image is too large");
    }
    let (row, rows) = (source.width as usize * 4, source.height as usize);
    let needed = bitmap.stride.checked_mul(rows - 1).and_then(|all| all.checked_add(row));
    if bitmap.stride < row || needed.is_none_or(|needed| bitmap.pixels.len() < needed) {
        return Err("the image's rows do not fit its size");
    }
    let mut pixels = bitmap.pixels;
    if bitmap.stride != row {
        for index in 1..rows {
            pixels.copy_within(index * bitmap.stride..index * bitmap.stride + row, index * row);
        }
    }
    pixels.truncate(row * rows);
    if size == source {
        return Ok(pixels);
    }
    let from = ImageRef::new(source.width, source.height, &pixels, PixelType::U8x4)
        .map_err(|_| "the image's rows do not fit its size")?;
    let mut to = Image::new(size.width, size.height, PixelType::U8x4);
    // The fourth byte is unused, so there is no transparency to weigh.
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear)).use_alpha(false);
    Resizer::new().resize(&from, &mut to, &options).map_err(|_| "the image could not be scaled")?;
    Ok(to.into_vec())
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bitmap(width: u32, height: u32, stride: usize) -> Bitmap {
        let size = Size::new(width, height);
        Bitmap { size, stride, pixels: vec![200; stride * height as usize], source: size }
    }

    #[test]
    fn an_image_is_scaled_down_and_never_up() {
        let whole = jpeg(bitmap(64, 32, 256), ImageBounds::default()).unwrap();
        assert_eq!(whole.size, Size::new(64, 32));
        assert_eq!(whole.bytes[..2], [0xff, 0xd8]);
        assert_eq!(whole.sha256.len(), 64);
        let half = jpeg(bitmap(64, 32, 300), ImageBounds { max_width: Some(32), max_height: None }).unwrap();
        assert_eq!(half.size, Size::new(32, 16));
        let up = jpeg(bitmap(64, 32, 256), ImageBounds { max_width: Some(4_000), max_height: None }).unwrap();
        assert_eq!(up.size, Size::new(64, 32));
    }

    #[test]
    fn broken_bitmaps_are_refused() {
        assert!(jpeg(bitmap(0, 0, 0), ImageBounds::default()).is_err());
        assert!(jpeg(bitmap(64, 32, 255), ImageBounds::default()).is_err());
        let mut short = bitmap(64, 32, 256);
        short.pixels.truncate(100);
        assert!(jpeg(short, ImageBounds::default()).is_err());
        let mut huge = bitmap(1, 1, 4);
        huge.size = Size::new(u32::MAX, u32::MAX);
        assert!(jpeg(huge, ImageBounds::default()).is_err());
    }
}

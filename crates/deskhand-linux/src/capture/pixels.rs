//! Raw rows of the server to plain pixels: blue, green, red, unused; one byte each.

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ImageOrder, VisualClass, Visualid};

use crate::sys::x11::X11;
use crate::sys::x11_shm::Layout;

/// A picture of opaque pixels: four bytes each (blue, green, red, unused), rows without padding.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pixels {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) bytes: Vec<u8>,
}

/// How the server encodes a pixel of one visual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    layout: Layout,
    big_endian: bool,
    red: u32,
    green: u32,
    blue: u32,
    /// Whether the rest of the pixel is opacity, with the colours multiplied by it.
    alpha: bool,
}

impl Encoding {
    /// The encoding of a drawable of `depth` and `visual`, `width` pixels wide; nothing for palettes and other
    /// visuals whose pixels are not colours.
    pub(crate) fn of(x11: &X11, depth: u8, visual: Visualid, width: u16) -> Option<Self> {
        let setup = x11.conn.setup();
        let layout = Layout::of(x11, depth, width)?;
        let depths = setup.roots[x11.screen].allowed_depths.iter().filter(|allowed| allowed.depth == depth);
        let visual = depths.flat_map(|allowed| &allowed.visuals).find(|known| known.visual_id == visual)?;
        if !matches!(visual.class, VisualClass::TRUE_COLOR | VisualClass::DIRECT_COLOR)
            || !matches!(layout.bits_per_pixel, 16 | 24 | 32)
        {
            return None;
        }
        Some(Self {
            layout,
            big_endian: setup.image_byte_order == ImageOrder::MSB_FIRST,
            red: visual.red_mask,
            green: visual.green_mask,
            blue: visual.blue_mask,
            alpha: depth == 32,
        })
    }

    /// Bytes of a row and of a pixel.
    pub(crate) fn layout(self) -> Layout {
        self.layout
    }

    /// Converts `height` rows of `width` pixels. `rows` holds at least that.
    pub(crate) fn decode(self, rows: &[u8], width: u32, height: u32) -> Pixels {
        let row_bytes = width as usize * 4;
        let mut bytes = Vec::with_capacity(row_bytes * height as usize);
        let plain = self.layout.bits_per_pixel == 32
            && !self.big_endian
            && (self.red, self.green, self.blue) == (0x00ff_0000, 0x0000_ff00, 0x0000_00ff);
        for row in rows.chunks_exact(self.layout.stride).take(height as usize) {
            if plain {
                bytes.extend_from_slice(&row[..row_bytes]);
            } else {
                self.decode_row(row, width, &mut bytes);
            }
        }
        if self.alpha {
            over_white(&mut bytes);
        }
        Pixels { width, height, bytes }
    }

    fn decode_row(self, row: &[u8], width: u32, bytes: &mut Vec<u8>) {
        let size = usize::from(self.layout.bits_per_pixel / 8);
        for pixel in row.chunks_exact(size).take(width as usize) {
            let shift = |value: u32, byte: &u8| (value << 8) | u32::from(*byte);
            let value = if self.big_endian { pixel.iter().fold(0, shift) } else { pixel.iter().rev().fold(0, shift) };
            let alpha = if self.alpha { scale(value, !(self.red | self.green | self.blue)) } else { 255 };
            bytes.extend_from_slice(&[
                scale(value, self.blue),
                scale(value, self.green),
                scale(value, self.red),
                alpha,
            ]);
        }
    }
}

impl Pixels {
    /// Paints a rectangle black; parts outside are ignored.
    pub(crate) fn black_out(&mut self, x: i64, y: i64, width: u32, height: u32) {
        let clamp = |value: i64, limit: u32| value.clamp(0, i64::from(limit)) as usize;
        let (left, right) = (clamp(x, self.width), clamp(x + i64::from(width), self.width));
        let (top, bottom) = (clamp(y, self.height), clamp(y + i64::from(height), self.height));
        let stride = self.width as usize * 4;
        for row in self.bytes.chunks_exact_mut(stride.max(1)).take(bottom).skip(top) {
            for pixel in row[left * 4..right * 4].chunks_exact_mut(4) {
                pixel.copy_from_slice(&[0, 0, 0, 255]);
            }
        }
    }
}

/// Colours are multiplied by their opacity already; what shows through is white, as on paper.
fn over_white(bytes: &mut [u8]) {
    for pixel in bytes.chunks_exact_mut(4) {
        let through = 255 - pixel[3];
        if through != 0 {
            for colour in &mut pixel[..3] {
                *colour = colour.saturating_add(through);
            }
            pixel[3] = 255;
        }
    }
}

/// The bits under `mask` as one byte.
fn scale(value: u32, mask: u32) -> u8 {
    if mask == 0 {
        return 255;
    }
    let max = u64::from(mask >> mask.trailing_zeros());
    let bits = u64::from((value & mask) >> mask.trailing_zeros());
    u8::try_from((bits * 255 + max / 2) / max).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(bits_per_pixel: u8, stride: usize, (red, green, blue): (u32, u32, u32)) -> Encoding {
        Encoding { layout: Layout { bits_per_pixel, stride }, big_endian: false, red, green, blue, alpha: false }
    }

    #[test]
    fn every_encoding_gives_the_same_colour() {
        let rgb = (0x00ff_0000, 0xff00, 0xff);
        let eight = encoding(32, 8, rgb).decode(&[3, 2, 1, 99, 6, 5, 4, 99], 2, 1);
        assert_eq!(eight.bytes, [3, 2, 1, 99, 6, 5, 4, 99]);
        let padded = encoding(24, 8, rgb).decode(&[3, 2, 1, 6, 5, 4, 0, 0], 2, 1);
        assert_eq!(padded.bytes, [3, 2, 1, 255, 6, 5, 4, 255]);
        let mut big = encoding(32, 4, rgb);
        big.big_endian = true;
        assert_eq!(big.decode(&[99, 1, 2, 3], 1, 1).bytes, [3, 2, 1, 255]);
        let deep = encoding(32, 4, (0x3ff0_0000, 0x000f_fc00, 0x3ff));
        assert_eq!(deep.decode(&0x3ff0_0000_u32.to_le_bytes(), 1, 1).bytes, [0, 0, 255, 255]);
        let high = encoding(16, 2, (0xf800, 0x07e0, 0x001f));
        assert_eq!(high.decode(&0xffe0_u16.to_le_bytes(), 1, 1).bytes, [0, 255, 255, 255]);
    }

    #[test]
    fn transparency_shows_white() {
        let mut argb = encoding(32, 12, (0x00ff_0000, 0xff00, 0xff));
        argb.alpha = true;
        let pixels = argb.decode(&[0, 0, 0, 0, 1, 2, 3, 255, 0, 0, 100, 100], 3, 1);
        assert_eq!(pixels.bytes, [255, 255, 255, 255, 1, 2, 3, 255, 155, 155, 255, 255]);
    }

    #[test]
    fn black_out_clips() {
        let mut pixels = Pixels { width: 3, height: 2, bytes: vec![9; 24] };
        pixels.black_out(-5, -5, 6, 6);
        assert_eq!(&pixels.bytes[..8], [0, 0, 0, 255, 9, 9, 9, 9]);
        pixels.black_out(2, 1, 100, 100);
        assert_eq!(&pixels.bytes[20..], [0, 0, 0, 255]);
        pixels.black_out(50, 50, u32::MAX, u32::MAX);
        assert_eq!(&pixels.bytes[8..20], [9; 12]);
    }
}

//! The desktop's X display seen from outside: the connection with its own cookie, and its pixels.

use std::os::unix::net::UnixStream;
use std::path::Path;

use x11rb::rust_connection::{DefaultStream, RustConnection};

use super::error::{DesktopError, Fault};
use super::record::DesktopRecord;
use crate::capture::display;
use crate::capture::pixels::Pixels;
use crate::capture::window::NoPicture;
use crate::sys::x11::X11;
use crate::sys::x11_shm::Segments;

/// A look at a desktop's display that can be taken again and again.
pub struct Camera {
    x11: X11,
    segments: Segments,
    record: DesktopRecord,
}

/// What a display showed.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture(Pixels);

impl Camera {
    /// Connects to the desktop's display.
    ///
    /// # Errors
    /// [`Fault::CaptureFailed`], or why the desktop is not ready.
    pub fn of(record: &DesktopRecord) -> Result<Self, DesktopError> {
        let record = record.clone().ready()?;
        let name = record.display_name().unwrap_or_default();
        let (socket, cookie) = reach(&name, &record.xauthority())?;
        let x11 = X11::connect_with(socket, cookie).map_err(|error| failed(&name, &error.to_string()))?;
        Ok(Self { x11, segments: Segments::new(), record })
    }

    /// Takes a picture of the whole display.
    ///
    /// # Errors
    /// [`Fault::CaptureFailed`].
    pub fn take(&self) -> Result<Picture, DesktopError> {
        let name = self.record.display_name().unwrap_or_default();
        let why = |why: &dyn std::fmt::Display| failed(&name, &why.to_string());
        let displays = display::displays(&self.x11).map_err(|error| why(&error))?;
        let rect = displays.first().map(|display| display.rect).ok_or_else(|| why(&"it has no monitor"))?;
        display::take(&self.x11, &self.segments, rect, &[]).map(Picture).map_err(|missing| match missing {
            NoPicture::Gone => why(&"it is gone"),
            NoPicture::NotCapturable(reason) => why(&reason),
            NoPicture::Fault(error) => why(&error),
        })
    }
}

impl std::fmt::Debug for Camera {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Camera({})", self.record.name)
    }
}

impl Picture {
    /// Pixels across.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.0.width
    }

    /// Pixels down.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.0.height
    }

    /// As a PNG file.
    ///
    /// # Errors
    /// [`Fault::CaptureFailed`] where the picture cannot be encoded.
    pub fn png(&self) -> Result<Vec<u8>, DesktopError> {
        let mut rgb = Vec::with_capacity(self.0.bytes.len() / 4 * 3);
        for pixel in self.0.bytes.chunks_exact(4) {
            rgb.extend([pixel[2], pixel[1], pixel[0]]);
        }
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.0.width, self.0.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&rgb)?;
            writer.finish()
        });
        written.map(|()| file).map_err(|error| failed("", &error.to_string()))
    }

    /// As a JPEG file.
    ///
    /// # Errors
    /// [`Fault::CaptureFailed`] where the picture cannot be encoded.
    pub fn jpeg(&self) -> Result<Vec<u8>, DesktopError> {
        let side = |pixels: u32| u16::try_from(pixels).map_err(|_| failed("", "it is too large for JPEG"));
        let (width, height) = (side(self.0.width)?, side(self.0.height)?);
        let mut file = Vec::new();
        jpeg_encoder::Encoder::new(&mut file, JPEG_QUALITY)
            .encode(&self.0.bytes, width, height, jpeg_encoder::ColorType::Bgra)
            .map_err(|error| failed("", &error.to_string()))?;
        Ok(file)
    }
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({}x{})", self.0.width, self.0.height)
    }
}

/// Connects to a display with the cookie in that file, whatever this process's own environment says.
pub(super) fn connect(display: &str, xauthority: &Path) -> Result<(RustConnection, usize), DesktopError> {
    let (socket, cookie) = reach(display, xauthority)?;
    let (stream, _peer) =
        DefaultStream::from_unix_stream(socket).map_err(|error| failed(display, &error.to_string()))?;
    RustConnection::connect_to_stream_with_auth_info(stream, 0, COOKIE_NAME.to_vec(), cookie)
        .map(|connection| (connection, 0))
        .map_err(|error| failed(display, &error.to_string()))
}

fn reach(display: &str, xauthority: &Path) -> Result<(UnixStream, Vec<u8>), DesktopError> {
    let number: u16 = display
        .strip_prefix(':')
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| failed(display, "it has no number"))?;
    let cookie = cookie(xauthority).ok_or_else(|| failed(display, "its cookie cannot be read"))?;
    let socket = UnixStream::connect(format!("/tmp/.X11-unix/X{number}"))
        .map_err(|error| failed(display, &error.to_string()))?;
    Ok((socket, cookie))
}

fn failed(display: &str, why: &str) -> DesktopError {
    let display = if display.is_empty() { "The picture" } else { display };
    DesktopError::new(Fault::CaptureFailed, format!("{display} cannot be captured: {why}."))
}

/// The cookie in a file that holds one entry, as this module writes it.
fn cookie(xauthority: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(xauthority).ok()?;
    let mut rest = bytes.get(2..)?;
    let mut fields = Vec::new();
    for _ in 0..4 {
        let length = usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?));
        fields.push(rest.get(2..2 + length)?);
        rest = rest.get(2 + length..)?;
    }
    (fields[2] == COOKIE_NAME).then(|| fields[3].to_vec())
}

const COOKIE_NAME: &[u8] = b"MIT-MAGIC-COOKIE-1";
const JPEG_QUALITY: u8 = 75;

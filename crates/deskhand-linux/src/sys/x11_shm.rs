//! Shared-memory segments between the X server and this process, and image reads through them.
//!
//! A segment is a sealed memfd: the server cannot shrink it under our feet. It is reused by later reads that
//! fit and freed when [`Segments::release_idle`] finds it unused.

use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use x11rb::connection::Connection as _;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, Drawable, ImageFormat};

use super::x11::{X11, XError};

/// Bytes of one row and of a whole ZPixmap image of a depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bits of one pixel, padding included: 8, 16 or 32.
    pub(crate) bits_per_pixel: u8,
    /// Bytes from one row to the next.
    pub(crate) stride: usize,
}

impl Layout {
    /// How the server lays out `width` pixels of `depth`; nothing for a depth that it does not know.
    pub(crate) fn of(x11: &X11, depth: u8, width: u16) -> Option<Self> {
        let format = x11.conn.setup().pixmap_formats.iter().find(|format| format.depth == depth)?;
        let pad = usize::from(format.scanline_pad.max(8));
        let bits = usize::from(width) * usize::from(format.bits_per_pixel);
        Some(Self { bits_per_pixel: format.bits_per_pixel, stride: bits.div_ceil(pad) * pad / 8 })
    }
}

/// The one reusable segment of a connection.
pub(crate) struct Segments {
    slot: Mutex<Option<Segment>>,
}

/// A part of a drawable, in its own pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Left edge.
    pub(crate) x: i16,
    /// Top edge.
    pub(crate) y: i16,
    /// Width, at least 1.
    pub(crate) width: u16,
    /// Height, at least 1.
    pub(crate) height: u16,
}

/// A segment is kept for this long after its last use.
pub(crate) const IDLE: Duration = Duration::from_secs(10);

impl Segments {
    /// No segment yet.
    pub(crate) const fn new() -> Self {
        Self { slot: Mutex::new(None) }
    }

    /// Reads `part` of `drawable` and hands its raw rows to `take`, through shared memory where the server has it.
    ///
    /// # Errors
    ///
    /// As the server says: a part that is not wholly inside is [`XError::Refused`].
    pub(crate) fn read<T>(
        &self,
        x11: &X11,
        drawable: Drawable,
        part: Part,
        layout: Layout,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, XError> {
        let bytes = layout.stride * usize::from(part.height);
        if x11.extensions.shm_fd
            && let Some(segment) = self.segment(x11, bytes)
        {
            let reply = x11
                .conn
                .shm_get_image(
                    drawable,
                    part.x,
                    part.y,
                    part.width,
                    part.height,
                    u32::MAX,
                    ImageFormat::Z_PIXMAP.into(),
                    segment.id,
                    0,
                )?
                .reply();
            let taken = reply.map(|_| take(&segment.bytes()[..bytes]));
            self.keep(x11, segment);
            Ok(taken?)
        } else {
            let image = x11
                .conn
                .get_image(ImageFormat::Z_PIXMAP, drawable, part.x, part.y, part.width, part.height, u32::MAX)?
                .reply()?;
            if image.data.len() < bytes {
                return Err(XError::Unreachable("it sent a short image".to_owned()));
            }
            Ok(take(&image.data[..bytes]))
        }
    }

    /// Frees the segment if nothing used it for [`IDLE`]. Returns whether one is still held.
    pub(crate) fn release_idle(&self, x11: &X11) -> bool {
        let mut slot = self.slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if slot.as_ref().is_some_and(|segment| segment.used.elapsed() >= IDLE)
            && let Some(segment) = slot.take()
        {
            segment.detach(x11);
        }
        slot.is_some()
    }

    fn segment(&self, x11: &X11, bytes: usize) -> Option<Segment> {
        let held = self.slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        match held {
            Some(segment) if segment.len >= bytes => Some(segment),
            Some(small) => {
                small.detach(x11);
                Segment::new(x11, bytes)
            }
            None => Segment::new(x11, bytes),
        }
    }

    /// Puts a segment back; of two that were in use at once the larger stays.
    fn keep(&self, x11: &X11, mut segment: Segment) {
        segment.used = Instant::now();
        let mut slot = self.slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match slot.as_ref() {
            Some(held) if held.len >= segment.len => segment.detach(x11),
            _ => {
                if let Some(smaller) = slot.replace(segment) {
                    smaller.detach(x11);
                }
            }
        }
    }
}

/// A memfd mapped here and attached in the server.
struct Segment {
    id: shm::Seg,
    memory: NonNull<u8>,
    len: usize,
    used: Instant,
}

// SAFETY: the mapping belongs to this value alone, is not tied to a thread, and is unmapped once, in `drop`.
unsafe impl Send for Segment {}

impl Segment {
    fn new(x11: &X11, bytes: usize) -> Option<Self> {
        let len = bytes.next_multiple_of(4096);
        let memfd =
            rustix::fs::memfd_create("deskhand-pixels", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).ok()?;
        rustix::fs::ftruncate(&memfd, len as u64).ok()?;
        rustix::fs::fcntl_add_seals(&memfd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).ok()?;
        let memory = map(&memfd, len)?;
        let id = x11.conn.generate_id().ok()?;
        let segment = Self { id, memory, len, used: Instant::now() };
        x11.conn.shm_attach_fd(id, memfd, false).ok()?.check().ok()?;
        Some(segment)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `memory` maps `len` readable bytes until `drop`, and the seals keep the file at that length. The
        // server writes only between a request and its reply; this is called after the reply.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.len) }
    }

    fn detach(self, x11: &X11) {
        // A lost connection has detached it already.
        let _ = x11.conn.shm_detach(self.id);
        let _ = x11.conn.flush();
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `memory` and `len` are exactly what `map` returned, and nothing borrows from it any more.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast(), self.len) };
    }
}

fn map(memfd: &OwnedFd, len: usize) -> Option<NonNull<u8>> {
    // SAFETY: a fresh shared mapping at an address that the kernel chooses aliases nothing of ours.
    let memory = unsafe {
        rustix::mm::mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, memfd, 0)
    };
    NonNull::new(memory.ok()?.cast())
}

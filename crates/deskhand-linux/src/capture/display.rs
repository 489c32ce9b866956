//! The monitors and their pixels, with the windows that must not be seen painted out.

use deskhand_contract::geometry::DesktopRect;
use x11rb::connection::Connection as _;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use super::pixels::{Encoding, Pixels};
use super::window::NoPicture;
use crate::sys::x11::{X11, XError};
use crate::sys::x11_shm::{Part, Segments};
use crate::windows::enumerate::unless_gone;

/// One monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XDisplay {
    /// What tells it from the others of this server; the atom of its name, 0 for the whole screen.
    pub(crate) name: u32,
    /// Its pixels, in pixels of the root.
    pub(crate) rect: DesktopRect,
    /// Whether it is the first one.
    pub(crate) primary: bool,
}

/// Most displays that are listed.
pub(crate) const MAX_DISPLAYS: usize = 16;

const PALETTE: &str = "the display's pixels are indexes into a palette, which is not supported; start it with 24 \
                       bits a pixel";
const OUTSIDE: &str = "the display lies outside the X screen; list the displays again";

/// The active monitors, the primary one first; the whole screen where the server knows none.
///
/// # Errors
///
/// [`XError::Unreachable`].
pub(crate) fn displays(x11: &X11) -> Result<Vec<XDisplay>, XError> {
    let screen = screen(x11)?;
    let mut found = Vec::new();
    if x11.extensions.monitors
        && let Some(reply) = unless_gone(x11.conn.randr_get_monitors(x11.root, true)?.reply().map_err(XError::from))?
    {
        for monitor in reply.monitors {
            let rect =
                DesktopRect::new(monitor.x.into(), monitor.y.into(), monitor.width.into(), monitor.height.into());
            // A monitor that is declared beyond the screen shows what of it exists.
            if let Some(rect) = rect.intersection(screen) {
                found.push(XDisplay { name: monitor.name, rect, primary: monitor.primary });
            }
        }
    }
    if found.is_empty() {
        found.push(XDisplay { name: 0, rect: screen, primary: true });
    }
    if !found.iter().any(|display| display.primary) {
        found[0].primary = true;
    }
    found.sort_by_key(|display| !display.primary);
    found.truncate(MAX_DISPLAYS);
    Ok(found)
}

/// The pixels of `display`, black where one of `hidden` is, wherever in the stack.
///
/// Where the windows are and what the screen shows is read in one grab of the server: a window cannot move out
/// of its black rectangle between the two.
pub(crate) fn take(
    x11: &X11,
    segments: &Segments,
    display: DesktopRect,
    hidden: &[Window],
) -> Result<Pixels, NoPicture> {
    let setup = &x11.conn.setup().roots[x11.screen];
    let screen = screen(x11)?;
    let rect = display.intersection(screen).filter(|rect| *rect == display);
    let rect = rect.ok_or(NoPicture::NotCapturable(OUTSIDE))?;
    let outside = |_| NoPicture::NotCapturable(OUTSIDE);
    let part = Part {
        x: i16::try_from(rect.x).map_err(outside)?,
        y: i16::try_from(rect.y).map_err(outside)?,
        width: u16::try_from(rect.width).map_err(outside)?,
        height: u16::try_from(rect.height).map_err(outside)?,
    };
    let encoding =
        Encoding::of(x11, setup.root_depth, setup.root_visual, part.width).ok_or(NoPicture::NotCapturable(PALETTE))?;
    let read =
        || segments.read(x11, x11.root, part, encoding.layout(), |rows| encoding.decode(rows, rect.width, rect.height));
    if hidden.is_empty() {
        return Ok(read()?);
    }
    x11.conn.grab_server().map_err(XError::from)?;
    let grabbed = outlines(x11, hidden).and_then(|outlines| Ok((outlines, read()?)));
    x11.conn.ungrab_server().map_err(XError::from)?;
    x11.conn.flush().map_err(XError::from)?;
    let (outlines, mut pixels) = grabbed?;
    for outline in outlines {
        pixels.black_out(
            i64::from(outline.x) - i64::from(rect.x),
            i64::from(outline.y) - i64::from(rect.y),
            outline.width,
            outline.height,
        );
    }
    Ok(pixels)
}

fn screen(x11: &X11) -> Result<DesktopRect, XError> {
    let geometry = x11.conn.get_geometry(x11.root)?.reply()?;
    Ok(DesktopRect::new(0, 0, geometry.width.into(), geometry.height.into()))
}

/// Where windows are now, border included; those that are gone or not on the screen are left out.
fn outlines(x11: &X11, windows: &[Window]) -> Result<Vec<DesktopRect>, XError> {
    let asked: Vec<_> = windows
        .iter()
        .map(|window| Ok((x11.conn.get_geometry(*window)?, x11.conn.translate_coordinates(*window, x11.root, 0, 0)?)))
        .collect::<Result<_, XError>>()?;
    let mut outlines = Vec::new();
    for (geometry, origin) in asked {
        let geometry = unless_gone(geometry.reply().map_err(XError::from))?;
        let origin = unless_gone(origin.reply().map_err(XError::from))?;
        if let (Some(geometry), Some(origin)) = (geometry, origin) {
            let border = i32::from(geometry.border_width);
            outlines.push(DesktopRect::new(
                i32::from(origin.dst_x) - border,
                i32::from(origin.dst_y) - border,
                u32::from(geometry.width) + 2 * border.unsigned_abs(),
                u32::from(geometry.height) + 2 * border.unsigned_abs(),
            ));
        }
    }
    Ok(outlines)
}

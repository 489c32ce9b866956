//! A window's own pixels, covered or not, or the reason why there are none. Never another window's.
//!
//! The window is redirected by Composite (automatically: it stays on the screen as it was, unmoved, unraised,
//! unfocused), so that it has a pixmap of its own. What was covered until then has no pixels yet: the server
//! names exactly those parts, they are blanked before anyone can read them, and the window is captured only
//! when its application (or the server, with the window's background) has painted each of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deskhand_contract::geometry::{Size, WindowRect};
use deskhand_contract::limit::Limit;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::composite::{ConnectionExt as _, Redirect};
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, CreateGCAux, EventMask, MapState, Pixmap, Rectangle, SubwindowMode,
    Visualid, Window,
};

use super::area::Area;
use super::pixels::{Encoding, Pixels};
use crate::sys::x11::{X11, XError};
use crate::sys::x11_shm::{Part, Segments};

/// Why a window has no picture.
#[derive(Debug)]
pub(crate) enum NoPicture {
    /// It does not exist any more.
    Gone,
    /// It has no pixels that are its own just now; the text says why and what to do.
    NotCapturable(&'static str),
    /// The server cannot be reached.
    Fault(XError),
}

/// The pictures of a connection's windows: which are redirected, and what of them is not painted yet.
pub(crate) struct WindowCapture {
    held: Mutex<HashMap<Window, Held>>,
}

/// A redirected window.
struct Held {
    damage: Option<damage::Damage>,
    size: (u16, u16),
    /// Parts that nobody has painted since the redirection.
    missing: Area,
    /// The windows around it: it loses its pixmap when one of them is hidden.
    ancestors: Vec<Window>,
    /// Whether it may have a new pixmap by now, in which anything may be.
    stale: bool,
    used: Instant,
}

/// Most windows that are held redirected; beyond, the one unused for the longest goes.
const MAX_HELD: usize = 32;
/// How long an application may take to paint what was covered.
const PAINT_WITHIN: Duration = Duration::from_millis(800);
/// How long it may take to begin painting over a background that the server has painted already.
const ADD_WITHIN: Duration = Duration::from_millis(250);
/// After its first painting, how long it must rest before the picture counts as whole.
const QUIET: Duration = Duration::from_millis(40);
/// How often the damage is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(8);
/// A window that changes its size between two requests is tried so often.
const ATTEMPTS: usize = 3;

const UNMAPPED: &str = "the window is minimised, hidden or on another workspace and has no pixels; \
                        activate it first (activate_window), then take the picture";
const NOT_PAINTED: &str = "the window is covered and its application has not painted the covered part, so there \
                           are no pixels of its own; the application may be busy or stopped: try again, or \
                           activate the window";
const COVERED: &str = "the window is covered or partly off the screen, and this X server has no Composite \
                       extension that would keep its pixels; activate the window first";
const PALETTE: &str = "the window's pixels are indexes into a palette, which is not supported; start the display \
                       with 24 bits a pixel";
const OUTSIDE: &str = "the region does not lie inside the window, which may have been resized; list the windows again";
const RESTLESS: &str = "the window kept changing its size; try again when it rests";

impl WindowCapture {
    /// Nothing is redirected yet.
    pub(crate) fn new() -> Self {
        Self { held: Mutex::new(HashMap::new()) }
    }

    /// `region` of the window, or the whole of it, without border and decoration; and the window's size.
    pub(crate) fn take(
        &self,
        x11: &X11,
        segments: &Segments,
        window: Window,
        region: Option<WindowRect>,
        limit: &Limit,
    ) -> Result<(Pixels, Size), NoPicture> {
        let mut held = self.lock();
        for _ in 0..ATTEMPTS {
            let place = Place::read(x11, window)?;
            note_events(x11, &mut held, |_| {})?;
            let part = place.part(region)?;
            if !x11.extensions.composite || !x11.extensions.damage {
                return Ok((take_visible(x11, &mut held, segments, window, &place, part)?, place.size()));
            }
            prepare(x11, &mut held, window, &place, limit)?;
            let pixels = read_own(x11, segments, window, &place, part)?;
            note_events(x11, &mut held, |_| {})?;
            match pixels {
                Some(pixels) if held.get(&window).is_some_and(|entry| !entry.stale) => {
                    return Ok((pixels, place.size()));
                }
                // Resized, hidden or shown meanwhile: look again.
                _ => release(x11, &mut held, window)?,
            }
        }
        Err(NoPicture::NotCapturable(RESTLESS))
    }

    /// Takes note of what happened to the held windows, so that the queue of events does not grow. Returns whether
    /// any window is held.
    pub(crate) fn look_after(&self, x11: &X11) -> bool {
        let mut held = self.lock();
        // A lost connection is the next call's matter.
        note_events(x11, &mut held, |_| {}).is_ok() && !held.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Window, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where and how a window is, at one moment.
struct Place {
    width: u16,
    height: u16,
    border: u16,
    depth: u8,
    visual: Visualid,
}

impl Place {
    fn read(x11: &X11, window: Window) -> Result<Self, NoPicture> {
        let attributes = x11.conn.get_window_attributes(window).map_err(XError::from)?;
        let geometry = x11.conn.get_geometry(window).map_err(XError::from)?;
        let attributes = attributes.reply().map_err(XError::from)?;
        let geometry = geometry.reply().map_err(XError::from)?;
        if attributes.map_state != MapState::VIEWABLE {
            return Err(NoPicture::NotCapturable(UNMAPPED));
        }
        Ok(Self {
            width: geometry.width,
            height: geometry.height,
            border: geometry.border_width,
            depth: geometry.depth,
            visual: attributes.visual,
        })
    }

    fn size(&self) -> Size {
        Size::new(self.width.into(), self.height.into())
    }

    /// The part of the window that `region` is, or the whole.
    fn part(&self, region: Option<WindowRect>) -> Result<Part, NoPicture> {
        let whole = WindowRect::new(0, 0, self.width.into(), self.height.into());
        let region = region.unwrap_or(whole);
        if !whole.contains_rect(region) {
            return Err(NoPicture::NotCapturable(OUTSIDE));
        }
        let inside = "within a window, whose sides fit 15 bits";
        Ok(Part {
            x: i16::try_from(region.x).expect(inside),
            y: i16::try_from(region.y).expect(inside),
            width: u16::try_from(region.width).expect(inside),
            height: u16::try_from(region.height).expect(inside),
        })
    }

    fn encoding(&self, x11: &X11, part: Part) -> Result<Encoding, NoPicture> {
        Encoding::of(x11, self.depth, self.visual, part.width).ok_or(NoPicture::NotCapturable(PALETTE))
    }
}

/// Makes sure that the window has a pixmap of its own in which everything is painted.
fn prepare(
    x11: &X11,
    held: &mut HashMap<Window, Held>,
    window: Window,
    place: &Place,
    limit: &Limit,
) -> Result<(), NoPicture> {
    let size = (place.width, place.height);
    if held.get(&window).is_some_and(|entry| entry.size != size || entry.stale) {
        // Its pixmap is a new one, in which anything may be: begin again.
        release(x11, held, window)?;
    }
    if !held.contains_key(&window) {
        if held.len() >= MAX_HELD
            && let Some(oldest) = held.iter().min_by_key(|(_, entry)| entry.used).map(|(window, _)| *window)
        {
            release(x11, held, oldest)?;
        }
        let entry = redirect(x11, held, window, place)?;
        held.insert(window, entry);
    }
    let entry = held.get_mut(&window).expect("inserted just above where it was missing");
    entry.used = Instant::now();
    if let Some(damage) = entry.damage {
        wait_until_painted(x11, damage, &mut entry.missing, limit)?;
        entry.damage = None;
        x11.conn.damage_destroy(damage).map_err(XError::from)?;
    }
    Ok(())
}

fn release(x11: &X11, held: &mut HashMap<Window, Held>, window: Window) -> Result<(), XError> {
    if let Some(entry) = held.remove(&window) {
        if let Some(damage) = entry.damage {
            x11.conn.damage_destroy(damage)?;
        }
        // Errors (the window is gone) come as events and are drained.
        x11.conn.composite_unredirect_window(window, Redirect::AUTOMATIC)?;
    }
    Ok(())
}

/// Redirects a window and blanks what of it is covered, in one grab of the server so that nothing comes between.
fn redirect(x11: &X11, held: &mut HashMap<Window, Held>, window: Window, place: &Place) -> Result<Held, NoPicture> {
    x11.conn.grab_server().map_err(XError::from)?;
    let done = redirect_grabbed(x11, held, window, place);
    x11.conn.ungrab_server().map_err(XError::from)?;
    x11.conn.flush().map_err(XError::from)?;
    done
}

fn redirect_grabbed(
    x11: &X11,
    held: &mut HashMap<Window, Held>,
    window: Window,
    place: &Place,
) -> Result<Held, NoPicture> {
    let conn = &x11.conn;
    let ancestors = ancestors(x11, window)?;
    let watched = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
    for each in ancestors.iter().chain([&window]) {
        conn.change_window_attributes(*each, &watched).map_err(XError::from)?;
    }
    let covered = covered_parts(x11, held, window, place)?;
    let damage = if covered.is_empty() {
        None
    } else {
        let damage = conn.generate_id().map_err(XError::from)?;
        conn.damage_create(damage, window, ReportLevel::NON_EMPTY).map_err(XError::from)?;
        Some(damage)
    };
    conn.composite_redirect_window(window, Redirect::AUTOMATIC).map_err(XError::from)?.check().map_err(XError::from)?;
    let mut missing = covered;
    if let Some(damage) = damage {
        // The server has painted the background of what it uncovered, unless the window has none. Take that
        // into account first, then blank the rest: it may hold whatever was in memory.
        for rect in painted(x11, damage)? {
            missing.subtract(rect);
        }
        blank(x11, window, place, &missing)?;
    }
    let size = (place.width, place.height);
    Ok(Held { damage, size, missing, ancestors, stale: false, used: Instant::now() })
}

/// The parts of a window that are covered by others or off the screen, as the server itself sees it: a copy
/// from the window reports what could not be copied.
fn covered_parts(
    x11: &X11,
    held: &mut HashMap<Window, Held>,
    window: Window,
    place: &Place,
) -> Result<Area, NoPicture> {
    let conn = &x11.conn;
    let pixmap = conn.generate_id().map_err(XError::from)?;
    let gc = conn.generate_id().map_err(XError::from)?;
    conn.create_pixmap(place.depth, pixmap, window, place.width, place.height).map_err(XError::from)?;
    let options = CreateGCAux::new().graphics_exposures(1).subwindow_mode(SubwindowMode::INCLUDE_INFERIORS);
    conn.create_gc(gc, window, &options).map_err(XError::from)?;
    let copied = conn
        .copy_area(window, pixmap, gc, 0, 0, 0, 0, place.width, place.height)
        .map_err(XError::from)?
        .check()
        .map_err(XError::from);
    conn.free_gc(gc).map_err(XError::from)?;
    conn.free_pixmap(pixmap).map_err(XError::from)?;
    copied?;
    let mut rects = Vec::new();
    let mut heard = false;
    note_events(x11, held, |event| match event {
        Event::GraphicsExposure(event) if event.drawable == pixmap => {
            heard = true;
            rects.push(WindowRect::new(event.x.into(), event.y.into(), event.width.into(), event.height.into()));
        }
        Event::NoExposure(event) if event.drawable == pixmap => heard = true,
        _ => {}
    })?;
    // The reply to the check came after the events; a server that sent none is not understood.
    if !heard {
        rects.push(WindowRect::new(0, 0, place.width.into(), place.height.into()));
    }
    Ok(Area::of(rects))
}

/// The parts painted since the last question.
fn painted(x11: &X11, damage: damage::Damage) -> Result<Vec<WindowRect>, XError> {
    let conn = &x11.conn;
    let region = conn.generate_id()?;
    conn.xfixes_create_region(region, &[])?;
    conn.damage_subtract(damage, x11rb::NONE, region)?;
    let fetched = conn.xfixes_fetch_region(region)?.reply();
    conn.xfixes_destroy_region(region)?;
    let rects = fetched.map_err(XError::from)?.rectangles;
    Ok(rects
        .iter()
        .map(|rect| WindowRect::new(rect.x.into(), rect.y.into(), rect.width.into(), rect.height.into()))
        .collect())
}

fn blank(x11: &X11, window: Window, place: &Place, parts: &Area) -> Result<(), XError> {
    if parts.is_empty() {
        return Ok(());
    }
    let conn = &x11.conn;
    let pixmap: Pixmap = conn.generate_id()?;
    let gc = conn.generate_id()?;
    conn.composite_name_window_pixmap(window, pixmap)?;
    conn.create_gc(gc, pixmap, &CreateGCAux::new().foreground(0))?;
    let border = place.border.cast_signed();
    let rects: Vec<Rectangle> = parts
        .rects()
        .iter()
        .map(|rect| Rectangle {
            // Inside a window, whose sides fit 16 bits.
            x: (rect.x as i16).saturating_add(border),
            y: (rect.y as i16).saturating_add(border),
            width: rect.width as u16,
            height: rect.height as u16,
        })
        .collect();
    let filled = conn.poly_fill_rectangle(pixmap, gc, &rects)?.check();
    conn.free_gc(gc)?;
    conn.free_pixmap(pixmap)?;
    Ok(filled?)
}

/// Waits until every missing part is painted and the application rests.
fn wait_until_painted(x11: &X11, damage: damage::Damage, missing: &mut Area, limit: &Limit) -> Result<(), NoPicture> {
    let begin = Instant::now();
    let mut painted_at = None;
    loop {
        let rects = painted(x11, damage)?;
        if !rects.is_empty() {
            painted_at = Some(Instant::now());
            for rect in rects {
                missing.subtract(rect);
            }
        }
        let waited = begin.elapsed();
        if missing.is_empty() {
            let rests = match painted_at {
                Some(at) => at.elapsed() >= QUIET,
                // The server painted the background; the application may have nothing to add.
                None => waited >= ADD_WITHIN,
            };
            if rests || waited >= PAINT_WITHIN || limit.is_over() {
                return Ok(());
            }
        } else if waited >= PAINT_WITHIN || limit.is_over() {
            return Err(NoPicture::NotCapturable(NOT_PAINTED));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Reads the window's pixmap; nothing if it has another size by now.
fn read_own(
    x11: &X11,
    segments: &Segments,
    window: Window,
    place: &Place,
    part: Part,
) -> Result<Option<Pixels>, NoPicture> {
    let encoding = place.encoding(x11, part)?;
    let conn = &x11.conn;
    let pixmap: Pixmap = conn.generate_id().map_err(XError::from)?;
    let named = conn.composite_name_window_pixmap(window, pixmap).map_err(XError::from)?;
    let size = conn.get_geometry(pixmap).map_err(XError::from)?;
    match named.check().map_err(XError::from) {
        Err(error) if error.is_of_server() => return Err(error.into()),
        // Unmapped or destroyed since: the next look at its place says which.
        Err(_) => return Ok(None),
        Ok(()) => {}
    }
    let size = size.reply().map_err(XError::from)?;
    let border = place.border;
    // The pixmap begins at the border's outer corner.
    let shifted = Part { x: part.x + border.cast_signed(), y: part.y + border.cast_signed(), ..part };
    let fits = (size.width, size.height) == (place.width + 2 * border, place.height + 2 * border);
    let pixels = fits.then(|| {
        segments.read(x11, pixmap, shifted, encoding.layout(), |rows| {
            encoding.decode(rows, part.width.into(), part.height.into())
        })
    });
    conn.free_pixmap(pixmap).map_err(XError::from)?;
    Ok(pixels.transpose()?)
}

/// Without Composite: the pixels on the screen, if the whole window is there and uncovered.
fn take_visible(
    x11: &X11,
    held: &mut HashMap<Window, Held>,
    segments: &Segments,
    window: Window,
    place: &Place,
    part: Part,
) -> Result<Pixels, NoPicture> {
    let encoding = place.encoding(x11, part)?;
    let mut grabbed = || -> Result<Pixels, NoPicture> {
        if !covered_parts(x11, held, window, place)?.is_empty() {
            return Err(NoPicture::NotCapturable(COVERED));
        }
        let decode = |rows: &[u8]| encoding.decode(rows, part.width.into(), part.height.into());
        Ok(segments.read(x11, window, part, encoding.layout(), decode)?)
    };
    x11.conn.grab_server().map_err(XError::from)?;
    let pixels = grabbed();
    x11.conn.ungrab_server().map_err(XError::from)?;
    x11.conn.flush().map_err(XError::from)?;
    pixels
}

/// The windows around `window`, without the root.
fn ancestors(x11: &X11, window: Window) -> Result<Vec<Window>, XError> {
    /// Deepest nesting of frames that is followed.
    const MAX_DEPTH: usize = 16;
    let mut around = Vec::new();
    let mut at = window;
    for _ in 0..MAX_DEPTH {
        let parent = x11.conn.query_tree(at)?.reply()?.parent;
        if parent == x11.root || parent == x11rb::NONE {
            break;
        }
        around.push(parent);
        at = parent;
    }
    Ok(around)
}

/// Takes the events off the queue: those that may have cost a held window its pixmap mark it, `also` sees all.
fn note_events(x11: &X11, held: &mut HashMap<Window, Held>, mut also: impl FnMut(&Event)) -> Result<(), XError> {
    while let Some(event) = x11.conn.poll_for_event()? {
        also(&event);
        match event {
            Event::UnmapNotify(event) => mark_stale(held, event.window),
            Event::MapNotify(event) => mark_stale(held, event.window),
            Event::ReparentNotify(event) => mark_stale(held, event.window),
            Event::DestroyNotify(event) => {
                held.remove(&event.window);
            }
            Event::ConfigureNotify(event) => {
                if let Some(entry) = held.get_mut(&event.window) {
                    entry.stale |= entry.size != (event.width, event.height);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn mark_stale(held: &mut HashMap<Window, Held>, changed: Window) {
    for (window, entry) in held {
        entry.stale |= *window == changed || entry.ancestors.contains(&changed);
    }
}

impl From<XError> for NoPicture {
    fn from(error: XError) -> Self {
        match error {
            XError::Gone => Self::Gone,
            error => Self::Fault(error),
        }
    }
}

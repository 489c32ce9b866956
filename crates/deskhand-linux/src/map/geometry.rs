//! From what a toolkit says of an element's place to pixels of its X window. Pure.
//!
//! Toolkits disagree on what extents are: pixels of the screen or of the window, with the decoration or the
//! shadow or without, logical or device pixels. [`Projection::of`] decides it for one window by evidence: the
//! extents of its top-level accessible must agree with the X window. Where nothing agrees, bounds are given
//! as unproven.
//!
//! | toolkit | asked for | origin | agrees when the top level is |
//! | --- | --- | --- | --- |
//! | GTK 3 | window | the X window, shadow included, logical pixels | the X window, or that and its decoration |
//! | GTK 4 | window | the X window without its shadow or rim, logical pixels | that, or the X window less an even rim |
//! | Qt 5, Qt 6 | screen | the screen | the X window |
//! | Chromium, Firefox, others | screen | the screen | the X window, or that and its decoration |

use deskhand_contract::element::Bounds;
use deskhand_contract::geometry::{DesktopRect, WindowRect};

/// What `Component.GetExtents` says: x, y, width, height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extents {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

/// What a toolkit's extents are asked in, as AT-SPI numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Coordinates {
    /// Pixels of the screen.
    Screen = 0,
    /// Pixels of the window.
    Window = 1,
}

/// Pixels at the four sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Edges {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) top: u32,
    pub(crate) bottom: u32,
}

/// Where X11 has a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The window on the root, without border and decoration.
    pub(crate) client: DesktopRect,
    /// What the window manager put around it.
    pub(crate) frame: Edges,
    /// The invisible shadow that is part of it.
    pub(crate) shadow: Edges,
}

/// Parts of a window whose elements are described differently from the rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Realm {
    /// As the top level.
    #[default]
    Window,
    /// A `document web` and what is below: Chromium's pages are in device pixels whatever its window is in.
    Page,
    /// A `root pane` and what is below: LibreOffice's own widgets mix pixels of the screen that forget the menu bar with GTK's;
    /// which is which cannot be told from one answer.
    Office,
}

impl Realm {
    /// The realm of an element of this native role, and of what is below it, whose parent lies in `self`.
    pub(crate) fn below(self, native_role: &str) -> Self {
        match native_role {
            "document web" => Self::Page,
            "root pane" => Self::Office,
            _ => self,
        }
    }
}

/// How the extents of one window's elements become pixels of that window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Projection {
    /// Which toolkit's habits apply.
    habits: Habits,

    /// What to ask the elements for.
    pub(crate) coordinates: Coordinates,
    /// Device pixels of a logical pixel.
    pub(crate) scale: i32,
    /// Added after scaling.
    pub(crate) offset: (i32, i32),
    /// Whether the top level's extents agreed with the X window.
    pub(crate) proven: bool,
}

/// Toolkits that differ from what most do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habits {
    Gtk3,
    Gtk4,
    Chromium,
    Common,
}

impl Habits {
    fn of(toolkit: &str, version: &str) -> Self {
        let modern_gtk = toolkit.eq_ignore_ascii_case("gtk") && !version.starts_with(['0', '1', '2']);
        if modern_gtk && version.starts_with('3') {
            Self::Gtk3
        } else if modern_gtk {
            Self::Gtk4
        } else if toolkit.eq_ignore_ascii_case("chromium") {
            Self::Chromium
        } else {
            Self::Common
        }
    }

    fn coordinates(self) -> Coordinates {
        match self {
            Self::Gtk3 | Self::Gtk4 => Coordinates::Window,
            Self::Chromium | Self::Common => Coordinates::Screen,
        }
    }
}

/// Largest window scale that is looked for.
const MAX_SCALE: i32 = 4;

impl Extents {
    /// Extents of a node that has a place: no sentinel, not empty.
    pub(crate) fn is_real(self) -> bool {
        /// Farther than any page scrolls; toolkits put `i32::MIN` and the like for "nowhere".
        const FAR: i32 = 10_000_000;
        self.width > 0
            && self.height > 0
            && self.x.abs_diff(0) < FAR.unsigned_abs()
            && self.y.abs_diff(0) < FAR.unsigned_abs()
            && self.width < FAR
            && self.height < FAR
            && !(self.x == -1 && self.y == -1 && self.width == 1 && self.height == 1)
    }
}

impl Projection {
    /// The coordinates in which a toolkit's top level is to be asked for its extents.
    pub(crate) fn coordinates_of(toolkit: &str, version: &str) -> Coordinates {
        Habits::of(toolkit, version).coordinates()
    }

    /// The projection of a window of `toolkit`, whose top level said `top` in [`Self::coordinates_of`] the
    /// toolkit.
    pub(crate) fn of(toolkit: &str, version: &str, top: Option<Extents>, placement: Placement) -> Self {
        let habits = Habits::of(toolkit, version);
        let origin = (placement.client.x, placement.client.y);
        let offset = match habits {
            Habits::Gtk3 => (0, 0),
            Habits::Gtk4 => (placement.shadow.left.cast_signed(), placement.shadow.top.cast_signed()),
            Habits::Chromium | Habits::Common => (origin.0.saturating_neg(), origin.1.saturating_neg()),
        };
        let guess = Self { habits, coordinates: habits.coordinates(), scale: 1, offset, proven: false };
        let Some(top) = top.filter(|top| top.is_real()) else { return guess };
        let candidates = (1..=MAX_SCALE).flat_map(|scale| {
            let rim = rim(top, scale, placement).filter(|_| habits == Habits::Gtk4);
            [Some(offset), rim].into_iter().flatten().map(move |offset| Self { scale, offset, proven: true, ..guess })
        });
        for candidate in candidates {
            let Some(seen) = candidate.project_raw(top) else { continue };
            if let Some(form) = candidate.agrees(seen, placement) {
                return candidate.anchored(seen, form);
            }
        }
        guess
    }

    /// The same, with the top level put exactly where its window is. A toolkit that counts in logical pixels of the
    /// screen rounds the window's place and those of its elements by the same error.
    fn anchored(self, seen: WindowRect, form: WindowRect) -> Self {
        if self.coordinates == Coordinates::Window {
            return self;
        }
        let moved = |offset: i32, to: i32, from: i32| offset.saturating_add(to.saturating_sub(from));
        Self { offset: (moved(self.offset.0, form.x, seen.x), moved(self.offset.1, form.y, seen.y)), ..self }
    }

    /// The form of the X window that a top level is, seen in pixels of that window; nothing if none.
    fn agrees(&self, seen: WindowRect, placement: Placement) -> Option<WindowRect> {
        let client = placement.client;
        let whole = WindowRect::new(0, 0, client.width, client.height);
        let bare = shrunk(whole, placement.shadow);
        // Logical pixels are rounded down: up to a pixel each of the scale, and of the decoration's halves.
        let tolerance = if self.scale == 1 { 0 } else { 2 * self.scale };
        let forms = if self.habits == Habits::Gtk4 {
            let (left, top) = (self.offset.0.unsigned_abs(), self.offset.1.unsigned_abs());
            let has_rim = placement.shadow == Edges::default() && self.offset != (0, 0);
            let rimmed = shrunk(whole, Edges { left, right: left, top, bottom: top });
            vec![if has_rim { rimmed } else { bare }]
        } else {
            vec![whole, grown(whole, placement.frame), bare]
        };
        forms.into_iter().find(|form| near(seen, *form, tolerance))
    }

    /// The bounds of an element in `realm`; nothing for one without a place.
    pub(crate) fn project(&self, extents: Extents, realm: Realm) -> Option<Bounds> {
        if !extents.is_real() {
            return None;
        }
        let own = match (realm, self.habits) {
            (Realm::Page, Habits::Chromium) => Self { scale: 1, ..*self },
            (Realm::Office, Habits::Gtk3) => Self { proven: false, ..*self },
            _ => *self,
        };
        Some(Bounds { rect: own.project_raw(extents)?, proven: own.proven })
    }

    fn project_raw(&self, extents: Extents) -> Option<WindowRect> {
        scaled(extents, self.scale, self.offset)
    }
}

fn scaled(extents: Extents, scale: i32, offset: (i32, i32)) -> Option<WindowRect> {
    let x = extents.x.checked_mul(scale)?.checked_add(offset.0)?;
    let y = extents.y.checked_mul(scale)?.checked_add(offset.1)?;
    let width = u32::try_from(extents.width.checked_mul(scale)?).ok()?;
    let height = u32::try_from(extents.height.checked_mul(scale)?).ok()?;
    Some(WindowRect::new(x, y, width, height))
}

/// How well a top level's extents fit an X window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// In place and size.
    Place,
    /// In size only.
    Size,
    /// Not at all.
    No,
}

/// How well extents in pixels of the screen (logical or device) fit a window: itself, with its decoration, or
/// without its shadow.
pub(crate) fn fit(extents: Extents, placement: Placement) -> Fit {
    if !extents.is_real() {
        return Fit::No;
    }
    let client = placement.client;
    let mut best = Fit::No;
    for scale in 1..=MAX_SCALE {
        let Some(seen) = scaled(extents, scale, (0, 0)) else { break };
        let tolerance = if scale == 1 { 0 } else { 2 * scale };
        let whole = WindowRect::new(client.x, client.y, client.width, client.height);
        for form in [whole, grown(whole, placement.frame), shrunk(whole, placement.shadow)] {
            if near(seen, form, tolerance) {
                return Fit::Place;
            }
            let moved = WindowRect::new(form.x, form.y, seen.width, seen.height);
            if near(moved, form, tolerance) {
                best = Fit::Size;
            }
        }
    }
    best
}

/// The even rim that GTK 4 draws around a window with its own decoration where nothing composites: its width is
/// in no property, only in the difference of the sizes.
fn rim(top: Extents, scale: i32, placement: Placement) -> Option<(i32, i32)> {
    /// Wider than any theme's, in logical pixels.
    const MAX_RIM: i64 = 32;
    let around = |whole: u32, inner: i32| i64::from(whole) - i64::from(inner) * i64::from(scale);
    let (wide, high) = (around(placement.client.width, top.width), around(placement.client.height, top.height));
    let even = wide == high && wide > 0 && wide % 2 == 0 && wide <= 2 * MAX_RIM * i64::from(scale);
    let rim = i32::try_from(wide / 2).ok().filter(|_| even && placement.shadow == Edges::default())?;
    Some((rim, rim))
}

fn near(one: WindowRect, other: WindowRect, tolerance: i32) -> bool {
    let close = |a: i64, b: i64| (a - b).abs() <= i64::from(tolerance);
    close(one.x.into(), other.x.into())
        && close(one.y.into(), other.y.into())
        && close(one.width.into(), other.width.into())
        && close(one.height.into(), other.height.into())
}

fn grown(rect: WindowRect, edges: Edges) -> WindowRect {
    WindowRect::new(
        rect.x.saturating_sub_unsigned(edges.left),
        rect.y.saturating_sub_unsigned(edges.top),
        rect.width.saturating_add(edges.left).saturating_add(edges.right),
        rect.height.saturating_add(edges.top).saturating_add(edges.bottom),
    )
}

fn shrunk(rect: WindowRect, edges: Edges) -> WindowRect {
    WindowRect::new(
        rect.x.saturating_add_unsigned(edges.left),
        rect.y.saturating_add_unsigned(edges.top),
        rect.width.saturating_sub(edges.left).saturating_sub(edges.right),
        rect.height.saturating_sub(edges.top).saturating_sub(edges.bottom),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents((x, y, width, height): (i32, i32, i32, i32)) -> Extents {
        Extents { x, y, width, height }
    }

    const NONE: (u32, u32, u32, u32) = (0, 0, 0, 0);
    const OPENBOX: (u32, u32, u32, u32) = (1, 1, 20, 5);

    /// Measured: toolkit, version, top level, X window, decoration, shadow; an element and its pixels (from the
    /// toolkit's own geometry, or from a colour found in a screenshot).
    #[test]
    #[expect(clippy::type_complexity, reason = "a table")]
    fn measured_windows() {
        let rows: &[(
            &str,
            &str,
            (i32, i32, i32, i32),
            (i32, i32, u32, u32),
            (u32, u32, u32, u32),
            (u32, u32, u32, u32),
            (i32, i32, i32, i32),
            (i32, i32, u32, u32),
        )] = &[
            // GTK 3 with openbox's decoration, with its own, and at twice the size.
            (
                "gtk",
                "3.24.38",
                (-1, -20, 302, 225),
                (94, 76, 300, 200),
                OPENBOX,
                NONE,
                (40, 47, 260, 34),
                (40, 47, 260, 34),
            ),
            ("gtk", "3.24.38", (0, 0, 310, 256), (42, 293, 310, 256), NONE, NONE, (45, 98, 260, 34), (45, 98, 260, 34)),
            (
                "gtk",
                "3.24.38",
                (0, -10, 301, 213),
                (679, 495, 600, 400),
                OPENBOX,
                NONE,
                (40, 47, 260, 34),
                (80, 94, 520, 68),
            ),
            ("gtk", "3.24.38", (0, 0, 310, 256), (660, 0, 620, 512), NONE, NONE, (45, 98, 260, 34), (90, 196, 520, 68)),
            // GTK 3 with a shadow of its own, under xfwm4 with its compositor.
            (
                "gtk",
                "3.24.38",
                (0, 0, 352, 299),
                (464, 303, 352, 299),
                NONE,
                (26, 26, 23, 29),
                (66, 117, 260, 32),
                (66, 117, 260, 32),
            ),
            // GTK 4 with openbox's decoration, with its own and a solid rim, and with its own and a shadow (xfwm4), each
            // of the latter two also at twice the size.
            (
                "GTK",
                "4.8.3",
                (0, 0, 300, 200),
                (490, 357, 300, 200),
                OPENBOX,
                NONE,
                (57, 51, 226, 24),
                (57, 51, 226, 24),
            ),
            ("GTK", "4.8.3", (0, 0, 290, 190), (395, 0, 300, 200), NONE, NONE, (40, 92, 250, 32), (45, 97, 250, 32)),
            ("GTK", "4.8.3", (0, 0, 290, 190), (0, 500, 600, 400), NONE, NONE, (40, 92, 250, 32), (90, 194, 500, 64)),
            (
                "GTK",
                "4.8.3",
                (0, 0, 300, 200),
                (476, 338, 328, 229),
                NONE,
                (14, 14, 12, 17),
                (40, 93, 260, 32),
                (54, 105, 260, 32),
            ),
            (
                "GTK",
                "4.8.3",
                (0, 0, 300, 200),
                (-28, 476, 656, 458),
                NONE,
                (28, 28, 24, 34),
                (40, 93, 260, 32),
                (108, 210, 520, 64),
            ),
            // Qt answers in pixels of the screen, whatever it is asked for.
            (
                "Qt",
                "6.4.2",
                (94, 632, 300, 200),
                (94, 632, 300, 200),
                OPENBOX,
                NONE,
                (105, 668, 278, 22),
                (11, 36, 278, 22),
            ),
            (
                "Qt",
                "5.15.8",
                (377, 695, 300, 200),
                (377, 695, 300, 200),
                OPENBOX,
                NONE,
                (388, 728, 278, 25),
                (11, 33, 278, 25),
            ),
            (
                "Chromium",
                "1.0",
                (10, 10, 600, 400),
                (10, 10, 600, 400),
                NONE,
                (4, 4, 0, 4),
                (20, 56, 34, 34),
                (10, 46, 34, 34),
            ),
            (
                "Gecko",
                "153.8.0",
                (0, 19, 1280, 881),
                (0, 19, 1280, 881),
                (0, 0, 19, 0),
                NONE,
                (100, 169, 120, 40),
                (100, 150, 120, 40),
            ),
        ];
        for (toolkit, version, top, client, frame, shadow, element, pixels) in rows {
            let edges = |(left, right, top, bottom)| Edges { left, right, top, bottom };
            let placement = Placement {
                client: DesktopRect::new(client.0, client.1, client.2, client.3),
                frame: edges(*frame),
                shadow: edges(*shadow),
            };
            let projection = Projection::of(toolkit, version, Some(extents(*top)), placement);
            let bounds = projection.project(extents(*element), Realm::Window).expect("it has a place");
            let expected = WindowRect::new(pixels.0, pixels.1, pixels.2, pixels.3);
            assert_eq!((bounds.rect, bounds.proven), (expected, true), "{toolkit} {version} {top:?}");
        }
    }

    #[test]
    fn realms_differ_from_their_window() {
        let placement = Placement {
            client: DesktopRect::new(20, 20, 1_016, 700),
            frame: Edges::default(),
            shadow: Edges { left: 8, right: 8, top: 0, bottom: 8 },
        };
        let chromium = Projection::of("Chromium", "1.0", Some(extents((10, 10, 508, 350))), placement);
        let page = Realm::Window.below("document web");
        let bounds = chromium.project(extents((228, 406, 240, 80)), page.below("panel")).expect("it has a place");
        assert_eq!((bounds.rect, bounds.proven), (WindowRect::new(208, 386, 240, 80), true));
        let office = Projection::of("gtk", "3.24.38", Some(extents((0, 0, 1_016, 700))), placement);
        let bounds = |realm: Realm| office.project(extents((92, 21, 44, 35)), realm).map(|bounds| bounds.proven);
        assert_eq!(bounds(Realm::Window), Some(true));
        assert_eq!(bounds(Realm::Window.below("root pane").below("tool bar")), Some(false));
        assert_eq!(bounds(Realm::Window.below("document web")), Some(true));
    }

    #[test]
    fn what_does_not_agree_is_unproven_and_nowhere_is_nothing() {
        let placement =
            Placement { client: DesktopRect::new(10, 20, 300, 200), frame: Edges::default(), shadow: Edges::default() };
        let elsewhere = Projection::of("Qt", "6", Some(extents((400, 20, 300, 200))), placement);
        assert_eq!(elsewhere.project(extents((15, 25, 5, 5)), Realm::Window).map(|bounds| bounds.proven), Some(false));
        let silent = Projection::of("gtk", "3.24", None, placement);
        assert!(!silent.proven);
        for nowhere in [(-1, -1, -1, -1), (i32::MIN, i32::MIN, 1, 1), (0, 0, 0, 0), (5, 5, 0, 9), (-1, -1, 1, 1)] {
            assert_eq!(silent.project(extents(nowhere), Realm::Window), None, "{nowhere:?}");
        }
        assert_eq!(
            silent.project(extents((5, -5_714, 10, 10)), Realm::Window).map(|bounds| bounds.rect.y),
            Some(-5_714)
        );
    }
}

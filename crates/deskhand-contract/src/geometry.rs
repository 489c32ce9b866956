//! Points, sizes and rectangles that carry their space. A point of one space cannot be used in another.

use std::marker::PhantomData;

/// Pixels of one window, origin at its top left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowSpace {}
/// Source pixels of one display, origin at its top left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DisplaySpace {}
/// Pixels of one returned image, after region and downscale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScreenshotSpace {}
/// Pixels of the whole desktop. Never leaves the Runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DesktopSpace {}

/// A point of space `S`, in whole pixels.
#[derive(Debug)]
pub struct Point<S> {
    /// Pixels to the right of the origin.
    pub x: i32,
    /// Pixels below the origin.
    pub y: i32,
    space: PhantomData<fn() -> S>,
}

/// A point of a window.
pub type WindowPoint = Point<WindowSpace>;
/// A point of a display.
pub type DisplayPoint = Point<DisplaySpace>;
/// A point of a returned image.
pub type ScreenshotPoint = Point<ScreenshotSpace>;
/// A point of the desktop.
pub type DesktopPoint = Point<DesktopSpace>;

impl<S> Point<S> {
    /// A point at `x`, `y`.
    #[must_use]
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y, space: PhantomData }
    }
}

impl<S> Clone for Point<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Point<S> {}
impl<S> PartialEq for Point<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.x, self.y) == (other.x, other.y)
    }
}
impl<S> Eq for Point<S> {}

/// A size in whole pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

impl Size {
    /// A size of `width` by `height`.
    #[must_use]
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }

    /// Number of pixels.
    #[must_use]
    pub const fn area(self) -> u64 {
        self.width as u64 * self.height as u64
    }
}

/// A rectangle of space `S`, in whole pixels. It may lie partly outside the space (a window half off
/// screen, a node scrolled away).
pub struct Rect<S> {
    /// Left edge.
    pub x: i32,
    /// Top edge.
    pub y: i32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    space: PhantomData<fn() -> S>,
}

/// A rectangle of a window.
pub type WindowRect = Rect<WindowSpace>;
/// A rectangle of a display.
pub type DisplayRect = Rect<DisplaySpace>;
/// A rectangle of the desktop.
pub type DesktopRect = Rect<DesktopSpace>;

impl<S> Rect<S> {
    /// A rectangle at `x`, `y` of `width` by `height`.
    #[must_use]
    pub const fn new(x: i32, y: i32, width: u32, height: u32) -> Self {
        Self { x, y, width, height, space: PhantomData }
    }

    /// Its size.
    #[must_use]
    pub const fn size(self) -> Size {
        Size::new(self.width, self.height)
    }

    /// Whether it has no pixel.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// The part that both have, or nothing.
    #[must_use]
    pub fn intersection(self, other: Self) -> Option<Self> {
        let left = i64::from(self.x).max(i64::from(other.x));
        let top = i64::from(self.y).max(i64::from(other.y));
        let right = (i64::from(self.x) + i64::from(self.width)).min(i64::from(other.x) + i64::from(other.width));
        let bottom = (i64::from(self.y) + i64::from(self.height)).min(i64::from(other.y) + i64::from(other.height));
        if left >= right || top >= bottom {
            return None;
        }
        // All four are within the two inputs' ranges; the extents are positive and fit 32 bits.
        Some(Self::new(left as i32, top as i32, (right - left) as u32, (bottom - top) as u32))
    }

    /// Whether `other` lies wholly inside.
    #[must_use]
    pub fn contains_rect(self, other: Self) -> bool {
        !other.is_empty() && self.intersection(other) == Some(other)
    }

    /// Whether `point` is one of its pixels.
    #[must_use]
    pub fn contains(self, point: Point<S>) -> bool {
        let (x, y) = (i64::from(point.x), i64::from(point.y));
        x >= i64::from(self.x)
            && y >= i64::from(self.y)
            && x < i64::from(self.x) + i64::from(self.width)
            && y < i64::from(self.y) + i64::from(self.height)
    }
}

impl<S> Clone for Rect<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Rect<S> {}
impl<S> PartialEq for Rect<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.x, self.y, self.width, self.height) == (other.x, other.y, other.width, other.height)
    }
}
impl<S> Eq for Rect<S> {}
impl<S> std::fmt::Debug for Rect<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}+{}+{}", self.width, self.height, self.x, self.y)
    }
}

/// The wire form of a rectangle: an object with `x`, `y`, `width`, `height`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRect {
    x: i32,
    y: i32,
    width: u32,
    height: u32,
}

impl<S> serde::Serialize for Rect<S> {
    fn serialize<Z: serde::Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        WireRect { x: self.x, y: self.y, width: self.width, height: self.height }.serialize(serializer)
    }
}

impl<'de, S> serde::Deserialize<'de> for Rect<S> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireRect::deserialize(deserializer)?;
        Ok(Self::new(wire.x, wire.y, wire.width, wire.height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intersection_never_overflows() {
        let far = WindowRect::new(i32::MAX, i32::MIN, u32::MAX, u32::MAX);
        let near = WindowRect::new(0, 0, 10, 10);
        assert_eq!(far.intersection(near), None);
        let wide = WindowRect::new(i32::MIN, i32::MIN, u32::MAX, u32::MAX);
        assert_eq!(wide.intersection(near), Some(near));
        assert!(wide.contains_rect(near));
        assert!(!near.contains_rect(wide));
        assert!(!near.contains_rect(WindowRect::new(0, 0, 0, 0)));
    }

    #[test]
    fn the_far_edges_are_outside() {
        let rect = WindowRect::new(-5, -5, 10, 10);
        assert!(rect.contains(Point::new(-5, 4)));
        assert!(!rect.contains(Point::new(5, 0)));
        assert!(!rect.contains(Point::new(0, 5)));
    }
}

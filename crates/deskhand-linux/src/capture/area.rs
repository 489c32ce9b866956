//! Sets of rectangles: what of a window has been painted, and what is still missing. Pure.

use deskhand_contract::geometry::WindowRect;

/// Pixels of a window, as rectangles that do not overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Area {
    rects: Vec<WindowRect>,
}

/// More pieces than this are not worth telling apart: the area then stays as it is, larger than the truth.
const MAX_PIECES: usize = 4_096;

impl Area {
    /// The area of `rects`, which may overlap.
    pub(crate) fn of(rects: impl IntoIterator<Item = WindowRect>) -> Self {
        let mut area = Self::default();
        for rect in rects {
            area.subtract(rect);
            if !rect.is_empty() {
                area.rects.push(rect);
            }
        }
        area
    }

    /// Whether no pixel is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.rects.is_empty()
    }

    /// Its rectangles.
    pub(crate) fn rects(&self) -> &[WindowRect] {
        &self.rects
    }

    /// Takes `hole` out.
    pub(crate) fn subtract(&mut self, hole: WindowRect) {
        if self.rects.len() > MAX_PIECES || self.rects.iter().all(|rect| rect.intersection(hole).is_none()) {
            return;
        }
        let mut left = Vec::with_capacity(self.rects.len() + 3);
        for rect in self.rects.drain(..) {
            match rect.intersection(hole) {
                None => left.push(rect),
                Some(cut) => around(rect, cut, &mut left),
            }
        }
        self.rects = left;
    }
}

/// The up to four pieces of `rect` around `cut`, which lies inside.
fn around(rect: WindowRect, cut: WindowRect, pieces: &mut Vec<WindowRect>) {
    let above = cut.y.abs_diff(rect.y);
    let below = rect.height - above - cut.height;
    let before = cut.x.abs_diff(rect.x);
    let after = rect.width - before - cut.width;
    let candidates = [
        WindowRect::new(rect.x, rect.y, rect.width, above),
        WindowRect::new(rect.x, cut.y.saturating_add_unsigned(cut.height), rect.width, below),
        WindowRect::new(rect.x, cut.y, before, cut.height),
        WindowRect::new(cut.x.saturating_add_unsigned(cut.width), cut.y, after, cut.height),
    ];
    pieces.extend(candidates.into_iter().filter(|piece| !piece.is_empty()));
}

#[cfg(test)]
mod tests {
    use deskhand_contract::geometry::WindowPoint;

    use super::*;

    fn pixels(area: &Area) -> u64 {
        area.rects().iter().map(|rect| rect.size().area()).sum()
    }

    #[test]
    fn overlaps_count_once_and_holes_are_exact() {
        let mut area = Area::of([WindowRect::new(0, 0, 10, 10), WindowRect::new(5, 5, 10, 10)]);
        assert_eq!(pixels(&area), 175);
        area.subtract(WindowRect::new(2, 2, 3, 3));
        assert_eq!(pixels(&area), 166);
        let holds = |x, y| area.rects().iter().any(|rect| rect.contains(WindowPoint::new(x, y)));
        assert!(!holds(3, 3) && holds(5, 5) && holds(14, 14) && !holds(14, 0));
        area.subtract(WindowRect::new(-100, -100, 1_000, 1_000));
        assert!(area.is_empty());
    }
}

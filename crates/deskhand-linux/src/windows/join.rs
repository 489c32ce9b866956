//! Which top-level accessible is which X window: by evidence, or not at all. Pure.
//!
//! The process comes first: the pid that the bus saw behind the accessibility connection and the pid that the
//! X server saw behind the window are both kernel facts. Within one process the place decides, then the size
//! together with the title, then which one is active, then elimination. Titles alone never decide between
//! two; where nothing does, both windows stay without a tree, because a wrong tree is worse than none.

use crate::map::geometry::{Extents, Fit, Placement, fit};
use crate::map::window::WindowKind;

/// An X window, as far as joining needs it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<'a> {
    /// The process that the X server saw, in the namespace of the bus.
    pub(crate) pid: Option<u32>,
    pub(crate) title: &'a str,
    pub(crate) kind: WindowKind,
    pub(crate) placement: Placement,
    pub(crate) viewable: bool,
    pub(crate) active: bool,
}

/// A top-level accessible, as far as joining needs it.
#[derive(Debug, Clone)]
pub(crate) struct Top<'a> {
    /// The process that the bus saw.
    pub(crate) pid: Option<u32>,
    pub(crate) name: &'a str,
    pub(crate) shape: Shape,
    /// Its extents in pixels of the screen; for GTK 4 only the size means something.
    pub(crate) extents: Option<Extents>,
    /// Whether the toolkit knows where its windows are on the screen.
    pub(crate) knows_place: bool,
    pub(crate) active: bool,
}

/// What kind of window an accessible's role speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A frame, window or an odd role that may be anything.
    Main,
    /// A dialog or alert.
    Dialog,
    /// A menu, popup or tooltip.
    Popup,
}

/// What joining found for one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joined {
    /// Its accessible, as an index.
    To(usize),
    /// Several fit and nothing tells them apart.
    Ambiguous,
    /// None fits, though its process exposes others.
    NoneOfProcess,
    /// Its process exposes nothing.
    NoProcess,
}

/// Joins `windows` to `tops`. `known` are pairs that were proven before and are taken as they are.
pub(crate) fn join(windows: &[Candidate<'_>], tops: &[Top<'_>], known: &[(usize, usize)]) -> Vec<Joined> {
    let mut joining = Joining { windows, tops, of_window: vec![None; windows.len()], of_top: vec![None; tops.len()] };
    for (window, top) in known {
        joining.pair(*window, *top);
    }
    for rule in RULES {
        joining.apply(*rule);
    }
    (0..windows.len()).map(|window| joining.verdict(window)).collect()
}

/// Whether a window and an accessible may be one, from the strongest evidence to the weakest. A pair is made
/// where each is the other's only choice.
type Rule = fn(&Candidate<'_>, &Top<'_>) -> bool;

const RULES: &[Rule] = &[
    |window, top| same_process(window, top) && alike(window, top) && place(window, top) && titled(window, top),
    |window, top| same_process(window, top) && alike(window, top) && place(window, top),
    |window, top| same_process(window, top) && alike(window, top) && size(window, top) && titled(window, top),
    |window, top| same_process(window, top) && alike(window, top) && size(window, top) && window.active && top.active,
    |window, top| same_process(window, top) && alike(window, top) && titled(window, top) && !window.title.is_empty(),
    |window, top| same_process(window, top) && alike(window, top) && size(window, top),
    // What is left over of a process is a pair only if it is one window and one accessible, of one kind, and
    // the window shows: an accessible that is not shown fits anything.
    |window, top| same_process(window, top) && alike(window, top) && window.title.is_empty() == top.name.is_empty(),
    // No process is proven on one of the two sides (a proxy, a remote client): everything else must agree.
    |window, top| {
        (window.pid.is_none() || top.pid.is_none())
            && alike(window, top)
            && place(window, top)
            && titled(window, top)
            && !window.title.is_empty()
    },
];

struct Joining<'a> {
    windows: &'a [Candidate<'a>],
    tops: &'a [Top<'a>],
    of_window: Vec<Option<usize>>,
    of_top: Vec<Option<usize>>,
}

impl Joining<'_> {
    fn pair(&mut self, window: usize, top: usize) {
        if self.of_window[window].is_none() && self.of_top[top].is_none() {
            self.of_window[window] = Some(top);
            self.of_top[top] = Some(window);
        }
    }

    /// Pairs all that are each other's only choice under `rule`, until no more are.
    fn apply(&mut self, rule: Rule) {
        loop {
            let pairs: Vec<_> = (0..self.windows.len())
                .filter_map(|window| {
                    let top = self.only_top(rule, window)?;
                    (self.only_window(rule, top)? == window).then_some((window, top))
                })
                .collect();
            if pairs.is_empty() {
                return;
            }
            for (window, top) in pairs {
                self.pair(window, top);
            }
        }
    }

    fn only_top(&self, rule: Rule, window: usize) -> Option<usize> {
        if self.of_window[window].is_some() {
            return None;
        }
        only(
            (0..self.tops.len())
                .filter(|top| self.of_top[*top].is_none() && rule(&self.windows[window], &self.tops[*top])),
        )
    }

    fn only_window(&self, rule: Rule, top: usize) -> Option<usize> {
        only(
            (0..self.windows.len())
                .filter(|window| self.of_window[*window].is_none() && rule(&self.windows[*window], &self.tops[top])),
        )
    }

    fn verdict(&self, window: usize) -> Joined {
        if let Some(top) = self.of_window[window] {
            return Joined::To(top);
        }
        let candidate = &self.windows[window];
        let mut of_process = (0..self.tops.len()).filter(|top| same_process(candidate, &self.tops[*top])).peekable();
        if of_process.peek().is_none() {
            return Joined::NoProcess;
        }
        let open = of_process.any(|top| self.of_top[top].is_none() && alike(candidate, &self.tops[top]));
        if open { Joined::Ambiguous } else { Joined::NoneOfProcess }
    }
}

fn only(mut choices: impl Iterator<Item = usize>) -> Option<usize> {
    let first = choices.next()?;
    choices.next().is_none().then_some(first)
}

fn same_process(window: &Candidate<'_>, top: &Top<'_>) -> bool {
    window.pid.is_some() && window.pid == top.pid
}

/// Whether the kinds can be one: a popup is no frame.
fn alike(window: &Candidate<'_>, top: &Top<'_>) -> bool {
    match window.kind {
        WindowKind::Popup | WindowKind::Tooltip | WindowKind::Notification => {
            // Chromium calls its popups frames; they must then be where the popup is.
            top.shape == Shape::Popup || (top.shape == Shape::Main && place(window, top))
        }
        _ => top.shape != Shape::Popup,
    }
}

fn titled(window: &Candidate<'_>, top: &Top<'_>) -> bool {
    window.title == top.name
}

fn place(window: &Candidate<'_>, top: &Top<'_>) -> bool {
    top.knows_place && window.viewable && fits(window, top) == Fit::Place
}

fn size(window: &Candidate<'_>, top: &Top<'_>) -> bool {
    fits(window, top) != Fit::No
}

fn fits(window: &Candidate<'_>, top: &Top<'_>) -> Fit {
    top.extents.map_or(Fit::No, |extents| fit(extents, window.placement))
}

#[cfg(test)]
mod tests {
    use deskhand_contract::geometry::DesktopRect;

    use super::*;
    use crate::map::geometry::Edges;

    fn window(pid: u32, title: &str, rect: (i32, i32, u32, u32)) -> Candidate<'_> {
        Candidate {
            pid: Some(pid),
            title,
            kind: WindowKind::Normal,
            placement: Placement {
                client: DesktopRect::new(rect.0, rect.1, rect.2, rect.3),
                frame: Edges { left: 1, right: 1, top: 20, bottom: 5 },
                shadow: Edges::default(),
            },
            viewable: true,
            active: false,
        }
    }

    fn top(pid: u32, name: &str, extents: (i32, i32, i32, i32)) -> Top<'_> {
        Top {
            pid: Some(pid),
            name,
            shape: Shape::Main,
            extents: Some(Extents { x: extents.0, y: extents.1, width: extents.2, height: extents.3 }),
            knows_place: true,
            active: false,
        }
    }

    #[test]
    fn two_windows_of_one_title_and_size_are_told_apart_by_their_place() {
        let windows = [window(7, "same", (100, 100, 300, 200)), window(7, "same", (500, 100, 300, 200))];
        let tops = [top(7, "same", (499, 80, 302, 225)), top(7, "same", (99, 80, 302, 225))];
        assert_eq!(join(&windows, &tops, &[]), [Joined::To(1), Joined::To(0)]);
    }

    #[test]
    fn without_a_place_two_alike_have_no_tree_until_one_is_active() {
        let mut windows = [window(7, "same", (100, 100, 300, 200)), window(7, "same", (500, 100, 300, 200))];
        let mut tops = [top(7, "same", (0, 0, 300, 200)), top(7, "same", (0, 0, 300, 200))];
        for top in &mut tops {
            top.knows_place = false;
        }
        assert_eq!(join(&windows, &tops, &[]), [Joined::Ambiguous, Joined::Ambiguous]);
        windows[1].active = true;
        tops[0].active = true;
        assert_eq!(join(&windows, &tops, &[]), [Joined::To(1), Joined::To(0)]);
        windows[1].active = false;
        tops[0].active = false;
        assert_eq!(join(&windows, &tops, &[(0, 1)]), [Joined::To(1), Joined::To(0)]);
    }

    #[test]
    fn a_title_never_crosses_processes() {
        let windows = [window(7, "login", (0, 0, 300, 200)), window(8, "login", (0, 0, 300, 200))];
        let tops = [top(8, "login", (0, 0, 300, 200))];
        assert_eq!(join(&windows, &tops, &[]), [Joined::NoProcess, Joined::To(0)]);
    }

    #[test]
    fn an_empty_name_and_an_odd_role_join_by_process() {
        let windows = [window(7, "qt fixture", (0, 0, 300, 200)), window(7, "second", (9, 9, 30, 20))];
        let tops = [top(7, "", (0, 0, 300, 200)), top(7, "", (9, 9, 30, 20))];
        assert_eq!(join(&windows, &tops, &[]), [Joined::To(0), Joined::To(1)]);
    }

    #[test]
    fn a_popup_does_not_take_the_frame() {
        let mut windows = [window(7, "main", (0, 0, 300, 200)), window(7, "main", (40, 60, 100, 80))];
        windows[1].kind = WindowKind::Popup;
        let tops = [top(7, "main", (0, 0, 300, 200))];
        assert_eq!(join(&windows, &tops, &[]), [Joined::To(0), Joined::NoneOfProcess]);
    }

    #[test]
    fn without_a_process_all_else_must_agree() {
        let mut windows = [window(7, "xterm", (10, 10, 300, 200))];
        windows[0].pid = None;
        assert_eq!(join(&windows, &[top(9, "xterm", (10, 10, 300, 200))], &[]), [Joined::To(0)]);
        assert_eq!(join(&windows, &[top(9, "other", (10, 10, 300, 200))], &[]), [Joined::NoProcess]);
        assert_eq!(join(&windows, &[top(9, "xterm", (50, 10, 300, 200))], &[]), [Joined::NoProcess]);
    }
}

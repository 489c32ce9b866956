//! Waits: until something is there, or gone. Driven by what the provider sees happen.

use std::time::{Duration, Instant};

use deskhand_contract::action::{Condition, Filter};
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::id::SurfaceId;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Fault, NativeKey, WindowFacts};
use deskhand_contract::reply::Waited;

use super::{elements, windows};
use crate::admit;
use crate::bind::{self, Target};
use crate::call::Call;
use crate::trees;

/// Elements or windows that a wait tells of.
const MAX_TOLD: usize = 8;
/// A look without an event: for applications that announce nothing.
const UNANNOUNCED: Duration = Duration::from_millis(1_000);
/// An application shows its window before its tree: that long, a window without one may still get it.
const SETTLING: Duration = Duration::from_secs(5);
/// Kept of the caller's time, to answer within it.
const MARGIN: Duration = Duration::from_millis(20);

/// Waits for `condition`. That it did not come true in time is an answer.
pub(crate) fn until(call: &Call<'_>, condition: &Condition, timeout_ms: u32) -> Result<Waited, CallError> {
    let begun = call.runner.world.clock.now();
    let mine = call.limit.remaining().saturating_sub(MARGIN);
    let limit = call.limit.tightened(mine.min(Duration::from_millis(u64::from(timeout_ms))));
    let wait = Wait { call, target: target(call, condition)?, limit, settled: begun + SETTLING };
    loop {
        // The mark comes first: what happens while it looks brings the next look.
        let mark = call.runner.seam.provider().change_mark();
        let waited = |mut found: Waited| {
            let passed = call.runner.world.clock.now().saturating_duration_since(begun);
            found.waited_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
            found
        };
        match wait.look(condition) {
            Ok(Some(found)) => return Ok(waited(found)),
            Ok(None) => {}
            // The last look may be cut short by the wait's own end, which says nothing of the desktop.
            Err(error) if wait.limit.is_over() && error.code == ErrorCode::Unavailable => {}
            Err(error) => return Err(error),
        }
        if call.limit.cancel.is_cancelled() {
            return Err(call.ended_early());
        }
        if wait.limit.is_over() {
            return Ok(waited(nothing()));
        }
        let window = wait.target.as_ref().map(|target| target.window.clone());
        let step = wait.limit.tightened(UNANNOUNCED);
        call.runner.seam.wait(&step, move |provider, limit| provider.await_change(mark, window.as_ref(), limit));
    }
}

struct Wait<'a> {
    call: &'a Call<'a>,
    target: Option<Target>,
    limit: Limit,
    settled: Instant,
}

/// The window that is looked at. One that this session knew and that is gone already is none.
fn target(call: &Call<'_>, condition: &Condition) -> Result<Option<Target>, CallError> {
    let Some(surface) = condition.surface() else { return Ok(None) };
    let gone = matches!(condition, Condition::SurfaceGone { .. } | Condition::ElementGone { .. })
        && call.session.held().surfaces.is_gone(surface);
    if gone { Ok(None) } else { bind::target(call, surface, None).map(Some) }
}

impl Wait<'_> {
    /// Looks once; what was found, if it came true.
    fn look(&self, condition: &Condition) -> Result<Option<Waited>, CallError> {
        match condition {
            Condition::Element { surface, filter } => self.element(surface, filter),
            Condition::ElementGone { filter, .. } => self.element_gone(filter),
            Condition::Window { title } => {
                let all = self.windows()?;
                let found: Vec<&WindowFacts> = titled(&all, title).take(MAX_TOLD).collect();
                let found = windows::shown(self.call, &found);
                Ok((!found.is_empty()).then(|| Waited { windows: found, ..satisfied() }))
            }
            Condition::WindowGone { title } => {
                let all = self.windows()?;
                Ok(titled(&all, title).next().is_none().then(satisfied))
            }
            Condition::SurfaceGone { .. } => {
                let Some(target) = &self.target else { return Ok(Some(satisfied())) };
                let all = self.windows()?;
                Ok((!all.iter().any(|facts| facts.key == target.window)).then(satisfied))
            }
        }
    }

    fn element(&self, surface: &SurfaceId, filter: &Filter) -> Result<Option<Waited>, CallError> {
        let Some(target) = &self.target else {
            return Err(self.call.stale_surface("This window is gone."));
        };
        match self.window(&target.window) {
            Ok(facts) => self.refuse(&facts)?,
            Err(Fault::Gone) => {
                self.call.session.held().end_surface(surface);
                return Err(self.call.stale_surface("This window went while it was waited for."));
            }
            Err(fault) => return self.later(fault),
        }
        let ask = trees::outline_ask(None);
        let tree = match trees::read_within(self.call, &target.window, &ask, &self.step()) {
            Ok(tree) => tree,
            Err(fault) => return self.later(fault),
        };
        let found = elements::matching(&tree, filter);
        if found.is_empty() {
            return Ok(None);
        }
        let (generation, matches) = elements::told(self.call, target, &tree, &found[..found.len().min(MAX_TOLD)])?;
        if matches.is_empty() {
            return Ok(None);
        }
        Ok(Some(Waited { matches, generation: Some(generation), ..satisfied() }))
    }

    fn element_gone(&self, filter: &Filter) -> Result<Option<Waited>, CallError> {
        let Some(target) = &self.target else { return Ok(Some(satisfied())) };
        match self.window(&target.window) {
            Ok(facts) => self.refuse(&facts)?,
            // Without its window it is gone.
            Err(Fault::Gone) => return Ok(Some(satisfied())),
            Err(fault) => return self.later(fault),
        }
        let ask = trees::outline_ask(None);
        match trees::read_within(self.call, &target.window, &ask, &self.step()) {
            // A part that was not read proves no absence.
            Ok(tree) if tree.notes.is_empty() && elements::matching(&tree, filter).is_empty() => Ok(Some(satisfied())),
            Ok(_) => Ok(None),
            Err(fault) => self.later(fault),
        }
    }

    fn windows(&self) -> Result<Vec<WindowFacts>, CallError> {
        self.call
            .read_within(&self.step(), |provider, limit| provider.windows(limit))
            .map_err(|fault| self.call.fault(fault))
    }

    fn window(&self, window: &NativeKey) -> Result<WindowFacts, Fault> {
        let window = window.clone();
        self.call.read_within(&self.step(), move |provider, limit| provider.window(&window, limit))
    }

    fn refuse(&self, facts: &WindowFacts) -> Result<(), CallError> {
        admit::window(facts).map_or(Ok(()), |refusal| Err(self.call.refuse(refusal)))
    }

    /// A look that failed: an application that does not answer now may answer later; the rest is an error.
    fn later(&self, fault: Fault) -> Result<Option<Waited>, CallError> {
        match fault {
            Fault::Unresponsive => Ok(None),
            Fault::Cancelled if !self.call.limit.cancel.is_cancelled() => Ok(None),
            Fault::Unsupported(_) if self.call.runner.world.clock.now() < self.settled => Ok(None),
            Fault::Unsupported(why) => {
                Err(self.call.fail(ErrorCode::NotActionable, format!("This window has no semantic tree: {why}.")))
            }
            Fault::Gone => Ok(None),
            fault => Err(self.call.fault(fault)),
        }
    }

    /// One look has its own bound, so that an application that hangs is asked again.
    fn step(&self) -> Limit {
        self.limit.tightened(Duration::from_secs(2))
    }
}

/// Windows by a part of their title. The title of a refused one is not read.
fn titled<'a>(all: &'a [WindowFacts], title: &'a str) -> impl Iterator<Item = &'a WindowFacts> {
    all.iter().filter(move |facts| admit::window(facts).is_none() && facts.title.contains(title))
}

fn satisfied() -> Waited {
    Waited { satisfied: true, ..nothing() }
}

fn nothing() -> Waited {
    Waited { satisfied: false, waited_ms: 0, matches: Vec::new(), windows: Vec::new(), generation: None }
}

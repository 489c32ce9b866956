//! What a fake desktop does other than as asked: late, not at all, or in the middle of something.

use std::time::Duration;

use deskhand_contract::provider::Fault;

/// A question or an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A list of windows.
    Windows,
    /// One window measured.
    Window,
    /// A list of displays.
    Displays,
    /// A tree.
    Tree,
    /// One element read live.
    Resolve,
    /// A value.
    Value,
    /// An effect.
    Perform,
    /// A picture.
    Capture,
    /// The state of accessibility.
    Status,
}

/// How an element (or a window, for its activation) answers an effect.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// It does what was asked.
    Obey,
    /// It says that it did, and does nothing.
    Lie,
    /// It does it some time after it said so.
    Later(Duration),
    /// It says that it did nothing.
    Noop,
    /// Nothing reached it.
    NotStarted(Fault),
    /// It does it, and then does not answer until the time is up.
    Stall,
    /// It does nothing and does not answer until the time is up or the call is cancelled.
    Hang,
    /// It does nothing and heeds neither deadline nor cancel, for so long.
    Deaf(Duration),
    /// Its window goes, and the answer is lost.
    Die,
    /// Its window goes, and it says that it did it.
    Close,
    /// Another window of that title comes, and it says that it did it.
    Open(String),
    /// Of text: only so many bytes arrive, and it says that all did.
    Cut(usize),
    /// Its element goes, and it says that it did it.
    Vanish,
    /// The provider panics.
    Panic,
}

/// What a rule does when its step comes.
pub(crate) enum Action {
    /// The step fails.
    Fail(Fault),
    /// The step takes so long.
    Delay(Duration),
    /// Something happens on the desktop first.
    Run(Box<dyn FnMut(&crate::FakeDesktop) + Send>),
}

/// A rule: at the `from`-th time of a step (counted from 1 after the rule was made), `times` times.
pub(crate) struct Rule {
    pub(crate) step: Step,
    pub(crate) skip: u32,
    pub(crate) times: u32,
    pub(crate) action: Action,
}

//! Watches the display for changes of windows: a counter that grows, and a wait on it. No polling.
//!
//! A connection and a thread of its own, because waiting for events must not stand in the way of requests. It
//! selects events only; it changes nothing.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::EventfdFlags;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ChangeWindowAttributesAux, ConnectionExt as _, EventMask, Window};

use crate::sys::x11::{Patience, XError, open};

/// The running watch. Dropping it ends its thread.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    stop: Arc<OwnedFd>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// What has been seen.
#[derive(Default)]
struct State {
    /// Counts every change.
    mark: u64,
    /// The mark of the last change of each window, and of its frame.
    of_window: HashMap<Window, u64>,
    /// Changes before this mark may have been missed (the connection was down).
    blind_until: u64,
}

/// How long a lost display rests before the next attempt.
const RECONNECT: Duration = Duration::from_millis(500);
/// Windows that are remembered one by one.
const MAX_REMEMBERED: usize = 4_096;

impl Watch {
    /// Begins to watch `display`.
    ///
    /// # Errors
    ///
    /// [`XError::Unreachable`] if the thread cannot be made. A display that cannot be reached is tried again
    /// and again.
    pub(crate) fn begin(display: Option<String>) -> Result<Self, XError> {
        let unreachable = |error: std::io::Error| XError::Unreachable(error.to_string());
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| unreachable(error.into()))?;
        let stop = Arc::new(stop);
        let shared = Arc::new(Shared { state: Mutex::new(State::default()), changed: Condvar::new() });
        let (seen, until) = (Arc::clone(&shared), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("deskhand-x11".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || watch(display.as_deref(), &seen, &until))
            .map_err(unreachable)?;
        Ok(Self { shared, stop, thread: Some(thread) })
    }

    /// Everything seen so far.
    pub(crate) fn mark(&self) -> u64 {
        self.lock().mark
    }

    /// Counts a change that was seen elsewhere.
    pub(crate) fn bump(&self) {
        self.shared.bump(None);
    }

    /// Returns once something changed after `since` in `window` (or anywhere), or at `until`. In short steps
    /// `wanted` says whether the caller still wants it.
    pub(crate) fn wait(&self, since: u64, window: Option<Window>, until: Instant, wanted: impl Fn() -> bool) -> u64 {
        /// A cancelled caller is let go within this time.
        const STEP: Duration = Duration::from_millis(40);
        let mut state = self.lock();
        loop {
            let seen = match window {
                Some(window) => state.of_window.get(&window).copied().unwrap_or(0).max(state.blind_until),
                None => state.mark,
            };
            let left = until.saturating_duration_since(Instant::now());
            if seen > since || left.is_zero() || !wanted() {
                return state.mark;
            }
            let waited = self.shared.changed.wait_timeout(state, left.min(STEP));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn bump(&self, window: Option<Window>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.mark += 1;
        let mark = state.mark;
        match window {
            Some(window) => {
                if state.of_window.len() >= MAX_REMEMBERED {
                    state.of_window.clear();
                    state.blind_until = mark;
                }
                state.of_window.insert(window, mark);
            }
            None => state.blind_until = mark,
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Watches until told to stop; connects again when the display comes back.
fn watch(display: Option<&str>, shared: &Shared, stop: &Arc<OwnedFd>) {
    loop {
        let _ended = watch_once(display, shared, stop);
        shared.bump(None);
        if stopped_within(stop, RECONNECT) {
            return;
        }
    }
}

fn watch_once(display: Option<&str>, shared: &Shared, stop: &Arc<OwnedFd>) -> Result<(), XError> {
    let (conn, screen) = open(display, Patience::Until(Arc::clone(stop)))?;
    let root = conn.setup().roots[screen].root;
    let on_root = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY;
    let select = |window: Window, mask: EventMask| -> Result<(), XError> {
        // A window that is gone already answers with an error event, which is ignored below.
        conn.change_window_attributes(window, &ChangeWindowAttributesAux::new().event_mask(mask))?;
        Ok(())
    };
    select(root, on_root)?;
    let on_window = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_NOTIFY;
    for child in conn.query_tree(root)?.reply()?.children {
        select(child, on_window)?;
        // The application's window is inside the frame.
        for inner in conn.query_tree(child)?.reply().map(|tree| tree.children).unwrap_or_default() {
            select(inner, EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY)?;
        }
    }
    conn.flush()?;
    shared.bump(None);
    loop {
        let event = conn.wait_for_event()?;
        let window = match event {
            Event::CreateNotify(event) => {
                select(event.window, on_window)?;
                Some(event.window)
            }
            Event::ReparentNotify(event) => {
                select(event.window, EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY)?;
                Some(event.window)
            }
            Event::MapNotify(event) => Some(event.window),
            Event::UnmapNotify(event) => Some(event.window),
            Event::ConfigureNotify(event) => Some(event.window),
            Event::DestroyNotify(event) => Some(event.window),
            Event::GravityNotify(event) => Some(event.window),
            Event::CirculateNotify(event) => Some(event.window),
            Event::PropertyNotify(event) => Some(event.window),
            _ => continue,
        };
        conn.flush()?;
        shared.bump(window.filter(|window| *window != root));
    }
}

/// Waits, and says whether the watch was told to stop meanwhile.
fn stopped_within(stop: &OwnedFd, time: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&time)).is_ok_and(|ready| ready > 0)
}

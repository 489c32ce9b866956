//! How long a Runner lives: as long as someone needs it and its display is there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most connections at a time.
pub(super) const MAX_CONNECTIONS: usize = 32;
/// Most calls at a time, of all connections.
const MAX_CALLS: usize = 64;

/// Who needs the process, counted.
pub(super) struct Life {
    connections: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    touched: Mutex<Instant>,
    ending: AtomicBool,
}

/// A place among the connections or calls, given back when dropped.
pub(super) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Life {
    pub(super) fn new() -> Self {
        Self {
            connections: Arc::default(),
            calls: Arc::default(),
            touched: Mutex::new(Instant::now()),
            ending: AtomicBool::new(false),
        }
    }

    /// A place for a connection, or none where there are as many as may be.
    pub(super) fn begin_connection(&self) -> Option<Place> {
        self.touch();
        take(&self.connections, MAX_CONNECTIONS)
    }

    /// A place for a call, or none where there are as many as may be.
    pub(super) fn begin_call(&self) -> Option<Place> {
        take(&self.calls, MAX_CALLS)
    }

    /// Something happened.
    pub(super) fn touch(&self) {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Whether nobody has needed the process for `idle`.
    pub(super) fn is_idle_for(&self, idle: Duration) -> bool {
        self.connections.load(Ordering::Acquire) == 0
            && self.calls.load(Ordering::Acquire) == 0
            && self.touched.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= idle
    }

    /// Ends the process if the one who asks is its only user; says whether it does.
    pub(super) fn quit(&self) -> bool {
        let alone = self.connections.load(Ordering::Acquire) <= 1 && self.calls.load(Ordering::Acquire) == 0;
        if alone {
            self.ending.store(true, Ordering::Release);
        }
        alone
    }

    /// Whether the process is to end.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }
}

fn take(count: &Arc<AtomicUsize>, most: usize) -> Option<Place> {
    count
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < most).then_some(now + 1))
        .ok()
        .map(|_| Place(Arc::clone(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_or_a_call_keeps_it_alive_and_places_come_back() {
        let life = Life::new();
        assert!(life.is_idle_for(Duration::ZERO));
        let connection = life.begin_connection().unwrap();
        assert!(!life.is_idle_for(Duration::ZERO));
        let call = life.begin_call().unwrap();
        assert!(!life.quit(), "a call is under way");
        drop(call);
        let other = life.begin_connection().unwrap();
        assert!(!life.quit(), "another session is there");
        drop(other);
        assert!(life.quit() && life.is_ending());
        drop(connection);
        assert!(life.is_idle_for(Duration::ZERO));
        assert!(!life.is_idle_for(Duration::from_secs(60)));
    }

    #[test]
    fn places_are_bounded() {
        let life = Life::new();
        let held: Vec<Place> = (0..MAX_CONNECTIONS).map(|_| life.begin_connection().unwrap()).collect();
        assert!(life.begin_connection().is_none());
        drop(held);
        assert!(life.begin_connection().is_some());
    }
}

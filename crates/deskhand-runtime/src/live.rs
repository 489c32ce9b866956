//! The calls that are under way, so that Stop can end them. Its lock is held for a moment and by nobody who waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskhand_contract::limit::Cancel;

/// Calls under way.
#[derive(Default)]
pub(crate) struct Live {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    running: HashMap<u64, Running>,
}

struct Running {
    cancel: Cancel,
    stopped: Arc<AtomicBool>,
}

/// A call under way; it ends when this is dropped.
pub(crate) struct Place<'a> {
    live: &'a Live,
    number: u64,
    stopped: Arc<AtomicBool>,
}

impl Live {
    pub(crate) fn begin(&self, cancel: &Cancel) -> Place<'_> {
        let stopped = Arc::new(AtomicBool::new(false));
        let mut calls = self.lock();
        let number = calls.next;
        calls.next += 1;
        calls.running.insert(number, Running { cancel: cancel.clone(), stopped: Arc::clone(&stopped) });
        Place { live: self, number, stopped }
    }

    /// Cancels every call; says how many.
    pub(crate) fn stop(&self) -> u32 {
        let calls = self.lock();
        for running in calls.running.values() {
            running.stopped.store(true, Ordering::Release);
            running.cancel.cancel();
        }
        u32::try_from(calls.running.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.lock().running.len()).unwrap_or(u32::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Whether Stop, and not the caller, ended it.
    pub(crate) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.live.lock().running.remove(&self.number);
    }
}

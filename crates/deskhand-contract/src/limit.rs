//! How long a call may take, and whether it is still wanted.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whether a call is still wanted. Clones share one state; once cancelled it stays so.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<(Mutex<bool>, Condvar)>);

impl Cancel {
    /// Not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels, and wakes every waiter.
    pub fn cancel(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until cancelled or until `timeout` has passed; says whether it was cancelled.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        let state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, _) = self
            .0
            .1
            .wait_timeout_while(state, timeout, |cancelled| !*cancelled)
            .unwrap_or_else(PoisonError::into_inner);
        *state
    }
}

/// The bound on one call: a deadline on the monotonic clock, and its cancellation.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The moment after which nothing more may begin.
    pub deadline: Instant,
    /// Whether the caller still wants it.
    pub cancel: Cancel,
}

impl Limit {
    /// A limit that ends `after` from now and is not cancelled.
    #[must_use]
    pub fn after(after: Duration) -> Self {
        Self { deadline: Instant::now() + after, cancel: Cancel::new() }
    }

    /// The same cancellation with a deadline no later than `after` from now.
    #[must_use]
    pub fn tightened(&self, after: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + after), cancel: self.cancel.clone() }
    }

    /// Time left, zero once over.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Whether time is up or the call was cancelled.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.remaining().is_zero() || self.cancel.is_cancelled()
    }
}

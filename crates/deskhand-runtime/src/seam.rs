//! Every question to the provider passes here: under a deadline that holds also where the provider does not keep
//! its own, and without harm where it panics.
//!
//! Each question has a thread of its own. A caller that cancels, or whose time is up, leaves; the thread ends when
//! the provider returns, and what it brings then is dropped. Abandoned threads are counted and bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Dispatch, Fault, Provider};

/// A provider behind its deadline.
pub(crate) struct Seam {
    provider: Arc<dyn Provider>,
    under_way: Arc<AtomicUsize>,
}

/// Questions at a time, those included that were abandoned and have not returned.
const MAX_UNDER_WAY: usize = 256;
/// What a provider may take beyond its deadline, to hand over what it has.
const GRACE: Duration = Duration::from_millis(300);
/// What it may take after a cancel.
const CANCEL_GRACE: Duration = Duration::from_millis(15);
/// How often a waiting caller looks whether it was cancelled.
const STEP: Duration = Duration::from_millis(10);

/// Why there is no answer.
enum Missing {
    Cancelled,
    Late,
    Crashed,
    Full,
}

impl Seam {
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider, under_way: Arc::default() }
    }

    /// The provider itself, for what answers from memory (its profile, a change mark).
    pub(crate) fn provider(&self) -> &dyn Provider {
        self.provider.as_ref()
    }

    /// Asks a read.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        limit: &Limit,
        question: impl FnOnce(&dyn Provider, &Limit) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        self.ask(limit, question).unwrap_or_else(|missing| Err(missing.fault()))
    }

    /// Waits for what has no failure of its own; `None` where the time is up.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        limit: &Limit,
        question: impl FnOnce(&dyn Provider, &Limit) -> T + Send + 'static,
    ) -> Option<T> {
        self.ask(limit, question).ok()
    }

    /// Performs an effect. One that was abandoned may still happen: its end is unknown.
    pub(crate) fn effect(
        &self,
        limit: &Limit,
        effect: impl FnOnce(&dyn Provider, &Limit) -> Dispatch + Send + 'static,
    ) -> Dispatch {
        self.ask(limit, effect).unwrap_or_else(|missing| match missing {
            Missing::Full => Dispatch::NotStarted(missing.fault()),
            Missing::Cancelled => Dispatch::Unknown("cancelled while the application was acting".to_owned()),
            Missing::Late => Dispatch::Unknown("the application did not answer in time".to_owned()),
            Missing::Crashed => Dispatch::Unknown("the provider failed while it acted".to_owned()),
        })
    }

    fn ask<T: Send + 'static>(
        &self,
        limit: &Limit,
        question: impl FnOnce(&dyn Provider, &Limit) -> T + Send + 'static,
    ) -> Result<T, Missing> {
        let place = Place::take(&self.under_way).ok_or(Missing::Full)?;
        let (answer, answered) = mpsc::sync_channel(1);
        let (provider, inner) = (Arc::clone(&self.provider), limit.clone());
        std::thread::Builder::new()
            .name("provider".to_owned())
            .spawn(move || {
                let _place = place;
                // A caller that has left wants no answer.
                let _ = answer.send(question(provider.as_ref(), &inner));
            })
            .map_err(|_| Missing::Full)?;
        let mut leave = limit.deadline + GRACE;
        loop {
            if limit.cancel.is_cancelled() {
                leave = leave.min(Instant::now() + CANCEL_GRACE);
            }
            let left = leave.saturating_duration_since(Instant::now());
            // Once cancelled, the whole of the grace is waited at once.
            let step = if limit.cancel.is_cancelled() { left } else { left.min(STEP) };
            match answered.recv_timeout(step) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(Missing::Crashed),
                Err(RecvTimeoutError::Timeout) if Instant::now() < leave => {}
                Err(RecvTimeoutError::Timeout) if limit.cancel.is_cancelled() => return Err(Missing::Cancelled),
                Err(RecvTimeoutError::Timeout) => return Err(Missing::Late),
            }
        }
    }
}

impl Missing {
    fn fault(&self) -> Fault {
        match self {
            Self::Cancelled => Fault::Cancelled,
            Self::Late => Fault::Unresponsive,
            Self::Crashed => Fault::Backend("the provider failed; the Runner's log says more".to_owned()),
            Self::Full => Fault::Backend(
                "too many questions to applications are unanswered; end the applications that hang".to_owned(),
            ),
        }
    }
}

/// A place among the questions under way, given back when dropped.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(count: &Arc<AtomicUsize>) -> Option<Self> {
        count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < MAX_UNDER_WAY).then_some(now + 1))
            .ok()
            .map(|_| Self(Arc::clone(count)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

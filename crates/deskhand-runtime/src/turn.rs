//! One effect at a time on a desktop, in the order in which they came. Reads do not wait here.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskhand_contract::limit::Limit;

/// The effects that wait, the acting one first.
#[derive(Default)]
pub(crate) struct Turns {
    queue: Mutex<Queue>,
    moved: Condvar,
}

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: VecDeque<u64>,
}

/// The right to act now, given back when dropped.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    ticket: u64,
}

/// How often a waiting effect looks whether it was cancelled.
const STEP: Duration = Duration::from_millis(10);

impl Turns {
    /// Waits for the turn; `None` where the limit is over before it comes.
    pub(crate) fn take(&self, limit: &Limit) -> Option<Turn<'_>> {
        let mut queue = self.lock();
        let ticket = queue.next;
        queue.next += 1;
        queue.waiting.push_back(ticket);
        // Made now, so that leaving the queue is one code path.
        let turn = Turn { turns: self, ticket };
        while queue.waiting.front() != Some(&ticket) {
            if limit.is_over() {
                drop(queue);
                return None;
            }
            let step = limit.remaining().min(STEP);
            queue = self.moved.wait_timeout(queue, step).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(queue);
        if limit.is_over() { None } else { Some(turn) }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.lock().waiting.retain(|ticket| *ticket != self.ticket);
        self.turns.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_turn_comes_back_and_a_waiting_one_honours_its_limit() {
        let turns = Turns::default();
        let first = turns.take(&Limit::after(Duration::from_secs(5))).unwrap();
        assert!(turns.take(&Limit::after(Duration::from_millis(20))).is_none(), "someone acts");
        let cancelled = Limit::after(Duration::from_secs(60));
        cancelled.cancel.cancel();
        assert!(turns.take(&cancelled).is_none());
        drop(first);
        assert!(turns.take(&Limit::after(Duration::from_secs(5))).is_some());
        assert!(turns.take(&Limit::after(Duration::ZERO)).is_none(), "nothing begins after its deadline");
        assert!(turns.lock().waiting.is_empty());
    }

    #[test]
    fn turns_never_overlap() {
        let (turns, acting) = (Turns::default(), std::sync::atomic::AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _turn = turns.take(&Limit::after(Duration::from_secs(60))).unwrap();
                        assert_eq!(acting.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        acting.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
    }
}

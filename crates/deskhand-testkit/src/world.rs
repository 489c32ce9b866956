//! Time and randomness that a test decides.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use deskhand_contract::id::Entropy;

/// A clock that moves when it is told to. It begins at 2026-01-01T00:00:00Z.
#[derive(Debug)]
pub struct FakeClock {
    base: Instant,
    passed: Mutex<Duration>,
}

impl Default for FakeClock {
    fn default() -> Self {
        Self { base: Instant::now(), passed: Mutex::default() }
    }
}

impl FakeClock {
    /// Lets `time` pass.
    pub fn pass(&self, time: Duration) {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) += time;
    }

    /// Now, on a clock that never goes back.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.base + *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now, as people write it.
    #[must_use]
    pub fn wall(&self) -> SystemTime {
        const BEGINNING: Duration = Duration::from_secs(1_767_225_600);
        SystemTime::UNIX_EPOCH + BEGINNING + *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that a seed decides.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<u64>);

impl SeededEntropy {
    /// The sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64.
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = *state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
        }
    }
}

//! What time it is: the engine takes it as an argument, so that a test can be an hour later at once.

use std::time::{Duration, Instant, SystemTime};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now, on a clock that never goes back. For ages and expiry.
    fn now(&self) -> Instant;

    /// Now, as people write it. For audit rows and captures.
    fn wall(&self) -> SystemTime;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// `at` in RFC 3339, UTC, with milliseconds: `2026-01-31T09:30:00.125Z`. Times before 1970 are shown as its start.
#[must_use]
pub fn rfc3339(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let nanos = i32::try_from(since.subsec_millis() * 1_000_000).unwrap_or(0);
    let at = jiff::Timestamp::new(seconds, nanos).unwrap_or(jiff::Timestamp::MAX);
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_utc_with_milliseconds() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_769_851_800_125);
        assert_eq!(rfc3339(at), "2026-01-31T09:30:00.125Z");
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
    }
}

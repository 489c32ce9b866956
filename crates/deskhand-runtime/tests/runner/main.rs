//! The engine against a fake desktop: every refusal, race, loss, bound and verdict, as rows of data where they are
//! alike. What reached an application is read from the fake desktop's own log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod actionable;
mod audit;
mod concurrency;
mod conformance;
mod reads;
mod refusals;
mod stage;
mod stale;
mod verdicts;

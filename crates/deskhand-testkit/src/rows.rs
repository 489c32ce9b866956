//! Tests as data.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `test` on every row and fails once, with the names of all rows that failed.
///
/// # Panics
/// Where a row failed, or there is none.
#[track_caller]
pub fn check<T>(rows: impl IntoIterator<Item = (&'static str, T)>, test: impl Fn(T)) {
    let (mut failed, mut count) = (Vec::new(), 0);
    for (name, row) in rows {
        count += 1;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(row))) {
            let why = panic.downcast_ref::<String>().cloned();
            let why = why.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            failed.push(format!("  {name}: {}", why.unwrap_or_default()));
        }
    }
    assert!(count > 0, "no row was tested");
    assert!(failed.is_empty(), "{} of {count} rows failed:\n{}", failed.len(), failed.join("\n"));
}

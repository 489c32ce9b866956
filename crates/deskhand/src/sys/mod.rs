//! The few native calls that need `unsafe`.

pub(crate) mod descriptor;

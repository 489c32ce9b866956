//! What the surroundings say: environment variables (read once) and places in the file system.

mod environment;
mod places;

pub(crate) use environment::Environment;
pub(crate) use places::{Places, RunnerFiles, file_name};

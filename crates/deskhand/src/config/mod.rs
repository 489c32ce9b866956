//! What the surroundings say: environment variables (read once) and places in the file system.

mod environment;
mod places;

pub(crate) use environment::{Environment, STATE_DIR};
pub(crate) use places::{Places, RunnerFiles, audit_directory, file_name};

//! `deskhand desktop view`

use std::path::Path;

use deskhand_contract::error::{CallError, ErrorCode, IsEffect};
use serde_json::{Value, json};

use super::Surroundings;

/// Writes a picture, or serves a live view until the desktop ends or this process does.
pub(super) fn run(surroundings: &Surroundings, name: &str, png: Option<&Path>) -> Result<Value, CallError> {
    let record = super::desktop::ready(name)?;
    let _ = (surroundings, png, json!(record.name.as_str()));
    Err(CallError::rejected(ErrorCode::ComputerPlatformUnsupported, "Not laid yet.", IsEffect::No))
}

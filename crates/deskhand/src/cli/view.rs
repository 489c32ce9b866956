//! `deskhand desktop view`

use std::path::Path;
use std::time::Duration;

use deskhand_contract::error::{CallError, ErrorCode, Exit, IsEffect};
use deskhand_linux::desktop::{Camera, DesktopRecord, LiveView};
use serde_json::{Value, json};

use super::Surroundings;

/// Writes what the desktop shows to a PNG file.
pub(super) fn picture(record: &DesktopRecord, file: &Path) -> Result<Value, CallError> {
    let picture = Camera::of(record)?.take()?;
    let png = picture.png()?;
    write(file, &png).map_err(|error| {
        let message = format!("{} cannot be written: {error}.", file.display());
        CallError::rejected(ErrorCode::Configuration, message, IsEffect::No)
    })?;
    Ok(json!({
        "name": record.name.as_str(),
        "file": file.display().to_string(),
        "width": picture.width(),
        "height": picture.height(),
        "bytes": png.len(),
    }))
}

/// Serves a live view. Returns when the desktop ends; the person ends it with Control-C.
pub(super) fn live(surroundings: &Surroundings, record: &DesktopRecord) -> Result<Exit, CallError> {
    let view = LiveView::open(record)?;
    let told = json!({ "name": record.name.as_str(), "url": view.url(), "view_only": true });
    surroundings.output.command("desktop.view", Duration::ZERO, Ok(told));
    if surroundings.output.is_for_people() {
        surroundings.output.complaint("Open the address in a browser; it works once. Control-C ends the view.\n");
    }
    view.serve()?;
    Ok(Exit::Ok)
}

/// Whole or not at all.
fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = file.file_name().ok_or(std::io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = file.with_file_name(name);
    let written = std::fs::write(&fresh, bytes).and_then(|()| std::fs::rename(&fresh, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

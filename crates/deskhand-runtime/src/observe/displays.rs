//! Displays: which there are. A list ends the ids of the session's list before it.

use deskhand_contract::error::CallError;
use deskhand_contract::reply::{Display, Displays};

use crate::audit::{Entry, Happening};
use crate::call::Call;

/// Lists the displays.
pub(crate) fn list(call: &Call<'_>, limit: u32) -> Result<Displays, CallError> {
    let all = call.read(|provider, limit| provider.displays(limit)).map_err(|fault| call.fault(fault))?;
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    call.record(Entry { count: Some(count), ..call.entry(Happening::Read) })?;
    let mut held = call.session.held();
    held.displays.clear();
    let mut displays = Vec::new();
    for facts in all.into_iter().take(limit as usize) {
        let display_id = call.runner.identities.display();
        displays.push(Display {
            display_id: display_id.clone(),
            source_width: facts.geometry.width,
            source_height: facts.geometry.height,
            primary: facts.primary,
        });
        held.displays.insert(display_id, facts);
    }
    Ok(Displays { truncated: (displays.len() as u32) < count, displays, count })
}

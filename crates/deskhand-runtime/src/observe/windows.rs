//! Windows: which there are, what they are called in this session, which are refused and why.

use std::collections::HashSet;

use deskhand_contract::error::CallError;
use deskhand_contract::id::SurfaceId;
use deskhand_contract::provider::{TreeSupport, WindowFacts, WindowKind};
use deskhand_contract::reply::{Window, Windows};
use deskhand_contract::text::escape;

use crate::admit;
use crate::call::Call;

/// Longest title or application name that is shown, in characters.
const MAX_TITLE: usize = 200;

/// Lists the windows, front to back. Ids of windows that are gone end.
pub(crate) fn list(call: &Call<'_>, limit: u32) -> Result<Windows, CallError> {
    let all = facts(call)?;
    let listed: Vec<&WindowFacts> = all.iter().take(limit as usize).collect();
    let windows = shown(call, &listed);
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    Ok(Windows { truncated: windows.len() < all.len(), windows, count })
}

/// Every window, as it is now. Ids of windows that are gone end.
pub(crate) fn facts(call: &Call<'_>) -> Result<Vec<WindowFacts>, CallError> {
    let all = call.read(|provider, limit| provider.windows(limit)).map_err(|fault| call.fault(fault))?;
    let there: HashSet<_> = all.iter().map(|facts| &facts.key).collect();
    call.session.held().keep_only(&there);
    Ok(all)
}

/// One window as it is now, if it may be touched at all.
pub(crate) fn usable(call: &Call<'_>, target: &crate::bind::Target) -> Result<WindowFacts, CallError> {
    let window = target.window.clone();
    let facts = call.read(move |provider, limit| provider.window(&window, limit)).map_err(|fault| {
        if fault == deskhand_contract::provider::Fault::Gone {
            call.session.held().end_surface(&target.surface);
        }
        call.window_fault(fault)
    })?;
    match admit::window(&facts) {
        Some(refusal) => Err(call.refuse(refusal)),
        None => Ok(facts),
    }
}

/// Windows as the caller sees them, each with its id in this session.
pub(crate) fn shown(call: &Call<'_>, all: &[&WindowFacts]) -> Vec<Window> {
    let identities = &call.runner.identities;
    let mut held = call.session.held();
    let mut shown = Vec::with_capacity(all.len());
    for facts in all {
        let id = held.surface(&facts.key, identities);
        // An owner that is not listed itself has an id only if the session knows it already.
        let owner = facts.owner.as_ref().and_then(|owner| {
            let listed = all.iter().any(|other| other.key == *owner);
            if listed { Some(held.surface(owner, identities)) } else { held.surfaces.id(owner) }
        });
        shown.push(window(id, owner, facts));
    }
    shown
}

fn window(surface_id: SurfaceId, owner: Option<SurfaceId>, facts: &WindowFacts) -> Window {
    let refusal = admit::window(facts).map(|refusal| refusal.code);
    let states = [
        ("foreground", facts.foreground),
        ("minimised", facts.minimised),
        ("other_workspace", facts.other_workspace),
        ("modal", facts.modal),
    ];
    Window {
        surface_id,
        title: refusal.is_none().then(|| escape(&facts.title, MAX_TITLE)),
        application: escape(&facts.application, MAX_TITLE),
        kind: match facts.kind {
            WindowKind::Normal => "window",
            WindowKind::Dialog => "dialog",
            WindowKind::Popup => "popup",
            WindowKind::Shell => "shell",
        }
        .to_owned(),
        width: facts.geometry.width,
        height: facts.geometry.height,
        states: states.iter().filter(|(_, holds)| *holds).map(|(name, _)| (*name).to_owned()).collect(),
        owner,
        no_tree: match &facts.tree {
            TreeSupport::Yes => None,
            TreeSupport::No(why) => Some(why.clone()),
            TreeSupport::Unresponsive => Some("its application does not answer".to_owned()),
        },
        refusal,
    }
}

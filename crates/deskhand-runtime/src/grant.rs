//! What may a grant limit? A grant is the authority for effects on a desktop.
//!
//! A session's first effect mints a grant of scope `desktop` by itself where computer use is switched on
//! ([`crate::Policy::enabled`]: by default on a private desktop only). It ends with its session, is never
//! persisted, and its minting is an audit row.
//!
//! **Not here yet**, and not promised by a [`Grant`]: grants of one window, the binding of a grant to a surface and
//! its revision, the budget of effects and the idle expiry, one live grant per desktop (`COMPUTER_GRANT_BUSY`),
//! grants of origin `user`, and the thirty seconds after Stop in which no grant is minted.

use deskhand_contract::error::CallError;
use deskhand_contract::id::GrantId;

use crate::audit::Happening;
use crate::call::Call;

/// The authority for effects of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) id: GrantId,
}

/// The session's grant. A new one is written to audit before it counts.
pub(crate) fn of_session(call: &Call<'_>) -> Result<Grant, CallError> {
    if let Some(grant) = &call.session.held().grant {
        return Ok(grant.clone());
    }
    let grant = Grant { id: GrantId::mint(call.runner.world.entropy.as_ref()) };
    call.record(call.entry(Happening::Grant).with_grant(&grant))?;
    // Effects have their turn one by one, so no other call of this session minted one meanwhile.
    call.session.held().grant = Some(grant.clone());
    Ok(grant)
}

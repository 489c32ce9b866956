//! The judgement that this process serves.

use std::sync::Arc;

use deskhand_contract::action::Action;
use deskhand_contract::error::{CallError, ErrorCode, IsEffect};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::Provider;
use deskhand_contract::reply::Target;
use deskhand_contract::wire::{Ending, Mode};

/// A Runner's engine.
pub(crate) struct Engine {
    provider: Arc<dyn Provider>,
}

/// A session of it.
#[derive(Debug)]
pub(crate) struct Session;

impl Engine {
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider }
    }

    pub(crate) fn session(&self, _name: Option<&str>, _mode: Mode) -> Session {
        Session
    }

    pub(crate) fn call(&self, _session: &Session, _action: &Action, _limit: &Limit) -> (Ending, Vec<u8>) {
        (CallError::rejected(ErrorCode::Unavailable, "not laid yet", IsEffect::No).into(), Vec::new())
    }

    pub(crate) fn stop(&self) {}

    pub(crate) fn live_calls(&self) -> usize {
        0
    }

    pub(crate) fn target(&self) -> Target {
        let profile = self.provider.profile();
        Target {
            client_id: deskhand_contract::id::ClientId::local(),
            presence: "online".into(),
            platform: profile.platform.into(),
            session_type: profile.session_type.into(),
            private: profile.private,
            fidelity: profile.fidelity.into(),
            capabilities: profile.capabilities,
        }
    }
}

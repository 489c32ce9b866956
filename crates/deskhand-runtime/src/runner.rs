//! The door of the engine: a [`Runner`] over one desktop, given its [`World`].

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskhand_contract::action::Action;
use deskhand_contract::error::{CallError, ErrorCode, IsEffect};
use deskhand_contract::id::{ClientId, Entropy};
use deskhand_contract::limit::{Cancel, Limit};
use deskhand_contract::provider::Provider;
use deskhand_contract::reply::Target;
use deskhand_contract::wire::{Ending, Mode};

use crate::audit::Record;
use crate::clock::Clock;
use crate::session::{Session, Sessions};

/// All that a Runner knows of the world.
pub struct World {
    /// The desktop.
    pub provider: Arc<dyn Provider>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for ids.
    pub entropy: Arc<dyn Entropy>,
    /// Where audit rows are kept.
    pub record: Arc<dyn Record>,
    /// This Runner's name.
    pub client: ClientId,
    /// What the settings say.
    pub policy: Policy,
}

/// What the settings of this desktop say. Nothing here widens a refusal of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether computer use is switched on. Off, every call but `targets` and `accessibility_status` is refused.
    pub enabled: bool,
    /// Whether pixels may be captured.
    pub capture: CaptureMode,
    /// How long a postcondition is looked for after an effect.
    pub look_for: std::time::Duration,
}

/// What may be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureMode {
    /// Trees only: every capture is refused.
    A11yOnly,
    /// Trees and pixels.
    A11yAndPixels,
}

impl Policy {
    /// The defaults of a desktop that Deskhand started: switched on, with pixels.
    #[must_use]
    pub const fn private_desktop() -> Self {
        Self { enabled: true, capture: CaptureMode::A11yAndPixels, look_for: std::time::Duration::from_millis(1_500) }
    }

    /// The defaults of the user's own desktop: off until the user turns it on, and then without pixels.
    #[must_use]
    pub const fn own_desktop() -> Self {
        Self { enabled: false, capture: CaptureMode::A11yOnly, ..Self::private_desktop() }
    }
}

/// The end of a call, with its image if it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How it ended.
    pub ending: Ending,
    /// The image of a snapshot.
    pub image: Option<Vec<u8>>,
}

/// The judgement over one desktop. Every method may be called from any thread.
pub struct Runner {
    pub(crate) world: World,
    sessions: Sessions,
    live: Mutex<HashMap<u64, Cancel>>,
    calls: AtomicU64,
}

impl Runner {
    /// A Runner of `world`.
    #[must_use]
    pub fn new(world: World) -> Arc<Self> {
        Arc::new(Self { world, sessions: Sessions::default(), live: Mutex::default(), calls: AtomicU64::new(0) })
    }

    /// What this Runner is and can do now.
    #[must_use]
    pub fn target(&self) -> Target {
        let profile = self.world.provider.profile();
        Target {
            client_id: self.world.client.clone(),
            presence: "online".to_owned(),
            platform: profile.platform.to_owned(),
            session_type: profile.session_type.to_owned(),
            private: profile.private,
            fidelity: profile.fidelity.to_owned(),
            capabilities: profile.capabilities,
        }
    }

    /// The session of that name and mode; it outlives its connections, and all who name it share its ids. At most
    /// 64 are kept: one more ends the one that was idle longest. Without a name: a new one that ends when its
    /// last `Arc` is dropped.
    #[must_use]
    pub fn session(&self, name: Option<&str>, mode: Mode) -> Arc<Session> {
        self.sessions.open(name, mode)
    }

    /// One call, from its beginning to its end. It ends by `limit`; a read that waits for a slow application and an
    /// effect that waits for its turn end at once when cancelled.
    #[must_use]
    pub fn call(&self, session: &Session, action: &Action, limit: &Limit) -> Answer {
        let _ = (session, limit);
        let is_effect = if action.kind().is_effect() { IsEffect::Yes } else { IsEffect::No };
        let error = CallError::rejected(ErrorCode::CapabilityMissing, "The Runner cannot do this yet.", is_effect);
        Answer { ending: error.into(), image: None }
    }

    /// Cancels every running call of every session; says how many. It waits for none of them.
    pub fn stop(&self) -> u32 {
        let live = self.live();
        for cancel in live.values() {
            cancel.cancel();
        }
        u32::try_from(live.len()).unwrap_or(u32::MAX)
    }

    /// How many calls are under way.
    #[must_use]
    pub fn live_calls(&self) -> u32 {
        u32::try_from(self.live().len()).unwrap_or(u32::MAX)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<u64, Cancel>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

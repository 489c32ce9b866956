//! The door of the engine: a [`Runner`] over one desktop, given its [`World`].

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use deskhand_contract::action::Action;
use deskhand_contract::id::{ClientId, Entropy};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::Provider;
use deskhand_contract::reply::Target;
use deskhand_contract::wire::{Ending, Mode};

use crate::audit::{Chain, Entry, Record};
use crate::call;
use crate::clock::{Clock, rfc3339};
use crate::identity::Identities;
use crate::live::Live;
use crate::seam::Seam;
use crate::session::{Session, Sessions};
use crate::turn::Turns;

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
    /// How long the native call of an effect may take. It bounds how long a hung application keeps other effects
    /// waiting.
    pub act_for: Duration,
    /// How long a postcondition is looked for after an effect.
    pub look_for: Duration,
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
        Self {
            enabled: true,
            capture: CaptureMode::A11yAndPixels,
            act_for: Duration::from_secs(5),
            look_for: Duration::from_millis(1_500),
        }
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
    pub(crate) seam: Seam,
    pub(crate) identities: Identities,
    pub(crate) chain: Arc<Chain>,
    pub(crate) turns: Turns,
    pub(crate) live: Live,
    pub(crate) snapshots: AtomicU64,
    sessions: Sessions,
}

impl Runner {
    /// A Runner of `world`.
    #[must_use]
    pub fn new(world: World) -> Arc<Self> {
        Arc::new(Self {
            seam: Seam::new(Arc::clone(&world.provider)),
            identities: Identities::new(world.entropy.as_ref()),
            chain: Arc::new(Chain::new(Arc::clone(&world.record))),
            turns: Turns::default(),
            live: Live::default(),
            snapshots: AtomicU64::new(0),
            sessions: Sessions::default(),
            world,
        })
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
        call::run(self, session, action, limit)
    }

    /// Cancels every running call of every session; says how many. It waits for none of them.
    pub fn stop(&self) -> u32 {
        let stopped = self.live.stop();
        let time = rfc3339(self.world.clock.wall());
        let row = Entry { count: Some(stopped), ..Entry::of_stop(time, self.world.client.clone()) };
        // The record may be waiting for its disk, for which Stop waits as little as for anything else.
        let chain = Arc::clone(&self.chain);
        let _ = std::thread::Builder::new().name("audit".to_owned()).spawn(move || chain.write(row));
        stopped
    }

    /// How many calls are under way.
    #[must_use]
    pub fn live_calls(&self) -> u32 {
        self.live.count()
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Runner({})", self.world.client)
    }
}

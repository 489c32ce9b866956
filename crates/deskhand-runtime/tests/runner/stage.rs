//! A fake desktop, a Runner over it and a session, with what tests ask for again and again.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use deskhand_contract::action::{
    Action, Condition, Filter, Gesture, ImageBounds, Means, PressTarget, TextMode, TreeFormat, Value,
};
use deskhand_contract::error::ErrorCode;
use deskhand_contract::id::{ClientId, ElementId, SurfaceId};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::NativeKey;
use deskhand_contract::redacted::Redacted;
use deskhand_contract::reply::{EffectDone, Found, Reply, Tree, Waited, Window, Windows};
use deskhand_contract::role::Role;
use deskhand_contract::verdict::{Evidence, ExecutionState, Status};
use deskhand_contract::wire::{ErrorBody, Mode};
use deskhand_runtime::audit::MemoryRecord;
use deskhand_runtime::clock::Clock;
use deskhand_runtime::{Answer, Policy, Runner, Session, World};
use deskhand_testkit::{Element, FakeClock, FakeDesktop, SeededEntropy};

/// Everything that a test needs.
pub(crate) struct Stage {
    pub(crate) desktop: Arc<FakeDesktop>,
    pub(crate) runner: Arc<Runner>,
    pub(crate) session: Arc<Session>,
    pub(crate) record: Arc<MemoryRecord>,
}

/// The fake clock as the engine's.
#[derive(Default)]
pub(crate) struct Time(FakeClock);

impl Clock for Time {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn wall(&self) -> SystemTime {
        self.0.wall()
    }
}

/// How long tests let the engine look for a postcondition that does not come.
pub(crate) const LOOK: Duration = Duration::from_millis(60);

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Policy { look_for: LOOK, ..Policy::private_desktop() })
    }

    pub(crate) fn with(policy: Policy) -> Self {
        let record = Arc::new(MemoryRecord::default());
        let runner_record = Arc::clone(&record);
        Self::over(policy, record, runner_record)
    }

    pub(crate) fn over(
        policy: Policy,
        record: Arc<MemoryRecord>,
        kept: Arc<dyn deskhand_runtime::audit::Record>,
    ) -> Self {
        let desktop = Arc::new(FakeDesktop::new());
        let runner = Runner::new(World {
            provider: Arc::clone(&desktop) as _,
            clock: Arc::new(Time::default()),
            entropy: Arc::new(SeededEntropy::new(7)),
            record: kept,
            client: ClientId::local(),
            policy,
        });
        let session = runner.session(None, Mode::Auto);
        Self { desktop, runner, session, record }
    }

    /// A window with one element; their ids in the stage's session.
    pub(crate) fn one(&self, element: Element) -> One {
        let window = self.desktop.window("One");
        let key = self.desktop.add(&self.desktop.root(&window), element);
        self.known(&window, &key)
    }

    /// The ids of a window and an element of it in the stage's session.
    pub(crate) fn known(&self, window: &NativeKey, element: &NativeKey) -> One {
        let surface = self.surface(window);
        let id = self.element(&surface, element);
        One { window: window.clone(), key: element.clone(), surface, element: id }
    }

    /// The id of a window that is listed.
    pub(crate) fn surface(&self, window: &NativeKey) -> SurfaceId {
        // The fake lists windows in a known order, which is the only link between its keys and ids.
        let place = self.place(window);
        self.windows().windows[place].surface_id.clone()
    }

    fn place(&self, window: &NativeKey) -> usize {
        use deskhand_contract::provider::Provider as _;
        let all = self.desktop.windows(&soon()).unwrap();
        all.iter().position(|facts| facts.key == *window).unwrap()
    }

    /// The id of an element, from a search by its role and name.
    pub(crate) fn element(&self, surface: &SurfaceId, element: &NativeKey) -> ElementId {
        let facts = self.desktop.facts(element).unwrap();
        let filter = Filter { role: Some(facts.role), ..Filter::default() };
        let found = self.find(surface, filter, 32);
        let of_role: Vec<_> = found.matches.iter().filter(|node| node.name == *facts.name).collect();
        assert_eq!(of_role.len(), 1, "the test's element is the only one of its role and name");
        of_role[0].element_id.clone()
    }

    pub(crate) fn call(&self, action: &Action) -> Answer {
        self.runner.call(&self.session, action, &soon())
    }

    #[track_caller]
    pub(crate) fn reply(&self, action: &Action) -> Reply {
        let answer = self.call(action);
        assert!(answer.ending.error.is_none(), "{:?}", answer.ending.error);
        answer.ending.data.unwrap()
    }

    #[track_caller]
    pub(crate) fn error(&self, action: &Action) -> ErrorBody {
        self.call(action).ending.error.expect("the call ends in an error")
    }

    #[track_caller]
    pub(crate) fn refused(&self, action: &Action, code: ErrorCode) -> ErrorBody {
        let error = self.error(action);
        assert_eq!(error.code, code, "{}", error.message);
        error
    }

    #[track_caller]
    pub(crate) fn done(&self, action: &Action) -> (EffectDone, (ExecutionState, Status, Evidence)) {
        let answer = self.call(action);
        assert!(answer.ending.error.is_none(), "{:?}", answer.ending.error);
        let outcome = &answer.ending.outcome;
        let end = (outcome.execution_state(), outcome.verdict().status(), outcome.verdict().evidence());
        match answer.ending.data.unwrap() {
            Reply::Effect(done) => (done, end),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn windows(&self) -> Windows {
        match self.reply(&Action::Windows { limit: 64 }) {
            Reply::Windows(windows) => windows,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn find(&self, surface: &SurfaceId, filter: Filter, limit: u32) -> Found {
        match self.reply(&Action::FindElements { surface: surface.clone(), filter, limit }) {
            Reply::Found(found) => found,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn tree(&self, surface: &SurfaceId, since: Option<u64>) -> Tree {
        match self.reply(&tree(surface, since)) {
            Reply::Tree(tree) => tree,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn waited(&self, condition: Condition, timeout_ms: u32) -> Waited {
        match self.reply(&Action::WaitFor { condition, timeout_ms }) {
            Reply::Waited(waited) => waited,
            other => panic!("{other:?}"),
        }
    }

    /// The effects that reached an application.
    pub(crate) fn effects(&self) -> Vec<&'static str> {
        self.desktop.performed().iter().map(|performed| performed.effect).collect()
    }
}

/// A window and an element, with their ids.
#[derive(Debug, Clone)]
pub(crate) struct One {
    pub(crate) window: NativeKey,
    pub(crate) key: NativeKey,
    pub(crate) surface: SurfaceId,
    pub(crate) element: ElementId,
}

impl One {
    pub(crate) fn press(&self) -> Action {
        Action::Press {
            surface: self.surface.clone(),
            at: PressTarget::Element(self.element.clone()),
            gesture: Gesture::Activate,
            means: Means::Accessibility,
        }
    }

    pub(crate) fn context_menu(&self) -> Action {
        Action::Press {
            surface: self.surface.clone(),
            at: PressTarget::Element(self.element.clone()),
            gesture: Gesture::ContextMenu,
            means: Means::Accessibility,
        }
    }

    pub(crate) fn focus(&self) -> Action {
        Action::Focus { surface: self.surface.clone(), element: self.element.clone() }
    }

    pub(crate) fn select(&self) -> Action {
        Action::Select { surface: self.surface.clone(), element: self.element.clone() }
    }

    pub(crate) fn set(&self, value: Value) -> Action {
        Action::SetValue { surface: self.surface.clone(), element: self.element.clone(), value }
    }

    pub(crate) fn bring_into_view(&self) -> Action {
        Action::ScrollToElement { surface: self.surface.clone(), element: self.element.clone() }
    }

    pub(crate) fn scroll(&self) -> Action {
        Action::Scroll {
            surface: self.surface.clone(),
            element: self.element.clone(),
            direction: deskhand_contract::action::Direction::Down,
            pages: 1,
            means: Means::Accessibility,
        }
    }

    pub(crate) fn text(&self, mode: TextMode, text: &str) -> Action {
        Action::InputText {
            surface: self.surface.clone(),
            element: self.element.clone(),
            text: Redacted::new(text.to_owned()),
            mode,
            means: Means::Accessibility,
        }
    }

    pub(crate) fn state(&self, include_value: bool) -> Action {
        Action::ElementState { surface: self.surface.clone(), element: self.element.clone(), include_value }
    }

    pub(crate) fn activate(&self) -> Action {
        Action::ActivateWindow { surface: self.surface.clone() }
    }

    pub(crate) fn snapshot(&self) -> Action {
        Action::SnapshotWindow { surface: self.surface.clone(), region: None, bounds: ImageBounds::default() }
    }
}

pub(crate) fn tree(surface: &SurfaceId, since: Option<u64>) -> Action {
    Action::AccessibilityTree {
        surface: surface.clone(),
        root: None,
        max_depth: 24,
        max_nodes: 400,
        since_generation: since,
        format: TreeFormat::Outline,
    }
}

pub(crate) fn role(role: Role) -> Filter {
    Filter { role: Some(role), ..Filter::default() }
}

pub(crate) fn label(label: &str) -> Filter {
    Filter { label: Some(label.to_owned()), ..Filter::default() }
}

pub(crate) fn soon() -> Limit {
    Limit::after(Duration::from_secs(20))
}

pub(crate) fn titles(windows: &[Window]) -> Vec<Option<&str>> {
    windows.iter().map(|window| window.title.as_deref()).collect()
}

//! The one shape in which every front door answers.

use std::time::Duration;

use deskhand_contract::action::{ActionKind, Tool};
use deskhand_contract::error::{CallError, ErrorCode, Exit};
use deskhand_contract::id::ClientId;
use deskhand_contract::reply::Reply;
use deskhand_contract::verdict::{ExecutionState, Outcome, Proof, Status, Verdict};
use deskhand_contract::wire::{Ending, ErrorBody, RecoveryBody, RecoveryTrace};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Version of the envelope.
const SCHEMA_VERSION: u32 = 1;

/// An answer: whether it went well, how far it got, and the data or the error.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Envelope {
    /// Whether it went well.
    pub(crate) ok: bool,
    schema_version: u32,
    /// What was asked for: `computer_observe.windows`, `doctor`.
    pub(crate) command: String,
    /// How it went.
    pub(crate) meta: Meta,
    /// The data; `null` where it failed.
    pub(crate) data: Option<Data>,
    /// The error; `null` where it went well.
    pub(crate) error: Option<EnvelopeError>,
}

/// How a call went.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Meta {
    /// Milliseconds from the front door and back.
    pub(crate) duration_ms: u64,
    client_id: ClientId,
    operator: &'static str,
    provider: &'static str,
    target_scope: &'static str,
    effect: &'static str,
    /// How far it got.
    pub(crate) execution_state: ExecutionState,
    /// What is proven.
    pub(crate) effect_verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_trace: Option<RecoveryTrace>,
}

/// The data of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// A Runner's.
    Reply(Box<Reply>),
    /// One of the command line's own.
    Own(Value),
}

/// An error, with what is proven about the call that ended in it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EnvelopeError {
    /// What went wrong.
    pub(crate) code: ErrorCode,
    /// What is wrong and what to do.
    pub(crate) message: String,
    retryable: bool,
    execution_state: ExecutionState,
    effect_verdict: Verdict,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recovery: Option<RecoveryBody>,
}

/// What a call says about itself beside its end.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// The action.
    pub(crate) kind: ActionKind,
    /// The platform of the Runner that answered; none where Control did.
    pub(crate) platform: Option<String>,
    /// How long it took.
    pub(crate) took: Duration,
}

impl Envelope {
    /// The end of an action.
    pub(crate) fn of_call(way: &Way, ending: Ending) -> Self {
        let Ending { outcome, data, error, recovery_trace } = ending;
        let meta = Meta {
            duration_ms: millis(way.took),
            client_id: ClientId::local(),
            operator: operator(way.kind),
            provider: provider(way.platform.as_deref()),
            target_scope: target_scope(way.kind),
            effect: effect(way.kind),
            execution_state: outcome.execution_state(),
            effect_verdict: outcome.verdict().clone(),
            recovery_trace,
        };
        let error = error.map(|error| EnvelopeError::of(error, &outcome));
        Self {
            ok: error.is_none(),
            schema_version: SCHEMA_VERSION,
            command: way.kind.qualified_name(),
            meta,
            data: data.filter(|_| error.is_none()).map(|reply| Data::Reply(Box::new(reply))),
            error,
        }
    }

    /// The end of one of the command line's own reads.
    pub(crate) fn of_read(command: &str, took: Duration, end: Result<Value, CallError>) -> Self {
        let done = Outcome::read(ExecutionState::Completed);
        Self::of_command(command, took, ("read", done), end)
    }

    /// The end of one of the command line's own effects. It answers once it has seen the end itself.
    pub(crate) fn of_effect(command: &str, took: Duration, end: Result<Value, CallError>) -> Self {
        let proof = Proof::AuthoritativeResponse("what does it answered that it is done".into());
        let done = Outcome::completed(Verdict::confirmed(proof));
        // Such commands fail with errors of parts that do not know whether they were read or changed.
        let end = end.map_err(|error| CallError {
            outcome: match (error.outcome.verdict().status(), error.code) {
                (Status::NotApplicable, ErrorCode::ProviderTimeout) => Outcome::unknown(error.code.name(), None),
                (Status::NotApplicable, _) => Outcome::not_started(error.code.name()),
                _ => error.outcome,
            },
            ..error
        });
        Self::of_command(command, took, ("service_state", done), end)
    }

    fn of_command(
        command: &str,
        took: Duration,
        (effect, done): (&'static str, Outcome),
        end: Result<Value, CallError>,
    ) -> Self {
        match end {
            Ok(value) => Self {
                ok: true,
                schema_version: SCHEMA_VERSION,
                command: command.to_owned(),
                meta: Meta::of_runtime(took, &done, effect),
                data: Some(Data::Own(value)),
                error: None,
            },
            Err(error) => Self::refused(command, took, effect, error),
        }
    }

    /// A call of `tool` that named none of its actions, or could not be carried.
    pub(crate) fn of_tool(tool: Tool, error: CallError) -> Self {
        let effect = if tool == Tool::ComputerObserve { "read" } else { "local_app" };
        Self::refused(tool.name(), Duration::ZERO, effect, error)
    }

    fn refused(command: &str, took: Duration, effect: &'static str, error: CallError) -> Self {
        let ending = Ending::from(error);
        Self {
            ok: false,
            schema_version: SCHEMA_VERSION,
            command: command.to_owned(),
            meta: Meta::of_runtime(took, &ending.outcome, effect),
            data: None,
            error: ending.error.map(|error| EnvelopeError::of(error, &ending.outcome)),
        }
    }

    /// The exit status that it ends a command in.
    pub(crate) fn exit(&self) -> Exit {
        self.error.as_ref().map_or(Exit::Ok, |error| error.code.exit())
    }

    /// The reply, where it has one.
    pub(crate) fn reply(&self) -> Option<&Reply> {
        match &self.data {
            Some(Data::Reply(reply)) => Some(reply),
            _ => None,
        }
    }

    /// Takes a tree's outline out, for a front door that shows it as text.
    pub(crate) fn take_outline(&mut self) -> Option<String> {
        match &mut self.data {
            Some(Data::Reply(reply)) => match reply.as_mut() {
                Reply::Tree(tree) => tree.outline.take(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The envelope as JSON without its absent members, for MCP, whose schema knows no null.
    pub(crate) fn without_nulls(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("an envelope is plain data with text keys");
        if let Value::Object(members) = &mut value {
            members.retain(|_, member| !member.is_null());
        }
        value
    }
}

impl Meta {
    /// Of a call that no provider saw.
    fn of_runtime(took: Duration, outcome: &Outcome, effect: &'static str) -> Self {
        Self {
            duration_ms: millis(took),
            client_id: ClientId::local(),
            operator: "local-runtime",
            provider: "runtime",
            target_scope: "local-runtime",
            effect,
            execution_state: outcome.execution_state(),
            effect_verdict: outcome.verdict().clone(),
            recovery_trace: None,
        }
    }
}

impl EnvelopeError {
    fn of(error: ErrorBody, outcome: &Outcome) -> Self {
        Self {
            code: error.code,
            message: error.message,
            retryable: error.retryable,
            execution_state: outcome.execution_state(),
            effect_verdict: outcome.verdict().clone(),
            recovery: error.recovery,
        }
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Own(value) => value.serialize(serializer),
            Self::Reply(reply) => match reply.as_ref() {
                Reply::Targets(body) => body.serialize(serializer),
                Reply::Windows(body) => body.serialize(serializer),
                Reply::Displays(body) => body.serialize(serializer),
                Reply::Applications(body) => body.serialize(serializer),
                Reply::AccessibilityStatus(body) => body.serialize(serializer),
                Reply::Tree(body) => body.serialize(serializer),
                Reply::Found(body) => body.serialize(serializer),
                Reply::ElementState(body) => body.serialize(serializer),
                Reply::Waited(body) => body.serialize(serializer),
                Reply::Snapshot(body) => body.serialize(serializer),
                Reply::Effect(body) => body.serialize(serializer),
            },
        }
    }
}

/// How the operation is perceived and actuated.
const fn operator(kind: ActionKind) -> &'static str {
    use ActionKind as K;
    match kind {
        K::Targets | K::ArtifactMetadata => "local-runtime",
        K::SnapshotWindow | K::SnapshotDisplay | K::SaveSnapshot => "visual-observation",
        K::PointerMove | K::PointerClick => "visual-coordinate",
        K::Windows
        | K::Displays
        | K::Applications
        | K::AccessibilityStatus
        | K::AccessibilityTree
        | K::FindElements
        | K::ElementState
        | K::WaitFor
        | K::ReadText
        | K::ReadClipboard
        | K::LaunchApplication
        | K::ActivateWindow
        | K::Press
        | K::Focus
        | K::Select
        | K::SetValue
        | K::Scroll
        | K::ScrollToElement
        | K::Key
        | K::InputText
        | K::WriteClipboard => "desktop-accessibility",
    }
}

/// What the operation is aimed at.
const fn target_scope(kind: ActionKind) -> &'static str {
    use ActionKind as K;
    match kind {
        K::Targets | K::ArtifactMetadata => "local-runtime",
        K::Windows
        | K::Displays
        | K::Applications
        | K::AccessibilityStatus
        | K::SnapshotDisplay
        | K::ReadClipboard
        | K::LaunchApplication
        | K::PointerMove
        | K::PointerClick
        | K::WriteClipboard => "desktop",
        K::AccessibilityTree
        | K::FindElements
        | K::ElementState
        | K::WaitFor
        | K::SnapshotWindow
        | K::ReadText
        | K::ActivateWindow
        | K::Press
        | K::Focus
        | K::Select
        | K::SetValue
        | K::Scroll
        | K::ScrollToElement
        | K::Key
        | K::InputText
        | K::SaveSnapshot => "native-window",
    }
}

const fn effect(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::SaveSnapshot => "local_file",
        _ if kind.is_effect() => "local_app",
        _ => "read",
    }
}

/// The route planner's name of what answered.
fn provider(platform: Option<&str>) -> &'static str {
    match platform {
        Some("linux") => "linux-atspi",
        Some("windows") => "windows-uia",
        Some("macos") => "macos-ax",
        Some("fake") => "fake",
        _ => "runtime",
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

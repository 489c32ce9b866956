//! The way of a call: read, scopes, capabilities, link, envelope. Every front door comes through here.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use deskhand_contract::action::{Action, ActionKind};
use deskhand_contract::argument::{Argument, Arguments};
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::id::ClientId;
use deskhand_contract::limit::Cancel;
use deskhand_contract::reply::{Reply, Target, Targets};
use deskhand_contract::scope::{CapabilitySet, ScopeSet};
use deskhand_contract::verdict::{ExecutionState, Outcome};
use deskhand_contract::wire::Ending;

use super::envelope::{Envelope, Way};
use super::link::{Answer, Ask, Connect, Link, Unreachable, effect, lost};
use super::{projection, scopes};

/// What a call may take beyond its own wait.
const CALL: Duration = Duration::from_secs(30);
/// How much longer Control waits than the Runner may take.
const GRACE: Duration = Duration::from_secs(3);
/// How often a wait looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// One caller's session with one desktop.
pub(crate) struct Control {
    connect: Box<dyn Connect>,
    link: Mutex<Option<Arc<dyn Link>>>,
}

/// A call that ended.
#[derive(Debug)]
pub(crate) struct Closed {
    /// What the front door shows.
    pub(crate) envelope: Envelope,
    /// The image's bytes, or none.
    pub(crate) image: Vec<u8>,
}

impl Control {
    /// A session whose Runner is reached by `connect`.
    pub(crate) fn new(connect: Box<dyn Connect>) -> Self {
        Self { connect, link: Mutex::new(None) }
    }

    /// Makes the call and waits for its end. Blocks; `cancel` ends the wait and the Runner's work.
    pub(crate) fn call(&self, kind: ActionKind, arguments: Arguments, cancel: &Cancel) -> Closed {
        let begun = Instant::now();
        let (answer, platform) = match self.carry(kind, arguments, cancel) {
            Ok((answer, platform)) => (answer, platform),
            Err(error) => (Answer::from(error), None),
        };
        let way = Way { kind, platform, took: begun.elapsed() };
        let Answer { mut ending, image } = answer;
        if let Some(error) = ending.error.as_mut().filter(|error| error.code == ErrorCode::ComputerFeatureDisabled) {
            // What a Runner cannot know: there are other desktops.
            error.message.push_str(" A private desktop is always on: deskhand desktop start, then --desktop NAME.");
        }
        Closed { envelope: Envelope::of_call(&way, ending), image }
    }

    fn carry(
        &self,
        kind: ActionKind,
        mut arguments: Arguments,
        cancel: &Cancel,
    ) -> Result<(Answer, Option<String>), CallError> {
        let action = read(kind, &arguments)?;
        let client = client(kind, arguments.take("client_id"))?;
        if client.is_some_and(|client| client != ClientId::local()) {
            return Err(refused(
                kind,
                ErrorCode::ClientUnknown,
                "There is one Runner here, and its client_id is local.",
            ));
        }
        let link = match self.link() {
            Ok(link) => link,
            // Which Runners there are is an answer also where there can be none.
            Err(Unreachable { code: ErrorCode::Unavailable | ErrorCode::Configuration, .. })
                if kind == ActionKind::Targets =>
            {
                return Ok((targets(Vec::new()), None));
            }
            Err(unreachable) => return Err(unreachable.of(kind)),
        };
        let target = link.target();
        if kind == ActionKind::Targets {
            return Ok((targets(vec![target.clone()]), None));
        }
        permitted(&action, scopes::local(target.private), target.capabilities)?;
        let platform = target.platform.clone();
        let time = time(&action);
        let (sender, answers) = mpsc::sync_channel(1);
        let number = link.call(
            Ask { kind, arguments, time },
            Box::new(move |answer| {
                // The waiter may have given up.
                let _ = sender.send(answer);
            }),
        );
        let end = Instant::now() + time + GRACE;
        let mut cancelled = false;
        loop {
            match answers.recv_timeout(LOOK) {
                Ok(answer) => return Ok((answer, Some(platform))),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Ok((lost(kind, "The Runner ended before it answered"), Some(platform)));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if !cancelled && cancel.is_cancelled() {
                link.cancel(number);
                cancelled = true;
            }
            if Instant::now() > end {
                link.cancel(number);
                return Ok((lost(kind, "The Runner did not answer in time"), Some(platform)));
            }
        }
    }

    /// What the Runner is and can do, reaching it where that is needed.
    ///
    /// # Errors
    /// Says why it cannot be reached.
    pub(crate) fn target(&self) -> Result<Target, Unreachable> {
        Ok(self.link()?.target().clone())
    }

    /// What the Runner is and can do, where it has been reached already.
    pub(crate) fn known_target(&self) -> Option<Target> {
        // A link that is being made holds the lock for seconds: nobody waits here for it.
        let link = self.link.try_lock().ok()?;
        Some(link.as_ref()?.target().clone())
    }

    fn link(&self) -> Result<Arc<dyn Link>, Unreachable> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = link.as_ref().filter(|link| link.is_open()) {
            return Ok(Arc::clone(open));
        }
        let made = self.connect.connect()?;
        *link = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// Reads the arguments, or says what is wrong with them before anything else happens.
fn read(kind: ActionKind, arguments: &Arguments) -> Result<Action, CallError> {
    if !projection::is_offered(kind) {
        return Err(refused(kind, ErrorCode::InvalidRequest, "This version does not offer this action."));
    }
    Action::parse(kind, arguments).map_err(|error| refused(kind, ErrorCode::InvalidRequest, &error.message))
}

fn client(kind: ActionKind, given: Option<Argument>) -> Result<Option<ClientId>, CallError> {
    match given {
        None => Ok(None),
        Some(Argument::Text(text)) => text
            .expose()
            .parse()
            .map(Some)
            .map_err(|bad| refused(kind, ErrorCode::InvalidRequest, &format!("client_id: {bad}"))),
        Some(_) => Err(refused(kind, ErrorCode::InvalidRequest, "client_id is a string.")),
    }
}

/// The row of the scope and capability table, against this caller and this Runner.
fn permitted(action: &Action, held: ScopeSet, declared: CapabilitySet) -> Result<(), CallError> {
    let kind = action.kind();
    let scopes: Vec<&str> = held.missing(kind.scopes()).map(|scope| scope.name()).collect();
    if !scopes.is_empty() {
        let message = format!("This needs the scope {}, which is not given on this desktop.", scopes.join(", "));
        return Err(refused(kind, ErrorCode::ScopeMissing, &message));
    }
    let missing: Vec<&str> = declared.missing(action.capabilities()).map(|capability| capability.name()).collect();
    if !missing.is_empty() {
        let message = format!("This Runner does not have the capability {}.", missing.join(", "));
        return Err(refused(kind, ErrorCode::CapabilityMissing, &message));
    }
    Ok(())
}

fn refused(kind: ActionKind, code: ErrorCode, message: &str) -> CallError {
    CallError::rejected(code, message, effect(kind))
}

/// How long the Runner may take.
fn time(action: &Action) -> Duration {
    match action {
        Action::WaitFor { timeout_ms, .. } => Duration::from_millis(u64::from(*timeout_ms)) + GRACE,
        _ => CALL,
    }
}

fn targets(targets: Vec<Target>) -> Answer {
    let data = Reply::Targets(Targets { targets });
    Answer { ending: Ending::done(Outcome::read(ExecutionState::Completed), data), image: Vec::new() }
}

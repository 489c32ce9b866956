//! `deskhand doctor`

use std::time::{Duration, Instant};

use deskhand_contract::error::Exit;
use deskhand_contract::limit::Limit;
use serde_json::json;

use super::Surroundings;
use crate::config::Places;
use crate::control::desktop::has_display;
use crate::providers::{self, Check};

/// How long the desktop may take to say how it is.
const LOOK: Duration = Duration::from_secs(3);

/// Say what is missing on this machine, and the command that mends it.
#[derive(Debug, clap::Args)]
pub(super) struct Doctor {}

pub(super) fn run(surroundings: &Surroundings) -> Exit {
    let begun = Instant::now();
    let mut checks = providers::checks();
    checks.push(runtime_directory(surroundings));
    checks.extend(own_desktop(surroundings));
    let missing: Vec<&str> =
        checks.iter().filter(|check| check.state == "missing").map(|check| check.what.as_str()).collect();
    let data = json!({ "ready": missing.is_empty(), "missing": missing, "checks": checks });
    surroundings.output.command("doctor", begun.elapsed(), Ok(data))
}

fn runtime_directory(surroundings: &Surroundings) -> Check {
    let wrong = Places::prepare(&surroundings.environment).err();
    Check {
        part: "runner",
        what: "runtime directory".into(),
        state: if wrong.is_some() { "missing" } else { "ready" },
        why: wrong.clone().unwrap_or_else(|| "Runners listen there".into()),
        fix: wrong.map(|_| "set XDG_RUNTIME_DIR to a directory of yours with mode 0700".into()),
    }
}

/// The desktop that this terminal is on. Having none is no fault: a private one needs none.
fn own_desktop(surroundings: &Surroundings) -> Vec<Check> {
    let check = |what: &str, state, why: String, fix: Option<&str>| Check {
        part: "own desktop",
        what: what.to_owned(),
        state,
        why,
        fix: fix.map(str::to_owned),
    };
    if !has_display(&surroundings.environment) {
        let start = Some("deskhand desktop start");
        return vec![check("display", "absent", "there is none here; a private desktop needs none".into(), start)];
    }
    let provider = match providers::provider(false) {
        Ok(provider) => provider,
        Err(why) => return vec![check("display", "recommended", why, Some("deskhand desktop start"))],
    };
    let profile = provider.profile();
    let can: Vec<&str> = profile.capabilities.iter().map(|capability| capability.name()).collect();
    let mut checks = vec![check(profile.session_type, "ready", can.join(", "), None)];
    match provider.accessibility_status(&Limit::after(LOOK)) {
        Ok(status) => {
            let state = if status.available { "ready" } else { "recommended" };
            let why = format!("{} applications show a tree", status.applications);
            checks.push(check("accessibility", state, why, None));
            checks.extend(status.notes.into_iter().map(|note| check("accessibility", "recommended", note, None)));
        }
        Err(fault) => checks.push(check("accessibility", "recommended", fault.to_string(), None)),
    }
    checks
}

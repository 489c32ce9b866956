//! Answers for people: tables, outlines, one line for an effect. Text of windows is escaped.

use std::fmt::Write as _;

use deskhand_contract::reply::{Delta, EffectDone, Node, Reply, Snapshot, Target, Window};
use deskhand_contract::text::escape;
use deskhand_contract::verdict::{Status, Verdict};
use serde_json::Value;

use crate::control::envelope::{Data, Envelope};

/// Longest cell, in characters.
const MAX_CELL: usize = 60;

/// What goes to standard output, and what goes to standard error.
pub(super) fn render(envelope: &Envelope) -> (String, String) {
    if let Some(error) = &envelope.error {
        let mut text = format!("{}: {}\n", error.code.name(), error.message.trim_end());
        if let Some(call) = error.recovery.as_ref().and_then(|recovery| recovery.suggested_call.as_ref()) {
            let action = call.arguments.get_text("action").unwrap_or_default();
            let noun = if call.tool == "computer_control" { "control" } else { "observe" };
            let _ = write!(text, "next: deskhand {noun} {action}");
            for name in call.arguments.names().filter(|name| *name != "action") {
                if let Some(value) = call.arguments.get_text(name) {
                    let _ = write!(text, " --{} {value}", name.replace('_', "-"));
                }
            }
            text.push('\n');
        }
        return (String::new(), text);
    }
    let text = match &envelope.data {
        Some(Data::Reply(reply)) => of_reply(reply, &envelope.meta.effect_verdict),
        Some(Data::Own(value)) => of_value(value),
        None => String::new(),
    };
    (text, String::new())
}

fn of_reply(reply: &Reply, verdict: &Verdict) -> String {
    match reply {
        Reply::Targets(targets) => targets_of(&targets.targets),
        Reply::Windows(windows) => {
            let mut text = windows_of(&windows.windows);
            if windows.truncated {
                let _ = writeln!(text, "{} of {} windows; --limit shows more", windows.windows.len(), windows.count);
            }
            text
        }
        Reply::Displays(displays) => rows(
            &["DISPLAY", "SIZE", ""],
            displays.displays.iter().map(|display| {
                vec![
                    display.display_id.to_string(),
                    format!("{}x{}", display.source_width, display.source_height),
                    if display.primary { "primary".into() } else { String::new() },
                ]
            }),
        ),
        Reply::Applications(applications) => {
            let mut text = rows(
                &["APPLICATION", "NAME"],
                applications
                    .applications
                    .iter()
                    .map(|application| vec![application.application_id.to_string(), application.name.clone()]),
            );
            if applications.truncated {
                let _ = writeln!(text, "{} of {} applications", applications.applications.len(), applications.count);
            }
            text
        }
        Reply::AccessibilityStatus(status) => {
            let mut text = format!(
                "{}; {} applications with a tree, {} that do not answer\n",
                if status.available { "available" } else { "not available" },
                status.applications,
                status.unresponsive
            );
            notes(&mut text, &status.notes);
            text
        }
        Reply::Tree(tree) => {
            let mut text = tree.outline.clone().unwrap_or_default();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            if let Some(nodes) = &tree.nodes {
                text.push_str(&nodes_of(nodes));
            }
            if let Some(delta) = tree.delta.as_ref().filter(|_| tree.outline.is_none()) {
                text.push_str(&delta_of(delta));
            }
            let _ = writeln!(text, "{} of {} nodes, generation {}", tree.shown, tree.total, tree.generation);
            if let Some(truncated) = &tree.truncated {
                let _ = writeln!(text, "{truncated}");
            }
            notes(&mut text, &tree.notes);
            text
        }
        Reply::Found(found) => {
            let mut text = nodes_of(&found.matches);
            let _ = writeln!(text, "{} of {} matches", found.matches.len(), found.count);
            notes(&mut text, &found.notes);
            text
        }
        Reply::ElementState(state) => {
            let mut text = nodes_of(std::slice::from_ref(&state.element));
            if let Some(value) = &state.value {
                let _ = writeln!(text, "value: \"{}\"", escape(&value.0, usize::MAX));
            }
            text
        }
        Reply::Waited(waited) => {
            let mut text = format!(
                "{} after {} ms\n",
                if waited.satisfied { "came true" } else { "did not come true" },
                waited.waited_ms
            );
            if !waited.matches.is_empty() {
                text.push_str(&nodes_of(&waited.matches));
            }
            if !waited.windows.is_empty() {
                text.push_str(&windows_of(&waited.windows));
            }
            text
        }
        Reply::Snapshot(snapshot) => snapshot_of(snapshot),
        Reply::Effect(done) => effect_of(done, verdict),
    }
}

fn targets_of(targets: &[Target]) -> String {
    rows(
        &["CLIENT", "PRESENCE", "PLATFORM", "SESSION", "PRIVATE", "FIDELITY", "CAPABILITIES"],
        targets.iter().map(|target| {
            vec![
                target.client_id.to_string(),
                target.presence.clone(),
                target.platform.clone(),
                target.session_type.clone(),
                if target.private { "yes".into() } else { "no".into() },
                target.fidelity.clone(),
                target.capabilities.iter().count().to_string(),
            ]
        }),
    )
}

fn windows_of(windows: &[Window]) -> String {
    rows(
        &["SURFACE", "TITLE", "APPLICATION", "KIND", "SIZE", "STATES"],
        windows.iter().map(|window| {
            let mut states = window.states.clone();
            if let Some(refusal) = window.refusal {
                states.push(format!("refused: {}", refusal.name()));
            }
            if window.no_tree.is_some() {
                states.push("no tree".into());
            }
            vec![
                window.surface_id.to_string(),
                window.title.clone().unwrap_or_default(),
                window.application.clone(),
                window.kind.clone(),
                format!("{}x{}", window.width, window.height),
                states.join(", "),
            ]
        }),
    )
}

fn nodes_of(nodes: &[Node]) -> String {
    rows(
        &["ELEMENT", "ROLE", "NAME", "STATES", "CAN"],
        nodes.iter().map(|node| {
            let can: Vec<&str> =
                node.affordances.iter().map(|affordance| affordance.name().trim_start_matches("can_")).collect();
            let states: Vec<&str> = node.states.iter().map(|state| state.name()).collect();
            vec![
                node.element_id.to_string(),
                node.role.name().to_owned(),
                escape(&node.name, MAX_CELL),
                states.join(" "),
                can.join(" "),
            ]
        }),
    )
}

fn snapshot_of(snapshot: &Snapshot) -> String {
    let of = snapshot.surface_id.as_ref().map(ToString::to_string);
    let of = of.or_else(|| snapshot.display_id.as_ref().map(ToString::to_string)).unwrap_or_default();
    let mut text = format!(
        "{of} {}x{} as {}x{}, {}, {} bytes, sha256 {}\n",
        snapshot.source.width,
        snapshot.source.height,
        snapshot.output.width,
        snapshot.output.height,
        snapshot.mime,
        snapshot.bytes,
        snapshot.sha256
    );
    if let Some(generation) = snapshot.snapshot_generation {
        let _ = writeln!(text, "snapshot_generation {generation}");
    }
    text
}

fn effect_of(done: &EffectDone, verdict: &Verdict) -> String {
    let status = match verdict.status() {
        Status::NotApplicable => "read",
        Status::Confirmed => "confirmed",
        Status::Unverifiable => "unverifiable",
        Status::SuspectedNoop => "suspected noop",
    };
    let mut text = format!("{status}: {}\n", verdict.reason());
    if let Some(changes) = &done.changes {
        text.push_str(&delta_of(changes));
    }
    if !done.new_windows.is_empty() {
        text.push_str("new windows:\n");
        text.push_str(&windows_of(&done.new_windows));
    }
    if done.surface_gone {
        text.push_str("the window is gone\n");
    }
    text
}

fn delta_of(delta: &Delta) -> String {
    let mut text = String::new();
    for line in &delta.lines {
        let _ = writeln!(text, "{line}");
    }
    if delta.truncated {
        let _ = writeln!(text, "… {} added, {} removed, {} changed in all", delta.added, delta.removed, delta.changed);
    }
    text
}

fn notes(text: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(text, "{note}");
    }
}

/// Values of the command line's own commands: a list of objects as a table, else one line a member.
fn of_value(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut text = String::new();
            for (name, member) in members {
                match member {
                    Value::Array(items) if items.iter().all(Value::is_object) && !items.is_empty() => {
                        text.push_str(&of_list(items));
                    }
                    Value::Array(items) if items.is_empty() => {
                        let _ = writeln!(text, "{name}: none");
                    }
                    other => {
                        let _ = writeln!(text, "{name}: {}", cell(other));
                    }
                }
            }
            text
        }
        other => cell(other) + "\n",
    }
}

fn of_list(items: &[Value]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in items.iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let heads: Vec<String> = names.iter().map(|name| name.to_uppercase()).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    rows(&heads, items.iter().map(|item| names.iter().map(|name| cell(&item[*name])).collect()))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escape(text, usize::MAX),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Columns under heads. The last column is not padded.
fn rows(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain(std::iter::once(heads[column].len()))
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: &[&str]| {
        let mut shown = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let pad = if column + 1 < cells.len() { widths[column] } else { 0 };
            let _ = write!(shown, "{cell:<pad$}  ");
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    };
    line(heads);
    for row in &rows {
        line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text
}

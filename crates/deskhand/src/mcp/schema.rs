//! Schemas from the contract's tables: flat, inlined, without unions at the root, references or nulls.

use std::sync::Arc;

use deskhand_contract::action::{ActionKind, FieldKind, Tool, Use};
use deskhand_contract::scope::{CapabilitySet, ScopeSet};
use rmcp::model::{self, JsonObject};
use serde_json::{Map, Value, json};

use super::{computer_control, computer_observe};
use crate::control::projection;

/// The tools that this version has, in their order.
const TOOLS: [Tool; 2] = [Tool::ComputerObserve, Tool::ComputerControl];

/// The tool of that name, where this version has it.
pub(super) fn tool_named(name: &str) -> Option<Tool> {
    TOOLS.into_iter().find(|tool| tool.name() == name)
}

/// The tools with the actions and arguments that could ever succeed for this caller at this Runner.
pub(super) fn tools(scopes: ScopeSet, capabilities: CapabilitySet) -> Vec<model::Tool> {
    TOOLS
        .into_iter()
        .filter_map(|tool| {
            let actions = projection::actions(tool, scopes, capabilities);
            if actions.is_empty() {
                return None;
            }
            let (description, annotations) = match tool {
                Tool::ComputerObserve => (computer_observe::DESCRIPTION, computer_observe::annotations()),
                Tool::ComputerControl => (computer_control::DESCRIPTION, computer_control::annotations()),
                Tool::ComputerSaveSnapshot => return None,
            };
            let described = describe(description, &actions, capabilities);
            Some(
                model::Tool::new(tool.name(), described, Arc::new(input(&actions, capabilities)))
                    .with_raw_output_schema(Arc::new(output()))
                    .with_annotations(annotations),
            )
        })
        .collect()
}

/// The actions with what each takes: `press (surface_id, element_id, gesture?): …`.
fn describe(about: &str, actions: &[ActionKind], capabilities: CapabilitySet) -> String {
    let mut text = about.to_owned();
    for kind in actions {
        let fields: Vec<String> = projection::fields(*kind, capabilities)
            .iter()
            .filter(|used| used.field.name != "client_id")
            .map(|used| format!("{}{}", used.field.name, if used.required { "" } else { "?" }))
            .collect();
        text.push_str(&format!("\n{} ({}): {}", kind.name(), fields.join(", "), kind.doc()));
    }
    text
}

fn input(actions: &[ActionKind], capabilities: CapabilitySet) -> JsonObject {
    let names: Vec<&str> = actions.iter().map(|kind| kind.name()).collect();
    let mut properties = Map::new();
    properties.insert("action".into(), json!({ "type": "string", "enum": names }));
    let mut merged: Vec<Use> = Vec::new();
    for used in actions.iter().flat_map(|kind| projection::fields(*kind, capabilities)) {
        match merged.iter_mut().find(|other| other.field.name == used.field.name) {
            Some(other) => other.field.kind = widest(other.field.kind, used.field.kind),
            None => merged.push(used),
        }
    }
    for used in merged {
        properties.insert(used.field.name.into(), property(used));
    }
    object(json!({
        "type": "object",
        "properties": properties,
        "required": ["action"],
        "additionalProperties": false,
    }))
}

fn property(used: Use) -> Value {
    let mut schema = match used.field.kind {
        FieldKind::Surface
        | FieldKind::Element
        | FieldKind::Display
        | FieldKind::Application
        | FieldKind::Client
        | FieldKind::Observation
        | FieldKind::Role
        | FieldKind::Key
        | FieldKind::Text { .. } => json!({ "type": "string" }),
        FieldKind::Integer { min, max } if max > i64::from(u32::MAX) => json!({ "type": "integer", "minimum": min }),
        FieldKind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        FieldKind::Boolean => json!({ "type": "boolean" }),
        // Without a type: several hosts refuse a list of types.
        FieldKind::NumberOrBoolean => json!({}),
        FieldKind::Choice(choices) => json!({ "type": "string", "enum": choices }),
        FieldKind::Words(words) => json!({ "type": "array", "items": { "type": "string", "enum": words } }),
        FieldKind::Region => json!({
            "type": "object",
            "properties": {
                "x": { "type": "integer", "minimum": 0 },
                "y": { "type": "integer", "minimum": 0 },
                "width": { "type": "integer", "minimum": 1 },
                "height": { "type": "integer", "minimum": 1 },
            },
            "required": ["x", "y", "width", "height"],
            "additionalProperties": false,
        }),
    };
    schema["description"] = used.field.doc.into();
    schema
}

/// One property for a field that several actions take, each within its own bounds.
fn widest(one: FieldKind, other: FieldKind) -> FieldKind {
    match (one, other) {
        (FieldKind::Integer { min: a, max: b }, FieldKind::Integer { min: c, max: d }) => {
            FieldKind::Integer { min: a.min(c), max: b.max(d) }
        }
        (FieldKind::Text { min: a, max: b }, FieldKind::Text { min: c, max: d }) => {
            FieldKind::Text { min: a.min(c), max: b.max(d) }
        }
        _ => one,
    }
}

/// The envelope's schema.
pub(super) fn output() -> JsonObject {
    let verdict = json!({
        "type": "object",
        "properties": {
            "status": { "type": "string", "enum": ["not_applicable", "confirmed", "unverifiable", "suspected_noop"] },
            "evidence": { "type": "string" },
            "reason": { "type": "string" },
            "verification": { "type": "object" },
        },
        "required": ["status", "evidence", "reason"],
    });
    let state = json!({ "type": "string", "enum": ["not_started", "completed", "outcome_unknown"] });
    object(json!({
        "type": "object",
        "properties": {
            "ok": { "type": "boolean" },
            "schema_version": { "type": "integer" },
            "command": { "type": "string" },
            "meta": {
                "type": "object",
                "properties": { "execution_state": state, "effect_verdict": verdict },
                "required": ["duration_ms", "client_id", "execution_state", "effect_verdict"],
            },
            "data": { "type": "object" },
            "error": {
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "message": { "type": "string" },
                    "retryable": { "type": "boolean" },
                    "recovery": { "type": "object" },
                },
                "required": ["code", "message", "retryable", "execution_state", "effect_verdict"],
            },
        },
        "required": ["ok", "schema_version", "command", "meta"],
    }))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => unreachable!("written as an object above"),
    }
}

//! JSON Schema, as much of it as our schemas use; a word beyond that is a failure, so nothing goes unchecked.

use serde_json::Value;

/// What is wrong with `value`, or nothing.
pub(crate) fn violation(schema: &Value, value: &Value) -> Option<String> {
    let members = schema.as_object()?;
    for (word, rule) in members {
        let wrong = match word.as_str() {
            "description" => None,
            "type" => (!is_of(rule.as_str().expect("one type"), value)).then(|| format!("{value} is no {rule}")),
            "enum" => (!rule.as_array().unwrap().contains(value)).then(|| format!("{value} is none of {rule}")),
            "minimum" => {
                value.as_f64().filter(|number| *number < rule.as_f64().unwrap()).map(|n| format!("{n} is low"))
            }
            "maximum" => {
                value.as_f64().filter(|number| *number > rule.as_f64().unwrap()).map(|n| format!("{n} is high"))
            }
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .find(|name| value.is_object() && value.get(name).is_none())
                .map(|name| format!("{name} is missing in {value}")),
            "properties" => rule.as_object().unwrap().iter().find_map(|(name, part)| {
                value.get(name).and_then(|member| violation(part, member)).map(|why| format!("{name}: {why}"))
            }),
            "additionalProperties" => {
                assert_eq!(rule, false);
                let known = schema["properties"].as_object().unwrap();
                value
                    .as_object()
                    .and_then(|members| members.keys().find(|name| !known.contains_key(*name)))
                    .map(|name| format!("{name} is not known"))
            }
            "items" => value.as_array().and_then(|items| items.iter().find_map(|item| violation(rule, item))),
            other => panic!("the schema uses {other:?}, which hosts may not know"),
        };
        if wrong.is_some() {
            return wrong;
        }
    }
    None
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{other} is no type"),
    }
}

/// Every schema below this one, itself included.
pub(crate) fn parts(schema: &Value) -> Vec<&Value> {
    let mut all = vec![schema];
    let mut below = Vec::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        below.extend(properties.values());
    }
    below.extend(schema.get("items"));
    for part in below {
        all.extend(parts(part));
    }
    all
}

#[test]
fn the_oracle_can_say_no() {
    use serde_json::json;
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer", "minimum": 1, "maximum": 3 }, "b": { "type": "string", "enum": ["x"] } },
        "required": ["a"],
        "additionalProperties": false,
    });
    assert_eq!(violation(&schema, &json!({ "a": 2, "b": "x" })), None);
    for bad in
        [json!({}), json!({ "a": 0 }), json!({ "a": 4 }), json!({ "a": "2" }), json!({ "a": 1, "b": "y" }), json!([])]
    {
        assert!(violation(&schema, &bad).is_some(), "{bad}");
    }
    assert!(violation(&schema, &json!({ "a": 1, "c": 1 })).is_some());
}

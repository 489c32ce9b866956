//! The arguments of a call before they are an [`Action`](crate::action::Action): a flat set of named,
//! closed-typed values. The command line and MCP both make one; one parser reads it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize as _;
use serde::de::{MapAccess, SeqAccess, Visitor};

use crate::geometry::WindowRect;
use crate::redacted::Redacted;

/// Most fields that a call may carry. The largest action takes nine.
pub const MAX_FIELDS: usize = 32;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// Text. It may be what a user types, so it is never shown.
    Text(Redacted),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// A rectangle in window pixels.
    Region(WindowRect),
    /// A list of words.
    Words(Vec<String>),
}

impl Argument {
    /// The kind, in the words of an error message.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Number(_) => "a number",
            Self::Boolean(_) => "a boolean",
            Self::Region(_) => "a region",
            Self::Words(_) => "a list",
        }
    }
}

/// Named values, each name once. `Debug` shows names and kinds only.
#[derive(Clone, PartialEq, Default)]
pub struct Arguments(BTreeMap<String, Argument>);

impl Arguments {
    /// No argument.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `name` to `value`.
    pub fn set(&mut self, name: &str, value: Argument) {
        self.0.insert(name.to_owned(), value);
    }

    /// The same with a text.
    #[must_use]
    pub fn text(mut self, name: &str, text: &str) -> Self {
        self.set(name, Argument::Text(Redacted::new(text.to_owned())));
        self
    }

    /// The same with a whole number.
    #[must_use]
    pub fn integer(mut self, name: &str, number: i64) -> Self {
        self.set(name, Argument::Integer(number));
        self
    }

    /// The same with a truth value.
    #[must_use]
    pub fn boolean(mut self, name: &str, truth: bool) -> Self {
        self.set(name, Argument::Boolean(truth));
        self
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Argument> {
        self.0.get(name)
    }

    /// The text of `name`, where it is one.
    #[must_use]
    pub fn get_text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Argument::Text(text)) => Some(text.expose()),
            _ => None,
        }
    }

    /// Takes `name` out.
    pub fn take(&mut self, name: &str) -> Option<Argument> {
        self.0.remove(name)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, value)| (name, value.kind()))).finish()
    }
}

impl serde::Serialize for Arguments {
    /// The whole of it, texts included: this is the wire form between a front door and the Runner, and
    /// the form of a suggested call. It must never reach a log.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Plain<'a>(&'a Argument);
        impl serde::Serialize for Plain<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    Argument::Text(text) => serializer.serialize_str(text.expose()),
                    Argument::Integer(number) => serializer.serialize_i64(*number),
                    Argument::Number(number) => serializer.serialize_f64(*number),
                    Argument::Boolean(truth) => serializer.serialize_bool(*truth),
                    Argument::Region(rect) => rect.serialize(serializer),
                    Argument::Words(words) => words.serialize(serializer),
                }
            }
        }
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Plain(value))))
    }
}

impl<'de> serde::Deserialize<'de> for Arguments {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Arguments;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of arguments")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
                let mut arguments = Arguments::new();
                while let Some(name) = map.next_key::<String>()? {
                    if arguments.len() == MAX_FIELDS {
                        return Err(serde::de::Error::custom("too many fields"));
                    }
                    let value: Argument = map.next_value()?;
                    if arguments.0.insert(name, value).is_some() {
                        return Err(serde::de::Error::custom("a field was given twice"));
                    }
                }
                Ok(arguments)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl<'de> serde::Deserialize<'de> for Argument {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value;
        impl<'de> Visitor<'de> for Value {
            type Value = Argument;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a string, number, boolean, list of strings, or region (leave a field out rather than null)",
                )
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Argument, E> {
                Ok(Argument::Text(Redacted::new(text.to_owned())))
            }
            fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Argument, E> {
                Ok(Argument::Text(Redacted::new(text)))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Argument, E> {
                Ok(Argument::Integer(number))
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Argument, E> {
                i64::try_from(number).map(Argument::Integer).map_err(|_| E::custom("number too large"))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Argument, E> {
                // Some hosts write every number as a float: a whole one is an integer all the same.
                if number.fract() == 0.0 && number.abs() < 9.0e15 {
                    Ok(Argument::Integer(number as i64))
                } else {
                    Ok(Argument::Number(number))
                }
            }
            fn visit_bool<E: serde::de::Error>(self, truth: bool) -> Result<Argument, E> {
                Ok(Argument::Boolean(truth))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Argument, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = seq.next_element::<String>()? {
                    if words.len() == MAX_FIELDS {
                        return Err(serde::de::Error::custom("too many words in a list"));
                    }
                    words.push(word);
                }
                Ok(Argument::Words(words))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Argument, A::Error> {
                let rect = WindowRect::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Argument::Region(rect))
            }
        }
        deserializer.deserialize_any(Value)
    }
}

/// Why arguments are not a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError {
    /// What is wrong and what to do, in words that repeat no argument's value.
    pub message: String,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ArgumentError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_reads_into_closed_types_and_null_is_refused() {
        let read: Arguments = serde_json::from_str(
            r#"{"a":"x","b":3,"c":1.5,"d":true,"e":["shift"],"f":{"x":1,"y":2,"width":3,"height":4},"g":2.0}"#,
        )
        .unwrap();
        assert_eq!(read.get("b"), Some(&Argument::Integer(3)));
        assert_eq!(read.get("g"), Some(&Argument::Integer(2)));
        assert_eq!(read.get("f"), Some(&Argument::Region(WindowRect::new(1, 2, 3, 4))));
        for bad in [r#"{"a":null}"#, r#"{"a":{"x":1}}"#, r#"{"a":[1]}"#, r#"{"a":1,"a":2}"#, "[]", "3"] {
            assert!(serde_json::from_str::<Arguments>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn debug_never_shows_a_value() {
        let arguments = Arguments::new().text("text", "hunter2").integer("x", 77);
        let shown = format!("{arguments:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("77"), "{shown}");
    }
}

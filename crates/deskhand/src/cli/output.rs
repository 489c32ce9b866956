//! What a command says, and where.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use deskhand_contract::error::{CallError, Exit};
use serde_json::Value;

use super::table;
use crate::control::envelope::Envelope;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// The envelope as JSON, indented.
    Json,
    /// The envelope as YAML.
    Yaml,
    /// For people.
    Table,
    /// The envelope as JSON, in one line and without absent members.
    Compact,
}

impl Format {
    /// The form that a command line which cannot be read asks for.
    pub(super) fn asked_for(arguments: &[OsString]) -> Option<Self> {
        let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let named = |name: &str| <Self as clap::ValueEnum>::from_str(name, false).ok();
        words.iter().enumerate().find_map(|(index, word)| match *word {
            "-f" | "--format" => words.get(index + 1).and_then(|name| named(name)),
            other => other.strip_prefix("--format=").or_else(|| other.strip_prefix("-f")).and_then(named),
        })
    }
}

/// Standard output and standard error, in one form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    format: Format,
}

impl Output {
    /// In `format`, else a table on a terminal and JSON in a pipe.
    pub(super) fn new(format: Option<Format>) -> Self {
        let usual = || if io::stdout().is_terminal() { Format::Table } else { Format::Json };
        Self { format: format.unwrap_or_else(usual) }
    }

    /// Whether a person reads it.
    pub(super) fn is_for_people(self) -> bool {
        self.format == Format::Table
    }

    /// Shows how a call ended; says in which exit status the command ends.
    pub(super) fn envelope(self, envelope: &Envelope) -> Exit {
        let text = match self.format {
            Format::Table => {
                let (answer, complaint) = table::render(envelope);
                self.text(&answer);
                self.complaint(&complaint);
                return envelope.exit();
            }
            Format::Json => serde_json::to_string_pretty(envelope).expect("an envelope is plain data") + "\n",
            Format::Compact => envelope.without_nulls().to_string() + "\n",
            Format::Yaml => serde_yaml_ng::to_string(envelope).expect("an envelope is plain data"),
        };
        self.text(&text);
        envelope.exit()
    }

    /// Shows how one of the command line's own reads ended.
    pub(super) fn command(self, name: &str, took: Duration, end: Result<Value, CallError>) -> Exit {
        self.envelope(&Envelope::of_read(name, took, end))
    }

    /// Shows how one of the command line's own effects ended.
    pub(super) fn effect(self, name: &str, took: Duration, end: Result<Value, CallError>) -> Exit {
        self.envelope(&Envelope::of_effect(name, took, end))
    }

    /// An answer as it is. A reader that has gone away is no trouble: the command has done its work.
    pub(super) fn text(self, text: &str) {
        let mut output = io::stdout().lock();
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    }

    /// A word to the person beside the answer.
    pub(super) fn complaint(self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

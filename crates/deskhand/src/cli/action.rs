//! `deskhand observe ACTION` and `deskhand control ACTION`: flags from the contract's own table of fields.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use deskhand_contract::action::{ActionKind, FieldKind, Tool};
use deskhand_contract::argument::{Argument, Arguments};
use deskhand_contract::error::{CallError, ErrorCode, Exit};
use deskhand_contract::geometry::WindowRect;
use deskhand_contract::limit::Cancel;
use deskhand_contract::redacted::Redacted;
use serde_json::Value;

use super::Surroundings;
use crate::control::envelope::{Data, Envelope};
use crate::control::gateway::Closed;
use crate::control::link::effect;
use crate::control::projection;

/// Most bytes that are read from a text file. No action takes as many; it says so itself.
const MAX_TEXT_FILE: u64 = 64 << 10;

/// A call as the command line gave it.
#[derive(Debug)]
pub(super) struct Call {
    kind: ActionKind,
    arguments: Arguments,
    /// Where a picture goes.
    out: Option<PathBuf>,
    /// Whether a file there may be replaced.
    force: bool,
}

/// Adds a subcommand for every action of `tool`.
pub(super) fn augment(command: Command, tool: Tool) -> Command {
    command
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("ACTION")
        .subcommand_help_heading("Actions")
        .subcommands(tool.actions().filter(|kind| projection::is_offered(*kind)).map(subcommand))
}

/// Reads the action that was chosen.
pub(super) fn read(matches: &ArgMatches) -> Result<Call, clap::Error> {
    let (name, matches) = matches.subcommand().expect("a subcommand is required");
    let kind = ActionKind::named(name).expect("subcommands are named as actions are");
    let mut arguments = Arguments::new();
    for used in kind.fields() {
        let id = id(used.field.name);
        if let Some(argument) = matches.get_one::<Given>(&id) {
            arguments.set(used.field.name, argument.0.clone());
        }
    }
    if takes_text(kind) {
        if let Some(file) = matches.get_one::<PathBuf>("text-file") {
            let text = read_text(file).map_err(|why| clap::Error::raw(clap::error::ErrorKind::Io, why + "\n"))?;
            arguments.set("text", Argument::Text(Redacted::new(text)));
        }
        if let Some(text) = matches.get_one::<String>("last-text") {
            arguments.set("text", Argument::Text(Redacted::new(text.clone())));
        }
    }
    let is_picture = is_picture(kind);
    Ok(Call {
        kind,
        arguments,
        out: is_picture.then(|| matches.get_one::<PathBuf>("out").cloned()).flatten(),
        force: is_picture && matches.get_flag("force"),
    })
}

/// Makes the call and shows its end.
pub(super) fn run(surroundings: &Surroundings, call: Call) -> Exit {
    let Call { kind, arguments, out, force } = call;
    // Before anything is captured: a picture that cannot be kept need not be taken.
    if let Some(Err(why)) = out.as_deref().map(|path| place_for(path, force)) {
        let error = CallError::rejected(ErrorCode::InvalidRequest, why, effect(kind));
        return surroundings.output.command(&kind.qualified_name(), std::time::Duration::ZERO, Err(error));
    }
    let Closed { mut envelope, image } = surroundings.control().call(kind, arguments, &Cancel::new());
    if let (Some(path), false) = (&out, image.is_empty()) {
        match save(path, &image, force) {
            Ok(()) => add_file(&mut envelope, path),
            Err(error) => {
                let error = CallError::of_read(
                    ErrorCode::Configuration,
                    format!("The picture was taken but not kept: {}: {error}.", path.display()),
                );
                return surroundings.output.command(&kind.qualified_name(), std::time::Duration::ZERO, Err(error));
            }
        }
    }
    let exit = surroundings.output.envelope(&envelope);
    if envelope.ok && is_picture(kind) && out.is_none() && surroundings.output.is_for_people() {
        surroundings.output.complaint("The picture itself was not kept; --out FILE keeps it.\n");
    }
    exit
}

/// `--text -- VALUE` as `--text=VALUE`, so that a text may begin with a hyphen in that spelling too.
pub(super) fn join_text(arguments: Vec<OsString>) -> Vec<OsString> {
    let found = arguments.windows(3).position(|words| words[0] == "--text" && words[1] == "--");
    match found {
        Some(at) if at + 3 == arguments.len() => {
            let mut joined = arguments[..at].to_vec();
            let mut text = OsString::from("--text=");
            text.push(&arguments[at + 2]);
            joined.push(text);
            joined
        }
        _ => arguments,
    }
}

fn subcommand(kind: ActionKind) -> Command {
    let mut command = Command::new(kind.name()).about(kind.doc());
    if kind.name().contains('_') {
        command = command.alias(kind.name().replace('_', "-"));
    }
    for used in kind.fields() {
        let field = used.field;
        let arg = Arg::new(id(field.name)).long(flag(field.name)).help(field.doc).allow_hyphen_values(true);
        let arg = match field.kind {
            FieldKind::Surface
            | FieldKind::Element
            | FieldKind::Display
            | FieldKind::Application
            | FieldKind::Client
            | FieldKind::Observation
            | FieldKind::Role
            | FieldKind::Key
            | FieldKind::Text { .. } => arg.value_parser(text).value_name(value_name(field.kind)),
            FieldKind::Integer { .. } => arg.value_parser(integer).value_name("N"),
            FieldKind::Boolean => arg
                .value_parser(boolean)
                .value_name("true|false")
                .num_args(0..=1)
                .default_missing_value("true")
                .allow_hyphen_values(false),
            FieldKind::NumberOrBoolean => arg.value_parser(number_or_boolean).value_name("NUMBER|true|false"),
            FieldKind::Choice(choices) => {
                use clap::builder::TypedValueParser as _;
                arg.value_parser(PossibleValuesParser::new(choices).map(|text| Given::text(&text)))
                    .value_name(value_name(field.kind))
            }
            FieldKind::Words(words) => arg.value_parser(words_of).value_name(words.join("+")),
            FieldKind::Region => arg.value_parser(region).value_name("X,Y,WIDTH,HEIGHT"),
        };
        let required = used.required && field.name != "text";
        command = command.arg(arg.required(required).action(ArgAction::Set));
    }
    if takes_text(kind) {
        command = command
            .arg(
                Arg::new("text-file")
                    .long("text-file")
                    .value_name("FILE")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help(
                        "Take the text from a file, or with - from standard input: other users can see command lines.",
                    ),
            )
            .arg(Arg::new("last-text").last(true).value_name("TEXT").help("The text, after --."))
            .group(
                clap::ArgGroup::new("what").args([id("text"), "text-file".into(), "last-text".into()]).required(true),
            );
    }
    if is_picture(kind) {
        command = command
            .arg(
                Arg::new("out")
                    .long("out")
                    .value_name("FILE")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("Keep the picture in a new file, as JPEG."),
            )
            .arg(
                Arg::new("force")
                    .long("force")
                    .action(ArgAction::SetTrue)
                    .requires("out")
                    .help("Replace that file where it is there already."),
            );
    }
    command
}

/// A field among clap's arguments, apart from those that every command takes.
fn id(field: &str) -> String {
    format!("field-{field}")
}

/// A field's flag.
fn flag(field: &str) -> String {
    match field {
        // `--format` is the form of every answer; this is the form of a tree in it.
        "format" => "tree-format".into(),
        _ => field.replace('_', "-"),
    }
}

/// An argument as it was given. `Debug` does not show a text.
#[derive(Debug, Clone)]
struct Given(Argument);

impl Given {
    fn text(text: &str) -> Self {
        Self(Argument::Text(Redacted::new(text.to_owned())))
    }
}

fn text(given: &str) -> Result<Given, String> {
    Ok(Given::text(given))
}

fn integer(given: &str) -> Result<Given, String> {
    given.parse().map(|number| Given(Argument::Integer(number))).map_err(|_| "expected a whole number".into())
}

fn boolean(given: &str) -> Result<Given, String> {
    given.parse().map(|truth| Given(Argument::Boolean(truth))).map_err(|_| "expected true or false".into())
}

fn number_or_boolean(given: &str) -> Result<Given, String> {
    if let Ok(number) = given.parse() {
        return Ok(Given(Argument::Integer(number)));
    }
    match given.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Given(Argument::Number(number))),
        _ => boolean(given).map_err(|_| "expected a number, true or false".into()),
    }
}

fn words_of(given: &str) -> Result<Given, String> {
    Ok(Given(Argument::Words(given.split(['+', ',']).map(str::to_owned).collect())))
}

fn region(given: &str) -> Result<Given, String> {
    let numbers: Vec<i64> = given.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let [x, y, width, height] = numbers[..] else { return Err("expected X,Y,WIDTH,HEIGHT".into()) };
    let in_range = || {
        Some(WindowRect::new(
            i32::try_from(x).ok()?,
            i32::try_from(y).ok()?,
            u32::try_from(width).ok()?,
            u32::try_from(height).ok()?,
        ))
    };
    in_range().map(|rect| Given(Argument::Region(rect))).ok_or_else(|| "a number is out of range".into())
}

fn value_name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Surface => "SURFACE",
        FieldKind::Element => "ELEMENT",
        FieldKind::Display => "DISPLAY",
        FieldKind::Application => "APPLICATION",
        FieldKind::Client => "CLIENT",
        FieldKind::Observation => "OBSERVATION",
        FieldKind::Role => "ROLE",
        FieldKind::Key => "KEY",
        FieldKind::Choice(_) => "CHOICE",
        _ => "TEXT",
    }
}

fn takes_text(kind: ActionKind) -> bool {
    matches!(kind, ActionKind::InputText | ActionKind::WriteClipboard)
}

fn is_picture(kind: ActionKind) -> bool {
    matches!(kind, ActionKind::SnapshotWindow | ActionKind::SnapshotDisplay)
}

fn read_text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(MAX_TEXT_FILE).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MAX_TEXT_FILE).read_to_string(&mut text))
    };
    // What was read so far is not repeated.
    read.map(|_| text).map_err(|error| format!("--text-file {}: {}", path.display(), error.kind()))
}

fn place_for(path: &Path, force: bool) -> Result<(), String> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
        return Err("Pictures are JPEG: let the file's name end in .jpg.".into());
    }
    if path.symlink_metadata().is_ok() && !force {
        return Err(format!("{} is there already; --force replaces it.", path.display()));
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(format!("{} is not a directory.", parent.display()))
        }
        _ => Ok(()),
    }
}

/// Writes the picture whole or not at all.
fn save(path: &Path, image: &[u8], force: bool) -> io::Result<()> {
    let (target, finished): (PathBuf, Option<&Path>) = if force {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        (path.with_file_name(name), Some(path))
    } else {
        (path.to_owned(), None)
    };
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&target)?;
        file.write_all(image)?;
        match finished {
            Some(path) => fs::rename(&target, path),
            None => Ok(()),
        }
    };
    write().inspect_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&target);
        }
    })
}

fn add_file(envelope: &mut Envelope, path: &Path) {
    let Some(data) = &envelope.data else { return };
    let mut value = serde_json::to_value(data).expect("a reply is plain data");
    if let Value::Object(members) = &mut value {
        members.insert("file".into(), Value::String(path.to_string_lossy().into_owned()));
    }
    envelope.data = Some(Data::Own(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args as _;

    fn read_control(arguments: &[&str]) -> Result<Call, clap::Error> {
        let words = std::iter::once("control").chain(arguments.iter().copied()).map(OsString::from).collect();
        super::super::control::Control::augment_args(Command::new("control"))
            .try_get_matches_from(join_text(words))
            .and_then(|matches| read(&matches))
    }

    #[track_caller]
    fn text_is(arguments: &[&str], text: &str) {
        let base = ["input_text", "--surface-id", "s12345678", "--element-id", "e123456"];
        let call = read_control(&[&base[..], arguments].concat()).unwrap();
        assert_eq!(call.arguments.get_text("text"), Some(text));
    }

    #[test]
    fn text_may_begin_with_a_hyphen_in_every_spelling() {
        text_is(&["--text", "plain"], "plain");
        text_is(&["--text=-rf"], "-rf");
        text_is(&["--text", "-rf"], "-rf");
        text_is(&["--text", "--help"], "--help");
        text_is(&["--text", "--", "-rf"], "-rf");
        text_is(&["--text", "--"], "--");
        text_is(&["--", "-rf"], "-rf");
        text_is(&["--text", ""], "");
        text_is(&["--text", "a'b\"c$(x)\n"], "a'b\"c$(x)\n");
    }

    #[test]
    fn no_field_takes_a_flag_that_every_command_has() {
        for field in ActionKind::ALL.iter().flat_map(|kind| kind.fields()) {
            let flag = flag(field.field.name);
            assert!(
                !["format", "desktop", "session", "out", "force", "text-file", "help"].contains(&flag.as_str()),
                "{flag}"
            );
        }
    }

    #[test]
    fn a_text_is_needed_and_given_once() {
        let base = ["input_text", "--surface-id", "s12345678", "--element-id", "e123456"];
        assert!(read_control(&base).is_err());
        assert!(read_control(&[&base[..], &["--text", "a", "--text-file", "b"]].concat()).is_err());
    }

    #[test]
    fn numbers_may_be_negative_and_truths_may_be_bare() {
        let base = ["set_value", "--surface-id", "s12345678", "--element-id", "e123456", "--value"];
        let value = |given| {
            let call = read_control(&[&base[..], &[given]].concat()).unwrap();
            call.arguments.get("value").cloned()
        };
        assert_eq!(value("-60"), Some(Argument::Integer(-60)));
        assert_eq!(value("-1.5"), Some(Argument::Number(-1.5)));
        assert_eq!(value("true"), Some(Argument::Boolean(true)));
        assert!(read_control(&[&base[..], &["seven"]].concat()).is_err());
        assert!(read_control(&[&base[..], &["inf"]].concat()).is_err());
    }
}

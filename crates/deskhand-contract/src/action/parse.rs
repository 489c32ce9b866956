//! Arguments become an [`Action`], or an error that shows the right call.

use std::str::FromStr;

use super::{
    Action, ActionKind, Condition, Direction, FieldKind, Filter, Gesture, ImageBounds, Key, Means, Modifiers,
    PressTarget, TextMode, TreeFormat, Value,
};
use crate::argument::{Argument, ArgumentError, Arguments};
use crate::geometry::WindowRect;
use crate::id::BadId;
use crate::redacted::Redacted;
use crate::role::Role;

impl Action {
    /// Reads `arguments` as a call of `kind`. `client_id` is the caller's business and is passed over.
    ///
    /// # Errors
    /// Names the field that is unknown, missing, of the wrong kind or out of bounds, and shows the call
    /// as it should be. No argument's value is repeated.
    pub fn parse(kind: ActionKind, arguments: &Arguments) -> Result<Self, ArgumentError> {
        let read = Reader { kind, arguments };
        read.refuse_unknown()?;
        let action = match kind {
            ActionKind::Targets => Self::Targets,
            ActionKind::Windows => Self::Windows { limit: read.integer("limit")?.unwrap_or(64) as u32 },
            ActionKind::Displays => Self::Displays { limit: read.integer("limit")?.unwrap_or(16) as u32 },
            ActionKind::Applications => Self::Applications { limit: read.integer("limit")?.unwrap_or(64) as u32 },
            ActionKind::AccessibilityStatus => Self::AccessibilityStatus,
            ActionKind::AccessibilityTree => Self::AccessibilityTree {
                surface: read.id("surface_id")?,
                root: read.optional_id("root")?,
                max_depth: read.integer("max_depth")?.unwrap_or(24) as u32,
                max_nodes: read.integer("max_nodes")?.unwrap_or(400) as u32,
                since_generation: read.integer("since_generation")?.map(|generation| generation as u64),
                format: match read.choice("format")? {
                    Some("json") => TreeFormat::Json,
                    _ => TreeFormat::Outline,
                },
            },
            ActionKind::FindElements => Self::FindElements {
                surface: read.id("surface_id")?,
                filter: read.filter()?,
                limit: read.integer("limit")?.unwrap_or(8) as u32,
            },
            ActionKind::ElementState => Self::ElementState {
                surface: read.id("surface_id")?,
                element: read.id("element_id")?,
                include_value: read.boolean("include_value")?.unwrap_or(false),
            },
            ActionKind::WaitFor => Self::WaitFor {
                condition: read.condition()?,
                timeout_ms: read.integer("timeout_ms")?.unwrap_or(10_000) as u32,
            },
            ActionKind::SnapshotWindow => Self::SnapshotWindow {
                surface: read.id("surface_id")?,
                region: read.region()?,
                bounds: read.image_bounds()?,
            },
            ActionKind::SnapshotDisplay => {
                Self::SnapshotDisplay { display: read.id("display_id")?, bounds: read.image_bounds()? }
            }
            ActionKind::ReadText => Self::ReadText {
                surface: read.id("surface_id")?,
                element: read.id("element_id")?,
                start: read.integer("start")?.unwrap_or(0) as u32,
                length: read.integer("length")?.unwrap_or(16_384) as u32,
            },
            ActionKind::ReadClipboard => Self::ReadClipboard,
            ActionKind::ArtifactMetadata => {
                Self::ArtifactMetadata { project: read.words("project")?, path: read.words("path")? }
            }
            ActionKind::LaunchApplication => Self::LaunchApplication { application: read.id("application_id")? },
            ActionKind::ActivateWindow => Self::ActivateWindow { surface: read.id("surface_id")? },
            ActionKind::Press => read.press()?,
            ActionKind::Focus => Self::Focus { surface: read.id("surface_id")?, element: read.id("element_id")? },
            ActionKind::Select => Self::Select { surface: read.id("surface_id")?, element: read.id("element_id")? },
            ActionKind::SetValue => Self::SetValue {
                surface: read.id("surface_id")?,
                element: read.id("element_id")?,
                value: read.value()?,
            },
            ActionKind::Scroll => Self::Scroll {
                surface: read.id("surface_id")?,
                element: read.id("element_id")?,
                direction: match read.choice("direction")? {
                    Some("up") => Direction::Up,
                    Some("down") => Direction::Down,
                    Some("left") => Direction::Left,
                    Some("right") => Direction::Right,
                    _ => return Err(read.missing("direction")),
                },
                pages: read.integer("pages")?.ok_or_else(|| read.missing("pages"))? as u32,
                means: read.means()?,
            },
            ActionKind::ScrollToElement => {
                Self::ScrollToElement { surface: read.id("surface_id")?, element: read.id("element_id")? }
            }
            ActionKind::Key => read.key()?,
            ActionKind::InputText => read.input_text()?,
            ActionKind::PointerMove => Self::PointerMove {
                display: read.id("display_id")?,
                snapshot_generation: read.coordinate("snapshot_generation")? as u64,
                x: read.coordinate("x")? as i32,
                y: read.coordinate("y")? as i32,
            },
            ActionKind::PointerClick => Self::PointerClick {
                display: read.id("display_id")?,
                snapshot_generation: read.coordinate("snapshot_generation")? as u64,
                x: read.coordinate("x")? as i32,
                y: read.coordinate("y")? as i32,
            },
            ActionKind::WriteClipboard => Self::WriteClipboard { text: read.typed_text("text")? },
            ActionKind::SaveSnapshot => Self::SaveSnapshot {
                project: read.words("project")?,
                path: read.words("path")?,
                surface: read.id("surface_id")?,
                region: read.region()?,
                bounds: read.image_bounds()?,
            },
        };
        Ok(action)
    }
}

impl ActionKind {
    /// The call as it should look, with what each field takes.
    #[must_use]
    pub fn usage(self) -> String {
        let fields: Vec<String> = self
            .fields()
            .iter()
            .filter(|used| used.field.name != "client_id")
            .map(|used| format!("{}{}: {}", used.field.name, if used.required { "" } else { "?" }, used.field.kind))
            .collect();
        if fields.is_empty() {
            format!("{} takes no arguments", self.name())
        } else {
            format!("{} {{ {} }}", self.name(), fields.join(", "))
        }
    }
}

impl std::fmt::Display for FieldKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Surface => f.write_str("s…"),
            Self::Element => f.write_str("e…"),
            Self::Display => f.write_str("d…"),
            Self::Application => f.write_str("a…"),
            Self::Client => f.write_str("client name"),
            Self::Observation => f.write_str("observation_…"),
            Self::Role => f.write_str("role"),
            Self::Key => f.write_str("key"),
            Self::Text { max, .. } => write!(f, "string ≤ {max} bytes"),
            Self::Integer { min, max } if *max > u32::MAX as i64 => write!(f, "integer ≥ {min}"),
            Self::Integer { min, max } => write!(f, "{min}…{max}"),
            Self::Boolean => f.write_str("true|false"),
            Self::NumberOrBoolean => f.write_str("number|true|false"),
            Self::Choice(choices) => f.write_str(&choices.join("|")),
            Self::Words(words) => write!(f, "list of {}", words.join("|")),
            Self::Region => f.write_str("{x, y, width, height}"),
        }
    }
}

/// Reads the fields of one kind, each within the bounds of its table.
struct Reader<'a> {
    kind: ActionKind,
    arguments: &'a Arguments,
}

impl Reader<'_> {
    fn refuse_unknown(&self) -> Result<(), ArgumentError> {
        match self.arguments.names().find(|name| self.field(name).is_none()) {
            // The name came from outside: it is shown escaped and short.
            Some(name) => Err(self.wrong(format!("unknown field \"{}\"", crate::text::escape(name, 40)))),
            None => Ok(()),
        }
    }

    fn field(&self, name: &str) -> Option<FieldKind> {
        self.kind.fields().iter().find(|used| used.field.name == name).map(|used| used.field.kind)
    }

    fn wrong(&self, what: String) -> ArgumentError {
        ArgumentError { message: format!("{what}. Right: {}", self.kind.usage()) }
    }

    fn missing(&self, name: &str) -> ArgumentError {
        self.wrong(format!("{name} is missing"))
    }

    fn wrong_kind(&self, name: &str, found: &Argument) -> ArgumentError {
        let expected = self.field(name).map_or_else(String::new, |kind| kind.to_string());
        self.wrong(format!("{name} is {}, expected {expected}", found.kind()))
    }

    fn text(&self, name: &str) -> Result<Option<&Redacted>, ArgumentError> {
        match self.arguments.get(name) {
            None => Ok(None),
            Some(Argument::Text(text)) => {
                if let Some(FieldKind::Text { min, max }) = self.field(name) {
                    if text.len() > max {
                        return Err(self.wrong(format!("{name} has {} bytes, at most {max} are taken", text.len())));
                    }
                    if text.len() < min {
                        return Err(self.wrong(format!("{name} is empty")));
                    }
                }
                if text.expose().contains('\0') {
                    return Err(self.wrong(format!("{name} holds a NUL character")));
                }
                Ok(Some(text))
            }
            Some(other) => Err(self.wrong_kind(name, other)),
        }
    }

    fn words(&self, name: &str) -> Result<String, ArgumentError> {
        Ok(self.text(name)?.ok_or_else(|| self.missing(name))?.expose().to_owned())
    }

    fn typed_text(&self, name: &str) -> Result<Redacted, ArgumentError> {
        self.text(name)?.cloned().ok_or_else(|| self.missing(name))
    }

    fn optional_id<T: FromStr<Err = BadId>>(&self, name: &str) -> Result<Option<T>, ArgumentError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        text.expose().parse().map(Some).map_err(|bad: BadId| self.wrong(format!("{name}: {bad}")))
    }

    fn id<T: FromStr<Err = BadId>>(&self, name: &str) -> Result<T, ArgumentError> {
        self.optional_id(name)?.ok_or_else(|| self.missing(name))
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, ArgumentError> {
        let number = match self.arguments.get(name) {
            None => return Ok(None),
            Some(Argument::Integer(number)) => *number,
            Some(other) => return Err(self.wrong_kind(name, other)),
        };
        match self.field(name) {
            Some(FieldKind::Integer { min, max }) if number < min || number > max => {
                Err(self.wrong(format!("{name} is out of bounds, {min} to {max}")))
            }
            _ => Ok(Some(number)),
        }
    }

    fn coordinate(&self, name: &str) -> Result<i64, ArgumentError> {
        self.integer(name)?.ok_or_else(|| self.missing(name))
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, ArgumentError> {
        match self.arguments.get(name) {
            None => Ok(None),
            Some(Argument::Boolean(truth)) => Ok(Some(*truth)),
            Some(other) => Err(self.wrong_kind(name, other)),
        }
    }

    fn choice(&self, name: &str) -> Result<Option<&'static str>, ArgumentError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let Some(FieldKind::Choice(choices)) = self.field(name) else { return Ok(None) };
        match choices.iter().find(|choice| **choice == text.expose()) {
            Some(choice) => Ok(Some(*choice)),
            None => Err(self.wrong(format!("{name} is none of {}", choices.join(", ")))),
        }
    }

    fn region(&self) -> Result<Option<WindowRect>, ArgumentError> {
        match self.arguments.get("region") {
            None => Ok(None),
            Some(Argument::Region(rect)) if rect.is_empty() => Err(self.wrong("region has no pixel".into())),
            Some(Argument::Region(rect)) => Ok(Some(*rect)),
            Some(other) => Err(self.wrong_kind("region", other)),
        }
    }

    fn image_bounds(&self) -> Result<ImageBounds, ArgumentError> {
        let side = |name| Ok(self.integer(name)?.map(|side| side as u32));
        Ok(ImageBounds { max_width: side("max_width")?, max_height: side("max_height")? })
    }

    fn means(&self) -> Result<Means, ArgumentError> {
        Ok(match self.choice("means")? {
            Some("targeted_input") => Means::TargetedInput,
            _ => Means::Accessibility,
        })
    }

    fn filter(&self) -> Result<Filter, ArgumentError> {
        let role = match self.text("role")? {
            None => None,
            Some(text) => Some(Role::named(text.expose()).ok_or_else(|| {
                self.wrong("role is not one of the roles that the outline shows (button, textbox, menuitem …)".into())
            })?),
        };
        Ok(Filter {
            role,
            subrole: self.text("subrole")?.map(|text| text.expose().to_owned()),
            label: self.text("label")?.map(|text| text.expose().to_owned()),
            focused: self.boolean("focused")?,
            enabled: self.boolean("enabled")?,
        })
    }

    fn condition(&self) -> Result<Condition, ArgumentError> {
        let surface = self.optional_id("surface_id")?;
        let filter = self.filter()?;
        let window = self.text("window")?.map(|text| text.expose().to_owned());
        let gone = self.boolean("gone")?.unwrap_or(false);
        match (surface, window, gone) {
            (None, Some(title), false) if filter.is_empty() => Ok(Condition::Window { title }),
            (None, Some(title), true) if filter.is_empty() => Ok(Condition::WindowGone { title }),
            (Some(surface), None, true) if filter.is_empty() => Ok(Condition::SurfaceGone { surface }),
            (Some(surface), None, false) if !filter.is_empty() => Ok(Condition::Element { surface, filter }),
            (Some(surface), None, true) => Ok(Condition::ElementGone { surface, filter }),
            _ => Err(self.wrong(
                "wait for one thing: surface_id with a filter (role, label …), surface_id with gone, or window".into(),
            )),
        }
    }

    fn press(&self) -> Result<Action, ArgumentError> {
        let surface = self.id("surface_id")?;
        let element = self.optional_id("element_id")?;
        let basis = self.optional_id("basis")?;
        let (x, y) = (self.integer("x")?, self.integer("y")?);
        let means = self.means()?;
        let gesture = match self.choice("gesture")? {
            Some("double") => Gesture::Double,
            Some("context_menu") => Gesture::ContextMenu,
            _ => Gesture::Activate,
        };
        let at = match (element, basis, x, y) {
            (Some(element), None, None, None) => PressTarget::Element(element),
            (None, Some(basis), Some(x), Some(y)) => PressTarget::Basis { basis, x: x as i32, y: y as i32 },
            (None, None, None, None) => return Err(self.missing("element_id")),
            _ => return Err(self.wrong("give element_id, or basis with x and y, not both".into())),
        };
        if means == Means::Accessibility && matches!(at, PressTarget::Basis { .. }) {
            return Err(self.wrong("basis with x and y needs means: targeted_input".into()));
        }
        if means == Means::Accessibility && gesture == Gesture::Double {
            return Err(self.wrong("gesture double needs means: targeted_input".into()));
        }
        Ok(Action::Press { surface, at, gesture, means })
    }

    fn value(&self) -> Result<Value, ArgumentError> {
        match self.arguments.get("value") {
            None => Err(self.missing("value")),
            Some(Argument::Integer(number)) => Ok(Value::Number(*number as f64)),
            Some(Argument::Number(number)) if number.is_finite() => Ok(Value::Number(*number)),
            Some(Argument::Boolean(truth)) => Ok(Value::Boolean(*truth)),
            Some(Argument::Text(_)) => {
                Err(self.wrong("value is a string: text goes through input_text with mode replace".into()))
            }
            Some(other) => Err(self.wrong_kind("value", other)),
        }
    }

    fn input_text(&self) -> Result<Action, ArgumentError> {
        let text = self.typed_text("text")?;
        let mode = match self.choice("mode")? {
            Some("replace") => TextMode::Replace,
            _ => TextMode::FillEmpty,
        };
        if mode == TextMode::FillEmpty && text.is_empty() {
            return Err(self.wrong("text is empty: only mode replace takes an empty text".into()));
        }
        Ok(Action::InputText {
            surface: self.id("surface_id")?,
            element: self.id("element_id")?,
            text,
            mode,
            means: self.means()?,
        })
    }

    fn key(&self) -> Result<Action, ArgumentError> {
        let name = self.text("key")?.ok_or_else(|| self.missing("key"))?;
        let modifiers = self.modifiers()?;
        let key = key_named(name.expose()).ok_or_else(|| {
            self.wrong(
                "key is none of enter escape tab backspace delete space arrow_up arrow_down arrow_left arrow_right \
                 page_up page_down home end f1 to f12, or with control or command a letter or digit; text goes \
                 through input_text"
                    .into(),
            )
        })?;
        if matches!(key, Key::Character(_)) && !(modifiers.control || modifiers.command) {
            return Err(self.wrong(
                "a letter or digit is a key only with control or command; text goes through input_text".into(),
            ));
        }
        Ok(Action::Key { surface: self.id("surface_id")?, key, modifiers })
    }

    fn modifiers(&self) -> Result<Modifiers, ArgumentError> {
        let words = match self.arguments.get("modifiers") {
            None => return Ok(Modifiers::default()),
            Some(Argument::Words(words)) => words.clone(),
            Some(Argument::Text(text)) => text.expose().split(['+', ',']).map(str::to_owned).collect(),
            Some(other) => return Err(self.wrong_kind("modifiers", other)),
        };
        let mut modifiers = Modifiers::default();
        for word in words {
            match word.as_str() {
                "shift" => modifiers.shift = true,
                "control" => modifiers.control = true,
                "option" => modifiers.option = true,
                "command" => modifiers.command = true,
                _ => return Err(self.wrong("modifiers are shift, control, option, command".into())),
            }
        }
        Ok(modifiers)
    }
}

fn key_named(name: &str) -> Option<Key> {
    Some(match name {
        "enter" => Key::Enter,
        "escape" => Key::Escape,
        "tab" => Key::Tab,
        "backspace" => Key::Backspace,
        "delete" => Key::Delete,
        "space" => Key::Space,
        "arrow_up" => Key::ArrowUp,
        "arrow_down" => Key::ArrowDown,
        "arrow_left" => Key::ArrowLeft,
        "arrow_right" => Key::ArrowRight,
        "page_up" => Key::PageUp,
        "page_down" => Key::PageDown,
        "home" => Key::Home,
        "end" => Key::End,
        _ => {
            if let Some(number) = name.strip_prefix('f').and_then(|rest| rest.parse::<u8>().ok()) {
                return (1..=12).contains(&number).then_some(Key::Function(number));
            }
            let mut characters = name.chars();
            match (characters.next(), characters.next()) {
                (Some(one), None) if one.is_ascii_alphanumeric() => Key::Character(one.to_ascii_lowercase()),
                _ => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(json: &str) -> Arguments {
        serde_json::from_str(json).unwrap()
    }

    #[track_caller]
    fn refused(kind: ActionKind, json: &str, says: &str) {
        let error = Action::parse(kind, &arguments(json)).unwrap_err();
        assert!(error.message.contains(says), "{} does not say {says:?}", error.message);
        assert!(error.message.contains("Right: "), "{}", error.message);
    }

    const S: &str = r#""surface_id":"s12345678""#;
    const E: &str = r#""surface_id":"s12345678","element_id":"e123456""#;

    #[test]
    fn defaults_are_the_contract_s() {
        let tree = Action::parse(ActionKind::AccessibilityTree, &arguments(&format!("{{{S}}}"))).unwrap();
        assert!(matches!(
            tree,
            Action::AccessibilityTree { max_depth: 24, max_nodes: 400, format: TreeFormat::Outline, .. }
        ));
        let find = Action::parse(ActionKind::FindElements, &arguments(&format!("{{{S},\"label\":\"x\"}}"))).unwrap();
        assert!(matches!(find, Action::FindElements { limit: 8, .. }));
    }

    #[test]
    fn wrong_calls_say_what_is_wrong_and_show_the_right_one() {
        use ActionKind as K;
        refused(K::Windows, r#"{"frobnicate":1}"#, "unknown field \"frobnicate\"");
        refused(K::Windows, r#"{"limit":65}"#, "out of bounds, 1 to 64");
        refused(K::Windows, r#"{"limit":"x"}"#, "limit is a string");
        refused(K::AccessibilityTree, "{}", "surface_id is missing");
        refused(K::AccessibilityTree, r#"{"surface_id":"e123456"}"#, "expected a surface_id");
        refused(K::AccessibilityTree, &format!("{{{S},\"max_depth\":0}}"), "out of bounds");
        refused(K::FindElements, &format!("{{{S},\"role\":\"knob\"}}"), "role is not one");
        refused(K::Press, &format!("{{{S}}}"), "element_id is missing");
        refused(K::Press, &format!("{{{E},\"x\":1,\"y\":2}}"), "not both");
        refused(K::Press, &format!("{{{E},\"gesture\":\"double\"}}"), "needs means: targeted_input");
        refused(K::SetValue, &format!("{{{E},\"value\":\"7\"}}"), "input_text");
        refused(K::Scroll, &format!("{{{E},\"direction\":\"down\",\"pages\":1100}}"), "1 to 10");
        refused(K::Scroll, &format!("{{{E},\"direction\":\"down\",\"pages\":0}}"), "1 to 10");
        refused(K::Key, &format!("{{{S},\"key\":\"a\"}}"), "only with control");
        refused(K::Key, &format!("{{{S},\"key\":\"Return; touch x\"}}"), "key is none of");
        refused(K::Key, &format!("{{{S},\"key\":\"f13\"}}"), "key is none of");
        refused(K::InputText, &format!("{{{E},\"text\":\"\"}}"), "only mode replace");
        refused(K::InputText, &format!("{{{E},\"text\":\"a\\u0000b\"}}"), "NUL");
        refused(K::InputText, &format!("{{{E},\"text\":\"{}\"}}", "x".repeat(2_049)), "at most 2048");
        refused(
            K::SnapshotWindow,
            &format!("{{{S},\"region\":{{\"x\":0,\"y\":0,\"width\":0,\"height\":5}}}}"),
            "no pixel",
        );
        refused(K::WaitFor, "{}", "wait for one thing");
        refused(K::WaitFor, &format!("{{{S}}}"), "wait for one thing");
        refused(K::WaitFor, r#"{"window":"x","timeout_ms":30001}"#, "1 to 30000");
    }

    #[test]
    fn an_error_never_repeats_typed_text() {
        let error = Action::parse(ActionKind::InputText, &arguments(&format!("{{{E},\"text\":\"hunter2\\u0000\"}}")))
            .unwrap_err();
        assert!(!error.message.contains("hunter2"));
    }

    #[test]
    fn keys_and_modifiers_read() {
        let key =
            Action::parse(ActionKind::Key, &arguments(&format!("{{{S},\"key\":\"S\",\"modifiers\":[\"control\"]}}")))
                .unwrap();
        assert!(matches!(
            key,
            Action::Key { key: Key::Character('s'), modifiers: Modifiers { control: true, .. }, .. }
        ));
    }
}

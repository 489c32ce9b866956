//! Names on the accessibility bus, and the set of interfaces that an object has.

pub(crate) const ACCESSIBLE: &str = "org.a11y.atspi.Accessible";
pub(crate) const ACTION: &str = "org.a11y.atspi.Action";
pub(crate) const APPLICATION: &str = "org.a11y.atspi.Application";
pub(crate) const CACHE: &str = "org.a11y.atspi.Cache";
pub(crate) const COMPONENT: &str = "org.a11y.atspi.Component";
pub(crate) const EDITABLE_TEXT: &str = "org.a11y.atspi.EditableText";
pub(crate) const SELECTION: &str = "org.a11y.atspi.Selection";
pub(crate) const TABLE: &str = "org.a11y.atspi.Table";
pub(crate) const TEXT: &str = "org.a11y.atspi.Text";
pub(crate) const VALUE: &str = "org.a11y.atspi.Value";
pub(crate) const REGISTRY: &str = "org.a11y.atspi.Registry";
pub(crate) const ROOT: &str = "/org/a11y/atspi/accessible/root";
pub(crate) const CACHE_PATH: &str = "/org/a11y/atspi/cache";
pub(crate) const REGISTRY_PATH: &str = "/org/a11y/atspi/registry";

/// An interface that Deskhand uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Interface {
    Action,
    Component,
    EditableText,
    Selection,
    Table,
    Text,
    Value,
    Application,
    Document,
}

/// The interfaces that an object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Interfaces(u16);

impl Interfaces {
    pub(crate) fn of_names<S: AsRef<str>>(names: &[S]) -> Self {
        names.iter().fold(Self::default(), |set, name| {
            let interface = match name.as_ref().rsplit('.').next().unwrap_or_default() {
                "Action" => Interface::Action,
                "Component" => Interface::Component,
                "EditableText" => Interface::EditableText,
                "Selection" => Interface::Selection,
                "Table" => Interface::Table,
                "Text" => Interface::Text,
                "Value" => Interface::Value,
                "Application" => Interface::Application,
                "Document" => Interface::Document,
                _ => return set,
            };
            Self(set.0 | 1 << interface as u8)
        })
    }

    pub(crate) const fn has(self, interface: Interface) -> bool {
        self.0 & (1 << interface as u8) != 0
    }
}

//! One argument of an action: its name, its kind with bounds, its line of help.

/// An argument.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Wire name.
    pub name: &'static str,
    /// What it takes.
    pub kind: FieldKind,
    /// One line of help.
    pub doc: &'static str,
}

impl Field {
    /// A field.
    #[must_use]
    pub const fn new(name: &'static str, kind: FieldKind, doc: &'static str) -> Self {
        Self { name, kind, doc }
    }
}

/// What an argument takes. Bounds are inclusive; text bounds are bytes of UTF-8.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names say it")]
pub enum FieldKind {
    Surface,
    Element,
    Display,
    Application,
    Client,
    Observation,
    Role,
    Key,
    Text { min: usize, max: usize },
    Integer { min: i64, max: i64 },
    Boolean,
    NumberOrBoolean,
    Choice(&'static [&'static str]),
    Words(&'static [&'static str]),
    Region,
}

/// A field as one action uses it.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// The field.
    pub field: Field,
    /// Whether the action cannot do without.
    pub required: bool,
}

impl Use {
    /// A field that must be given.
    #[must_use]
    pub const fn required(field: Field) -> Self {
        Self { field, required: true }
    }

    /// A field that may be left out.
    #[must_use]
    pub const fn optional(field: Field) -> Self {
        Self { field, required: false }
    }
}

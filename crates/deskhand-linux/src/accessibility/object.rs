//! One accessible object on the bus, and its spelling as a native key.

use std::sync::Arc;

use deskhand_contract::provider::NativeKey;

/// Unique bus name and object path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) bus: Arc<str>,
    pub(crate) path: Arc<str>,
}

impl Object {
    pub(crate) fn new(bus: &str, path: &str) -> Self {
        Self { bus: bus.into(), path: path.into() }
    }

    /// The null reference, which some toolkits put where a child is not there yet.
    pub(crate) fn is_null(&self) -> bool {
        self.bus.is_empty() || &*self.path == "/org/a11y/atspi/null" || self.path.is_empty()
    }

    /// The pair that calls take.
    pub(crate) fn at(&self) -> (&str, &str) {
        (&self.bus, &self.path)
    }

    pub(crate) fn to_native(&self) -> NativeKey {
        let mut bytes = Vec::with_capacity(self.bus.len() + self.path.len() + 1);
        bytes.extend_from_slice(self.bus.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.path.as_bytes());
        NativeKey::new(&bytes)
    }

    pub(crate) fn from_native(key: &NativeKey) -> Option<Self> {
        let text = std::str::from_utf8(key.bytes()).ok()?;
        let (bus, path) = text.split_once('\0')?;
        (!bus.is_empty() && path.starts_with('/')).then(|| Self::new(bus, path))
    }
}

/// An object reference as it travels: bus name and path.
pub(crate) type Reference = (String, zbus::OwnedObjectPath);

/// The object of a reference that came from the application `sender`; a reference with an empty bus name means
/// the sender itself, except for the null path.
pub(crate) fn object(reference: &Reference) -> Object {
    Object::new(&reference.0, reference.1.as_str())
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Object(…)")
    }
}

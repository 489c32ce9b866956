//! What a caller on this machine may do.

use deskhand_contract::scope::{Scope, ScopeSet};

/// The scopes of an agent on this machine: all of them on a private desktop, on which nothing of the
/// user's runs; on the user's own desktop reads and effects on surfaces, until the user gives more.
pub(crate) fn local(private: bool) -> ScopeSet {
    if private { ScopeSet::all() } else { ScopeSet::of(&[Scope::ComputerRead, Scope::ComputerControl]) }
}

#[cfg(test)]
mod tests {
    use deskhand_contract::action::ActionKind;

    use super::*;

    #[test]
    fn the_users_own_desktop_shows_no_whole_display_until_given() {
        assert!(local(true).covers(ActionKind::SnapshotDisplay.scopes()));
        assert!(!local(false).covers(ActionKind::SnapshotDisplay.scopes()));
        assert!(local(false).covers(ActionKind::Press.scopes()));
    }
}

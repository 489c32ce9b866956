//! Which of an element's own actions a press means: by canonical name, never by position. Pure.

use deskhand_contract::role::Role;

/// Names of a main action, best first. Toolkits differ: ATK says `click`, Qt `Press`, Chromium `doDefault`, Firefox `jump`.
const MAIN: &[&str] = &["click", "press", "activate", "jump", "dodefault"];
/// Names that count for elements with a state that a press flips.
const TOGGLE: &[&str] = &["toggle", "check", "uncheck"];
/// Names of the action that opens a context menu.
const MENU: &[&str] = &["showmenu", "show_menu", "show-menu", "showcontextmenu", "menu.popup", "popup-menu"];
/// Names of an action that opens or closes what an element holds.
const EXPAND: &[&str] = &["expand or contract", "expand", "collapse", "expandorcontract"];

/// Index of the action that a press of a `role` means.
pub(crate) fn main_action(role: Role, names: &[String]) -> Option<usize> {
    let main = find(names, MAIN);
    if role.is_checkable() {
        return find(names, TOGGLE).or(main);
    }
    // What a combo box or expander offers is to open; pressing it means that.
    main.or_else(|| {
        matches!(role, Role::Combobox | Role::Button | Role::TreeItem).then(|| find(names, EXPAND)).flatten()
    })
    // So does the title of a menu; Qt calls that ShowMenu.
    .or_else(|| matches!(role, Role::Menu | Role::MenuItem).then(|| find(names, &["open", "showmenu"])).flatten())
}

/// Index of the action that opens the context menu.
pub(crate) fn menu_action(names: &[String]) -> Option<usize> {
    find(names, MENU)
}

fn find(names: &[String], wanted: &[&str]) -> Option<usize> {
    wanted.iter().find_map(|wanted| names.iter().position(|name| name.eq_ignore_ascii_case(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_canonical_name_decides_and_not_the_place() {
        assert_eq!(main_action(Role::Button, &names(&["win.undo", "win.close", "click"])), Some(2));
        assert_eq!(main_action(Role::Button, &names(&["Press", "SetFocus"])), Some(0));
        assert_eq!(main_action(Role::Link, &names(&["jump"])), Some(0));
        assert_eq!(main_action(Role::Button, &names(&["doDefault", "showContextMenu"])), Some(0));
        assert_eq!(main_action(Role::Checkbox, &names(&["press", "toggle"])), Some(1));
        assert_eq!(main_action(Role::Checkbox, &names(&["click"])), Some(0));
        assert_eq!(main_action(Role::MenuItem, &names(&["ShowMenu"])), Some(0));
        assert_eq!(main_action(Role::MenuItem, &names(&["ShowMenu", "Press"])), Some(1));
        assert_eq!(main_action(Role::Button, &names(&["ShowMenu"])), None);
        assert_eq!(main_action(Role::Window, &names(&["win.undo", "win.close"])), None);
        assert_eq!(main_action(Role::Button, &names(&["Klicken"])), None);
        assert_eq!(main_action(Role::Button, &[]), None);
    }

    #[test]
    fn a_context_menu_is_found_by_its_names() {
        assert_eq!(menu_action(&names(&["doDefault", "showContextMenu"])), Some(1));
        assert_eq!(menu_action(&names(&["click"])), None);
    }
}

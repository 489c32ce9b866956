//! AT-SPI role numbers in the common vocabulary. Pure.

use deskhand_contract::role::Role;

/// The role of AT-SPI number `number`. What a role becomes by its states is for [`refined`].
pub(crate) fn role(number: u32) -> Role {
    match number {
        1 => Role::Label, // accelerator label
        2 => Role::Alert,
        3 => Role::Image, // animation
        4 => Role::Image, // arrow
        5 => Role::Calendar,
        6 => Role::Canvas,
        7 => Role::Checkbox,
        8 => Role::MenuItemCheckbox,
        9 => Role::ColorChooser,
        10 => Role::ColumnHeader,
        11 => Role::Combobox,
        12 => Role::Textbox, // date editor
        13 => Role::DesktopIcon,
        14 => Role::Panel,  // desktop frame
        15 => Role::Slider, // dial
        16 => Role::Dialog,
        17 => Role::Panel,    // directory pane
        18 => Role::Canvas,   // drawing area
        19 => Role::Dialog,   // file chooser
        20 => Role::Generic,  // filler
        21 => Role::Generic,  // focus traversable
        22 => Role::Dialog,   // font chooser
        23 => Role::Window,   // frame
        24 => Role::Generic,  // glass pane
        25 => Role::Embedded, // html container
        26 => Role::Image,    // icon
        27 => Role::Image,
        28 => Role::Window, // internal frame
        29 => Role::Label,
        30 => Role::Generic, // layered pane
        31 => Role::List,
        32 => Role::ListItem,
        33 => Role::Menu,
        34 => Role::Menubar,
        35 => Role::MenuItem,
        36 => Role::Generic, // option pane
        37 => Role::Tab,     // page tab
        38 => Role::TabList, // page tab list
        39 => Role::Panel,
        40 => Role::PasswordTextbox,
        41 => Role::Popup, // popup menu, and popovers
        42 => Role::ProgressBar,
        43 => Role::Button, // push button
        44 => Role::Radio,
        45 => Role::MenuItemRadio,
        46 => Role::Generic, // root pane
        47 => Role::RowHeader,
        48 => Role::Scrollbar,
        49 => Role::ScrollPane,
        50 => Role::Separator,
        51 => Role::Slider,
        52 => Role::SpinButton,
        53 => Role::SplitPane,
        54 => Role::Status, // status bar
        55 => Role::Table,
        56 => Role::Cell,
        57 => Role::ColumnHeader, // table column header
        58 => Role::RowHeader,    // table row header
        59 => Role::MenuItem,     // tear off menu item
        60 => Role::Terminal,
        61 => Role::Text, // refined by editability
        62 => Role::ToggleButton,
        63 => Role::Toolbar,
        64 => Role::Tooltip,
        65 => Role::Tree,
        66 => Role::TreeGrid, // tree table
        67 => Role::Unknown,
        68 => Role::Viewport,
        69 => Role::Window,
        71 => Role::Header,
        72 => Role::Footer,
        73 => Role::Paragraph,
        74 => Role::Ruler,
        75 => Role::Application,
        76 => Role::Textbox, // autocomplete
        77 => Role::Textbox, // edit bar
        78 => Role::Embedded,
        79 => Role::Textbox, // entry
        80 => Role::Image,   // chart
        81 => Role::Caption,
        82 => Role::Document, // document frame
        83 => Role::Heading,
        84 => Role::Page,
        85 => Role::Section,
        86 => Role::Generic, // redundant object
        87 => Role::Form,
        88 => Role::Link,
        89 => Role::Generic, // input method window
        90 => Role::Row,     // table row
        91 => Role::TreeItem,
        92 => Role::Document, // spreadsheet
        93 => Role::Document, // presentation
        94 => Role::Document, // text
        95 => Role::Document, // web
        96 => Role::Document, // email
        97 => Role::Comment,
        98 => Role::Listbox,
        99 => Role::Group,    // grouping
        100 => Role::Image,   // image map
        101 => Role::Status,  // notification
        102 => Role::Toolbar, // info bar
        103 => Role::Meter,   // level bar
        104 => Role::TitleBar,
        105 => Role::Blockquote,
        106 => Role::Embedded, // audio
        107 => Role::Video,
        108 => Role::Definition,
        109 => Role::Article,
        110 => Role::Landmark,
        111 => Role::Log,
        112 => Role::Marquee,
        113 => Role::Math,
        114 => Role::Meter, // rating
        115 => Role::Timer,
        116 => Role::Text,       // static: a plain text run
        117 => Role::Math,       // fraction
        118 => Role::Math,       // root
        119 => Role::Generic,    // subscript
        120 => Role::Generic,    // superscript
        121 => Role::List,       // description list
        122 => Role::Term,       // description term
        123 => Role::Definition, // description value
        124 => Role::Note,       // footnote
        125 => Role::Deletion,
        126 => Role::Insertion,
        127 => Role::Mark,
        128 => Role::Generic, // suggestion
        129 => Role::Button,  // push button menu
        130 => Role::Switch,
        _ => Role::Unknown,
    }
}

/// A role that states refine: text that can be edited is a textbox, a checkable menu item a `menuitemcheckbox`.
pub(crate) fn refined(number: u32, editable: bool, checkable: bool) -> Role {
    match number {
        TEXT if editable => Role::Textbox,
        MENU_ITEM if checkable => Role::MenuItemCheckbox,
        _ => role(number),
    }
}

/// AT-SPI's own name of a role number, for `native_role`. Numbers that this build does not know are said as such.
pub(crate) fn native_name(number: u32) -> &'static str {
    NAMES.get(number as usize).copied().unwrap_or("unknown")
}

/// The number of the role `password text`.
pub(crate) const PASSWORD: u32 = 40;
const TEXT: u32 = 61;
const MENU_ITEM: u32 = 35;

const NAMES: &[&str] = &[
    "invalid",
    "accelerator label",
    "alert",
    "animation",
    "arrow",
    "calendar",
    "canvas",
    "check box",
    "check menu item",
    "color chooser",
    "column header",
    "combo box",
    "date editor",
    "desktop icon",
    "desktop frame",
    "dial",
    "dialog",
    "directory pane",
    "drawing area",
    "file chooser",
    "filler",
    "focus traversable",
    "font chooser",
    "frame",
    "glass pane",
    "html container",
    "icon",
    "image",
    "internal frame",
    "label",
    "layered pane",
    "list",
    "list item",
    "menu",
    "menu bar",
    "menu item",
    "option pane",
    "page tab",
    "page tab list",
    "panel",
    "password text",
    "popup menu",
    "progress bar",
    "push button",
    "radio button",
    "radio menu item",
    "root pane",
    "row header",
    "scroll bar",
    "scroll pane",
    "separator",
    "slider",
    "spin button",
    "split pane",
    "status bar",
    "table",
    "table cell",
    "table column header",
    "table row header",
    "tear off menu item",
    "terminal",
    "text",
    "toggle button",
    "tool bar",
    "tool tip",
    "tree",
    "tree table",
    "unknown",
    "viewport",
    "window",
    "extended",
    "header",
    "footer",
    "paragraph",
    "ruler",
    "application",
    "autocomplete",
    "editbar",
    "embedded",
    "entry",
    "chart",
    "caption",
    "document frame",
    "heading",
    "page",
    "section",
    "redundant object",
    "form",
    "link",
    "input method window",
    "table row",
    "tree item",
    "document spreadsheet",
    "document presentation",
    "document text",
    "document web",
    "document email",
    "comment",
    "list box",
    "grouping",
    "image map",
    "notification",
    "info bar",
    "level bar",
    "title bar",
    "block quote",
    "audio",
    "video",
    "definition",
    "article",
    "landmark",
    "log",
    "marquee",
    "math",
    "rating",
    "timer",
    "static",
    "math fraction",
    "math root",
    "subscript",
    "superscript",
    "description list",
    "description term",
    "description value",
    "footnote",
    "content deletion",
    "content insertion",
    "mark",
    "suggestion",
    "push button menu",
    "switch",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_that_agents_meet_most() {
        let table = [
            (43, Role::Button),
            (7, Role::Checkbox),
            (44, Role::Radio),
            (11, Role::Combobox),
            (79, Role::Textbox),
            (40, Role::PasswordTextbox),
            (35, Role::MenuItem),
            (33, Role::Menu),
            (34, Role::Menubar),
            (37, Role::Tab),
            (38, Role::TabList),
            (51, Role::Slider),
            (52, Role::SpinButton),
            (88, Role::Link),
            (23, Role::Window),
            (16, Role::Dialog),
            (62, Role::ToggleButton),
            (83, Role::Heading),
            (95, Role::Document),
            (60, Role::Terminal),
        ];
        for (number, expected) in table {
            assert_eq!(role(number), expected, "{}", native_name(number));
        }
        assert_eq!(refined(61, true, false), Role::Textbox);
        assert_eq!(refined(61, false, false), Role::Text);
        assert_eq!(refined(8, false, true), Role::MenuItemCheckbox);
        assert_eq!(role(9_999), Role::Unknown);
    }

    #[test]
    fn names_stand_at_their_numbers() {
        for (number, name) in [
            (16, "dialog"),
            (43, "push button"),
            (61, "text"),
            (79, "entry"),
            (95, "document web"),
            (116, "static"),
            (129, "push button menu"),
            (130, "switch"),
        ] {
            assert_eq!(native_name(number), name);
        }
    }
}

//! One vocabulary of roles on all platforms: ARIA's names where ARIA has one.

use std::fmt;

macro_rules! roles {
    ($($variant:ident => $wire:literal,)+) => {
        /// What an element is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each variant is the ARIA role (or its plain extension) of its wire name")]
        pub enum Role { $($variant,)+ }

        impl Role {
            /// Every role.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The wire name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $wire,)+ }
            }

            /// The role of that wire name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($wire => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

roles! {
    Alert => "alert", AlertDialog => "alertdialog", Application => "application", Article => "article",
    Banner => "banner", Blockquote => "blockquote", Button => "button", Calendar => "calendar", Canvas => "canvas",
    Caption => "caption", Cell => "cell", Checkbox => "checkbox", Code => "code", ColorChooser => "colorchooser",
    ColumnHeader => "columnheader", Combobox => "combobox", Comment => "comment",
    ContentInfo => "contentinfo", Definition => "definition", Deletion => "deletion", DesktopIcon => "desktopicon",
    Dialog => "dialog", Document => "document", Embedded => "embedded", Figure => "figure", Footer => "footer",
    Form => "form", Generic => "generic", Grid => "grid", GridCell => "gridcell", Group => "group", Header => "header",
    Heading => "heading", Image => "image", Insertion => "insertion", Label => "label", Landmark => "landmark",
    Link => "link", List => "list", Listbox => "listbox", ListItem => "listitem", Log => "log", Main => "main",
    Mark => "mark", Marquee => "marquee", Math => "math", Menu => "menu", Menubar => "menubar",
    MenuItem => "menuitem", MenuItemCheckbox => "menuitemcheckbox", MenuItemRadio => "menuitemradio",
    Meter => "meter", Navigation => "navigation", Note => "note", Option => "option", Page => "page", Panel => "panel",
    Paragraph => "paragraph", PasswordTextbox => "passwordtextbox", Popup => "popup",
    ProgressBar => "progressbar", Radio => "radio", RadioGroup => "radiogroup", Region => "region", Row => "row",
    RowGroup => "rowgroup", RowHeader => "rowheader", Ruler => "ruler", Scrollbar => "scrollbar",
    ScrollPane => "scrollpane", Search => "search", Searchbox => "searchbox", Section => "section",
    Separator => "separator", Slider => "slider", SpinButton => "spinbutton", SplitPane => "splitpane",
    Status => "status", Switch => "switch", Tab => "tab", Table => "table", TabList => "tablist",
    TabPanel => "tabpanel", Term => "term", Terminal => "terminal", Text => "text", Textbox => "textbox", Time => "time",
    Timer => "timer", TitleBar => "titlebar", ToggleButton => "togglebutton", Toolbar => "toolbar",
    Tooltip => "tooltip", Tree => "tree", TreeGrid => "treegrid", TreeItem => "treeitem", Unknown => "unknown",
    Video => "video", Viewport => "viewport", Window => "window",
}

impl Role {
    /// Whether elements of this role hold a two- or three-valued state that `set_value` with a boolean
    /// and a pressed `toggle` change.
    #[must_use]
    pub const fn is_checkable(self) -> bool {
        matches!(
            self,
            Self::Checkbox
                | Self::Switch
                | Self::ToggleButton
                | Self::MenuItemCheckbox
                | Self::MenuItemRadio
                | Self::Radio
        )
    }

    /// Whether elements of this role are something that a person operates, whatever the platform
    /// says of their actions.
    #[must_use]
    pub const fn is_interactive(self) -> bool {
        matches!(
            self,
            Self::Button
                | Self::Checkbox
                | Self::Combobox
                | Self::GridCell
                | Self::Link
                | Self::MenuItem
                | Self::MenuItemCheckbox
                | Self::MenuItemRadio
                | Self::Option
                | Self::PasswordTextbox
                | Self::Radio
                | Self::Searchbox
                | Self::Slider
                | Self::SpinButton
                | Self::Switch
                | Self::Tab
                | Self::Textbox
                | Self::ToggleButton
                | Self::TreeItem
        )
    }

    /// Whether the role only arranges others and means nothing by itself when unnamed.
    #[must_use]
    pub const fn is_structural(self) -> bool {
        matches!(
            self,
            Self::Generic
                | Self::Group
                | Self::Panel
                | Self::Section
                | Self::ScrollPane
                | Self::Viewport
                | Self::SplitPane
                | Self::Unknown
                | Self::RowGroup
                | Self::Separator
                | Self::Ruler
                | Self::Embedded
        )
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl serde::Serialize for Role {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for Role {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| serde::de::Error::custom("not a role"))
    }
}

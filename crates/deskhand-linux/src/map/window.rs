//! What X11 properties of a window mean: its kind, and its texts in any encoding. Pure.

/// What a window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WindowKind {
    /// An application's main or further window.
    Normal,
    /// A dialog.
    Dialog,
    /// A tool palette or detached tool bar.
    Utility,
    /// A menu, combo list or other short-lived popup.
    Popup,
    /// A tooltip.
    Tooltip,
    /// A notification.
    Notification,
    /// A start-up picture.
    Splash,
    /// A panel.
    Dock,
    /// The desktop background.
    Desktop,
}

/// The window types of EWMH, in the words of its atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeclaredType {
    Normal,
    Dialog,
    Utility,
    Toolbar,
    Splash,
    Menu,
    DropdownMenu,
    PopupMenu,
    Combo,
    Tooltip,
    Notification,
    Dnd,
    Dock,
    Desktop,
}

/// The kind of a window from the first type that it declares, else as EWMH infers it.
pub(crate) fn kind(declared: Option<DeclaredType>, override_redirect: bool, transient: bool) -> WindowKind {
    match declared {
        Some(DeclaredType::Normal) if override_redirect => WindowKind::Popup,
        Some(DeclaredType::Normal) => WindowKind::Normal,
        Some(DeclaredType::Dialog) => WindowKind::Dialog,
        Some(DeclaredType::Utility | DeclaredType::Toolbar) => WindowKind::Utility,
        Some(DeclaredType::Splash) => WindowKind::Splash,
        Some(DeclaredType::Menu) if !override_redirect => WindowKind::Utility,
        Some(
            DeclaredType::Menu
            | DeclaredType::DropdownMenu
            | DeclaredType::PopupMenu
            | DeclaredType::Combo
            | DeclaredType::Dnd,
        ) => WindowKind::Popup,
        Some(DeclaredType::Tooltip) => WindowKind::Tooltip,
        Some(DeclaredType::Notification) => WindowKind::Notification,
        Some(DeclaredType::Dock) => WindowKind::Dock,
        Some(DeclaredType::Desktop) => WindowKind::Desktop,
        None if override_redirect => WindowKind::Popup,
        None if transient => WindowKind::Dialog,
        None => WindowKind::Normal,
    }
}

/// How the bytes of a text property are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    /// UTF-8.
    Utf8,
    /// `STRING`: ISO 8859-1.
    Latin1,
    /// `COMPOUND_TEXT`: ISO 2022 with the X Consortium's extensions.
    Compound,
}

/// Longest title, class or machine name that is kept, in characters.
pub(crate) const MAX_TEXT: usize = 512;

/// The text of a property as one line of at most [`MAX_TEXT`] characters. Bytes that are no text become U+FFFD;
/// a NUL ends it.
pub(crate) fn text(bytes: &[u8], encoding: TextEncoding) -> String {
    let whole = match encoding {
        TextEncoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        // Some clients put UTF-8 into STRING. Valid UTF-8 with a multi-byte character is next to never Latin-1.
        TextEncoding::Latin1 => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        },
        TextEncoding::Compound => compound(bytes),
    };
    let end = whole.find('\0').unwrap_or(whole.len());
    whole[..end].chars().take(MAX_TEXT).collect()
}

/// The parts of compound text that need no tables: ASCII, ISO 8859-1 and UTF-8 segments. Characters of another
/// set become U+FFFD, one for each byte pair or byte.
fn compound(bytes: &[u8]) -> String {
    const ESC: u8 = 0x1b;
    let mut text = String::new();
    let mut left = Set::Ascii;
    let mut right = Set::Latin1;
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == ESC {
            if let Some(utf8) = rest.strip_prefix(b"\x1b%G") {
                let end = find(utf8, b"\x1b%@").unwrap_or(utf8.len());
                text.push_str(&String::from_utf8_lossy(&utf8[..end]));
                rest = utf8.get(end + 3..).unwrap_or_default();
                continue;
            }
            if let Some(extended) = rest.strip_prefix(b"\x1b%/") {
                // An extended segment: ESC % / F M L, then ((M - 128) * 128 + (L - 128)) bytes.
                let len = match extended {
                    [_, high, low, ..] => usize::from(high & 0x7f) * 128 + usize::from(low & 0x7f),
                    _ => 0,
                };
                text.push(char::REPLACEMENT_CHARACTER);
                rest = extended.get(3 + len..).unwrap_or_default();
                continue;
            }
            rest = designate(rest, &mut left, &mut right);
            continue;
        }
        let set = if byte < 0x80 { left } else { right };
        rest = after;
        match set {
            _ if byte <= 0x20 => text.push(char::from(byte)),
            Set::Ascii => text.push(char::from(byte & 0x7f)),
            Set::Latin1 => text.push(char::from(byte | 0x80)),
            Set::Other(width) => {
                text.push(char::REPLACEMENT_CHARACTER);
                rest = rest.get(width - 1..).unwrap_or_default();
            }
        }
    }
    text
}

#[derive(Clone, Copy)]
enum Set {
    Ascii,
    Latin1,
    Other(usize),
}

/// Reads one designating escape sequence and returns what follows it.
fn designate<'a>(bytes: &'a [u8], left: &mut Set, right: &mut Set) -> &'a [u8] {
    let intermediates = bytes[1..].iter().take_while(|byte| (0x20..0x30).contains(*byte)).count();
    let intermediate = &bytes[1..=intermediates];
    let last = bytes.get(1 + intermediates).copied();
    let width = if intermediate.first() == Some(&b'$') { 2 } else { 1 };
    let set = match (width, last) {
        (1, Some(b'B')) => Set::Ascii,
        (1, Some(b'A')) if matches!(intermediate, [b'-' | b'.' | b'/']) => Set::Latin1,
        _ => Set::Other(width),
    };
    match intermediate.last() {
        Some(b'(') => *left = set,
        Some(b')' | b'-') => *right = set,
        _ => {}
    }
    bytes.get(2 + intermediates..).unwrap_or_default()
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (declared, override_redirect, transient, expected) in [
            (None, false, false, WindowKind::Normal),
            (None, false, true, WindowKind::Dialog),
            (None, true, false, WindowKind::Popup),
            (None, true, true, WindowKind::Popup),
            (Some(DeclaredType::Normal), false, true, WindowKind::Normal),
            (Some(DeclaredType::Normal), true, false, WindowKind::Popup),
            (Some(DeclaredType::Combo), true, true, WindowKind::Popup),
            (Some(DeclaredType::Menu), false, false, WindowKind::Utility),
            (Some(DeclaredType::Tooltip), true, false, WindowKind::Tooltip),
        ] {
            assert_eq!(kind(declared, override_redirect, transient), expected, "{declared:?}");
        }
    }

    #[test]
    fn texts_of_every_encoding() {
        for (bytes, encoding, expected) in [
            (&b"plain"[..], TextEncoding::Utf8, "plain"),
            ("h\u{e9}llo \u{4e16}".as_bytes(), TextEncoding::Utf8, "h\u{e9}llo \u{4e16}"),
            (b"bad \xff", TextEncoding::Utf8, "bad \u{fffd}"),
            (b"caf\xe9", TextEncoding::Latin1, "caf\u{e9}"),
            ("caf\u{e9}".as_bytes(), TextEncoding::Latin1, "caf\u{e9}"),
            (b"caf\xe9", TextEncoding::Compound, "caf\u{e9}"),
            (b"a\x1b%G\xe4\xb8\x96\x1b%@b", TextEncoding::Compound, "a\u{4e16}b"),
            (b"\x1b$(B@$3&\x1b(B ok", TextEncoding::Compound, "\u{fffd}\u{fffd} ok"),
            (b"\x1b%/1\x80\x83abcz", TextEncoding::Compound, "\u{fffd}z"),
            (b"\x1b", TextEncoding::Compound, ""),
            (b"\x1b%/", TextEncoding::Compound, "\u{fffd}"),
            (b"two\0parts", TextEncoding::Utf8, "two"),
        ] {
            assert_eq!(text(bytes, encoding), expected, "{bytes:?} as {encoding:?}");
        }
        assert_eq!(text("\u{e9}".repeat(9_000).as_bytes(), TextEncoding::Utf8).chars().count(), MAX_TEXT);
    }
}

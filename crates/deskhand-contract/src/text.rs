//! Text that came from a window or a page, made safe to show on one line.

/// Escapes `text` for one line of an outline or a message and caps it at `max` characters.
///
/// Control, bidirectional, zero-width and line-separator characters and the escape character become
/// `\u{…}`, quotes and backslashes are escaped, so that no title can end its line, forge an id or a
/// tag, or reorder what a person reads. A cut text ends in `…`.
#[must_use]
pub fn escape(text: &str, max: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(max.saturating_mul(4)) + 2);
    for (count, character) in text.chars().enumerate() {
        if count == max {
            shown.push('…');
            break;
        }
        match character {
            '"' => shown.push_str("\\\""),
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            other if unsafe_to_show(other) => {
                shown.push_str(&format!("\\u{{{:x}}}", u32::from(other)));
            }
            other => shown.push(other),
        }
    }
    shown
}

/// Whether a character could end a line, hide itself or reorder its neighbours.
fn unsafe_to_show(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_end_the_line_or_forge_a_tag() {
        assert_eq!(escape("a\nb\"c\\d", 99), "a\\nb\\\"c\\\\d");
        assert_eq!(escape("x\u{202e}y\u{2028}z\u{1b}[0m", 99), "x\\u{202e}y\\u{2028}z\\u{1b}[0m");
        assert_eq!(escape("\u{e0041}", 99), "\\u{e0041}");
        assert_eq!(escape("Grüße 東京", 99), "Grüße 東京");
    }

    #[test]
    fn the_cap_counts_characters_and_shows_the_cut() {
        assert_eq!(escape("äöü", 2), "äö…");
        assert_eq!(escape("äö", 2), "äö");
    }
}

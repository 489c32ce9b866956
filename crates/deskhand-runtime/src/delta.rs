//! What changed between two observations of one surface. Pure.

use std::collections::HashMap;

use deskhand_contract::provider::NativeKey;
use deskhand_contract::reply::Delta;

/// A line as it was shown, with the native thing that it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) key: NativeKey,
    pub(crate) text: String,
}

/// The difference from `before` to `after`, at most `max` lines: removed ones in their old order, then added and
/// changed ones in document order.
pub(crate) fn between(since: u64, before: &[Seen], after: &[Seen], max: usize) -> Delta {
    let old: HashMap<&NativeKey, &str> = before.iter().map(|line| (&line.key, line.text.as_str())).collect();
    let new: HashMap<&NativeKey, &str> = after.iter().map(|line| (&line.key, line.text.as_str())).collect();
    let mut delta = Delta { since, ..Delta::default() };
    let say = |delta: &mut Delta, sign: char, text: &str| {
        if delta.lines.len() < max {
            delta.lines.push(format!("{sign} {text}"));
        } else {
            delta.truncated = true;
        }
    };
    for line in before.iter().filter(|line| !new.contains_key(&line.key)) {
        delta.removed += 1;
        say(&mut delta, '-', &line.text);
    }
    for line in after {
        match old.get(&line.key) {
            None => {
                delta.added += 1;
                say(&mut delta, '+', &line.text);
            }
            Some(text) if *text != line.text => {
                delta.changed += 1;
                say(&mut delta, '~', &line.text);
            }
            Some(_) => {}
        }
    }
    delta
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(lines: &[(u8, &str)]) -> Vec<Seen> {
        lines.iter().map(|(key, text)| Seen { key: NativeKey::new(&[*key]), text: (*text).to_owned() }).collect()
    }

    #[test]
    fn added_removed_and_changed_are_told_apart() {
        let before = seen(&[(1, "a"), (2, "b"), (3, "c")]);
        let after = seen(&[(1, "a"), (3, "c!"), (4, "d")]);
        let delta = between(7, &before, &after, 40);
        assert_eq!(delta.lines, ["- b", "~ c!", "+ d"]);
        assert_eq!((delta.since, delta.added, delta.removed, delta.changed, delta.truncated), (7, 1, 1, 1, false));
    }

    #[test]
    fn the_bound_on_lines_is_kept_and_said() {
        let after: Vec<Seen> = (0..100).flat_map(|key| seen(&[(key, "x")])).collect();
        let delta = between(1, &[], &after, 40);
        assert_eq!((delta.lines.len(), delta.added, delta.truncated), (40, 100, true));
    }

    #[test]
    fn moving_a_line_changes_nothing() {
        let before = seen(&[(1, "a"), (2, "b")]);
        let after = seen(&[(2, "b"), (1, "a")]);
        assert_eq!(between(1, &before, &after, 40).lines, Vec::<String>::new());
    }
}

//! One desktop entry file, by the Desktop Entry Specification 1.5. Pure: text in, an [`Entry`] or a reason out.

/// Longest file that is read, in bytes. Real ones are a few kilobytes, most of it translations.
pub(crate) const MAX_BYTES: usize = 256 << 10;
/// Most words of a command line.
const MAX_WORDS: usize = 64;
/// Longest name that is shown, in characters.
const MAX_NAME: usize = 200;

/// An application that can be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name in the user's language, as far as the file has it.
    pub(crate) name: String,
    /// The command line, field codes already taken out. Never empty.
    pub(crate) command: Vec<String>,
    /// The folder to start it in.
    pub(crate) folder: Option<String>,
    /// Whether it must run in a terminal.
    pub(crate) terminal: bool,
    /// An executable that must exist for the entry to count.
    pub(crate) try_exec: Option<String>,
}

/// Why a file offers no application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotOffered {
    /// Not an application, or without a name or command, or not readable as an entry.
    NotAnApplication,
    /// Deleted by the user (`Hidden`). It shadows an entry of the same id further down.
    Hidden,
    /// Not meant for menus (`NoDisplay`), or for another desktop (`OnlyShowIn`, `NotShowIn`).
    NotShown,
    /// Its command line breaks the quoting rules.
    BrokenCommand,
}

/// Reads `text`, for a user whose language is `locale` (as `de_DE.UTF-8`) on the desktops `desktops`
/// (as `XDG_CURRENT_DESKTOP` lists them). `path` is what the field code `%k` stands for.
///
/// # Errors
/// Says why the file offers no application.
pub(crate) fn read(text: &str, locale: &str, desktops: &[&str], path: &str) -> Result<Entry, NotOffered> {
    let keys = Keys::of(text);
    if keys.get("Type") != Some("Application") {
        return Err(NotOffered::NotAnApplication);
    }
    if keys.truth("Hidden") {
        return Err(NotOffered::Hidden);
    }
    let listed =
        |key: &str| keys.get(key).map(|list| split_list(list).iter().any(|name| desktops.contains(&name.as_str())));
    if keys.truth("NoDisplay") || listed("OnlyShowIn") == Some(false) || listed("NotShowIn") == Some(true) {
        return Err(NotOffered::NotShown);
    }
    let name = unescape(keys.localised("Name", locale).ok_or(NotOffered::NotAnApplication)?);
    let line = unescape(keys.get("Exec").ok_or(NotOffered::NotAnApplication)?);
    let command = command(&line, &name, path).ok_or(NotOffered::BrokenCommand)?;
    Ok(Entry {
        name: name.chars().take(MAX_NAME).collect(),
        command,
        folder: keys.get("Path").map(unescape).filter(|folder| !folder.is_empty()),
        terminal: keys.truth("Terminal"),
        try_exec: keys.get("TryExec").map(unescape).filter(|program| !program.is_empty()),
    })
}

/// The keys of the group `[Desktop Entry]`, first occurrence first.
struct Keys<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Keys<'a> {
    fn of(text: &'a str) -> Self {
        let mut keys = Vec::new();
        let mut inside = false;
        for line in text.lines() {
            let line = line.trim();
            if line.starts_with('[') {
                // Only one group counts; a second one of that name is invalid and is not looked for.
                if inside {
                    break;
                }
                inside = line == "[Desktop Entry]";
            } else if inside
                && !line.starts_with('#')
                && let Some((key, value)) = line.split_once('=')
            {
                keys.push((key.trim_end(), value.trim_start()));
            }
        }
        Self(keys)
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn truth(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    /// The best translation: `lang_COUNTRY@MODIFIER`, `lang_COUNTRY`, `lang@MODIFIER`, `lang`, then none.
    fn localised(&self, key: &str, locale: &str) -> Option<&'a str> {
        let (locale, modifier) = match locale.split_once('@') {
            Some((rest, modifier)) => (rest, Some(modifier)),
            None => (locale, None),
        };
        let locale = locale.split('.').next().unwrap_or_default();
        let (language, country) = match locale.split_once('_') {
            Some((language, country)) => (language, Some(country)),
            None => (locale, None),
        };
        let mut candidates = Vec::new();
        if let (Some(country), Some(modifier)) = (country, modifier) {
            candidates.push(format!("{key}[{language}_{country}@{modifier}]"));
        }
        if let Some(country) = country {
            candidates.push(format!("{key}[{language}_{country}]"));
        }
        if let Some(modifier) = modifier {
            candidates.push(format!("{key}[{language}@{modifier}]"));
        }
        candidates.push(format!("{key}[{language}]"));
        candidates.iter().find_map(|candidate| self.get(candidate)).or_else(|| self.get(key))
    }
}

/// The escapes of string values: `\s \n \t \r \\`. Any other stays as it is.
fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('s') => text.push(' '),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\\') => text.push('\\'),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

/// A list value: items end in `;`, and `\;` is a semicolon.
fn split_list(value: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut escaped = false;
    for character in value.chars() {
        match (character, escaped) {
            ('\\', false) => escaped = true,
            (';', false) => items.push(String::new()),
            (other, _) => {
                items.last_mut().expect("there is always one").push(other);
                escaped = false;
            }
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

/// The command line as words, without a shell: quoting by double quotes, field codes for files and
/// addresses taken out (nothing is opened), `%c` the name, `%k` the file, `%%` a percent sign.
fn command(line: &str, name: &str, path: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut characters = line.chars().peekable();
    loop {
        while characters.next_if(|character| matches!(character, ' ' | '\t' | '\n')).is_some() {}
        let Some(&first) = characters.peek() else { break };
        let mut word = String::new();
        // A word that was only a field code for absent files does not become an empty argument.
        let mut stands = false;
        if first == '"' {
            characters.next();
            stands = true;
            loop {
                match characters.next()? {
                    '"' => break,
                    '\\' => match characters.next()? {
                        escaped @ ('"' | '`' | '$' | '\\') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    other => word.push(other),
                }
            }
        } else {
            while let Some(character) = characters.next_if(|character| !matches!(character, ' ' | '\t' | '\n')) {
                if character != '%' {
                    word.push(character);
                    stands = true;
                    continue;
                }
                match characters.next()? {
                    '%' => word.push('%'),
                    'c' => word.push_str(name),
                    'k' => word.push_str(path),
                    // Files, addresses, the icon and the deprecated codes stand for nothing here.
                    'f' | 'F' | 'u' | 'U' | 'i' | 'd' | 'D' | 'n' | 'N' | 'v' | 'm' => continue,
                    // An unknown code makes the line invalid by the specification.
                    _ => return None,
                }
                stands = true;
            }
        }
        if stands {
            words.push(word);
        }
        if words.len() > MAX_WORDS {
            return None;
        }
    }
    let program = words.first()?;
    // A program name with an equals sign or a NUL cannot be started; it is refused here, not at the launch.
    (!program.is_empty() && !program.contains('=') && !words.iter().any(|word| word.contains('\0'))).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(body: &str) -> Result<Entry, NotOffered> {
        read(
            &format!("[Desktop Entry]\nType=Application\nName=App\n{body}"),
            "de_DE.UTF-8",
            &["GNOME"],
            "/x/app.desktop",
        )
    }

    fn words(exec: &str) -> Option<Vec<String>> {
        entry(&format!("Exec={exec}")).ok().map(|entry| entry.command)
    }

    #[test]
    fn command_lines_split_without_a_shell() {
        assert_eq!(words("app"), Some(vec!["app".into()]));
        assert_eq!(words("app %U --new-window"), Some(vec!["app".into(), "--new-window".into()]));
        assert_eq!(words("app \"a b\" \"c\\\\\"d\""), Some(vec!["app".into(), "a b".into(), "c\"d".into()]));
        assert_eq!(
            words("app 100%% %c %k"),
            Some(vec!["app".into(), "100%".into(), "App".into(), "/x/app.desktop".into()])
        );
        assert_eq!(words("app $(touch x); rm"), Some(vec!["app".into(), "$(touch".into(), "x);".into(), "rm".into()]));
        assert_eq!(words("app --file=%f"), Some(vec!["app".into(), "--file=".into()]));
        for broken in ["", "   ", "%f", "app \"open", "app %q", "app %", "A=b app"] {
            assert_eq!(words(broken), None, "{broken:?}");
        }
        assert_eq!(words(&"x ".repeat(70)), None);
    }

    #[test]
    fn the_best_translation_is_taken() {
        let text = "[Desktop Entry]\nType=Application\nExec=x\nName=Calculator\nName[de]=Rechner\nName[pt_BR]=Calculadora BR\nName[sr@latin]=Kalk";
        let name = |locale| read(text, locale, &[], "").unwrap().name;
        assert_eq!(name("de_AT.UTF-8"), "Rechner");
        assert_eq!(name("pt_BR"), "Calculadora BR");
        assert_eq!(name("pt_PT"), "Calculator");
        assert_eq!(name("sr_RS@latin"), "Kalk");
        assert_eq!(name("C"), "Calculator");
        assert_eq!(name(""), "Calculator");
    }

    #[test]
    fn what_is_not_offered_says_why() {
        assert_eq!(entry("Exec=x\nHidden=true"), Err(NotOffered::Hidden));
        assert_eq!(entry("Exec=x\nNoDisplay=true"), Err(NotOffered::NotShown));
        assert_eq!(entry("Exec=x\nOnlyShowIn=KDE;XFCE;"), Err(NotOffered::NotShown));
        assert!(entry("Exec=x\nOnlyShowIn=KDE;GNOME;").is_ok());
        assert_eq!(entry("Exec=x\nNotShowIn=GNOME;"), Err(NotOffered::NotShown));
        assert_eq!(entry("DBusActivatable=true"), Err(NotOffered::NotAnApplication));
        assert_eq!(read("[Desktop Entry]\nType=Link\nName=x\nExec=x", "", &[], ""), Err(NotOffered::NotAnApplication));
        assert_eq!(read("", "", &[], ""), Err(NotOffered::NotAnApplication));
    }

    #[test]
    fn only_the_main_group_counts() {
        let entry =
            entry("Exec=main\nTerminal=true\nPath=/srv\n[Desktop Action New]\nExec=other\nTerminal=false").unwrap();
        assert_eq!(entry.command, ["main"]);
        assert!(entry.terminal);
        assert_eq!(entry.folder.as_deref(), Some("/srv"));
    }
}

//! The shape of the repository: what ARCHITECTURE.md and CONTRIBUTING.md say of it is true.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which crate of the workspace may see which; `dev` where only its tests may.
const EDGES: &[(&str, &str, &str)] = &[
    ("deskhand", "deskhand-contract", ""),
    ("deskhand", "deskhand-linux", ""),
    ("deskhand", "deskhand-runtime", ""),
    ("deskhand", "deskhand-testkit", "dev"),
    ("deskhand-linux", "deskhand-contract", ""),
    ("deskhand-runtime", "deskhand-contract", ""),
    ("deskhand-runtime", "deskhand-testkit", "dev"),
    ("deskhand-testkit", "deskhand-contract", ""),
];

/// Crates from outside that say what their user knows, and the only crates that may know it.
const KNOWLEDGE: &[(&str, &[&str])] = &[
    ("clap", &["deskhand"]),
    ("rmcp", &["deskhand"]),
    ("rustix", &["deskhand", "deskhand-linux"]),
    ("tokio", &["deskhand", "deskhand-linux"]),
    ("x11rb", &["deskhand-linux"]),
    ("zbus", &["deskhand-linux"]),
];

#[test]
fn crates_see_only_what_the_table_allows() {
    let mut allowed: BTreeSet<_> =
        EDGES.iter().map(|(from, to, kind)| ((*from).to_owned(), (*to).to_owned(), (*kind).to_owned())).collect();
    let mut known = BTreeSet::new();
    for package in packages() {
        let name = text(&package["name"]);
        for dependency in package["dependencies"].as_array().expect("an array") {
            let (to, kind) = (text(&dependency["name"]), dependency["kind"].as_str().unwrap_or_default().to_owned());
            if to.starts_with("deskhand") {
                let edge = (name.clone(), to, kind);
                assert!(allowed.remove(&edge) || seen_before(&edge), "an edge that the table does not allow: {edge:?}");
            } else if let Some((_, knowers)) = KNOWLEDGE.iter().find(|(what, _)| *what == to)
                && kind.is_empty()
            {
                assert!(knowers.contains(&name.as_str()), "{name} must not know {to}");
                known.insert((to, name.clone()));
            }
        }
    }
    assert!(allowed.is_empty(), "the table allows edges that no longer exist: {allowed:?}");
    for (what, knowers) in KNOWLEDGE {
        for knower in *knowers {
            assert!(
                known.contains(&((*what).into(), (*knower).into())),
                "{knower} no longer uses {what}: mend the table"
            );
        }
    }
}

/// A crate may name one dependency twice, for two targets.
fn seen_before(edge: &(String, String, String)) -> bool {
    EDGES.iter().any(|(from, to, kind)| (*from, *to, *kind) == (&edge.0, &edge.1, &edge.2))
}

#[test]
fn every_path_of_the_find_it_table_exists() {
    let architecture = read("ARCHITECTURE.md");
    let (_, table) = architecture.split_once("## Found in two steps").expect("ARCHITECTURE.md has the find-it table");
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(rows.len() >= 10, "the table has only {} rows", rows.len());
    for row in rows {
        let answer = row.split('|').nth(2).expect("a second column");
        for path in answer.split('`').skip(1).step_by(2) {
            assert!(root().join("crates").join(path).is_file(), "there is no crates/{path}: {row}");
        }
    }
}

#[test]
fn only_the_seams_ask_for_the_operating_system() {
    let allowed = |path: &str| path.ends_with("/src/providers.rs") || path.ends_with("/src/lib.rs");
    for (path, source) in sources() {
        if !allowed(&path) {
            assert!(!source.contains(concat!("target", "_os")), "{path} asks for the operating system");
        }
    }
}

#[test]
fn only_sys_is_unsafe() {
    let starts = [" {", " fn", " impl", " extern", " trait"].map(|next| format!("{}{next}", concat!("un", "safe")));
    for (path, source) in sources() {
        let is_native = path.contains("/sys/");
        for line in source.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let is_unsafe = starts.iter().any(|start| line.contains(start.as_str()));
            assert!(is_native || !is_unsafe, "{path} is not under sys/: {line}");
        }
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    for (path, text) in tracked(&["rs", "py", "sh", "toml"]) {
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{path} has {lines} lines; look for the seam inside");
    }
}

#[test]
fn every_source_file_says_what_it_owns_and_is_named_by_it() {
    for (path, source) in sources().into_iter().filter(|(path, _)| path.contains("/src/")) {
        assert!(source.starts_with("//!"), "{path} does not begin with what it owns");
        let name = Path::new(&path).file_stem().expect("a name").to_string_lossy().into_owned();
        for word in ["util", "helper", "manager", "handler", "common", "misc"] {
            assert!(!name.contains(word), "{path} is named after nothing: use a word of docs/glossary.md");
        }
    }
}

#[test]
fn an_ignored_test_says_why() {
    for (path, source) in sources() {
        assert!(!source.contains(concat!("#[", "ignore]")), "{path}: write #[ignore = \"…\"]");
    }
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let here = root().display().to_string();
    for (path, text) in tracked(&["rs", "py", "sh", "toml", "md", "html", "snap", "json", ""]) {
        for (number, line) in text.lines().enumerate() {
            for place in [here.as_str(), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")] {
                assert!(!line.contains(place), "{path}:{}: names {place}", number + 1);
            }
        }
    }
}

#[test]
fn relative_links_lead_somewhere() {
    let mut followed = 0;
    for (path, text) in tracked(&["md"]) {
        let folder = root().join(&path).parent().expect("a folder").to_path_buf();
        for target in links(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let there = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            assert!(there.exists(), "{path}: the link to {target} leads nowhere");
            if !anchor.is_empty() {
                let headings = fs::read_to_string(&there).expect("a text");
                assert!(
                    headings.lines().any(|line| slug(line) == Some(anchor.to_owned())),
                    "{path}: no heading {target}"
                );
            }
            followed += 1;
        }
    }
    assert!(followed > 10, "only {followed} links were found: the search is broken");
}

#[test]
fn the_two_commands_are_told_and_run() {
    for command in ["scripts/demo", "scripts/test"] {
        assert!(read("README.md").contains(command), "README.md does not name {command}");
        assert!(root().join(command).is_file(), "{command} is missing");
    }
    assert!(read(".ci/run").contains("scripts/test"), "CI does not run what the README says");
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the crate lies in crates/").to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    metadata["packages"].as_array().expect("an array").clone()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn sources() -> Vec<(String, String)> {
    tracked(&["rs"])
}

/// The repository's texts with these extensions, by their path from its root; what is built or fetched is not among them.
fn tracked(extensions: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder that can be read") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            // In a linked work tree `.git` is a file.
            if ["target", ".git", "__pycache__", "node_modules"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().map_or(extensions.contains(&""), |end| extensions.iter().any(|one| end == *one))
                && let Ok(text) = fs::read_to_string(&path)
            {
                found.push((path.strip_prefix(root()).expect("below the root").display().to_string(), text));
            }
        }
    }
    assert!(!found.is_empty(), "nothing with an extension of {extensions:?}");
    found
}

/// The targets of a Markdown text's links and pictures, outside its code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let outside_code: String = line.split('`').step_by(2).collect();
        for part in outside_code.split("](").skip(1) {
            found.extend(part.split([')', ' ']).next().map(str::to_owned));
        }
    }
    found
}

/// The anchor of a heading, as code hosts make it.
fn slug(line: &str) -> Option<String> {
    let heading = line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_lowercase())?;
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_');
    Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
}

const LONGEST: usize = 800;

//! Starts an application exactly as it was listed, once, detached.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::scan::{self, Application, Sources};

/// Terminals in which entries with `Terminal=true` run, with the option that takes a command.
const TERMINALS: &[(&str, &str)] = &[
    ("x-terminal-emulator", "-e"),
    ("xterm", "-e"),
    ("konsole", "-e"),
    ("xfce4-terminal", "-x"),
    ("gnome-terminal", "--"),
];

/// Why an application was not started. In every case nothing was started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotLaunched {
    /// The entry or its program is gone, replaced or changed since it was listed.
    Stale,
    /// It needs a terminal and none is installed.
    NoTerminal,
    /// The system refused to start it.
    Refused(io::ErrorKind),
}

/// Starts `application` with `environment` and nothing else of this process: no argument of the caller, no
/// open file, no terminal, its own process group. Starting is all that is known: no window is promised.
///
/// # Errors
/// Says why nothing was started.
pub(crate) fn launch(
    application: &Application,
    sources: &Sources,
    environment: &[(String, String)],
) -> Result<(), NotLaunched> {
    let desktops: Vec<&str> = sources.desktops.iter().map(String::as_str).collect();
    // Read again from the file: same path, same content, same command, same program, or nothing.
    if scan::read(application.file.path(), sources, &desktops).as_ref() != Some(application) {
        return Err(NotLaunched::Stale);
    }
    let mut command = match application.entry.terminal {
        false => Command::new(application.program.path()),
        true => {
            let (terminal, option) = TERMINALS
                .iter()
                .find_map(|(name, option)| Some((scan::find_program(name, &sources.path)?, *option)))
                .ok_or(NotLaunched::NoTerminal)?;
            let mut command = Command::new(terminal.path());
            command.arg(option).arg(application.program.path());
            command
        }
    };
    // Programs that look at their own name (busybox, a browser's wrapper) get the one that the entry gives.
    if !application.entry.terminal {
        command.arg0(&application.entry.command[0]);
    }
    command
        .args(&application.entry.command[1..])
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    if let Some(folder) = folder(application, environment) {
        command.current_dir(folder);
    }
    let mut child = command.spawn().map_err(|error| NotLaunched::Refused(error.kind()))?;
    // Only reaps: the application outlives this thread's interest in it.
    let reaper = std::thread::Builder::new().name("reaper".into()).stack_size(64 << 10);
    if let Err(error) = reaper.spawn(move || child.wait()) {
        // It runs, and stays a zombie once it ends: that is worth no failure.
        let _ = error;
    }
    Ok(())
}

/// Where it starts: the entry's folder where that exists, else the user's home, else the root.
fn folder<'a>(application: &'a Application, environment: &'a [(String, String)]) -> Option<&'a str> {
    let home = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| home.as_str());
    [application.entry.folder.as_deref(), home, Some("/")]
        .into_iter()
        .flatten()
        .find(|folder| Path::new(folder).is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use super::*;

    struct Installed {
        folder: tempfile::TempDir,
        sources: Sources,
    }

    impl Installed {
        /// An application whose program writes its arguments, folder and environment to `proof`.
        fn new(extra: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            for name in ["bin", "data/applications"] {
                fs::create_dir_all(root.join(name)).unwrap();
            }
            let proof = root.join("proof");
            let script = format!(
                "#!/bin/sh\n{{ printf '%s\\n' \"$@\"; pwd; env; }} > {0}.part && mv {0}.part {0}\n",
                proof.display()
            );
            fs::write(root.join("bin/app"), script).unwrap();
            fs::set_permissions(root.join("bin/app"), fs::Permissions::from_mode(0o755)).unwrap();
            let entry =
                format!("[Desktop Entry]\nType=Application\nName=App\nExec=app --flag \"two words\" %U\n{extra}");
            fs::write(root.join("data/applications/app.desktop"), entry).unwrap();
            let sources = Sources {
                data: vec![root.join("data")],
                path: vec![root.join("bin"), PathBuf::from("/bin"), PathBuf::from("/usr/bin")],
                locale: String::new(),
                desktops: Vec::new(),
            };
            Self { folder, sources }
        }

        fn listed(&self) -> Application {
            scan::scan(&self.sources).applications.remove(0)
        }

        fn launch(&self, application: &Application) -> Result<(), NotLaunched> {
            let environment =
                [("HOME".to_owned(), self.folder.path().display().to_string()), ("ONLY".to_owned(), "this".to_owned())];
            launch(application, &self.sources, &environment)
        }

        fn proof(&self) -> Option<String> {
            let end = Instant::now() + Duration::from_secs(10);
            while Instant::now() < end {
                if let Ok(text) = fs::read_to_string(self.folder.path().join("proof")) {
                    return Some(text);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            None
        }
    }

    #[test]
    fn it_starts_with_its_own_words_and_a_clean_environment() {
        let installed = Installed::new("");
        installed.launch(&installed.listed()).unwrap();
        let proof = installed.proof().expect("the program ran");
        let lines: Vec<&str> = proof.lines().collect();
        assert_eq!(lines[..2], ["--flag", "two words"]);
        assert_eq!(Path::new(lines[2]).canonicalize().unwrap(), installed.folder.path().canonicalize().unwrap());
        assert!(lines.contains(&"ONLY=this"));
        assert!(!proof.contains("CARGO"), "the environment of this process leaked");
    }

    #[test]
    fn a_changed_entry_or_program_is_stale_and_starts_nothing() {
        for change in ["data/applications/app.desktop", "bin/app"] {
            let installed = Installed::new("");
            let application = installed.listed();
            let file = installed.folder.path().join(change);
            let text = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            assert_eq!(installed.launch(&application), Err(NotLaunched::Stale), "{change} removed");
            // The same content in a new file is a replacement all the same.
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(installed.launch(&application), Err(NotLaunched::Stale), "{change} replaced");
            assert!(!installed.folder.path().join("proof").exists());
        }
    }

    #[test]
    fn a_terminal_application_needs_a_terminal() {
        let mut installed = Installed::new("Terminal=true\n");
        installed.sources.path.truncate(1);
        assert_eq!(installed.launch(&installed.listed()), Err(NotLaunched::NoTerminal));
        assert!(!installed.folder.path().join("proof").exists());
    }
}

//! What can go wrong with a private desktop: which fault, what is wrong, and the command that mends it.

use deskhand_contract::error::{CallError, ErrorCode, IsEffect};

macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident => $name:literal, $code:ident;)+) => {
        /// The kinds of fault. Each has one stable name and one code of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Fault { $($(#[$doc])* $variant,)+ }

        impl Fault {
            /// The stable name, for machines.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $(Self::$variant => $name,)+ } }
            /// The fault of that name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> { match name { $($name => Some(Self::$variant),)+ _ => None } }
            /// The contract's code, and with it the exit status.
            #[must_use]
            pub const fn code(self) -> ErrorCode { match self { $(Self::$variant => ErrorCode::$code,)+ } }
        }
    };
}

faults! {
    /// The name is not `[a-z0-9][a-z0-9-]{0,31}`.
    BadName => "bad_name", InvalidRequest;
    /// The size is not `WxH` within 320x200 … 7680x4320.
    BadSize => "bad_size", InvalidRequest;
    /// Nothing to run was given, or the working directory is not there.
    BadCommand => "bad_command", InvalidRequest;
    /// A desktop of that name lives.
    NameInUse => "name_in_use", Configuration;
    /// The display number that was asked for is taken.
    DisplayTaken => "display_taken", Configuration;
    /// No desktop of that name.
    NoSuchDesktop => "no_such_desktop", NotFound;
    /// It is still starting or already ending.
    NotReady => "not_ready", Unavailable;
    /// It ended by itself; the message says why.
    Ended => "ended", Unavailable;
    /// A program that a desktop needs is not installed.
    MissingProgram => "missing_program", Configuration;
    /// A directory cannot be written, or is not safely ours.
    NoPermission => "no_permission", Configuration;
    /// A part did not come up, or the supervisor ended while it was starting.
    StartFailed => "start_failed", ProcessFailed;
    /// The program could not be started inside.
    ExecFailed => "exec_failed", ProcessFailed;
    /// It took longer than it may.
    TimedOut => "timed_out", ProviderTimeout;
    /// The display could not be captured.
    CaptureFailed => "capture_failed", Unavailable;
    /// The operating system refused something that it should not.
    System => "system", Internal;
}

/// A fault with its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopError {
    /// Which fault.
    pub fault: Fault,
    /// What is wrong, in one or two sentences.
    pub message: String,
    /// The command or step that mends it, where one is known.
    pub fix: Option<String>,
}

impl DesktopError {
    /// A fault without a known remedy.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), fix: None }
    }

    /// The same fault with the step that mends it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// A failed call of the operating system. Permission faults keep their own name.
    pub(super) fn io(what: &str, error: &std::io::Error) -> Self {
        let fault = match error.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => Fault::NoPermission,
            _ => Fault::System,
        };
        Self::new(fault, format!("{what}: {error}"))
    }
}

impl std::fmt::Display for DesktopError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.fault.name(), self.message)?;
        match &self.fix {
            Some(fix) => write!(f, " Fix: {fix}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DesktopError {}

impl From<DesktopError> for CallError {
    fn from(error: DesktopError) -> Self {
        let message = match &error.fix {
            Some(fix) => format!("{} Fix: {fix}", error.message),
            None => error.message,
        };
        Self::rejected(error.fault.code(), message, IsEffect::No)
    }
}

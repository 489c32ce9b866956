//! One connection to the X server, on which no call waits for ever.
//!
//! Owns: connecting, the atoms, which extensions the server has, and the split of X errors into "that window
//! is gone" and "the server is gone". Knows nothing of windows' meaning.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::connection::{Connection as _, RequestConnection};
use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::xproto::Window;
use x11rb::protocol::{ErrorKind, composite, damage, randr, res, shm, xfixes};
use x11rb::reexports::x11rb_protocol::{parse_display, xauth};
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

/// How long the server may be silent before a call gives it up. A healthy one answers within a millisecond;
/// another client's server grab (a menu, a screen locker) can hold it for longer.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// A live connection and what was learnt while making it.
pub(crate) struct X11 {
    /// The wire. Requests may be sent from any thread.
    pub(crate) conn: RustConnection<DeadlineStream>,
    /// The root window of the default screen.
    pub(crate) root: Window,
    /// Index of the default screen.
    pub(crate) screen: usize,
    /// The interned names.
    pub(crate) atoms: Atoms,
    /// What the server offers.
    pub(crate) extensions: Extensions,
}

/// Which optional parts the server has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    /// X-Resource 1.2: the true process behind a window.
    pub(crate) client_ids: bool,
    /// Composite 0.2: a window's own pixels, also when it is covered.
    pub(crate) composite: bool,
    /// Damage and XFixes: which parts a window has painted.
    pub(crate) damage: bool,
    /// MIT-SHM 1.2: shared memory by file descriptor.
    pub(crate) shm_fd: bool,
    /// RandR 1.5: monitors.
    pub(crate) monitors: bool,
}

x11rb::atom_manager! {
    /// Names used on windows.
    pub(crate) Atoms: AtomsCookie {
        UTF8_STRING,
        COMPOUND_TEXT,
        WM_STATE,
        WM_CLIENT_MACHINE,
        WM_CLIENT_LEADER,
        WM_CHANGE_STATE,
        WM_PROTOCOLS,
        WM_TAKE_FOCUS,
        _NET_SUPPORTED,
        _NET_SUPPORTING_WM_CHECK,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_ACTIVE_WINDOW,
        _NET_CURRENT_DESKTOP,
        _NET_WM_DESKTOP,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_STATE,
        _NET_WM_STATE_HIDDEN,
        _NET_WM_STATE_MODAL,
        _NET_FRAME_EXTENTS,
        _GTK_FRAME_EXTENTS,
        _NET_WM_WINDOW_TYPE,
        _NET_WM_WINDOW_TYPE_NORMAL,
        _NET_WM_WINDOW_TYPE_DIALOG,
        _NET_WM_WINDOW_TYPE_UTILITY,
        _NET_WM_WINDOW_TYPE_TOOLBAR,
        _NET_WM_WINDOW_TYPE_SPLASH,
        _NET_WM_WINDOW_TYPE_MENU,
        _NET_WM_WINDOW_TYPE_DROPDOWN_MENU,
        _NET_WM_WINDOW_TYPE_POPUP_MENU,
        _NET_WM_WINDOW_TYPE_COMBO,
        _NET_WM_WINDOW_TYPE_TOOLTIP,
        _NET_WM_WINDOW_TYPE_NOTIFICATION,
        _NET_WM_WINDOW_TYPE_DND,
        _NET_WM_WINDOW_TYPE_DOCK,
        _NET_WM_WINDOW_TYPE_DESKTOP,
    }
}

impl X11 {
    /// Connects to `display` (`None`: what `DISPLAY` names).
    ///
    /// # Errors
    ///
    /// [`XError::Unreachable`] with the reason; never waits longer than a few [`ANSWER_WITHIN`].
    pub(crate) fn connect(display: Option<&str>) -> Result<Self, XError> {
        let (conn, screen) = open(display, Patience::Within(ANSWER_WITHIN))?;
        Self::over(conn, screen)
    }

    /// Connects to the first screen of the server at the other end, with that cookie.
    ///
    /// # Errors
    ///
    /// As [`Self::connect`].
    pub(crate) fn connect_with(socket: UnixStream, cookie: Vec<u8>) -> Result<Self, XError> {
        let unreachable = |error: std::io::Error| XError::Unreachable(error.to_string());
        let (inner, _peer) = DefaultStream::from_unix_stream(socket).map_err(unreachable)?;
        let stream = DeadlineStream { inner, patience: Patience::Within(ANSWER_WITHIN) };
        let name = b"MIT-MAGIC-COOKIE-1".to_vec();
        Self::over(RustConnection::connect_to_stream_with_auth_info(stream, 0, name, cookie)?, 0)
    }

    fn over(conn: RustConnection<DeadlineStream>, screen: usize) -> Result<Self, XError> {
        let atoms = Atoms::new(&conn).map_err(XError::from)?;
        // Ask for all extensions before the first answer is awaited: one round trip, not five.
        for name in [
            res::X11_EXTENSION_NAME,
            composite::X11_EXTENSION_NAME,
            damage::X11_EXTENSION_NAME,
            xfixes::X11_EXTENSION_NAME,
            shm::X11_EXTENSION_NAME,
            randr::X11_EXTENSION_NAME,
        ] {
            conn.prefetch_extension_information(name)?;
        }
        let atoms = atoms.reply()?;
        let extensions = Extensions::of(&conn)?;
        let root = conn.setup().roots[screen].root;
        Ok(Self { conn, root, screen, atoms, extensions })
    }
}

impl Extensions {
    fn of(conn: &RustConnection<DeadlineStream>) -> Result<Self, XError> {
        use composite::ConnectionExt as _;
        use damage::ConnectionExt as _;
        use randr::ConnectionExt as _;
        use res::ConnectionExt as _;
        use shm::ConnectionExt as _;
        use xfixes::ConnectionExt as _;
        let has = |name| -> Result<bool, XError> { Ok(conn.extension_information(name)?.is_some()) };
        let mut found = Self::default();
        if has(res::X11_EXTENSION_NAME)? {
            let version = conn.res_query_version(1, 2)?.reply()?;
            found.client_ids = (version.server_major, version.server_minor) >= (1, 2);
        }
        if has(composite::X11_EXTENSION_NAME)? {
            let version = conn.composite_query_version(0, 4)?.reply()?;
            found.composite = (version.major_version, version.minor_version) >= (0, 2);
        }
        if has(damage::X11_EXTENSION_NAME)? && has(xfixes::X11_EXTENSION_NAME)? {
            conn.damage_query_version(1, 1)?.reply()?;
            conn.xfixes_query_version(5, 0)?.reply()?;
            found.damage = true;
        }
        if has(shm::X11_EXTENSION_NAME)? {
            let version = conn.shm_query_version()?.reply()?;
            found.shm_fd = (version.major_version, version.minor_version) >= (1, 2);
        }
        if has(randr::X11_EXTENSION_NAME)? {
            let version = conn.randr_query_version(1, 5)?.reply()?;
            found.monitors = (version.major_version, version.minor_version) >= (1, 5);
        }
        Ok(found)
    }
}

/// Opens a wire with the given patience. For the event wire as well as for requests.
pub(crate) fn open(
    display: Option<&str>,
    patience: Patience,
) -> Result<(RustConnection<DeadlineStream>, usize), XError> {
    let parsed = parse_display::parse_display(display).map_err(|error| XError::Unreachable(error.to_string()))?;
    let mut last = None;
    for address in parsed.connect_instruction() {
        match DefaultStream::connect(&address) {
            Ok((inner, (family, peer))) => {
                let (name, cookie) = xauth::get_auth(family, &peer, parsed.display).unwrap_or(None).unwrap_or_default();
                let stream = DeadlineStream { inner, patience };
                let conn =
                    RustConnection::connect_to_stream_with_auth_info(stream, parsed.screen.into(), name, cookie)?;
                return Ok((conn, parsed.screen.into()));
            }
            Err(error) => last = Some(error),
        }
    }
    let reason = last.map_or_else(|| "no address".to_owned(), |error| error.to_string());
    Err(XError::Unreachable(reason))
}

/// Why an X call has no answer.
#[derive(Debug)]
pub(crate) enum XError {
    /// The window, pixmap or other resource does not exist any more. A race, not a fault.
    Gone,
    /// The server refused the request for another reason.
    Refused(ErrorKind),
    /// The server did not answer in time. The connection stays as it is: the server may be held by another client.
    Silent,
    /// The server cannot be reached or has gone. The connection is of no further use.
    Unreachable(String),
}

impl XError {
    /// Whether the connection must be given up.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    /// Whether the server itself is the trouble, and not the thing that was asked about.
    pub(crate) fn is_of_server(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Silent)
    }
}

impl fmt::Display for XError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => write!(f, "the window is gone"),
            Self::Refused(kind) => write!(f, "the X server refused the request ({kind:?})"),
            Self::Silent => f.write_str("the X server does not answer"),
            Self::Unreachable(reason) => write!(f, "the X server cannot be reached: {reason}"),
        }
    }
}

impl std::error::Error for XError {}

impl From<ConnectionError> for XError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::IoError(error) if error.kind() == io::ErrorKind::TimedOut => Self::Silent,
            error => Self::Unreachable(error.to_string()),
        }
    }
}

impl From<ReplyError> for XError {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::ConnectionError(error) => error.into(),
            ReplyError::X11Error(error) => match error.error_kind {
                ErrorKind::Window | ErrorKind::Drawable | ErrorKind::Pixmap | ErrorKind::IDChoice => Self::Gone,
                kind => Self::Refused(kind),
            },
        }
    }
}

impl From<ReplyOrIdError> for XError {
    fn from(error: ReplyOrIdError) -> Self {
        match error {
            ReplyOrIdError::IdsExhausted => Self::Unreachable("the connection has no ids left".to_owned()),
            ReplyOrIdError::ConnectionError(error) => error.into(),
            ReplyOrIdError::X11Error(error) => ReplyError::X11Error(error).into(),
        }
    }
}

impl From<ConnectError> for XError {
    fn from(error: ConnectError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

/// How long a read or write may wait.
#[derive(Clone)]
pub(crate) enum Patience {
    /// Each wait ends after this time, with an error.
    Within(Duration),
    /// Waits for events until the descriptor becomes readable.
    Until(Arc<OwnedFd>),
}

thread_local! {
    /// When the call that this thread is in must end. The wire's waits happen far below, in calls that know
    /// no deadline.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Bounds every wait of this thread on a server, until it is dropped.
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// No wait of this thread lasts beyond `end`.
    pub(crate) fn at(end: Instant) -> Self {
        Self(DEADLINE.replace(Some(end)))
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        DEADLINE.set(self.0);
    }
}

/// The wire of a connection: every wait ends.
pub(crate) struct DeadlineStream {
    inner: DefaultStream,
    patience: Patience,
}

impl Stream for DeadlineStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut flags = PollFlags::empty();
        if mode.readable() {
            flags |= PollFlags::IN;
        }
        if mode.writable() {
            flags |= PollFlags::OUT;
        }
        let socket = PollFd::from_borrowed_fd(self.inner.as_fd(), flags);
        match &self.patience {
            Patience::Within(limit) => match poll_within(socket, *limit) {
                // Half a request may have gone out: nothing can follow it.
                Err(error) if error.kind() == io::ErrorKind::TimedOut && mode.writable() => {
                    Err(io::Error::new(io::ErrorKind::BrokenPipe, "it takes no more requests"))
                }
                result => result,
            },
            Patience::Until(stop) => poll_until(socket, stop),
        }
    }

    fn read(&self, buf: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.inner.read(buf, fds)
    }

    fn write(&self, buf: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.inner.write(buf, fds)
    }

    fn write_vectored(&self, bufs: &[io::IoSlice<'_>], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.inner.write_vectored(bufs, fds)
    }
}

fn poll_within(socket: PollFd<'_>, limit: Duration) -> io::Result<()> {
    let end = Instant::now() + limit;
    let end = DEADLINE.get().map_or(end, |deadline| deadline.min(end));
    let mut sockets = [socket];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut sockets, Some(&left)) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time")),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn poll_until(socket: PollFd<'_>, stop: &OwnedFd) -> io::Result<()> {
    let mut both = [socket, PollFd::new(stop, PollFlags::IN)];
    loop {
        match rustix::event::poll(&mut both, None) {
            Ok(_) if !both[1].revents().is_empty() => {
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "told to stop"));
            }
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

//! The X server as a provider has it at hand: one live connection with what hangs on it, made anew when the server comes back.

use std::sync::{Arc, Mutex, PoisonError};

use x11rb::connection::Connection as _;
use x11rb::protocol::res::{self, ConnectionExt as _};

use crate::capture::window::WindowCapture;
use crate::sys::x11::{X11, XError};
use crate::sys::x11_shm::{IDLE, Segments};

/// A connection, its segments and its redirected windows. All three end together.
pub(crate) struct XServer {
    /// The connection.
    pub(crate) x11: X11,
    /// Its shared memory.
    pub(crate) segments: Segments,
    /// Its captured windows.
    pub(crate) pictures: WindowCapture,
    /// Whether the server counts processes as this process does, so that a pid of its means something here.
    pub(crate) pids_are_ours: bool,
    reaping: Mutex<bool>,
}

/// Where it is got from.
pub(crate) struct XServers {
    display: Option<String>,
    current: Mutex<Option<Arc<XServer>>>,
}

impl XServers {
    /// The server of `display` (`None`: what `DISPLAY` names). Not connected yet.
    pub(crate) fn new(display: Option<String>) -> Self {
        Self { display, current: Mutex::new(None) }
    }

    /// Asks `question` of the live server. If the server has gone since the last call, asks once more on a new
    /// connection; for reads only.
    ///
    /// # Errors
    ///
    /// As `question` says, and [`XError::Unreachable`].
    pub(crate) fn read<T, E: From<XError> + Lost>(
        &self,
        question: impl Fn(&Arc<XServer>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (server, fresh) = self.live()?;
        let answer = question(&server);
        match answer {
            Err(error) if error.is_lost() => {
                self.forget(&server);
                if fresh { Err(error) } else { question(&self.live()?.0) }
            }
            answer => answer,
        }
    }

    /// The live server, and whether it was made for this call.
    ///
    /// # Errors
    ///
    /// [`XError::Unreachable`].
    pub(crate) fn live(&self) -> Result<(Arc<XServer>, bool), XError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = &*current {
            return Ok((Arc::clone(server), false));
        }
        let server = Arc::new(XServer::connect(self.display.as_deref())?);
        *current = Some(Arc::clone(&server));
        Ok((server, true))
    }

    /// Gives up a server that was lost.
    pub(crate) fn forget(&self, lost: &Arc<XServer>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|server| Arc::ptr_eq(server, lost)) {
            *current = None;
        }
    }
}

/// Errors that can tell that the connection is of no further use.
pub(crate) trait Lost {
    /// Whether it is.
    fn is_lost(&self) -> bool;
}

impl Lost for XError {
    fn is_lost(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl XServer {
    fn connect(display: Option<&str>) -> Result<Self, XError> {
        let x11 = X11::connect(display)?;
        let pids_are_ours = sees_our_pid(&x11)?;
        Ok(Self {
            x11,
            segments: Segments::new(),
            pictures: WindowCapture::new(),
            pids_are_ours,
            reaping: Mutex::new(false),
        })
    }

    /// Sees to it that the memory is given back once nobody takes pictures any more.
    pub(crate) fn release_when_idle(self: &Arc<Self>) {
        let mut reaping = self.reaping.lock().unwrap_or_else(PoisonError::into_inner);
        if *reaping {
            return;
        }
        let server = Arc::downgrade(self);
        let reaper =
            std::thread::Builder::new().name("deskhand-idle".to_owned()).stack_size(64 * 1024).spawn(move || {
                loop {
                    std::thread::sleep(IDLE);
                    let Some(server) = server.upgrade() else { return };
                    let mut reaping = server.reaping.lock().unwrap_or_else(PoisonError::into_inner);
                    let segment_held = server.segments.release_idle(&server.x11);
                    let windows_held = server.pictures.look_after(&server.x11);
                    if !segment_held && !windows_held {
                        *reaping = false;
                        return;
                    }
                }
            });
        *reaping = reaper.is_ok();
    }
}

/// Whether the server names this process by its own pid: it may run in another pid namespace.
fn sees_our_pid(x11: &X11) -> Result<bool, XError> {
    if !x11.extensions.client_ids {
        return Ok(false);
    }
    let client = x11.conn.setup().resource_id_base;
    let spec = res::ClientIdSpec { client, mask: res::ClientIdMask::LOCAL_CLIENT_PID };
    let reply = x11.conn.res_query_client_ids(&[spec])?.reply()?;
    Ok(reply.ids.iter().any(|id| id.value.first() == Some(&std::process::id())))
}

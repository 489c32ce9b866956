//! One agent host: from the start of the process to the end of its input.

use std::sync::Arc;
use std::time::Duration;

use deskhand_contract::error::Exit;
use deskhand_contract::wire::Mode;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::desktop::HostDesktop;
use super::server::Server;
use super::stdio::{self, Stdio};
use crate::config::Environment;
use crate::control::desktop::Choice;
use crate::control::gateway::Control;
use crate::control::start::Local;

/// So long after the end of the input the process is gone, whatever hangs.
const GONE: Duration = Duration::from_millis(1_850);
/// Threads for calls, and a few for the rest.
const THREADS: usize = super::server::MAX_CALLS + 8;

/// What a host started.
#[derive(Debug)]
pub(crate) struct Host {
    /// The environment.
    pub(crate) environment: Environment,
    /// Which desktop.
    pub(crate) choice: Choice,
    /// The session's name, where it shall outlive the connection.
    pub(crate) session: Option<String>,
    /// What the agent may do.
    pub(crate) mode: Mode,
    /// Size of a private desktop that is started.
    pub(crate) size: String,
}

/// Serves the host until it closes its end.
pub(crate) fn serve(host: Host) -> Exit {
    let Ok((input, output)) = stdio::take_streams() else { return Exit::Configuration };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build();
    let Ok(runtime) = runtime else { return Exit::Internal };
    let (leave, leaving) = watch::channel(false);
    let ended = move || {
        // Whoever listens may be gone already.
        let _ = leave.send(true);
        std::thread::sleep(GONE);
        // A private desktop of this host's ends with this process, whichever way that ends.
        std::process::exit(0);
    };
    let Ok(stdio) = Stdio::new(input, output, ended) else { return Exit::Internal };
    let desktop = Arc::new(HostDesktop::new(host.environment.clone(), host.choice, host.size));
    let finder = Arc::clone(&desktop);
    let control = Arc::new(Control::new(Box::new(Local {
        environment: host.environment,
        find: Box::new(move || finder.find()),
        session: host.session,
        mode: host.mode,
    })));
    let server = Server::new(control, leaving, Arc::new(move || desktop.is_there()));
    runtime.block_on(async {
        tokio::select! {
            () = converse(server, &stdio) => stdio.flush().await,
            () = asked_to_end() => {}
        }
    });
    // Threads that still wait for a Runner are not waited for.
    runtime.shutdown_background();
    Exit::Ok
}

async fn converse(server: Server, stdio: &Stdio) {
    loop {
        match server.clone().serve(stdio.clone()).await {
            Ok(service) => {
                // How it ended matters to nobody: the input is over.
                let _ = service.waiting().await;
                return;
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::TransportError { .. }) => return,
            // Something came before a lifecycle was chosen that cannot choose one: the next message may.
            Err(_) => {}
        }
    }
}

async fn asked_to_end() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

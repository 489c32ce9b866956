//! The parts of a desktop, each with how it is started and how one knows that it is there.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{AtomEnum, ChangeWindowAttributesAux, ConnectionExt, EventMask};

use super::error::{DesktopError, Fault};
use super::option::Size;
use super::requirement::DisplayServer;

/// The X server's arguments. It writes the display number that it chose to its standard output.
pub(super) fn display_arguments(
    server: &DisplayServer,
    size: Size,
    display: Option<u16>,
    xauthority: &Path,
    directory: &Path,
) -> Vec<OsString> {
    let mut all: Vec<OsString> = display.map(|number| format!(":{number}").into()).into_iter().collect();
    all.extend(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-dpi", "96", "-s", "0"].map(OsString::from));
    all.extend(["-auth".into(), xauthority.into()]);
    match server {
        DisplayServer::Xvfb(_) => all.extend(["-screen".into(), "0".into(), format!("{size}x24").into()]),
        DisplayServer::Xtigervnc(_) => {
            all.extend(["-geometry".into(), size.to_string().into(), "-depth".into(), "24".into()]);
            all.extend(
                ["-SecurityTypes", "None", "-rfbport", "-1", "-rfbunixmode", "0600", "-rfbunixpath"]
                    .map(OsString::from),
            );
            all.push(directory.join("rfb").into());
        }
    }
    all
}

/// The configuration of the session bus: a socket of our own, and no service that anyone could activate. What is not
/// there is an error at once instead of a wait of 25 seconds.
pub(super) fn session_bus_configuration(socket: &Path) -> String {
    let path = socket.to_string_lossy().replace('&', "&amp;").replace('<', "&lt;");
    format!(
        r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
  <limit name="max_incoming_bytes">1000000000</limit>
  <limit name="max_outgoing_bytes">1000000000</limit>
  <limit name="max_message_size">1000000000</limit>
  <limit name="max_connections_per_user">10000</limit>
  <limit name="max_completed_connections">10000</limit>
  <limit name="max_replies_per_connection">50000</limit>
  <limit name="max_match_rules_per_connection">50000</limit>
</busconfig>
"#
    )
}

/// The first line that a part writes, at most 1 KiB.
pub(super) async fn first_line(pipe: OwnedFd) -> io::Result<String> {
    let pipe = tokio::net::unix::pipe::Receiver::from_owned_fd(pipe)?;
    let mut line = String::new();
    BufReader::new(pipe).take(1024).read_line(&mut line).await?;
    match line.trim() {
        "" => Err(io::ErrorKind::UnexpectedEof.into()),
        text => Ok(text.to_owned()),
    }
}

/// Waits until a window manager says that it manages the display. Blocks; wants a thread of its own.
pub(super) fn await_window_manager(display: &str, cookie: &Path, deadline: Instant) -> Result<(), DesktopError> {
    let failed = |why: String| DesktopError::new(Fault::StartFailed, format!("The display cannot be used: {why}."));
    let (connection, screen) = super::screen::connect(display, cookie)?;
    let root = connection.setup().roots[screen].root;
    let watch = || -> Result<u32, Box<dyn std::error::Error>> {
        let events = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        connection.change_window_attributes(root, &events)?.check()?;
        Ok(connection.intern_atom(false, b"_NET_SUPPORTING_WM_CHECK")?.reply()?.atom)
    };
    let atom = watch().map_err(|error| failed(error.to_string()))?;
    loop {
        let look = || -> Result<bool, Box<dyn std::error::Error>> {
            let value = connection.get_property(false, root, atom, AtomEnum::WINDOW, 0, 1)?.reply()?;
            let Some(window) = value.value32().and_then(|mut values| values.next()) else { return Ok(false) };
            // The window must name itself, or it is a leftover.
            let own = connection.get_property(false, window, atom, AtomEnum::WINDOW, 0, 1)?.reply();
            Ok(own.is_ok_and(|own| own.value32().and_then(|mut values| values.next()) == Some(window)))
        };
        if look().map_err(|error| failed(error.to_string()))? {
            return Ok(());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(DesktopError::new(Fault::TimedOut, "The window manager did not come up in time."));
        }
        while let Ok(Some(_)) = connection.poll_for_event() {}
        let wait = left.min(Duration::from_millis(100));
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos().try_into().unwrap_or(100_000_000) };
        let _ = rustix::event::poll(&mut [PollFd::new(&connection.stream().as_fd(), PollFlags::IN)], Some(&wait));
    }
}

/// The accessibility bus, once its launcher has it.
pub(super) struct AccessibilityBus {
    pub(super) address: String,
    /// The bus daemon's process.
    pub(super) pid: Option<u32>,
}

/// Waits for the accessibility bus on the session bus, switches accessibility on and wakes the registry.
pub(super) async fn await_accessibility(session_bus: &str) -> Result<AccessibilityBus, DesktopError> {
    let bring_up = async {
        use futures_util::StreamExt;
        let connection = zbus::connection::Builder::address(session_bus).build().await?;
        let mut messages = zbus::MessageStream::from(&connection);
        let rule = format!("type='signal',sender='{BUS}',member='NameOwnerChanged',arg0='{A11Y_BUS}'");
        call_bus(&connection, "AddMatch", &rule.as_str()).await?;
        // A name that is not there yet arrives as a signal.
        while !call_bus(&connection, "NameHasOwner", &A11Y_BUS).await?.body().deserialize::<bool>()? {
            let arrival = |message: &zbus::Message| {
                message.header().member().is_some_and(|member| member.as_str() == "NameOwnerChanged")
            };
            while let Some(message) = messages.next().await {
                if arrival(&message?) {
                    break;
                }
            }
        }
        let reply = connection.call_method(Some(A11Y_BUS), A11Y_PATH, Some(A11Y_BUS), "GetAddress", &()).await?;
        let address: String = reply.body().deserialize()?;
        for switch in ["IsEnabled", "ScreenReaderEnabled"] {
            let body = ("org.a11y.Status", switch, zbus::Variant::from(true));
            let interface = Some("org.freedesktop.DBus.Properties");
            connection.call_method(Some(A11Y_BUS), A11Y_PATH, interface, "Set", &body).await?;
        }
        let accessibility = zbus::connection::Builder::address(address.as_str()).build().await?;
        call_bus(&accessibility, "StartServiceByName", &("org.a11y.atspi.Registry", 0_u32)).await?;
        Ok::<_, zbus::Error>(address)
    };
    let address = bring_up.await.map_err(|error| {
        DesktopError::new(Fault::StartFailed, format!("The accessibility bus did not come up: {error}."))
            .fix("apt-get install --reinstall at-spi2-core")
    })?;
    let pid = peer(&address);
    Ok(AccessibilityBus { address, pid })
}

/// The process that listens on a bus address of the form `unix:path=…`.
fn peer(address: &str) -> Option<u32> {
    let path = address.strip_prefix("unix:path=")?.split(',').next()?;
    let stream = std::os::unix::net::UnixStream::connect(path).ok()?;
    let credentials = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
}

/// A call of the bus itself.
async fn call_bus<B: serde::Serialize + zbus::zvariant::DynamicType>(
    connection: &zbus::Connection,
    method: &str,
    body: &B,
) -> zbus::Result<zbus::Message> {
    connection.call_method(Some(BUS), "/org/freedesktop/DBus", Some(BUS), method, body).await
}

const BUS: &str = "org.freedesktop.DBus";
const A11Y_BUS: &str = "org.a11y.Bus";
const A11Y_PATH: &str = "/org/a11y/bus";

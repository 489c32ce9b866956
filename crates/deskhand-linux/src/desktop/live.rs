//! A live view for a browser on this machine: pictures of the display, and nothing that could act on it.
//!
//! Only on 127.0.0.1, on a port that the kernel chooses, under an address with a random token that works once: the first
//! browser that opens it gets a cookie, and from then on only that browser sees anything. The `Host` header is checked,
//! so that no page of another origin reaches it by a name of its own.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::PidfdFlags;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_blocking, spawn_local};

use super::error::{DesktopError, Fault};
use super::process::raw;
use super::record::DesktopRecord;
use super::screen::{Camera, Picture};
use super::{registry, sys};

/// A live view that is being served.
#[derive(Debug)]
pub struct LiveView {
    listener: std::net::TcpListener,
    port: u16,
    record: DesktopRecord,
    camera: Camera,
    token: String,
    cookie: String,
}

impl LiveView {
    /// Opens the port. Browsers wait until [`serve`](Self::serve) is called.
    ///
    /// # Errors
    /// [`Fault::CaptureFailed`], [`Fault::System`], or why the desktop is not ready.
    pub fn open(record: &DesktopRecord) -> Result<Self, DesktopError> {
        let camera = Camera::of(record)?;
        let system = |error: io::Error| DesktopError::io("The live view's port cannot be opened", &error);
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(system)?;
        listener.set_nonblocking(true).map_err(system)?;
        let port = listener.local_addr().map_err(system)?.port();
        let (token, cookie) = (registry::random_hex::<32>()?, registry::random_hex::<32>()?);
        Ok(Self { listener, port, record: record.clone(), camera, token, cookie })
    }

    /// The address to open. It works once.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/open/{}", self.port, self.token)
    }

    /// Serves until the desktop ends.
    ///
    /// # Errors
    /// [`Fault::System`] where the machinery cannot be set up.
    pub fn serve(self) -> Result<(), DesktopError> {
        let system = |error: io::Error| DesktopError::io("The live view cannot be served", &error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
        let supervisor = self.record.supervisor.filter(|process| process.alive()).and_then(|process| raw(process.pid));
        let supervisor = supervisor.ok_or_else(|| DesktopError::new(Fault::Ended, "The desktop has ended."))?;
        let supervisor = rustix::process::pidfd_open(supervisor, PidfdFlags::empty());
        LocalSet::new().block_on(&runtime, async {
            let end = sys::readable(supervisor.map_err(|error| system(error.into()))?).map_err(system)?;
            let listener = TcpListener::from_std(self.listener).map_err(system)?;
            let guard = Guard {
                hosts: [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)],
                token: RefCell::new(Some(self.token)),
                cookie: format!("deskhand_view_{}={}", self.port, self.cookie),
            };
            let studio = Rc::new(Studio { guard, name: self.record.name.to_string(), roll: Roll::new(self.camera) });
            tokio::select! {
                () = accept(listener, studio) => {}
                _ = end.readable() => {}
            }
            Ok(())
        })
    }
}

/// What all connections share.
struct Studio {
    guard: Guard,
    name: String,
    roll: Roll,
}

async fn accept(listener: TcpListener, studio: Rc<Studio>) {
    let places = Arc::new(tokio::sync::Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let studio = Rc::clone(&studio);
                spawn_local(async move {
                    let _ = answer(stream, &studio).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn answer(mut stream: TcpStream, studio: &Studio) -> io::Result<()> {
    let request = tokio::time::timeout(REQUEST_PATIENCE, read_request(&mut stream)).await??;
    match studio.guard.admit(&request) {
        Admission::Page(cookie) => {
            let page = PAGE.replace("NAME", &studio.name);
            let cookie = cookie.map(|cookie| format!("Set-Cookie: {cookie}; HttpOnly; SameSite=Strict; Path=/\r\n"));
            let more = format!("{CSP}{}", cookie.unwrap_or_default());
            say(&mut stream, "200 OK", "text/html; charset=utf-8", &more, page.as_bytes()).await
        }
        Admission::Stream => show(stream, studio).await,
        Admission::Refused(status) => {
            let text = format!("{status}\n");
            say(&mut stream, status, "text/plain; charset=utf-8", "", text.as_bytes()).await
        }
    }
}

/// Sends a picture whenever what is shown has changed, and now and then when not, so that a dead browser is noticed.
async fn show(mut stream: TcpStream, studio: &Studio) -> io::Result<()> {
    let kind = format!("multipart/x-mixed-replace; boundary={BOUNDARY}");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{COMMON}\r\n--{BOUNDARY}\r\n");
    send(&mut stream, head.as_bytes()).await?;
    let mut shown = 0;
    let mut last = Instant::now();
    let mut repeated = true;
    loop {
        let Some((number, jpeg)) = studio.roll.latest().await else { return Ok(()) };
        let changed = number != shown;
        // Chromium shows a part when the next one comes: the last of a movement is sent twice.
        let pause = if repeated { STILL } else { FRAME };
        if changed || last.elapsed() > pause {
            (shown, last, repeated) = (number, Instant::now(), !changed);
            let head = format!("Content-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", jpeg.len());
            send(&mut stream, head.as_bytes()).await?;
            send(&mut stream, &jpeg).await?;
            // Browsers show a part when they see that it has ended.
            send(&mut stream, format!("\r\n--{BOUNDARY}\r\n").as_bytes()).await?;
        }
        tokio::time::sleep(FRAME).await;
    }
}

/// The newest picture, taken only when somebody asks and the last one is old.
struct Roll {
    shot: Arc<Mutex<Shot>>,
}

struct Shot {
    camera: Camera,
    picture: Option<Picture>,
    jpeg: Arc<Vec<u8>>,
    number: u64,
    taken: Option<Instant>,
}

impl Roll {
    fn new(camera: Camera) -> Self {
        let shot = Shot { camera, picture: None, jpeg: Arc::default(), number: 0, taken: None };
        Self { shot: Arc::new(Mutex::new(shot)) }
    }

    /// Its number, which grows with each change, and its bytes; none where the display is gone.
    async fn latest(&self) -> Option<(u64, Arc<Vec<u8>>)> {
        let shot = Arc::clone(&self.shot);
        let renew = move || shot.lock().unwrap_or_else(PoisonError::into_inner).renew();
        spawn_blocking(renew).await.ok()?
    }
}

impl Shot {
    fn renew(&mut self) -> Option<(u64, Arc<Vec<u8>>)> {
        if self.taken.is_none_or(|taken| taken.elapsed() >= FRAME) {
            let picture = self.camera.take().ok()?;
            if self.picture.as_ref() != Some(&picture) {
                self.jpeg = Arc::new(picture.jpeg().ok()?);
                self.picture = Some(picture);
                self.number += 1;
            }
            self.taken = Some(Instant::now());
        }
        Some((self.number, Arc::clone(&self.jpeg)))
    }
}

/// Who may see what.
struct Guard {
    hosts: [String; 2],
    token: RefCell<Option<String>>,
    cookie: String,
}

enum Admission {
    /// The page, with the cookie for the one who came with the token.
    Page(Option<String>),
    Stream,
    Refused(&'static str),
}

impl Guard {
    fn admit(&self, request: &Request) -> Admission {
        if request.method != "GET" {
            return Admission::Refused("405 Method Not Allowed");
        }
        if !request.host.as_ref().is_some_and(|host| self.hosts.contains(host)) {
            return Admission::Refused("421 Misdirected Request");
        }
        let known = request.cookies.iter().any(|cookie| same(cookie, &self.cookie));
        match &*request.path {
            "/" if known => Admission::Page(None),
            "/stream" if known => Admission::Stream,
            "/" | "/stream" => Admission::Refused(FORBIDDEN),
            path => match path.strip_prefix("/open/") {
                // The browser that used the token may load the address again.
                Some(_) if known => Admission::Page(None),
                Some(token) if self.token.borrow().as_ref().is_some_and(|own| same(own, token)) => {
                    *self.token.borrow_mut() = None;
                    Admission::Page(Some(self.cookie.clone()))
                }
                Some(_) => Admission::Refused(FORBIDDEN),
                None => Admission::Refused("404 Not Found"),
            },
        }
    }
}

/// Compares secrets in a time that does not depend on where they differ.
fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

struct Request {
    method: String,
    path: String,
    host: Option<String>,
    cookies: Vec<String>,
}

impl Request {
    /// Reads the head of a request. A second `Host` makes it none.
    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        if !words.next()?.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let (mut host, mut cookies) = (None, Vec::new());
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            match name.to_ascii_lowercase().as_str() {
                "host" if host.is_some() => return None,
                "host" => host = Some(value.trim().to_owned()),
                "cookie" => cookies.extend(value.split(';').map(|cookie| cookie.trim().to_owned())),
                _ => {}
            }
        }
        Some(Self { method, path, host, cookies })
    }
}

async fn read_request(stream: &mut TcpStream) -> io::Result<Request> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await?;
        if count == 0 || head.len() + count > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&buffer[..count]);
    }
    let head = std::str::from_utf8(&head).ok().and_then(Request::parse);
    match head {
        Some(request) => Ok(request),
        None => {
            say(stream, "400 Bad Request", "text/plain; charset=utf-8", "", b"400 Bad Request\n").await?;
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

async fn say(stream: &mut TcpStream, status: &str, kind: &str, more: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}{COMMON}\r\n");
    send(stream, head.as_bytes()).await?;
    send(stream, body).await?;
    stream.shutdown().await
}

async fn send(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    tokio::time::timeout(WRITE_PATIENCE, stream.write_all(bytes)).await?
}

const COMMON: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\nConnection: close\r\n";
const CSP: &str = "Content-Security-Policy: default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; \
    frame-ancestors 'none'; form-action 'none'; base-uri 'none'\r\n";
const PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>NAME · Deskhand</title>\
    <style>html,body{margin:0;height:100%;background:#111}img{display:block;width:100%;height:100%;object-fit:contain}</style>\
    <img src=/stream alt=\"The desktop NAME, view only\">";
const FORBIDDEN: &str = "403 Forbidden";
const BOUNDARY: &str = "deskhand-frame";
const MAX_CONNECTIONS: usize = 16;
const MAX_HEAD: usize = 8 * 1024;
const REQUEST_PATIENCE: Duration = Duration::from_secs(5);
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// At most ten pictures a second.
const FRAME: Duration = Duration::from_millis(100);
/// A picture that has not changed is sent again after this.
const STILL: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        let hosts = ["127.0.0.1:1".into(), "localhost:1".into()];
        Guard { hosts, token: RefCell::new(Some("secret".into())), cookie: "c=1".into() }
    }

    fn ask(guard: &Guard, head: &str) -> &'static str {
        let request = Request::parse(&head.replace('\n', "\r\n")).unwrap();
        match guard.admit(&request) {
            Admission::Page(Some(_)) => "page and cookie",
            Admission::Page(None) => "page",
            Admission::Stream => "stream",
            Admission::Refused(status) => status,
        }
    }

    #[test]
    fn the_token_works_once_and_the_cookie_from_then_on() {
        let guard = guard();
        let host = "Host: 127.0.0.1:1\n";
        let get = |path: &str, more: &str| ask(&guard, &format!("GET {path} HTTP/1.1\n{host}{more}\n"));
        assert_eq!(get("/", ""), FORBIDDEN);
        assert_eq!(get("/stream", ""), FORBIDDEN);
        assert_eq!(get("/open/guess", ""), FORBIDDEN);
        assert_eq!(get("/open/", ""), FORBIDDEN);
        assert_eq!(get("/open/secret", ""), "page and cookie");
        assert_eq!(get("/open/secret", ""), FORBIDDEN);
        assert_eq!(get("/open/secret", "Cookie: a=b; c=1\n"), "page");
        assert_eq!(get("/stream", "cookie: c=1\n"), "stream");
        assert_eq!(get("/stream", "Cookie: c=2\n"), FORBIDDEN);
        assert_eq!(get("/other", "Cookie: c=1\n"), "404 Not Found");
    }

    #[test]
    fn another_host_or_method_is_refused_before_the_token_is_spent() {
        let guard = guard();
        assert_eq!(ask(&guard, "GET /open/secret HTTP/1.1\nHost: evil.example:1\n\n"), "421 Misdirected Request");
        assert_eq!(ask(&guard, "GET /open/secret HTTP/1.1\nHost: 127.0.0.1:2\n\n"), "421 Misdirected Request");
        assert_eq!(ask(&guard, "GET /open/secret HTTP/1.1\n\n"), "421 Misdirected Request");
        assert_eq!(ask(&guard, "POST /open/secret HTTP/1.1\nHost: 127.0.0.1:1\n\n"), "405 Method Not Allowed");
        assert_eq!(ask(&guard, "GET /open/secret HTTP/1.1\nHost: localhost:1\n\n"), "page and cookie");
    }

    #[test]
    fn what_is_no_request_is_none() {
        for head in
            ["", "GET", "GET /", "GET / HTTP/2", "GET / x HTTP/1.1", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"]
        {
            assert!(Request::parse(head).is_none(), "{head:?}");
        }
    }
}

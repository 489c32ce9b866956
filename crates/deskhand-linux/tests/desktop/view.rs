//! What a desktop shows, as a file and in a browser. The oracles are ImageMagick's own grab and the pixels of another
//! desktop whose browser looks at the view.

use std::io::{Read, Write};
use std::net::TcpStream;

use deskhand_linux::desktop::{Camera, DesktopRecord, LiveView};

use crate::world::{World, eventually};

/// The colour in the middle of the screen, as ImageMagick reads it.
fn middle(world: &World, record: &DesktopRecord) -> String {
    let grab = ["import", "-window", "root", "-crop", "1x1+960+700", "-depth", "8", "txt:-"];
    world.says(record, &grab).lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_picture_is_what_the_server_shows() {
    let world = World::new();
    let record = world.start();
    world.spawn(&record, &["zenity", "--info", "--text", "here"]);
    eventually("the dialog shows", || {
        world.run(&record, &["xdotool", "search", "--onlyvisible", "--class", "zenity"]).status.success()
    });
    let camera = Camera::of(&record).unwrap();
    let (ours, theirs) = (world.root().join("ours.png"), world.root().join("theirs.png"));
    let paths = [&ours, &theirs].map(|path| path.to_str().unwrap().to_owned());
    // Until the dialog is painted, two grabs may differ.
    eventually("both grabs are equal", || {
        std::fs::write(&ours, camera.take().unwrap().png().unwrap()).unwrap();
        world.says(&record, &["import", "-window", "root", &paths[1]]);
        let compared = world.run(&record, &["compare", "-metric", "AE", &paths[0], &paths[1], "null:"]);
        compared.status.success()
    });
    let named = world.says(&record, &["identify", "-format", "%wx%h %k", &paths[0]]);
    let colours: u32 = named.strip_prefix("1920x1080 ").expect(&named).parse().unwrap();
    assert!(colours > 2, "the dialog is in the picture: {named}");
    world.stop(&record);
    assert!(Camera::of(&record).is_err());
}

#[test]
fn a_browser_sees_the_view_change() {
    let world = World::new();
    let (shown, watching) = (world.start(), world.start());
    world.says(&shown, &["xsetroot", "-solid", "#ff0000"]);
    let view = LiveView::open(&shown).unwrap();
    let url = view.url();
    let serving = std::thread::spawn(move || view.serve());
    world.spawn(&watching, &["chromium", "--start-maximized", &url]);
    // JPEG is not exact.
    let reddish = |colour: &str| colour.contains("#FE0000") || colour.contains("#FF0000");
    eventually("the browser shows red", || reddish(&middle(&world, &watching)));
    world.says(&shown, &["xsetroot", "-solid", "#000000"]);
    eventually("the browser shows black", || middle(&world, &watching).contains("#000000"));
    world.stop(&shown);
    serving.join().unwrap().unwrap();
    world.stop(&watching);
}

#[test]
fn only_the_one_who_has_the_token_sees_anything_and_nobody_can_act() {
    let world = World::new();
    let record = world.start();
    let view = LiveView::open(&record).unwrap();
    let url = view.url();
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (host, path) = (host.to_owned(), format!("/{path}"));
    assert!(host.starts_with("127.0.0.1:"));
    std::thread::spawn(move || view.serve());
    let ask = |head: String| {
        let mut stream = TcpStream::connect(&host).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = vec![0; 2000];
        let count = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..count]).into_owned()
    };
    let get = |path: &str, host: &str, more: &str| ask(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"));
    assert!(get("/", &host, "").starts_with("HTTP/1.1 403 "));
    assert!(get("/stream", &host, "").starts_with("HTTP/1.1 403 "));
    assert!(get(&path, "evil.example", "").starts_with("HTTP/1.1 421 "));
    assert!(ask(format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).starts_with("HTTP/1.1 405 "));
    let page = get(&path, &host, "");
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("default-src 'none'"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<form"), "{page}");
    let cookie = page.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert!(get(&path, &host, "").starts_with("HTTP/1.1 403 "), "the token works once");
    assert!(get("/stream", &host, &cookie).contains("multipart/x-mixed-replace"));
    // A head that never ends, and one that is none.
    assert!(ask("NONSENSE\r\n\r\n".into()).starts_with("HTTP/1.1 400 "));
    let mut endless = TcpStream::connect(&host).unwrap();
    let _ = endless.write_all(&[b'x'; 20_000]);
    assert!(matches!(endless.read(&mut [0; 10]), Ok(0) | Err(_)));
    world.stop(&record);
}

use deskhand_linux::desktop as d;
use std::os::fd::AsFd;
fn main() -> std::process::ExitCode {
    let a: Vec<_> = std::env::args_os().collect();
    let entry = d::Entry { program: "/proc/self/exe".into(), leading: vec!["internal".into()] };
    if a[1] == "internal" { return d::run_supervisor(&entry, &a[2], a[3].as_ref()); }
    let p = d::Places::of_environment(std::env::vars_os().collect());
    let name = || d::DesktopName::parse(a[2].to_str().unwrap()).unwrap();
    match a[1].to_str().unwrap() {
        "start" => { let mut o = d::StartOptions::new(entry); if a.len()>2 { o.name = Some(name()); } println!("{:?}", d::start(&p, &o).map(|s| (s.record.name.to_string(), s.record.ready_ms))); }
        "list" => println!("{:?}", d::list(&p)),
        "stop" => println!("{:?}", d::stop(&p, &name(), std::time::Duration::from_secs(10)).map(|_| ())),
        "exec" => { let r = d::find(&p, &name()).unwrap();
            let c = d::Command { argv: a[3..].to_vec(), environment: p.environment.clone(), directory: std::env::current_dir().unwrap() };
            println!("{:?}", d::exec_attached(&r, &c, [std::io::stdin().as_fd(), std::io::stdout().as_fd(), std::io::stderr().as_fd()]).and_then(|x| x.wait())); }
        _ => {}
    }
    0.into()
}

//! Makes a Debian root from the archive this machine's apt uses, and prints where its files lie:
//! `bootstrap debian:bookworm-slim HOME`.

use std::path::PathBuf;

use abx_core::host::HostNetwork;
use abx_core::{Event, Home, Progress};
use abx_debian::{BootstrapSettings, DEFAULT_MAX_AGE, bootstrap, mirrors_from_apt, release_of};
use abx_image::ImageStore;

/// Prints every event with the time since the start.
struct Printed(std::time::Instant);

impl Progress for Printed {
    #[expect(clippy::print_stderr, reason = "an example has no printer")]
    fn event(&self, event: Event) {
        if !matches!(event, Event::Advanced { .. }) {
            eprintln!("{:8.3} {event:?}", self.0.elapsed().as_secs_f64());
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example has no printer")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some(abx_isolate::HELPER) {
        std::process::exit(i32::from(abx_isolate::run_helper()));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, home] = arguments.as_slice() else { return Err("usage: bootstrap IMAGE HOME".into()) };
    let release = release_of(name).ok_or("no Debian release")?;
    let mut texts = Vec::new();
    for path in std::fs::read_dir("/etc/apt/sources.list.d")?.flatten().map(|entry| entry.path()) {
        texts.push(std::fs::read_to_string(path)?);
    }
    let home = Home::new(PathBuf::from(home));
    let settings = BootstrapSettings {
        home: home.clone(),
        host: HostNetwork {
            debian: mirrors_from_apt(texts.iter().map(String::as_str)),
            ..HostNetwork::default()
        },
        default_mirror: "http://mirrors.aliyun.com/debian".to_owned(),
        keyrings: Vec::new(),
        offline: false,
        max_age: DEFAULT_MAX_AGE,
        helper: std::env::current_exe()?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let image = runtime.block_on(bootstrap(&release, &settings, &Printed(std::time::Instant::now())))?;
    for layer in &image.layers {
        println!("{}", ImageStore::open(&home).layer_path(layer).display());
    }
    Ok(())
}

//! Builds a template against this host's archives: `build HOME REF [--no-cache] [-- CMD…]`, as root. Prints
//! each step's outcome, the layers, and the time it took; then runs the command in the image as its user.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use abx_build::{Builder, Built, Limits};
use abx_core::host::HostNetwork;
use abx_core::{Event, Fault, Home, Progress};
use abx_image::ImageStore;
use abx_isolate::{
    Bind, Extras, Ids, IsolateError, Launch, Limits as IsolateLimits, Network, Process, Relays, Root,
    RuntimeFile, Slots, Streams, Upper,
};
use abx_source::{BaseImage, SourceContext};

macro_rules! say {
    ($($argument:tt)*) => {{
        let _ = writeln!(std::io::stderr(), $($argument)*);
    }};
}

struct Lines(Instant);

impl Progress for Lines {
    fn event(&self, event: Event) {
        match event {
            Event::Started { label, .. } => say!("{:6.2} > {label}", self.0.elapsed().as_secs_f64()),
            Event::Output { line, .. } => say!("{:6.2}   {line}", self.0.elapsed().as_secs_f64()),
            Event::Note(text) | Event::Warning(text) => say!("! {text}"),
            _ => {}
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == abx_isolate::HELPER) {
        return ExitCode::from(abx_isolate::run_helper());
    }
    if arguments.first().is_some_and(|first| first == abx_image::SYNC_HELPER) {
        return ExitCode::from(abx_image::run_sync(std::env::args_os().skip(2)));
    }
    let [home, reference, rest @ ..] = &arguments[..] else { return ExitCode::from(2) };
    let (flags, command) = match rest.iter().position(|argument| argument == "--") {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &[][..]),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    match runtime.block_on(build(home, reference, flags.iter().any(|flag| flag == "--no-cache"), command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            say!("error[{}]: {fault}", fault.code());
            let mut cause = std::error::Error::source(&*fault);
            while let Some(error) = cause {
                say!("  because {error}");
                cause = error.source();
            }
            for snippet in fault.snippets() {
                say!(" --> {}:{}:{}\n  | {}", snippet.file, snippet.line, snippet.column, snippet.source);
            }
            fault.details().iter().for_each(|line| say!("  | {line}"));
            fault.hints().iter().for_each(|hint| say!("help: {hint}"));
            ExitCode::FAILURE
        }
    }
}

async fn build(
    home: &str,
    reference: &str,
    no_cache: bool,
    command: &[String],
) -> Result<(), Box<dyn Fault>> {
    let home = Home::new(std::path::absolute(home).expect("a path"));
    let exe = std::env::current_exe().expect("this program");
    let context = SourceContext::new(home.clone(), std::env::current_dir().expect("a directory"), None);
    let progress = Lines(Instant::now());
    let start = Instant::now();
    let lineage = abx_source::resolve(reference, &context).map_err(boxed)?;
    say!("resolved in {:?}", start.elapsed());
    let BaseImage::Image { name, .. } = &lineage.base else { panic!("only images of a release") };
    let release = abx_debian::release_of(name).expect("a Debian release");
    let host = host();
    let settings = abx_debian::BootstrapSettings {
        home: home.clone(),
        host: host.clone(),
        default_mirror: "http://mirrors.aliyun.com/debian".into(),
        keyrings: Vec::new(),
        offline: false,
        max_age: abx_debian::DEFAULT_MAX_AGE,
        helper: exe.clone(),
    };
    let start = Instant::now();
    let base = abx_debian::bootstrap(&release, &settings, &progress).await.map_err(boxed)?;
    say!("base in {:?}", start.elapsed());
    let store = ImageStore::open(&home);
    let (network, helper) = (host.clone(), exe.clone());
    let builder = Builder {
        store: store.clone(),
        home,
        host,
        exe,
        no_cache,
        offline: false,
        limits: Limits::default(),
    };
    let start = Instant::now();
    let built = builder.build(&lineage, base, &progress).await.map_err(boxed)?;
    let took = start.elapsed();
    for step in &built.steps {
        say!("{:?} {}: {}", step.outcome, step.template, step.title);
    }
    for layer in &built.image.layers {
        say!("{} {} KB", store.layer_path(layer).display(), store.layer_size(layer).map_err(boxed)? / 1024);
    }
    say!("image {} in {took:?}", built.image.id.0);
    if !command.is_empty() {
        run(&store, &built, &helper, &network, command).map_err(boxed)?;
    }
    Ok(())
}

fn run(
    store: &ImageStore,
    built: &Built,
    exe: &Path,
    host: &HostNetwork,
    command: &[String],
) -> Result<(), IsolateError> {
    let layers: Vec<PathBuf> = built.image.layers.iter().map(|layer| store.layer_path(layer)).collect();
    let passwd = layers.iter().rev().find_map(|layer| std::fs::read_to_string(layer.join("etc/passwd")).ok());
    let user = passwd.unwrap_or_default();
    let user: Vec<&str> = user
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields[0] == built.effective.user)
        .unwrap_or_else(|| vec!["root", "x", "0", "0", "", "/root"]);
    let staged = store.begin_layer().expect("staging");
    let mut env = built.image.config.env.clone();
    env.extend([("HOME".into(), user[5].into()), ("USER".into(), user[0].into())]);
    env.extend(host.ca_bundle.iter().map(|bundle| ("PIP_CERT".into(), bundle.display().to_string())));
    let slot = Slots::open(&store.home().store("slots"))?.take()?;
    let launch = Launch {
        name: format!("example-{}", std::process::id()),
        hostname: "example".into(),
        root: Root { layers, upper: Upper::Dir { upper: staged.fs(), work: staged.work(), volatile: true } },
        ids: Ids::Identity,
        binds: host
            .ca_bundle
            .iter()
            .map(|bundle| Bind {
                source: bundle.clone(),
                target: "/etc/ssl/certs/ca-certificates.crt".into(),
                read_only: true,
                optional: true,
            })
            .collect(),
        files: vec![RuntimeFile {
            path: "/etc/resolv.conf".into(),
            content: abx_isolate::resolv_conf(""),
            mode: 0o644,
        }],
        extras: Extras::default(),
        limits: IsolateLimits::default(),
        network: Network::Veth { slot: slot.number() },
        process: Process {
            argv: command.to_vec(),
            program: None,
            env,
            cwd: built.effective.workdir.clone().into(),
            uid: user[2].parse().unwrap_or(0),
            gid: user[3].parse().unwrap_or(0),
            groups: Vec::new(),
            is_init: false,
            no_new_privs: false,
            fds: Vec::new(),
        },
    };
    let relays = Relays { dns: true, ..Relays::default() };
    let streams = Streams { stdin: Stdio::inherit(), stdout: Stdio::inherit(), stderr: Stdio::inherit() };
    let end = abx_isolate::spawn_step(exe, &launch, &relays, streams)?.wait()?;
    say!("{end:?}");
    Ok(())
}

fn host() -> HostNetwork {
    let var = |name: &str| std::env::var(name).ok();
    let texts: Vec<String> = ["/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect();
    HostNetwork {
        ca_bundle: var("SSL_CERT_FILE").map(PathBuf::from),
        proxies: ["http_proxy", "https_proxy", "no_proxy"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), var(name)?)))
            .collect(),
        tool_env: ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "npm_config_registry"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), var(name)?)))
            .collect(),
        debian: abx_debian::mirrors_from_apt(texts.iter().map(String::as_str)),
    }
}

fn boxed(fault: impl Fault) -> Box<dyn Fault> {
    Box::new(fault)
}

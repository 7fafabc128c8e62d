//! Builds a Dockerfile by hand, to be compared with what another builder makes of it.
//!
//! `dockerfile HOME BASE.tar CONTEXT [id=VALUE]…`: the context holds the Dockerfile, every image it names is the
//! unpacked tar, and each further argument is a secret. Prints JSON: the layers' directories, bottom first, and the
//! configuration. Needs root.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use abx_build::{BuildSecret, Builder, DockerfileRequest, Limits, froms};
use abx_core::host::HostNetwork;
use abx_core::{Event, Fault, Home, Progress};
use abx_dockerfile::{Ignore, Platform};
use abx_image::{Image, ImageConfig, ImageStore, LayerId, LayerRecord, Origin};
use sha2::{Digest, Sha256};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == abx_isolate::HELPER) {
        return ExitCode::from(abx_isolate::run_helper());
    }
    if arguments.first().is_some_and(|first| first == abx_image::SYNC_HELPER) {
        return ExitCode::from(abx_image::run_sync(std::env::args_os().skip(2)));
    }
    let [home, base, context, secrets @ ..] = &arguments[..] else {
        say("usage: dockerfile HOME BASE.tar CONTEXT [id=VALUE]...");
        return ExitCode::from(2);
    };
    match build(home.into(), base.into(), context.into(), secrets) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn build(home: PathBuf, base: PathBuf, context: PathBuf, secrets: &[String]) -> Result<(), Failure> {
    let store = ImageStore::open(&Home::new(home));
    let base = import(&store, base)?;
    let request = request(&base, context, secrets)?;
    let builder = Builder {
        home: store.home().clone(),
        store: store.clone(),
        host: HostNetwork::default(),
        exe: std::env::current_exe()?,
        no_cache: false,
        offline: false,
        limits: Limits::default(),
    };
    let built = builder.build_dockerfile_blocking(&request, &Lines, &AtomicBool::new(false));
    let built = built.inspect_err(|error| error.details().iter().for_each(|line| say(line)))?;
    let layers: Vec<PathBuf> = built.image.layers.iter().map(|layer| store.layer_path(layer)).collect();
    let shown = serde_json::json!({ "layers": layers, "config": built.image.config });
    writeln!(std::io::stdout(), "{shown:#}")?;
    Ok(())
}

/// The image of one tar, made once.
fn import(store: &ImageStore, path: PathBuf) -> Result<Image, Failure> {
    let name = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let id = LayerId(name.iter().map(|byte| format!("{byte:02x}")).collect());
    if !store.has_layer(&id) {
        let staged = store.begin_layer()?;
        abx_image::unpack(std::fs::File::open(&path)?, &staged.fs())?;
        staged.publish(id.clone(), &LayerRecord::new("a tar"))?;
    }
    let origin = Origin::Registry { name: "base".to_owned(), digest: String::new() };
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let config = ImageConfig { env: vec![("PATH".into(), path.into())], ..ImageConfig::default() };
    Ok(store.put_image(vec![id], config, origin)?)
}

fn request(base: &Image, context: PathBuf, secrets: &[String]) -> Result<DockerfileRequest, Failure> {
    let text = std::fs::read_to_string(context.join("Dockerfile"))?;
    let file = abx_dockerfile::parse(&text, "Dockerfile")?;
    let platform = Platform::parse(std::env::consts::ARCH).ok_or("an unknown machine")?;
    let ignore = std::fs::read_to_string(context.join(".dockerignore")).ok();
    let bases = froms(&file, &[], &platform, None)?;
    let secret = |text: &String| {
        let (id, value) = text.split_once('=')?;
        Some(BuildSecret { id: id.to_owned(), value: value.as_bytes().to_vec() })
    };
    Ok(DockerfileRequest {
        file,
        context,
        ignore: ignore.map(|text| Ignore::parse(&text, ".dockerignore")).transpose()?,
        target: None,
        build_args: Vec::new(),
        secrets: secrets.iter().filter_map(secret).collect(),
        platform,
        bases: bases.into_iter().map(|needed| (needed.name, base.clone())).collect(),
        name: "example".to_owned(),
    })
}

/// Shows what happens, line by line.
struct Lines;

impl Progress for Lines {
    fn event(&self, event: Event) {
        match event {
            Event::Started { label, .. } => say(&label),
            Event::Output { line, .. } | Event::Warning(line) => say(&format!("  {line}")),
            _ => {}
        }
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

//! A package's folder → its Dockerfile.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use abx_core::Fault;
use abx_dockerfile::limits::FILE_BYTES;
use abx_dockerfile::{Globals, Graph, Ignore, Inputs, Platform};

use super::fault::DockerfileFault;
use super::origin::Origin;
use super::{Dockerfile, DockerfileOptions, NAMES, reach};
use crate::{SourceContext, SourceError};

/// A Dockerfile, or all that is wrong with it.
pub(crate) type Outcome = Result<Dockerfile, Vec<Box<dyn Fault>>>;

/// The name of the Dockerfile in a folder, where there is one.
pub(crate) fn name(root: &Path) -> Option<&'static str> {
    NAMES.into_iter().find(|name| root.join(name).is_file())
}

/// Reads the Dockerfile `name` of the package in `root`, which the user knows as `display`.
///
/// # Errors
/// It, or what it ignores, cannot be read.
pub(crate) fn read(
    root: &Path,
    name: &'static str,
    display: &str,
    options: &DockerfileOptions,
    context: &SourceContext,
) -> Result<Outcome, SourceError> {
    let display = display.trim_end_matches('/');
    let text = text(root, name, display)?;
    let mut faults: Vec<Box<dyn Fault>> = Vec::new();
    let ignore = match ignore(root, name, display)? {
        Ok(ignore) => ignore,
        Err(invalid) => {
            add(&mut faults, &invalid);
            None
        }
    };
    let parsed = abx_dockerfile::parse(&text, &format!("{display}/{name}"));
    let tied = parsed.and_then(|file| {
        let inputs = inputs(options);
        let globals = Globals::new(&file, &inputs)?;
        let graph = Graph::new(&file, &globals, options.target.as_deref())?;
        Ok((file, inputs, graph))
    });
    let (file, inputs, graph) = match tied {
        Ok(tied) => tied,
        Err(invalid) => {
            add(&mut faults, &invalid);
            return Ok(Err(faults));
        }
    };
    let mut dockerfile = Dockerfile {
        name,
        file: Arc::new(file),
        ignore: ignore.map(|(ignore, _)| Arc::new(ignore)),
        inputs,
        target: options.target.clone(),
        graph,
        origin: Origin::Scratch,
        templates: Vec::new(),
        images: Vec::new(),
        is_alone: false,
        stated: abx_spec::Spec::default(),
    };
    if let Some(abx_dockerfile::Origin::Image(name)) = dockerfile.root().map(|link| &link.base) {
        dockerfile.origin = Origin::of(name, context);
    }
    let found = platforms(&dockerfile).into_iter().chain(reach::missing(root, display, &dockerfile));
    faults.extend(found.map(|fault| Box::new(fault) as Box<dyn Fault>));
    Ok(if faults.is_empty() { Ok(dockerfile) } else { Err(faults) })
}

fn add(faults: &mut Vec<Box<dyn Fault>>, invalid: &abx_dockerfile::Invalid) {
    faults.extend(invalid.diagnostics().map(|fault| Box::new(fault.clone()) as Box<dyn Fault>));
}

fn text(root: &Path, name: &str, display: &str) -> Result<String, SourceError> {
    let path = root.join(name);
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(FILE_BYTES as u64 + 4).read_to_end(&mut bytes));
    read.map_err(SourceError::io("read", &path))?;
    String::from_utf8(bytes).map_err(|error| SourceError::not_text(&format!("{display}/{name}"), &error))
}

type Ignored = Result<Option<(Ignore, String)>, abx_dockerfile::Invalid>;

/// What the build does not see, and which file says so.
fn ignore(root: &Path, name: &str, display: &str) -> Result<Ignored, SourceError> {
    let files = abx_dockerfile::ignore::files(name);
    let Some(file) = files.into_iter().find(|file| root.join(file).is_file()) else { return Ok(Ok(None)) };
    let text = text(root, &file, display)?;
    Ok(Ignore::parse(&text, &format!("{display}/{file}")).map(|ignore| Some((ignore, file))))
}

fn inputs(options: &DockerfileOptions) -> Inputs {
    let host = host();
    let arguments: BTreeMap<String, String> = options.arguments.iter().cloned().collect();
    Inputs { arguments, build: host.clone(), target: host }
}

/// What images are built for here.
pub(crate) fn host() -> Platform {
    let host = abx_image::Platform::host().to_string();
    Platform::parse(&host).unwrap_or_else(|| Platform {
        os: "linux".to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        variant: String::new(),
    })
}

/// Every stage the target needs that asks for another platform.
fn platforms(dockerfile: &Dockerfile) -> Vec<DockerfileFault> {
    let host = host();
    let mut faults = Vec::new();
    for &number in &dockerfile.graph.order {
        let (link, stage) = (&dockerfile.graph.links[number], &dockerfile.file.stages[number]);
        let Some(wanted) = &link.platform else { continue };
        if Platform::parse(wanted).is_some_and(|wanted| wanted == host) {
            continue;
        }
        let span = stage.from.platform.as_ref().map_or(stage.from.span, |word| word.span);
        let at = Box::new(dockerfile.file.source.snippet(span));
        faults.push(DockerfileFault::Platform { wanted: wanted.clone(), host: host.to_string(), at });
    }
    faults
}

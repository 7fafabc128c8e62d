//! What the stages of one build share.

use std::path::Path;
use std::sync::OnceLock;

use abx_core::host::HostNetwork;
use abx_dockerfile::{Globals, Graph, Inputs, Link, Origin};
use abx_image::{Image, ImageConfig, ImageId};

use super::copy::contents::Contents;
use super::refusal::Refusal;
use super::request::{DockerfileRequest, inputs};
use super::stage::State;
use crate::builder::workshop::Workshop;
use crate::env;
use crate::error::BuildError;
use crate::network::Redactor;
use crate::plan::Renewals;

/// One build at work.
pub(super) struct Project<'a> {
    pub(super) workshop: Workshop<'a>,
    pub(super) request: &'a DockerfileRequest,
    pub(super) inputs: Inputs,
    pub(super) globals: Globals,
    pub(super) graph: Graph,
    pub(super) renewals: Renewals,
    /// Stars out what must not be in a log.
    pub(super) redactor: Redactor,
    /// What files of the context contain.
    pub(super) contents: Contents,
    /// What has become of each stage so far.
    pub(super) finished: Vec<OnceLock<State>>,
}

impl<'a> Project<'a> {
    pub(super) fn new(
        workshop: Workshop<'a>,
        request: &'a DockerfileRequest,
        renewals: Renewals,
    ) -> Result<Self, BuildError> {
        let inputs = inputs(&request.build_args, &request.platform);
        let globals = Globals::new(&request.file, &inputs).map_err(Box::new)?;
        let graph = Graph::new(&request.file, &globals, request.target.as_deref()).map_err(Box::new)?;
        let finished = graph.links.iter().map(|_| OnceLock::new()).collect();
        let redactor = redactor(&workshop.builder.host, request);
        let builder = workshop.builder;
        let contents = Contents::new(&builder.home, &request.context, builder.no_cache);
        Ok(Self { workshop, request, inputs, globals, graph, renewals, redactor, contents, finished })
    }

    /// The image that `FROM` of a stage names.
    pub(super) fn base(&self, link: &Link) -> Result<Image, Refusal> {
        match &link.base {
            Origin::Image(name) => {
                self.check_platform(link.platform.as_deref())?;
                self.image(name).cloned()
            }
            _ => Ok(self.scratch()),
        }
    }

    /// An image of the request.
    pub(super) fn image(&self, name: &str) -> Result<&'a Image, Refusal> {
        self.request.bases.get(name).ok_or_else(|| Refusal::NoImage { name: name.to_owned() })
    }

    /// Nothing, with the configuration BuildKit gives it.
    fn scratch(&self) -> Image {
        let config = ImageConfig {
            architecture: self.request.platform.architecture.clone(),
            env: vec![("PATH".to_owned(), env::DEFAULT_PATH.to_owned())],
            workdir: "/".to_owned(),
            ..ImageConfig::default()
        };
        let origin = abx_image::Origin::Registry { name: "scratch".to_owned(), digest: String::new() };
        Image { id: ImageId(String::new()), layers: Vec::new(), config, origin }
    }

    /// Programs of another kind of machine do not run here.
    fn check_platform(&self, platform: Option<&str>) -> Result<(), Refusal> {
        let Some(wanted) = platform else { return Ok(()) };
        let host = &self.inputs.build;
        let is_host = abx_dockerfile::Platform::parse(wanted)
            .is_none_or(|wanted| (&wanted.os, &wanted.architecture) == (&host.os, &host.architecture));
        if is_host {
            Ok(())
        } else {
            Err(Refusal::Platform { wanted: wanted.to_owned(), host: host.to_string() })
        }
    }

    /// A stage that the calling one waits for, and so has been built.
    pub(super) fn stage(&self, number: usize) -> Option<&State> {
        self.finished.get(number)?.get()
    }

    /// The value of a secret, where it was given.
    pub(super) fn secret(&self, id: &str) -> Option<&[u8]> {
        let secret = self.request.secrets.iter().find(|secret| secret.id == id)?;
        Some(&secret.value)
    }

    /// The place of caches that belong to this package alone, wherever another one of its name lies.
    pub(super) fn own_caches(&self) -> std::path::PathBuf {
        let place: &Path = &self.request.context;
        let digest = crate::key::Hasher::new("place").field(place.as_os_str().as_encoded_bytes()).hex();
        let name = crate::job::escape(&self.request.name);
        self.workshop.builder.home.cache("own").join(format!("{name}-{}", &digest[..8]))
    }
}

/// The host's credentials and the caller's secrets, whose lines a log may show one by one. A line of brackets in a
/// longer secret tells nobody anything.
fn redactor(host: &HostNetwork, request: &DockerfileRequest) -> Redactor {
    let texts = request.secrets.iter().map(|secret| String::from_utf8_lossy(&secret.value));
    let lines = texts.flat_map(|text| {
        let lines: Vec<String> = text.trim().lines().map(|line| line.trim().to_owned()).collect();
        let says = |line: &String| lines.len() == 1 || line.contains(char::is_alphanumeric);
        lines.iter().filter(|line| says(line)).cloned().collect::<Vec<_>>()
    });
    Redactor::new(host).with(lines)
}

//! What the host adds to processes in a running sandbox, beside the image: the same certificates, proxies and
//! mirrors that build steps get, so that `apt-get` and `pip` work inside as they did in the build.

use std::io;
use std::path::PathBuf;

use abx_core::host::HostNetwork;
use abx_isolate::{Bind, RuntimeFile};

use crate::view::View;
use crate::{apt, network};

/// Nothing of it is stored in the image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// The image's variables and the host's; the image's win.
    pub env: Vec<(String, String)>,
    pub binds: Vec<Bind>,
    pub files: Vec<RuntimeFile>,
    /// Ports of the host's loopback where its proxies and mirrors are.
    pub loopback: Vec<u16>,
}

/// The surroundings of a sandbox over `layers` (bottom first) whose image has the variables `env`.
pub fn surroundings(
    layers: Vec<PathBuf>,
    mut env: Vec<(String, String)>,
    host: &HostNetwork,
) -> io::Result<Surroundings> {
    network::add_variables(&mut env, host);
    let files = apt::sources_of_host(&View::new(layers), host)?.files;
    Ok(Surroundings {
        env,
        binds: network::bundle_binds(host, true),
        files,
        loopback: network::loopback_ports(host),
    })
}

//! `pip_install`: Python packages for all users, into the system's Python.
//!
//! uv does it where the result is the same as pip's, several times faster: plain requirements, and no option
//! that only pip knows. It is no part of the image; a copy of it is kept beside the caches and bound in.

use std::io;
use std::path::{Path, PathBuf};

use abx_core::host::HostNetwork;
use abx_isolate::Bind;

use crate::env::{self, Env};
use crate::job::{Caches, Job, program, shell};
use crate::network::RUN;
use crate::view::{View, is_whiteout};

/// pip's variables and the ones by which uv takes the same. Where a template or the host sets another one of
/// pip's, pip it is.
const TRANSLATED: [(&str, &str); 4] = [
    ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"),
    ("PIP_EXTRA_INDEX_URL", "UV_INDEX"),
    ("PIP_FIND_LINKS", "UV_FIND_LINKS"),
    ("PIP_TRUSTED_HOST", "UV_INSECURE_HOST"),
];
/// pip's variables that do not change what is installed.
const HARMLESS: [&str; 8] = [
    "PIP_CERT",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_CACHE_DIR",
    "PIP_NO_INPUT",
    "PIP_PROGRESS_BAR",
    "PIP_ROOT_USER_ACTION",
    "PIP_BREAK_SYSTEM_PACKAGES",
];

/// What an image offers for installing Python packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Python {
    /// `python3` by the step's PATH.
    pub(crate) interpreter: String,
    pub(crate) has_pip: bool,
}

/// Looks for Python and pip; `None` without Python.
pub(crate) fn python(view: &View, env: &Env) -> io::Result<Option<Python>> {
    let Some(interpreter) = program(view, env, "python3")? else { return Ok(None) };
    let mut has_pip = view.exists("/usr/lib/python3/dist-packages/pip")?;
    for lib in ["/usr/local/lib", "/usr/lib"] {
        for version in view.list(lib)?.into_iter().filter(|name| name.starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                has_pip = has_pip || view.exists(format!("{lib}/{version}/{packages}/pip"))?;
            }
        }
    }
    Ok(Some(Python { interpreter, has_pip }))
}

/// Whether uv comes to the same result for these requirements under these variables.
pub(crate) fn uv_fits(packages: &[String], step: &Env, host: &HostNetwork) -> bool {
    let known = |name: &str| {
        !name.starts_with("PIP_")
            || HARMLESS.contains(&name)
            || TRANSLATED.iter().any(|(pip, _)| *pip == name)
    };
    packages.iter().all(|package| !package.starts_with('-'))
        && step.iter().chain(&host.tool_env).all(|(name, _)| known(name))
}

/// Where the copy of uv for an image is kept: one for each machine and C library. The shared one serves all,
/// where it is there.
pub(crate) fn uv_path(caches: &Caches<'_>, view: &View, architecture: &str) -> io::Result<PathBuf> {
    let musl = view.list("/lib")?.iter().any(|name| name.starts_with("ld-musl"));
    let libc = if musl { "musl" } else { "gnu" };
    let name = format!("uv-{architecture}-{libc}");
    let shared = caches.home.store("tools").join(&name).join("uv");
    Ok(if shared.exists() { shared } else { caches.tools().join(name).join("uv") })
}

/// The job that fetches uv into `directory` with the image's pip, or with one that is installed for this job
/// only: its layer is thrown away. `None` where there is no way to a pip.
pub(crate) fn fetch_uv(
    view: &View,
    caches: &Caches<'_>,
    host: &HostNetwork,
    architecture: &str,
    python: &Python,
    directory: PathBuf,
) -> io::Result<Option<Job>> {
    let mut job = Job::default();
    let target = job.bind_directory(directory, "tools");
    let interpreter = &python.interpreter;
    let mut script = String::new();
    if !python.has_pip {
        if !crate::apt::has_apt(view)? {
            return Ok(None);
        }
        let options = crate::apt::options(host);
        script = format!(
            "apt-get {options} update\napt-get {options} install -y --no-install-recommends python3-pip\n"
        );
        crate::apt::add_caches(&mut job, view, caches, host, architecture)?;
    }
    script += &format!(
        "{interpreter} -m pip install --quiet --no-deps --only-binary :all: --no-compile --target {target}/uv uv"
    );
    job.argv = shell(view, &script, &[])?;
    Ok(Some(job.with_caches(caches)))
}

/// The job that installs `packages` with uv.
pub(crate) fn uv_install(
    view: &View,
    caches: &Caches<'_>,
    env: &Env,
    python: &Python,
    uv: &Path,
    packages: &[String],
) -> io::Result<Job> {
    let target = format!("{RUN}/uv");
    let mut job = Job::default();
    job.binds.push(Bind {
        source: uv.to_owned(),
        target: target.clone().into(),
        read_only: true,
        optional: false,
    });
    // pip weighs all indexes alike, and reads no project's configuration.
    let script = format!(
        "{target} pip install --no-config --python {} --break-system-packages --compile-bytecode \
         --index-strategy unsafe-best-match -- \"$@\"",
        python.interpreter
    );
    job.argv = shell(view, &script, packages)?;
    job = job.with_caches(caches);
    for (pip, uv) in TRANSLATED {
        if let Some(value) = env::get(env, pip).filter(|_| env::get(env, uv).is_none()) {
            env::set(&mut job.env, uv, value);
        }
    }
    Ok(job)
}

/// The job that installs `packages` with the image's pip.
pub(crate) fn pip_install(
    view: &View,
    caches: &Caches<'_>,
    python: &Python,
    packages: &[String],
) -> io::Result<Job> {
    let script = format!("{} -m pip install \"$@\"", python.interpreter);
    let argv = shell(view, &script, packages)?;
    let mut job = Job { argv, ..Job::default() }.with_caches(caches);
    env::set(&mut job.env, "PIP_BREAK_SYSTEM_PACKAGES", "1");
    Ok(job)
}

/// Whether a layer takes away files of the distribution's own Python packages. pip leaves those alone, uv
/// replaces them.
pub(crate) fn harms_distribution(upper: &Path) -> bool {
    let library = upper.join("usr/lib/python3/dist-packages");
    walkdir::WalkDir::new(library)
        .into_iter()
        .filter_map(Result::ok)
        .any(|entry| entry.metadata().is_ok_and(|metadata| is_whiteout(&metadata)))
}

/// The requirements no release satisfies, and the tool's line about the first.
pub(crate) fn missing<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(Vec<String>, String)> {
    let mut found: Option<(Vec<String>, String)> = None;
    for line in lines {
        if ["Failed to fetch", "Connection", "Temporary failure", "dns error"]
            .iter()
            .any(|sign| line.contains(sign))
        {
            return None;
        }
        let Some(name) = missing_in(line) else { continue };
        found.get_or_insert_with(|| (Vec::new(), line.trim().to_owned())).0.push(name.to_owned());
    }
    found
}

fn missing_in(line: &str) -> Option<&str> {
    if let Some((_, rest)) = line.split_once("No matching distribution found for ") {
        return rest.split_whitespace().next();
    }
    let (before, _) = line.split_once(" was not found in the package registry")?;
    before.split_whitespace().last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uv_is_used_only_where_it_does_the_same() {
        let fits = |packages: &[&str], env: &[(&str, &str)]| {
            let packages: Vec<String> = packages.iter().map(|&package| package.into()).collect();
            let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            uv_fits(&packages, &env, &HostNetwork::default())
        };
        assert!(fits(&["rich", "numpy>=1"], &[("PATH", "/bin"), ("PIP_INDEX_URL", "https://x/")]));
        assert!(!fits(&["-r requirements.txt"], &[]));
        assert!(!fits(&["rich"], &[("PIP_NO_BINARY", ":all:")]));
    }

    #[test]
    fn requirements_nobody_has_are_named() {
        let rows = [
            ("ERROR: No matching distribution found for nope-1==2", Some("nope-1==2")),
            (
                "  ╰─▶ Because nope-1 was not found in the package registry and you require nope-1,",
                Some("nope-1"),
            ),
            ("Successfully installed rich", None),
        ];
        for (line, expected) in rows {
            assert_eq!(missing([line].into_iter()).map(|(names, _)| names.join(" ")).as_deref(), expected);
        }
    }
}

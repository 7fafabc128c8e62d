//! `apt_install`: distribution packages, with lists and downloads kept outside the image.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_core::host::HostNetwork;
use abx_isolate::{Bind, RuntimeFile};

use crate::apt_sources::{self, Release};
use crate::env;
use crate::job::{Caches, Job};
use crate::key::Hasher;
use crate::network::RUN;
use crate::view::View;

/// Options that hold for one call and leave no trace in the image's configuration.
const OPTIONS: &str = "-q -o APT::Sandbox::User=root -o APT::Keep-Downloaded-Packages=true \
    -o Acquire::Languages=none -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-unsafe-io -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold";
/// Part of the official images: throws downloads away, which lie in a cache of ours here.
const DOCKER_CLEAN: &str = "/etc/apt/apt.conf.d/docker-clean";
/// How long fetched lists are taken as they are.
const FRESH: Duration = Duration::from_secs(600);
const CACHE: &str = "/var/cache/apt";
const LISTS: &str = "/var/lib/apt/lists";

/// The job that installs `packages`; `None` where the image has no apt.
pub(crate) fn install(
    view: &View,
    caches: &Caches<'_>,
    host: &HostNetwork,
    architecture: &str,
    packages: &[String],
) -> io::Result<Option<Job>> {
    if !has_apt(view)? {
        return Ok(None);
    }
    let options = options(host);
    let install = format!("apt-get {options} install -y --no-install-recommends -- \"$@\"");
    let update = format!("apt-get {options} update\n");
    let mut job = Job::default();
    add_caches(&mut job, view, caches, host, architecture)?;
    let script = match job.stamp.as_ref().is_some_and(is_fresh) {
        // Lists may be behind the archive even so: what then fails is tried again with new ones.
        true => format!("if {install}; then exit 0; fi\n{update}{install}"),
        false => format!("{update}{install}"),
    };
    job.argv = crate::job::shell(view, &script, packages)?;
    Ok(Some(job))
}

/// Whether lists of the same sources have been fetched a moment ago.
fn is_fresh((path, sources): &(PathBuf, String)) -> bool {
    let age = || std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
    age().is_some_and(|age| age < FRESH) && std::fs::read_to_string(path).is_ok_and(|text| text == *sources)
}

/// Whether the image has apt.
pub(crate) fn has_apt(view: &View) -> io::Result<bool> {
    view.exists("/usr/bin/apt-get")
}

/// The options of an `apt-get` call of ours.
pub(crate) fn options(host: &HostNetwork) -> String {
    let bundle = format!(" -o Acquire::https::CAInfo={RUN}/ca-certificates.crt");
    let bundle = if host.ca_bundle.is_some() { bundle } else { String::new() };
    format!("{OPTIONS}{bundle}")
}

/// Gives `job` the lists and downloads of `caches`, and the host's mirrors in place of the image's.
pub(crate) fn add_caches(
    job: &mut Job,
    view: &View,
    caches: &Caches<'_>,
    host: &HostNetwork,
    architecture: &str,
) -> io::Result<()> {
    let Sources { release, files, text } = sources_of_host(view, host)?;
    let cache = caches.of("apt").join(directory_name(&release, architecture));
    for (name, target) in [("archives", CACHE), ("lists", LISTS)] {
        let source = cache.join(name);
        // apt makes `partial` itself, but not the directory of the downloads.
        job.directories.push(if target == CACHE { source.join("archives") } else { source.clone() });
        job.mount_points.push(PathBuf::from(target));
        job.binds.push(Bind { source, target: target.into(), read_only: false, optional: false });
    }
    if view.exists(DOCKER_CLEAN)? {
        job.files.push(RuntimeFile { path: DOCKER_CLEAN.into(), content: String::new(), mode: 0o644 });
    }
    job.files.extend(files);
    job.stamp = Some((cache.join("updated"), Hasher::new("sources").field(text).hex()));
    env::set(&mut job.env, "DEBIAN_FRONTEND", "noninteractive");
    job.lock = Some(cache.join("lock"));
    Ok(())
}

/// The image's apt sources as they are on this host.
pub(crate) struct Sources {
    release: Release,
    /// Those that differ from the image's: with the host's mirrors.
    pub(crate) files: Vec<RuntimeFile>,
    /// All of them, one after the other.
    text: String,
}

/// Puts the host's mirrors in place of the image's.
pub(crate) fn sources_of_host(view: &View, host: &HostNetwork) -> io::Result<Sources> {
    let release = apt_sources::release(&view.read("/etc/os-release")?.unwrap_or_default());
    let mut sources = Sources { release, files: Vec::new(), text: String::new() };
    for path in self::sources(view)? {
        let text = view.read(&path)?.unwrap_or_default();
        let rewritten = apt_sources::rewrite(&text, &sources.release.codename, &host.debian);
        sources.text += rewritten.as_ref().unwrap_or(&text);
        if let Some(content) = rewritten {
            sources.files.push(RuntimeFile { path, content, mode: 0o644 });
        }
    }
    Ok(sources)
}

fn directory_name(release: &Release, architecture: &str) -> String {
    let part = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
    };
    format!("{}-{}-{}", part(&release.id), part(&release.codename), part(architecture))
}

fn sources(view: &View) -> io::Result<Vec<PathBuf>> {
    let directory = Path::new("/etc/apt/sources.list.d");
    let mut paths = vec![PathBuf::from("/etc/apt/sources.list")];
    paths.extend(view.list(directory)?.into_iter().map(|name| directory.join(name)));
    paths.retain(|path| {
        path.extension().is_some_and(|extension| extension == "list" || extension == "sources")
    });
    Ok(paths)
}

/// The packages that do not exist, and apt's line about the first; nothing where the archive could not be
/// reached, because then nothing exists.
pub(crate) fn missing<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(Vec<String>, String)> {
    let mut packages = Vec::new();
    let mut first = None;
    for line in lines {
        if ["Failed to fetch", "Could not resolve", "Temporary failure"]
            .iter()
            .any(|sign| line.contains(sign))
        {
            return None;
        }
        let Some(name) = missing_in(line) else { continue };
        // The second try says it again.
        if !packages.iter().any(|known| known == name) {
            packages.push(name.to_owned());
        }
        first.get_or_insert_with(|| line.to_owned());
    }
    first.map(|line| (packages, line))
}

fn missing_in(line: &str) -> Option<&str> {
    let line = line.strip_prefix("E: ")?;
    if let Some(name) = line.strip_prefix("Unable to locate package ") {
        return Some(name.trim());
    }
    let name = line.strip_prefix("Package '").or_else(|| line.strip_prefix("Package ")).and_then(|rest| {
        let (name, rest) = rest.split_once([' ', '\''])?;
        rest.contains("has no installation candidate").then_some(name)
    });
    name.or_else(|| {
        let rest = line.strip_prefix("Version '")?;
        let (_, rest) = rest.split_once("' for '")?;
        Some(rest.split_once("' was not found")?.0)
    })
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn packages_that_do_not_exist_are_named() {
        let rows: [(&[&str], Option<&[&str]>); 4] = [
            (
                &[
                    "Reading package lists...",
                    "E: Unable to locate package nope",
                    "E: Unable to locate package no2",
                ],
                Some(&["nope", "no2"]),
            ),
            (&["E: Package 'x' has no installation candidate"], Some(&["x"])),
            (&["E: Version '9' for 'curl' was not found"], Some(&["curl"])),
            (&["W: Failed to fetch http://m/ Temporary failure", "E: Unable to locate package curl"], None),
        ];
        for (lines, expected) in rows {
            let found = missing(lines.iter().copied()).map(|(packages, _)| packages);
            let expected =
                expected.map(|names| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{lines:?}");
        }
    }
}

//! What a root holds beside its packages: the merged `/usr`, and the settings container images have.

use std::path::{Path, PathBuf};

use crate::architecture::Architecture;
use crate::error::DebianError;
use crate::release::Release;
use crate::rooted::{Attributes, Rooted};
use crate::settings::Mirrors;
use crate::slim::PathRules;

/// Services do not start where nothing supervises them.
const POLICY: &str = "#!/bin/sh\n# No service is started when a package is installed.\nexit 101\n";

/// Package descriptions in other languages are half of what `apt-get update` would fetch. Lists are not
/// kept compressed: they never stay in an image, and every run of apt would pay for it.
const APT: &str = "Acquire::Languages \"none\";\nAPT::AutoRemove::SuggestsImportant \"false\";\n";

const DPKG: &str =
    "# Nothing in a container survives a power cut half-way: do not wait for the disk.\nforce-unsafe-io\n";

/// Laid over at run time with what is true there.
const EMPTY: &[&str] = &["etc/resolv.conf", "etc/hosts", "etc/hostname", "etc/machine-id"];

/// Makes the top directories whose files live below `/usr`, before anything is unpacked through them.
pub(crate) fn merge_usr(root: &Rooted, architecture: Architecture) -> Result<(), DebianError> {
    for name in ["bin", "sbin", "lib"].iter().chain(architecture.libraries) {
        let target = format!("usr/{name}");
        root.directory(Path::new(&target)).map_err(DebianError::file("make", Path::new(&target)))?;
        root.symlink(&target, name).map_err(DebianError::file("link", Path::new(name)))?;
    }
    Ok(())
}

/// Writes the settings that must be there before packages are configured.
pub(crate) fn write_settings(
    root: &Rooted,
    release: &Release,
    rules: &PathRules,
    mirrors: &Mirrors,
) -> Result<(), DebianError> {
    let slim = rules.dpkg_configuration();
    let sources = apt_sources(release, mirrors);
    let mut files = vec![
        ("usr/sbin/policy-rc.d", POLICY, 0o755),
        ("etc/dpkg/dpkg.cfg.d/unsafe-io", DPKG, 0o644),
        ("etc/apt/apt.conf.d/90container", APT, 0o644),
        ("etc/apt/sources.list.d/debian.sources", &sources, 0o644),
    ];
    if !slim.is_empty() {
        files.push(("etc/dpkg/dpkg.cfg.d/slim", &slim, 0o644));
    }
    let locks = Path::new("run/lock");
    root.directory(locks)
        .and_then(|_| root.set_directory(locks, Attributes { uid: 0, gid: 0, mode: 0o1777, mtime: 0 }))
        .map_err(DebianError::file("make", locks))?;
    files.extend(EMPTY.iter().map(|path| (*path, "", 0o644)));
    for (path, content, mode) in files {
        root.write(path, content, mode).map_err(DebianError::file("write", Path::new(path)))?;
    }
    Ok(())
}

/// Makes the directories of manual pages that a slim root has none for: scripts of packages installed later
/// link into them, and fail where they are absent. To be called once the root's own packages are configured,
/// lest these link to pages that are not there.
pub(crate) fn make_manual_sections(root: &Rooted) -> Result<(), DebianError> {
    for section in 1..=8 {
        let path = PathBuf::from(format!("usr/share/man/man{section}"));
        root.directory(&path).map_err(DebianError::file("make", &path))?;
    }
    Ok(())
}

/// The image names the public mirror, whichever one it was made from.
fn apt_sources(release: &Release, mirrors: &Mirrors) -> String {
    let codename = release.codename();
    let paragraph = |uri: &str, suites: &str| {
        format!(
            "Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: main\n\
             Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
        )
    };
    let archive = paragraph(&mirrors.archive, &format!("{codename} {codename}-updates"));
    let security = paragraph(&mirrors.security, &format!("{codename}-security"));
    format!("{archive}\n{security}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::release_of;
    use crate::slim::SLIM;

    #[test]
    fn settings_name_the_public_mirror_and_the_slim_rules() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = Rooted::open(dir.path()).expect("open");
        let mirrors = Mirrors {
            archive: "http://public.example/debian".into(),
            security: "http://public.example/debian-security".into(),
        };
        let release = release_of("debian:bookworm-slim").expect("a release");
        write_settings(&root, &release, &SLIM, &mirrors).expect("write");
        let read = |path: &str| std::fs::read_to_string(dir.path().join(path)).expect(path);
        let sources = read("etc/apt/sources.list.d/debian.sources");
        assert!(sources.contains("URIs: http://public.example/debian\nSuites: bookworm bookworm-updates\n"));
        assert!(sources.contains("URIs: http://public.example/debian-security\nSuites: bookworm-security\n"));
        assert!(read("etc/dpkg/dpkg.cfg.d/slim").contains("path-exclude /usr/share/man/*\n"));
        assert_eq!(read("etc/resolv.conf"), "");
    }
}

//! What a slim root leaves out.

/// Paths dpkg leaves out, then paths it keeps nevertheless; shell patterns in which `*` also matches `/`.
pub(crate) struct PathRules {
    exclude: &'static [&'static str],
    include: &'static [&'static str],
}

/// Everything is installed.
pub(crate) const WHOLE: PathRules = PathRules { exclude: &[], include: &[] };

/// No documentation but the copyright notices, which licences ask to be kept.
pub(crate) const SLIM: PathRules = PathRules {
    exclude: &[
        "/usr/share/doc/*",
        "/usr/share/info/*",
        "/usr/share/linda/*",
        "/usr/share/lintian/*",
        "/usr/share/locale/*",
        "/usr/share/man/*",
    ],
    include: &["/usr/share/doc/*/copyright"],
};

impl PathRules {
    /// Whether dpkg would leave `path` (absolute) out. A directory, or a link that may stand for one, stays
    /// where a rule could bring back something below it.
    pub(crate) fn excludes(&self, path: &[u8], may_hold_files: bool) -> bool {
        let excluded = self.exclude.iter().any(|pattern| matches(pattern.as_bytes(), path));
        excluded
            && !self.include.iter().any(|pattern| matches(pattern.as_bytes(), path))
            && !(may_hold_files && self.include.iter().any(|pattern| path.starts_with(fixed_part(pattern))))
    }

    /// The rules as a file for `/etc/dpkg/dpkg.cfg.d`, so that packages installed later obey them too.
    pub(crate) fn dpkg_configuration(&self) -> String {
        let exclude = self.exclude.iter().map(|pattern| format!("path-exclude {pattern}\n"));
        let include = self.include.iter().map(|pattern| format!("path-include {pattern}\n"));
        exclude.chain(include).collect()
    }
}

/// The directories of a pattern before its first wildcard.
fn fixed_part(pattern: &str) -> &[u8] {
    let end = pattern.find('*').unwrap_or(pattern.len());
    pattern[..end].trim_end_matches('/').as_bytes()
}

/// `*` matches any run of bytes; there are no other wildcards in the rules above.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    match pattern.iter().position(|byte| *byte == b'*') {
        None => pattern == path,
        Some(star) => {
            let (head, tail) = (&pattern[..star], &pattern[star + 1..]);
            path.strip_prefix(head)
                .is_some_and(|rest| (0..=rest.len()).any(|from| matches(tail, &rest[from..])))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SLIM, WHOLE};

    #[test]
    fn documentation_goes_and_copyright_stays() {
        for (path, directory, excluded) in [
            ("/usr/share/doc", true, false),
            ("/usr/share/doc/bash", true, false),
            ("/usr/share/doc/bash/README", false, true),
            ("/usr/share/doc/bash/copyright", false, false),
            ("/usr/share/doc/bash/deep/copyright", false, false),
            ("/usr/share/man", true, false),
            ("/usr/share/man/man1", true, true),
            ("/usr/share/man/man1/ls.1.gz", false, true),
            ("/usr/share/locale/de", true, true),
            ("/usr/share/mandarin", true, false),
            ("/usr/bin/ls", false, false),
        ] {
            assert_eq!(SLIM.excludes(path.as_bytes(), directory), excluded, "{path}");
            assert!(!WHOLE.excludes(path.as_bytes(), directory));
        }
    }
}

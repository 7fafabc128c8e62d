//! This machine's architecture in its several spellings.

use crate::error::DebianError;

/// One architecture Debian is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Architecture {
    rust: &'static str,
    /// As the archive spells it.
    pub(crate) debian: &'static str,
    /// As image configurations spell it.
    pub(crate) oci: &'static str,
    /// Top directories of libraries beside `/lib`.
    pub(crate) libraries: &'static [&'static str],
}

const ALL: &[Architecture] = &[
    Architecture { rust: "x86_64", debian: "amd64", oci: "amd64", libraries: &["lib64"] },
    Architecture { rust: "aarch64", debian: "arm64", oci: "arm64", libraries: &[] },
    Architecture { rust: "riscv64", debian: "riscv64", oci: "riscv64", libraries: &[] },
    Architecture { rust: "s390x", debian: "s390x", oci: "s390x", libraries: &[] },
    Architecture { rust: "powerpc64", debian: "ppc64el", oci: "ppc64le", libraries: &["lib64"] },
];

impl Architecture {
    /// The one this program was built for, and so the one its packages can run on.
    pub(crate) fn of_host() -> Result<Self, DebianError> {
        let architecture = std::env::consts::ARCH;
        let found = ALL.iter().find(|known| known.rust == architecture);
        found.copied().ok_or(DebianError::Architecture { architecture })
    }
}

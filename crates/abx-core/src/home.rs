//! Where things lie on disk.
//!
//! ```text
//! ~/.sandbox/                      ABX_HOME moves it
//!   templates/<owner>/<repo>/<ref>   fetched repositories, read only: links into the store
//!   store/                         for its owner alone
//!     packages/<host>/<owner>/<repo>/<commit>/  fetched repositories; `package.json` is written last
//!     pins/<host>/<owner>/<repo>/    which commit a branch or tag stood for, and when; all tags
//!     index/<digest>.json            the last copy of a template index, by the digest of its address
//!     archives/<sha256>/             unpacked archives of this machine; `archive.json` is written last
//!     layers/<id>/{fs/,layer.json,size}  unpacked layers; `layer.json` is written last, `size` when asked for
//!     synced                         which layers no power cut can take any more (see abx-image)
//!     images/<id>.json               images by the digest of their layers and configuration
//!     plans/<digest>                 the image that layers and configuration of a plan have come to
//!     bases/<name>                   the image that a base name stands for here
//!     pulled/<name>.json             the image that a name in a registry was pulled as, and when
//!     tags/<digest>.json             what a tag or range in a registry stood for, and the template in it
//!     partial/<digest>               beginnings of blobs whose transfer was cut short
//!     vendored/<digest>              the image that came in a vendored file
//!     names/<name>/<tag>             local templates: a name's tag -> image id
//!     lineages/<name>/<tag>.json     the template files behind that image
//!     renewed/<key>                  the layer `--no-cache` made last in place of the one with this key
//!     cache/{apt,pip,uv,npm,debs}/   downloads kept between builds, never in an image
//!     cache/own/<template>/          the same for steps of templates we do not vouch for
//!     cache/own/<template>/mounts/   what `RUN --mount=type=cache` of its Dockerfile keeps
//!     cache/urls/<digest>/           what `ADD` of an address has yielded
//!     cache/copied/<digest>          which files a `COPY --from` has copied
//!     cache/contents/<digest>        what the files of a build context contain, by their times
//!     disks/<MB>-v<n>/               formatted, empty disks to take for new sandboxes
//!     tools/                         helper programs by digest (the guest daemon, uv)
//!     staging/                       half-made entries; each is locked by its maker
//!     locks/                         one file a lock
//!     in-use.lock                    shared by who uses the store, held alone by who cleans it
//!   sandboxes/<id>/                  live sandboxes (see abx-engine)
//!   ended/<id>.{json,log}            why the last ones ended, and the end of what they said
//!   pools/<digest>/                  sandboxes that wait for whoever wants one (see agent-sandbox)
//!   logs/                            whole logs of build steps
//! ```

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The root of all state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// State under `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The root itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `store/<part>`.
    pub fn store(&self, part: &str) -> PathBuf {
        self.root.join("store").join(part)
    }

    /// Keeps other users of the host out of the store, which is made where absent. Layers hold programs that run as
    /// root whoever starts them, and a template decides which.
    pub fn keep_store_private(&self) -> std::io::Result<()> {
        let store = self.root.join("store");
        std::fs::create_dir_all(&store)?;
        std::fs::set_permissions(&store, PermissionsExt::from_mode(0o700))
    }

    /// The lock that whoever uses the store shares, and whoever cleans it holds alone.
    pub fn in_use_lock(&self) -> PathBuf {
        self.root.join("store/in-use.lock")
    }

    /// `store/cache/<tool>`: downloads of one package tool, kept between builds.
    pub fn cache(&self, tool: &str) -> PathBuf {
        self.root.join("store/cache").join(tool)
    }

    /// `templates/`.
    pub fn templates(&self) -> PathBuf {
        self.root.join("templates")
    }

    /// `sandboxes/`.
    pub fn sandboxes(&self) -> PathBuf {
        self.root.join("sandboxes")
    }

    /// `ended/`.
    pub fn ended(&self) -> PathBuf {
        self.root.join("ended")
    }

    /// `pools/`.
    pub fn pools(&self) -> PathBuf {
        self.root.join("pools")
    }

    /// `logs/`.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_kept_out_of_the_store() {
        let root = tempfile::tempdir().expect("tempdir");
        let home = Home::new(root.path().join("home"));
        for _ in 0..2 {
            home.keep_store_private().expect("private");
            let mode = root.path().join("home/store").metadata().expect("store").permissions().mode();
            assert_eq!(mode & 0o7777, 0o700);
            std::fs::set_permissions(root.path().join("home/store"), PermissionsExt::from_mode(0o755))
                .expect("loosen");
        }
    }
}

//! The signed state of a release: its suites' release files, and the package indexes they vouch for.

use abx_core::Progress;
use abx_core::progress::{self, Unit};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use std::io::Read;

use crate::compression::Compression;
use crate::digest::Checksum;
use crate::download::{Downloads, Wanted, blocking, shown};
use crate::error::DebianError;
use crate::index::IndexText;
use crate::keyring::Keyring;
use crate::release::{ArchivePart, Release};
use crate::release_file::ReleaseFile;
use crate::settings::Mirrors;

/// A verified release file and where it came from.
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) part: ArchivePart,
    pub(crate) release_file: ReleaseFile,
    /// Of the signed file as it came.
    pub(crate) signed: Checksum,
}

/// How to find a suite's signed release file in the cache again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptSuite {
    pub(crate) name: String,
    sha256: String,
    size: u64,
}

impl From<&Suite> for KeptSuite {
    fn from(suite: &Suite) -> Self {
        let Suite { name, signed, .. } = suite;
        Self { name: name.clone(), sha256: signed.sha256().to_owned(), size: signed.size }
    }
}

/// What fetching from an archive needs.
pub(crate) struct Archive<'a> {
    pub(crate) downloads: &'a Downloads,
    pub(crate) mirrors: &'a Mirrors,
    pub(crate) keyring: &'a Keyring,
    /// Seconds since 1970.
    pub(crate) now: u64,
    pub(crate) architecture: &'static str,
}

impl Archive<'_> {
    /// The release files of all suites as the mirror has them now, verified. They are kept in the cache.
    pub(crate) async fn suites(&self, release: &Release) -> Result<Vec<Suite>, DebianError> {
        let suites = release.suites();
        try_join_all(suites.iter().map(|(part, name)| self.suite(*part, name))).await
    }

    /// The release files an earlier bootstrap kept; their signatures are checked again, their age is not.
    pub(crate) async fn kept_suites(
        &self,
        release: &Release,
        kept: &[KeptSuite],
    ) -> Result<Option<Vec<Suite>>, DebianError> {
        let mut suites = Vec::new();
        for (part, name) in release.suites() {
            let Some(kept) = kept.iter().find(|kept| kept.name == name) else { return Ok(None) };
            let Some(signed) = Checksum::new(&kept.sha256, kept.size) else { return Ok(None) };
            let Some(bytes) = self.downloads.cached(&signed).await? else { return Ok(None) };
            let suite = self.verify(part, &name, String::from_utf8_lossy(&bytes).into_owned()).await?;
            suite.release_file.check_suite(&name).map_err(self.unfit(part, &name))?;
            suites.push(suite);
        }
        Ok(Some(suites))
    }

    async fn suite(&self, part: ArchivePart, name: &str) -> Result<Suite, DebianError> {
        let url = format!("{}/dists/{name}/InRelease", self.mirrors.base(part));
        let text = self.downloads.text(&url, "release file").await?;
        let suite = self.verify(part, name, text.clone()).await?;
        suite.release_file.check(name, self.now).map_err(self.unfit(part, name))?;
        self.downloads.keep(text.into_bytes(), &suite.signed).await?;
        Ok(suite)
    }

    async fn verify(&self, part: ArchivePart, name: &str, text: String) -> Result<Suite, DebianError> {
        let (keyring, now) = (self.keyring.clone(), self.now);
        let signed = Checksum::of(text.as_bytes());
        let verified = blocking(move || keyring.verify(&text, now)).await;
        let verified = verified.map_err(|source| DebianError::Signature {
            mirror: shown(self.mirrors.base(part)),
            suite: name.to_owned(),
            source,
        })?;
        let release_file = ReleaseFile::parse(&verified).map_err(self.unfit(part, name))?;
        Ok(Suite { name: name.to_owned(), part, release_file, signed })
    }

    fn unfit(
        &self,
        part: ArchivePart,
        name: &str,
    ) -> impl FnOnce(crate::release_file::ReleaseFault) -> DebianError {
        let (mirror, suite) = (shown(self.mirrors.base(part)), name.to_owned());
        move |source| DebianError::ReleaseFile { mirror, suite, source }
    }

    /// The package indexes of the suites, verified and decompressed.
    pub(crate) async fn indexes(
        &self,
        suites: &[Suite],
        progress: &dyn Progress,
    ) -> Result<Vec<IndexText>, DebianError> {
        let files = suites.iter().map(|suite| self.index_file(suite)).collect::<Result<Vec<_>, _>>()?;
        let total = files.iter().map(|(_, wanted)| wanted.checksum.size).sum();
        let task = progress::start(progress, "package lists", Some(total), Unit::Bytes);
        let texts = suites.iter().zip(files).map(|(suite, (compression, wanted))| {
            let task = &task;
            async move {
                let bytes = self.index_bytes(suite, compression, &wanted, task).await?;
                let text = blocking(move || {
                    let mut text = String::new();
                    compression.reader(&bytes)?.read_to_string(&mut text).map(|_| text)
                })
                .await;
                let text =
                    text.map_err(|_| DebianError::NotA { url: shown(&wanted.url), kind: "package index" })?;
                Ok(IndexText { part: suite.part, text })
            }
        });
        try_join_all(texts).await
    }

    /// By its digest where the mirror offers that, else (or where the mirror lacks it after all) by its name.
    async fn index_bytes(
        &self,
        suite: &Suite,
        compression: Compression,
        wanted: &Wanted,
        task: &progress::Task<'_>,
    ) -> Result<Vec<u8>, DebianError> {
        match self.downloads.verified(wanted, task).await {
            Err(DebianError::Refused { status: 404, .. }) if suite.release_file.by_hash => {
                let url = self.index_url(suite, &self.index_path(compression));
                self.downloads.verified(&Wanted { url, ..wanted.clone() }, task).await
            }
            result => result,
        }
    }

    /// The best compressed index a suite lists.
    fn index_file(&self, suite: &Suite) -> Result<(Compression, Wanted), DebianError> {
        let found =
            [Compression::Xz, Compression::Gzip, Compression::None].into_iter().find_map(|compression| {
                suite.release_file.file(&self.index_path(compression)).map(|checksum| (compression, checksum))
            });
        let (compression, checksum) = found.ok_or_else(|| DebianError::NoIndex {
            mirror: shown(self.mirrors.base(suite.part)),
            suite: suite.name.clone(),
            architecture: self.architecture,
        })?;
        let path = match suite.release_file.by_hash {
            true => format!("main/binary-{}/by-hash/SHA256/{}", self.architecture, checksum.sha256()),
            false => self.index_path(compression),
        };
        let subject = format!("the package list of {}", suite.name);
        let url = self.index_url(suite, &path);
        Ok((compression, Wanted { subject, url, checksum: checksum.clone() }))
    }

    fn index_path(&self, compression: Compression) -> String {
        format!("main/binary-{}/Packages{}", self.architecture, compression.suffix())
    }

    fn index_url(&self, suite: &Suite, path: &str) -> String {
        format!("{}/dists/{}/{path}", self.mirrors.base(suite.part), suite.name)
    }
}

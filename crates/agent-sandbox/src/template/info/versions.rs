//! The table of versions: releases of built-in templates, tags of local ones, tags of a repository.

use std::cmp::Ordering;
use std::time::SystemTime;

use abx_reference::{Reference, Selector, alias};
use abx_source::{BaseImage, Lineage, SourceContext};
use serde::Serialize;

use crate::{Context, Error, FetchOptions};

/// Versions, and what the columns of the table are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Versions {
    /// The headline packages, as data has them.
    pub columns: Vec<String>,
    /// Newest first.
    pub rows: Vec<Version>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// What stands behind the `:` or `@` of a reference.
    pub tag: String,
    /// YYYY-MM-DD, where known.
    pub date: Option<String>,
    /// Bytes, where known.
    pub size: Option<u64>,
    /// The versions of [`Versions::columns`]; fewer where they are not known.
    pub packages: Vec<String>,
    pub kind: VersionKind,
    /// Whether it is what the name alone stands for.
    pub is_latest: bool,
}

/// Where a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VersionKind {
    /// With the program, or in the official repository.
    Release,
    /// Built, pulled or snapshotted here.
    Local,
    /// In its repository.
    Repository,
}

/// What a repository has is asked for only where that is allowed, and its silence is no failure.
pub(super) async fn versions(
    context: &Context,
    reference: &str,
    source: &SourceContext,
    lineage: &Lineage,
    options: &FetchOptions,
) -> Result<Versions, Error> {
    let parsed = Reference::parse(reference).map_err(abx_source::SourceError::from)?;
    let Reference::Name(name) = &parsed else {
        return Ok(match &parsed {
            Reference::Github(_) => of_repository(context, &parsed, source, options).await?,
            _ => Versions::default(),
        });
    };
    let name = name.name();
    let mut versions = match abx_source::releases(name) {
        Some(releases) => of_releases(releases),
        None => match lineage.base {
            BaseImage::Stored { .. } => Versions::default(),
            _ => of_repository(context, &parsed, source, options).await?,
        },
    };
    versions.add_local(context, name)?;
    Ok(versions)
}

fn of_releases(releases: &abx_source::Releases) -> Versions {
    let latest = releases.choose(&Selector::Latest).map(|release| release.version);
    let row = |release: &abx_source::Release| Version {
        tag: release.version.to_owned(),
        date: Some(release.date.to_owned()),
        size: release.size,
        packages: release.packages.iter().map(|version| (*version).to_owned()).collect(),
        kind: VersionKind::Release,
        is_latest: Some(release.version) == latest,
    };
    Versions {
        columns: releases.columns.iter().map(|column| (*column).to_owned()).collect(),
        rows: releases.releases.iter().map(row).collect(),
    }
}

async fn of_repository(
    context: &Context,
    reference: &Reference,
    source: &SourceContext,
    options: &FetchOptions,
) -> Result<Versions, Error> {
    let Reference::Github(github) = abx_source::stands_for(reference, source)? else {
        return Ok(Versions::default());
    };
    let settings = crate::github::settings(context, options);
    let released = abx_source::github::releases(&github, &context.home, &settings).await.unwrap_or_default();
    let latest = released.iter().find(|released| !released.version.is_prerelease()).cloned();
    let row = |released: abx_source::github::Released| Version {
        date: None,
        size: None,
        packages: Vec::new(),
        kind: VersionKind::Repository,
        is_latest: Some(&released) == latest.as_ref(),
        tag: released.tag,
    };
    Ok(Versions { columns: Vec::new(), rows: released.into_iter().map(row).collect() })
}

impl Versions {
    /// A local tag stands behind a release of the same name.
    fn add_local(&mut self, context: &Context, name: &str) -> Result<(), Error> {
        let store = context.store();
        let own = [name, alias::resolve(name)];
        let mut tags: Vec<abx_image::Tag> =
            store.list()?.into_iter().filter(|tag| own.contains(&tag.name.as_str())).collect();
        tags.sort_by(newest_first);
        let latest = match self.rows.is_empty() {
            true => Selector::Latest.choose(tags.iter().map(|tag| tag.tag.as_str())).map(str::to_owned),
            false => None,
        };
        for tag in tags {
            let image = store.image(&tag.image)?;
            self.rows.push(Version {
                is_latest: latest.as_ref() == Some(&tag.tag),
                date: Some(date(tag.set)),
                size: image.map(|image| store.image_size(&image)).transpose()?,
                packages: Vec::new(),
                kind: VersionKind::Local,
                tag: tag.tag,
            });
        }
        Ok(())
    }
}

/// The highest version first; words behind them, what was built last first.
pub(crate) fn newest_first(one: &abx_image::Tag, other: &abx_image::Tag) -> Ordering {
    let by_time = || other.set.cmp(&one.set).then_with(|| one.tag.cmp(&other.tag));
    match (abx_reference::Version::parse(&one.tag), abx_reference::Version::parse(&other.tag)) {
        (Some(this), Some(that)) => that.cmp_precedence(&this).then_with(by_time),
        (this, that) => that.is_some().cmp(&this.is_some()).then_with(by_time),
    }
}

fn date(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_such_and_words_by_their_time() {
        let tag = |(seconds, tag): (u64, &str)| abx_image::Tag {
            name: "own".to_owned(),
            tag: tag.to_owned(),
            image: abx_image::ImageId(String::new()),
            set: SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds),
        };
        let built =
            [(5, "0.3.0"), (6, "1.9.0"), (1, "1.10.0"), (9, "nightly"), (3, "2.0.0-rc.1"), (10, "latest")];
        let mut tags: Vec<_> = built.into_iter().map(tag).collect();
        tags.sort_by(newest_first);
        let order: Vec<&str> = tags.iter().map(|tag| tag.tag.as_str()).collect();
        assert_eq!(order, ["2.0.0-rc.1", "1.10.0", "1.9.0", "0.3.0", "latest", "nightly"]);
    }
}

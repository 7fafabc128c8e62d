//! Words to templates: those of the catalog, the built-in ones and those of this machine.

use std::sync::Arc;

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::catalog::card::{Card, Source, cards};
use abx_source::catalog::search::{Query, meant};
use abx_source::{Catalog, SourceContext, SourceError};
use serde::Serialize;

use crate::{Context, Error, FetchOptions};

/// Which index of templates, and how fresh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// A URL or a file, in the place of the one that the settings name.
    pub url: Option<String>,
    /// Asks its host although a copy is young.
    pub refresh: bool,
    /// Never leaves this machine.
    pub offline: bool,
}

/// What to look for; every part that is given must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchRequest {
    pub words: Vec<String>,
    pub category: Option<String>,
    pub tag: Option<String>,
    /// `official`, `community` or `experimental`.
    pub status: Option<String>,
    pub index: IndexOptions,
}

/// One template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    pub name: String,
    /// What to give to `create` for it.
    pub reference: String,
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub category: Option<String>,
    pub author: Option<String>,
    /// A template of this machine has none.
    pub status: Option<&'static str>,
    /// `built-in`, `local`, or the directory of a repository.
    pub source: String,
}

/// What a search has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Best first.
    pub found: Vec<Found>,
    /// Where nothing was: names and tags like the words.
    pub meant: Vec<String>,
}

/// Searches the catalog and what is on this machine.
///
/// # Errors
/// The catalog is not to be had, and there is no copy of it.
pub async fn search(
    context: &Context,
    request: &SearchRequest,
    progress: &dyn Progress,
) -> Result<Searched, Error> {
    let mut source = request.index.source(context);
    let catalog = request.index.catalog(context, &source, progress).await.map_err(SourceError::from)?;
    let cards = cards(&source, Some(&catalog));
    source.catalog = Some(Arc::new(Ok(catalog)));
    let query = Query {
        words: request.words.clone(),
        category: request.category.clone(),
        tag: request.tag.clone(),
        status: request.status.clone(),
    };
    let known = cards.clone();
    let found = abx_source::catalog::search::search(cards, &query);
    let found: Vec<Found> = found.into_iter().map(|card| Found::new(card, &source)).collect();
    let meant = if found.is_empty() { meant(&known, &query) } else { Vec::new() };
    Ok(Searched { found, meant })
}

impl IndexOptions {
    pub(super) fn source(&self, context: &Context) -> SourceContext {
        let source = context.source();
        SourceContext { index: self.url.clone().unwrap_or_else(|| source.index.clone()), ..source }
    }

    pub(super) async fn catalog(
        &self,
        context: &Context,
        source: &SourceContext,
        progress: &dyn Progress,
    ) -> Result<Catalog, abx_source::CatalogError> {
        let options = FetchOptions { offline: self.offline, ..FetchOptions::default() };
        let settings = crate::github::settings(context, &options);
        abx_source::catalog(source, self.refresh, &settings, progress).await
    }
}

impl Found {
    /// Where it is from, in a word; the repository only where the name alone does not lead there.
    pub fn origin(&self) -> &str {
        match self.source.as_str() {
            source @ ("built-in" | "local") => source,
            _ if self.reference == self.name => "catalog",
            source => source,
        }
    }

    /// In `source` there is the catalog; a name of it may mean another template all the same.
    pub(super) fn new(card: Card, source: &SourceContext) -> Self {
        let reference = match &card.source {
            Source::Catalog(github) => {
                let meant = Reference::parse(&card.name).map(|name| abx_source::stands_for(&name, source));
                match meant {
                    Ok(Ok(Reference::Github(meant))) if meant == *github => card.name.clone(),
                    _ => github.to_string(),
                }
            }
            Source::BuiltIn | Source::Local(_) => card.name.clone(),
        };
        Self {
            reference,
            source: card.source.to_string(),
            name: card.name,
            description: card.description,
            tags: card.tags,
            category: card.category,
            author: card.author,
            status: card.status,
        }
    }
}

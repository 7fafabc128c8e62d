//! A sentence on a task to the templates that may be for it.

use std::sync::Arc;

use abx_core::{Event, Progress};
use abx_source::catalog::card::cards;
use abx_source::catalog::sentence;
use serde::Serialize;

use super::{Found, IndexOptions};
use crate::{Context, Error};

/// A template that may be for a task, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Matched {
    #[serde(flatten)]
    pub template: Found,
    /// More is better; it means nothing beside the score of another sentence.
    pub score: u32,
    /// The template's own words that stand in the sentence.
    pub triggers: Vec<String>,
    pub matched_tags: Vec<String>,
    /// The words of the sentence that are in its name.
    pub name_words: Vec<String>,
    /// Those in its description.
    pub description_words: Vec<String>,
}

/// Ranks the templates of this machine and of the catalog for a sentence, best first. Without a catalog the others
/// are ranked, and it is said why.
pub async fn matching(
    context: &Context,
    sentence: &str,
    index: &IndexOptions,
    progress: &dyn Progress,
) -> Result<Vec<Matched>, Error> {
    let mut source = index.source(context);
    let catalog = match index.catalog(context, &source, progress).await {
        Ok(catalog) => Some(catalog),
        Err(error) => {
            progress.event(Event::Warning(format!("without the catalog: {error}")));
            None
        }
    };
    let cards = cards(&source, catalog.as_ref());
    source.catalog = catalog.map(|catalog| Arc::new(Ok(catalog)));
    let matched = |found: sentence::Match| Matched {
        template: Found::new(found.card, &source),
        score: found.score,
        triggers: found.triggers,
        matched_tags: found.tags,
        name_words: found.name,
        description_words: found.description,
    };
    Ok(sentence::matches(cards, sentence).into_iter().map(matched).collect())
}

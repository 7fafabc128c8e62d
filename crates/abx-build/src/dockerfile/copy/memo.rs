//! What copying from a stage or an image came to last time: its layers stay as they are, so its files need not be read
//! again to know that nothing has changed.
//!
//! ```text
//! cache/copied/<digest of layers and words>    the digest of the files they mean
//! ```

use std::path::PathBuf;

use abx_core::fs::write_atomic;
use abx_dockerfile::Copy;

use super::origin_layers;
use crate::dockerfile::refusal::Refusal;
use crate::dockerfile::stage::Stage;
use crate::key::Hasher;

/// The place of what is remembered of one `COPY --from`.
pub(super) struct Memo(PathBuf);

impl Memo {
    /// `None` for what is copied from the context.
    pub(super) fn of(stage: &Stage<'_, '_>, copy: &Copy) -> Result<Option<Self>, Refusal> {
        let Some(from) = &copy.from else { return Ok(None) };
        let layers = origin_layers(stage, &from.text)?;
        let words = |words: &[abx_dockerfile::Word]| -> Vec<String> {
            words.iter().map(|word| word.text.clone()).collect()
        };
        let identity = Hasher::new("copied")
            .number(super::VERSION)
            .list(layers.iter().map(|layer| &layer.0))
            .list(words(&copy.files.sources).iter())
            .list(words(&copy.files.exclude).iter())
            .list(copy.files.inline.iter().map(|inline| format!("{inline:?}")).collect::<Vec<_>>().iter())
            .number(copy.parents.into());
        let home = &stage.project.workshop.builder.home;
        Ok(Some(Self(home.cache("copied").join(identity.hex()))))
    }

    pub(super) fn read(&self) -> Option<String> {
        std::fs::read_to_string(&self.0).ok().filter(|digest| digest.len() == 64)
    }

    /// Remembers a digest; where that cannot be, it is taken anew next time.
    pub(super) fn write(&self, digest: &str) {
        let _ = write_atomic(&self.0, digest.as_bytes());
    }
}

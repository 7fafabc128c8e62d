//! The image in a vendored file: brought into the store once, see `store/vendored/<digest>`.

use abx_core::fs::{Lock, touch, write_atomic};
use abx_core::{Event, Progress};
use abx_image::{Image, ImageId, ImageStore};
use abx_source::{Vendored, VendoredError};

use crate::blocking::blocking;
use crate::{Context, Error};

/// The image, from the store where the same file has been used before.
pub(super) async fn image(
    context: &Context,
    store: &ImageStore,
    vendored: &Vendored,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    let record = context.home.store("vendored").join(vendored.digest.hex());
    if let Some(image) = known(store, &record)? {
        touch(&record);
        return Ok(image);
    }
    let lock = context.home.store("locks").join(format!("vendored-{}", vendored.digest.hex()));
    let (store, vendored) = (store.clone(), vendored.clone());
    blocking(progress, move |progress| {
        let _one = Lock::exclusive(&lock).map_err(Error::state(&lock))?;
        if let Some(image) = known(&store, &record)? {
            return Ok(image);
        }
        let origin = Some(vendored.origin.clone());
        let imported = store.import_oci(&vendored.file, Some(&vendored.image), origin, progress);
        let imported = imported.map_err(VendoredError::from)?;
        for note in imported.notes {
            progress.event(Event::Note(format!("{}: {note}", vendored.name)));
        }
        let text = format!("{} {}:{}", imported.image.id.0, vendored.name, vendored.version);
        write_atomic(&record, text.as_bytes()).map_err(Error::state(&record))?;
        Ok::<_, Error>(imported.image)
    })
    .await
}

fn known(store: &ImageStore, record: &std::path::Path) -> Result<Option<Image>, Error> {
    match std::fs::read_to_string(record) {
        // The name behind it is for people.
        Ok(text) => {
            let id = text.split(' ').next().unwrap_or_default();
            Ok(store.image(&ImageId(id.to_owned()))?)
        }
        Err(_) => Ok(None),
    }
}

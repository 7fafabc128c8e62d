//! Images, and the layers they have.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use abx_image::{Image, LayerId, Origin, StoredImage, StoredLayer};

use super::super::entry::{Item, Target};
use super::super::measure::{measure_all, seconds};
use super::super::{Entry, Kind};
use super::claims::Claims;
use super::{Images, plain, short};
use crate::{Context, Error};

/// Images, and layers that no image has.
pub(super) fn images(context: &Context) -> Result<(Images, Vec<Item>), Error> {
    let store = context.store();
    let claims = Claims::of(context, &store)?;
    let (stored, layers) = (store.stored_images()?, store.stored_layers()?);
    let paths: Vec<PathBuf> = layers.iter().map(|layer| store.layer_path(&layer.id)).collect();
    let measured = layers.iter().map(|layer| layer.id.clone()).zip(measure_all(&paths));
    let sizes: HashMap<LayerId, u64> = measured.map(|(id, (size, _))| (id, size)).collect();
    let made = |layer: &'_ StoredLayer| layer.record.as_ref().map(|record| record.created);
    let mut of_layers = Layers {
        sizes: &sizes,
        made: layers.iter().filter_map(|layer| Some((&layer.id, made(layer)?))).collect(),
        users: HashMap::new(),
    };
    for layer in stored.iter().filter_map(|image| image.image.as_ref()).flat_map(distinct) {
        *of_layers.users.entry(layer).or_default() += 1;
    }
    let mut needed = claims.layers.clone();
    let mut items = Vec::new();
    for image in &stored {
        let item = image_item(image, &stored, &claims, &of_layers);
        if item.entry.needed.is_some() {
            needed.extend(image.image.iter().flat_map(|image| image.layers.clone()));
        }
        items.push(item);
    }
    // Nothing is gained by removing a base that stays anyway, and building on it would need a network.
    for item in &mut items {
        let built_on = |image: &Image| image.layers.iter().all(|layer| needed.contains(layer));
        let image = stored.iter().filter(|stored| stored.id.0 == item.entry.id);
        if item.entry.needed.is_none() && image.filter_map(|stored| stored.image.as_ref()).any(built_on) {
            item.entry.needed = Some("images built on it".to_owned());
        }
    }
    items.extend(loose(&layers, &of_layers, &needed));
    let images = stored.into_iter().filter_map(|image| image.image).collect();
    Ok((Images { images, needed, sizes }, items))
}

/// Layers that no image has.
fn loose(layers: &[StoredLayer], known: &Layers<'_>, needed: &BTreeSet<LayerId>) -> Vec<Item> {
    let item = |layer: &StoredLayer| {
        let size = known.sizes.get(&layer.id).copied().unwrap_or(0);
        let made = known.made.get(&layer.id).copied();
        let name = layer.record.as_ref().map_or("half a layer", |record| record.created_by.as_str());
        let entry = Entry {
            kind: if layer.record.is_some() { Kind::Layer } else { Kind::Leftover },
            needed: needed.contains(&layer.id).then(|| "a sandbox".to_owned()),
            ..plain(name.to_owned(), size, made, layer.id.0.clone())
        };
        Item { entry, target: Target::Layer(layer.id.clone()) }
    };
    layers.iter().filter(|layer| !known.users.contains_key(&layer.id)).map(item).collect()
}

/// What is known of layers.
struct Layers<'s> {
    sizes: &'s HashMap<LayerId, u64>,
    made: HashMap<&'s LayerId, u64>,
    /// How many images have each.
    users: HashMap<&'s LayerId, usize>,
}

fn image_item(stored: &StoredImage, all: &[StoredImage], claims: &Claims, layers: &Layers<'_>) -> Item {
    let id = &stored.id;
    let target = Target::Image(id.clone());
    let Some(image) = &stored.image else {
        let name = format!("a damaged record, {}", short(&id.0));
        let entry = Entry { kind: Kind::Leftover, ..plain(name, 0, None, id.0.clone()) };
        return Item { entry, target };
    };
    let bytes = |layer: &LayerId| layers.sizes.get(layer).copied().unwrap_or(0);
    let (own, shared): (Vec<_>, Vec<_>) =
        distinct(image).into_iter().partition(|layer| layers.users.get(layer) == Some(&1));
    // Whoever uses an image uses those it was built on.
    let above = all
        .iter()
        .filter(|other| other.image.as_ref().is_some_and(|other| other.layers.starts_with(&image.layers)));
    let used = above.map(|other| seconds(other.used)).max();
    let mut refs = claims.local.get(id).cloned().unwrap_or_default();
    refs.extend(claims.names.get(id).cloned().unwrap_or_default());
    let entry = Entry {
        kind: Kind::Image,
        shared: shared.into_iter().map(bytes).sum(),
        made: image.layers.iter().filter_map(|layer| layers.made.get(layer).copied()).max(),
        used,
        origin: Some(origin(&image.origin)),
        needed: claims.needed(id),
        refs: refs.clone(),
        ..plain(image_name(image, &refs), own.into_iter().map(bytes).sum(), None, id.0.clone())
    };
    Item { entry, target }
}

/// As its template calls it, else by a name it was given, else by its id.
fn image_name(image: &Image, refs: &[String]) -> String {
    let label = |name: &str| image.config.label(&format!("org.opencontainers.image.{name}"));
    match (label("title"), refs.first()) {
        (_, Some(name)) => name.clone(),
        (Some(title), None) => format!("{title}:{}", label("version").unwrap_or("latest")),
        (None, None) => match &image.origin {
            Origin::Registry { name, .. } => name.clone(),
            Origin::Archive { .. } => short(&image.id.0).to_owned(),
        },
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Registry { name, .. } => name.clone(),
        // A date of mail, of which the day will do.
        Origin::Archive { release, date, .. } => match date.split(' ').collect::<Vec<_>>().as_slice() {
            [_, day, month, year, ..] => format!("Debian {release}, {day} {month} {year}"),
            _ => format!("Debian {release}, {date}"),
        },
    }
}

/// The layers of an image, each once.
fn distinct(image: &Image) -> BTreeSet<&LayerId> {
    image.layers.iter().collect()
}

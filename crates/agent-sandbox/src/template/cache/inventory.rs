//! Everything that is kept, and what of it must stay.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use abx_core::fs::Lock;
use abx_image::{Image, ImageId, ImageStore, LayerId, Origin, StoredImage};
use abx_source::{Cached, CachedOrigin};

use super::entry::{Item, Target};
use super::measure::{measure_all, seconds};
use super::{Entry, Kind};
use crate::{Context, Error};

/// All entries, and what they come to.
pub(super) struct Inventory {
    pub(super) items: Vec<Item>,
    pub(super) images: Images,
    /// Bytes of the layers of all images, each once.
    pub(super) image_bytes: u64,
    /// Bytes of those that nothing needs.
    pub(super) removable_image_bytes: u64,
}

/// Images and layers, as they belong together.
pub(super) struct Images {
    pub(super) images: Vec<Image>,
    /// Layers of images that must stay, and of live sandboxes.
    pub(super) needed: BTreeSet<LayerId>,
    pub(super) sizes: HashMap<LayerId, u64>,
}

impl Inventory {
    /// Bytes of everything.
    pub(super) fn size(&self) -> u64 {
        let others = self.items.iter().filter(|item| item.entry.kind != Kind::Image);
        self.image_bytes + others.map(|item| item.entry.size).sum::<u64>()
    }

    /// Bytes that go with the entries `chosen`.
    pub(super) fn freed(&self, chosen: &[usize]) -> u64 {
        let entries = chosen.iter().map(|index| &self.items[*index].entry);
        let others = entries.filter(|entry| entry.kind != Kind::Image).map(|entry| entry.size).sum::<u64>();
        let layers = self.freed_layers(chosen);
        others + layers.iter().filter_map(|layer| self.images.sizes.get(layer)).sum::<u64>()
    }

    /// The images among the entries `chosen`.
    pub(super) fn images_among(&self, chosen: &[usize]) -> BTreeSet<&ImageId> {
        let image = |index: &usize| match &self.items[*index].target {
            Target::Image(id) => Some(id),
            _ => None,
        };
        chosen.iter().filter_map(image).collect()
    }

    /// Layers that only images among `chosen` have, and that nothing needs.
    pub(super) fn freed_layers(&self, chosen: &[usize]) -> BTreeSet<LayerId> {
        let gone = self.images_among(chosen);
        let (gone, left): (Vec<&Image>, Vec<&Image>) =
            self.images.images.iter().partition(|image| gone.contains(&image.id));
        let kept: BTreeSet<&LayerId> = left.into_iter().flat_map(|image| &image.layers).collect();
        let layers = gone.into_iter().flat_map(|image| &image.layers);
        layers
            .filter(|layer| !kept.contains(layer) && !self.images.needed.contains(*layer))
            .cloned()
            .collect()
    }
}

/// What is needed, and what there is, at this moment.
pub(super) struct NeededNow {
    claims: Claims,
    stored: Vec<StoredImage>,
    layers: BTreeSet<LayerId>,
}

/// Looks at local templates, live sandboxes and images again, without measuring anything.
pub(super) fn needed_now(context: &Context) -> Result<NeededNow, Error> {
    let store = context.store();
    let claims = Claims::of(context, &store)?;
    let stored = store.stored_images()?;
    let mut layers = claims.layers.clone();
    for stored in stored.iter().filter(|stored| claims.needed(&stored.id).is_some()) {
        layers.extend(stored.image.iter().flat_map(|image| image.layers.clone()));
    }
    Ok(NeededNow { claims, stored, layers })
}

impl NeededNow {
    /// Whether something that was of no use before `begun` must stay all the same.
    pub(super) fn covers(&self, target: &Target, begun: u64) -> bool {
        match target {
            Target::Image(id) => self.stored.iter().filter(|stored| stored.id == *id).any(|stored| {
                let built_on = |image: &Image| image.layers.iter().all(|layer| self.layers.contains(layer));
                self.claims.needed(id).is_some()
                    || seconds(stored.used) > begun
                    || stored.image.as_ref().is_some_and(built_on)
            }),
            Target::Layer(id) => self.has(id, &BTreeSet::new()),
            Target::Path(_) | Target::Staging => false,
        }
    }

    /// Whether a layer is needed, or part of an image that is not among `gone`.
    pub(super) fn has(&self, layer: &LayerId, gone: &BTreeSet<&ImageId>) -> bool {
        let left = self.stored.iter().filter(|stored| !gone.contains(&stored.id));
        self.layers.contains(layer)
            || left.filter_map(|stored| stored.image.as_ref()).any(|image| image.layers.contains(layer))
    }

    /// Whether a live sandbox has it below its feet.
    pub(super) fn runs_on(&self, target: &Target) -> bool {
        matches!(target, Target::Layer(id) if self.claims.layers.contains(id))
    }
}

/// Looks at everything. Blocks.
pub(super) fn inventory(context: &Context) -> Result<Inventory, Error> {
    let mut items = sources(context)?;
    let (images, of_images) = images(context)?;
    items.extend(of_images);
    items.extend(files(context, "store/cache", Kind::Download));
    items.extend(files(context, "logs", Kind::Log));
    items.extend(leftovers(context));
    let all: BTreeSet<&LayerId> = images.images.iter().flat_map(|image| &image.layers).collect();
    let bytes = |layer: &&LayerId| images.sizes.get(*layer).copied().unwrap_or(0);
    let image_bytes = all.iter().map(bytes).sum();
    let removable = all.iter().filter(|layer| !images.needed.contains(**layer));
    let removable_image_bytes = removable.map(bytes).sum();
    Ok(Inventory { items, images, image_bytes, removable_image_bytes })
}

/// Repositories and archives.
fn sources(context: &Context) -> Result<Vec<Item>, Error> {
    let root = context.home.store("packages");
    let cached = abx_source::cached(&context.home).map_err(Error::state(&root))?;
    let sizes = measure_all(&cached.iter().map(|cached| &cached.path).collect::<Vec<_>>());
    Ok(cached.into_iter().zip(sizes).map(|(cached, (size, _))| source(cached, size)).collect())
}

fn source(cached: Cached, size: u64) -> Item {
    let (kind, name, origin, commit, refs) = match cached.origin {
        CachedOrigin::Repository { host, repository, commit, refs } => {
            (Kind::Repository, repository, Some(host), Some(commit), refs)
        }
        CachedOrigin::Archive { file, sha256 } => {
            let name = Path::new(&file).file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_else(|| short(&sha256).to_owned());
            (Kind::Archive, name, Some(file), None, Vec::new())
        }
    };
    let kind = if cached.made.is_some() { kind } else { Kind::Leftover };
    let entry = Entry {
        kind,
        name,
        size,
        shared: 0,
        made: cached.made,
        used: cached.used.map(seconds),
        origin,
        commit,
        refs,
        needed: None,
        id: cached.path.display().to_string(),
    };
    Item { entry, target: Target::Path(cached.path) }
}

/// What is called how, and by whom it is needed.
struct Claims {
    /// Names of local templates, by image.
    local: BTreeMap<ImageId, Vec<String>>,
    /// Names of bases and of registries, by image.
    names: BTreeMap<ImageId, Vec<String>>,
    /// Live sandboxes, by image.
    sandboxes: BTreeMap<ImageId, Vec<String>>,
    /// Layers that live sandboxes run on.
    layers: BTreeSet<LayerId>,
}

impl Claims {
    fn of(context: &Context, store: &ImageStore) -> Result<Self, Error> {
        let mut claims = Self {
            local: BTreeMap::new(),
            names: store.image_names()?,
            sandboxes: BTreeMap::new(),
            layers: BTreeSet::new(),
        };
        for tag in store.list()? {
            claims.local.entry(tag.image).or_default().push(format!("{}:{}", tag.name, tag.tag));
        }
        for found in abx_engine::list_live(&context.home)? {
            let settings = found.record.settings;
            let shown = settings.name.unwrap_or_else(|| found.record.id.to_string());
            claims.sandboxes.entry(ImageId(settings.image)).or_default().push(shown);
            let ids = settings.layers.iter().filter_map(|fs| fs.parent()?.file_name()?.to_str());
            claims.layers.extend(ids.map(|id| LayerId(id.to_owned())));
        }
        Ok(claims)
    }

    fn needed(&self, id: &ImageId) -> Option<String> {
        let list = |what: &str, names: &Vec<String>| format!("{what} {}", names.join(", "));
        let local = self.local.get(id).map(|names| list("local template", names));
        let sandboxes = self.sandboxes.get(id).map(|names| list("sandbox", names));
        match (local, sandboxes) {
            (Some(local), Some(sandboxes)) => Some(format!("{local}; {sandboxes}")),
            (local, sandboxes) => local.or(sandboxes),
        }
    }
}

/// Images, and layers that no image has.
fn images(context: &Context) -> Result<(Images, Vec<Item>), Error> {
    let store = context.store();
    let claims = Claims::of(context, &store)?;
    let (stored, layers) = (store.stored_images()?, store.stored_layers()?);
    let paths: Vec<PathBuf> = layers.iter().map(|layer| store.layer_path(&layer.id)).collect();
    let measured = layers.iter().map(|layer| layer.id.clone()).zip(measure_all(&paths).into_iter());
    let sizes: HashMap<LayerId, u64> = measured.map(|(id, (size, _))| (id, size)).collect();
    let mut users: HashMap<&LayerId, usize> = HashMap::new();
    for layer in stored.iter().filter_map(|image| image.image.as_ref()).flat_map(|image| distinct(image)) {
        *users.entry(layer).or_default() += 1;
    }
    let mut needed = claims.layers.clone();
    let mut items = Vec::new();
    for image in &stored {
        let item = image_item(image, &stored, &claims, &sizes, &users);
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
    for layer in &layers {
        if users.contains_key(&layer.id) {
            continue;
        }
        let size = sizes.get(&layer.id).copied().unwrap_or(0);
        let made = layer.record.as_ref().map(|record| record.created);
        let name = layer.record.as_ref().map_or("half a layer", |record| record.created_by.as_str());
        let entry = Entry {
            kind: if layer.record.is_some() { Kind::Layer } else { Kind::Leftover },
            needed: needed.contains(&layer.id).then(|| "a sandbox".to_owned()),
            ..plain(name.to_owned(), size, made, layer.id.0.clone())
        };
        items.push(Item { entry, target: Target::Layer(layer.id.clone()) });
    }
    let images = stored.into_iter().filter_map(|image| image.image).collect();
    Ok((Images { images, needed, sizes }, items))
}

fn image_item(
    stored: &StoredImage,
    all: &[StoredImage],
    claims: &Claims,
    sizes: &HashMap<LayerId, u64>,
    users: &HashMap<&LayerId, usize>,
) -> Item {
    let id = &stored.id;
    let target = Target::Image(id.clone());
    let Some(image) = &stored.image else {
        let name = format!("a damaged record, {}", short(&id.0));
        let entry = Entry { kind: Kind::Leftover, ..plain(name, 0, None, id.0.clone()) };
        return Item { entry, target };
    };
    let bytes = |layer: &LayerId| sizes.get(layer).copied().unwrap_or(0);
    let (own, shared): (Vec<_>, Vec<_>) =
        distinct(image).into_iter().partition(|layer| users.get(layer) == Some(&1));
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

/// What lies in a folder of the home, one entry each; caches of templates are one level deeper.
fn files(context: &Context, folder: &str, kind: Kind) -> Vec<Item> {
    let root = context.home.root().join(folder);
    let mut found: Vec<(String, PathBuf)> = named(&root);
    let own = named(&root.join("own"));
    found.retain(|(name, _)| name != "own");
    found.extend(own.into_iter().map(|(name, path)| (format!("own/{name}"), path)));
    let sizes = measure_all(&found.iter().map(|(_, path)| path).collect::<Vec<_>>());
    let item = |((name, path), (size, newest)): ((String, PathBuf), (u64, Option<u64>))| {
        let id = path.display().to_string();
        let entry = Entry { kind, used: newest, ..plain(name, size, None, id) };
        Item { entry, target: Target::Path(path) }
    };
    found.into_iter().zip(sizes).map(item).collect()
}

/// Directories of the store in the making whose makers are gone.
fn leftovers(context: &Context) -> Vec<Item> {
    let root = context.home.store("staging");
    let abandoned = |path: &Path| !Lock::is_held(&path.with_extension("lock"));
    let found: Vec<PathBuf> = named(&root)
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| path.is_dir() && abandoned(path))
        .collect();
    let sizes = measure_all(&found);
    let item = |(path, (size, newest)): (PathBuf, (u64, Option<u64>))| {
        let entry = Entry {
            kind: Kind::Leftover,
            used: newest,
            ..plain("half an entry".to_owned(), size, None, path.display().to_string())
        };
        Item { entry, target: Target::Staging }
    };
    found.into_iter().zip(sizes).map(item).collect()
}

fn named(root: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    found.sort_unstable();
    found
}

fn plain(name: String, size: u64, made: Option<u64>, id: String) -> Entry {
    Entry {
        kind: Kind::Leftover,
        name,
        size,
        shared: 0,
        made,
        used: None,
        origin: None,
        commit: None,
        refs: Vec::new(),
        needed: None,
        id,
    }
}

/// As much of an id as tells it from others.
pub(super) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

//! From a release's name to its image.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use abx_core::progress::{self, Unit};
use abx_core::{Event, Progress};
use abx_image::{Image, ImageConfig, ImageStore, LayerId, LayerRecord, Origin, StagedLayer};

use crate::architecture::Architecture;
use crate::archive::{Archive, KeptSuite, Suite};
use crate::closure::closure;
use crate::configure::{self, Unconfigured};
use crate::digest::sha256_hex;
use crate::download::{Downloads, Wanted, blocking, shown};
use crate::error::DebianError;
use crate::index::{Entry, Index, IndexText};
use crate::keyring::Keyring;
use crate::packages::{Package, unpack_all};
use crate::release::Release;
use crate::rooted::Rooted;
use crate::settings::{BootstrapSettings, Mirrors};
use crate::slim::{PathRules, SLIM, WHOLE};
use crate::state::{State, StateFile};
use crate::unpack::settle_directories;
use crate::{database, layout, tidy};

/// Counts up whenever the same packages would give another root, so that stored layers are made anew.
const RECIPE: u32 = 1;

/// The image of `release`, made from the distribution's archive.
///
/// 1. An image that was made or found current less than `max_age` ago is reused as it is.
/// 2. The suites' release files are fetched and verified; an image made from the same ones is reused.
/// 3. Their package indexes give the packages of a base system, in their newest versions.
/// 4. These packages, the recipe and the settings give the layer's id; a layer of that id is reused.
/// 5. Packages are fetched, checked and unpacked at the same time, then configured in a namespace.
/// 6. What must not stay in an image goes, and the layer is published.
///
/// A failure leaves the store as it was; verified downloads stay in the cache. Where the network fails and an
/// older image is there, that one is used with a warning. A bad signature is never a reason to fall back.
pub async fn bootstrap(
    release: &Release,
    settings: &BootstrapSettings,
    progress: &dyn Progress,
) -> Result<Image, DebianError> {
    let bootstrap = Bootstrap::new(release, settings, progress)?;
    let known = bootstrap.known()?;
    if let Some((state, image)) = &known
        && (settings.offline || state.is_fresh(bootstrap.now, settings.max_age))
    {
        return Ok(image.clone());
    }
    match (bootstrap.renew(known.as_ref()).await, known) {
        (Err(error), Some((state, image))) if error.is_network() => {
            let days = bootstrap.now.saturating_sub(state.checked) / (24 * 60 * 60);
            progress.event(Event::Warning(format!(
                "{error}; using the debian {release} that was current {days} days ago"
            )));
            Ok(image)
        }
        (result, _) => result,
    }
}

/// What the archive has of `release` now: what [`bootstrap()`] would make an image of, without making it. Fetches
/// release files and package lists; offline those that the last bootstrap kept.
pub async fn survey(
    release: &Release,
    settings: &BootstrapSettings,
    progress: &dyn Progress,
) -> Result<Survey, DebianError> {
    let bootstrap = Bootstrap::new(release, settings, progress)?;
    let plan = bootstrap.plan(bootstrap.suites().await?).await?;
    Ok(Survey { release: release.to_string(), date: plan.newest(), packages: plan.packages() })
}

/// One state of a release in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    pub release: String,
    /// The date of the newest of its signed release files.
    pub date: String,
    /// `name=version`, by name.
    pub packages: Vec<String>,
}

/// What every stage of one bootstrap shares.
pub(crate) struct Bootstrap<'a> {
    release: &'a Release,
    settings: &'a BootstrapSettings,
    progress: &'a dyn Progress,
    store: ImageStore,
    state_file: StateFile,
    architecture: Architecture,
    pub(crate) downloads: Downloads,
    mirrors: Mirrors,
    keyring: Keyring,
    now: u64,
}

/// The packages a release comes to.
pub(crate) struct Plan {
    pub(crate) suites: Vec<Suite>,
    pub(crate) packages: Vec<Package>,
}

impl<'a> Bootstrap<'a> {
    pub(crate) fn new(
        release: &'a Release,
        settings: &'a BootstrapSettings,
        progress: &'a dyn Progress,
    ) -> Result<Self, DebianError> {
        let architecture = Architecture::of_host()?;
        let client = abx_image::http::client(&settings.host)?;
        let mut keyring = Keyring::debian();
        for path in &settings.keyrings {
            keyring.add_file(path)?;
        }
        Ok(Self {
            release,
            settings,
            progress,
            store: ImageStore::open(&settings.home),
            state_file: StateFile::new(release, architecture.debian, settings),
            architecture,
            downloads: Downloads::new(client, settings.home.cache("debs"), settings.offline),
            mirrors: settings.mirrors(),
            keyring,
            now: seconds_now(),
        })
    }

    /// The image the last bootstrap gave, if it is still in the store.
    fn known(&self) -> Result<Option<(State, Image)>, DebianError> {
        let Some(state) = self.state_file.load() else { return Ok(None) };
        Ok(self.store.image(&state.image)?.map(|image| (state, image)))
    }

    async fn renew(&self, known: Option<&(State, Image)>) -> Result<Image, DebianError> {
        let suites = self.suites().await?;
        let kept: Vec<_> = suites.iter().map(KeptSuite::from).collect();
        if let Some((_, image)) = known.filter(|(state, _)| state.suites == kept) {
            self.remember(kept, image)?;
            return Ok(image.clone());
        }
        let plan = self.plan(suites).await?;
        let layer = self.layer(&plan).await?;
        let image = self.store.put_image(vec![layer], self.config(), self.origin(&plan))?;
        self.progress.event(Event::Note(format!(
            "debian {} comes from the archive at {} ({} packages)",
            self.release,
            shown(&self.mirrors.archive),
            plan.packages.len()
        )));
        self.remember(kept, &image)?;
        Ok(image)
    }

    /// The release files: the mirror's, or offline those of the last bootstrap.
    pub(crate) async fn suites(&self) -> Result<Vec<Suite>, DebianError> {
        let archive = self.archive();
        if !self.settings.offline {
            let base = shown(&self.mirrors.archive);
            let label = format!("debian {} from {base}", self.release);
            let task = progress::start(self.progress, label, None, Unit::Items);
            let suites = archive.suites(self.release).await?;
            task.finish(suites.first().map(|suite| suite.release_file.date_text.clone()).unwrap_or_default());
            return Ok(suites);
        }
        let kept = self.state_file.load().map(|state| state.suites).unwrap_or_default();
        let suites = archive.kept_suites(self.release, &kept).await?;
        suites.ok_or_else(|| DebianError::Offline { release: self.release.to_string() })
    }

    /// Decides on the packages.
    pub(crate) async fn plan(&self, suites: Vec<Suite>) -> Result<Plan, DebianError> {
        let texts = self.archive().indexes(&suites, self.progress).await?;
        let mirrors = self.mirrors.clone();
        // An image whose apt speaks https needs something to check certificates with.
        let https = self.settings.public_mirrors().archive.starts_with("https:");
        let also: &[&str] = if https { &["ca-certificates"] } else { &[] };
        let packages = blocking(move || choose(&texts, also, &mirrors)).await?;
        Ok(Plan { suites, packages })
    }

    /// The layer of these packages: the store's, or a new one.
    async fn layer(&self, plan: &Plan) -> Result<LayerId, DebianError> {
        let id = self.layer_id(plan);
        let (store, wanted) = (self.store.clone(), id.clone());
        let _lock = blocking(move || store.lock_layer(&wanted)).await?;
        if self.store.has_layer(&id) {
            return Ok(id);
        }
        let staged = self.store.begin_layer()?;
        self.make(&staged, plan).await?;
        let record = LayerRecord::new(format!("debian {} from its archive", self.release));
        Ok(staged.publish(id, &record)?)
    }

    async fn make(&self, staged: &StagedLayer, plan: &Plan) -> Result<(), DebianError> {
        let started = seconds_now();
        let date = plan.date();
        let root = Arc::new(Rooted::open(&staged.fs()).map_err(DebianError::file("open", &staged.fs()))?);
        layout::merge_usr(&root, self.architecture)?;
        let packages =
            unpack_all(&self.downloads, &plan.packages, &root, self.rules(), self.progress).await?;
        settle_directories(&root, &packages)?;
        database::write(&root, &packages)?;
        layout::write_settings(&root, self.release, self.rules(), &self.settings.public_mirrors())?;
        let unconfigured = Unconfigured {
            root: staged.fs(),
            work: staged.work(),
            packages: &packages,
            release: self.release.to_string(),
            date,
            helper: &self.settings.helper,
        };
        configure::configure(&unconfigured, self.progress).await?;
        layout::make_manual_sections(&root)?;
        let path = staged.fs();
        blocking(move || {
            tidy::tidy(&path)?;
            tidy::settle(&path, started, date)
        })
        .await
    }

    fn archive(&self) -> Archive<'_> {
        Archive {
            downloads: &self.downloads,
            mirrors: &self.mirrors,
            keyring: &self.keyring,
            now: self.now,
            architecture: self.architecture.debian,
        }
    }

    fn rules(&self) -> &'static PathRules {
        if self.release.slim { &SLIM } else { &WHOLE }
    }

    /// Over everything the layer's content follows from.
    fn layer_id(&self, plan: &Plan) -> LayerId {
        let packages: Vec<_> = plan
            .packages
            .iter()
            .map(|package| (&package.name, &package.version, package.wanted.checksum.sha256()))
            .collect();
        let made_of = (
            ("debian", RECIPE, self.release.to_string(), self.architecture.debian),
            self.settings.public_mirrors().archive,
            plan.date(),
            packages,
        );
        LayerId(sha256_hex(&serde_json::to_vec(&made_of).expect("plain data")))
    }

    /// What the images of registries say of the same release.
    fn config(&self) -> ImageConfig {
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        ImageConfig {
            architecture: self.architecture.oci.to_owned(),
            env: vec![("PATH".to_owned(), path.to_owned())],
            cmd: vec!["bash".to_owned()],
            history: vec![format!("debian {} from its archive", self.release)],
            ..ImageConfig::default()
        }
    }

    fn origin(&self, plan: &Plan) -> Origin {
        Origin::Archive { release: self.release.to_string(), date: plan.newest(), packages: plan.packages() }
    }

    fn remember(&self, suites: Vec<KeptSuite>, image: &Image) -> Result<(), DebianError> {
        // Offline nothing was asked, so the record's age must stay.
        if self.settings.offline {
            return Ok(());
        }
        self.state_file.save(&State { checked: self.now, suites, image: image.id.clone() })
    }
}

impl Plan {
    /// The date of the release itself: that of its last point release.
    fn date(&self) -> u64 {
        self.suites.first().map_or(0, |suite| suite.release_file.date)
    }

    /// The date of the newest release file, as that has it.
    fn newest(&self) -> String {
        let newest = self.suites.iter().max_by_key(|suite| suite.release_file.date);
        newest.map(|suite| suite.release_file.date_text.clone()).unwrap_or_default()
    }

    /// `name=version`, by name.
    fn packages(&self) -> Vec<String> {
        self.packages.iter().map(|package| format!("{}={}", package.name, package.version)).collect()
    }
}

/// The packages of a base system, by name.
fn choose(texts: &[IndexText], also: &[&str], mirrors: &Mirrors) -> Result<Vec<Package>, DebianError> {
    let index = Index::read(texts);
    let chosen = closure(&index, also).map_err(|missing| DebianError::NoPackage {
        package: missing.package,
        needed_by: missing.needed_by,
    })?;
    chosen.values().map(|entry| package(entry, mirrors)).collect()
}

fn package(entry: &Entry<'_>, mirrors: &Mirrors) -> Result<Package, DebianError> {
    let (Some(path), Some(checksum)) = (entry.filename(), entry.checksum()) else {
        let reason = "its place in the archive or its checksum cannot be read".to_owned();
        return Err(DebianError::Package { package: entry.name.to_owned(), reason });
    };
    Ok(Package {
        name: entry.name.to_owned(),
        version: entry.version.to_owned(),
        wanted: Wanted {
            subject: format!("the package {} {}", entry.name, entry.version),
            url: format!("{}/{path}", mirrors.base(entry.part)),
            checksum,
        },
    })
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

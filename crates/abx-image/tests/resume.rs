//! Large blobs are gone on with by the next process.

use std::path::PathBuf;

use abx_core::{Home, Silent};
use abx_image::{Image, ImageError, ImageStore, Platform, RegistrySettings, pull};
use abx_test::registry::{LoopbackRegistry, Trick, digest};
use serde_json::json;

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
/// Enough to be worth keeping.
const LENGTH: usize = 9 << 20;

struct Context {
    _dir: tempfile::TempDir,
    store: ImageStore,
    registry: LoopbackRegistry,
    blob: String,
}

impl Context {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            abx_test::skip("owners need root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let store = ImageStore::open(&Home::new(dir.path().join("home")));
        let registry = LoopbackRegistry::start();
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        let data = vec![b'x'; LENGTH];
        header.set_size(LENGTH as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, "file", &data[..]).expect("append");
        let layer = builder.into_inner().expect("finish");
        let config = json!({ "architecture": "amd64", "os": "linux" });
        registry.put_image("team/app", "1", &config, &[(TAR, &layer, digest(&layer))]);
        let blob = digest(&layer);
        Some(Self { _dir: dir, store, registry, blob })
    }

    fn pull(&self) -> Result<Image, ImageError> {
        let name = format!("{}/team/app:1", self.registry.host());
        let platform = Platform::parse("linux/amd64").expect("a platform");
        let settings = RegistrySettings::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(pull(&self.store, &name, &platform, &settings, &Silent))
    }

    fn assert_pulled(&self) {
        let image = self.pull().expect("pull");
        let file = self.store.layer_path(&image.layers[0]).join("file");
        assert_eq!(std::fs::metadata(file).expect("there").len(), LENGTH as u64);
        assert_eq!(self.kept().map(|path| path.exists()), None, "what has served is removed");
    }

    /// The beginning that is kept.
    fn kept(&self) -> Option<PathBuf> {
        let mut entries = std::fs::read_dir(self.store.home().store("partial")).ok()?;
        Some(entries.next()?.expect("an entry").path())
    }

    /// Where the requests for the blob began.
    fn ranges(&self) -> Vec<String> {
        let requests = self.registry.requests();
        let blob = requests.iter().filter(|request| request.path.contains(&self.blob));
        blob.map(|request| request.header("range").cloned().unwrap_or_default()).collect()
    }

    /// A pull that the registry lets get so far, and no further.
    fn cut_short(&self, at: usize) {
        self.registry.play(self.blob.clone(), Trick::CutAfter(at), 1);
        self.registry.play(self.blob.clone(), Trick::Status(404), 1);
        self.pull().expect_err("cut short");
    }
}

#[test]
fn a_blob_is_gone_on_with_where_it_broke_off() {
    let Some(context) = Context::new() else { return };
    context.cut_short(5 << 20);
    assert_eq!(std::fs::read_dir(context.store.home().store("staging")).map_or(0, Iterator::count), 0);
    let kept = context.kept().expect("a beginning").metadata().expect("there").len();
    assert_eq!(kept, 5 << 20);
    context.assert_pulled();
    assert_eq!(context.ranges().last(), Some(&format!("bytes={kept}-")));
}

#[test]
fn a_beginning_that_is_wrong_costs_a_second_fetch_and_nothing_else() {
    let changes: [fn(&mut Vec<u8>); 3] =
        [|bytes| bytes[1000] ^= 1, |bytes| bytes.resize(LENGTH * 2, 0), |bytes| bytes[..512].fill(b'?')];
    for change in changes {
        let Some(context) = Context::new() else { return };
        context.cut_short(5 << 20);
        let kept = context.kept().expect("a beginning");
        let mut bytes = std::fs::read(&kept).expect("read");
        change(&mut bytes);
        std::fs::write(&kept, bytes).expect("write");
        context.assert_pulled();
        assert_eq!(context.ranges().last(), Some(&String::new()), "from the start");
    }
}

#[test]
fn a_registry_without_ranges_begins_at_the_beginning() {
    let Some(context) = Context::new() else { return };
    context.cut_short(5 << 20);
    context.registry.play(context.blob.clone(), Trick::IgnoreRange, 1);
    context.assert_pulled();
}

#[test]
fn a_beginning_nobody_wants_goes_after_some_days() {
    let Some(context) = Context::new() else { return };
    context.cut_short(5 << 20);
    let kept = context.kept().expect("a beginning");
    context.store.sweep().expect("sweep");
    assert!(kept.exists());
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(4 * 24 * 3600);
    std::fs::File::options().append(true).open(&kept).and_then(|file| file.set_modified(old)).expect("age");
    context.store.sweep().expect("sweep");
    assert!(!kept.exists());
}

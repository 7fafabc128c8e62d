use std::io::Write;
use std::path::{Path, PathBuf};

use abx_core::{Code, Fault, Home, Silent};

use crate::tarball::Writer;
use crate::{
    ExportOptions, Image, ImageConfig, ImageError, ImageStore, LayerId, LayerRecord, Origin, Platform,
};

/// Two stores, and an image of two layers in the first.
struct World {
    dir: tempfile::TempDir,
    image: Image,
}

fn world() -> Option<World> {
    if !rustix::process::geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "skipped: unpacking gives files away, which needs root");
        return None;
    }
    let dir = tempfile::tempdir().expect("tempdir");
    let store = ImageStore::open(&Home::new(dir.path().join("one")));
    let layer = |id: &str, file: &str, content: &str| {
        let staged = store.begin_layer().expect("begin");
        std::fs::write(staged.fs().join(file), content).expect("write");
        staged.publish(LayerId(id.repeat(64)), &LayerRecord::new(file)).expect("publish")
    };
    let layers = vec![layer("a", "one", "1"), layer("b", "two", &"2".repeat(9000))];
    let mut config = ImageConfig { architecture: Platform::host().architecture, ..ImageConfig::default() };
    config.set_env("A", "b");
    config.history = vec!["first".into(), "second".into()];
    let origin = Origin::Registry { name: "x".into(), digest: "y".into() };
    let image = store.put_image(layers, config, origin).expect("image");
    Some(World { dir, image })
}

impl World {
    fn one(&self) -> ImageStore {
        ImageStore::open(&Home::new(self.dir.path().join("one")))
    }

    fn other(&self) -> ImageStore {
        ImageStore::open(&Home::new(self.dir.path().join("other")))
    }

    fn exported(&self) -> PathBuf {
        let path = self.dir.path().join("image.tar");
        let options = ExportOptions { gzip: true };
        self.one().export_oci_file(&self.image, &["x:1"], options, &path).expect("export");
        path
    }

    fn laid_out(&self) -> Vec<u8> {
        let layout = self.one().layout(&self.image, &["x:1"], &Silent).expect("layout");
        let mut archive = Writer::new(Vec::new());
        layout.write(&mut archive).expect("write");
        archive.finish().expect("finish")
    }
}

fn import(store: &ImageStore, path: &Path) -> Result<Image, ImageError> {
    Ok(store.import_oci(path, None, None, &Silent)?.image)
}

/// No layer is left of what was refused.
fn layers(store: &ImageStore) -> usize {
    std::fs::read_dir(store.home().store("layers")).map_or(0, Iterator::count)
}

#[test]
fn what_was_exported_comes_back() {
    let Some(world) = world() else { return };
    let other = world.other();
    let image = import(&other, &world.exported()).expect("import");
    assert_eq!(image.layers.len(), 2);
    assert_eq!((image.config.env("A"), &image.config.history), (Some("b"), &world.image.config.history));
    for (layer, file, content) in
        [(&image.layers[0], "one", "1".to_owned()), (&image.layers[1], "two", "2".repeat(9000))]
    {
        let found = std::fs::read_to_string(other.layer_path(layer).join(file)).expect("file");
        assert_eq!(found, content);
    }
    // In zstd, with the documents first: the same image.
    let laid_out = world.dir.path().join("layout.tar");
    std::fs::write(&laid_out, world.laid_out()).expect("write");
    assert_eq!(import(&other, &laid_out).expect("import").id, image.id);
    assert_eq!(layers(&other), 2);
}

#[test]
fn the_same_image_gives_the_same_layout() {
    let Some(world) = world() else { return };
    assert!(world.laid_out() == world.laid_out());
}

#[test]
fn what_was_changed_or_cut_is_refused_by_its_name() {
    let Some(world) = world() else { return };
    let whole = world.laid_out();
    let at = |needle: &[u8]| whole.windows(needle.len()).position(|found| found == needle).expect("there");
    let changed = |position: usize| {
        let mut bytes = whole.clone();
        bytes[position] ^= 1;
        bytes
    };
    // The last byte of the second layer: a checksum's, or of compressed data.
    let data = whole.iter().rposition(|byte| *byte != 0).expect("data");
    let rows: [(&str, Vec<u8>, Code); 5] = [
        ("a layer's data", changed(data), Code::DigestMismatch),
        ("the configuration", changed(at(b"diff_ids")), Code::DigestMismatch),
        ("cut within a layer", whole[..data].to_vec(), Code::ArchiveUnsafe),
        ("cut within a header", whole[..700].to_vec(), Code::ArchiveUnsafe),
        ("no archive", b"<!DOCTYPE html>".to_vec(), Code::ArchiveUnsafe),
    ];
    for (name, bytes, code) in rows {
        let path = world.dir.path().join("bad.tar");
        std::fs::write(&path, bytes).expect("write");
        let store = ImageStore::open(&Home::new(world.dir.path().join(name)));
        let error = import(&store, &path).expect_err(name);
        assert_eq!(error.code(), code, "{name}: {error}");
        let left = std::fs::read_dir(store.home().store("staging")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{name}");
    }
}

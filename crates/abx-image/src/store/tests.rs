use super::*;
use crate::{ImageConfig, ImageId, LayerId, Origin};
use tempfile::TempDir;

fn store() -> (TempDir, ImageStore) {
    let dir = tempfile::tempdir().expect("tempdir");
    let store = ImageStore::open(&Home::new(dir.path().join("home")));
    (dir, store)
}

fn id(letter: char) -> LayerId {
    LayerId(letter.to_string().repeat(64))
}

fn put_layer(store: &ImageStore, id: &LayerId, content: &str) {
    let staged = store.begin_layer().expect("begin");
    std::fs::write(staged.fs().join("file"), content).expect("write");
    staged.publish(id.clone(), &LayerRecord::new("test")).expect("publish");
}

fn origin() -> Origin {
    Origin::Registry { name: "debian:bookworm-slim".into(), digest: "sha256:0".into() }
}

#[test]
fn opening_touches_nothing() {
    let (dir, store) = store();
    assert!(!store.has_layer(&id('a')));
    assert_eq!(store.lookup("base", "latest").expect("lookup"), None);
    assert_eq!(store.list().expect("list"), []);
    assert_eq!(store.sweep().expect("sweep"), Swept::default());
    assert!(!dir.path().join("home").exists());
}

#[test]
fn a_layer_appears_whole_and_the_first_of_two_stays() {
    let (dir, store) = store();
    let staged = store.begin_layer().expect("begin");
    assert!(staged.fs().is_dir() && staged.work().is_dir());
    assert!(!store.has_layer(&id('a')));
    drop(staged);
    put_layer(&store, &id('a'), "first");
    put_layer(&store, &id('a'), "second");
    assert!(store.has_layer(&id('a')));
    assert_eq!(store.layer(&id('a')).expect("read").expect("there").created_by, "test");
    assert_eq!(std::fs::read(store.layer_path(&id('a')).join("file")).expect("read"), b"first");
    let size = store.layer_size(&id('a')).expect("size");
    assert!(size >= 4096);
    for _ in 0..2 {
        assert_eq!(
            store.layers_size(&[id('a'), id('a')]).expect("size"),
            size,
            "once, and as it was measured"
        );
    }
    let left = std::fs::read_dir(dir.path().join("home/store/staging")).expect("list").count();
    assert_eq!(left, 0, "staging is empty");
}

#[test]
fn a_half_entry_does_not_count_is_replaced_and_is_swept() {
    let (_dir, store) = store();
    for letter in ['a', 'b'] {
        std::fs::create_dir_all(store.layer_path(&id(letter)).join("half")).expect("mkdir");
        assert!(!store.has_layer(&id(letter)));
    }
    put_layer(&store, &id('a'), "whole");
    assert!(store.has_layer(&id('a')));
    assert_eq!(store.sweep().expect("sweep"), Swept { staging: 0, half: 1 });
    assert!(!store.layer_path(&id('b')).exists());
    assert!(store.has_layer(&id('a')));
}

#[test]
fn an_id_that_is_a_path_is_refused() {
    let (_dir, store) = store();
    let hostile = LayerId("../../etc".into());
    assert!(!store.has_layer(&hostile));
    assert!(store.lock_layer(&hostile).is_err());
    let staged = store.begin_layer().expect("begin");
    assert!(staged.publish(hostile, &LayerRecord::new("test")).is_err());
    assert_eq!(store.image(&ImageId("../x".into())).expect("read"), None);
}

#[test]
fn an_image_needs_its_layers() {
    let (_dir, store) = store();
    assert!(store.put_image(vec![id('a')], ImageConfig::default(), origin()).is_err());
    put_layer(&store, &id('a'), "1");
    let image = store.put_image(vec![id('a')], ImageConfig::default(), origin()).expect("put");
    assert_eq!(store.image(&image.id).expect("read").as_ref(), Some(&image));
    let mut other = ImageConfig::default();
    other.set_env("A", "1");
    assert_ne!(store.put_image(vec![id('a')], other, origin()).expect("put").id, image.id);
    std::fs::remove_dir_all(store.layer_path(&id('a')).parent().expect("entry")).expect("remove");
    assert_eq!(store.image(&image.id).expect("read"), None);
}

#[test]
fn names_of_any_text_come_back() {
    let (dir, store) = store();
    let image = ImageId("c".repeat(64));
    let names = ["base", "owner/repo", "../out", ".hidden", "50%", "größe"];
    for name in names {
        store.tag(name, "1.2.3", &image).expect("tag");
        assert_eq!(store.lookup(name, "1.2.3").expect("lookup"), Some(image.clone()));
    }
    let listed: Vec<_> = store.list().expect("list").into_iter().map(|tag| tag.name).collect();
    let mut expected = names.map(str::to_owned).to_vec();
    expected.sort();
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert!(!dir.path().join("out").exists());
}

#[test]
fn one_layer_is_made_by_one_at_a_time() {
    let (_dir, store) = store();
    let held = store.lock_layer(&id('a')).expect("lock");
    assert!(store.try_lock_layer(&id('a')).expect("try").is_none());
    assert!(store.try_lock_layer(&id('b')).expect("try").is_some());
    drop(held);
    assert!(store.try_lock_layer(&id('a')).expect("try").is_some());
}

/// The same store as a kernel booted later sees it, or the current one under another name.
fn booted(store: &ImageStore, boot: &str) -> ImageStore {
    let synced = std::fs::read_to_string(store.home().store("synced")).unwrap_or_default();
    let shared = Shared { boots: durable::Boots::new(boot, &synced).into(), ..Shared::default() };
    ImageStore { home: store.home().clone(), shared: shared.into(), epoch: None }
}

#[test]
fn a_layer_of_an_earlier_boot_counts_only_if_it_was_synced() {
    let (_dir, store) = store();
    let first = booted(&store, "first");
    put_layer(&first, &id('a'), "synced");
    first.sync(durable::uptime()).expect("sync");
    put_layer(&first, &id('b'), "cut off");
    assert!(first.has_layer(&id('a')) && first.has_layer(&id('b')));

    let second = booted(&store, "second");
    assert!(second.has_layer(&id('a')));
    assert!(!second.has_layer(&id('b')));
    assert!(second.layer(&id('b')).expect("read").is_none());
    put_layer(&second, &id('b'), "made again");
    assert_eq!(std::fs::read(second.layer_path(&id('b')).join("file")).expect("read"), b"made again");
    second.sync(durable::uptime()).expect("sync");

    let third = booted(&store, "third");
    assert!(third.has_layer(&id('a')) && third.has_layer(&id('b')));
    assert_eq!(third.sweep().expect("sweep").half, 0);
}

#[test]
fn what_a_power_cut_left_is_swept() {
    let (_dir, store) = store();
    let first = booted(&store, "first");
    put_layer(&first, &id('a'), "cut off");
    put_layer(&first, &id('b'), "cut off");
    std::fs::write(store.layers().join(&id('b').0).join("layer.json"), "").expect("an empty record");
    let second = booted(&store, "second");
    assert_eq!(second.sweep().expect("sweep"), Swept { staging: 0, half: 2 });
    assert!(!second.layer_path(&id('a')).exists());
}

#[test]
fn an_empty_tag_is_none() {
    let (_dir, store) = store();
    store.tag("base", "latest", &ImageId("c".repeat(64))).expect("tag");
    std::fs::write(store.home().store("names/base/latest"), "").expect("cut");
    assert_eq!(store.lookup("base", "latest").expect("lookup"), None);
}

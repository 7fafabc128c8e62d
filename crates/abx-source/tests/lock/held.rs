//! What is had as it was locked, and what has drifted.

use std::fs;

use abx_core::Fault;
use abx_source::lock::LockedKind;

use super::world::{ONE, TWO, World, debian, template};

#[tokio::test]
async fn a_lock_has_the_whole_lineage_and_nothing_of_this_machine() {
    let world = World::with_lineage();
    let lock = world.lock(debian()).await;
    let members: Vec<_> = lock
        .templates
        .iter()
        .map(|template| (template.reference.as_str(), template.kind, template.commit.as_deref()))
        .collect();
    assert_eq!(
        members,
        [
            (".", LockedKind::Directory, None),
            ("../near", LockedKind::Directory, None),
            ("o/r//child", LockedKind::Github, Some(ONE)),
            ("../parent", LockedKind::Directory, None),
        ]
    );
    assert_eq!(lock.templates[0].digest, None, "the template versions with its lock");
    assert!(lock.templates[1..].iter().all(|template| template.digest.is_some()));
    let text = lock.to_string();
    let folder = world.dir.path().to_string_lossy().into_owned();
    assert!(!text.contains(&folder) && !text.contains("127.0.0.1"), "{text}");
}

#[tokio::test]
async fn a_branch_that_moves_is_had_where_it_was_locked_without_asking() {
    let mut world = World::with_lineage();
    world.lock(debian()).await;
    world.put("HEAD", TWO, "second");
    world.settings.cache_ttl = std::time::Duration::ZERO;
    let asked = world.github.requests().len();
    let (lineage, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(context.checkouts[0].commit, ONE);
    assert_eq!(world.github.requests().len(), asked, "a locked commit is never asked for again");
    assert_eq!(lineage.locked, Some(debian()));
    assert_eq!(world.drift().await.expect("no lie"), "");
    // On a machine that has nothing, the commit is fetched, not the branch.
    fs::remove_dir_all(world.dir.path().join("home")).expect("remove");
    let (_, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(context.checkouts[0].commit, ONE);
    fs::remove_file(world.dir.path().join("mine/template.lock")).expect("remove");
    let (_, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(context.checkouts[0].commit, TWO);
}

#[tokio::test]
async fn what_cannot_be_held_is_named() {
    let world = World::with_lineage();
    world.lock(debian()).await;
    world.write("mine", &(template("mine", "{from: ../near}") + "network: {ports: [80]}\n"));
    assert_eq!(world.drift().await.expect("no lie"), "", "the template itself is free to change");
    world.write("near", &(template("near", "{from: \"o/r//child\"}") + "network: {ports: [80]}\n"));
    let drift = world.drift().await.expect("no lie");
    assert!(drift.starts_with("`../near`: locked sha256:"), "{drift}");
    world.write("mine", &template("mine", "{from: \"o/r//child\"}"));
    assert_eq!(
        world.drift().await.expect("no lie"),
        "the parent of `.`: locked `../near`, found `o/r//child`"
    );
    world.write("mine", &template("mine", "{image: \"debian:12\"}"));
    assert_eq!(world.drift().await.expect("no lie"), "the parent of `.`: locked `../near`, found no parent");
}

#[tokio::test]
async fn a_commit_with_another_content_is_a_lie() {
    let world = World::with_lineage();
    world.lock(debian()).await;
    fs::remove_dir_all(world.dir.path().join("home")).expect("remove");
    world.put("HEAD", ONE, "tampered with");
    let error = world.drift().await.expect_err("a lie");
    assert_eq!(error.code().as_str(), "E5022");
    assert!(error.to_string().contains("`o/r//child`"), "{error}");
}

#[tokio::test]
async fn a_range_keeps_the_tag_it_came_to() {
    let world = World::new();
    world.write("mine", &template("mine", "{from: \"o/r//child@^1\"}"));
    world.put("HEAD", ONE, "x");
    world.put("v1.0.0", ONE, "x");
    let lock = world.lock(debian()).await;
    assert_eq!(lock.templates[1].tag.as_deref(), Some("v1.0.0"));
    world.put("v1.1.0", TWO, "y");
    let (_, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(
        (context.checkouts[0].commit.as_str(), context.checkouts[0].chosen.as_deref()),
        (ONE, Some("v1.0.0"))
    );
    assert_eq!(world.drift().await.expect("no lie"), "");
}

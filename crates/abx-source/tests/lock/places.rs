//! Where a lock is looked for, and what is none.

use std::fs;

use abx_core::Fault;
use abx_reference::Reference;
use abx_source::lock::find::LockPlace;
use abx_source::{SourceContext, leaf};

use super::world::{ONE, TWO, World, template};

#[tokio::test]
async fn a_fetched_package_is_held_by_its_own_lock_and_one_of_the_working_directory_goes_before() {
    let world = World::new();
    world.put("HEAD", ONE, "x");
    let top = template("top", "{from: \"o/r//child\"}");
    let own = |commit: &str| {
        format!(
            "version = 1\n\n[[template]]\nreference = \".\"\nkind = \"directory\"\nname = \"top\"\nparent = \"o/r//child\"\n\n\
             [[template]]\nreference = \"o/r//child\"\nkind = \"github\"\nname = \"child\"\ncommit = \"{commit}\"\n\
             digest = \"sha256:{}\"\n\n[base]\nimage = \"debian:12\"\ndigest = \"sha256:{}\"\n",
            "0".repeat(64),
            "a".repeat(64)
        )
    };
    world.put("HEAD", TWO, "y");
    world.github.put("p/q", "HEAD", ONE, &[("template.yaml", &top), ("template.lock", &own(ONE))]);
    let (_, context) = world.resolve("p/q").await.expect("resolved");
    let commit = |context: &SourceContext| {
        let checkout = context.checkouts.iter().find(|checkout| checkout.reference.owner() == "o");
        checkout.expect("the parent").commit.clone()
    };
    assert_eq!(commit(&context), ONE);
    let (file, is_apart) = context.lock.map(|found| (found.file, found.is_apart)).expect("its own lock");
    assert_eq!((file.as_str(), is_apart), ("p/q/template.lock", false));
    // That of the working directory is of `p/q` itself.
    let apart = own(TWO).replacen(
        "reference = \".\"\nkind = \"directory\"",
        &format!(
            "reference = \"p/q\"\nkind = \"github\"\ncommit = \"{ONE}\"\ndigest = \"sha256:{}\"",
            "0".repeat(64)
        ),
        1,
    );
    fs::write(world.dir.path().join("template.lock"), &apart).expect("write");
    let (_, context) = world.resolve("p/q").await.expect("resolved");
    assert_eq!(commit(&context), TWO);
    assert!(context.lock.is_some_and(|found| found.is_apart));
    // One of something else says nothing.
    fs::write(world.dir.path().join("template.lock"), apart.replace("\"p/q\"", "\"p/other\""))
        .expect("write");
    let (_, context) = world.resolve("p/q").await.expect("resolved");
    assert_eq!(commit(&context), ONE);
}

#[tokio::test]
async fn what_is_no_lock_is_refused_and_what_is_no_file_is_none() {
    let world = World::with_lineage();
    let path = world.dir.path().join("mine/template.lock");
    fs::write(&path, "version = 1\n[[template]]\nreference = 1\n").expect("write");
    let error = world.resolve("./mine").await.expect_err("malformed");
    let snippet = &error.snippets()[0];
    assert_eq!(
        (error.code().as_str(), snippet.file.as_str(), snippet.line, snippet.column),
        ("E2004", "./mine/template.lock", 3, 13)
    );
    fs::write(&path, [0xff, 0xfe]).expect("write");
    assert_eq!(world.resolve("./mine").await.expect_err("no text").code().as_str(), "E4000");
    fs::remove_file(&path).expect("remove");
    fs::create_dir(&path).expect("mkdir");
    assert!(world.resolve("./mine").await.expect("resolved").1.lock.is_none());
}

#[test]
fn a_place_is_beside_the_template_or_in_the_working_directory() {
    let world = World::with_lineage();
    let context = world.context();
    let reference = Reference::parse("https://github.com/o/r/tree/main/t").expect("a reference");
    let place = LockPlace::of_reference(&reference, &context);
    assert_eq!((place.display.as_str(), place.top.as_str()), ("template.lock", "o/r//t@main"));
    let package =
        leaf(&Reference::parse("./mine/").expect("a path"), &context).expect("read").expect("a package");
    let place = LockPlace::of_package(&package).expect("a directory");
    assert_eq!((place.display.as_str(), place.top.as_str()), ("./mine/template.lock", "."));
}

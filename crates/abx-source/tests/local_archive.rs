//! Packages in archives of this machine.

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Mutex;

use abx_core::{Event, Fault, Home, Progress};
use abx_source::{GithubSettings, Lineage, PackageRoot, SourceContext, SourceError, fetch, resolve};
use flate2::Compression;
use flate2::write::GzEncoder;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: shop}\nbase: {image: \"debian:bookworm-slim\"}\n";

#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Progress for Recorder {
    fn event(&self, event: Event) {
        if let Event::Warning(warning) = event {
            self.0.lock().expect("lock").push(warning);
        }
    }
}

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("tempdir") }
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.dir.path().join(name), bytes).expect("write");
    }

    fn context(&self) -> SourceContext {
        SourceContext::new(Home::new(self.dir.path().join("home")), self.dir.path().to_owned(), None)
    }

    /// What a reference comes to, and the warnings on the way.
    fn resolve(&self, reference: &str) -> (Result<Lineage, SourceError>, Vec<String>) {
        let recorder = Recorder::default();
        let settings = GithubSettings { offline: true, ..GithubSettings::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        let context = runtime.block_on(fetch(reference, &self.context(), &settings, &recorder));
        let lineage = context.and_then(|context| resolve(reference, &context));
        (lineage, recorder.0.into_inner().expect("lock"))
    }

    fn entries(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.dir.path().join("home/store/archives")) else {
            return Vec::new();
        };
        entries.map(|entry| entry.expect("entry").file_name().into_string().expect("text")).collect()
    }
}

fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        let (kind, mode) = match path.strip_suffix('/') {
            Some(_) => (tar::EntryType::Directory, 0o755),
            None if content.starts_with("-> ") => (tar::EntryType::Symlink, 0o777),
            None => (tar::EntryType::Regular, 0o644),
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        match content.strip_prefix("-> ") {
            Some(target) => {
                header.set_size(0);
                archive.append_link(&mut header, path, target).expect("link");
            }
            None => {
                header.set_size(content.len() as u64);
                archive.append_data(&mut header, path, content.as_bytes()).expect("file");
            }
        }
    }
    archive.into_inner().expect("tar")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("gzip");
    encoder.finish().expect("gzip")
}

fn zip(files: &[(&str, &str, u32)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content, mode) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(*mode);
        match content.strip_prefix("-> ") {
            Some(target) => archive.add_symlink(*path, target, options).expect("link"),
            None if path.ends_with('/') => archive.add_directory(*path, options).expect("folder"),
            None => {
                archive.start_file(*path, options).expect("file");
                archive.write_all(content.as_bytes()).expect("content");
            }
        }
    }
    archive.finish().expect("zip").into_inner()
}

/// A zip with files of any bytes.
fn nested(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in files {
        archive.start_file(*path, SimpleFileOptions::default()).expect("file");
        archive.write_all(content).expect("content");
    }
    archive.finish().expect("zip").into_inner()
}

fn leaf_root(lineage: &Lineage) -> &Path {
    match &lineage.leaf().expect("a package").root {
        PackageRoot::Dir(root) => root,
        root => panic!("{root:?}"),
    }
}

#[test]
fn an_archive_is_read_wherever_a_directory_is() {
    let world = World::new();
    let plain = tar(&[("template.yaml", TEMPLATE), ("files/a", "a")]);
    world.put("root.tar.gz", &gzip(&plain));
    world.put("root.tar", &plain);
    world.put("dotted.tgz", &gzip(&tar(&[("./", ""), ("./template.yaml", TEMPLATE), ("./files/a", "a")])));
    world.put("top.tgz", &gzip(&tar(&[("shop-1/template.yaml", TEMPLATE), ("shop-1/files/a", "a")])));
    world.put("root.zip", &zip(&[("template.yaml", TEMPLATE, 0o644), ("files/a", "a", 0o755)]));
    world.put(
        "top.zip",
        &zip(&[
            ("shop/", "", 0o755),
            ("shop/template.yaml", TEMPLATE, 0o644),
            ("shop/files/a", "a", 0o755),
            ("__MACOSX/shop/._a", "x", 0o644),
        ]),
    );
    world.put("no-ending", &gzip(&plain));
    for file in ["root.tar.gz", "root.tar", "dotted.tgz", "top.tgz", "root.zip", "top.zip", "no-ending"] {
        let (lineage, warnings) = world.resolve(&format!("./{file}"));
        let lineage = lineage.expect(file);
        let package = lineage.leaf().expect("a package");
        assert_eq!((package.name.as_str(), package.display.as_str()), ("shop", format!("./{file}").as_str()));
        let content = std::fs::read_to_string(leaf_root(&lineage).join("files/a")).expect("file");
        assert_eq!((content.as_str(), warnings.len()), ("a", 0), "{file}");
    }
    // Two of them have the same content.
    assert_eq!(world.entries().len(), 6);
}

#[test]
fn the_same_content_is_unpacked_once_and_given_the_same_digest() {
    let world = World::new();
    world.put("a.tgz", &gzip(&tar(&[("template.yaml", TEMPLATE), ("files/a", "-> /etc/passwd")])));
    let (first, warnings) = world.resolve("./a.tgz");
    assert_eq!(
        warnings,
        ["./a.tgz: \"files/a\" was left out: it leads out of the archive, to \"/etc/passwd\""]
    );
    std::fs::rename(world.dir.path().join("a.tgz"), world.dir.path().join("b.tgz")).expect("rename");
    let (second, warnings) = world.resolve("./b.tgz");
    assert!(warnings.is_empty(), "nothing is unpacked: {warnings:?}");
    let digest = |lineage: Result<Lineage, SourceError>| {
        lineage.expect("lineage").leaf().expect("leaf").digest().expect("digest")
    };
    assert_eq!(digest(first), digest(second));
    // What has lost its mark is no entry, and made anew.
    let entry = world.dir.path().join("home/store/archives").join(&world.entries()[0]);
    std::fs::remove_file(entry.join("archive.json")).expect("remove");
    assert_eq!(world.resolve("./b.tgz").1.len(), 1);
    assert_eq!(world.entries().len(), 1);
}

#[test]
fn archives_inherit_by_paths_within_themselves_and_directories_from_archives() {
    let world = World::new();
    let child = |from: &str| format!("version: \"1\"\nmetadata: {{name: child}}\nbase: {{from: {from}}}\n");
    world.put(
        "both.tgz",
        &gzip(&tar(&[("template.yaml", &child("./parent")), ("parent/template.yaml", TEMPLATE)])),
    );
    let names =
        |lineage: Lineage| lineage.packages.into_iter().map(|package| package.name).collect::<Vec<_>>();
    assert_eq!(names(world.resolve("./both.tgz").0.expect("lineage")), ["shop", "child"]);
    std::fs::create_dir(world.dir.path().join("mine")).expect("mkdir");
    world.put("mine/template.yaml", child("../both.tgz").as_bytes());
    assert_eq!(names(world.resolve("./mine").0.expect("lineage")), ["shop", "child", "child"]);
    world.put("inner.tgz", &gzip(&tar(&[("template.yaml", TEMPLATE)])));
    let inner = std::fs::read(world.dir.path().join("inner.tgz")).expect("read");
    world.put(
        "nested.zip",
        &nested(&[("template.yaml", child("./inner.tgz").as_bytes()), ("inner.tgz", &inner)]),
    );
    let error = world.resolve("./nested.zip").0.expect_err("nested");
    assert!(error.to_string().ends_with("it is an archive within a repository or an archive"), "{error}");
    for out in ["../mine", "/etc", "~/x"] {
        world.put("out.tgz", &gzip(&tar(&[("template.yaml", &child(out))])));
        let error = world.resolve("./out.tgz").0.expect_err(out);
        assert_eq!(error.code().as_str(), "E2004", "{out}");
        assert!(error.to_string().contains("leads out of the repository or archive"), "{error}");
    }
}

#[test]
fn bad_archives_are_refused_whole_and_leave_nothing() {
    let world = World::new();
    let sound = gzip(&tar(&[("template.yaml", TEMPLATE)]));
    let zipped = zip(&[("template.yaml", TEMPLATE, 0o644), ("files/data", &"x".repeat(5000), 0o644)]);
    let mut flipped = zipped.clone();
    let data = flipped.windows(10).position(|bytes| bytes == b"files/data").expect("name") + 12;
    flipped[data] ^= 0x55;
    let mut encrypted = zipped.clone();
    for position in (0..encrypted.len() - 4).filter(|at| &zipped[*at..at + 4] == b"PK\x01\x02") {
        encrypted[position + 8] |= 1;
    }
    let rows: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("cut.tgz", sound[..sound.len() - 9].to_vec(), "E5020", "the archive is damaged"),
        ("cut.zip", zipped[..zipped.len() - 30].to_vec(), "E5020", "the archive is damaged"),
        ("flipped.zip", flipped, "E5020", "the archive is damaged at \"files/data\""),
        (
            "encrypted.zip",
            encrypted,
            "E5020",
            "\"template.yaml\" of the archive cannot be read: it is encrypted",
        ),
        (
            "page.zip",
            b"<!DOCTYPE html>".to_vec(),
            "E5020",
            "it is no archive: neither .tar.gz, .tar nor .zip",
        ),
        ("up.zip", zip(&[("../x", "x", 0o644)]), "E5020", "the archive has the unsafe path \"../x\""),
        ("absolute.zip", zip(&[("/x", "x", 0o644)]), "E5020", "the archive has the unsafe path \"/x\""),
        (
            "two.tgz",
            gzip(&tar(&[("a/template.yaml", TEMPLATE), ("b/template.yaml", TEMPLATE)])),
            "E5020",
            "the archive has more than one top folder",
        ),
        ("none.tgz", gzip(&tar(&[("a/b", "x")])), "E2001", "there is no template.yaml in `./none.tgz`"),
        ("empty.tgz", gzip(&tar(&[])), "E5020", "the archive is empty"),
    ];
    for (name, bytes, code, message) in rows {
        world.put(name, &bytes);
        let error = world.resolve(&format!("./{name}")).0.expect_err(name);
        assert_eq!(error.code().as_str(), code, "{name}: {error}");
        assert!(error.to_string().ends_with(message), "{name}: {error}");
    }
    assert_eq!(world.entries().len(), 1, "the sound one without a template");
    let staging = std::fs::read_dir(world.dir.path().join("home/store/staging")).expect("staging");
    assert_eq!(staging.count(), 0);
    assert!(!world.dir.path().join("x").exists());
}

#[test]
fn a_zip_is_held_to_the_same_rules() {
    let world = World::new();
    world.put(
        "z.zip",
        &zip(&[
            ("template.yaml", TEMPLATE, 0o644),
            ("files/out", "-> ../../etc", 0o777),
            ("files/out/passwd", "evil", 0o644),
            ("files/in", "-> run", 0o777),
            ("files/run", "#!/bin/sh", 0o4755),
        ]),
    );
    let (lineage, warnings) = world.resolve("./z.zip");
    let root = leaf_root(&lineage.expect("lineage")).to_owned();
    assert!(warnings.iter().any(|warning| warning.contains("\"files/out\"")), "{warnings:?}");
    assert_eq!(std::fs::read_link(root.join("files/in")).expect("link"), Path::new("run"));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &root.join("files/run").metadata().expect("file").permissions(),
    );
    assert_eq!(mode & 0o7777, 0o755);
    assert!(!root.join("files/out/passwd").exists());
}

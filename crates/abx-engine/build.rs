//! Builds the daemon that runs inside every sandbox and hands its bytes to `src/guest_program.rs`; lists the files
//! of `python/` for `src/python_library.rs`.
//!
//! It is a second program, statically linked, because it executes where there is no loader and no library, and
//! because every sandbox start pays for its page faults. (One static binary that executes itself again would
//! spare this script, but would drag the whole command line into each sandbox, and a static `abx` would not
//! be where a plain `cargo build --release` puts it.) A nested cargo builds it into `<target>/guest`, once for
//! all profiles and for clippy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sha2::{Digest, Sha256};

/// Variables of the outer cargo that the inner one keeps: where things are, how to reach them, how many jobs
/// there may be.
const KEPT: [&str; 9] = [
    "CARGO_HOME",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTRY_",
    "CARGO_REGISTRIES_",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
    "CARGO_LOG",
];

/// What the outer cargo sets for this script, or for a wrapper around rustc, and must not reach the inner one.
const DROPPED: [&str; 14] = [
    "CARGO",
    "CLIPPY_",
    "DEBUG",
    "DEP_",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "OUT_DIR",
    "PROFILE",
    "RUSTC_LINKER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "TARGET",
];

/// Small, because each sandbox loads it; optimised as a whole, because it is built rarely.
const PROFILE: [&str; 4] = [
    "profile.release.opt-level=\"s\"",
    "profile.release.lto=\"fat\"",
    "profile.release.codegen-units=1",
    "profile.release.strip=\"symbols\"",
];

fn main() {
    let engine = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = engine.ancestors().nth(2).expect("crates/abx-engine lies two levels down").to_owned();
    for watched in ["abx-guest", "abx-code", "abx-protocol"].map(|name| workspace.join("crates").join(name)) {
        for part in ["src", "Cargo.toml"] {
            println!("cargo::rerun-if-changed={}", watched.join(part).display());
        }
    }
    for watched in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(watched).display());
    }
    println!("cargo::rerun-if-changed={}", engine.join("build.rs").display());

    let out = PathBuf::from(variable("OUT_DIR"));
    list_python(&engine.join("python"), &out.join("python_library.rs"));
    let built = build(&workspace, &target_directory(&out));
    let bytes = fs::read(&built).unwrap_or_else(|error| panic!("cannot read {}: {error}", built.display()));
    let program = out.join("abx-guest");
    fs::write(&program, &bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", program.display()));
    println!("cargo::rustc-env=ABX_GUEST_PROGRAM={}", program.display());
    println!("cargo::rustc-env=ABX_GUEST_DIGEST={}", digest(Sha256::new_with_prefix(&bytes)));
}

/// The first half is told apart well enough.
fn digest(hasher: Sha256) -> String {
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Writes the table of the library's files, `(path, content)`, and says by which digest they go.
fn list_python(root: &Path, table: &Path) {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut paths = Vec::new();
    find_python(root, &mut paths);
    paths.sort();
    let mut hasher = Sha256::new();
    let mut text = String::from("&[\n");
    for path in &paths {
        let name = path.strip_prefix(root).expect("found below").display().to_string();
        let content =
            fs::read(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        hasher.update(name.as_bytes());
        hasher.update(b"\0");
        hasher.update(&content);
        text += &format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string());
    }
    fs::write(table, text + "]\n")
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", table.display()));
    println!("cargo::rustc-env=ABX_PYTHON_LIBRARY={}", table.display());
    println!("cargo::rustc-env=ABX_PYTHON_DIGEST={}", digest(hasher));
}

fn find_python(directory: &Path, paths: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", directory.display()));
    for entry in entries {
        let path =
            entry.unwrap_or_else(|error| panic!("cannot list {}: {error}", directory.display())).path();
        if path.is_dir() {
            find_python(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            paths.push(path);
        }
    }
}

/// Runs the inner cargo and returns the program it made.
fn build(workspace: &Path, target_directory: &Path) -> PathBuf {
    let target = variable("TARGET");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(workspace)
        .args(["build", "--quiet", "--release", "--package", "abx-guest", "--bin", "abx-guest"])
        .args(["--target", &target])
        .arg("--target-dir")
        .arg(target_directory);
    for setting in PROFILE {
        cargo.args(["--config", setting]);
    }
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let kept = KEPT.iter().any(|prefix| text.starts_with(prefix));
        if !kept && DROPPED.iter().any(|prefix| text.starts_with(prefix)) {
            cargo.env_remove(&name);
        }
    }
    cargo.env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo.env("RUSTFLAGS", "-Ctarget-feature=+crt-static -Crelocation-model=static");
    let status = cargo.status().unwrap_or_else(|error| panic!("cannot run cargo for abx-guest: {error}"));
    assert!(status.success(), "building abx-guest failed: {status}");
    target_directory.join(target).join("release/abx-guest")
}

/// `guest` below the outer target directory, which is the nearest that cargo marked as a cache.
fn target_directory(out: &Path) -> PathBuf {
    let marked = out.ancestors().find(|directory| directory.join("CACHEDIR.TAG").exists());
    marked.unwrap_or(out).join("guest")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

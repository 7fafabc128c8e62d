//! Any bytes in; a panic where something does not hold of a reader of foreign text, else nothing.
//!
//! One function a reader, and [`TARGETS`] with all of them. `fuzz/` lets libFuzzer look for bytes that make one
//! panic (`cargo xtask fuzz`); what it has found, and what reaches far, is kept in `fuzz/corpus/<target>/`, and a
//! test of this crate replays it.
//!
//! In reading order: [`template`], [`index`], [`suite`], [`reference`], [`dockerfile`], [`words`], [`ignore`], `registry`
//! ([`manifest`], [`image_config`], [`log_in`]), [`tar`], `unpacked` ([`archive`], [`zip`], [`layer`]), [`lock`];
//! `place` for what is said of a place in a text.
//!
//! **Architecture Invariant:** nothing of the program depends on this crate, and it sees of the others no more than
//! their users do; `abx_image::probe` is the one exception.

mod dockerfile;
mod ignore;
mod index;
mod lock;
mod place;
mod reference;
mod registry;
mod suite;
mod tar;
mod template;
mod unpacked;
mod words;

pub use dockerfile::dockerfile;
pub use ignore::ignore;
pub use index::index;
pub use lock::lock;
pub use reference::reference;
pub use registry::{image_config, log_in, manifest};
pub use suite::suite;
pub use tar::tar;
pub use template::{migrate, template};
pub use unpacked::{archive, layer, zip};
pub use words::words;

/// A reader under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Also of its program in `fuzz/` and of its folder in `fuzz/corpus/`.
    pub name: &'static str,
    /// Panics where something does not hold.
    pub check: fn(&[u8]),
    /// Whether it makes what only root may.
    pub needs_root: bool,
}

/// Every reader.
pub const TARGETS: &[Target] = &[
    target("template", template),
    target("migrate", migrate),
    target("index", index),
    target("suite", suite),
    target("reference", reference),
    target("dockerfile", dockerfile),
    target("words", words),
    target("ignore", ignore),
    target("manifest", manifest),
    target("image_config", image_config),
    target("log_in", log_in),
    target("tar", tar),
    target("archive", archive),
    target("zip", zip),
    Target { needs_root: true, ..target("layer", layer) },
    target("lock", lock),
];

const fn target(name: &'static str, check: fn(&[u8])) -> Target {
    Target { name, check, needs_root: false }
}

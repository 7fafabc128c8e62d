//! Text in, [`Reference`] out: every spelling of a template reference.
//!
//! A reference is classified by its text alone, never by what exists in the working directory: a folder
//! named `base` does not hijack the built-in `base`.
//!
//! | form | becomes |
//! |---|---|
//! | `./x` `../x` `/x` `~/x` `.` `..` `file:x` | [`Reference::Local`] |
//! | `acr://host/ns/img:tag`, `oci://…`, `docker://…` | [`Reference::Registry`] |
//! | `name`, `name:SEL` | [`Reference::Name`] |
//! | `owner/repo//sub@ref` and the other spellings of GitHub | [`Reference::Github`] |
//!
//! In reading order: [`mod@reference`], then one module a form: [`local`], [`name`], [`registry`], [`github`];
//! [`selector`] and [`version`] for what follows a `:` or `@`; [`alias`] for second names; [`mod@tagged`] for a selector that stands apart; [`error`].
//!
//! Every reference prints in one form, and that form parses back to the same reference.
//!
//! **Architecture Invariant:** this crate touches neither disk nor network and reads no environment.

pub mod alias;
pub mod error;
pub mod github;
pub mod local;
pub mod name;
pub mod reference;
pub mod registry;
pub mod selector;
pub mod tagged;
pub mod version;

pub use error::ReferenceError;
pub use github::Github;
pub use local::LocalPath;
pub use name::Name;
pub use reference::Reference;
pub use registry::Registry;
pub use selector::Selector;
pub use tagged::{TagError, tagged};
pub use version::{Range, Version};

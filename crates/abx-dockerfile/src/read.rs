//! [`Tree`](crate::syntax::Tree) → instructions: what each line means, and every fault that shows without
//! knowing the base image.
//!
//! In reading order: `reader` (what all share), `flags`, then one file a kind of instruction.

mod action;
mod files;
mod flags;
mod from;
mod health;
mod mount;
mod onbuild;
mod reader;
mod run;
pub(crate) mod value;

pub(crate) use action::{argument_name, instruction};
pub(crate) use files::{is_git, lines, unsupported_git};
pub(crate) use from::from;
pub(crate) use reader::Reader;

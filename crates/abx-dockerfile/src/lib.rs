//! Text of a Dockerfile in; stages of typed instructions, their scopes and their graph out.
//!
//! ```text
//! text
//!   │ syntax    lines joined, flags, words, here-documents, each with its place
//!   ▼ Tree
//!   │ read      what each instruction means; every fault of the file in one run
//!   ▼ Dockerfile
//!   │ globals   arguments before FROM, with the caller's build arguments and platforms
//!   │ graph     which stages a target needs, and which of them wait for which
//!   ▼ Graph
//!   │ scope     one for each stage: ARG, ENV and the base image's environment
//!   ▼ Instruction, expanded
//! ```
//!
//! In reading order: [`mod@parse`] (the stages), [`instruction`] (the model), [`source`] (text and places),
//! [`syntax`], `read`, `lint`, [`mod@expand`] (words), [`inputs`], [`globals`], [`graph`], [`scope`], [`ignore`] and [`glob`] for
//! `.dockerignore` and patterns, [`problem`] (all that can be wrong), [`diagnostic`], [`limits`].
//!
//! The behaviour is that of docker's BuildKit. Where BuildKit ignores something (text after an array of
//! arguments, say), and where we do not support something it does, the file is refused with the line.
//!
//! **Architecture Invariant:** this crate touches neither disk nor network and reads no environment variable.
//! It knows of images no more than their names.

pub mod diagnostic;
pub mod expand;
pub mod glob;
pub mod globals;
pub mod graph;
pub mod ignore;
pub mod inputs;
pub mod instruction;
pub mod limits;
mod lint;
mod near;
pub mod parse;
pub mod problem;
mod read;
pub mod scope;
pub mod source;
pub mod syntax;

pub use diagnostic::{Diagnostic, Invalid};
pub use expand::{ExpandError, Expanded, Lexer};
pub use glob::Glob;
pub use globals::Globals;
pub use graph::{Graph, Link, Origin};
pub use ignore::{Ignore, Verdict};
pub use inputs::{Inputs, Platform};
pub use instruction::{
    Action, Add, Argument, Check, Command, Copy, Files, From, Healthcheck, Inline, Instruction, Mount,
    MountKind, Network, Onbuild, Run, Script, Sharing, Variable,
};
pub use parse::{Dockerfile, Stage, parse, parse_tree, parse_trigger};
pub use problem::Problem;
pub use scope::Scope;
pub use source::{Source, Span};
pub use syntax::Word;

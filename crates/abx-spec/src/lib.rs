//! Text of a `template.yaml` in, [`Spec`] out; several of them in, [`Effective`] out.
//!
//! Three stages, each its own type:
//!
//! 1. `yaml`: text → a tree in which every node knows its place. Duplicate keys, foreign tags, bombs of
//!    aliases end here.
//! 2. `read`: tree → [`Spec`], by one reader a section. The full form and the flat shorthand end in the
//!    same model. Every fault of the file is reported in one run, at its line.
//! 3. [`merge`](merge()): the specs of a lineage, root first → [`Effective`], with the defaults filled in.
//!
//! In reading order: [`spec`] (the model), [`parse`](parse()), [`problem`] (all that can be wrong),
//! [`diagnostic`] (a problem at its place), [`effective`], [`mod@expand`] for `$NAME` in values,
//! [`migrate`](mod@migrate) from older files to the full form,
//! [`schema`](mod@schema) for editors, [`explain`](mod@explain) for where a value comes from.
//!
//! Two other kinds of files are read by the same means: [`index`], a catalog of templates, and [`suite`], the tests of one.
//!
//! `docs/template-reference.md` tells users of every key; a test holds it to what is read here.
//!
//! **Architecture Invariant:** this crate touches neither disk nor network. What only the package's folder
//! can tell (a missing file, a Dockerfile) is found one stage later.

pub mod diagnostic;
pub mod effective;
pub mod expand;
pub mod explain;
mod foreign;
pub mod index;
pub mod limits;
pub mod merge;
pub mod migrate;
pub mod near;
pub mod parse;
pub mod problem;
mod read;
pub mod schema;
pub mod spec;
pub mod suite;
mod units;
mod yaml;

pub use diagnostic::{Diagnostic, Invalid};
pub use effective::Effective;
pub use expand::expand;
pub use explain::{Explained, explain};
pub use index::{Index, Listing, Status};
pub use limits::Bounds;
pub use merge::merge;
pub use migrate::{Migrated, migrate};
pub use parse::{Examined, Parsed, examine, parse, parse_within};
pub use problem::Problem;
pub use schema::schema;
pub use spec::{
    Agent, At, Base, Build, Check, Clearable, Copy, Healthcheck, Metadata, Mode, Network, Place, Probe,
    Resources, Sandbox, Spec,
};
pub use suite::Suite;

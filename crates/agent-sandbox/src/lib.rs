//! The whole product as a library: one function per user operation.
//!
//! A reference becomes a running sandbox in five steps, [`create`]: resolve, plan, build, settle, start.
//! The command line, a server and a language binding call the same functions and only render what comes back.
//!
//! In reading order: [`Context`], [`settings`], [`FetchOptions`], [`create`], [`sandbox`], [`commands`], [`template`],
//! [`config`], [`doctor`].
//!
//! What a `template.lock` holds in place is found and compared in `lock`, and had in `base_image`.
//!
//! **Architecture Invariant:** environment variables are read by [`Context::from_env`] and [`config`] alone; a working folder's
//! `.env` gives a token and nothing else.

mod base_image;
mod blocking;
pub mod code;
pub mod commands;
pub mod config;
mod context;
mod create;
mod credentials;
pub mod doctor;
mod error;
mod github;
pub mod host;
pub mod internal;
mod lock;
mod options;
pub mod pool;
mod registries;
pub mod sandbox;
pub mod settings;
mod settle;
mod snapshot;
pub mod template;
mod token_wanted;

pub use context::Context;
pub use create::{CreateRequest, create};
pub use credentials::CredentialFiles;
pub use error::Error;
pub use github::{TokenSource, token_source};
pub use options::FetchOptions;
pub use sandbox::{Info, Sandbox, Status, find, list};
pub use snapshot::{Snapshot, snapshot};

pub use token_wanted::{TokenWanted, token_page};

pub use abx_client as client;
pub use abx_core as core;
pub use abx_engine::PortRequest;

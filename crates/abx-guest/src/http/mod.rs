//! HTTP/1.1: connections, routes, bodies, and the Connect protocol on top.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod query;
mod router;
pub(crate) mod rpc;
mod server;
pub(crate) mod stream;
mod tunnel;

pub(crate) use body::Body;
pub(crate) use error::HttpError;
pub(crate) use server::{Listener, serve};

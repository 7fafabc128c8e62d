//! The whole server, over its socket, with kernels that are real processes.

mod common;
mod contexts;
mod install;
mod jupyter;
mod worker;

//! Test context, loopback servers and fixtures

pub mod registry;

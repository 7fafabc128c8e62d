//! Test context, loopback servers and fixtures

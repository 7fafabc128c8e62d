//! Calls to the daemon inside a sandbox over its socket

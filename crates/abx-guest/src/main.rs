//! The daemon inside a sandbox: init, processes, terminals, files
fn main() {}

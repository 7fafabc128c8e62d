//! The command line: argv in, agent-sandbox operation, output
fn main() {}

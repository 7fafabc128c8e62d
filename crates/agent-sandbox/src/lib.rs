//! The whole product as a library: one function per user operation

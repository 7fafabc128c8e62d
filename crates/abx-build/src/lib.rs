//! Lineage in, Plan, then Image out: ordered steps keyed by content, step cache

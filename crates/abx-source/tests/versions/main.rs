//! Ranges and `latest` over the tags of repositories on the loopback.

mod kept;
mod latest;
mod listing;
mod ranges;
mod world;

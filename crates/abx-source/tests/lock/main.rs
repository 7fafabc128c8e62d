//! What a lock holds in place.

mod held;
mod named;
mod places;
mod world;

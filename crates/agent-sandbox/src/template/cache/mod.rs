//! What is kept between runs, and where the disk goes: listed, cleaned, verified.
//!
//! In reading order: [`entry`](Entry) (one thing that is kept), `inventory` (all of them, with what must stay),
//! [`list`], [`clean`], [`verify`]. Whoever uses the store shares the lock of [`abx_core::Home::in_use_lock`]; cleaning
//! holds it alone while it takes entries out of their places, so that nothing goes that a running build or create needs.

mod clean;
mod entry;
mod inventory;
mod list;
mod measure;
mod remove;
mod select;
mod verify;

pub use clean::{CleanRequest, Cleaned, clean};
pub use entry::{Entry, Kind};
pub use list::{Listing, Total, list};
pub use verify::{Damaged, Verified, VerifyRequest, verify};

//! Ready sandboxes that wait for whoever wants one.
//!
//! A pool is of one reference, and has a *keeper*: a process that starts as many sandboxes as are wanted, another for each
//! that is taken, and others in place of all when the template comes to something else. There is no other daemon.
//! [`create`](crate::create()) settles what it is asked for as ever; where a sandbox that waits comes to the same, it
//! takes that one: it asks the sandbox's monitor, which says yes once. So nothing is handed out twice, whatever else dies.
//! A sandbox that waits is tied to its keeper by a pipe, and ends with it.
//!
//! ```text
//! pools/<digest of the reference>/
//!   lock                      held by the keeper while it lives
//!   pool.json                 what it is of, how many are wanted, what went wrong last
//!   keeper.sock               see `talk`
//!   keeper.log                what a keeper that died has left to say
//!   ready/<fingerprint>/<id>  an empty file for each sandbox that waits, by what it is
//! ```
//!
//! In reading order: [`place`] (the drawing above), [`mod@claim`], [`talk`], [`mod@set`] (what a user does), [`keeper`].

mod claim;
mod keeper;
mod place;
mod set;
mod talk;

use serde::Serialize;

pub(crate) use claim::{claim, fingerprint};
pub use keeper::{ENTRY, main};
pub(crate) use place::clean;
pub use set::{PoolRequest, list, set};

/// A pool, as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// The template reference it is of.
    pub reference: String,
    /// How many sandboxes are to wait.
    pub size: u64,
    /// How many do.
    pub ready: u64,
    /// The keeper's process; `None` where it is gone.
    pub keeper: Option<u32>,
    /// Why the last sandbox did not start.
    pub error: Option<String>,
}

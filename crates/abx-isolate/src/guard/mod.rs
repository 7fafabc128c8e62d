//! The policy of a sandbox's egress, enforced.
//!
//! ```text
//! sandbox's network namespace                               owner's process
//! chain out: established, lo ─▶ accept                      relay ─ Guard::question: may this name be asked for?
//!   allow rule: set of addresses, network ─▶ accept     ◀────────── Guard::answer: its addresses go into the sets
//!   deny rule ─▶ refuse: log, reject                    ────▶ Guard::drain: what was refused, by which rule
//! ```
//!
//! The table is in the sandbox's own namespace, over which nobody inside has a capability: it ends with the sandbox,
//! and two sandboxes have nothing in common. The relay asks before a name goes on to the host's resolver, and puts the
//! addresses of the answer into the kernel's sets before the answer goes in.

mod message;
mod refusals;
mod table;

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use abx_core::Egress;
use abx_core::egress::Verdict;

use crate::error::{Feature, IsolateError, system};
use crate::network::netlink::Netlink;
use crate::network::{failed, lacking, netns};
use message::Message;
use refusals::{Listener, Listening, Refusals};

use crate::relay::lock;
pub use refusals::{NO_POLICY_ALLOWS, Refusal, RefusalReport};

/// Enforces one sandbox's policy and remembers what was refused.
#[derive(Debug)]
pub(crate) struct Guard {
    netns: OwnedFd,
    policy: RwLock<Egress>,
    refusals: Mutex<Refusals>,
    /// The socket that `refusals` reads, to wait for.
    wake: OwnedFd,
}

/// What is to become of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// It goes on to a resolver.
    Ask,
    /// This is the answer.
    Answered(Vec<u8>),
    /// It is none.
    Nonsense,
}

/// Addresses of names are allowed at least and at most so long, however short or long a resolver says that they hold:
/// programs keep them longer than they should, and for ever.
const SHORTEST_HOLD: Duration = Duration::from_secs(5 * 60);
const LONGEST_HOLD: Duration = Duration::from_secs(24 * 60 * 60);

impl Guard {
    /// Sets up the table in `netns`, and begins to hear of refusals.
    ///
    /// # Errors
    /// E2011 where the kernel lacks a part of nf_tables that this takes.
    pub(crate) fn new(netns: &OwnedFd, policy: &Egress) -> Result<Self, IsolateError> {
        let netns = netns.try_clone().map_err(system("keep the network namespace"))?;
        let listening = netns::within(netns.as_fd(), || {
            let listening = Listening::begin()?;
            write_table(policy)?;
            Ok(listening)
        });
        let listening = listening.map_err(failed("enter the namespace"))?;
        let listening = listening.map_err(lacking(Feature::NfTables, "write the packet filter"))?;
        let wake = listening.wake().map_err(system("keep a socket"))?;
        let refusals = Mutex::new(Refusals::new(listening));
        Ok(Self { netns, policy: RwLock::new(policy.clone()), refusals, wake })
    }

    /// Replaces the policy. Connections that are open stay open; names must be asked for anew.
    pub(crate) fn set(&self, policy: &Egress) -> Result<(), IsolateError> {
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        netns::within(self.netns.as_fd(), || write_table(policy))
            .map_err(failed("enter the namespace"))?
            .map_err(lacking(Feature::NfTables, "write the packet filter"))?;
        current.clone_from(policy);
        Ok(())
    }

    /// Whether a question may go on to a resolver.
    pub(crate) fn question(&self, datagram: &[u8]) -> Question {
        let Some(message) = Message::parse(datagram) else { return Question::Nonsense };
        let policy = self.policy();
        match policy.resolve(&message.question) {
            Ok(_) => Question::Ask,
            Err(refusal) => {
                self.refused(Refusal::of_name(&message.question, policy.describe(refusal)));
                Question::Answered(message::no_such_name(datagram))
            }
        }
    }

    /// Lets the addresses of an answer be reached as the rules say, and returns what is to be answered in its stead, if
    /// anything.
    pub(crate) fn answer(&self, question: &[u8], answer: &[u8]) -> Option<Vec<u8>> {
        let asked = Message::parse(question);
        let (Some(asked), Some(message)) = (asked, Message::parse(answer)) else {
            return Some(message::failure(question));
        };
        let policy = self.policy();
        let rules = match policy.resolve(&message.question) {
            Ok(rules) if asked.question == message.question => rules,
            _ => return Some(message::failure(question)),
        };
        // A name that a rule allows may be another name of anything; one that merely no rule denies may not.
        if !rules.iter().any(|rule| policy.rules[*rule].verdict == Verdict::Allow) {
            let denied = message.aliases.iter().find_map(|alias| match policy.resolve(alias) {
                Err(Some(rule)) => Some((alias, rule)),
                _ => None,
            });
            if let Some((alias, rule)) = denied {
                let name = format!("{} (by its alias {alias})", message.question);
                self.refused(Refusal::of_name(&name, policy.describe(Some(rule))));
                return Some(message::no_such_name(question));
            }
        }
        if self.hold(&table::with_sets(&policy, &rules), &message.addresses).is_err() {
            // An address that cannot be reached is worse than none.
            return Some(message::failure(question));
        }
        lock(&self.refusals).know(&message.question, &message.addresses);
        None
    }

    /// Whether a port of the host's loopback may be reached, that is relayed.
    pub(crate) fn may_reach_host(&self, port: u16) -> bool {
        let policy = self.policy();
        match policy.reach(Ipv4Addr::LOCALHOST.into(), port, &["localhost"]) {
            Ok(()) => true,
            Err(refusal) => {
                self.refused(Refusal::of_address(
                    "tcp",
                    Ipv4Addr::LOCALHOST.into(),
                    Some(port),
                    policy.describe(refusal),
                ));
                false
            }
        }
    }

    /// Readable when the kernel has refused something.
    pub(crate) fn listening(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Takes note of what the kernel has refused up to now.
    pub(crate) fn drain(&self) {
        lock(&self.refusals).drain();
    }

    /// What was refused up to now.
    pub(crate) fn report(&self) -> RefusalReport {
        let mut refusals = lock(&self.refusals);
        refusals.drain();
        refusals.report()
    }

    /// Has every refusal told from now on, and those before it. The same one is told once in a while.
    pub(crate) fn tell(&self, listener: Listener) {
        lock(&self.refusals).tell(listener);
    }

    fn refused(&self, refusal: Refusal) {
        let mut refusals = lock(&self.refusals);
        // In the order they happened.
        refusals.drain();
        refusals.add(refusal);
    }

    fn policy(&self) -> std::sync::RwLockReadGuard<'_, Egress> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the addresses into the sets of the rules.
    fn hold(&self, rules: &[usize], addresses: &[(IpAddr, Duration)]) -> rustix::io::Result<()> {
        let messages = table::hold(rules, addresses, |time| time.clamp(SHORTEST_HOLD, LONGEST_HOLD));
        if messages.is_empty() {
            return Ok(());
        }
        netns::within(self.netns.as_fd(), || Netlink::netfilter()?.send(&messages))?
    }
}

fn write_table(policy: &Egress) -> rustix::io::Result<()> {
    let netlink = Netlink::netfilter()?;
    netlink.allow_large()?;
    netlink.send(&table::transaction(policy))
}

#[cfg(test)]
mod tests;

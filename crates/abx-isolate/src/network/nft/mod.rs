//! The packet filter table, written without the `nft` program.
//!
//! ```text
//! table inet abx {
//!   chain input       { iifname abx* ct state established,related accept; iifname abx* reject }
//!   chain forward     { iifname abx* oifname abx* reject
//!                       iifname abx* ip daddr 169.254.0.0/16 reject
//!                       iifname abx* ip daddr 100.100.100.200 reject
//!                       oifname abx* ct state established,related accept; oifname abx* drop }
//!   chain postrouting { ip saddr 10.201.0.0/16 oifname != abx* masquerade }
//!   chain v2          { }
//! }
//! ```
//!
//! What a sandbox tries in vain is refused at once (`icmpx port-unreachable`) where the kernel can, else dropped.
//! The empty chain tells which generation of the table is there: a later one replaces it as a whole.

pub(crate) mod expressions;
pub(crate) mod words;

use rustix::io::Errno;

use super::netlink::{FLAG_ACK, Message, Netlink, attributes};
use super::{SUBNET, failed, lacking};
use crate::error::{Feature, IsolateError};
use expressions::{
    ACCEPT, DESTINATION, DROP, EQUAL, Expression, NOT_EQUAL, SOURCE, address_is, established, expression,
    from_sandbox, reject, to_sandbox, verdict,
};
use words::{
    CHAIN_HOOK, CHAIN_NAME, CHAIN_POLICY, CHAIN_TABLE, DELETE_TABLE, GET_CHAIN, GET_GENERATION, HOOK_FORWARD,
    HOOK_INPUT, HOOK_NUMBER, HOOK_POSTROUTING, INET, NEW_TABLE, TABLE, begin, chain, end, header,
    hooked_chain, rule, table,
};

const GENERATION: &str = "v2";

/// Where clouds tell a machine its secrets: 169.254.0.0/16 nearly everywhere, and Alibaba Cloud's address.
pub(crate) const METADATA: [&[u8]; 2] = [&[169, 254], &[100, 100, 100, 200]];

/// Makes sure the table is there: one question where it is, one transaction where not.
pub(crate) fn ensure_table() -> Result<(), IsolateError> {
    let netlink = Netlink::netfilter().map_err(lacking(Feature::NfTables, "open netlink"))?;
    let question = Message::new(GET_CHAIN, FLAG_ACK, &header(INET, 0))
        .text(CHAIN_TABLE, TABLE)
        .text(CHAIN_NAME, GENERATION);
    match netlink.send(&[question]) {
        Ok(()) => Ok(()),
        Err(Errno::NOENT) => {
            write_table(&netlink).map_err(lacking(Feature::NfTables, "write the packet filter"))
        }
        Err(errno) => Err(lacking(Feature::NfTables, "read the packet filter")(errno)),
    }
}

fn write_table(netlink: &Netlink) -> rustix::io::Result<()> {
    match netlink.send(&transaction(reject)) {
        // The kernel lacks an expression: most likely that one.
        Err(Errno::NOENT) => netlink.send(&transaction(|| verdict(DROP))),
        result => result,
    }
}

/// Asks for the generation of the tables, which every kernel with nf_tables knows.
pub(crate) fn is_known() -> rustix::io::Result<()> {
    Netlink::netfilter()?.send(&[Message::new(GET_GENERATION, FLAG_ACK, &header(0, 0))])
}

/// The table and chain of another firewall that drops what it does not know on its way through the host (Docker's
/// `filter FORWARD` does): our table cannot overrule it. Tables of the older iptables are not seen.
pub(crate) fn dropped_by() -> Option<String> {
    let mut found = None;
    let netlink = Netlink::netfilter().ok()?;
    let _ = netlink.list(GET_CHAIN, &header(0, 0), |entry| {
        // The entry begins with its own `struct nfgenmsg`.
        if let Some(name) = entry.get(4..).and_then(|row| dropping_forward_chain(&attributes(row))) {
            found = Some(name);
        }
    });
    found
}

fn dropping_forward_chain(chain: &[(u16, &[u8])]) -> Option<String> {
    let value = |row: &[(u16, &[u8])], kind| {
        row.iter().find(|(one, _)| *one == kind).map(|(_, value)| value.to_vec())
    };
    let text = |kind| Some(String::from_utf8_lossy(&value(chain, kind)?).trim_end_matches('\0').to_owned());
    let hook = value(chain, CHAIN_HOOK)?;
    let is_forward = value(&attributes(&hook), HOOK_NUMBER)? == HOOK_FORWARD.to_be_bytes();
    let drops = value(chain, CHAIN_POLICY)? == DROP.to_be_bytes();
    (is_forward && drops).then_some(format!("{} {}", text(CHAIN_TABLE)?, text(CHAIN_NAME)?))
}

/// Removes the packet filter table, for when the product is removed from the host; sandboxes that run lose their
/// network. One that is not there is fine.
pub fn remove_table() -> Result<(), IsolateError> {
    let netlink = Netlink::netfilter().map_err(lacking(Feature::NfTables, "open netlink"))?;
    let removal = [begin(), table(NEW_TABLE), table(DELETE_TABLE), end()];
    netlink.send(&removal).map_err(failed("remove the packet filter"))
}

/// Whatever is there under our name is replaced in one step.
fn transaction(refuse: fn() -> Vec<Expression>) -> Vec<Message> {
    let mut messages = vec![begin(), table(NEW_TABLE), table(DELETE_TABLE), table(NEW_TABLE)];
    messages.extend([
        hooked_chain("input", "filter", HOOK_INPUT, 0),
        rule("input", &[from_sandbox(), established(), verdict(ACCEPT)]),
        rule("input", &[from_sandbox(), refuse()]),
        hooked_chain("forward", "filter", HOOK_FORWARD, 0),
        rule("forward", &[from_sandbox(), to_sandbox(EQUAL), refuse()]),
    ]);
    for address in METADATA {
        messages.push(rule("forward", &[from_sandbox(), address_is(DESTINATION, address), refuse()]));
    }
    messages.extend([
        rule("forward", &[to_sandbox(EQUAL), established(), verdict(ACCEPT)]),
        rule("forward", &[to_sandbox(EQUAL), verdict(DROP)]),
        hooked_chain("postrouting", "nat", HOOK_POSTROUTING, 100),
        rule(
            "postrouting",
            &[address_is(SOURCE, &SUBNET), to_sandbox(NOT_EQUAL), vec![expression("masq", &[])]],
        ),
        chain(GENERATION),
        end(),
    ]);
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn a_firewall_that_drops_is_named() {
        let chain = |hook: u32, policy: u32| {
            [
                attribute(CHAIN_TABLE, b"filter\0"),
                attribute(CHAIN_NAME, b"FORWARD\0"),
                attribute(CHAIN_HOOK | 0x8000, &attribute(HOOK_NUMBER, &hook.to_be_bytes())),
                attribute(CHAIN_POLICY, &policy.to_be_bytes()),
            ]
            .concat()
        };
        let named = |hook, policy| dropping_forward_chain(&attributes(&chain(hook, policy)));
        assert_eq!(named(HOOK_FORWARD, DROP).as_deref(), Some("filter FORWARD"));
        assert_eq!(named(HOOK_FORWARD, ACCEPT), None);
        assert_eq!(named(HOOK_INPUT, DROP), None);
        assert_eq!(dropping_forward_chain(&attributes(&attribute(CHAIN_NAME, b"plain\0"))), None);
    }
}

//! A policy as a packet filter.
//!
//! ```text
//! table inet abx {
//!   set n0v4 { type ipv4_addr; timeout }             a set of each family for each rule about names
//!   chain out {                                      hook output
//!     oifname lo accept; ct state established,related accept; icmpv6 of neighbours accept
//!     ip daddr 169.254.0.0/16 goto fixed; …          what no policy allows
//!     tcp/udp dport 53, 853 goto servers             names are asked for through the relay
//!     ip daddr @n0v4 accept; ip daddr 10.0.0.0/8 goto r1; …    the rules in their order
//!     goto default                                   where the default is deny
//!   }
//!   chain servers { rules that name those ports, or deny all ports; goto dns }
//!   chain r1 { limit rate 50/second log group 1 prefix "rule `deny 10.0.0.0/8`"; reject }
//! }
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use abx_core::Egress;
use abx_core::egress::{Place, Rule, Verdict};

use super::refusals::{GROUP, NO_POLICY_ALLOWS, SNAPPED};
use crate::network::SUBNET;
use crate::network::netlink::{FLAG_ACK, Message};
use crate::network::nft::METADATA;
use crate::network::nft::expressions::{
    ACCEPT, DESTINATION, Expression, address_is, at_most_a_second, established, go_to, goes_to_net,
    goes_to_port, goes_to_set, icmpv6_within, leaves_by, log, protocol_is, reject, reset, verdict,
};
use crate::network::nft::words::{
    DELETE_TABLE, HOOK_OUTPUT, NEW_TABLE, address_set, begin, chain, end, hold as hold_one, hooked_chain,
    rule, table,
};

/// Refusals by one rule that are told in a second; the rest are refused without a word.
const TOLD_A_SECOND: u64 = 50;
/// Addresses in a set.
const MOST_ADDRESSES: u32 = 16384;

const FIXED: &str = "fixed";
const DNS: &str = "dns";
const DEFAULT: &str = "default";
const SERVERS: &str = "servers";

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Where name servers listen.
const SERVER_PORTS: [u16; 2] = [53, 853];

const V4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// Whatever table is there is replaced in one step.
pub(super) fn transaction(policy: &Egress) -> Vec<Message> {
    let mut all = vec![begin(), table(NEW_TABLE), table(DELETE_TABLE), table(NEW_TABLE)];
    refusing_chain(&mut all, FIXED, NO_POLICY_ALLOWS);
    refusing_chain(&mut all, DNS, "the rule that names are asked for at 127.0.0.11");
    refusing_chain(&mut all, DEFAULT, &policy.describe(None));
    for (number, own) in policy.rules.iter().enumerate() {
        if own.verdict == Verdict::Deny {
            refusing_chain(&mut all, &chain_of(number), &policy.describe(Some(number)));
        }
        if has_set(own) {
            let id = number as u32 * 2 + 1;
            all.push(address_set(&set_of(number, V4), V4, id, MOST_ADDRESSES));
            all.push(address_set(&set_of(number, V6), V6, id + 1, MOST_ADDRESSES));
        }
    }
    servers(&mut all, policy);
    out(&mut all, policy);
    answered_at_the_end(all)
}

/// One answer for all of them: the answers to each would not fit the socket.
fn answered_at_the_end(all: Vec<Message>) -> Vec<Message> {
    let mut all: Vec<Message> = all.into_iter().map(|message| message.without_flags(FLAG_ACK)).collect();
    let last = all.pop().map(|last| last.with_flags(FLAG_ACK));
    all.extend(last);
    all.push(end());
    all
}

fn out(all: &mut Vec<Message>, policy: &Egress) {
    const OUT: &str = "out";
    all.push(hooked_chain(OUT, "filter", HOOK_OUTPUT, 0));
    all.push(rule(OUT, &[leaves_by("lo"), verdict(ACCEPT)]));
    all.push(rule(OUT, &[established(), verdict(ACCEPT)]));
    // Without its neighbours no address of IPv6 is found.
    all.push(rule(OUT, &[icmpv6_within(133, 136), verdict(ACCEPT)]));
    for address in METADATA.into_iter().chain([SUBNET.as_slice()]) {
        all.push(rule(OUT, &[address_is(DESTINATION, address), go_to(FIXED)]));
    }
    for port in SERVER_PORTS {
        for protocol in [TCP, UDP] {
            all.push(rule(OUT, &[goes_to_port(protocol, port), go_to(SERVERS)]));
        }
    }
    for (number, own) in policy.rules.iter().enumerate() {
        rules(all, OUT, number, own);
    }
    // Something is always at the end, for the answer to the whole.
    let last = if policy.default == Verdict::Deny { go_to(DEFAULT) } else { verdict(ACCEPT) };
    all.push(rule(OUT, &[last]));
}

/// Other name servers are reached only where a rule says so with the port.
fn servers(all: &mut Vec<Message>, policy: &Egress) {
    all.push(chain(SERVERS));
    for (number, own) in policy.rules.iter().enumerate() {
        let is_meant = match own.target.port {
            Some(port) => SERVER_PORTS.contains(&port),
            None => own.verdict == Verdict::Deny,
        };
        if is_meant {
            rules(all, SERVERS, number, own);
        }
    }
    all.push(rule(SERVERS, &[go_to(DNS)]));
}

fn refusing_chain(all: &mut Vec<Message>, name: &str, reason: &str) {
    let limited = at_most_a_second(TOLD_A_SECOND, 2 * TOLD_A_SECOND as u32);
    all.push(chain(name));
    all.push(rule(name, &[limited, log(GROUP, reason, SNAPPED)]));
    all.push(rule(name, &[protocol_is(TCP), reset()]));
    all.push(rule(name, &[reject()]));
}

/// One of the policy's rules: a rule of the filter for each family and protocol that it is about.
fn rules(all: &mut Vec<Message>, chain: &str, number: usize, own: &Rule) {
    let places: Vec<fn(usize, &Rule) -> Vec<Expression>> = match &own.target.place {
        Place::Everything => vec![|_, _| Vec::new()],
        Place::Net { .. } => vec![|_, own| match own.target.place {
            Place::Net { address, prefix } => goes_to_net(address, prefix),
            _ => Vec::new(),
        }],
        Place::Name(_) | Place::Below(_) if has_set(own) => {
            vec![|number, _| goes_to_set(&set_of(number, V4), V4), |number, _| {
                goes_to_set(&set_of(number, V6), V6)
            }]
        }
        // Its names have no addresses: they are not resolved.
        Place::Name(_) | Place::Below(_) => return,
    };
    let end = || match own.verdict {
        Verdict::Allow => verdict(ACCEPT),
        Verdict::Deny => go_to(&chain_of(number)),
    };
    for place in places {
        match own.target.port {
            None => all.push(rule(chain, &[place(number, own), end()])),
            Some(port) => {
                for protocol in [TCP, UDP] {
                    all.push(rule(chain, &[goes_to_port(protocol, port), place(number, own), end()]));
                }
            }
        }
    }
}

/// Those of the rules that need the addresses of names.
pub(super) fn with_sets(policy: &Egress, rules: &[usize]) -> Vec<usize> {
    rules.iter().copied().filter(|number| has_set(&policy.rules[*number])).collect()
}

fn has_set(rule: &Rule) -> bool {
    let is_name = matches!(rule.target.place, Place::Name(_) | Place::Below(_));
    is_name && (rule.verdict, rule.target.port) != (Verdict::Deny, None)
}

/// Puts addresses into the sets of these rules; nothing where there is nothing to do.
pub(super) fn hold(
    rules: &[usize],
    addresses: &[(IpAddr, Duration)],
    clamp: impl Fn(Duration) -> Duration,
) -> Vec<Message> {
    let mut all = vec![begin()];
    for number in rules {
        for (address, time) in addresses {
            all.extend(hold_one(&set_of(*number, *address), *address, clamp(*time).as_millis() as u64));
        }
    }
    if all.len() == 1 { Vec::new() } else { answered_at_the_end(all) }
}

fn set_of(number: usize, like: IpAddr) -> String {
    format!("n{number}v{}", if like.is_ipv4() { 4 } else { 6 })
}

fn chain_of(number: usize) -> String {
    format!("r{number}")
}

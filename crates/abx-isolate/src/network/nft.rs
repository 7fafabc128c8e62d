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

use rustix::io::Errno;

use super::netlink::{FLAG_ACK, FLAG_APPEND, FLAG_CREATE, Message, Netlink, attributes};
use super::{SUBNET, failed, lacking};
use crate::error::{Feature, IsolateError};

const TABLE: &str = "abx";
const GENERATION: &str = "v2";
const INTERFACES: &[u8] = b"abx";

/// Where clouds tell a machine its secrets: 169.254.0.0/16 nearly everywhere, and Alibaba Cloud's address.
const METADATA: [&[u8]; 2] = [&[169, 254], &[100, 100, 100, 200]];

const SUBSYSTEM: u16 = 10 << 8;
const NEW_TABLE: u16 = SUBSYSTEM;
const DELETE_TABLE: u16 = SUBSYSTEM | 2;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
const GET_CHAIN: u16 = SUBSYSTEM | 4;
const NEW_RULE: u16 = SUBSYSTEM | 6;
const GET_GENERATION: u16 = SUBSYSTEM | 16;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;

const INET: u8 = 1;
const REGISTER: [u8; 4] = 1u32.to_be_bytes();

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

fn begin() -> Message {
    Message::new(BATCH_BEGIN, 0, &header(0, SUBSYSTEM >> 8))
}

fn end() -> Message {
    Message::new(BATCH_END, 0, &header(0, SUBSYSTEM >> 8))
}

/// `struct nfgenmsg`.
fn header(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}

fn table(kind: u16) -> Message {
    const NAME: u16 = 1;
    let flags = if kind == NEW_TABLE { FLAG_CREATE | FLAG_ACK } else { FLAG_ACK };
    Message::new(kind, flags, &header(INET, 0)).text(NAME, TABLE)
}

const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const HOOK_NUMBER: u16 = 1;
const HOOK_INPUT: u32 = 1;
const HOOK_FORWARD: u32 = 2;
const HOOK_POSTROUTING: u32 = 4;

fn chain(name: &str) -> Message {
    Message::new(NEW_CHAIN, FLAG_CREATE | FLAG_ACK, &header(INET, 0))
        .text(CHAIN_TABLE, TABLE)
        .text(CHAIN_NAME, name)
}

fn hooked_chain(name: &str, kind: &str, hook: u32, priority: u32) -> Message {
    const HOOK: u16 = 4;
    const POLICY: u16 = 5;
    const TYPE: u16 = 7;
    chain(name)
        .nested(HOOK, |message| {
            message.attribute(1, &hook.to_be_bytes()).attribute(2, &priority.to_be_bytes())
        })
        .attribute(POLICY, &ACCEPT.to_be_bytes())
        .text(TYPE, kind)
}

/// One step of a rule: an expression's name and its attributes.
struct Expression {
    name: &'static str,
    attributes: Vec<(u16, Value)>,
}

enum Value {
    Plain(Vec<u8>),
    /// Within one more attribute of this type.
    Inside(u16, Vec<u8>),
    Verdict(u32),
}

fn rule(chain: &str, parts: &[Vec<Expression>]) -> Message {
    const EXPRESSIONS: u16 = 4;
    const ELEMENT: u16 = 1;
    let flags = FLAG_CREATE | FLAG_APPEND | FLAG_ACK;
    Message::new(NEW_RULE, flags, &header(INET, 0)).text(1, TABLE).text(2, chain).nested(
        EXPRESSIONS,
        |list| {
            parts
                .iter()
                .flatten()
                .fold(list, |list, expression| list.nested(ELEMENT, |element| expression.write(element)))
        },
    )
}

impl Expression {
    fn write(&self, message: Message) -> Message {
        const NAME: u16 = 1;
        const DATA: u16 = 2;
        message.text(NAME, self.name).nested(DATA, |data| {
            self.attributes.iter().fold(data, |data, (kind, value)| match value {
                Value::Plain(bytes) => data.attribute(*kind, bytes),
                Value::Inside(inner, bytes) => data.nested(*kind, |data| data.attribute(*inner, bytes)),
                Value::Verdict(code) => data.nested(*kind, |data| {
                    data.nested(2, |verdict| verdict.attribute(1, &code.to_be_bytes()))
                }),
            })
        })
    }
}

fn expression(name: &'static str, attributes: &[(u16, u32)]) -> Expression {
    let plain = |(kind, number): &(u16, u32)| (*kind, Value::Plain(number.to_be_bytes().to_vec()));
    Expression { name, attributes: attributes.iter().map(plain).collect() }
}

const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;

/// Compares the beginning of the register.
fn compare(operator: u32, value: &[u8]) -> Expression {
    let attributes = vec![
        (1, Value::Plain(REGISTER.to_vec())),
        (2, Value::Plain(operator.to_be_bytes().to_vec())),
        (3, Value::Inside(1, value.to_vec())),
    ];
    Expression { name: "cmp", attributes }
}

fn load_meta(key: u32) -> Expression {
    expression("meta", &[(1, 1), (2, key)])
}

fn from_sandbox() -> Vec<Expression> {
    const INPUT_NAME: u32 = 6;
    vec![load_meta(INPUT_NAME), compare(EQUAL, INTERFACES)]
}

fn to_sandbox(operator: u32) -> Vec<Expression> {
    const OUTPUT_NAME: u32 = 7;
    vec![load_meta(OUTPUT_NAME), compare(operator, INTERFACES)]
}

/// Offsets in the IPv4 header.
const SOURCE: u32 = 12;
const DESTINATION: u32 = 16;

/// The address begins with these bytes.
fn address_is(offset: u32, bytes: &[u8]) -> Vec<Expression> {
    const FAMILY: u32 = 15;
    const NETWORK_HEADER: u32 = 1;
    const IPV4: u8 = 2;
    vec![
        load_meta(FAMILY),
        compare(EQUAL, &[IPV4]),
        expression("payload", &[(1, 1), (2, NETWORK_HEADER), (3, offset), (4, bytes.len() as u32)]),
        compare(EQUAL, bytes),
    ]
}

/// The connection's state is established or related.
fn established() -> Vec<Expression> {
    const STATES: u32 = 2 | 4;
    const STATE: u32 = 0;
    let mut mask = expression("bitwise", &[(1, 1), (2, 1), (3, 4)]);
    mask.attributes.push((4, Value::Inside(1, STATES.to_ne_bytes().to_vec())));
    mask.attributes.push((5, Value::Inside(1, vec![0; 4])));
    vec![expression("ct", &[(1, 1), (2, STATE)]), mask, compare(NOT_EQUAL, &[0; 4])]
}

const DROP: u32 = 0;
const ACCEPT: u32 = 1;

fn verdict(code: u32) -> Vec<Expression> {
    const VERDICT_REGISTER: u32 = 0;
    let mut expression = expression("immediate", &[(1, VERDICT_REGISTER)]);
    expression.attributes.push((2, Value::Verdict(code)));
    vec![expression]
}

fn reject() -> Vec<Expression> {
    const ANY_FAMILY: u32 = 2;
    const PORT_UNREACHABLE: u8 = 1;
    let mut expression = expression("reject", &[(1, ANY_FAMILY)]);
    expression.attributes.push((2, Value::Plain(vec![PORT_UNREACHABLE])));
    vec![expression]
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

//! The parts of rules: what they look at, and what becomes of a packet.

use std::net::IpAddr;

use super::super::netlink::Message;

const INTERFACES: &[u8] = b"abx";
const REGISTER: [u8; 4] = 1u32.to_be_bytes();

/// One step of a rule: an expression's name and its attributes.
pub(crate) struct Expression {
    name: &'static str,
    attributes: Vec<(u16, Value)>,
}

enum Value {
    Plain(Vec<u8>),
    /// Within one more attribute of this type.
    Inside(u16, Vec<u8>),
    Verdict(i32),
    /// A verdict that goes to a chain.
    Go(i32, String),
    Text(String),
}

impl Expression {
    pub(super) fn write(&self, message: Message) -> Message {
        const NAME: u16 = 1;
        const DATA: u16 = 2;
        message.text(NAME, self.name).nested(DATA, |data| {
            self.attributes.iter().fold(data, |data, (kind, value)| match value {
                Value::Plain(bytes) => data.attribute(*kind, bytes),
                Value::Inside(inner, bytes) => data.nested(*kind, |data| data.attribute(*inner, bytes)),
                Value::Verdict(code) => data.nested(*kind, |data| {
                    data.nested(2, |verdict| verdict.attribute(1, &code.to_be_bytes()))
                }),
                Value::Go(code, chain) => data.nested(*kind, |data| {
                    data.nested(2, |verdict| verdict.attribute(1, &code.to_be_bytes()).text(2, chain))
                }),
                Value::Text(text) => data.text(*kind, text),
            })
        })
    }
}

pub(crate) fn expression(name: &'static str, attributes: &[(u16, u32)]) -> Expression {
    let plain = |(kind, number): &(u16, u32)| (*kind, Value::Plain(number.to_be_bytes().to_vec()));
    Expression { name, attributes: attributes.iter().map(plain).collect() }
}

pub(crate) const EQUAL: u32 = 0;
pub(crate) const NOT_EQUAL: u32 = 1;

/// Compares the beginning of the register.
pub(crate) fn compare(operator: u32, value: &[u8]) -> Expression {
    let attributes = vec![
        (1, Value::Plain(REGISTER.to_vec())),
        (2, Value::Plain(operator.to_be_bytes().to_vec())),
        (3, Value::Inside(1, value.to_vec())),
    ];
    Expression { name: "cmp", attributes }
}

pub(crate) fn load_meta(key: u32) -> Expression {
    expression("meta", &[(1, 1), (2, key)])
}

pub(crate) fn from_sandbox() -> Vec<Expression> {
    const INPUT_NAME: u32 = 6;
    vec![load_meta(INPUT_NAME), compare(EQUAL, INTERFACES)]
}

pub(crate) fn to_sandbox(operator: u32) -> Vec<Expression> {
    const OUTPUT_NAME: u32 = 7;
    vec![load_meta(OUTPUT_NAME), compare(operator, INTERFACES)]
}

/// Offsets in the IPv4 header.
pub(crate) const SOURCE: u32 = 12;
pub(crate) const DESTINATION: u32 = 16;

/// The address begins with these bytes.
pub(crate) fn address_is(offset: u32, bytes: &[u8]) -> Vec<Expression> {
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
pub(crate) fn established() -> Vec<Expression> {
    const STATES: u32 = 2 | 4;
    const STATE: u32 = 0;
    let mut mask = expression("bitwise", &[(1, 1), (2, 1), (3, 4)]);
    mask.attributes.push((4, Value::Inside(1, STATES.to_ne_bytes().to_vec())));
    mask.attributes.push((5, Value::Inside(1, vec![0; 4])));
    vec![expression("ct", &[(1, 1), (2, STATE)]), mask, compare(NOT_EQUAL, &[0; 4])]
}

pub(crate) const DROP: u32 = 0;
pub(crate) const ACCEPT: u32 = 1;
const GOTO: i32 = -4;
const VERDICT_REGISTER: u32 = 0;

pub(crate) fn verdict(code: u32) -> Vec<Expression> {
    let mut expression = expression("immediate", &[(1, VERDICT_REGISTER)]);
    expression.attributes.push((2, Value::Verdict(code as i32)));
    vec![expression]
}

pub(crate) fn reject() -> Vec<Expression> {
    const ANY_FAMILY: u32 = 2;
    const PORT_UNREACHABLE: u8 = 1;
    let mut expression = expression("reject", &[(1, ANY_FAMILY)]);
    expression.attributes.push((2, Value::Plain(vec![PORT_UNREACHABLE])));
    vec![expression]
}

/// The end of a connection of TCP, told as a closed port would: unlike messages of ICMP, nobody counts them.
pub(crate) fn reset() -> Vec<Expression> {
    const BY_RESET: u32 = 1;
    vec![expression("reject", &[(1, BY_RESET)])]
}

/// On to another chain, for good.
pub(crate) fn go_to(chain: &str) -> Vec<Expression> {
    let mut expression = expression("immediate", &[(1, VERDICT_REGISTER)]);
    expression.attributes.push((2, Value::Go(GOTO, chain.to_owned())));
    vec![expression]
}

/// The interface it leaves through is this one.
pub(crate) fn leaves_by(interface: &str) -> Vec<Expression> {
    const OUTPUT_NAME: u32 = 7;
    vec![load_meta(OUTPUT_NAME), compare(EQUAL, &[interface.as_bytes(), &[0]].concat())]
}

/// The packet is of this family: 2 is IPv4, 10 is IPv6.
fn family_is(family: u8) -> Vec<Expression> {
    const FAMILY: u32 = 15;
    vec![load_meta(FAMILY), compare(EQUAL, &[family])]
}

/// Where the destination is in a packet of the family of such an address: family, offset, length.
fn destination_of(address: IpAddr) -> (u8, u32, u32) {
    if address.is_ipv4() { (2, 16, 4) } else { (10, 24, 16) }
}

fn load_destination(offset: u32, length: u32) -> Expression {
    const NETWORK_HEADER: u32 = 1;
    expression("payload", &[(1, 1), (2, NETWORK_HEADER), (3, offset), (4, length)])
}

/// It goes to an address of this network.
pub(crate) fn goes_to_net(address: IpAddr, prefix: u8) -> Vec<Expression> {
    let (family, offset, length) = destination_of(address);
    let mut parts = family_is(family);
    if prefix == 0 {
        return parts;
    }
    parts.push(load_destination(offset, length));
    let value = bytes_of(address);
    let whole = usize::from(prefix / 8);
    if prefix.is_multiple_of(8) {
        // The beginning of the register is compared.
        parts.push(compare(EQUAL, &value[..whole]));
        return parts;
    }
    let mut mask = vec![0xff; whole];
    mask.push(0xffu8 << (8 - prefix % 8));
    mask.resize(value.len(), 0);
    let mut kept = expression("bitwise", &[(1, 1), (2, 1), (3, length)]);
    kept.attributes.push((4, Value::Inside(1, mask)));
    kept.attributes.push((5, Value::Inside(1, vec![0; value.len()])));
    parts.extend([kept, compare(EQUAL, &value)]);
    parts
}

/// It goes to an address in the set, which holds addresses of this one's family.
pub(crate) fn goes_to_set(set: &str, like: IpAddr) -> Vec<Expression> {
    let (family, offset, length) = destination_of(like);
    let mut parts = family_is(family);
    parts.push(load_destination(offset, length));
    let attributes = vec![(1, Value::Text(set.to_owned())), (2, Value::Plain(REGISTER.to_vec()))];
    parts.push(Expression { name: "lookup", attributes });
    parts
}

/// It is of this protocol and goes to this port.
pub(crate) fn goes_to_port(protocol: u8, port: u16) -> Vec<Expression> {
    const TRANSPORT_HEADER: u32 = 2;
    const PORT_OFFSET: u32 = 2;
    vec![
        protocol_is(protocol),
        vec![
            expression("payload", &[(1, 1), (2, TRANSPORT_HEADER), (3, PORT_OFFSET), (4, 2)]),
            compare(EQUAL, &port.to_be_bytes()),
        ],
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(crate) fn protocol_is(protocol: u8) -> Vec<Expression> {
    const PROTOCOL: u32 = 16;
    vec![load_meta(PROTOCOL), compare(EQUAL, &[protocol])]
}

/// A message of ICMPv6 of a type within these.
pub(crate) fn icmpv6_within(first: u8, last: u8) -> Vec<Expression> {
    const TRANSPORT_HEADER: u32 = 2;
    const ICMPV6: u8 = 58;
    const AT_LEAST: u32 = 5;
    const AT_MOST: u32 = 3;
    let mut parts = protocol_is(ICMPV6);
    parts.extend([
        expression("payload", &[(1, 1), (2, TRANSPORT_HEADER), (3, 0), (4, 1)]),
        compare(AT_LEAST, &[first]),
        compare(AT_MOST, &[last]),
    ]);
    parts
}

/// So many a second go on from here.
pub(crate) fn at_most_a_second(rate: u64, burst: u32) -> Vec<Expression> {
    let mut limit = expression("limit", &[(3, burst)]);
    limit.attributes.push((1, Value::Plain(rate.to_be_bytes().to_vec())));
    limit.attributes.push((2, Value::Plain(1u64.to_be_bytes().to_vec())));
    vec![limit]
}

/// The beginning of the packet goes to the listener of this group, under these words.
pub(crate) fn log(group: u16, words: &str, length: u32) -> Vec<Expression> {
    let mut log = expression("log", &[(3, length)]);
    log.attributes.push((1, Value::Plain(group.to_be_bytes().to_vec())));
    log.attributes.push((2, Value::Text(words.to_owned())));
    // Each at once.
    log.attributes.push((4, Value::Plain(1u16.to_be_bytes().to_vec())));
    vec![log]
}

pub(super) fn bytes_of(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

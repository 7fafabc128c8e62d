//! Tables, chains, rules and sets as netlink messages.

use std::net::IpAddr;

use super::super::netlink::{FLAG_ACK, FLAG_APPEND, FLAG_CREATE, Message};
use super::expressions::{ACCEPT, Expression, bytes_of};

/// The name of every table of ours.
pub(crate) const TABLE: &str = "abx";

const SUBSYSTEM: u16 = 10 << 8;
pub(crate) const NEW_TABLE: u16 = SUBSYSTEM;
pub(crate) const DELETE_TABLE: u16 = SUBSYSTEM | 2;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
pub(crate) const GET_CHAIN: u16 = SUBSYSTEM | 4;
const NEW_RULE: u16 = SUBSYSTEM | 6;
const NEW_SET: u16 = SUBSYSTEM | 9;
const NEW_ELEMENT: u16 = SUBSYSTEM | 12;
const DELETE_ELEMENT: u16 = SUBSYSTEM | 14;
pub(crate) const GET_GENERATION: u16 = SUBSYSTEM | 16;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;

pub(crate) const INET: u8 = 1;
pub(crate) fn begin() -> Message {
    Message::new(BATCH_BEGIN, 0, &header(0, SUBSYSTEM >> 8))
}

pub(crate) fn end() -> Message {
    Message::new(BATCH_END, 0, &header(0, SUBSYSTEM >> 8))
}

/// `struct nfgenmsg`.
pub(crate) fn header(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}

pub(crate) fn table(kind: u16) -> Message {
    const NAME: u16 = 1;
    let flags = if kind == NEW_TABLE { FLAG_CREATE | FLAG_ACK } else { FLAG_ACK };
    Message::new(kind, flags, &header(INET, 0)).text(NAME, TABLE)
}

pub(crate) const CHAIN_TABLE: u16 = 1;
pub(crate) const CHAIN_NAME: u16 = 3;
pub(crate) const CHAIN_HOOK: u16 = 4;
pub(crate) const CHAIN_POLICY: u16 = 5;
pub(crate) const HOOK_NUMBER: u16 = 1;
pub(crate) const HOOK_INPUT: u32 = 1;
pub(crate) const HOOK_FORWARD: u32 = 2;
pub(crate) const HOOK_OUTPUT: u32 = 3;
pub(crate) const HOOK_POSTROUTING: u32 = 4;

pub(crate) fn chain(name: &str) -> Message {
    Message::new(NEW_CHAIN, FLAG_CREATE | FLAG_ACK, &header(INET, 0))
        .text(CHAIN_TABLE, TABLE)
        .text(CHAIN_NAME, name)
}

pub(crate) fn hooked_chain(name: &str, kind: &str, hook: u32, priority: u32) -> Message {
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

pub(crate) fn rule(chain: &str, parts: &[Vec<Expression>]) -> Message {
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

/// A set of addresses of this one's family that leave it by themselves. `id` is unique in the transaction.
pub(crate) fn address_set(name: &str, like: IpAddr, id: u32, most: u32) -> Message {
    const TIMEOUT: u32 = 0x10;
    let (kind, length): (u32, u32) = if like.is_ipv4() { (7, 4) } else { (8, 16) };
    Message::new(NEW_SET, FLAG_CREATE, &header(INET, 0))
        .text(1, TABLE)
        .text(2, name)
        .attribute(3, &TIMEOUT.to_be_bytes())
        .attribute(4, &kind.to_be_bytes())
        .attribute(5, &length.to_be_bytes())
        .nested(9, |description| description.attribute(1, &most.to_be_bytes()))
        .attribute(10, &id.to_be_bytes())
}

/// Puts an address into a set for so many milliseconds from now, whether it is there already or not.
pub(crate) fn hold(set: &str, address: IpAddr, milliseconds: u64) -> [Message; 3] {
    let change = |kind, flags, timeout: Option<u64>| {
        Message::new(kind, flags, &header(INET, 0)).text(1, TABLE).text(2, set).nested(3, |list| {
            list.nested(1, |element| {
                let element = element.nested(1, |key| key.attribute(1, &bytes_of(address)));
                match timeout {
                    Some(timeout) => element.attribute(4, &timeout.to_be_bytes()),
                    None => element,
                }
            })
        })
    };
    // An older kernel leaves the end of one that is there as it is.
    [
        change(NEW_ELEMENT, FLAG_CREATE, Some(milliseconds)),
        change(DELETE_ELEMENT, 0, None),
        change(NEW_ELEMENT, FLAG_CREATE, Some(milliseconds)),
    ]
}

//! `network.egress`: what of the outside may be reached.

use abx_core::Egress;
use abx_core::egress::{Target, Verdict};

use super::keys;
use super::reader::{Fields, Reader};
use super::value::join;
use crate::problem::Problem;
use crate::spec::At;
use crate::yaml::{Node, Value};

pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<At<Egress>> {
    const SECTION: &str = "network.egress";
    let fields = reader.fields(node, SECTION, keys::EGRESS);
    let default = fields.get("default").and_then(|node| {
        let word = reader.one_of(node, "network.egress.default", &["allow", "deny"])?;
        Some(if word == "allow" { Verdict::Allow } else { Verdict::Deny })
    });
    let allow = targets(reader, &fields, SECTION, "allow");
    let deny = targets(reader, &fields, SECTION, "deny");
    let count = allow.len() + deny.len();
    if count > Egress::MOST_RULES {
        reader.fault(Problem::TooManyTargets { count, limit: Egress::MOST_RULES }, node.span);
    }
    let is_map = matches!(node.value, Value::Map(_));
    is_map.then(|| reader.at(Egress::of_lists(&allow, &deny, default), node.span))
}

fn targets(reader: &mut Reader<'_>, fields: &Fields<'_>, section: &str, key: &str) -> Vec<Target> {
    let path = join(section, key);
    let mut targets = Vec::new();
    for node in reader.items(fields, section, key) {
        let Some(text) = reader.text(node, &path) else { continue };
        match text.value.parse() {
            Ok(target) => targets.push(target),
            Err(error) => reader.fault(Problem::Target { key: path.clone(), error }, node.span),
        }
    }
    targets
}

//! `ONBUILD`.

use crate::instruction::Onbuild;
use crate::read::Reader;
use crate::read::action::instruction;
use crate::read::run::with_documents;
use crate::syntax::{Body, Node};

pub(crate) fn onbuild(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Onbuild> {
    let Body::Trigger(inner) = &node.body else {
        reader.needs(node, "an instruction");
        return None;
    };
    let text = with_documents(&inner.text, &inner.heredocs);
    let instruction = Box::new(instruction((**inner).clone(), reader)?);
    Some(Onbuild { text, instruction })
}

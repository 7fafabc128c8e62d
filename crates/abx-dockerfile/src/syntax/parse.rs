//! The loop over a file's lines.

use crate::diagnostic::Findings;
use crate::source::Source;
use crate::syntax::line::{Lines, Logical};
use crate::syntax::tree::{Body, Tree};
use crate::syntax::{directive, heredoc, node};

/// Reads every instruction of `source`; those that cannot be read are faults in `findings` and missing in the
/// tree.
pub(crate) fn parse(source: &Source, findings: &mut Findings<'_>) -> Tree {
    let mut lines = Lines::new(source.text());
    let directives = directive::read(&mut lines, findings);
    let escape = directives.escape.unwrap_or('\\');
    let mut nodes = Vec::new();
    while let Some(first) = lines.next().filter(|_| !findings.is_full()) {
        let Some(logical) = Logical::gather(first, &mut lines, escape, findings) else { continue };
        let read = node::read(logical.whole(), escape, findings);
        let heredocs = match read.takes_heredocs {
            true => heredoc::read(logical.whole(), &mut lines, findings),
            false => Vec::new(),
        };
        let Some(mut node) = read.node else { continue };
        match &mut node.body {
            Body::Trigger(inner) => inner.heredocs = heredocs,
            _ => node.heredocs = heredocs,
        }
        nodes.push(node);
    }
    Tree { escape, frontend: directives.syntax, nodes }
}

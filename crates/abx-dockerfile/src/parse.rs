//! Text → [`Dockerfile`].

use crate::diagnostic::{Diagnostic, Findings, Invalid};
use crate::instruction::{Action, Argument, From, Instruction};
use crate::limits::FILE_BYTES;
use crate::lint;
use crate::problem::Problem;
use crate::read::{Reader, from, instruction};
use crate::source::{Source, Span};
use crate::syntax::{self, Keyword, Node, Tree, Word};

/// A Dockerfile that means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dockerfile {
    pub source: Source,
    /// The escape character.
    pub escape: char,
    /// The arguments before the first `FROM`, in order.
    pub arguments: Vec<Argument>,
    /// In the file's order; there is at least one.
    pub stages: Vec<Stage>,
    /// What is questionable in the file.
    pub warnings: Vec<Diagnostic>,
}

/// `FROM` and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub from: From,
    pub instructions: Vec<Instruction>,
}

impl Stage {
    /// Its name, where it has one.
    pub fn name(&self) -> Option<&str> {
        self.from.name.as_ref().map(|name| &*name.text)
    }

    /// What stages that build on this one do first.
    pub fn triggers(&self) -> impl Iterator<Item = &Instruction> {
        self.instructions.iter().filter_map(|instruction| match &instruction.action {
            Action::Onbuild(onbuild) => Some(&*onbuild.instruction),
            _ => None,
        })
    }
}

/// Parses a Dockerfile; `file` is its name as the user knows it. Never panics, whatever the text, and takes
/// time in proportion to it.
///
/// # Errors
/// Every fault of the file at once (the first hundred of them), what we do not support among them.
pub fn parse(text: &str, file: &str) -> Result<Dockerfile, Invalid> {
    let source = Source::new(text, file);
    let mut findings = Findings::new(&source);
    let tree = tree(&source, &mut findings);
    let escape = tree.escape;
    if let Some(frontend) = &tree.frontend {
        check_frontend(frontend, &mut findings);
    }
    let (arguments, stages) = stages(tree, &mut findings);
    lint::stage_names(&stages, &mut findings);
    let warnings = findings.finish()?;
    Ok(Dockerfile { source, escape, arguments, stages, warnings })
}

/// The syntax of a Dockerfile alone, whether or not its instructions make sense.
///
/// # Errors
/// Every fault of its syntax.
pub fn parse_tree(text: &str, file: &str) -> Result<Tree, Invalid> {
    let source = Source::new(text, file);
    let mut findings = Findings::new(&source);
    let tree = tree(&source, &mut findings);
    findings.finish().map(|_| tree)
}

/// Reads an `ONBUILD` trigger as an image's configuration keeps it. The places in the instruction are those of
/// the returned source; `file` says whose trigger it is.
///
/// # Errors
/// Its faults; also where the text holds no instruction or more than one.
pub fn parse_trigger(text: &str, file: &str) -> Result<(Instruction, Source), Invalid> {
    let source = Source::new(text, file);
    let mut findings = Findings::new(&source);
    let tree = tree(&source, &mut findings);
    let mut reader = Reader { findings: &mut findings, escape: tree.escape };
    let mut instructions = Vec::new();
    for node in tree.nodes {
        match node.keyword {
            keyword @ (Keyword::From | Keyword::Maintainer | Keyword::Onbuild) => {
                reader.fault(Problem::Trigger { keyword }, node.span);
            }
            _ => instructions.extend(instruction(node, &mut reader)),
        }
    }
    if let Some(second) = instructions.get(1) {
        findings.fault(Problem::TriggerTwice, second.span);
    }
    findings.finish()?;
    let empty = || Diagnostic::new(Problem::Empty, &source, Span::default());
    let instruction = instructions.into_iter().next().ok_or_else(empty)?;
    Ok((instruction, source))
}

fn tree(source: &Source, findings: &mut Findings<'_>) -> Tree {
    if source.text().len() > FILE_BYTES {
        findings.fault(Problem::TooLarge, Span::default());
        return Tree { escape: '\\', frontend: None, nodes: Vec::new() };
    }
    let tree = syntax::parse(source, findings);
    if let Some(at) = source.text().find('\0') {
        findings.fault(Problem::Nul, Span { start: at, end: at + 1 });
    }
    if tree.nodes.is_empty() && findings.is_clean() {
        findings.fault(Problem::Empty, Span::default());
    }
    tree
}

/// `# syntax=` may name docker's own front end, in any version and from any registry.
fn check_frontend(frontend: &Word, findings: &mut Findings<'_>) {
    let name = frontend.text.split(['@', ' ']).next().unwrap_or_default();
    let slash = name.rfind('/').map_or(0, |at| at + 1);
    let name = name[slash..].find(':').map_or(name, |colon| &name[..slash + colon]);
    let is_ours = ["docker/dockerfile", "docker/dockerfile-upstream"]
        .iter()
        .any(|known| name == *known || name.strip_suffix(known).is_some_and(|host| host.ends_with('/')));
    if !is_ours {
        findings.fault(Problem::Frontend { name: frontend.text.clone() }, frontend.span);
    }
}

fn stages(tree: Tree, findings: &mut Findings<'_>) -> (Vec<Argument>, Vec<Stage>) {
    let mut reader = Reader { findings, escape: tree.escape };
    let mut arguments = Vec::new();
    let mut stages: Vec<Stage> = Vec::new();
    let mut has_from = false;
    let mut last = Span::default();
    for node in tree.nodes {
        if reader.findings.is_full() {
            break;
        }
        last = node.span;
        match (node.keyword, stages.last_mut()) {
            (Keyword::From, _) => {
                has_from = true;
                stages.extend(stage(&node, &mut reader));
            }
            (_, Some(stage)) => stage.instructions.extend(instruction(node, &mut reader)),
            // What follows a FROM that is at fault is read for its own faults.
            (_, None) if has_from => drop(instruction(node, &mut reader)),
            (Keyword::Arg, None) => {
                if let Some(Action::Arg(new)) = instruction(node, &mut reader).map(|found| found.action) {
                    arguments.extend(new);
                }
            }
            (_, None) => before_from(node, &mut reader),
        }
    }
    if !has_from && reader.findings.is_clean() {
        reader.fault(Problem::NoStage, last);
    }
    (arguments, stages)
}

fn before_from(node: Node, reader: &mut Reader<'_, '_>) {
    reader.fault(Problem::BeforeFrom { keyword: node.keyword }, node.span);
    instruction(node, reader);
}

fn stage(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Stage> {
    let from = from(node, reader)?;
    Some(Stage { from, instructions: Vec::new() })
}

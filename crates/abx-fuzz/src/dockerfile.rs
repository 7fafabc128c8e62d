//! Dockerfiles, up to instructions whose variables are filled in.

use std::collections::BTreeMap;

use abx_dockerfile::{
    Dockerfile, Globals, Graph, Inputs, Instruction, Invalid, Origin, Platform, Scope, Source, parse,
    parse_tree, parse_trigger,
};

use crate::place;

/// Any text is understood or refused, and refused with places in it; stages stand behind what they wait for.
pub fn dockerfile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match parse(text, "Dockerfile") {
        Ok(dockerfile) => understood(&dockerfile),
        Err(invalid) => refused(&invalid, text),
    }
}

fn refused(invalid: &Invalid, text: &str) {
    invalid.diagnostics().for_each(|fault| place::told(fault, text));
}

fn understood(dockerfile: &Dockerfile) {
    let text = dockerfile.source.text();
    dockerfile.warnings.iter().for_each(|warning| place::told(warning, text));
    assert!(!dockerfile.stages.is_empty(), "there is a stage");
    let stages = &dockerfile.stages;
    stages.iter().flat_map(|stage| &stage.instructions).for_each(|it| instruction(it, &dockerfile.source));
    assert!(parse_tree(text, "Dockerfile").is_ok(), "what means something has a syntax");
    let inputs = inputs();
    let globals = match Globals::new(dockerfile, &inputs) {
        Ok(globals) => globals,
        Err(invalid) => return refused(&invalid, text),
    };
    match Graph::new(dockerfile, &globals, None) {
        Ok(graph) => ordered(dockerfile, &globals, &graph),
        Err(invalid) => refused(&invalid, text),
    }
}

fn instruction(instruction: &Instruction, source: &Source) {
    let span = instruction.span;
    assert!(
        source.text().get(span.start..span.end).is_some_and(|text| !text.is_empty()),
        "{span:?} is not in it"
    );
    place::of(&source.snippet(span), source.text());
}

fn ordered(dockerfile: &Dockerfile, globals: &Globals, graph: &Graph) {
    assert_eq!(graph.order.last(), Some(&graph.target), "the target is last");
    assert_eq!(graph.waves().concat().len(), graph.order.len(), "a wave for every stage");
    for (position, stage) in graph.order.iter().enumerate() {
        let before = &graph.order[..position];
        assert!(
            graph.links[*stage].after.iter().all(|it| before.contains(it)),
            "{stage} waits for a later stage"
        );
    }
    let mut scopes: BTreeMap<usize, Scope> = BTreeMap::new();
    for stage in &graph.order {
        let scope = match graph.links[*stage].base {
            Origin::Stage(base) => scopes.get(&base).cloned(),
            _ => None,
        };
        let scope = scope.unwrap_or_else(|| Scope::new(globals, [("PATH", "/bin"), ("E", "é x")]));
        let Some(scope) = filled_in(dockerfile, *stage, scope) else { return };
        scopes.insert(*stage, scope);
    }
}

/// The scope at the end of a stage; `None` where an instruction is refused.
fn filled_in(dockerfile: &Dockerfile, stage: usize, mut scope: Scope) -> Option<Scope> {
    for found in &dockerfile.stages[stage].instructions {
        match scope.expand(found, &dockerfile.source) {
            Ok(expanded) => assert_eq!(expanded.span, found.span, "it moved"),
            Err(invalid) => {
                refused(&invalid, dockerfile.source.text());
                return None;
            }
        }
    }
    for trigger in dockerfile.stages[stage].triggers() {
        match parse_trigger(&trigger.text, "ONBUILD") {
            Ok((read, source)) => instruction(&read, &source),
            Err(invalid) => refused(&invalid, &trigger.text),
        }
    }
    Some(scope)
}

fn inputs() -> Inputs {
    let platform = Platform { os: "linux".into(), architecture: "amd64".into(), variant: String::new() };
    let arguments = [("GIVEN", "1 2"), ("HTTP_PROXY", "x")];
    Inputs {
        arguments: arguments.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        build: platform.clone(),
        target: platform,
    }
}

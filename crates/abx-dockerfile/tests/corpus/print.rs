//! A tree in the form the corpus keeps it.

use abx_dockerfile::Word;
use abx_dockerfile::syntax::{Body, Node, Pair, Tree};

pub(crate) fn tree(tree: &Tree) -> String {
    tree.nodes.iter().map(node).collect::<Vec<_>>().join("\n")
}

fn node(node: &Node) -> String {
    let mut parts = vec![node.keyword.as_str().to_lowercase()];
    if !node.flags.is_empty() {
        parts.push(format!("[{}]", list(&node.flags).join(" ")));
    }
    parts.extend(body(&node.body));
    format!("({})", parts.join(" "))
}

fn body(body: &Body) -> Vec<String> {
    match body {
        Body::Empty => Vec::new(),
        Body::Json(words) | Body::Words(words) => list(words),
        Body::Text(word) => vec![quote(&word.text)],
        Body::Pairs(pairs) => pairs.iter().flat_map(pair).collect(),
        Body::Check(kind, command) => [vec![quote(&kind.text)], self::body(command)].concat(),
        Body::Trigger(inner) => vec![node(inner)],
    }
}

fn pair(pair: &Pair) -> [String; 3] {
    [quote(&pair.name.text), quote(&pair.value.text), quote(if pair.spaced { "" } else { "=" })]
}

fn list(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| quote(&word.text)).collect()
}

fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\x{:02x}", control as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

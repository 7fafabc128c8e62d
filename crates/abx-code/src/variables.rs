//! Variables that hold for one cell: set before it and put back after it, in the kernel's own language.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What to run before and after the cell; `None` where the language has no environment to set.
pub(crate) fn around(language: &str, variables: &BTreeMap<String, String>) -> Option<(String, String)> {
    if variables.is_empty() {
        return None;
    }
    let object = json!(variables);
    match language {
        "python" => Some((
            format!("__import__('_abx').push_env({object})"),
            "__import__('_abx').pop_env()".to_owned(),
        )),
        "javascript" | "typescript" => Some(javascript(&object)),
        "bash" => Some(bash(variables)),
        "r" => Some(r(variables)),
        "java" => Some(java(variables)),
        _ => None,
    }
}

/// As text to be evaluated: a kernel of TypeScript would look into the types of a cell.
fn javascript(object: &Value) -> (String, String) {
    let before = format!(
        "(() => {{ const set = {object}, old = {{}}; for (const k in set) {{ old[k] = process.env[k]; \
         process.env[k] = set[k]; }} globalThis.__abx_env = old; }})()"
    );
    let after = "(() => { const old = globalThis.__abx_env || {}; for (const k in old) { if (old[k] === undefined) \
                 delete process.env[k]; else process.env[k] = old[k]; } delete globalThis.__abx_env; })()";
    let evaluated = |text: &str| format!("void eval({})", json!(text));
    (evaluated(&before), evaluated(after))
}

fn bash(variables: &BTreeMap<String, String>) -> (String, String) {
    let (mut before, mut after) = (String::new(), String::new());
    for (name, value) in variables.iter().filter(|(name, _)| is_identifier(name)) {
        let value = value.replace('\'', r"'\''");
        before.push_str(&format!(
            "if [ \"${{{name}+x}}\" ]; then __abx_had_{name}=1; __abx_old_{name}=\"${name}\"; fi; export {name}='{value}'\n"
        ));
        after.push_str(&format!(
            "if [ \"${{__abx_had_{name}:-}}\" ]; then export {name}=\"$__abx_old_{name}\"; else unset {name}; fi; \
             unset __abx_had_{name} __abx_old_{name}\n"
        ));
    }
    (before, after)
}

fn r(variables: &BTreeMap<String, String>) -> (String, String) {
    let names: Vec<String> = variables.keys().map(|name| json!(name).to_string()).collect();
    let set: Vec<String> =
        variables.iter().map(|(name, value)| format!("{}={}", json!(name), json!(value))).collect();
    let before = format!(
        "invisible({{ options(abx.env = Sys.getenv(c({}), unset = NA, names = TRUE)); do.call(Sys.setenv, list({})) }})",
        names.join(", "),
        set.join(", ")
    );
    let after = "invisible({ old <- getOption('abx.env'); for (n in names(old)) if (is.na(old[[n]])) Sys.unsetenv(n) \
                 else do.call(Sys.setenv, setNames(list(old[[n]]), n)); rm(old) })";
    (before, after.to_owned())
}

/// A running Java has no environment to set; its properties stand in for it.
fn java(variables: &BTreeMap<String, String>) -> (String, String) {
    let set = variables
        .iter()
        .map(|(name, value)| format!("System.setProperty({}, {});", json!(name), json!(value)));
    let unset = variables.keys().map(|name| format!("System.clearProperty({});", json!(name)));
    (set.collect(), unset.collect())
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|letter: char| letter.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_sets_and_puts_back() {
        let variables = BTreeMap::from([
            ("OLD".to_owned(), "it's $HOME \"new\"".to_owned()),
            ("NEW".to_owned(), "two\nlines".to_owned()),
            ("not a name".to_owned(), "x".to_owned()),
        ]);
        let (before, after) = around("bash", &variables).expect("bash has an environment");
        let script = format!(
            "export OLD=old\n{before}\necho \"$OLD|$NEW\"\n{after}\necho \"$OLD|${{NEW-unset}}\"; set"
        );
        let output = std::process::Command::new("bash").args(["-euc", &script]).output().expect("bash");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.starts_with("it's $HOME \"new\"|two\nlines\nold|unset\n"), "{text} {output:?}");
        assert!(!text.lines().any(|line| line.starts_with("__abx")), "{text}");
    }

    #[test]
    fn nothing_is_done_where_nothing_is_set_or_can_be() {
        let one = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
        assert_eq!(around("python", &BTreeMap::new()), None);
        assert_eq!(around("cobol", &one), None);
        let (before, after) = around("java", &one).expect("properties");
        assert_eq!(
            (before.as_str(), after.as_str()),
            (r#"System.setProperty("A", "b");"#, r#"System.clearProperty("A");"#)
        );
        assert!(around("r", &one).is_some_and(|(before, _)| before.contains(r#"list("A"="b")"#)));
    }
}

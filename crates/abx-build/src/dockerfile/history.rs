//! Lines of an image's history, in BuildKit's words.

use abx_dockerfile::{Argument, Files, Variable};

/// The text of an instruction as one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `RUN |1 version=3 /bin/sh -c make # buildkit`: the arguments in force, and what was run.
pub(super) fn run(arguments: &[(String, String)], argv: &[String]) -> String {
    let mut words = Vec::new();
    if !arguments.is_empty() {
        words.push(format!("|{}", arguments.len()));
        words.extend(arguments.iter().map(|(name, value)| format!("{name}={value}")));
    }
    words.extend(argv.iter().cloned());
    format!("RUN {} # buildkit", words.join(" "))
}

/// `ENV a=b c=d`.
pub(super) fn variables(keyword: &str, variables: &[Variable]) -> String {
    let pairs = variables.iter().map(|variable| format!(" {}={}", variable.name.text, variable.value.text));
    pairs.fold(keyword.to_owned(), |line, pair| line + &pair)
}

/// `ARG a=b`.
pub(super) fn arguments(arguments: &[Argument]) -> String {
    arguments.iter().fold("ARG".to_owned(), |line, argument| match &argument.value {
        Some(value) => format!("{line} {}={}", argument.name.text, value.text),
        None => format!("{line} {}", argument.name.text),
    })
}

/// `CMD ["a" "b"]`.
pub(super) fn quoted(keyword: &str, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("{keyword} [{}]", words.join(" "))
}

/// `COPY a b /c/ # buildkit`.
pub(super) fn files(keyword: &str, files: &Files) -> String {
    let mut words = vec![keyword.to_owned()];
    words.extend(files.chown.iter().map(|chown| format!("--chown={}", chown.text)));
    words.extend(files.chmod.iter().map(|chmod| format!("--chmod={}", chmod.text)));
    words.extend(files.link.then(|| "--link".to_owned()));
    words.extend(files.sources.iter().map(|source| source.text.clone()));
    words.extend(files.inline.iter().map(|inline| format!("<<{}", inline.name)));
    words.push(files.dest.text.clone());
    format!("{} # buildkit", words.join(" "))
}

//! What only the package's folder can tell about its file.

use std::path::Path;

use abx_spec::{Diagnostic, Problem, Spec};

/// Every source of `build.copy` that is missing or leads out of the package; `text` is the file's.
pub(crate) fn sources(root: &Path, spec: &Spec, text: &str) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for copy in &spec.build.copy {
        let src = &copy.value.src;
        let path = src.display().to_string();
        let problem = match root.join(src).canonicalize() {
            Ok(target) if target.starts_with(root) => continue,
            Ok(_) => Problem::LinkLeaves { path },
            Err(_) => Problem::NoSuchFile { path },
        };
        let length = rest_of_line(text, copy.place.line, copy.place.column);
        faults.push(Diagnostic::new(problem, text, &copy.place, length));
    }
    faults
}

fn rest_of_line(text: &str, line: usize, column: usize) -> usize {
    let line = text.lines().nth(line - 1).unwrap_or_default();
    let rest = line.chars().skip(column - 1).collect::<String>();
    rest.split([',', '}', '#']).next().unwrap_or_default().trim_end().chars().count()
}

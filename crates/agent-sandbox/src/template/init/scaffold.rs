//! The files of a new template.

/// One file.
pub(super) struct ScaffoldFile {
    /// Below the template's folder.
    pub(super) path: &'static str,
    pub(super) content: Vec<u8>,
    pub(super) is_executable: bool,
}

const FILES: [(&str, &str, bool); 7] = [
    ("template.yaml", include_str!("scaffold/template.yaml"), false),
    ("AGENTS.md", include_str!("scaffold/AGENTS.md"), false),
    ("README.md", include_str!("scaffold/README.md"), false),
    ("files/hello", include_str!("scaffold/hello"), true),
    ("examples/hello.sh", include_str!("scaffold/example.sh"), true),
    ("tests/hello.yaml", include_str!("scaffold/tests.yaml"), false),
    (".gitignore", include_str!("scaffold/gitignore"), false),
];

/// A template called `name`, on the parent `base`, or on what its Dockerfile makes.
pub(super) fn files(name: &str, base: Option<&str>, dockerfile: Option<Vec<u8>>) -> Vec<ScaffoldFile> {
    let base = match base {
        Some(parent) => format!(
            "\n# What it is built on: `from` a template, or `image` of a registry.\nbase:\n  from: {}\n",
            quoted(parent)
        ),
        None => "\n# The Dockerfile beside this file defines the image; the steps below run on top of it.\n"
            .to_owned(),
    };
    let filled =
        |text: &str| text.replace("{{base}}\n", &format!("{base}\n")).replace("{{name}}", name).into_bytes();
    let mut files: Vec<ScaffoldFile> = FILES
        .iter()
        .map(|&(path, text, is_executable)| ScaffoldFile { path, content: filled(text), is_executable })
        .collect();
    files.extend(dockerfile.map(|content| ScaffoldFile {
        path: "Dockerfile",
        content,
        is_executable: false,
    }));
    files
}

/// As a double-quoted string of YAML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::files;

    #[test]
    fn the_template_is_without_fault_whatever_its_name() {
        for name in ["a", "my-app", "1.0", "on"] {
            for base in [Some("python-base"), Some("o/r//sub@v1"), None] {
                let files = files(name, base, base.is_none().then(|| b"FROM debian\n".to_vec()));
                let text = String::from_utf8(files[0].content.clone()).expect("text");
                let parsed =
                    abx_spec::parse(&text, "template.yaml").unwrap_or_else(|error| panic!("{error}: {text}"));
                assert_eq!((parsed.spec.metadata.name.as_str(), parsed.warnings.len()), (name, 0));
                assert_eq!(parsed.spec.base.is_some(), base.is_some());
                assert!(files.iter().all(|file| !String::from_utf8_lossy(&file.content).contains("{{")));
            }
        }
    }
}

//! What can be wrong with a file of tests, beside what can be with every file.

/// The keys that say what a test looks at.
pub const VERBS: &[&str] = &[
    "run",
    "code",
    "call",
    "commands",
    "programs",
    "packages",
    "file",
    "port",
    "capabilities",
    "health",
    "resources",
    "image",
];

/// What is wrong, with the words it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteProblem {
    #[error("a file of tests is a map with the list `tests`, not {found}")]
    NotSuite { found: &'static str },
    #[error("this test looks at nothing")]
    NoVerb,
    #[error("this test looks at two things: `{first}` and `{second}`")]
    TwoVerbs { first: &'static str, second: &'static str },
    #[error("a test with `{verb}` has no use for `{key}`")]
    NoUse { verb: &'static str, key: String },
    #[error("the test `{name}` is there twice, first in line {first_line}")]
    NameTwice { name: String, first_line: usize },
    #[error("`{text}` is no regular expression: {detail}")]
    Pattern { text: String, detail: String },
    #[error("`{text}` is no range of versions")]
    Range { text: String },
    #[error("`{text}` are no permissions")]
    Mode { text: String },
    #[error("`{key}` and `{other}` exclude each other")]
    Exclude { key: &'static str, other: &'static str },
    #[error("`{key}` says nothing that must hold")]
    NoDemand { key: String },
}

impl SuiteProblem {
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotSuite { .. } => {
                "the least is `tests: []`; a test has `name` and, say, `run: ./hello`".to_owned()
            }
            Self::NoVerb => {
                let verbs: Vec<String> = VERBS.iter().map(|verb| format!("`{verb}`")).collect();
                format!("add one of {}", verbs.join(", "))
            }
            Self::TwoVerbs { .. } => "write two tests".to_owned(),
            Self::NameTwice { .. } => {
                "give each its own name; it is what --filter and reports go by".to_owned()
            }
            Self::Pattern { .. } => {
                "in single quotes a backslash needs no other before it; `contains` takes the text as it is"
                    .to_owned()
            }
            Self::Range { .. } => "write \"3.11\", \">=2.39\", \"^1.2\", \">=2, <3\" or \"*\"".to_owned(),
            Self::Mode { .. } => "write octal digits in quotes, like \"0644\"".to_owned(),
            Self::NoDemand { .. } | Self::NoUse { .. } | Self::Exclude { .. } => return None,
        })
    }
}

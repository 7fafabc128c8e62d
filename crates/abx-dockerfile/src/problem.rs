//! All that can be wrong with a Dockerfile or an ignore file.

use abx_core::Fault;

use crate::expand::ExpandError;
use crate::limits::{FILE_BYTES, STAGE_BYTES, TIES};
use crate::syntax::Keyword;

/// What is wrong, with the words it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    // The file.
    #[error("the file has no instructions")]
    Empty,
    #[error("the file is larger than {FILE_BYTES} bytes")]
    TooLarge,
    #[error("the text holds a NUL character, which no argument or variable can")]
    Nul,
    #[error("the directive `{name}` is there twice")]
    DirectiveTwice { name: &'static str },
    #[error("the escape character is `\\` or a backtick, not `{text}`")]
    Escape { text: String },
    #[error("the front end `{name}` is not supported: this file is not for docker/dockerfile")]
    Frontend { name: String },
    #[error("unknown instruction `{word}`")]
    UnknownInstruction { word: String, near: Option<Keyword> },
    #[error("the here-document `{name}` has no end")]
    HeredocOpen { name: String },

    // Arguments.
    #[error("an array of arguments holds strings alone")]
    NotStrings,
    #[error("nothing may follow an array of arguments")]
    AfterArray,
    #[error("{keyword} needs {wanted}")]
    Needs { keyword: Keyword, wanted: &'static str },
    #[error("{keyword} takes {wanted}")]
    Takes { keyword: Keyword, wanted: &'static str },
    #[error("{keyword} {name} has no value")]
    NoValue { keyword: Keyword, name: String },
    #[error("`{word}` of {keyword} has no `=`")]
    NoEquals { keyword: Keyword, word: String },
    #[error("{keyword} with an empty name")]
    NoName { keyword: Keyword },
    #[error("{keyword} with an empty {what}")]
    Blank { keyword: Keyword, what: &'static str },
    #[error("`{name}` cannot be the name of a build argument")]
    ArgumentName { name: String },
    #[error("{keyword} cannot be a trigger")]
    Trigger { keyword: Keyword },
    #[error("a trigger is one instruction")]
    TriggerTwice,
    #[error("a here-document cannot be the destination")]
    HeredocDestination,

    // Flags.
    #[error("unknown flag `--{name}` of {keyword}")]
    UnknownFlag { keyword: Keyword, name: String, near: Option<&'static str> },
    #[error("the flag `--{name}` is there twice")]
    FlagTwice { name: &'static str },
    #[error("the flag `--{name}` needs a value")]
    FlagValue { name: &'static str },
    #[error("the flag `--{name}` is `true` or `false`, not `{text}`")]
    FlagSwitch { name: &'static str, text: String },
    #[error("`{text}` is no {what}")]
    Malformed { what: &'static str, text: String, hint: &'static str },
    #[error("{what} cannot hold variables")]
    Variables { what: &'static str, hint: &'static str },

    // Mounts.
    #[error("unknown mount type `{word}`")]
    MountType { word: String, near: Option<&'static str> },
    #[error("unknown option `{word}` of a mount")]
    MountOption { word: String, near: Option<&'static str> },
    #[error("a mount of type `{kind}` has no option `{option}`")]
    MountUnused { kind: &'static str, option: &'static str },
    #[error("a mount of type `{kind}` needs `{option}`")]
    MountNeeds { kind: &'static str, option: &'static str },
    #[error("the mount option `{option}` is there twice")]
    MountTwice { option: String },

    // What we do not do.
    #[error("{what} is not supported")]
    Unsupported { what: String, hint: &'static str },

    // Stages.
    #[error("{keyword} before the first FROM")]
    BeforeFrom { keyword: Keyword },
    #[error("no stage: there is no FROM")]
    NoStage,
    #[error("`{name}` cannot be the name of a stage")]
    StageName { name: String },
    #[error("the stage name `{name}` is taken: the stage of line {line} is not reached by it any more")]
    StageTwice { name: String, line: usize },
    #[error("FROM is blank: `{written}` expands to nothing")]
    BlankFrom { written: String },
    #[error("there is no stage {index}")]
    StageIndex { index: String, count: usize },
    #[error("there is no stage `{name}`")]
    Target { name: String, near: Option<String>, known: Vec<String> },
    #[error("stage {stage} needs itself: {path}")]
    Cycle { stage: String, path: String },
    #[error("the stages of the file are tied more than {TIES} times")]
    TooManyTies,

    // Expansion.
    #[error(transparent)]
    Expand(#[from] ExpandError),
    #[error("the expanded words of a stage come to more than {STAGE_BYTES} bytes")]
    StageTooLarge,

    // Ignore files.
    #[error("the pattern `{pattern}` is malformed: {detail}")]
    Pattern { pattern: String, detail: &'static str },

    // Questionable, but no reason to stop.
    #[error("a blank line within a continued instruction")]
    EmptyContinuation,
    #[error("`{name}` is no stage of this file, so it means an image")]
    AlmostStage { name: String, near: String },
    #[error("`{text}` names a port of the host, which an image cannot")]
    HostPort { text: String },
    #[error("this looks like an array, but is none, so the shell gets it as it stands")]
    NotArray,
}

impl Problem {
    /// What to do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        self.hint().into_iter().collect()
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Empty | Self::NoStage => Some("begin with `FROM` and the image to build on".into()),
            Self::DirectiveTwice { .. } => Some("keep one of the two".into()),
            Self::UnknownInstruction { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::UnknownInstruction { near: None, .. } => {
                Some("an instruction goes on in the next line where its line ends in `\\`".into())
            }
            Self::HeredocOpen { name } => Some(format!("end it with a line that is `{name}` alone")),
            Self::NotStrings => Some("quote each argument: `[\"sleep\", \"1\"]`".into()),
            Self::AfterArray => Some("for the shell's `[` write `test`".into()),
            Self::NoValue { name, .. } => Some(format!("write `{name}=value`")),
            Self::NoEquals { .. } => Some("write `name=value`, and quote a value that holds spaces".into()),
            Self::ArgumentName { .. } => {
                Some("a name has letters, digits, `_`, `.` and `-`, and begins with a letter or `_`".into())
            }
            Self::NoName { .. } => Some("write a name before the `=`".into()),
            Self::UnknownFlag { near, .. } => near.map(|near| format!("did you mean `--{near}`?")),
            Self::FlagValue { name } => Some(format!("write `--{name}=…`")),
            Self::Malformed { hint, .. } | Self::Variables { hint, .. } | Self::Unsupported { hint, .. } => {
                (!hint.is_empty()).then(|| (*hint).to_owned())
            }
            Self::MountType { near, .. } | Self::MountOption { near, .. } => {
                near.map(|near| format!("did you mean `{near}`?"))
            }
            Self::BeforeFrom { .. } => Some("only ARG may stand before FROM".into()),
            Self::StageName { .. } => Some(
                "a name begins with a letter and has letters, digits, `_`, `-` and `.`; `scratch` is taken"
                    .into(),
            ),
            Self::BlankFrom { .. } => {
                Some("give the ARG before FROM a default, or pass `--build-arg`".into())
            }
            Self::StageIndex { count, .. } => {
                Some(format!("stages are counted from 0; this file has {count}"))
            }
            Self::Target { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::Target { known, .. } if known.is_empty() => Some("no stage of this file has a name".into()),
            Self::Target { known, .. } => Some(format!("the stages are `{}`", known.join("`, `"))),
            Self::Expand(error) => error.hints().into_iter().next(),
            Self::EmptyContinuation => Some("remove the blank line, or the `\\` before it".into()),
            Self::AlmostStage { near, .. } => Some(format!("did you mean the stage `{near}`?")),
            Self::HostPort { .. } => Some(
                "name the port inside alone; which port of the host leads to it is said at create".into(),
            ),
            Self::NotArray => Some("an array has double quotes and commas: `[\"a\", \"b\"]`".into()),
            _ => None,
        }
    }
}

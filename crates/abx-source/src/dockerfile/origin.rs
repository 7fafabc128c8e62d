//! What a `FROM` means.

use abx_core::Snippet;
use abx_dockerfile::Graph;
use abx_reference::{Reference, ReferenceError};
use abx_spec::{At, Base, Place};

use crate::SourceContext;

/// The registry name that stands for our templates, wherever they are.
pub const TEMPLATES: &str = "registry.sandbox.alicloud.com/templates/";

/// What an image begins with. A stage of the file is looked for before any of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nothing at all.
    Scratch,
    /// An image, by the name it has in the file.
    Image(String),
    /// A template: the name it has in the file, and the reference that means.
    Template { name: String, reference: String },
}

impl Origin {
    /// Tells what is not a stage. [`TEMPLATES`] with a name, and the exact name of a built-in template, mean templates;
    /// an alias does not: `python:3.12-slim` and `python` are images.
    pub(crate) fn of(name: &str, context: &SourceContext) -> Self {
        let is_builtin = context.builtins.iter().any(|builtin| builtin.name == name);
        match name.strip_prefix(TEMPLATES) {
            Some(reference) if !reference.contains(['/', '@']) => {
                Self::Template { name: name.to_owned(), reference: reference.to_owned() }
            }
            _ if is_builtin => Self::Template { name: name.to_owned(), reference: name.to_owned() },
            _ => Self::Image(name.to_owned()),
        }
    }

    /// The same as a template.yaml would have it.
    pub(crate) fn base(&self, place: Place) -> Option<Base> {
        match self {
            Self::Scratch => None,
            Self::Image(name) => Some(Base::Image(At { value: name.clone(), place })),
            Self::Template { reference, .. } => Some(Base::From(At { value: reference.clone(), place })),
        }
    }

    /// Whether a `base` says the same.
    pub(crate) fn is_that_of(&self, base: &Base) -> bool {
        match (self, base) {
            (Self::Image(name), Base::Image(at) | Base::Either(at)) => tagged(name) == tagged(&at.value),
            (Self::Template { reference, .. }, Base::From(at) | Base::Either(at)) => {
                let parsed = |text: &str| -> Result<Reference, ReferenceError> { Reference::parse(text) };
                matches!((parsed(reference), parsed(&at.value)), (Ok(one), Ok(other)) if one == other)
            }
            _ => false,
        }
    }
}

/// The name of an image with the tag that one without has.
fn tagged(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains([':', '@']) { name.to_owned() } else { format!("{name}:latest") }
}

/// An image or template that the target needs, with the place where the file names it first.
pub(crate) struct Needed {
    pub(crate) name: String,
    pub(crate) at: Snippet,
}

/// Everything that stages begin with or copy from and that is no stage, the image's own beginning left out.
pub(crate) fn needed(file: &abx_dockerfile::Dockerfile, graph: &Graph, root: usize) -> Vec<Needed> {
    let mut needed: Vec<Needed> = Vec::new();
    let mut add = |name: &str, span| {
        if !needed.iter().any(|known| known.name == name) {
            needed.push(Needed { name: name.to_owned(), at: file.source.snippet(span) });
        }
    };
    for &number in &graph.order {
        let (Some(link), Some(stage)) = (graph.links.get(number), file.stages.get(number)) else { continue };
        if let abx_dockerfile::Origin::Image(name) = &link.base
            && number != root
        {
            add(name, stage.from.image.span);
        }
        for name in &link.images {
            let words = stage.instructions.iter().flat_map(abx_dockerfile::Instruction::origins);
            let span =
                words.clone().find(|word| word.text == *name).map_or(stage.from.span, |word| word.span);
            add(name, span);
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_core::Home;

    #[test]
    fn names_of_templates_and_images() {
        let context = SourceContext::new(Home::new("/none"), "/".into(), None);
        let rows = [
            ("python-base", Some("python-base")),
            ("python", None),
            ("python-base:1.0.0", None),
            ("debian:bookworm-slim", None),
            ("registry.sandbox.alicloud.com/templates/python-base:latest", Some("python-base:latest")),
            ("registry.sandbox.alicloud.com/templates/my-app:v1.0", Some("my-app:v1.0")),
            ("registry.sandbox.alicloud.com/templates/a/b", None),
            ("registry.sandbox.alicloud.com/other/python-base", None),
        ];
        for (name, expected) in rows {
            let found = match Origin::of(name, &context) {
                Origin::Template { reference, .. } => Some(reference),
                _ => None,
            };
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_base_beside_a_dockerfile_says_the_same_in_any_spelling() {
        let at = |value: &str| At { value: value.to_owned(), place: Place::start_of("t") };
        let image = |name: &str| Origin::Image(name.to_owned());
        let template =
            |reference: &str| Origin::Template { name: String::new(), reference: reference.to_owned() };
        let rows = [
            (image("debian:12"), Base::Image(at("debian:12")), true),
            (image("debian"), Base::Image(at("debian:latest")), true),
            (image("debian:12"), Base::Image(at("debian:11")), false),
            (image("debian:12"), Base::Either(at("debian:12")), true),
            (image("debian:12"), Base::From(at("debian:12")), false),
            (template("python-base:latest"), Base::From(at("python-base")), true),
            (template("python-base"), Base::From(at("base")), false),
            (template("python-base"), Base::Image(at("python-base")), false),
            (Origin::Scratch, Base::Image(at("scratch")), false),
        ];
        for (origin, base, expected) in rows {
            assert_eq!(origin.is_that_of(&base), expected, "{origin:?} {base:?}");
        }
    }
}

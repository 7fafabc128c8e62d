//! `FROM`.

use crate::instruction::From;
use crate::problem::Problem;
use crate::read::flags::Flags;
use crate::read::{Reader, value};
use crate::syntax::{Body, Node, Word};

/// How a stage begins.
pub(crate) fn from(node: &Node, reader: &mut Reader<'_, '_>) -> Option<From> {
    let mut flags = Flags::read(node, &["platform"], reader);
    let platform = flags.text("platform", reader);
    if let Some(platform) = &platform {
        reader.word(platform, value::platform);
    }
    let words: &[Word] = if let Body::Words(words) = &node.body { words } else { &[] };
    let (image, name) = match words {
        [image] => (image, None),
        [image, middle, name] if middle.text.eq_ignore_ascii_case("as") => {
            (image, Some(stage_name(name, reader)?))
        }
        _ => {
            let wanted = "an image, and `AS name` where the stage is to have a name";
            reader.fault(Problem::Takes { keyword: node.keyword, wanted }, node.span);
            return None;
        }
    };
    reader.filled(image, node.keyword, "image");
    Some(From { image: image.clone(), platform, name, span: node.span })
}

fn stage_name(word: &Word, reader: &mut Reader<'_, '_>) -> Option<Word> {
    let name = word.text.to_lowercase();
    let good = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && name != "scratch";
    if !good {
        reader.fault(Problem::StageName { name: word.text.clone() }, word.span);
        return None;
    }
    Some(Word { text: name, span: word.span })
}

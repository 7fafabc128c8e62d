//! `RUN --mount=…`.

use crate::instruction::{Mount, MountKind, Sharing};
use crate::near::nearest;
use crate::problem::Problem;
use crate::read::{Reader, value};
use crate::syntax::Word;

/// Names of options, all spellings of one in a row, the usual one first.
const OPTIONS: &[&[&str]] = &[
    &["type"],
    &["target", "dst", "destination"],
    &["source", "src"],
    &["from"],
    &["id"],
    &["sharing"],
    &["size"],
    &["mode"],
    &["uid"],
    &["gid"],
    &["env"],
    &["required"],
    &["ro", "readonly"],
    &["rw", "readwrite"],
];
const KINDS: [&str; 5] = ["bind", "cache", "tmpfs", "secret", "ssh"];

/// What the value of one `--mount` flag asks for.
pub(crate) fn mount(flag: &Word, reader: &mut Reader<'_, '_>) -> Option<Mount> {
    let mut options = Options::read(flag, reader)?;
    let kind = options.take("type").map_or_else(|| "bind".to_owned(), |word| word.text);
    let kind = match kind.as_str() {
        "bind" => bind(&mut options, reader),
        "cache" => cache(&mut options, reader),
        "tmpfs" => tmpfs(&mut options, reader),
        "secret" => secret(&mut options, reader),
        "ssh" => {
            let hint = "pass a key as a secret: `--mount=type=secret,id=key`";
            reader.fault(Problem::Unsupported { what: "a mount of type `ssh`".into(), hint }, flag.span);
            return None;
        }
        _ => {
            let near = nearest(&kind, KINDS);
            reader.fault(Problem::MountType { word: kind, near }, flag.span);
            return None;
        }
    }?;
    Some(Mount { span: flag.span, kind })
}

fn bind(options: &mut Options, reader: &mut Reader<'_, '_>) -> Option<MountKind> {
    options.kind = "bind";
    let target = options.needed("target", reader);
    let source = options.path("source", reader).unwrap_or_else(|| options.word(""));
    let from = options.from(reader);
    let read_write = options.writable(false, reader);
    options.finish(reader);
    Some(MountKind::Bind { target: target?, source, from, read_write })
}

fn cache(options: &mut Options, reader: &mut Reader<'_, '_>) -> Option<MountKind> {
    options.kind = "cache";
    let target = options.needed("target", reader);
    let id = options.path("id", reader);
    let sharing = options.take("sharing").and_then(|word| sharing(&word, reader)).unwrap_or_default();
    let from = options.from(reader);
    let source = options.path("source", reader).unwrap_or_else(|| options.word(""));
    let read_only = !options.writable(true, reader);
    let mode = options.mode(0o755, reader);
    let (uid, gid) = (options.number("uid", reader), options.number("gid", reader));
    options.finish(reader);
    Some(MountKind::Cache { target: target?, id, sharing, from, source, read_only, mode, uid, gid })
}

fn sharing(word: &Word, reader: &mut Reader<'_, '_>) -> Option<Sharing> {
    match word.text.as_str() {
        "shared" => Some(Sharing::Shared),
        "private" => Some(Sharing::Private),
        "locked" => Some(Sharing::Locked),
        text => {
            let hint = "it is `shared`, `private` or `locked`";
            reader.report(Err(value::malformed("way to share a cache", text, hint)), word.span)
        }
    }
}

fn tmpfs(options: &mut Options, reader: &mut Reader<'_, '_>) -> Option<MountKind> {
    options.kind = "tmpfs";
    let target = options.needed("target", reader);
    let size = options.take("size").and_then(|word| {
        let size = bytes(&word.text)
            .ok_or_else(|| value::malformed("size", &word.text, "write it as `64m` or `1g`"));
        reader.report(size, word.span)
    });
    options.finish(reader);
    Some(MountKind::Tmpfs { target: target?, size })
}

fn secret(options: &mut Options, reader: &mut Reader<'_, '_>) -> Option<MountKind> {
    options.kind = "secret";
    let target = options.path("target", reader);
    let id = options.path("id", reader);
    // `source` is an old name of `id` and wins over it.
    let id = options.path("source", reader).or(id).or_else(|| target.as_ref().map(base));
    let env = options.path("env", reader);
    let required = options.switch("required", false, reader);
    let mode = options.mode(0o400, reader);
    let (uid, gid) = (options.number("uid", reader), options.number("gid", reader));
    options.finish(reader);
    let Some(id) = id else {
        reader.fault(Problem::MountNeeds { kind: "secret", option: "id" }, options.flag.span);
        return None;
    };
    Some(MountKind::Secret { id, target, env, required, mode, uid, gid })
}

fn base(target: &Word) -> Word {
    let text = target.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    Word { text: text.to_owned(), span: target.span }
}

/// `64m`, `1.5g`, `4096`; powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let lower = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let number = lower.trim_end_matches(['k', 'm', 'g', 't']);
    let factor: f64 = match &lower[number.len()..] {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let size = number.trim().parse::<f64>().ok().filter(|_| is_plain)? * factor;
    // The cast rounds towards zero, and the bound keeps it exact enough.
    (size < 9e15).then_some(size as u64)
}

/// The options of one mount.
struct Options {
    flag: Word,
    kind: &'static str,
    given: Vec<(&'static str, Option<Word>)>,
}

impl Options {
    fn read(flag: &Word, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let mut options = Self { flag: flag.clone(), kind: "", given: Vec::new() };
        let mut is_good = true;
        for field in fields(&flag.text) {
            let (key, value) =
                field.split_once('=').map_or((&*field, None), |(key, value)| (key, Some(value)));
            let key = key.trim().to_ascii_lowercase();
            let Some(names) = OPTIONS.iter().find(|names| names.contains(&&*key)) else {
                let near = nearest(&key, OPTIONS.iter().flat_map(|names| names.iter().copied()));
                reader.fault(Problem::MountOption { word: key, near }, flag.span);
                is_good = false;
                continue;
            };
            if options.given.iter().any(|(name, _)| *name == names[0]) {
                reader.fault(Problem::MountTwice { option: key }, flag.span);
                is_good = false;
                continue;
            }
            options.given.push((names[0], value.map(|value| options.word(value))));
        }
        is_good.then_some(options)
    }

    fn word(&self, text: &str) -> Word {
        Word { text: text.to_owned(), span: self.flag.span }
    }

    /// An option that has a value.
    fn take(&mut self, name: &str) -> Option<Word> {
        let index = self.given.iter().position(|(given, value)| *given == name && value.is_some())?;
        self.given.swap_remove(index).1
    }

    /// An option in which variables may stand.
    fn path(&mut self, name: &str, reader: &mut Reader<'_, '_>) -> Option<Word> {
        let word = self.take(name).filter(|word| !word.text.is_empty())?;
        reader.syntax(&word);
        Some(word)
    }

    fn needed(&mut self, option: &'static str, reader: &mut Reader<'_, '_>) -> Option<Word> {
        let word = self.path(option, reader);
        if word.is_none() {
            reader.fault(Problem::MountNeeds { kind: self.kind, option }, self.flag.span);
        }
        word
    }

    fn from(&mut self, reader: &mut Reader<'_, '_>) -> Option<Word> {
        let from = self.take("from").filter(|word| !word.text.is_empty())?;
        if from.text.contains('$') {
            let hint = "begin a stage with `FROM` and the variable, and mount from that stage";
            reader.fault(Problem::Variables { what: "the mount option `from`", hint }, from.span);
        }
        Some(from)
    }

    fn number(&mut self, name: &str, reader: &mut Reader<'_, '_>) -> u32 {
        let Some(word) = self.take(name) else { return 0 };
        let number =
            word.text.parse().map_err(|_| value::malformed("number of a user or group", &word.text, ""));
        reader.report(number, word.span).unwrap_or_default()
    }

    fn mode(&mut self, default: u32, reader: &mut Reader<'_, '_>) -> u32 {
        let Some(word) = self.take("mode") else { return default };
        let mode = value::octal(&word.text)
            .ok_or_else(|| value::malformed("file mode", &word.text, "write it as `0755`"));
        reader.report(mode, word.span).unwrap_or_default()
    }

    /// An option that is `true` where it stands alone.
    fn switch(&mut self, name: &str, default: bool, reader: &mut Reader<'_, '_>) -> bool {
        let Some(index) = self.given.iter().position(|(given, _)| *given == name) else { return default };
        match self.given.swap_remove(index).1 {
            None => true,
            Some(word) => {
                let value = word.text.parse();
                let value =
                    value.map_err(|_| value::malformed("truth value", &word.text, "it is `true` or `false`"));
                reader.report(value, word.span).unwrap_or_default()
            }
        }
    }

    /// Whether the mount may be written to, by `rw` or `ro`.
    fn writable(&mut self, default: bool, reader: &mut Reader<'_, '_>) -> bool {
        let writable = self.switch("rw", default, reader);
        !self.switch("ro", !writable, reader)
    }

    fn finish(&mut self, reader: &mut Reader<'_, '_>) {
        for (option, _) in std::mem::take(&mut self.given) {
            reader.fault(Problem::MountUnused { kind: self.kind, option }, self.flag.span);
        }
    }
}

/// Fields between commas; one in double quotes may hold commas, and a quote written twice.
fn fields(text: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' if quoted || field.is_empty() => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            letter => field.push(letter),
        }
    }
    fields.push(field);
    fields
}

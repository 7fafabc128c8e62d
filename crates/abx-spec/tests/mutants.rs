//! Any text is parsed or refused; nothing panics, and every place lies in the file.

use abx_spec::parse;

const SEEDS: &[&str] = &[
    include_str!("files/full.yaml"),
    include_str!("files/shorthand.yaml"),
    include_str!("../../../templates/base/template.yaml"),
    include_str!("../../../templates/python-base/template.yaml"),
    "a: &x {b: [1, 2, *x]}\n<<: *x\n? - k\n: |\n  t\n  u\n\n- é: \"\\u00e9\\x00\"\n",
];
const PIECES: &[&str] = &[
    ":",
    " ",
    "\n",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "#",
    "&a ",
    "*a",
    "!t ",
    "|\n",
    ">\n",
    "? ",
    "---\n",
    "...\n",
    "\t",
    "é",
    "\u{0}",
    "\u{feff}",
    "\r\n",
    "%YAML 1.1\n",
    "~",
    "null",
    "1e999",
    "-",
    "0x",
    "..",
    "\\u",
    "<<: ",
    ", ",
    "\u{2028}",
    "$",
];
const ROUNDS: usize = 20_000;

#[test]
fn nothing_panics() {
    let mut random = Random(7);
    for round in 0..ROUNDS {
        let mut text = SEEDS[round % SEEDS.len()].to_owned();
        for _ in 0..=random.below(4) {
            mutate(&mut text, &mut random);
        }
        check(&text);
    }
}

fn check(text: &str) {
    let Err(invalid) = parse(text, "t") else { return };
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    for fault in invalid.diagnostics() {
        let at = &fault.snippet;
        let line = body.lines().nth(at.line - 1).unwrap_or_default();
        assert_eq!(at.source, line, "{fault}");
        let width = line.chars().count();
        assert!(at.column >= 1 && at.column <= width + 1, "{fault}: column {} of {width}", at.column);
        assert!(at.length >= 1 && at.column + at.length <= width.max(at.column) + 1, "{fault}: {at:?}");
        assert!(!fault.to_string().contains('\n'), "{fault}");
    }
}

fn mutate(text: &mut String, random: &mut Random) {
    let at = boundary(text, random.below(text.len() + 1));
    match random.below(4) {
        0 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
        1 => text.truncate(at),
        2 => {
            let end = boundary(text, (at + random.below(20)).min(text.len()));
            text.replace_range(at..end.max(at), PIECES[random.below(PIECES.len())]);
        }
        _ => {
            let end = boundary(text, (at + random.below(60)).min(text.len()));
            let piece = text[at..end.max(at)].to_owned();
            let to = boundary(text, random.below(text.len() + 1));
            text.insert_str(to, &piece);
        }
    }
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

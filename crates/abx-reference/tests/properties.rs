//! What holds for every text: it is parsed or refused, and what is parsed prints as a text that means the same.

use std::collections::HashSet;

use abx_reference::{Reference, Selector};

/// Parses, and where that goes well, checks what printing must hold.
fn check(text: &str) -> bool {
    let Ok(reference) = Reference::parse(text) else { return false };
    let printed = reference.to_string();
    let again = Reference::parse(&printed);
    assert_eq!(again.as_ref(), Ok(&reference), "`{text}` prints as `{printed}`");
    assert_eq!(again.map(|again| again.to_string()), Ok(printed), "`{text}` has two printed forms");
    let alike: HashSet<Reference> = [reference.clone(), reference].into();
    assert_eq!(alike.len(), 1);
    true
}

#[test]
fn any_text_is_parsed_or_refused_and_prints_back() {
    let pieces = [
        "a",
        "B",
        "1.2",
        "/",
        "//",
        ":",
        "@",
        "^",
        "~",
        ".",
        "..",
        "-",
        "\u{e9}",
        " ",
        "\u{7f}",
        ".git",
        "file:",
        "oci://",
        "github:",
        "https://github.com/",
        "/tree/",
        "/releases/tag/",
        "sha256:",
        "latest",
        "+",
        "=",
        ">",
        "<",
        ",",
        "*",
        "%2F",
        "%40",
        "%0a",
        "%20",
        "/blob/",
        "\\",
        "?",
        "#",
        "v1.0.0-rc.1",
        "\u{202e}",
    ];
    let mut dice = Dice(1);
    for _ in 0..100_000 {
        let text: String = (0..=dice.below(6)).map(|_| dice.one_of(&pieces)).collect();
        check(&text);
    }
}

#[test]
fn every_well_formed_reference_is_parsed_and_prints_back() {
    let mut dice = Dice(2);
    for _ in 0..20_000 {
        let text = match dice.below(4) {
            0 => dice.github(),
            1 => dice.registry(),
            2 => format!("{}{}", dice.one_of(&["./", "../", "/", "~/", "file:"]), dice.path()),
            _ => {
                let name = dice.word();
                let selector = dice.selector();
                if dice.below(3) == 0 { name } else { format!("{name}:{selector}") }
            }
        };
        assert!(check(&text), "`{text}` is refused: {:?}", Reference::parse(&text));
    }
}

#[test]
fn every_selector_prints_back() {
    let mut dice = Dice(3);
    for _ in 0..20_000 {
        let text = dice.selector();
        let selector = Selector::parse(&text).unwrap_or_else(|reason| panic!("`{text}`: {reason}"));
        assert_eq!(selector.to_string(), text);
        assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }
}

#[test]
fn another_spelling_of_a_repository_is_the_same_reference() {
    let mut dice = Dice(4);
    for _ in 0..5_000 {
        let (owner, repository, path, tag) = (dice.word(), dice.word(), dice.path(), dice.word());
        let explicit = Reference::parse(&format!("{owner}/{repository}//{path}@{tag}"));
        assert!(explicit.is_ok(), "{explicit:?}");
        for other in [
            format!("{owner}/{repository}/{path}@{tag}"),
            format!("{}/{repository}.git//{path}/@{tag}", owner.to_uppercase()),
            format!("github:{owner}/{repository}//{path}@{tag}"),
            format!("git@github.com:{owner}/{repository}.git//{path}@{tag}"),
            format!("https://github.com/{owner}/{repository}/tree/{tag}/{path}"),
            format!("https://www.github.com/{owner}/{repository}//{path}@{tag}"),
        ] {
            assert_eq!(Reference::parse(&other), explicit, "`{other}`");
        }
    }
}

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// Letters and digits, with something else in the middle.
    fn word(&mut self) -> String {
        let start = self.one_of(&["a", "web", "python3", "x1"]);
        let end = self.one_of(&["", "-tools", "_b", ".c", "0"]);
        // An owner has no dot.
        if end == ".c" { format!("{start}c") } else { format!("{start}{end}") }
    }

    fn path(&mut self) -> String {
        let parts: Vec<String> = (0..=self.below(3)).map(|_| self.word()).collect();
        parts.join("/")
    }

    fn version(&mut self) -> String {
        let (major, minor, patch) = (self.below(30), self.below(30), self.below(30));
        let rest = self.one_of(&["", "", "-rc.1", "-alpha", "-0.x.y"]);
        format!("{major}.{minor}.{patch}{rest}")
    }

    fn range(&mut self) -> String {
        let operators = ["^", "~", "~=", ">=", "<=", ">", "<", "="];
        let one = |dice: &mut Self| {
            let operator = dice.one_of(&operators);
            match dice.below(3) {
                0 => format!("{operator}{}", dice.below(30)),
                1 => format!("{operator}{}.{}", dice.below(30), dice.below(30)),
                _ => format!("{operator}{}", dice.version()),
            }
        };
        let (first, second) = (one(self), one(self));
        let comma = self.one_of(&[",", ", "]);
        if self.below(2) == 0 { first } else { format!("{first}{comma}{second}") }
    }

    fn selector(&mut self) -> String {
        match self.below(4) {
            0 => "latest".to_owned(),
            1 => self.range(),
            2 => self.version(),
            _ => self.word(),
        }
    }

    fn github(&mut self) -> String {
        let prefix = self.one_of(&["", "github:", "https://github.com/", "git@github.com:", "github.com/"]);
        let mut text = format!("{prefix}{}/{}", self.word(), self.word());
        if self.below(2) == 0 {
            text += &format!("{}{}", self.one_of(&["/", "//"]), self.path());
        }
        text += &match self.below(4) {
            0 => String::new(),
            1 => format!("@{}", self.path()),
            _ => format!("@{}", self.selector()),
        };
        text
    }

    fn registry(&mut self) -> String {
        let scheme = self.one_of(&["acr", "oci", "docker"]);
        let host = self.one_of(&["r.example.com", "localhost:5000", "127.0.0.1:1"]);
        let mut text = format!("{scheme}://{host}/{}", self.path());
        if self.below(2) == 0 {
            text += &format!(":{}", self.selector());
        } else if self.below(2) == 0 {
            text += &format!("@sha256:{}", "0123456789abcdef".repeat(4));
        }
        text
    }
}

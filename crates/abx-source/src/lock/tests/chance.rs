//! Locks that nobody thought of.

use abx_core::Fault;

use super::super::*;
use super::archive;

/// Numbers that look like chance and are the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn word(&mut self) -> String {
        let letters: Vec<char> = "ab/@^~:.\"\\'#=[]{}é数 ".chars().collect();
        (0..=self.throw(12)).map(|_| letters[self.throw(letters.len())]).collect()
    }

    fn digits(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(b"0123456789abcdef"[self.throw(16)])).collect()
    }

    fn lock(&mut self) -> Lock {
        let templates = (0..=self.throw(4)).map(|_| self.template()).collect();
        let base = match self.throw(3) {
            0 => None,
            1 => Some(LockedBase::Registry {
                image: self.word(),
                digest: format!("sha256:{}", self.digits(64)),
            }),
            _ => {
                let mut packages: Vec<_> =
                    (0..self.throw(5)).map(|_| format!("p{}={}", self.throw(99), self.word())).collect();
                packages.sort_unstable();
                packages.dedup();
                let image = self.word();
                Some(LockedBase::Archive(LockedArchive { image, packages, ..archive(&[]) }))
            }
        };
        Lock { templates, base, images: Vec::new() }
    }

    fn template(&mut self) -> LockedTemplate {
        let kinds = [LockedKind::Directory, LockedKind::Github, LockedKind::BuiltIn, LockedKind::Local];
        LockedTemplate {
            reference: self.word(),
            kind: kinds[self.throw(4)],
            name: self.word(),
            tag: Some(self.word()),
            source: (self.throw(2) == 0).then(|| self.word()),
            commit: Some(self.digits(40)),
            digest: Some(format!("sha256:{}", self.digits(64))),
        }
    }
}

#[test]
fn whatever_is_written_reads_back_and_is_written_the_same() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for _ in 0..500 {
        let lock = dice.lock();
        let text = lock.to_string();
        let read = Lock::parse(&text, "template.lock").unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read, lock, "{text}");
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn damage_is_told_with_a_place_that_is_there() {
    let mut dice = Dice(42);
    for _ in 0..2000 {
        let mut letters: Vec<char> = dice.lock().to_string().chars().collect();
        for _ in 0..=dice.throw(3) {
            let at = dice.throw(letters.len());
            match dice.throw(3) {
                0 => letters[at] = ['é', '"', '\n', '[', '0', '\u{7f}', '\r'][dice.throw(7)],
                1 => drop(letters.remove(at)),
                _ => letters.truncate(at + 1),
            }
        }
        let text: String = letters.into_iter().collect();
        match Lock::parse(&text, "template.lock") {
            Ok(lock) => assert_eq!(Lock::parse(&lock.to_string(), "again").expect("it was read"), lock),
            Err(error) => {
                let lines = text.matches('\n').count() + 1;
                for snippet in error.snippets() {
                    assert!(
                        (1..=lines).contains(&snippet.line) && snippet.column >= 1,
                        "{error}: {snippet:?}"
                    );
                    let width = snippet.source.chars().count() + 1;
                    assert!(snippet.column <= width && snippet.length >= 1, "{error}: {snippet:?}");
                }
            }
        }
    }
}

//! Whatever an archive is put together from: it stays where it is put.

use std::fs;

use super::{Caps, Place, Tar, gzip};

const ROUNDS: u32 = 150;

/// Pseudo-random, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

/// Of few names, so that members get in each other's way; folders are seldom called like links and files, or most
/// archives would be refused.
fn path(dice: &mut Dice, last: &[&str]) -> String {
    let mut path = String::new();
    for _ in 0..dice.below(3) {
        let folders = if dice.below(8) == 0 { &["l", "m"] } else { &["a", "b"] };
        path += dice.pick(folders);
        path.push('/');
    }
    path + dice.pick(last)
}

fn target(dice: &mut Dice, outside: &str) -> String {
    let steps = ["..", "..", ".", "a", "b", "l", "m", "f", "root", "outside", "secret"];
    let parts: Vec<&str> = (0..=dice.below(5)).map(|_| dice.pick(&steps)).collect();
    match dice.below(8) {
        0 => outside.to_owned(),
        1 => format!("/{}", parts.join("/")),
        _ => parts.join("/"),
    }
}

fn composed(dice: &mut Dice, outside: &str) -> Tar {
    let members = 4 + dice.below(24);
    (0..members).fold(Tar::default().file("t/f", "f"), |tar, _| {
        let mut name = |last: &[&str]| format!("t/{}", path(dice, last));
        let (link, file, folder, other) =
            (name(&["l", "m"]), name(&["f", "g"]), name(&["a", "b"]), name(&["f", "g"]));
        match dice.below(16) {
            0..=6 => tar.link(&link, &target(dice, outside)),
            7..=8 => tar.folder(&folder),
            9 => tar.file(&link, "data"),
            10 if dice.below(4) == 0 => tar.hard(&file, &other),
            _ => tar.file(&file, "data"),
        }
    })
}

/// Every link that leads anywhere leads to something inside.
fn expect_contained(place: &Place, told: &str) {
    let root = place.root().canonicalize().expect("root");
    for entry in walkdir::WalkDir::new(&root).into_iter().flatten() {
        if entry.file_type().is_symlink()
            && let Ok(target) = fs::canonicalize(entry.path())
        {
            assert!(
                target.starts_with(&root),
                "{told}: {} leads to {}",
                entry.path().display(),
                target.display()
            );
        }
    }
}

#[test]
fn members_in_each_other_s_way_reach_nothing_outside() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut extracted = 0;
    for round in 0..ROUNDS {
        let place = Place::new();
        let outside = place.outside().display().to_string();
        let archive = composed(&mut dice, &outside).gzip();
        let result = place.extract(&archive, &Caps::default());
        if result.is_ok() {
            extracted += 1;
            expect_contained(&place, &format!("round {round}, {result:?}"));
        }
    }
    assert!(extracted > ROUNDS / 8, "only {extracted} archives were put together well enough to be unpacked");
}

#[test]
fn random_damage_reaches_nothing_outside() {
    let mut dice = Dice(42);
    for round in 0..ROUNDS {
        let place = Place::new();
        let outside = place.outside().display().to_string();
        let tar = Tar::default()
            .file("t/a", "a")
            .link("t/l", "a")
            .long_name(&format!("t/{}", "n".repeat(120)))
            .file("t/n", "n")
            .pax("path", "t/pax")
            .file("t/p", "p")
            .link("t/out", &outside)
            .file("t/out/secret", "evil");
        let mut bytes = tar.bytes;
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(bytes.len());
            bytes[at] = dice.below(256) as u8;
        }
        if let Ok(extracted) = place.extract(&gzip(&bytes), &Caps::default()) {
            expect_contained(&place, &format!("round {round}, {extracted:?}"));
        }
    }
}

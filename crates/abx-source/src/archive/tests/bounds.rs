//! Archives that would fill the disk, memory or the day.

use tar::EntryType;

use super::{Caps, Place, Tar, outcome};

#[test]
fn bombs_end_at_the_caps() {
    let caps = Caps { entries: 3, compressed: 2048, expanded: 4096, ..Caps::default() };
    let many = (0..4).fold(Tar::default(), |tar, n| tar.file(&format!("t/{n}"), ""));
    let large = Tar::default().file("t/a", &"0".repeat(4097));
    // Nothing declares these bytes.
    let mut zeros = Tar::default().file("t/a", "a");
    zeros.bytes.resize(64 << 10, 0);
    let noise: String =
        (0..9000u32).map(|n| char::from(b'!' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 90)).collect();
    for (archive, expected) in [
        (many.gzip(), "E5021 the archive has more than 3 entries"),
        (large.gzip(), "E5021 the archive has more than 4096 bytes when unpacked"),
        (zeros.gzip(), "E5021 the archive has more than 16384 bytes when unpacked"),
    ] {
        assert_eq!(outcome(&archive, &caps), Err(expected.to_owned()));
    }
    let small = Caps { compressed: 64, ..Caps::default() };
    let archive = Tar::default().file("t/b", &noise).gzip();
    assert_eq!(outcome(&archive, &small), Err("E5021 the archive has more than 64 bytes of download".into()));
}

#[test]
fn a_hundred_thousand_members_are_the_most() {
    // Devices are not made, so that this takes no time.
    let devices =
        |count| (0..count).fold(Tar::default().file("t/a", "a"), |tar, n| tar.device(&format!("t/{n}")));
    let (extracted, picture) = outcome(&devices(99_999).gzip(), &Caps::default()).expect("extracted");
    assert_eq!(
        (extracted.left_out, extracted.skipped.len(), picture),
        (99_999, 1000, vec!["a 644 a".into()])
    );
    let refused = outcome(&devices(100_000).gzip(), &Caps::default());
    assert_eq!(refused, Err("E5021 the archive has more than 100000 entries".to_owned()));
}

#[test]
fn folders_that_are_only_implied_count_too() {
    let deep = |n: u32| format!("t/{n}/{}f", "x/".repeat(50));
    let tar = (0..7).fold(Tar::default(), |tar, n| tar.long_name(&deep(n)).file("t/f", ""));
    let caps = Caps { entries: 300, ..Caps::default() };
    assert_eq!(outcome(&tar.gzip(), &caps), Err("E5021 the archive has more than 300 entries".to_owned()));
}

#[test]
fn headers_that_would_fill_memory_are_refused() {
    let attribute = "a".repeat(900 << 10);
    let two = |tar: Tar| tar.pax("SCHILY.xattr.user.a", &attribute);
    for tar in [
        two(two(Tar::default())).file("t/a", "a"),
        two(Tar::default()).long_name(&attribute).file("t/a", "a"),
        Tar::default().long_name(&"n/".repeat(600 << 10)).file("t/a", "a"),
    ] {
        assert_eq!(outcome(&tar.gzip(), &Caps::default()), Err("E5020 the archive is damaged".to_owned()));
    }
    // Those for all members are not kept.
    let tar = (0..3).fold(Tar::default(), |tar, _| tar.records(EntryType::XGlobalHeader, "x", &attribute));
    assert!(outcome(&tar.file("t/a", "a").gzip(), &Caps::default()).is_ok());
}

#[test]
fn names_may_be_as_long_as_the_caps_and_no_longer() {
    let name = |bytes| format!("t/{}", "n".repeat(bytes));
    // Components of 255 bytes and what is left.
    let path = |bytes: usize| {
        let mut path = format!("{}/", "p".repeat(255)).repeat(bytes / 256);
        path.push_str(&"q".repeat(bytes % 256));
        format!("t/{path}")
    };
    for (name, expected) in [
        (name(255), Ok(())),
        (name(256), Err("E5021 the archive has more than 255 bytes in a file's name")),
        (path(4095), Ok(())),
        (path(4097), Err("E5021 the archive has more than 4096 bytes in a path")),
        // Two thousand folders deep.
        (format!("t/{}yy", "x/".repeat(2047)), Ok(())),
        (format!("t/{}yyy", "x/".repeat(2047)), Err("E5021 the archive has more than 4096 bytes in a path")),
    ] {
        let place = Place::new();
        let archive = Tar::default().long_name(&name).file("t/a", "a").gzip();
        let outcome = place.extract(&archive, &Caps::default()).map(drop);
        assert_eq!(outcome, expected.map_err(str::to_owned), "{} bytes", name.len());
    }
}

use std::io::Read;

use super::*;

fn entry(path: &str, kind: Kind) -> Entry {
    Entry {
        path: path.into(),
        kind,
        mode: 0o644,
        uid: 0,
        gid: 0,
        mtime: Time { seconds: 1_700_000_000, nanoseconds: 0 },
        size: 0,
        xattrs: Vec::new(),
    }
}

fn write(members: &[(Entry, &[u8])]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (entry, data) in members {
        writer.append(entry, *data).expect("append");
    }
    writer.finish().expect("finish")
}

fn read(bytes: &[u8]) -> Result<Vec<(Entry, Vec<u8>)>, TarFault> {
    let mut reader = Reader::new(bytes);
    let mut members = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        let mut data = Vec::new();
        reader.read_to_end(&mut data)?;
        members.push((entry, data));
    }
    Ok(members)
}

#[test]
fn every_kind_and_odd_value_comes_back() {
    let long = "d/".repeat(120) + "file";
    let odd = Entry {
        uid: 3_000_000_000,
        mode: 0o4755,
        mtime: Time { seconds: -5, nanoseconds: 0 },
        size: 3,
        // A capability set with a line break and an equals sign in it.
        xattrs: vec![Xattr { name: "security.capability".into(), value: b"\x01\n\n=\n9 a=b\n".to_vec() }],
        ..entry("odd", Kind::File)
    };
    let members: Vec<(Entry, &[u8])> = vec![
        (entry("dir/", Kind::Directory), b""),
        (Entry { size: 513, ..entry(&long, Kind::File) }, &[7; 513]),
        (odd, b"abc"),
        (entry("hard", Kind::HardLink(long.clone().into())), b""),
        (entry("größe", Kind::Symlink(vec![b'x'; 101])), b""),
        (entry("fifo", Kind::Fifo), b""),
        (entry("null", Kind::Device { character: true, major: 1, minor: 3 }), b""),
    ];
    let bytes = write(&members);
    assert!(bytes == write(&members), "the same members give the same bytes");
    let expected: Vec<_> = members.into_iter().map(|(entry, data)| (entry, data.to_vec())).collect();
    assert_eq!(read(&bytes).expect("read"), expected);
}

#[test]
fn another_reader_understands_us() {
    let long = "e/".repeat(80) + "file";
    let bytes = write(&[(Entry { size: 2, ..entry(&long, Kind::File) }, b"hi")]);
    let mut archive = tar::Archive::new(&bytes[..]);
    let mut entries = archive.entries().expect("entries");
    let mut found = entries.next().expect("one").expect("whole");
    assert_eq!(found.path_bytes(), long.as_bytes());
    let mut data = String::new();
    found.read_to_string(&mut data).expect("data");
    assert_eq!(data, "hi");
}

#[test]
fn blank_fields_are_zero() {
    let mut header = tar::Header::new_gnu();
    header.set_path("file").expect("path");
    header.set_cksum();
    let members = read(header.as_bytes()).expect("read");
    assert_eq!((members[0].0.uid, members[0].0.mode, members[0].0.mtime), (0, 0, Time::default()));
}

#[test]
fn damage_is_told() {
    let whole = write(&[(Entry { size: 600, ..entry("file", Kind::File) }, &[1; 600])]);
    assert!(matches!(read(&whole[..100]), Err(TarFault::Truncated)));
    assert!(read(&whole[..900]).is_err());
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    assert!(matches!(read(&flipped), Err(TarFault::Checksum)));
    assert_eq!(read(&[]).expect("empty").len(), 0);
}

#[test]
fn an_extension_that_would_fill_memory_is_refused() {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::XHeader);
    header.set_size(1 << 40);
    header.set_cksum();
    assert!(matches!(read(header.as_bytes()), Err(TarFault::ExtensionTooLong { .. })));
}

#[test]
fn a_pax_size_outranks_the_header_s() {
    let mut records = Vec::new();
    pax::write(&mut records, "size", b"512");
    let header = |kind, size| {
        let mut header = tar::Header::new_ustar();
        header.as_ustar_mut().expect("ustar").name[0] = b'f';
        for set in [tar::Header::set_uid, tar::Header::set_gid, tar::Header::set_mtime] {
            set(&mut header, 0);
        }
        header.set_mode(0o644);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        *header.as_bytes()
    };
    let mut bytes = header(tar::EntryType::XHeader, records.len() as u64).to_vec();
    records.resize(512, 0);
    bytes.extend(records);
    bytes.extend(header(tar::EntryType::Regular, 0));
    // Data that looks like a member: a reader that believed the header would see it.
    bytes.extend(header(tar::EntryType::Regular, 0));
    let members = read(&bytes).expect("read");
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].1.len(), 512);
}

#[test]
fn an_empty_record_leaves_the_header_s_own_field() {
    let mut records = Vec::new();
    for key in ["path", "linkpath", "size", "uid", "mtime"] {
        pax::write(&mut records, key, b"");
    }
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::XHeader);
    header.set_size(records.len() as u64);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    records.resize(512, 0);
    bytes.extend(records);
    let link = (entry("a", Kind::Symlink(b"b".to_vec())), Vec::new());
    bytes.extend(write(&[(link.0.clone(), b"")]));
    assert_eq!(read(&bytes).expect("read"), [link]);
    // A link without a target is none.
    let blank = bytes[1024..].iter().position(|byte| *byte == b'b').expect("the target");
    bytes[1024 + blank] = 0;
    let sum: u32 = bytes[1024..1536].iter().map(|byte| u32::from(*byte)).sum();
    let old: u32 = bytes[1172..1180].iter().map(|byte| u32::from(*byte)).sum();
    bytes[1172..1180].copy_from_slice(format!("{:06o}\0 ", sum - old + 8 * 32).as_bytes());
    assert!(matches!(read(&bytes), Err(TarFault::Field { field: "linkname" })));
}

#[test]
fn random_damage_never_panics() {
    let whole = write(&[
        (Entry { size: 600, ..entry(&"x/".repeat(90), Kind::File) }, &[1; 600]),
        (entry("link", Kind::Symlink(b"t".to_vec())), b""),
    ]);
    let mut state = 1_u32;
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = state as usize % bytes.len();
            bytes[at] = (state >> 13) as u8;
        }
        let _ = read(&bytes);
    }
}

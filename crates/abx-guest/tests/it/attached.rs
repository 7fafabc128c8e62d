//! What uploads attach to files, and what large ones cost.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::common::{TestGuest, run};

const OCTETS: (&str, &str) = ("Content-Type", "application/octet-stream");

fn upload(guest: &TestGuest, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let headers = [&[OCTETS], headers].concat();
    let answer = guest.http("POST", &format!("/files?path={path}"), &headers, b"content");
    (answer.status, serde_json::from_slice(&answer.body).expect("json"))
}

fn attached(guest: &TestGuest, path: &str) -> Value {
    let (status, body) = guest.call("/filesystem.Filesystem/Stat", &json!({ "path": path }).to_string());
    assert_eq!(status, 200, "{body}");
    body["entry"]["metadata"].clone()
}

#[test]
fn metadata_is_kept_with_the_file_and_goes_with_what_replaces_it() {
    let guest = TestGuest::start();
    let path = guest.path("work/file");
    let (status, body) = upload(&guest, &path, &[("X-Metadata-Author", "a b"), ("X-Metadata-Stage", "2")]);
    if status == 500 {
        // A file system without such attributes.
        return eprintln!("skipped: {body}");
    }
    let both = json!({ "author": "a b", "stage": "2" });
    assert_eq!((status, &body[0]["metadata"]), (200, &both), "{body}");
    assert_eq!(attached(&guest, &path), both);
    let (_, listed) =
        guest.call("/filesystem.Filesystem/ListDir", &json!({ "path": guest.path("work") }).to_string());
    assert_eq!(listed["entries"][0]["metadata"], both, "{listed}");

    // On the file it is what `getfattr` shows, and what others attach is shown.
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.e2b.author", &mut value[..]).expect("attribute");
    assert_eq!(&value[..length], b"a b");
    rustix::fs::setxattr(&path, "user.e2b.later", b"by hand", rustix::fs::XattrFlags::empty()).expect("set");
    rustix::fs::setxattr(&path, "user.other", b"not ours", rustix::fs::XattrFlags::empty()).expect("set");
    assert_eq!(attached(&guest, &path), json!({ "author": "a b", "later": "by hand", "stage": "2" }));

    // Moved with the file, replaced by the next upload, cleared by one without.
    let moved = guest.path("work/moved");
    guest.call("/filesystem.Filesystem/Move", &json!({ "source": path, "destination": moved }).to_string());
    assert_eq!(attached(&guest, &moved)["author"], "a b");
    upload(&guest, &moved, &[("X-Metadata-Only", "this")]);
    assert_eq!(attached(&guest, &moved), json!({ "only": "this" }));
    let (_, body) = upload(&guest, &moved, &[]);
    assert!(body[0].get("metadata").is_none(), "{body}");
    assert_eq!(attached(&guest, &moved), Value::Null);
}

#[test]
fn metadata_has_its_bounds() {
    let guest = TestGuest::start();
    let path = guest.path("work/file");
    let long_key = format!("X-Metadata-{}", "k".repeat(247));
    let long_value = "v".repeat(4097);
    for headers in
        [[(long_key.as_str(), "v")], [("X-Metadata-Long", long_value.as_str())], [("X-Metadata-", "v")]]
    {
        let (status, body) = upload(&guest, &path, &headers);
        assert_eq!(status, 400, "{body}");
        assert!(body["message"].as_str().is_some_and(|message| message.contains("metadata")), "{body}");
        assert!(!std::path::Path::new(&path).exists(), "nothing is written");
    }
}

/// The most the daemon ever had in memory, in bytes.
fn peak(guest: &TestGuest) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", guest.pid())).expect("status");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn a_file_larger_than_all_buffers_passes_in_constant_memory() {
    const SIZE: u64 = 192 << 20;
    let guest = TestGuest::start();
    let path = guest.path("large");
    run(async {
        guest.client.upload(&b"warm"[..], &path, None).await.expect("upload");
        let before = peak(&guest);
        guest.client.upload(tokio::io::repeat(7).take(SIZE), &path, None).await.expect("upload");
        let download = guest.client.download(&path, None).await.expect("download");
        assert_eq!(download.copy_to(tokio::io::sink()).await.expect("content"), SIZE);
        let archive = guest.client.archive_out(&path, None).await.expect("archive");
        assert!(archive.copy_to(tokio::io::sink()).await.expect("content") > SIZE);
        let grown = peak(&guest).saturating_sub(before);
        assert!(grown < 24 << 20, "{} MiB more for a file of {} MiB", grown >> 20, SIZE >> 20);
    });
}

#[test]
fn many_uploads_at_once_all_arrive() {
    let guest = TestGuest::start();
    run(async {
        let upload = |number: u8| {
            let (client, path) = (guest.client.clone(), guest.path(&format!("work/{number}")));
            async move { client.upload(tokio::io::repeat(number).take(1 << 20), &path, None).await }
        };
        let uploads: Vec<_> = (0..24).map(|number| Box::pin(upload(number))).collect();
        for result in futures_util::future::join_all(uploads).await {
            result.expect("upload");
        }
    });
    let sizes: BTreeMap<_, _> = (0..24)
        .map(|number| (number, std::fs::metadata(guest.path(&format!("work/{number}"))).expect("file").len()))
        .collect();
    assert!(sizes.values().all(|size| *size == 1 << 20), "{sizes:?}");
}

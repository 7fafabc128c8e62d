//! `file`: whether it is there, and how.

use abx_client::{Client, ClientError, FileType};
use abx_spec::suite::{FileCheck, FileKind};

use super::finding::{Finding, Unseen};

/// The content of a larger file is not looked at.
const MOST: i64 = 16 << 20;

pub(super) async fn check(client: &Client, check: &FileCheck) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    let (path, place) = (check.path.value.as_str(), &check.path.place);
    // Root sees everything, but its home is not where a relative path begins.
    let user = path.starts_with('/').then_some("root");
    let entry = match client.stat(path, user).await {
        Err(ClientError::FileNotFound { .. }) => {
            if check.exists {
                finding.miss(place, "file", format!("{path} is there"), "it is not".to_owned());
            }
            return Ok(finding);
        }
        entry => entry?,
    };
    if !check.exists {
        finding.miss(place, "file", format!("no {path}"), "it is there".to_owned());
        return Ok(finding);
    }
    let is_directory = entry.r#type == FileType::Directory as i32;
    if let Some(kind) = &check.kind {
        let actual = if is_directory { FileKind::Directory } else { FileKind::File };
        if kind.value != actual {
            finding.miss(&kind.place, "type", kind.value.as_str().to_owned(), actual.as_str().to_owned());
        }
    }
    if let Some(mode) = &check.mode
        && mode.value != entry.mode & 0o7777
    {
        let words = |mode: u32| format!("{mode:04o}");
        finding.miss(&mode.place, "mode", words(mode.value), words(entry.mode & 0o7777));
    }
    for (wanted, what, actual) in
        [(&check.owner, "owner", &entry.owner), (&check.group, "group", &entry.group)]
    {
        if let Some(wanted) = wanted {
            finding.same(wanted, what, actual.clone());
        }
    }
    if check.content.is_empty() {
        return Ok(finding);
    }
    if is_directory || entry.size > MOST {
        let actual = if is_directory { "a directory".to_owned() } else { format!("{} bytes", entry.size) };
        finding.miss(place, "content", format!("a file of at most {MOST} bytes"), actual);
        return Ok(finding);
    }
    let bytes = client.download(path, user).await?.bytes().await?;
    finding.text(&check.content, "content", &String::from_utf8_lossy(&bytes));
    Ok(finding)
}

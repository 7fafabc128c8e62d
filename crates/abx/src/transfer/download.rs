use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_client::{Client, Download, EntryInfo, FileType};
use abx_core::Progress;
use abx_core::progress::{self, Task, Unit};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;

use super::{TransferError, Transferred, unpack};

/// Copies a file or folder out of a sandbox; it belongs to the caller here.
pub(crate) async fn download(
    client: &Client,
    source: &str,
    destination: &Path,
    progress: &dyn Progress,
) -> Result<Transferred, TransferError> {
    let entry = client.stat(source, None).await?;
    let target = target(source, &entry, destination);
    let is_folder = entry.r#type == FileType::Directory as i32;
    let size = (!is_folder).then(|| u64::try_from(entry.size).unwrap_or(0)).filter(|size| *size > 0);
    let task = progress::start(progress, format!("download {source}"), size, Unit::Bytes);
    let (bytes, skipped) = if is_folder {
        download_folder(client.archive_out(source, None).await?, source, &target, &task).await?
    } else {
        let stream = client.download(source, None).await?;
        (download_file(stream, &target, entry.mode, &task).await?, Vec::new())
    };
    Ok(Transferred { path: target.display().to_string(), bytes, skipped })
}

/// The path it gets on this machine. Of the sandbox's answer only the last component of the name counts.
fn target(source: &str, entry: &EntryInfo, destination: &Path) -> PathBuf {
    let content_is_meant = source == "." || source.ends_with("/.");
    let asked = Path::new(source).file_name().map(PathBuf::from);
    let told = || Path::new(&entry.name).file_name().map(PathBuf::from);
    let Some(name) = asked.or_else(told).filter(|_| !content_is_meant) else { return destination.to_owned() };
    let takes_in = destination.is_dir() || destination.as_os_str().as_encoded_bytes().ends_with(b"/");
    if takes_in { destination.join(name) } else { destination.to_owned() }
}

/// Writes beside the target and renames: the target is whole or as it was.
async fn download_file(
    mut stream: Download,
    target: &Path,
    mode: u32,
    task: &Task<'_>,
) -> Result<u64, TransferError> {
    let written = |error| TransferError::local("write", target)(error);
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(TransferError::local("create", parent))?;
    let permissions = std::fs::Permissions::from_mode(mode & 0o777);
    let mut file = tempfile::Builder::new()
        .prefix(".abx-")
        .permissions(permissions)
        .tempfile_in(parent)
        .map_err(written)?;
    let mut bytes = 0;
    while let Some(piece) = stream.next().await? {
        file.write_all(&piece).map_err(written)?;
        bytes += piece.len() as u64;
        task.advance(piece.len() as u64);
    }
    file.persist(target).map_err(|error| written(error.error))?;
    Ok(bytes)
}

async fn download_folder(
    mut stream: Download,
    source: &str,
    target: &Path,
    task: &Task<'_>,
) -> Result<(u64, Vec<String>), TransferError> {
    let (reader, writer) = super::pipe(target)?;
    let mut writer = Sender::from_owned_fd(writer).map_err(TransferError::local("write", target))?;
    let (root, name) = (target.to_owned(), source.to_owned());
    let unpacking = tokio::task::spawn_blocking(move || unpack::unpack(File::from(reader), &root, &name));
    while let Some(piece) = stream.next().await? {
        if writer.write_all(&piece).await.is_err() {
            // The other end has given up, and says why below.
            break;
        }
        task.advance(piece.len() as u64);
    }
    drop(writer);
    super::joined(unpacking, target).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_does_not_choose_where_a_file_lands() {
        let dir = tempfile::tempdir().expect("tempdir");
        let folder = dir.path();
        let entry = |name: &str| EntryInfo { name: name.into(), ..EntryInfo::default() };
        for (source, name, destination, expected) in [
            ("/a/b.txt", "b.txt", folder.to_owned(), folder.join("b.txt")),
            ("/a/b.txt", "../../evil", folder.to_owned(), folder.join("b.txt")),
            ("~", "/home/user", folder.to_owned(), folder.join("~")),
            ("/", "../..", folder.to_owned(), folder.to_owned()),
            ("a/.", "a", folder.to_owned(), folder.to_owned()),
            ("a", "a", folder.join("new"), folder.join("new")),
            ("a", "a", folder.join("new/"), folder.join("new/a")),
        ] {
            assert_eq!(target(source, &entry(name), &destination), expected, "{source}");
        }
    }
}

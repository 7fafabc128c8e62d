use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use abx_client::{Client, ClientError, FileType};
use abx_core::Progress;
use abx_core::progress::{self, Unit};
use tokio::net::unix::pipe::Receiver;

use super::counted::Counted;
use super::{TransferError, Transferred, pack};

/// The mode a file gets inside that comes as bytes alone.
const PLAIN: u32 = 0o644;

/// Copies a file or folder into a sandbox; it keeps its modes and belongs to the sandbox's user there.
pub(crate) async fn upload(
    client: &Client,
    source: &Path,
    destination: &str,
    progress: &dyn Progress,
) -> Result<Transferred, TransferError> {
    let metadata = std::fs::metadata(source).map_err(TransferError::local("read", source))?;
    let path = target(client, source, destination).await?;
    if metadata.is_dir() {
        let root = source.to_owned();
        upload_archive(client, source, path, move |out| pack::pack(&root, out), progress).await
    } else if metadata.is_file() && metadata.permissions().mode() & 0o777 != PLAIN {
        upload_with_mode(client, source, path, progress).await
    } else if metadata.is_file() {
        upload_file(client, source, metadata.len(), path, progress).await
    } else {
        Err(TransferError::Special { path: source.to_owned() })
    }
}

/// The path it gets in the sandbox.
async fn target(client: &Client, source: &Path, destination: &str) -> Result<String, ClientError> {
    let Some(name) = own_name(source) else { return Ok(destination.to_owned()) };
    let is_folder = destination.ends_with('/')
        || match client.stat(destination, None).await {
            Ok(entry) => entry.r#type == FileType::Directory as i32,
            Err(ClientError::FileNotFound { .. }) => false,
            Err(error) => return Err(error),
        };
    Ok(if is_folder {
        format!("{}/{name}", destination.trim_end_matches('/'))
    } else {
        destination.to_owned()
    })
}

/// The name a source keeps inside another folder; `None` for `.`, `..` and what ends so: its content is meant.
fn own_name(source: &Path) -> Option<String> {
    let text = source.as_os_str().as_encoded_bytes();
    if text == b"." || text.ends_with(b"/.") {
        return None;
    }
    source.file_name().map(|name| name.to_string_lossy().into_owned())
}

async fn upload_file(
    client: &Client,
    source: &Path,
    size: u64,
    path: String,
    progress: &dyn Progress,
) -> Result<Transferred, TransferError> {
    let file = tokio::fs::File::open(source).await.map_err(TransferError::local("read", source))?;
    let task = progress::start(progress, format!("upload {}", source.display()), Some(size), Unit::Bytes);
    let mut bytes = 0;
    client.upload(Counted::new(file, &task, &mut bytes), &path, None).await?;
    Ok(Transferred { path, bytes, skipped: Vec::new() })
}

/// A file that is not plain, a program say: an archive keeps its mode.
async fn upload_with_mode(
    client: &Client,
    source: &Path,
    path: String,
    progress: &dyn Progress,
) -> Result<Transferred, TransferError> {
    let (folder, name) = match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((folder, name)) => (folder, name),
        None => (".", path.as_str()),
    };
    let (file, folder, name) = (source.to_owned(), folder.to_owned(), name.to_owned());
    let packing = move |out| pack::pack_file(&file, &name, out);
    Ok(Transferred { path, ..upload_archive(client, source, folder, packing, progress).await? })
}

/// Sends what `pack` writes to be laid down in the folder `path`.
async fn upload_archive(
    client: &Client,
    source: &Path,
    path: String,
    pack: impl FnOnce(File) -> Result<Vec<String>, TransferError> + Send + 'static,
    progress: &dyn Progress,
) -> Result<Transferred, TransferError> {
    let (reader, writer) = super::pipe(source)?;
    let reader = Receiver::from_owned_fd(reader).map_err(TransferError::local("read", source))?;
    let packing = tokio::task::spawn_blocking(move || pack(File::from(writer)));
    let task = progress::start(progress, format!("upload {}", source.display()), None, Unit::Bytes);
    let mut bytes = 0;
    let sent = client.archive_in(Counted::new(reader, &task, &mut bytes), &path, None).await;
    // A source that cannot be read is the cause of an archive that ends early; a daemon that refuses is the cause
    // of a pipe that nobody reads.
    let (report, mut skipped) = match (sent, super::joined(packing, source).await) {
        (Ok(report), packed) => (report, packed?),
        (Err(_), Err(error)) if !super::is_broken_pipe(&error) => return Err(error),
        (Err(error), _) => return Err(error.into()),
    };
    skipped.extend(report.skipped);
    Ok(Transferred { path, bytes: report.bytes, skipped })
}

#[cfg(test)]
mod tests {
    use super::own_name;
    use std::path::Path;

    #[test]
    fn a_source_keeps_its_name_unless_its_content_is_meant() {
        for (source, name) in [
            ("a/b.txt", Some("b.txt")),
            ("/a/b/", Some("b")),
            (".", None),
            ("..", None),
            ("a/.", None),
            ("a/..", None),
            ("/", None),
            (".hidden", Some(".hidden")),
        ] {
            assert_eq!(own_name(Path::new(source)).as_deref(), name, "{source}");
        }
    }
}

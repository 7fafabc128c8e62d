//! `WORKDIR`: where what follows works, and a directory there.

use std::path::Path;

use abx_core::progress::Task;

use super::copy::on_canvas;
use super::copy::paint::Painter;
use super::refusal::Refusal;
use super::stage::{Stage, Step};
use super::users;
use crate::error::BuildError;

/// The version of the way directories are made: raised with every change that alters results.
const VERSION: u64 = 1;

/// Adds the layer of a `WORKDIR`, where the directory is not there yet.
pub(super) fn workdir(stage: &mut Stage<'_, '_>, step: Step<'_>, path: &str) -> Result<(), BuildError> {
    let path = match path.is_empty() {
        true => stage.workdir(),
        false => stage.absolute(path),
    };
    let path = if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
    stage.state.config.workdir.clone_from(&path);
    stage.state.own.workdir = Some(path.clone());
    let made_by = format!("WORKDIR {path}");
    let view = stage.view();
    let unreadable = |source| Refusal::File { verb: "read", path: path.clone(), source };
    match view.find(&path).map_err(unreadable).map_err(stage.refuse(step))? {
        Some(found) if found.metadata.is_dir() => {
            stage.note(made_by);
            return Ok(());
        }
        Some(_) => return Err(stage.refuse(step)(Refusal::OverFile { path })),
        None => {}
    }
    let user = stage.state.config.user.clone();
    // As of `--chown`; but a user or group that is still to come does not keep the directory from being made.
    let group = user.find(':').map_or("", |at| &user[at..]);
    let owner = users::owner(&view, &user).or_else(|_| users::owner(&view, group)).unwrap_or_default();
    let hasher = stage.hasher("WORKDIR", VERSION).field(&path);
    let key = hasher.number(owner.uid.into()).number(owner.gid.into()).layer();
    stage.layer(step, key, made_by, |stage, _: &Task<'_>| {
        on_canvas(stage, step, |canvas| {
            let painter = Painter { owner: Some(owner), ..Painter::new(canvas) };
            painter.folder(Path::new(&path))
        })
    })
}

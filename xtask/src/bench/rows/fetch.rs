//! A repository fetched and extracted: all of it, one folder of it, once it is known, and by a range of versions.

use std::path::Path;

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::github::{Github, fresh};
use crate::bench::lab::Lab;
use crate::bench::ours::Ours;
use crate::bench::peers::fetchers::{CurlTar, Giget, Reference};
use crate::bench::peers::installed;
use crate::bench::repository::{FOLDER, NAME, Repository};
use crate::failure::Failure;

const ROUNDS: usize = 20;

/// What is known is quick to measure.
const KNOWN_ROUNDS: usize = 100;

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let repository = Repository::make(&lab.folder("repository")?)?;
    let github = Github::start(&repository)?;
    let whole = Contest::new(
        "fetch",
        "A repository of 2,000 files (34 MB, 14 MB as its archive) from the loopback, extracted; nothing cached. Ours asks for the commit first, checks everything, takes a digest and waits for the disk.",
        Unit::Seconds,
    );
    let folder = Contest::new(
        "fetch-folder",
        "One folder of it with 41 files. Ours keeps the whole commit, so that the next folder is there.",
        Unit::Seconds,
    );
    Ok(vec![
        fetch(lab, &github, &repository, None, whole)?,
        fetch(lab, &github, &repository, Some(FOLDER), folder)?,
        known(lab, &github)?,
        tags(lab, &github)?,
    ])
}

fn fetch<'a>(
    lab: &'a Lab,
    github: &'a Github,
    repository: &'a Repository,
    folder: Option<&'a str>,
    mut contest: Contest<'a>,
) -> Result<Outcome, Failure> {
    let place = lab.folder("fetched")?;
    let home = place.join("abx");
    let rest = folder.map_or_else(|| "@v1".to_owned(), |folder| format!("//{folder}@v1"));
    contest.add("abx template resolve", move || {
        let ours = lab.ours().with_home(fresh(&home)?);
        Ok(timed(&mut resolve(&ours, github, &rest))?.seconds)
    });
    let mut other = |name: &'static str, command: Result<Command<'a>, String>| match command {
        Ok(command) => {
            let place = place.join(name.split(' ').next().unwrap_or(name));
            contest.add(name, move || {
                let target = fresh(&place)?;
                Ok(timed(&mut command(&target))?.seconds)
            });
        }
        Err(reason) => contest.skip(name, reason),
    };
    other(
        "curl to tar",
        CurlTar::new().map(|peer| -> Command<'a> {
            Box::new(move |target| peer.fetch(github, repository, folder, target))
        }),
    );
    other(
        "giget",
        Giget::new()
            .map(|peer| -> Command<'a> { Box::new(move |target| peer.fetch(github, folder, target)) }),
    );
    other(
        "reference client",
        Reference::new()
            .map(|peer| -> Command<'a> { Box::new(move |target| peer.fetch(github, folder, target)) }),
    );
    Ok(contest.run(lab.rounds(ROUNDS)))
}

/// What another program does with a folder.
type Command<'a> = Box<dyn Fn(&Path) -> std::process::Command + 'a>;

fn known(lab: &Lab, github: &Github) -> Result<Outcome, Failure> {
    let ours = lab.ours().with_home(lab.folder("known")?);
    quiet(&mut resolve(&ours, github, "@v1"))?;
    let mut contest =
        Contest::new("fetch-known", "The same again: its tag was asked for a moment ago.", Unit::Seconds);
    contest.add("abx template resolve", move || Ok(timed(&mut resolve(&ours, github, "@v1"))?.seconds));
    Ok(contest.run(lab.rounds(KNOWN_ROUNDS)))
}

fn tags(lab: &Lab, github: &Github) -> Result<Outcome, Failure> {
    let home = lab.folder("tags")?;
    let ours = lab.ours().with_home(home.clone());
    quiet(&mut resolve(&ours, github, "@^9"))?;
    let mut contest = Contest::new(
        "resolve-tags",
        "A range of versions over 1,000 tags, which are asked for anew; what it stands for is there. Curl takes the ten pages they are on and drops them.",
        Unit::Seconds,
    );
    contest.add("abx template resolve", move || {
        let pins = home.join("store/pins");
        std::fs::remove_dir_all(&pins).map_err(Failure::file(&pins))?;
        Ok(timed(&mut resolve(&ours, github, "@^9"))?.seconds)
    });
    match installed("curl", "curl") {
        Ok(curl) => contest.add("curl, ten pages", move || {
            let mut command = std::process::Command::new(&curl);
            Ok(timed(command.args(["--silent", "--fail"]).arg(github.tag_pages_url()))?.seconds)
        }),
        Err(reason) => contest.skip("curl", reason),
    }
    Ok(contest.run(lab.rounds(KNOWN_ROUNDS)))
}

/// `rest` is what follows the repository's name.
fn resolve(ours: &Ours, github: &Github, rest: &str) -> std::process::Command {
    let mut command = ours.command(&["--quiet", "template", "resolve", &format!("{NAME}{rest}")]);
    command.env("ABX_GITHUB_API_URL", github.url());
    command
}

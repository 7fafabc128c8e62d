//! `npm_install`: Node packages, globally.

use std::io;

use crate::env::Env;
use crate::job::{Caches, Job, program, shell};
use crate::view::View;

/// The job that installs `packages`; `None` where the image has no npm.
pub(crate) fn install(
    view: &View,
    caches: &Caches<'_>,
    env: &Env,
    packages: &[String],
) -> io::Result<Option<Job>> {
    if program(view, env, "npm")?.is_none() {
        return Ok(None);
    }
    let argv = shell(view, "npm install --global --loglevel=warn -- \"$@\"", packages)?;
    Ok(Some(Job { argv, ..Job::default() }.with_caches(caches)))
}

/// The packages the registry does not have, and npm's line about the first.
pub(crate) fn missing<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(Vec<String>, String)> {
    let mut packages = Vec::new();
    let mut first = None;
    let mut absent = false;
    for line in lines {
        absent = absent || line.contains("E404") || line.contains("ETARGET");
        if let Some(rest) = line.split_once("404  '").map(|(_, rest)| rest)
            && let Some((name, _)) = rest.split_once('\'')
        {
            packages.push(name.to_owned());
            first.get_or_insert_with(|| line.trim().to_owned());
        }
    }
    first.filter(|_| absent).map(|line| (packages, line))
}

#[cfg(test)]
mod tests {
    #[test]
    fn packages_nobody_has_are_named() {
        let log = "npm error code E404\nnpm error 404  'nope-1@*' is not in this registry.";
        let (packages, _) = super::missing(log.lines()).expect("found");
        assert_eq!(packages, ["nope-1@*"]);
        assert_eq!(super::missing("added 3 packages".lines()), None);
    }
}

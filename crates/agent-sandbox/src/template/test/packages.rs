//! `packages`: installed, in these versions.

use std::collections::HashMap;

use abx_client::Client;
use abx_spec::At;
use abx_spec::suite::{Manager, PackageWish};

use super::command::script;
use super::finding::{Finding, Unseen};

/// Each prints a line for every package of the arguments that is installed: its name and its version.
const APT: &str = r#"
dpkg-query --show --showformat '${Package}\t${Version}\t${db:Status-Status}\n' "$@" 2> /dev/null |
    grep '	installed$' | cut -f 1,2
"#;
const PIP: &str = r#"
python3 -c '
import sys
from importlib import metadata
for name in sys.argv[1:]:
    try:
        print(name, metadata.version(name), sep="\t")
    except metadata.PackageNotFoundError:
        pass
' "$@"
"#;
const NPM: &str = r#"
for name; do
    for root in "$(npm root --global)" /usr/local/lib/node_modules /usr/lib/node_modules; do
        [ -f "$root/$name/package.json" ] || continue
        printf '%s\t%s\n' "$name" "$(node -p 'require(process.argv[1]).version' "$root/$name/package.json")"
        break
    done
done
"#;

pub(super) async fn check(client: &Client, packages: &[At<PackageWish>]) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    for (manager, look) in [(Manager::Apt, APT), (Manager::Pip, PIP), (Manager::Npm, NPM)] {
        let asked: Vec<_> = packages.iter().filter(|package| package.value.manager == manager).collect();
        if asked.is_empty() {
            continue;
        }
        let names: Vec<&str> = asked.iter().map(|package| package.value.name.as_str()).collect();
        let ran = script(client, look, &names).await?;
        let installed: HashMap<&str, &str> =
            ran.stdout.lines().filter_map(|line| line.split_once('\t')).collect();
        for At { value: PackageWish { name, range, .. }, place } in asked {
            let what = format!("{} {name}", manager.as_str());
            let wanted = || range.as_ref().map_or_else(|| "installed".to_owned(), ToString::to_string);
            match installed.get(name.as_str()) {
                None => finding.miss(place, what, wanted(), "not installed".to_owned()),
                Some(version) if range.as_ref().is_none_or(|range| range.contains(version)) => {}
                Some(version) => finding.miss(place, what, wanted(), (*version).to_owned()),
            }
        }
        if !finding.failures.is_empty() {
            finding.wrote("stderr", &ran.stderr);
        }
    }
    Ok(finding)
}

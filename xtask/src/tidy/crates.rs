//! The table of crates in docs/architecture.md, read against every `Cargo.toml`. What only tests use is not bound by
//! it: the tests of a server may well speak through its client.

use std::path::{Path, PathBuf};

use super::Problem;
use crate::failure::Failure;

const DOCUMENT: &str = "docs/architecture.md";

/// A crate as its manifest tells it.
struct Member {
    name: String,
    /// Relative to the root of the workspace.
    manifest: PathBuf,
    /// Names of what it depends on, and the line of each.
    dependencies: Vec<(String, usize)>,
}

/// Problems where the table misses a crate, names one twice or names one that is not there; and where a crate
/// depends on a row below its own.
pub(crate) fn check(root: &Path) -> Result<Vec<Problem>, Failure> {
    let path = root.join(DOCUMENT);
    let document = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
    Ok(compare(&rows(&document), &members(root)?))
}

/// The first cells of the table that begins with `| crate |`, and the line of each.
fn rows(document: &str) -> Vec<(String, usize)> {
    let lines = document.lines().enumerate();
    let table = lines.skip_while(|(_, line)| !line.starts_with("| crate |"));
    let body = table.skip(2).take_while(|(_, line)| line.starts_with('|'));
    body.filter_map(|(index, line)| Some((line.split('|').nth(1)?.trim().to_owned(), index + 1))).collect()
}

fn members(root: &Path) -> Result<Vec<Member>, Failure> {
    let folder = root.join("crates");
    let mut members = Vec::new();
    for entry in folder.read_dir().map_err(Failure::file(&folder))? {
        let manifest = entry.map_err(Failure::file(&folder))?.path().join("Cargo.toml");
        if manifest.exists() {
            let text = std::fs::read_to_string(&manifest).map_err(Failure::file(&manifest))?;
            members.push(read(manifest.strip_prefix(root).unwrap_or(&manifest), &text));
        }
    }
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(members)
}

/// Reads as much of TOML as our manifests use: sections, and a key at the start of a line.
fn read(manifest: &Path, text: &str) -> Member {
    let mut member = Member { name: String::new(), manifest: manifest.to_owned(), dependencies: Vec::new() };
    let mut section = String::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix('[') {
            section = rest.split(']').next().unwrap_or_default().to_owned();
            if let Some((table, name)) = section.rsplit_once('.')
                && is_binding(table)
            {
                member.dependencies.push((name.to_owned(), index + 1));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim().split('.').next().unwrap_or_default().trim_matches('"');
        if section == "package" && key == "name" {
            member.name = value.trim().trim_matches('"').to_owned();
        } else if is_binding(&section) {
            member.dependencies.push((key.to_owned(), index + 1));
        }
    }
    member
}

fn is_binding(section: &str) -> bool {
    section.ends_with("dependencies") && !section.ends_with("dev-dependencies")
}

fn compare(rows: &[(String, usize)], members: &[Member]) -> Vec<Problem> {
    let row_of = |name: &str| rows.iter().position(|(row, _)| row == name);
    let mut problems = Vec::new();
    for (index, (row, line)) in rows.iter().enumerate() {
        let mut problem = |message| problems.push(Problem { file: DOCUMENT.into(), line: *line, message });
        if !members.iter().any(|member| member.name == *row) {
            problem(format!("`{row}` is no crate of the workspace"));
        } else if row_of(row) != Some(index) {
            problem(format!("`{row}` is listed twice"));
        }
    }
    for member in members {
        let Some(own) = row_of(&member.name) else {
            let message = format!("the table of crates does not list `{}`", member.name);
            problems.push(Problem { file: DOCUMENT.into(), line: 0, message });
            continue;
        };
        for (dependency, line) in &member.dependencies {
            if row_of(dependency).is_some_and(|row| row >= own) {
                let message =
                    format!("`{}` depends on `{dependency}`, a row below it in {DOCUMENT}", member.name);
                problems.push(Problem { file: member.manifest.clone(), line: *line, message });
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# A\n\n| crate | in |\n|---|---|\n| core | x |\n| mid | y |\n| top | z |\n| lower | q |\n\nText | with bars\n";

    fn check(table: &str, manifests: &[&str]) -> Vec<String> {
        let members: Vec<_> = manifests.iter().map(|text| read(Path::new("Cargo.toml"), text)).collect();
        compare(&rows(table), &members).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_order_of_rows_binds() {
        let core = "[package]\nname = \"core\"\n";
        let lower = "[package]\nname = \"lower\"\n";
        let top =
            "[package]\nname = \"top\"\n[dependencies]\ncore.workspace = true\n[dev-dependencies]\nlower = 1";
        let below =
            "[package]\nname = \"mid\"\n[target.'cfg(unix)'.dependencies]\ntop = { workspace = true }\n";
        let table = "[package]\nname = \"mid\"\n[dependencies.core]\nworkspace = true\n";
        assert_eq!(check(TABLE, &[core, table, top, lower]), [""; 0]);
        assert_eq!(
            check(TABLE, &[core, below, top, lower]),
            ["Cargo.toml:4: `mid` depends on `top`, a row below it in docs/architecture.md"]
        );
    }

    #[test]
    fn the_table_is_whole() {
        let core = "[package]\nname = \"core\"\n";
        let new = "[package]\nname = \"new\"\n";
        let twice = "| crate |\n|---|\n| core |\n| core |\n| gone |\n";
        assert_eq!(
            check(twice, &[core, new]),
            [
                "docs/architecture.md:4: `core` is listed twice",
                "docs/architecture.md:5: `gone` is no crate of the workspace",
                "docs/architecture.md: the table of crates does not list `new`",
            ]
        );
    }
}

//! Embeds every package below `templates/` of the workspace, contents and executable bits, and the table of their
//! releases. A table that says something malformed fails the build.

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

fn main() -> io::Result<()> {
    let templates = PathBuf::from(env("CARGO_MANIFEST_DIR")?).join("../../templates").canonicalize()?;
    println!("cargo::rerun-if-changed={}", templates.display());
    let mut code = String::from("&[\n");
    for entry in WalkDir::new(&templates).min_depth(1).max_depth(1).sort_by_file_name() {
        let package = entry?.into_path();
        if package.join("template.yaml").is_file() {
            embed(&package, &mut code)?;
        }
    }
    code.push_str("]\n");
    let out = PathBuf::from(env("OUT_DIR")?);
    std::fs::write(out.join("builtins.rs"), code)?;
    let table = std::fs::read_to_string(templates.join("releases.toml"))?;
    std::fs::write(out.join("releases.rs"), releases(&table)?)
}

/// The table of releases as the expression of a slice of `Releases`.
fn releases(text: &str) -> io::Result<String> {
    let table: toml::Table = text.parse().map_err(io::Error::other)?;
    let mut code = String::from("&[\n");
    for (name, template) in &table {
        let malformed =
            |what: &str| io::Error::other(format!("releases.toml: {what} of {name} is malformed"));
        let columns = texts(template.get("columns")).ok_or_else(|| malformed("`columns`"))?;
        writeln!(code, "Releases {{ name: {name:?}, columns: &{columns:?}, releases: &[")
            .map_err(io::Error::other)?;
        let entries = template.get("releases").and_then(toml::Value::as_array);
        for entry in entries.ok_or_else(|| malformed("`releases`"))? {
            let text = |key: &str| entry.get(key).and_then(toml::Value::as_str);
            let (version, date) = text("version").zip(text("date")).ok_or_else(|| malformed("a release"))?;
            let packages = texts(entry.get("packages")).filter(|packages| packages.len() == columns.len());
            let packages = packages.ok_or_else(|| malformed("`packages`"))?;
            let size =
                entry.get("size").map(|size| size.as_integer().and_then(|size| u64::try_from(size).ok()));
            let size = size.map(|size| size.ok_or_else(|| malformed("`size`"))).transpose()?;
            writeln!(
                code,
                "Release {{ version: {version:?}, date: {date:?}, size: {size:?}, packages: &{packages:?} }},"
            )
            .map_err(io::Error::other)?;
        }
        code.push_str("] },\n");
    }
    code.push_str("]\n");
    Ok(code)
}

fn texts(value: Option<&toml::Value>) -> Option<Vec<&str>> {
    value?.as_array()?.iter().map(toml::Value::as_str).collect()
}

fn embed(package: &Path, code: &mut String) -> io::Result<()> {
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    writeln!(code, "Builtin {{ name: {name:?}, files: &[").map_err(io::Error::other)?;
    for entry in WalkDir::new(package).min_depth(1).sort_by_file_name() {
        let entry = entry?;
        println!("cargo::rerun-if-changed={}", entry.path().display());
        if !entry.file_type().is_file() {
            continue;
        }
        let path = entry.path().strip_prefix(package).map_err(io::Error::other)?;
        let executable = entry.metadata()?.permissions().mode() & 0o111 != 0;
        let source = entry.path();
        writeln!(
            code,
            "EmbeddedFile {{ path: {path:?}, executable: {executable}, content: include_bytes!({source:?}) }},"
        )
        .map_err(io::Error::other)?;
    }
    code.push_str("] },\n");
    Ok(())
}

fn env(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(io::Error::other)
}

//! Embeds every package below `templates/` of the workspace: contents and executable bits.

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
    std::fs::write(Path::new(&env("OUT_DIR")?).join("builtins.rs"), code)
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

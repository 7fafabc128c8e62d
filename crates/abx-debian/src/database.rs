//! dpkg's database of a root whose packages were unpacked by us.
//!
//! ```text
//! var/lib/dpkg/status            every package, `install ok unpacked`
//! var/lib/dpkg/info/format       1
//! var/lib/dpkg/info/<package>.{list,md5sums,postinst,…}
//! var/lib/dpkg/triggers/File     paths packages want to hear of
//! var/lib/dpkg/triggers/<name>   packages that want to hear of a named trigger
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::deb822;
use crate::error::DebianError;
use crate::rooted::Rooted;
use crate::unpack::Unpacked;

const DATABASE: &str = "var/lib/dpkg";

/// Writes the database for `packages`, so that `dpkg --configure --pending` finishes their installation.
///
/// Configuration files lie in their place already, with their digest on record: dpkg then takes them as
/// unchanged.
pub(crate) fn write(root: &Rooted, packages: &[Unpacked]) -> Result<(), DebianError> {
    let file = |path: &str, content: &[u8], mode: u32| {
        let path = format!("{DATABASE}/{path}");
        root.write(&path, content, mode).map_err(DebianError::file("write", std::path::Path::new(&path)))
    };
    for package in packages {
        let base = format!("info/{}", info_name(package));
        for control in &package.control_files {
            let mode = if control.executable { 0o755 } else { 0o644 };
            file(&format!("{base}.{}", control.name), &control.content, mode)?;
        }
        let list: String = package.paths.iter().map(|path| format!("{path}\n")).collect();
        file(&format!("{base}.list"), list.as_bytes(), 0o644)?;
    }
    file("info/format", b"1\n", 0o644)?;
    for (name, interested) in interests(packages) {
        file(&format!("triggers/{name}"), interested.as_bytes(), 0o644)?;
    }
    let status: String = packages.iter().map(status).collect();
    file("status", status.as_bytes(), 0o644)
}

/// The name of a package's files: with the architecture where it can be installed for several.
pub(crate) fn info_name(package: &Unpacked) -> String {
    let field = |name| deb822::field(&package.control, name);
    match (field("Multi-Arch"), field("Architecture")) {
        (Some("same"), Some(architecture)) => format!("{}:{architecture}", package.name),
        _ => package.name.clone(),
    }
}

/// A package's paragraph of the status file.
fn status(package: &Unpacked) -> String {
    let mut text = String::new();
    for line in package.control.lines() {
        let _ = writeln!(text, "{line}");
        if line.starts_with("Package:") {
            text.push_str("Status: install ok unpacked\n");
        }
    }
    if !package.conffiles.is_empty() {
        text.push_str("Conffiles:\n");
        for (path, md5) in &package.conffiles {
            let _ = writeln!(text, " {path} {md5}");
        }
    }
    text.push('\n');
    text
}

/// The files of `triggers/`: who wants to hear of what.
fn interests(packages: &[Unpacked]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::<String, String>::new();
    for package in packages {
        let texts = package.control_files.iter().filter(|file| file.name == "triggers");
        for line in texts.flat_map(|file| file.content.split(|byte| *byte == b'\n')) {
            let Some((trigger, options)) = interest(&String::from_utf8_lossy(line)) else { continue };
            let who = format!("{}{options}", info_name(package));
            let (file, line) = match trigger.starts_with('/') {
                true => ("File".to_owned(), format!("{trigger} {who}\n")),
                false => (trigger, format!("{who}\n")),
            };
            files.entry(file).or_default().push_str(&line);
        }
    }
    files
}

/// `interest[-noawait] NAME` as the name and what stands behind the package in dpkg's files.
fn interest(line: &str) -> Option<(String, &'static str)> {
    let mut words = line.split_whitespace();
    let options = match words.next()? {
        "interest" | "interest-await" => "",
        "interest-noawait" => "/noawait",
        _ => return None,
    };
    let trigger = words.next()?;
    let name_is_safe = trigger.starts_with('/')
        || trigger
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b':'));
    (name_is_safe && trigger != "." && trigger != "..").then(|| (trigger.to_owned(), options))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpack::ControlFile;

    fn package(name: &str, extra: &str, triggers: &str) -> Unpacked {
        Unpacked {
            name: name.to_owned(),
            control: format!("Package: {name}\nVersion: 1\nArchitecture: amd64{extra}"),
            control_files: vec![ControlFile {
                name: "triggers".into(),
                content: triggers.into(),
                executable: false,
            }],
            paths: vec!["/.".into(), "/etc".into()],
            conffiles: vec![("/etc/a".into(), "00".into())],
            directories: Vec::new(),
        }
    }

    #[test]
    fn status_and_lists_are_what_dpkg_reads() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = Rooted::open(dir.path()).expect("open");
        let packages = [
            package("libc-bin", "", "interest-noawait ldconfig\nactivate other\n"),
            package("zlib1g", "\nMulti-Arch: same", "interest /usr/share/x\n# note\ninterest ../../x\n"),
        ];
        write(&root, &packages).expect("write");
        let read = |path: &str| std::fs::read_to_string(dir.path().join(DATABASE).join(path)).expect(path);
        let status = read("status");
        assert!(status.starts_with(
            "Package: libc-bin\nStatus: install ok unpacked\nVersion: 1\nArchitecture: amd64\nConffiles:\n /etc/a 00\n\n"
        ));
        assert_eq!(read("info/zlib1g:amd64.list"), "/.\n/etc\n");
        assert_eq!(read("triggers/ldconfig"), "libc-bin/noawait\n");
        assert_eq!(read("triggers/File"), "/usr/share/x zlib1g:amd64\n");
        assert!(!dir.path().join("var/x").exists());
    }
}

//! A lock → text: one value a line, always in the same order.

use std::fmt;

use super::{Lock, LockedArchive, LockedBase, LockedTemplate, VERSION};

const HEAD: &str = "\
# What this template and everything it inherits from came to.
# Written by `abx template lock`; commit it together with the template.
";

/// The file's text.
impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}version = {VERSION}")?;
        let parents = self.templates.iter().skip(1).map(|template| Some(template.reference.as_str()));
        for (template, parent) in self.templates.iter().zip(parents.chain([None])) {
            write_template(f, template, parent)?;
        }
        self.base.iter().try_for_each(|base| write_image(f, "[base]", base))?;
        self.images.iter().try_for_each(|image| write_image(f, "[[image]]", image))
    }
}

fn write_image(f: &mut fmt::Formatter<'_>, table: &str, image: &LockedBase) -> fmt::Result {
    writeln!(f, "\n{table}")?;
    match image {
        LockedBase::Registry { image, digest } => {
            field(f, "image", Some(image))?;
            field(f, "digest", Some(digest))
        }
        LockedBase::Archive(archive) => write_archive(f, archive),
    }
}

fn write_template(
    f: &mut fmt::Formatter<'_>,
    template: &LockedTemplate,
    parent: Option<&str>,
) -> fmt::Result {
    let LockedTemplate { reference, kind, name, tag, source, commit, digest } = template;
    writeln!(f, "\n[[template]]")?;
    field(f, "reference", Some(reference))?;
    field(f, "kind", Some(kind.as_str()))?;
    field(f, "name", Some(name.as_str()).filter(|name| !name.is_empty()))?;
    field(f, "tag", tag.as_deref())?;
    field(f, "source", source.as_deref())?;
    field(f, "commit", commit.as_deref())?;
    field(f, "digest", digest.as_deref())?;
    field(f, "parent", parent)
}

fn write_archive(f: &mut fmt::Formatter<'_>, archive: &LockedArchive) -> fmt::Result {
    let LockedArchive { image, release, snapshot, platform, packages } = archive;
    field(f, "image", Some(image))?;
    field(f, "release", Some(release))?;
    field(f, "snapshot", Some(snapshot))?;
    field(f, "platform", Some(platform))?;
    writeln!(f, "packages = [")?;
    for package in packages {
        writeln!(f, "  {},", quoted(package))?;
    }
    writeln!(f, "]")
}

fn field(f: &mut fmt::Formatter<'_>, key: &str, value: Option<&str>) -> fmt::Result {
    value.map_or(Ok(()), |value| writeln!(f, "{key} = {}", quoted(value)))
}

/// As a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted += &format!("\\u{:04X}", letter as u32),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

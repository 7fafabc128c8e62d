//! Names that were given to images on this machine: `store/names/<name>/<tag>`.
//!
//! The image store writes them; here they are only looked up, since a name alone decides which source a
//! reference means. Template names and tags need no escape there, but for a `+`.

use abx_core::Home;
use abx_reference::Name;

/// The best tag of a local template for the version asked for; `None` where there is none of that name.
pub(crate) fn find(home: &Home, name: &Name) -> Option<String> {
    let tags = tags(home, name.name());
    name.selector().choose(tags.iter().map(String::as_str)).map(str::to_owned)
}

/// All tags of a name.
pub(crate) fn tags(home: &Home, name: &str) -> Vec<String> {
    entries(&home.store("names").join(name))
}

/// The digest of the image that a name and tag stand for.
pub(crate) fn image(home: &Home, name: &str, tag: &str) -> Option<String> {
    let path = home.store("names").join(name).join(tag.replace('+', "%2B"));
    let id = std::fs::read_to_string(path).ok()?;
    Some(format!("sha256:{}", id.trim()))
}

/// All names.
pub(crate) fn names(home: &Home) -> Vec<String> {
    entries(&home.store("names"))
}

fn entries(directory: &std::path::Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .map(|name| name.replace("%2B", "+"))
        .collect();
    names.sort_unstable();
    names
}

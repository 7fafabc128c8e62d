//! Names of refs as names of files, one to one.

/// One name for a ref. A branch called `default` is told from the default branch.
pub(super) fn escape_ref(name: &str) -> String {
    match name {
        "default" => "%64efault".to_owned(),
        name => short(escape(name)),
    }
}

pub(super) fn escape(text: &str) -> String {
    let keep = |letter: char| letter.is_alphanumeric() || "-_.+".contains(letter);
    let mut escaped = String::new();
    for letter in text.chars() {
        match keep(letter) {
            true => escaped.push(letter),
            false => {
                for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                    escaped += &format!("%{byte:02X}");
                }
            }
        }
    }
    escaped
}

/// What was escaped; `None` where it is no name of a ref.
pub(super) fn unescape(file: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = file;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    let name = String::from_utf8(bytes).ok()?;
    (escape_ref(&name) == file).then_some(name)
}

/// No file name may have more than 255 bytes, an ending included.
pub(super) fn short(name: String) -> String {
    if name.len() <= 200 {
        return name;
    }
    let digest = crate::digest::of_text(&name);
    let start: String = name.chars().take(32).collect();
    format!("{start}%{}", digest.trim_start_matches("sha256:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_one_name_each_and_none_is_another() {
        for (name, expected) in [
            ("v1.0", "v1.0"),
            ("feature/x", "feature%2Fx"),
            ("feature%2Fx", "feature%252Fx"),
            ("default", "%64efault"),
            ("ä", "ä"),
        ] {
            assert_eq!(escape_ref(name), expected);
            assert_eq!(unescape(expected).as_deref(), Some(name));
        }
        assert!(escape_ref(&"é/".repeat(120)).len() <= 200);
        for file in ["default", "%tags", "%", "a%2", "a%2f", "%FF", "%é"] {
            assert_eq!(unescape(file), None, "{file}");
        }
    }
}

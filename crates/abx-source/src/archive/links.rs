//! Where a link leads, by its text alone.

/// Whether the target, seen from the link `name`, is outside of the archive. Other links on the way are not looked at.
pub(super) fn leaves(name: &str, target: &str) -> bool {
    if target.starts_with('/') {
        return true;
    }
    let mut depth = name.matches('/').count();
    for component in target.split('/') {
        match component {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::leaves;

    #[test]
    fn links_are_followed_by_their_text() {
        for (name, target, expected) in [
            ("a", "b", false),
            ("a", "../b", true),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("d/a", "x/../../../b", true),
            ("a", "/etc/passwd", true),
            ("a", ".", false),
        ] {
            assert_eq!(leaves(name, target), expected, "{name} -> {target}");
        }
    }
}

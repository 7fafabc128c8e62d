//! `--chmod`.

/// A mode, or changes to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dockerfile) enum Chmod {
    Octal(u32),
    /// As of the program `chmod`: `u+x,go-w`.
    Changes(String),
}

impl Chmod {
    /// Reads what the front end has checked.
    pub(super) fn parse(text: &str) -> Self {
        u32::from_str_radix(text, 8).map_or_else(|_| Self::Changes(text.to_owned()), Self::Octal)
    }

    /// The mode of a file that had `mode`.
    pub(super) fn apply(&self, mode: u32, is_directory: bool) -> u32 {
        match self {
            Self::Octal(mode) => *mode,
            Self::Changes(text) => {
                text.split(',').fold(mode, |mode, change| changed(mode, change, is_directory))
            }
        }
    }
}

/// One change: for whom, then operators with permissions each.
fn changed(mut mode: u32, change: &str, is_directory: bool) -> u32 {
    let start = change.find(['+', '-', '=']).unwrap_or(change.len());
    let (who, mut rest) = change.split_at(start);
    let who = if who.is_empty() { "a" } else { who };
    while let Some(operator) = rest.chars().next() {
        let end = rest[1..].find(['+', '-', '=']).map_or(rest.len(), |at| at + 1);
        let permissions = &rest[1..end];
        let bits = bits(who, permissions, mode, is_directory);
        mode = match operator {
            '+' => mode | bits,
            '-' => mode & !bits,
            _ => mode & !reach(who, is_directory) | bits,
        };
        rest = &rest[end..];
    }
    mode
}

/// The bits that `=` sets anew; a directory keeps its special ones.
fn reach(who: &str, is_directory: bool) -> u32 {
    who.chars().fold(0, |bits, class| {
        bits | match class {
            'u' => 0o700 | if is_directory { 0 } else { 0o4000 },
            'g' => 0o070 | if is_directory { 0 } else { 0o2000 },
            'o' => 0o007,
            _ => 0o777 | if is_directory { 0 } else { 0o6000 },
        }
    })
}

fn bits(who: &str, permissions: &str, mode: u32, is_directory: bool) -> u32 {
    let all = who.contains('a');
    let has = |class: char| all || who.contains(class);
    let spread = |three: u32| {
        [('u', 6), ('g', 3), ('o', 0)]
            .iter()
            .filter(|(class, _)| has(*class))
            .fold(0, |bits, (_, shift)| bits | (three << shift))
    };
    permissions.chars().fold(0, |bits, letter| {
        bits | match letter {
            'r' => spread(4),
            'w' => spread(2),
            'x' => spread(1),
            'X' if is_directory || mode & 0o111 != 0 => spread(1),
            's' => (u32::from(has('u')) * 0o4000) | (u32::from(has('g')) * 0o2000),
            't' => 0o1000,
            'u' => spread(mode >> 6 & 7),
            'g' => spread(mode >> 3 & 7),
            'o' => spread(mode & 7),
            _ => 0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::Chmod;

    #[test]
    fn modes() {
        let rows = [
            ("755", 0o600, false, 0o755),
            ("1777", 0o755, true, 0o1777),
            ("u+x", 0o644, false, 0o744),
            ("+x", 0o644, false, 0o755),
            ("go-rwx", 0o755, false, 0o700),
            ("u=rw,go=r", 0o777, false, 0o644),
            ("a=rX", 0o600, false, 0o444),
            ("a=rX", 0o700, false, 0o555),
            ("go=u", 0o640, false, 0o666),
            ("u+s,g+s", 0o755, false, 0o6755),
            ("+t", 0o777, true, 0o1777),
            ("u=rwx,g-w+x", 0o620, false, 0o710),
            ("g=", 0o770, false, 0o700),
        ];
        for (text, before, is_directory, after) in rows {
            let mode = Chmod::parse(text).apply(before, is_directory);
            assert_eq!(mode, after, "{text} of {before:o} is {mode:o}");
        }
    }
}

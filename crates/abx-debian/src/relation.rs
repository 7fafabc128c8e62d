//! Relations between packages: `libc6 (>= 2.36), awk | mawk`.

use std::cmp::Ordering;

use crate::version::Version;

/// One alternative of a dependency: a name and, where given, the versions it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relation<'a> {
    pub(crate) name: &'a str,
    /// Operator and version.
    constraint: Option<(Operator, &'a str)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Earlier,
    EarlierOrEqual,
    Equal,
    LaterOrEqual,
    Later,
}

impl<'a> Relation<'a> {
    /// Whether a package of this version will do.
    pub(crate) fn accepts(&self, version: &str) -> bool {
        let Some((operator, wanted)) = self.constraint else { return true };
        let order = Version::new(version).cmp(&Version::new(wanted));
        match operator {
            Operator::Earlier => order == Ordering::Less,
            Operator::EarlierOrEqual => order != Ordering::Greater,
            Operator::Equal => order == Ordering::Equal,
            Operator::LaterOrEqual => order != Ordering::Less,
            Operator::Later => order == Ordering::Greater,
        }
    }

    /// Whether a `Provides` of this name will do: one without a version satisfies no version constraint.
    pub(crate) fn accepts_provided(&self, version: Option<&str>) -> bool {
        match version {
            Some(version) => self.accepts(version),
            None => self.constraint.is_none(),
        }
    }

    /// The version of a `Provides: name (= version)`.
    pub(crate) fn exact_version(&self) -> Option<&'a str> {
        match self.constraint {
            Some((Operator::Equal, version)) => Some(version),
            _ => None,
        }
    }
}

/// The groups of a dependency field, each a list of alternatives.
pub(crate) fn groups(field: &str) -> impl Iterator<Item = Vec<Relation<'_>>> {
    field
        .split(',')
        .map(|group| group.split('|').filter_map(relation).collect::<Vec<_>>())
        .filter(|alternatives| !alternatives.is_empty())
}

/// `name[:arch] [(op version)] [[arch…]]`. Architecture qualifiers do not matter in a root of one
/// architecture, and binary indexes carry no architecture lists.
fn relation(text: &str) -> Option<Relation<'_>> {
    let text = text.trim();
    let (name, rest) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.split_once(')').map(|(constraint, _)| constraint)),
        None => (text.split_whitespace().next()?, None),
    };
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    (!name.is_empty()).then_some(Relation { name, constraint: rest.and_then(constraint) })
}

fn constraint(text: &str) -> Option<(Operator, &str)> {
    let text = text.trim();
    let end = text.find(|letter: char| !matches!(letter, '<' | '=' | '>'))?;
    let operator = match &text[..end] {
        "<<" => Operator::Earlier,
        "<=" | "<" => Operator::EarlierOrEqual,
        "=" => Operator::Equal,
        ">=" | ">" => Operator::LaterOrEqual,
        ">>" => Operator::Later,
        _ => return None,
    };
    Some((operator, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn fields_become_groups() {
        let parsed: Vec<Vec<_>> = groups("libc6 (>= 2.36), awk | mawk:any (<< 2) ,, perl:any,\n x (= 1:2-3)")
            .map(|group| group.into_iter().map(|relation| relation.name).collect())
            .collect();
        assert_eq!(parsed, [vec!["libc6"], vec!["awk", "mawk"], vec!["perl"], vec!["x"]]);
    }

    #[test]
    fn constraints_hold() {
        for (text, version, expect) in [
            ("a", "1", true),
            ("a (>= 2.36)", "2.36-9+deb12u13", true),
            ("a (>= 2.36)", "2.35", false),
            ("a (<< 1)", "1~rc1", true),
            ("a (<= 1)", "1", true),
            ("a (>> 1)", "1", false),
            ("a (= 1:2-3)", "1:2-3", true),
            ("a (= 1:2-3)", "2-3", false),
        ] {
            let relation = groups(text).next().expect("a group")[0];
            assert_eq!(relation.accepts(version), expect, "{text} with {version}");
        }
    }
}

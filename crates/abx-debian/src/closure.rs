//! Which packages make up a base system.

use std::collections::{BTreeMap, VecDeque};

use crate::index::{Entry, Index, Priority};
use crate::relation::{self, Relation};

/// Wanted beside what the archive marks essential or required: what installs further packages, and the keys
/// it checks them with.
const EXTRA: &[&str] = &["apt", "debian-archive-keyring"];

/// Picked among alternatives before the first one. The root is made with a merged `/usr`, so the package
/// that only says so will do, where `usrmerge` would bring all of perl.
const PREFERRED: &[&str] = &["usr-is-merged"];

/// A package that is needed and not to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) package: String,
    pub(crate) needed_by: Option<String>,
}

/// The essential and required packages, `apt`, those of `also`, and all they depend on, by name.
pub(crate) fn closure<'a>(index: &Index<'a>, also: &[&str]) -> Result<BTreeMap<&'a str, Entry<'a>>, Missing> {
    let mut selection = Selection { index, chosen: BTreeMap::new(), pending: VecDeque::new() };
    for entry in index.entries() {
        if entry.essential || entry.priority == Priority::Required {
            selection.choose(*entry);
        }
    }
    for name in EXTRA.iter().chain(also) {
        let missing = || Missing { package: (*name).to_owned(), needed_by: None };
        selection.choose(*index.get(name).ok_or_else(missing)?);
    }
    selection.settle()?;
    Ok(selection.chosen)
}

struct Selection<'i, 'a> {
    index: &'i Index<'a>,
    chosen: BTreeMap<&'a str, Entry<'a>>,
    /// Dependencies to look at: who has it, and its alternatives.
    pending: VecDeque<(&'a str, Vec<Relation<'a>>)>,
}

impl<'a> Selection<'_, 'a> {
    fn choose(&mut self, entry: Entry<'a>) {
        if self.chosen.insert(entry.name, entry).is_none() {
            for field in [entry.pre_depends, entry.depends] {
                self.pending.extend(relation::groups(field).map(|group| (entry.name, group)));
            }
        }
    }

    /// Satisfies all dependencies: those without a choice first, so that a later choice can fall on what is
    /// there anyway. The order is by name, whatever the order of the index.
    fn settle(&mut self) -> Result<(), Missing> {
        loop {
            let mut open: Vec<_> = self.pending.drain(..).collect();
            open.retain(|(_, group)| !self.satisfied(group));
            open.sort_by_key(|(needed_by, group)| (group.len() > 1, *needed_by));
            let Some(first_is_choice) = open.first().map(|(_, group)| group.len() > 1) else {
                return Ok(());
            };
            let now =
                if first_is_choice { 1 } else { open.iter().filter(|(_, group)| group.len() == 1).count() };
            let later = open.split_off(now);
            for (needed_by, group) in open {
                if !self.satisfied(&group) {
                    self.choose(self.pick(needed_by, &group)?);
                }
            }
            self.pending.extend(later);
        }
    }

    fn satisfied(&self, group: &[Relation<'a>]) -> bool {
        group.iter().any(|relation| {
            self.chosen.get(relation.name).is_some_and(|entry| relation.accepts(entry.version))
                || self.index.providers(relation.name).iter().any(|(provider, version)| {
                    self.chosen.contains_key(provider) && relation.accepts_provided(*version)
                })
        })
    }

    fn pick(&self, needed_by: &str, group: &[Relation<'a>]) -> Result<Entry<'a>, Missing> {
        let preferred = group.iter().filter(|relation| PREFERRED.contains(&relation.name));
        preferred.chain(group).find_map(|relation| self.candidate(relation)).ok_or_else(|| Missing {
            package: group.iter().map(|relation| relation.name).collect::<Vec<_>>().join(" | "),
            needed_by: Some(needed_by.to_owned()),
        })
    }

    /// The package of that name, else the most wanted of those that provide it.
    fn candidate(&self, relation: &Relation<'a>) -> Option<Entry<'a>> {
        let real = self.index.get(relation.name).filter(|entry| relation.accepts(entry.version));
        let provider = || {
            let providers = self.index.providers(relation.name).iter();
            providers
                .filter(|(_, version)| relation.accepts_provided(*version))
                .filter_map(|(provider, _)| self.index.get(provider))
                .min_by_key(|entry| (entry.priority, entry.name))
        };
        real.or_else(provider).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::IndexText;
    use crate::release::ArchivePart;

    /// Rows of `name version extra-fields`, as an index of one suite.
    fn suite(part: ArchivePart, rows: &[(&str, &str, &str)]) -> IndexText {
        let digest = "0".repeat(64);
        let text = rows
            .iter()
            .map(|(name, version, extra)| {
                format!(
                    "Package: {name}\nVersion: {version}\nFilename: pool/{name}.deb\nSize: 1\nSHA256: {digest}\n\
                     {extra}\n"
                )
            })
            .collect::<Vec<_>>()
            .join("\n");
        IndexText { part, text }
    }

    fn check(suites: &[IndexText], expect: Result<&[&str], (&str, Option<&str>)>) {
        let index = Index::read(suites);
        match (closure(&index, &[]), expect) {
            (Ok(chosen), Ok(expect)) => {
                let found: Vec<_> =
                    chosen.values().map(|entry| format!("{}={}", entry.name, entry.version)).collect();
                assert_eq!(found, expect);
            }
            (Err(missing), Err((package, needed_by))) => {
                assert_eq!((missing.package.as_str(), missing.needed_by.as_deref()), (package, needed_by));
            }
            (found, expect) => panic!("{found:?} instead of {expect:?}"),
        }
    }

    const KEYS: (&str, &str, &str) = ("debian-archive-keyring", "1", "");
    const APT: (&str, &str, &str) = ("apt", "1", "");

    #[test]
    fn seeds_and_what_they_need() {
        let main = suite(
            ArchivePart::Main,
            &[
                APT,
                KEYS,
                ("bash", "5", "Essential: yes\nPre-Depends: libtinfo6 (>= 6)"),
                ("libtinfo6", "6.4", "Depends: libc6"),
                ("libc6", "2.36", ""),
                ("sed", "4", "Priority: required"),
                ("vim", "9", "Priority: important"),
            ],
        );
        let expect = ["apt=1", "bash=5", "debian-archive-keyring=1", "libc6=2.36", "libtinfo6=6.4", "sed=4"];
        check(&[main], Ok(&expect));
    }

    #[test]
    fn the_newest_of_all_suites() {
        let main =
            suite(ArchivePart::Main, &[("apt", "1.0", "Depends: zlib"), KEYS, ("zlib", "1:1.2-9", "")]);
        let security = suite(ArchivePart::Security, &[("zlib", "1:1.2-10", ""), ("apt", "0.9", "")]);
        check(&[main, security], Ok(&["apt=1.0", "debian-archive-keyring=1", "zlib=1:1.2-10"]));
    }

    #[test]
    fn priority_decides_among_providers_and_the_chosen_satisfy() {
        let main = suite(
            ArchivePart::Main,
            &[
                ("apt", "1", "Depends: awk"),
                KEYS,
                ("gawk", "5", "Provides: awk\nPriority: optional"),
                ("mawk", "1", "Provides: awk\nPriority: important"),
            ],
        );
        check(&[main], Ok(&["apt=1", "debian-archive-keyring=1", "mawk=1"]));
        let main = suite(
            ArchivePart::Main,
            &[
                ("apt", "1", "Depends: first | second, usrmerge | usr-is-merged"),
                KEYS,
                ("first", "1", ""),
                ("second", "1", "Priority: required"),
                ("usrmerge", "1", ""),
                ("usr-is-merged", "1", ""),
            ],
        );
        check(&[main], Ok(&["apt=1", "debian-archive-keyring=1", "second=1", "usr-is-merged=1"]));
    }

    #[test]
    fn versioned_provides() {
        let rows = |need: &'static str| {
            [("apt", "1", need), KEYS, ("new", "1", "Provides: thing (= 2)"), ("old", "1", "Provides: thing")]
        };
        let main = suite(ArchivePart::Main, &rows("Depends: thing (>= 2)"));
        check(&[main], Ok(&["apt=1", "debian-archive-keyring=1", "new=1"]));
        let main = suite(ArchivePart::Main, &rows("Depends: thing (>= 3)"));
        check(&[main], Err(("thing", Some("apt"))));
    }

    #[test]
    fn what_is_missing_is_named_with_who_needs_it() {
        check(&[suite(ArchivePart::Main, &[KEYS])], Err(("apt", None)));
        let main = suite(ArchivePart::Main, &[("apt", "1", "Depends: a1 | b1"), KEYS]);
        check(&[main], Err(("a1 | b1", Some("apt"))));
        let main =
            suite(ArchivePart::Main, &[("apt", "1", "Depends: libc6 (>= 9)"), KEYS, ("libc6", "2", "")]);
        check(&[main], Err(("libc6", Some("apt"))));
    }
}

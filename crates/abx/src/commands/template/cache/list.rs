use agent_sandbox::template::cache::{self, Entry, Kind, Listing};

use crate::Failure;
use crate::cli::template::CacheListArgs;
use crate::commands::{Edge, now};
use crate::output::{Table, human};

/// A row for each entry, and what each kind comes to.
pub(super) fn list(edge: &Edge, _: &CacheListArgs) -> Result<u8, Failure> {
    let listing = cache::list(&edge.context)?;
    edge.printer.result(&listing, &text(&listing, now()))?;
    Ok(0)
}

fn text(listing: &Listing, now: u64) -> String {
    if listing.entries.is_empty() {
        return "nothing is kept\n".to_owned();
    }
    let mut entries = Table::new(["KIND", "NAME", "SIZE", "SHARED", "USED", "FROM", "NEEDED BY"]);
    for entry in listing.entries.iter().filter(|entry| !is_many(entry.kind)) {
        entries.row(row(entry, now));
    }
    for kind in Kind::ALL.into_iter().filter(|kind| is_many(*kind)) {
        let of_kind: Vec<&Entry> = listing.entries.iter().filter(|entry| entry.kind == kind).collect();
        if let Some(newest) = of_kind.iter().max_by_key(|entry| entry.used.or(entry.made)) {
            let count = format!("{} entries", of_kind.len());
            let size = of_kind.iter().map(|entry| entry.size).sum();
            let used = ago(newest, now);
            let empty = String::new;
            entries.row([kind.to_string(), count, human::bytes(size), empty(), used, empty(), empty()]);
        }
    }
    let mut totals = Table::new(["KIND", "ENTRIES", "SIZE", "NOT NEEDED"]);
    for total in &listing.totals {
        let (size, removable) = (human::bytes(total.size), human::bytes(total.removable));
        totals.row([total.kind.to_string(), total.entries.to_string(), size, removable]);
    }
    let removable = listing.totals.iter().map(|total| total.removable).sum();
    let count = listing.entries.len().to_string();
    totals.row(["total".to_owned(), count, human::bytes(listing.size), human::bytes(removable)]);
    format!("{entries}\n{totals}")
}

/// Of which nobody wants to see each.
fn is_many(kind: Kind) -> bool {
    matches!(kind, Kind::Log | Kind::Leftover)
}

/// The cells of an entry.
fn row(entry: &Entry, now: u64) -> [String; 7] {
    let shared = if entry.shared == 0 { String::new() } else { human::bytes(entry.shared) };
    let needed = entry.needed.clone().unwrap_or_default();
    let size = human::bytes(entry.size);
    [entry.kind.to_string(), entry.name.clone(), size, shared, ago(entry, now), from(entry), needed]
}

fn ago(entry: &Entry, now: u64) -> String {
    let since = entry.used.or(entry.made);
    since.map_or_else(String::new, |since| format!("{} ago", human::age(now.saturating_sub(since))))
}

/// `api.github.com main, v1.0 (0123456789ab)`.
fn from(entry: &Entry) -> String {
    let mut words: Vec<String> = entry.origin.iter().cloned().collect();
    if entry.kind == Kind::Repository && !entry.refs.is_empty() {
        words.push(entry.refs.join(", "));
    }
    if let Some(commit) = &entry.commit {
        words.push(format!("({})", commit.get(..12).unwrap_or(commit)));
    }
    words.join(" ")
}

/// An entry in one line, for lists of what was removed.
pub(super) fn line(entry: &Entry) -> String {
    let from = from(entry);
    let from = if from.is_empty() { from } else { format!(", {from}") };
    let text = format!("{} {}{from}, {}", entry.kind, entry.name, human::bytes(entry.size));
    format!("  {}\n", crate::report::plain(&text))
}

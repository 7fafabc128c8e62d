//! Words → the templates that have all of them, best first.

use super::card::{Card, Source};

/// What to look for; every part that is given must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Each is somewhere in the name, the description, the tags, the category or the author.
    pub words: Vec<String>,
    pub category: Option<String>,
    pub tag: Option<String>,
    pub status: Option<String>,
}

/// The cards that meet a query, best first.
///
/// A word in the name weighs more than one in a tag, that more than one in the description; a whole word more than
/// the beginning of one, that more than a part. Equals are in the order of their names, those of this machine first.
pub fn search(cards: Vec<Card>, query: &Query) -> Vec<Card> {
    let words: Vec<String> = query.words.iter().map(|word| word.to_lowercase()).collect();
    let meets = |card: &Card| {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| found.is_some_and(|found| same(found, wanted)))
        };
        let has_tag = |wanted: &String| card.tags.iter().any(|tag| same(tag, wanted));
        is(&query.category, card.category.as_deref())
            && is(&query.status, card.status)
            && query.tag.as_ref().is_none_or(has_tag)
    };
    let mut found: Vec<(u32, Card)> =
        cards.into_iter().filter(meets).filter_map(|card| Some((score(&card, &words)?, card))).collect();
    found.sort_by(|(one_score, one), (other_score, other)| {
        let key = |card: &Card| (card.name.to_lowercase(), matches!(card.source, Source::Catalog(_)));
        other_score.cmp(one_score).then_with(|| key(one).cmp(&key(other)))
    });
    found.into_iter().map(|(_, card)| card).collect()
}

/// The names, tags and categories that may have been meant by words nothing has.
pub fn meant(cards: &[Card], query: &Query) -> Vec<String> {
    let names = |card: &'_ Card| -> Vec<String> {
        [&card.name].into_iter().chain(&card.tags).chain(&card.category).cloned().collect()
    };
    let known: Vec<String> = cards.iter().flat_map(names).collect();
    let known = || known.iter();
    let is_known = |word: &&String| known().any(|known| known.to_lowercase().contains(&word.to_lowercase()));
    let words = query.words.iter().chain(&query.tag).chain(&query.category);
    let unknown = words.filter(|word| !is_known(word));
    let mut meant: Vec<String> = Vec::new();
    for near in unknown.flat_map(|word| abx_spec::near::near(word, known().map(String::as_str))) {
        if !meant.iter().any(|known| known == near) {
            meant.push(near.to_owned());
        }
    }
    meant.truncate(3);
    meant
}

/// `None` where a word is nowhere.
fn score(card: &Card, words: &[String]) -> Option<u32> {
    words.iter().try_fold(0, |sum, word| match word_score(card, word) {
        0 => None,
        score => Some(sum + score),
    })
}

fn word_score(card: &Card, word: &str) -> u32 {
    let in_name = match place(&card.name, word) {
        Some(Place::Whole) => 100,
        Some(Place::Start) => 70,
        Some(Place::Within) => 50,
        None => 0,
    };
    let weigh = |text: &str, weight: u32| match place(text, word) {
        Some(Place::Whole) => weight + 8,
        Some(Place::Start) => weight + 4,
        Some(Place::Within) => weight,
        None => 0,
    };
    let tags = card.tags.iter().map(|tag| weigh(tag, 25)).max().unwrap_or(0);
    let other = |text: &Option<String>, weight| text.as_ref().map_or(0, |text| weigh(text, weight));
    in_name
        .max(tags)
        .max(other(&card.category, 15))
        .max(other(&card.description, 5))
        .max(other(&card.author, 1))
}

enum Place {
    /// All of the text.
    Whole,
    /// Where the text or a word of it begins.
    Start,
    Within,
}

fn place(text: &str, word: &str) -> Option<Place> {
    let text = text.to_lowercase();
    let mut found = text.match_indices(word).map(|(at, _)| at).peekable();
    found.peek()?;
    if text == word {
        return Some(Place::Whole);
    }
    let begins = |at: usize| !text[..at].ends_with(|before: char| before.is_alphanumeric());
    Some(if found.any(begins) { Place::Start } else { Place::Within })
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::card::tests_support::card;

    fn cards() -> Vec<Card> {
        vec![
            card("web-scraper", "Reads pages", &["browser", "python"], "web", None),
            card("browser-automation", "Playwright + Chromium", &["playwright"], "browser", Some("official")),
            card("node", "For browser work too", &["web"], "web", Some("community")),
            card("数据", "数据分析环境", &["python"], "data-science", None),
        ]
    }

    fn names(words: &[&str], change: fn(&mut Query)) -> Vec<String> {
        let mut query =
            Query { words: words.iter().map(|word| (*word).to_owned()).collect(), ..Query::default() };
        change(&mut query);
        search(cards(), &query).into_iter().map(|card| card.name).collect()
    }

    #[test]
    fn a_name_goes_before_a_tag_before_a_description() {
        let all = |_: &mut Query| {};
        assert_eq!(names(&["BROWSER"], all), ["browser-automation", "web-scraper", "node"]);
        assert_eq!(names(&["web"], all), ["web-scraper", "node"]);
        assert_eq!(names(&["chrom"], all), ["browser-automation"]);
        assert_eq!(names(&["分析"], all), ["数据"]);
        assert_eq!(names(&["python", "pages"], all), ["web-scraper"]);
        assert_eq!(names(&["python", "nothing"], all), [""; 0]);
        assert_eq!(names(&[], all), ["browser-automation", "node", "web-scraper", "数据"]);
    }

    #[test]
    fn filters_are_met_to_the_letter_but_for_its_case() {
        assert_eq!(names(&[], |query| query.category = Some("Web".into())), ["node", "web-scraper"]);
        assert_eq!(names(&[], |query| query.tag = Some("PYTHON".into())), ["web-scraper", "数据"]);
        assert_eq!(names(&[], |query| query.tag = Some("pyth".into())), [""; 0]);
        assert_eq!(names(&[], |query| query.status = Some("official".into())), ["browser-automation"]);
        assert_eq!(names(&["web"], |query| query.status = Some("community".into())), ["node"]);
    }

    #[test]
    fn a_slip_finds_what_was_meant() {
        let query = |word: &str| Query { words: vec![word.to_owned()], ..Query::default() };
        assert_eq!(meant(&cards(), &query("playwrigth")), ["playwright"]);
        assert_eq!(meant(&cards(), &query("zzzzzz")), [""; 0]);
    }
}

//! A sentence on a task → the templates that may be for it, best first.
//!
//! Counting, and nothing else, so that a person can see why: a trigger that stands in the sentence weighs most, then
//! tags and the words of the name, then the words of the descriptions. Words that are in every sentence count for
//! nothing. A script without spaces is taken apart into pairs of letters.

use super::card::{Card, Source};

const TRIGGER: u32 = 10;
/// For each further word of a trigger: the longer one says more.
const TRIGGER_WORD: u32 = 4;
const TAG: u32 = 5;
const NAME: u32 = 5;
const DESCRIPTION: u32 = 1;
/// A long description must not win by its length.
const DESCRIPTION_CAP: u32 = 5;

/// A template that may be for the task, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub card: Card,
    pub score: u32,
    /// As the template spells them.
    pub triggers: Vec<String>,
    pub tags: Vec<String>,
    /// The words of the sentence that are in its name.
    pub name: Vec<String>,
    /// Those in its descriptions, and nowhere else in it.
    pub description: Vec<String>,
}

/// The templates with anything of the sentence in them, best first.
pub fn matches(cards: Vec<Card>, sentence: &str) -> Vec<Match> {
    let words = words(sentence);
    let mut found: Vec<Match> =
        cards.into_iter().map(|card| weigh(card, &words)).filter(|found| found.score > 0).collect();
    found.sort_by(|one, other| {
        let key = |found: &Match| {
            let is_far = matches!(found.card.source, Source::Catalog(_));
            (is_far, found.card.name.to_lowercase())
        };
        other.score.cmp(&one.score).then_with(|| key(one).cmp(&key(other)))
    });
    found
}

fn weigh(card: Card, sentence: &[Word]) -> Match {
    let stands = |text: &&String| contains(sentence, &words(text));
    let triggers: Vec<String> = card.triggers.iter().filter(stands).cloned().collect();
    let tags: Vec<String> = card.tags.iter().filter(stands).cloned().collect();
    let shared = |text: &str| -> Vec<String> {
        let words = words(text);
        let mut shared: Vec<String> = Vec::new();
        for word in sentence.iter().filter(|word| !word.is_common && words.contains(word)) {
            if !shared.contains(&word.text) {
                shared.push(word.text.clone());
            }
        }
        shared
    };
    let name = shared(&card.name);
    let said = [&card.description, &card.purpose].map(|text| text.as_deref().unwrap_or_default()).join(" ");
    let elsewhere: Vec<Word> = triggers.iter().chain(&tags).flat_map(|text| words(text)).collect();
    let mut description = shared(&said);
    description.retain(|word| !name.contains(word) && !elsewhere.iter().any(|known| known.text == *word));
    let of_trigger =
        |trigger: &String| TRIGGER + TRIGGER_WORD * (words(trigger).len() as u32).saturating_sub(1);
    // A trigger that is a tag and in the name as well says the same three times, and is meant three times.
    let score = triggers.iter().map(of_trigger).sum::<u32>()
        + TAG * tags.len() as u32
        + NAME * name.len() as u32
        + (DESCRIPTION * description.len() as u32).min(DESCRIPTION_CAP);
    Match { card, score, triggers, tags, name, description }
}

/// A word of a text; two are equal where they have the same stem.
#[derive(Clone, Debug)]
struct Word {
    text: String,
    stem: String,
    is_common: bool,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.stem == other.stem
    }
}

/// Whether the words of a phrase stand one after the other in a sentence. A phrase of common words stands nowhere.
fn contains(sentence: &[Word], phrase: &[Word]) -> bool {
    !phrase.iter().all(|word| word.is_common) && sentence.windows(phrase.len()).any(|window| window == phrase)
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let lower = text.to_lowercase();
    for run in lower.split(|letter: char| !letter.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let is_dense = is_without_spaces(first);
            let end = rest.find(|letter| is_without_spaces(letter) != is_dense).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            match is_dense {
                true => pairs(part, &mut words),
                false => words.push(Word::new(part)),
            }
            rest = behind;
        }
    }
    words
}

/// `数据分析` is `数据`, `据分`, `分析`.
fn pairs(run: &str, words: &mut Vec<Word>) {
    let letters: Vec<char> = run.chars().collect();
    if letters.len() == 1 {
        words.push(Word { text: run.to_owned(), stem: run.to_owned(), is_common: true });
    }
    for pair in letters.windows(2) {
        let text: String = pair.iter().collect();
        words.push(Word { stem: text.clone(), text, is_common: false });
    }
}

/// Han, kana and hangul.
fn is_without_spaces(letter: char) -> bool {
    matches!(
        letter as u32,
        0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF
    )
}

impl Word {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), stem: stem(text).to_owned(), is_common: COMMON.contains(&text) }
    }
}

/// `images` and `image`, `scraping` and `scrape` are the same word.
fn stem(word: &str) -> &str {
    let cut = |word: &'_ str, ending: &str, least: usize| -> usize {
        let is_long = word.is_ascii() && word.len() >= least + ending.len();
        if is_long && word.ends_with(ending) { word.len() - ending.len() } else { word.len() }
    };
    let word = if word.ends_with("ss") { word } else { &word[..cut(word, "s", 3)] };
    let word = &word[..cut(word, "ing", 3)];
    &word[..cut(word, "e", 3)]
}

/// They are in every sentence on a task.
const COMMON: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "create", "do", "for",
    "from", "get", "have", "help", "how", "i", "if", "in", "into", "is", "it", "its", "like", "make", "me",
    "my", "need", "of", "on", "one", "or", "our", "please", "run", "sandbox", "so", "some", "template",
    "that", "the", "their", "then", "there", "these", "this", "to", "up", "use", "using", "want", "we",
    "what", "when", "which", "with", "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::card::tests_support::card;

    fn best(sentence: &str) -> Vec<(String, u32)> {
        let mut cards = vec![
            card(
                "python-data",
                "Tables and plots in a notebook",
                &["python", "pandas"],
                "data-science",
                None,
            ),
            card("browser", "Automate web pages", &["playwright"], "browser", None),
            card("notebook", "For data", &[], "data-science", None),
        ];
        cards[0].triggers = ["analyze data", "CSV", "数据分析"].map(str::to_owned).to_vec();
        cards[1].triggers = ["scrape", "take screenshots"].map(str::to_owned).to_vec();
        matches(cards, sentence).into_iter().map(|found| (found.card.name, found.score)).collect()
    }

    #[test]
    fn triggers_weigh_most_and_common_words_nothing() {
        for (sentence, expected) in [
            ("Scraping some pages", vec![("browser", 11)]),
            ("please take screenshots of a page", vec![("browser", 15)]),
            ("I want to analyze data from a csv", vec![("python-data", 29), ("notebook", 1)]),
            ("analyze the data", vec![("python-data", 5), ("notebook", 1)]),
            ("请帮我做数据分析", vec![("python-data", 18)]),
            ("用Python画图", vec![("python-data", 10)]),
            ("run a template for me", vec![]),
            ("", vec![]),
            ("…!?", vec![]),
        ] {
            let expected: Vec<(String, u32)> =
                expected.into_iter().map(|(name, score)| (name.to_owned(), score)).collect();
            assert_eq!(best(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn the_reasons_are_given_in_the_templates_own_words() {
        let mut one = card("c", "Fast plots", &["CSV"], "", None);
        one.triggers = vec!["Read CSV".into(), "plot".into()];
        let found = matches(vec![one], "read csv, then fast plotting");
        let found = &found[0];
        assert_eq!(
            (&found.triggers[..], &found.tags[..]),
            (&["Read CSV".into()][..], &["CSV".to_owned()][..])
        );
        assert_eq!(found.description, ["fast"]);
    }
}

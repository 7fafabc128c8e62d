//! What a misspelt word was meant to be.

/// The candidate closest to `word` in any letter case, where one is close.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(100).flat_map(char::to_lowercase).collect();
    let scored = candidates.into_iter().map(|candidate| {
        let other = candidate.to_lowercase();
        let allowed = (word.chars().count().max(other.chars().count()) / 3).min(3);
        (strsim::osa_distance(&word, &other), allowed, candidate)
    });
    scored.filter(|(distance, allowed, _)| distance <= allowed).min_by_key(|row| row.0).map(|row| row.2)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_near_and_other_words_are_not() {
        let words = ["RUN", "COPY", "HEALTHCHECK", "ENTRYPOINT"];
        let rows = [
            ("rnu", Some("RUN")),
            ("HEALTCHECK", Some("HEALTHCHECK")),
            ("entry-point", Some("ENTRYPOINT")),
            ("apt-get", None),
            ("", None),
            ("r", None),
        ];
        for (word, expected) in rows {
            assert_eq!(nearest(word, words), expected, "for `{word}`");
        }
    }
}

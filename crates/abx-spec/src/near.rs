//! "Did you mean".

/// The candidate closest to `word`, if one is close enough to be what was meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(word, candidates).into_iter().next()
}

/// The candidates close to `word`, closest first, at most three.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = normal(word);
    let mut scored: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates {
        let other = normal(candidate);
        let mut distance = strsim::osa_distance(&word, &other);
        let allowed = (word.chars().count().max(other.chars().count()) / 3).clamp(1, 3);
        if distance > allowed && word.len() >= 3 && (other.starts_with(&word) || word.starts_with(&other)) {
            distance = allowed;
        }
        if distance <= allowed && !scored.iter().any(|(_, known)| *known == candidate) {
            scored.push((distance, candidate));
        }
    }
    scored.sort_by_key(|(distance, _)| *distance);
    scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// `aptInstall`, `apt-install` and `apt_install` are one word.
fn normal(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 2);
    let mut previous_is_lower = false;
    for letter in word.chars().take(200) {
        if letter.is_ascii_uppercase() && previous_is_lower {
            out.push('_');
        }
        previous_is_lower = letter.is_ascii_lowercase();
        out.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{near, nearest};

    #[test]
    fn slips_are_near_and_other_words_are_not() {
        let keys = ["apt_install", "pip_install", "npm_install", "env", "copy", "run"];
        assert_eq!(nearest("apt_instal", keys), Some("apt_install"));
        assert_eq!(nearest("aptInstall", keys), Some("apt_install"));
        assert_eq!(nearest("apt", keys), Some("apt_install"));
        assert_eq!(nearest("rnu", keys), Some("run"));
        assert_eq!(nearest("healthcheck", keys), None);
        assert_eq!(near("pyton-base", ["python-base", "base"]), ["python-base"]);
    }
}

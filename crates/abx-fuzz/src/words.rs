//! Variables, quotes and escapes.

use abx_dockerfile::Lexer;

const BOUND: usize = 1 << 20;

/// A word comes out within its bounds; one without anything special comes out as it is.
pub fn words(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lookup = |name: &str| match name {
        "a" => Some("x y"),
        "b" => Some("/a/b.tar.gz"),
        "c" => Some(""),
        "d" => Some("é'\"\\$a*"),
        _ => None,
    };
    for escape in ['\\', '`'] {
        for keep_quotes in [false, true] {
            let lexer = Lexer { escape, keep_quotes };
            if let Ok(expanded) = lexer.word(text, &lookup) {
                assert!(expanded.text.len() <= BOUND, "too long");
                let is_plain = !text.contains(['$', '\'', '"', '\\', '`']);
                assert!(!is_plain || expanded.text == text, "a plain word became {:?}", expanded.text);
                assert!(!expanded.has_variables || text.contains('$'), "no variable stands there");
            }
            if let Ok(words) = lexer.words(text, &lookup) {
                assert!(words.iter().map(String::len).sum::<usize>() <= BOUND, "too long");
                assert!(
                    words.iter().all(|word| !word.is_empty()) || text.contains(['"', '\'']),
                    "an empty word"
                );
            }
        }
    }
}

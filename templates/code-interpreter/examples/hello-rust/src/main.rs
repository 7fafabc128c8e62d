//! Says how often each word of its input occurs; needs nothing but the library that is here.
//!
//!     abx upload ID examples/hello-rust /app/hello-rust
//!     abx exec ID -- sh -c 'cd hello-rust && echo "a b a" | cargo run --quiet'

use std::collections::BTreeMap;
use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    for (word, count) in counts {
        println!("{word} {count}");
    }
    Ok(())
}

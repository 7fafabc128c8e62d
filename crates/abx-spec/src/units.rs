//! Amounts of memory and disk.

/// `4GiB`, `512 MB`, `1.5G` in MB. As the design counts, 1 GB is 1024 MB; nothing below a MB is kept.
pub(crate) fn megabytes(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "m" | "mb" | "mi" | "mib" => 1.0,
        "g" | "gb" | "gi" | "gib" => 1024.0,
        "t" | "tb" | "ti" | "tib" => 1024.0 * 1024.0,
        _ => return None,
    };
    let amount = number.parse::<f64>().ok()? * factor;
    ((0.0..1e15).contains(&amount) && amount.fract() == 0.0).then_some(amount as u64)
}

#[cfg(test)]
mod tests {
    use super::megabytes;

    #[test]
    fn units() {
        let rows = [
            ("4GiB", Some(4096)),
            ("512 MB", Some(512)),
            ("1.5g", Some(1536)),
            ("1Ti", Some(1_048_576)),
            ("4096", None),
            ("0.0001G", None),
            ("1..5G", None),
            ("4 KB", None),
            ("GiB", None),
            ("-1GiB", None),
            ("99999999999999999999T", None),
        ];
        for (text, expected) in rows {
            assert_eq!(megabytes(text), expected, "for `{text}`");
        }
    }
}

//! Amounts in words.

/// A span of time at the precision a person needs: `12s`, `3m`, `5h`, `2d`.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long work took: `0.4s`, `12.3s`, `2m05s`.
pub(crate) fn took(duration: std::time::Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 59.95 {
        format!("{seconds:.1}s")
    } else {
        let whole = seconds.round() as u64;
        format!("{}m{:02}s", whole / 60, whole % 60)
    }
}

/// MB as the user wrote them, in the largest unit that stays exact: `512 MiB`, `2 GiB`.
pub(crate) fn megabytes(amount: u64) -> String {
    if amount > 0 && amount.is_multiple_of(1024) {
        format!("{} GiB", amount / 1024)
    } else {
        format!("{amount} MiB")
    }
}

/// Bytes: `512 B`, `1.5 KiB`, `2.0 GiB`.
pub(crate) fn bytes(amount: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if amount < 1024 {
        return format!("{amount} B");
    }
    let mut value = amount as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn amounts_read_well_at_the_edges() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3599, "59m"),
            (3600, "1h"),
            (172_799, "47h"),
            (172_800, "2d"),
        ] {
            assert_eq!(age(seconds), text);
        }
        for (millis, text) in [(40, "0.0s"), (59_940, "59.9s"), (59_960, "1m00s"), (125_000, "2m05s")] {
            assert_eq!(took(Duration::from_millis(millis)), text);
        }
        for (amount, text) in [(0, "0 MiB"), (512, "512 MiB"), (2048, "2 GiB"), (2049, "2049 MiB")] {
            assert_eq!(megabytes(amount), text);
        }
        for (amount, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (1_048_575, "1.0 MiB"),
            (2_147_483_648, "2.0 GiB"),
            (u64::MAX, "16384.0 PiB"),
        ] {
            assert_eq!(bytes(amount), text);
        }
    }
}

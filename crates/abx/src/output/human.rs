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

/// The size of a template as its releases give it: `254 MB`, `1.9 GB`.
pub(crate) fn size(bytes: u64) -> String {
    const MEGA: f64 = 1e6;
    match bytes as f64 {
        bytes if bytes < 0.95 * MEGA => format!("{:.0} kB", (bytes / 1e3).ceil()),
        bytes if bytes < 999.5 * MEGA => format!("{:.0} MB", bytes / MEGA),
        bytes => format!("{:.1} GB", bytes / 1e9),
    }
}

/// Seconds since 1970 as a day, YYYY-MM-DD.
pub(crate) fn day(seconds: u64) -> String {
    // From 0000-03-01 on, a leap day is the last one of its year.
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn days_and_sizes_of_templates() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_799, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_796_083_199, "2026-11-30"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(day(seconds), text);
        }
        for (bytes, text) in [
            (0, "0 kB"),
            (1, "1 kB"),
            (254_000_000, "254 MB"),
            (999_400_000, "999 MB"),
            (999_600_000, "1.0 GB"),
            (2_140_000_000, "2.1 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

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

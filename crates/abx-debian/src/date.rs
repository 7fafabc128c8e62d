//! Dates as release files write them.

/// Seconds since 1970 of `Sat, 11 Jul 2026 10:16:37 UTC` (the zone may also be `GMT`, `+0000` or `Z`);
/// `None` for anything else.
pub(crate) fn parse_date(text: &str) -> Option<u64> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split_ascii_whitespace();
    let day: i64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let utc = matches!(words.next()?, "UTC" | "GMT" | "+0000" | "Z");
    let in_range = (1..=31).contains(&day)
        && (1970..=9999).contains(&year)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !utc || !in_range {
        return None;
    }
    u64::try_from(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second).ok()
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Days of the proleptic Gregorian calendar, counting years from March so that leap days come last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::parse_date;

    #[test]
    fn dates() {
        for (text, expect) in [
            ("Thu, 01 Jan 1970 00:00:00 UTC", Some(0)),
            ("Sat, 11 Jul 2026 10:16:37 UTC", Some(1_783_764_997)),
            ("Thu, 29 Feb 2024 23:59:59 +0000", Some(1_709_251_199)),
            ("Sat,  1 Mar 2025 00:00:00 GMT", Some(1_740_787_200)),
            ("Sat, 11 Jul 2026 10:16:37 CET", None),
            ("Sat, 11 Foo 2026 10:16:37 UTC", None),
            ("11 Jul 2026", None),
            ("Sat, 99 Jul 2026 10:16:37 UTC", None),
            ("", None),
        ] {
            assert_eq!(parse_date(text), expect, "{text}");
        }
    }
}

//! The JSON forms of protobuf's scalar types: bytes as base64, 64-bit integers as strings, enums by name,
//! times as RFC 3339. Readers accept what the protobuf rules let a writer choose.

/// `bytes` as base64; both alphabets, padded or not, are read.
pub mod bytes {
    use ::base64::Engine;
    use ::base64::alphabet::STANDARD as ALPHABET;
    use ::base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    use ::bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    const ENGINE: GeneralPurpose = GeneralPurpose::new(
        &ALPHABET,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );

    pub fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&ENGINE.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let mut text = Cow::<str>::deserialize(deserializer)?;
        if text.contains(['-', '_']) {
            text = text.replace('-', "+").replace('_', "/").into();
        }
        ENGINE.decode(text.as_bytes()).map(Bytes::from).map_err(D::Error::custom)
    }
}

/// `int64` as a string; a plain number is read too.
pub mod int64 {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(i64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(value) => Ok(value),
            Either::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// Gives an enum its JSON form: its name, or its number where it has no name for it.
macro_rules! enum_by_name {
    ($module:ident, $type:ty) => {
        pub mod $module {
            use serde::{Deserialize, Deserializer, Serializer, de::Error};

            pub fn serialize<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
                match <$type>::try_from(*value) {
                    Ok(named) => serializer.serialize_str(named.as_str_name()),
                    Err(_) => serializer.serialize_i32(*value),
                }
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
                #[derive(Deserialize)]
                #[serde(untagged)]
                enum Either {
                    Number(i32),
                    Name(String),
                }
                match Either::deserialize(deserializer)? {
                    Either::Number(value) => Ok(value),
                    Either::Name(name) => <$type>::from_str_name(&name)
                        .map(i32::from)
                        .ok_or_else(|| D::Error::custom(format!("unknown enum value {name:?}"))),
                }
            }
        }
    };
}
pub(crate) use enum_by_name;

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// 0…999,999,999.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl Timestamp {
    /// RFC 3339 in UTC, with as many of 0, 3, 6 or 9 fractional digits as needed, at least `digits`.
    pub fn to_rfc3339(self, digits: usize) -> String {
        let (year, month, day) = civil_date(self.seconds.div_euclid(86_400));
        let second = self.seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        let nanos = format!("{:09}", self.nanos.clamp(0, 999_999_999));
        let needed = nanos.trim_end_matches('0').len().next_multiple_of(3).max(digits);
        if needed > 0 {
            text.push('.');
            text.push_str(&nanos[..needed.min(9)]);
        }
        text.push('Z');
        text
    }

    /// Reads RFC 3339 as [`Timestamp::to_rfc3339`] writes it, or with an offset.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
        let days = days_from_civil(number(0..4)?, number(5..7)?, number(8..10)?);
        let mut seconds = days * 86_400 + number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?;
        let rest = text.get(19..)?;
        let zone = rest.find(['Z', 'z', '+', '-'])?;
        let (fraction, zone) = rest.split_at(zone);
        let nanos = match fraction.strip_prefix('.') {
            Some(digits) if digits.len() <= 9 => format!("{digits:0<9}").parse().ok()?,
            Some(_) => return None,
            None => 0,
        };
        if let Some((hours, minutes)) = zone.get(1..).and_then(|offset| offset.split_once(':')) {
            let offset =
                i64::from(hours.parse::<u8>().ok()?) * 3600 + i64::from(minutes.parse::<u8>().ok()?) * 60;
            seconds -= if zone.starts_with('-') { -offset } else { offset };
        }
        Some(Self { seconds, nanos })
    }
}

/// Year, month and day of a day number since 1970-01-01, in the proleptic Gregorian calendar: eras of 400
/// years that begin in March, so that the leap day is the last of its year.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339(0))
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_rfc3339(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not an RFC 3339 time")))
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn times_have_their_printed_form() {
        let rows = [
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 0, "2000-02-29T00:00:00Z"),
            (1_709_251_199, 1_000_000, "2024-02-29T23:59:59.001Z"),
            (-1, 999_999_999, "1969-12-31T23:59:59.999999999Z"),
            (4_102_444_800, 120_000, "2100-01-01T00:00:00.000120Z"),
        ];
        for (seconds, nanos, text) in rows {
            let time = Timestamp { seconds, nanos };
            assert_eq!(time.to_rfc3339(0), text);
            assert_eq!(Timestamp::from_rfc3339(text), Some(time));
        }
        assert_eq!(
            Timestamp::from_rfc3339("2000-01-01T01:00:00+01:00"),
            Timestamp::from_rfc3339("2000-01-01T00:00:00Z")
        );
        for bad in ["", "yesterday", "2000-01-01", "2000-01-01T00:00:00"] {
            assert_eq!(Timestamp::from_rfc3339(bad), None, "{bad}");
        }
    }
}

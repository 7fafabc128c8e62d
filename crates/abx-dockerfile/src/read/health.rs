//! `HEALTHCHECK`.

use std::time::Duration;

use crate::instruction::{Check, Healthcheck};
use crate::problem::Problem;
use crate::read::Reader;
use crate::read::action::command;
use crate::read::flags::Flags;
use crate::syntax::{Body, Node, Word};

const DURATION: &str = "write it as `30s`, `1m30s` or `500ms`";

pub(crate) fn healthcheck(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Healthcheck> {
    let mut flags =
        Flags::read(node, &["interval", "timeout", "start-period", "start-interval", "retries"], reader);
    let mut time = |name, reader: &mut Reader<'_, '_>| {
        let word = flags.text(name, reader);
        word.and_then(|word| duration(&word, reader))
    };
    let interval = time("interval", reader);
    let timeout = time("timeout", reader);
    let start_period = time("start-period", reader);
    let start_interval = time("start-interval", reader);
    let retries = flags.text("retries", reader).and_then(|word| retries(&word, reader));
    let Body::Check(kind, body) = &node.body else {
        reader.needs(node, "`CMD` and a command, or `NONE`");
        return None;
    };
    match kind.text.to_ascii_uppercase().as_str() {
        "NONE" if matches!(**body, Body::Empty) => Some(Healthcheck::None),
        "NONE" => {
            let wanted = "nothing after `NONE`";
            reader.fault(Problem::Takes { keyword: node.keyword, wanted }, node.span);
            None
        }
        "CMD" => {
            let Some(command) = command(body, reader) else {
                reader.needs(node, "a command after `CMD`");
                return None;
            };
            let check = Check { command, interval, timeout, start_period, start_interval, retries };
            Some(Healthcheck::Check(check))
        }
        _ => {
            let text = kind.text.clone();
            let problem =
                Problem::Malformed { what: "kind of health check", text, hint: "it is `CMD` or `NONE`" };
            reader.fault(problem, kind.span);
            None
        }
    }
}

/// Nothing where it is zero, which stands for the default.
fn duration(word: &Word, reader: &mut Reader<'_, '_>) -> Option<Duration> {
    match parse(&word.text) {
        Some(Duration::ZERO) => None,
        Some(duration) if duration >= Duration::from_millis(1) => Some(duration),
        Some(_) => {
            let (text, hint) = (word.text.clone(), "the shortest time is `1ms`");
            reader.fault(Problem::Malformed { what: "time for a health check", text, hint }, word.span);
            None
        }
        None => {
            let text = word.text.clone();
            reader.fault(Problem::Malformed { what: "length of time", text, hint: DURATION }, word.span);
            None
        }
    }
}

fn retries(word: &Word, reader: &mut Reader<'_, '_>) -> Option<u32> {
    match word.text.parse() {
        Ok(0) => None,
        Ok(number) => Some(number),
        Err(_) => {
            let text = word.text.clone();
            reader.fault(Problem::Malformed { what: "number of retries", text, hint: "" }, word.span);
            None
        }
    }
}

/// `1h2m3.5s`, `100ms`, `0`: numbers, each with a unit.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    match rest {
        "" => return None,
        "0" => return Some(Duration::ZERO),
        _ => {}
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end =
            tail.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let factor = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * factor;
        rest = next;
    }
    // What Go's durations hold.
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| duration.as_nanos() <= i64::MAX as u128)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lengths_of_time() {
        let rows = [
            ("5s", Some(5_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("500ms", Some(500)),
            ("0", Some(0)),
            ("0s", Some(0)),
            ("5", None),
            ("", None),
            ("+", None),
            ("s", None),
            ("-1s", None),
            ("1d", None),
            ("1..2s", None),
            ("99999999999h", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text).map(|duration| duration.as_millis()), expected, "for `{text}`");
        }
    }
}

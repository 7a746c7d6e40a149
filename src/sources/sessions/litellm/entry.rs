//! One row of a spend log, reckoned: the same rules as `fetch/spend.sql`, which sums up in the database.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde_json::{Map, Value};

use crate::sources::sessions::claude_code::NO_TIME;
use crate::sources::sessions::names::Id;
use crate::vocabulary::{Bill, Charge};

/// Calls that generate.
const GENERATION: [&str; 7] = [
    "completion",
    "acompletion",
    "text_completion",
    "atext_completion",
    "responses",
    "aresponses",
    "anthropic_messages",
];
/// Errors of availability, and their class.
const INFRA: [(&str, &str); 7] = [
    ("RateLimitError", "rate_limited"),
    ("ServiceUnavailableError", "overloaded"),
    ("InternalServerError", "overloaded"),
    ("APIConnectionError", "network"),
    ("AuthenticationError", "auth"),
    ("PermissionDeniedError", "auth"),
    ("BudgetExceededError", "credits"),
];
/// The columns that are read as text; `metadata` is the one beside them.
pub(super) const COLUMNS: [&str; 14] = [
    "request_id",
    "startTime",
    "endTime",
    "completionStartTime",
    "call_type",
    "cache_hit",
    "model",
    "model_group",
    "custom_llm_provider",
    "status",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "spend",
];
/// Most digits of a count: more is no number of tokens, and a million such calls still add up in 64 bits.
const MOST_DIGITS: usize = 12;
/// The last instant that is a time, epoch milliseconds: 9999-12-31.
const LAST_MS: i64 = 253_402_214_400_000;

/// The text of a cell; an empty one is not there.
pub(super) type Cell<'a> = Option<Cow<'a, str>>;

/// What kind of row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    /// An answer from a cache of the gateway.
    CacheHit,
    /// A call of a model.
    Call,
    /// A call that generates nothing.
    NotGeneration,
}

/// What counts of a row. The order of the fields is the order in which differing rows of one call are compared; the statement
/// of the database names the fields up to `part` in the same order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Entry {
    /// When it ended, epoch milliseconds.
    pub(super) end: i64,
    /// When it began.
    pub(super) start: Option<i64>,
    /// Input without cache.
    pub(super) input: u64,
    /// Read from cache.
    pub(super) cache_read: u64,
    /// Written to cache.
    pub(super) cache_write: u64,
    /// Output.
    pub(super) output: u64,
    /// Retries of the gateway.
    pub(super) retries: u64,
    /// USD as billed, as the bits of a float of at least 0, which sort as it does.
    spend_bits: u64,
    /// Whether it succeeded.
    is_ok: bool,
    /// Whether its error is one of availability.
    pub(super) is_infra: bool,
    /// Model.
    pub(super) model: String,
    /// Pool alias; may be empty, as the next two.
    pub(super) pool: String,
    /// Provider.
    pub(super) provider: String,
    /// Effort, where the deployment logs it.
    pub(super) effort: String,
    /// What kind of row it is.
    pub(super) part: Part,
    /// Class of its error, if it failed.
    pub(super) failure: Option<&'static str>,
    /// Milliseconds to the first token, where it was streamed.
    pub(super) first_ms: Option<i64>,
    /// Session; may be empty.
    pub(super) session: String,
    /// Whether its bill is stated, if only as 0.
    has_spend: bool,
}

impl Entry {
    /// The figures of a row and its identity; `None` without a model or an end.
    pub(super) fn of(cells: &[Cell<'_>; COLUMNS.len()], session: &Cell<'_>, metadata: &Value) -> Option<(Self, Id)> {
        let [id, start, end, first, call_type, cache_hit, model, pool, provider, status, prompt, output, total, spend] =
            cells.each_ref().map(Option::as_deref);
        let (began, ended) = (start.and_then(micros), end.and_then(micros)?);
        let model = model?;
        let identity = identity(id, [began.unwrap_or(NO_TIME), ended], model, total.unwrap_or_default());
        let (start, end) = (began.map(milliseconds), milliseconds(ended));
        let details = &metadata["usage_object"]["prompt_tokens_details"];
        let (cache_read, cache_write) = (count(&details["cached_tokens"]), count(&details["cache_creation_tokens"]));
        let is_ok = status.is_none_or(|status| status == "success");
        let class = metadata["error_information"]["error_class"].as_str().unwrap_or_default();
        let known = INFRA.iter().find(|(name, _)| *name == class).map(|(_, class)| *class);
        let first_ms = first.and_then(micros).map(milliseconds).filter(|first| *first < end).zip(start);
        let entry = Self {
            end,
            start,
            input: prompt.map_or(0, number).saturating_sub(cache_read).saturating_sub(cache_write),
            cache_read,
            cache_write,
            output: output.map_or(0, number),
            retries: count(&metadata["attempted_retries"]),
            spend_bits: spend.map_or(0.0, amount).to_bits(),
            is_ok,
            is_infra: known.is_some(),
            model: model.to_owned(),
            pool: pool.unwrap_or_default().to_owned(),
            provider: provider.unwrap_or_default().to_owned(),
            effort: metadata["reasoning_effort"].as_str().unwrap_or_default().to_owned(),
            part: part(call_type, cache_hit),
            failure: (!is_ok).then(|| known.unwrap_or_else(|| failure(class))),
            first_ms: first_ms.map(|(first, start)| first - start).filter(|first| *first > 0),
            session: session.as_deref().unwrap_or_default().to_owned(),
            has_spend: spend.is_some(),
        };
        Some((entry, identity))
    }

    /// USD as billed.
    pub(super) fn spend(&self) -> f64 {
        f64::from_bits(self.spend_bits)
    }

    /// Milliseconds of the call.
    pub(super) fn busy_ms(&self) -> Option<i64> {
        self.start.map(|start| self.end - start)
    }

    /// Whether it is an answer with tokens.
    pub(super) fn is_response(&self) -> bool {
        self.is_ok && self.charge().kinds > 0
    }

    /// What its price depends on. A call that failed has none but its bill.
    pub(super) fn charge(&self) -> Charge {
        let bill = Bill::of((self.has_spend || !self.is_ok).then(|| self.spend()));
        Charge { bill, ..Charge::of([self.input, self.cache_read, 0, 0, self.cache_write, self.output]) }
    }
}

/// What kind of row it is.
fn part(call_type: Option<&str>, cache_hit: Option<&str>) -> Part {
    if call_type.is_some_and(|kind| !GENERATION.contains(&kind)) {
        Part::NotGeneration
    } else if cache_hit.is_some_and(|hit| hit.eq_ignore_ascii_case("true")) {
        Part::CacheHit
    } else {
        Part::Call
    }
}

/// The class of an error that is not one of availability.
fn failure(class: &str) -> &'static str {
    match class {
        "ContextWindowExceededError" => "context",
        "Timeout" => "timeout",
        _ => "other",
    }
}

/// The text of a JSON value.
pub(super) fn text<'a>(object: &'a Map<String, Value>, column: &str) -> Cell<'a> {
    match object.get(column)? {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text.as_str())).filter(|text| !text.is_empty()),
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// A count of metadata, written as a number or as text.
fn count(value: &Value) -> u64 {
    match value {
        Value::Number(value) => number(&value.to_string()),
        Value::String(text) => number(text),
        _ => 0,
    }
}

/// A count; `12.0` is one, as other engines write it. Anything else, and what no call can use, is 0.
fn number(text: &str) -> u64 {
    let (whole, is_whole) = match text.split_once('.') {
        None => (text, true),
        Some((whole, rest)) => (whole, !rest.is_empty() && rest.bytes().all(|digit| digit == b'0')),
    };
    if is_whole && whole.len() <= MOST_DIGITS { digits(whole).unwrap_or(0) } else { 0 }
}

/// A number of digits alone: a parser of numbers also takes a plus.
fn digits(text: &str) -> Option<u64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// An amount that can be a bill; 0 for anything else.
fn amount(text: &str) -> f64 {
    text.parse().ok().filter(|amount| crate::vocabulary::Usd::billed(*amount).is_some()).unwrap_or(0.0)
}

/// Epoch microseconds of a time as databases and engines write it; text without a zone is UTC.
fn micros(text: &str) -> Option<i64> {
    let micros = plain(text).or_else(|| {
        let zoned = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_micros());
        let text = text.replace('T', " ");
        let naive = || NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f");
        zoned.or_else(|_| naive().map(|time| time.and_utc().timestamp_micros())).ok()
    })?;
    (micros < LAST_MS * 1000).then_some(micros)
}

/// The usual form, `2026-11-20 10:00:00.123456`, with or without fraction and zone, read without a format: a log has millions.
fn plain(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| digits(text.get(from..to)?).and_then(|number| u32::try_from(number).ok());
    let is_at = |at: usize, marks: &[u8]| text.as_bytes().get(at).is_some_and(|byte| marks.contains(byte));
    if !(is_at(4, b"-") && is_at(7, b"-") && is_at(10, b" Tt") && is_at(13, b":") && is_at(16, b":")) {
        return None;
    }
    let day = NaiveDate::from_ymd_opt(number(0, 4)?.cast_signed(), number(5, 7)?, number(8, 10)?)?;
    let time = day.and_hms_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?)?;
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let kept = &rest[..end.min(6)];
            (
                digits(kept).filter(|_| end > 0)?.cast_signed() * 10_i64.pow(6 - u32::try_from(kept.len()).ok()?),
                &rest[end..],
            )
        }
    };
    Some(time.and_utc().timestamp_micros() + fraction - zone_seconds(zone)? * 1_000_000)
}

/// Seconds east of UTC of `Z`, `+00`, `+0530` or `+05:30`; nothing is UTC.
fn zone_seconds(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = if let Some(rest) = zone.strip_prefix('-') { (-1, rest) } else { (1, zone.strip_prefix('+')?) };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "0"),
        4 | 5 => (rest.get(..2)?, rest.get(2..)?.trim_start_matches(':')),
        _ => return None,
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then(|| sign * (hours * 3600 + minutes * 60).cast_signed())
}

/// The nearest millisecond.
fn milliseconds(micros: i64) -> i64 {
    (micros + 500).div_euclid(1000)
}

/// The identity of a row: its request id, else when it ran, what it called and how much it used.
fn identity(id: Option<&str>, times: [i64; 2], model: &str, total: &str) -> Id {
    id.map_or_else(
        || Id::of_parts(&[&times[0].to_le_bytes(), &times[1].to_le_bytes(), model.as_bytes(), total.as_bytes()]),
        |id| Id::of(b'r', id.as_bytes()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_every_form_a_database_writes_it() {
        let noon = 1_795_435_200_000_000; // 2026-11-23 12:00:00 UTC
        for (text, micros_beyond) in [
            ("2026-11-23 12:00:00", 0),
            ("2026-11-23T12:00:00Z", 0),
            ("2026-11-23 12:00:00+00", 0),
            ("2026-11-23 17:30:00.5+05:30", 500_000),
            ("2026-11-23 09:00:00.000001-0300", 1),
            ("2026-11-23T12:00:00.1234567", 123_456),
            ("2026-11-23t12:00:00z", 0),
        ] {
            assert_eq!(micros(text), Some(noon + micros_beyond), "{text}");
        }
        for none in
            ["", "infinity", "2026-11-23", "2026-02-30 00:00:00", "2026-11-23 12:00:00.", "0044-03-15 12:00:00 BC"]
        {
            assert_eq!(micros(none), None, "{none}");
        }
    }

    #[test]
    fn a_count_is_digits_with_or_without_zeros_behind_a_point() {
        let texts =
            ["12", "12.0", "012", "0", "999999999999", "1000000000000", "-4", "+4", "12.5", "12.", ".0", "many"];
        assert_eq!(texts.map(number), [12, 12, 12, 0, 999_999_999_999, 0, 0, 0, 0, 0, 0, 0]);
    }
}

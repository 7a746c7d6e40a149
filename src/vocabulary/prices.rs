//! Prices as decimals, with the conditions under which they hold. Nothing here is ever rounded: rounding is for showing.

use std::fmt;

use chrono::{DateTime, Datelike as _, NaiveDate, Timelike as _, Utc, Weekday};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Serialize};

/// Prices in USD per million tokens. `None` is unknown; 0 is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Uncached input.
    pub input: Option<Decimal>,
    /// Output with reasoning.
    pub output: Option<Decimal>,
    /// Input read from cache.
    pub cache_read: Option<Decimal>,
    /// Input written to cache.
    pub cache_write: Option<Decimal>,
}

impl Prices {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Whether input and output are stated as free.
    pub fn is_free(&self) -> bool {
        self.input.is_some_and(|usd| usd.is_zero()) && self.output.is_some_and(|usd| usd.is_zero())
    }

    /// These prices where they are stated, else those.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            input: self.input.or(other.input),
            output: self.output.or(other.output),
            cache_read: self.cache_read.or(other.cache_read),
            cache_write: self.cache_write.or(other.cache_write),
        }
    }

    /// Whether another opinion states the same input and output price within a relative tolerance.
    pub fn is_close(&self, other: &Self, tolerance: Decimal) -> bool {
        let close = |a: Option<Decimal>, b: Option<Decimal>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= tolerance.saturating_mul(a.abs().max(b.abs())),
            _ => false,
        };
        close(self.input, other.input) && close(self.output, other.output)
    }
}

/// A price as a number to reckon with; decimals end here.
pub fn as_number(usd: Option<Decimal>) -> Option<f64> {
    usd.and_then(|usd| usd.to_f64())
}

impl fmt::Display for Prices {
    /// `input/output` as stated, `?` for an unknown one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |usd: Option<Decimal>| usd.map_or_else(|| "?".to_owned(), |usd| usd.normalize().to_string());
        write!(f, "{}/{}", show(self.input), show(self.output))
    }
}

/// Hours of the day in UTC, half-open; they may run over midnight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hours {
    /// First minute of the day.
    pub start: u32,
    /// First minute after it.
    pub end: u32,
    /// Days of the week by their number from Monday (0); empty means every day.
    pub days: Vec<u8>,
}

impl Hours {
    /// Whether an instant lies in these hours.
    pub fn contains(&self, at: DateTime<Utc>) -> bool {
        let minute = at.hour() * 60 + at.minute();
        let is_in = if self.start <= self.end {
            (self.start..self.end).contains(&minute)
        } else {
            minute >= self.start || minute < self.end
        };
        let day = u8::try_from(at.weekday().num_days_from_monday()).unwrap_or_default();
        is_in && (self.days.is_empty() || self.days.contains(&day))
    }

    /// The number of a day as the sources spell it (`mon`, `Monday`, `MO`); `None` for anything else.
    pub fn day(word: &str) -> Option<u8> {
        let two = word.get(..2)?.to_lowercase();
        let days = ["mo", "tu", "we", "th", "fr", "sa", "su"];
        let at = days.iter().position(|day| *day == two)?;
        word.parse::<Weekday>().is_ok().then_some(()).or((word.len() == 2).then_some(()))?;
        u8::try_from(at).ok()
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
        write!(f, "{}-{} UTC", clock(self.start), clock(self.end))
    }
}

/// When a price holds. Everything that is stated must be met.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PriceWhen {
    /// The prompt is longer than this many tokens; then it holds for all of them.
    pub above_tokens: Option<u64>,
    /// The hour lies in here.
    pub hours: Option<Hours>,
    /// First day it holds.
    pub from: Option<NaiveDate>,
    /// A way of calling: `batch`, `flex`, `priority`, `fast`.
    pub mode: Option<String>,
}

/// Prices under a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceBand {
    /// When they hold.
    pub when: PriceWhen,
    /// What they are; what is not stated stands as without the condition.
    pub prices: Prices,
}

/// The price of a model as a run used it, for the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedPrice {
    /// What was used.
    pub used: Prices,
    /// What one source alone said instead; a second run that says the same is believed.
    pub pending: Option<Prices>,
}

/// The prices of an ordinary call with a short prompt at an instant: of the bands whose day and hour are met the last one wins.
pub fn prices_at(base: Prices, bands: &[PriceBand], at: DateTime<Utc>) -> Prices {
    let holds = |band: &&PriceBand| {
        let when = &band.when;
        let is_plain = when.above_tokens.is_none() && when.mode.is_none();
        is_plain
            && when.from.is_none_or(|from| from <= at.date_naive())
            && when.hours.as_ref().is_none_or(|hours| hours.contains(at))
    };
    bands.iter().filter(holds).fold(base, |held, band| band.prices.or(held))
}

/// The first change of an ordinary call's price that is announced for after an instant's day: day and new prices.
pub fn next_change(base: Prices, bands: &[PriceBand], at: DateTime<Utc>) -> Option<(NaiveDate, Prices)> {
    let plain = bands
        .iter()
        .filter(|band| band.when.above_tokens.is_none() && band.when.mode.is_none() && band.when.hours.is_none());
    let (day, prices) = plain
        .filter_map(|band| Some((band.when.from.filter(|from| *from > at.date_naive())?, band.prices)))
        .min_by_key(|(day, _)| *day)?;
    let before = prices_at(base, bands, at);
    let after = prices.or(before);
    (after != before).then_some((day, after))
}

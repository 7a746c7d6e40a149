//! What the price of a call depends on beside its model and its day, and what tokens cost.

use chrono::{DateTime, Duration, NaiveTime, Utc};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::{Hours, PriceBand, Prices, Usd, used};

/// What short and long cache writes cost, as multiples of the input price (reference sessions §7.4): 1.25 and 2.
const WRITES: [Decimal; 2] = [Decimal::from_parts(125, 0, 0, false, 2), Decimal::from_parts(2, 0, 0, false, 0)];
/// Millionths of a USD of a price are 10⁻¹² USD of a token.
const MILLIONTHS: Decimal = Decimal::from_parts(1_000_000, 0, 0, false, 0);

/// Prompt sizes at which public lists change a price, tokens. A list may state the last size of the lower price, the first of the
/// higher one, or the one before it.
const SIZES: [u64; 15] = [
    32_000, 32_768, 64_000, 96_000, 100_000, 128_000, 131_072, 200_000, 256_000, 262_144, 272_000, 512_000, 524_288,
    1_000_000, 1_048_576,
];
/// How many limits those are.
const LIMITS: usize = 3 * SIZES.len();

/// A limit by its number, in rising order: each size with its two neighbours.
fn limit(number: usize) -> u64 {
    SIZES[number / 3] - 1 + (number % 3) as u64
}

/// Between which of those limits a prompt lies: the number of limits below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromptBand(u8);

impl PromptBand {
    /// The band of a prompt, cached tokens included.
    pub fn of(tokens: u64) -> Self {
        Self(u8::try_from((0..LIMITS).take_while(|number| limit(*number) < tokens).count()).unwrap_or(u8::MAX))
    }

    /// Whether its prompts are longer than so many tokens; `None` where some may be and others not.
    fn is_above(self, tokens: u64) -> Option<bool> {
        let at = usize::from(self.0);
        let below = at.checked_sub(1).map_or(0, limit);
        let most = if at < LIMITS { limit(at) } else { u64::MAX };
        if tokens <= below { Some(true) } else { (tokens >= most).then_some(false) }
    }
}

/// Under which contract the vendor served a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServiceTier {
    /// As anyone is served.
    #[default]
    Standard,
    /// When there is room.
    Batch,
    /// Before others.
    Priority,
    /// Some other way, whose price nobody here knows.
    Other,
}

/// What a store says of the bill of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bill {
    /// Nothing: it costs its tokens at their price.
    #[default]
    Unstated,
    /// 0: on a plan, or not known. Nothing else tells what it cost.
    Nothing,
    /// An amount.
    Stated,
}

impl Bill {
    /// What an amount says, where one is stated.
    pub fn of(amount: Option<f64>) -> Self {
        match amount {
            None => Self::Unstated,
            Some(amount) if Usd::billed(amount).is_some() => Self::Stated,
            Some(_) => Self::Nothing,
        }
    }
}

/// What the price of a call depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charge {
    /// Kinds of tokens used, bits of [`used`]: what a price must know.
    pub kinds: u8,
    /// How long the prompt was.
    pub prompt: PromptBand,
    /// Under which contract it was served.
    pub tier: ServiceTier,
    /// What is said of its bill.
    pub bill: Bill,
}

impl Charge {
    /// The charge of a call with so many tokens: uncached input, cache read, written for five minutes, for one hour and for an
    /// unknown time, output.
    pub fn of(tokens: [u64; 6]) -> Self {
        let [input, read, short, long, unknown, output] = tokens;
        let kinds = [
            (input, used::INPUT),
            (read, used::CACHE_READ),
            (short, used::WRITE_5M),
            (long, used::WRITE_1H),
            (unknown, used::WRITE_UNKNOWN),
            (output, used::OUTPUT),
        ];
        let kinds = kinds.iter().filter(|(tokens, _)| *tokens > 0).fold(0, |kinds, (_, kind)| kinds | kind);
        let prompt = [read, short, long, unknown].into_iter().fold(input, u64::saturating_add);
        Self { kinds, prompt: PromptBand::of(prompt), ..Self::default() }
    }

    /// The way of calling that a list must have a price for; the error is one that none has.
    pub fn mode(&self, is_fast: bool) -> Result<Option<&'static str>, &'static str> {
        match (is_fast, self.tier) {
            (false, ServiceTier::Standard) => Ok(None),
            (true, ServiceTier::Standard) => Ok(Some("fast")),
            (false, ServiceTier::Batch) => Ok(Some("batch")),
            (false, ServiceTier::Priority) => Ok(Some("priority")),
            (true, _) | (_, ServiceTier::Other) => Err("another service tier"),
        }
    }
}

/// The prices of calls of one way of calling and prompt band between two instants of a day; `None` where they differ among those
/// calls. Of the bands that hold the last wins. Another way of calling has no price but its own.
pub fn prices_of(
    (base, bands): (Prices, &[PriceBand]),
    mode: Option<&str>,
    prompt: PromptBand,
    span: (DateTime<Utc>, DateTime<Utc>),
) -> Option<Prices> {
    let mut held = vec![if mode.is_none() { base } else { Prices::default() }];
    for band in bands.iter().filter(|band| band.when.mode.as_deref() == mode) {
        let when = &band.when;
        let holds = [
            when.above_tokens.map_or(Some(true), |tokens| prompt.is_above(tokens)),
            Some(when.from.is_none_or(|from| from <= span.0.date_naive())),
            when.hours.as_ref().map_or(Some(true), |hours| is_within(hours, span)),
        ];
        if holds.contains(&Some(false)) {
            continue;
        }
        let here: Vec<Prices> = held.iter().map(|held| band.prices.or(*held)).collect();
        held = if holds.contains(&None) { [held, here].concat() } else { here };
        held.dedup();
    }
    let first = held[0];
    held.iter().all(|prices| *prices == first).then_some(first)
}

/// Whether all instants of a span lie in some hours; `None` where some do.
fn is_within(hours: &Hours, (first, last): (DateTime<Utc>, DateTime<Utc>)) -> Option<bool> {
    let midnight = first.date_naive().and_time(NaiveTime::MIN).and_utc();
    let edges = [hours.start, hours.end, 24 * 60].map(|minute| midnight + Duration::minutes(minute.into()));
    let is_cut = edges.iter().any(|edge| first < *edge && *edge <= last);
    (!is_cut).then(|| hours.contains(first))
}

impl Prices {
    /// What tokens cost: uncached input, cache read, written for five minutes and for one hour, output. `None` where a kind that
    /// was used has no rate.
    pub fn cost(&self, tokens: [u64; 5]) -> Option<Usd> {
        let write = |times: Decimal| self.input.and_then(|input| input.checked_mul(times));
        let rates = [self.input, self.cache_read, write(WRITES[0]), write(WRITES[1]), self.output];
        let cost = tokens
            .into_iter()
            .zip(rates)
            .filter(|(tokens, _)| *tokens > 0)
            .try_fold(Decimal::ZERO, |sum: Decimal, (tokens, rate)| sum.checked_add(rate?.checked_mul(tokens.into())?));
        Usd::of_units(&cost?.checked_mul(MILLIONTHS)?.round().to_u128()?.to_string())
    }

    /// The first kind of tokens that was used and has no rate.
    pub fn lacks(&self, kinds: u8) -> Option<&'static str> {
        let rates = [
            (used::INPUT | used::WRITE_5M | used::WRITE_1H, self.input, "input"),
            (used::CACHE_READ, self.cache_read, "cache reads"),
            (used::OUTPUT, self.output, "output"),
        ];
        rates.into_iter().find(|(kind, rate, _)| kinds & kind != 0 && rate.is_none()).map(|(.., name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::PriceWhen;

    /// A price of input and output.
    fn price(input: i64, output: i64) -> Prices {
        Prices { input: Some(input.into()), output: Some(output.into()), ..Prices::default() }
    }

    /// An instant of 20 November 2026.
    fn at(clock: &str) -> DateTime<Utc> {
        format!("2026-11-20T{clock}:00Z").parse().expect("a time")
    }

    #[test]
    fn a_prompt_is_above_a_size_that_a_list_states_only_when_every_prompt_of_its_band_is() {
        let is_above = |tokens: u64, limit: u64| PromptBand::of(tokens).is_above(limit);
        assert_eq!(is_above(200_000, 200_000), Some(false), "above, not at");
        assert_eq!((is_above(200_001, 200_000), is_above(200_001, 200_001)), (Some(true), Some(false)));
        assert_eq!((is_above(199_999, 199_999), is_above(200_000, 199_999)), (Some(false), Some(true)));
        assert_eq!((is_above(0, 32_000), is_above(5_000_000, 1_000_000)), (Some(false), Some(true)));
        assert_eq!(is_above(160_000, 150_000), None, "150,000 lies inside the band of 131,074 to 199,999");
        assert_eq!(is_above(140_000, 150_000), None, "and the sum of a band no longer knows its calls");
        assert_eq!(is_above(u64::MAX, 2_000_000), None);
    }

    #[test]
    fn a_price_that_differs_among_the_calls_is_none() {
        let band = |when: PriceWhen, prices: Prices| PriceBand { when, prices };
        let hours = Hours { start: 60, end: 120, days: Vec::new() };
        let bands = [
            band(PriceWhen { hours: Some(hours), ..PriceWhen::default() }, price(20, 40)),
            band(PriceWhen { above_tokens: Some(150_000), ..PriceWhen::default() }, price(30, 60)),
            band(PriceWhen { mode: Some("fast".to_owned()), ..PriceWhen::default() }, price(90, 90)),
        ];
        let of = |mode, prompt: u64, first, last| {
            prices_of((price(10, 20), &bands), mode, PromptBand::of(prompt), (at(first), at(last)))
        };
        assert_eq!(of(None, 1_000, "00:00", "00:59"), Some(price(10, 20)));
        assert_eq!(of(None, 1_000, "01:00", "01:59"), Some(price(20, 40)));
        assert_eq!(of(None, 1_000, "00:30", "01:30"), None, "some calls were in the dear hour");
        assert_eq!(of(None, 1_000, "01:30", "02:00"), None);
        assert_eq!(of(None, 300_000, "00:30", "01:30"), Some(price(30, 60)), "the last band holds whatever the hour");
        assert_eq!(of(None, 160_000, "00:00", "00:30"), None, "150,000 is inside the band");
        assert_eq!(of(Some("fast"), 1_000, "00:00", "23:59"), Some(price(90, 90)));
        assert_eq!(of(Some("batch"), 1_000, "00:00", "00:30"), Some(Prices::default()), "no such price is stated");
    }

    #[test]
    fn tokens_cost_their_decimals_and_add_up_however_they_are_cut() {
        let prices = Prices { cache_read: Some(Decimal::new(3, 1)), ..price(3, 15) };
        // 1000 × 3 + 10 × 0.3 + 100 × 3.75 + 100 × 6 + 10 × 15 = 3000 + 3 + 375 + 600 + 150 = 4128 millionths.
        assert_eq!(prices.cost([1000, 10, 100, 100, 10]).map(Usd::to_f64), Some(0.004_128));
        assert_eq!(price(3, 15).cost([1000, 10, 0, 0, 10]), None, "cache reads have no rate");
        assert_eq!(price(3, 15).lacks(used::INPUT | used::CACHE_READ), Some("cache reads"));
        assert_eq!(price(3, 15).lacks(used::INPUT | used::WRITE_1H | used::OUTPUT), None);
        let odd = Prices { input: Some(Decimal::new(1_234_567, 6)), ..Prices::default() };
        let mut parts = Usd::default();
        for tokens in [1, 2, 4] {
            parts.add(odd.cost([tokens, 0, 0, 0, 0]).expect("a cost"));
        }
        assert_eq!(odd.cost([7, 0, 0, 0, 0]), Some(parts));
    }
}

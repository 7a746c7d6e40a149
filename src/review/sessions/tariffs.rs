//! What calls of session stores cost by list: the dated list for the days it knows, else the offer as the catalogue states it now.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::evidence::calls::Pools;
use crate::review::gather::Gathered;
use crate::vocabulary::{Bill, CallRow, ModelId, PriceBand, Prices, ProviderId, prices_of, used};

/// What one list says of one offer.
#[derive(Debug, Clone, PartialEq)]
struct Tariff {
    /// Model id as the list writes it.
    id: String,
    /// Prices without a condition.
    prices: Prices,
    /// Prices with one.
    bands: Vec<PriceBand>,
}

/// Tariffs by provider and canonical model; `None` for ids that nobody knows, which mean themselves.
type List = BTreeMap<(String, Option<ModelId>), Vec<Tariff>>;

/// The lists, in the order in which they are asked.
#[derive(Debug, Default)]
pub struct Tariffs([List; 3]);

/// Why calls have no price.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unpriced {
    /// The store says what they cost, or that nobody knows.
    Billed,
    /// How long what they wrote to cache lives is not known.
    WriteUnknown,
    /// No list has a price of them; of what of them, where it has one of the rest.
    NoPrice(Option<String>),
}

impl Tariffs {
    /// The lists of a run.
    pub fn of(gathered: &Gathered) -> Self {
        let identity = &gathered.identity;
        let mut lists: [List; 3] = Default::default();
        let mut add = |list: usize, provider: &ProviderId, tariff: Tariff| {
            let model = identity.offer(provider, &tariff.id).model().cloned();
            lists[list].entry((provider.to_string(), model)).or_default().push(tariff);
        };
        for row in &gathered.prices {
            let is_dated = row.bands.iter().any(|band| band.when.from.is_some());
            let tariff = Tariff { id: row.model.clone(), prices: row.prices, bands: row.bands.clone() };
            add(if is_dated { 0 } else { 2 }, &row.provider, tariff);
        }
        for offer in &gathered.offers {
            let tariff = Tariff { id: offer.id.clone(), prices: offer.prices, bands: offer.bands.clone() };
            add(1, &offer.provider, tariff);
        }
        Self(lists)
    }

    /// The prices of the calls of a row: of the first list that has one for every kind of token they used. Calls without a time
    /// are of the day of the run.
    pub(super) fn price(&self, pools: &Pools<'_>, row: &CallRow, now: DateTime<Utc>) -> Result<Prices, Unpriced> {
        let (key, charge) = (&row.key, row.key.charge);
        if charge.bill != Bill::Unstated {
            return Err(Unpriced::Billed);
        }
        if charge.kinds & used::WRITE_UNKNOWN != 0 {
            return Err(Unpriced::WriteUnknown);
        }
        let place = (key.provider.clone(), pools.model(&key.provider, &key.model));
        let of = |part: &str| Unpriced::NoPrice(Some(part.to_owned()));
        let mode = charge.mode(key.is_fast).map_err(of)?;
        let mut why = Unpriced::NoPrice(None);
        for tariff in self.0.iter().filter_map(|list| meant(list.get(&place)?, &key.model, place.1.is_some())) {
            let span = row.sums.span.unwrap_or((now, now));
            let Some(prices) = prices_of((tariff.prices, &tariff.bands), mode, charge.prompt, span) else {
                return Err(of("its price depends on the hour or on a prompt size that is not counted apart"));
            };
            let is_known = prices.lacks(charge.kinds).is_none() && !is_zero(&prices, &tariff.id);
            if is_known {
                return Ok(prices);
            }
            if why == Unpriced::NoPrice(None) {
                why = Unpriced::NoPrice(lack(tariff, &prices, mode, charge.kinds));
            }
        }
        Err(why)
    }
}

/// What of an offer has no price, where the rest has one.
fn lack(tariff: &Tariff, prices: &Prices, mode: Option<&str>, kinds: u8) -> Option<String> {
    let is_listed = !tariff.prices.is_unknown() && !is_zero(&tariff.prices, &tariff.id);
    match mode {
        Some(mode) if prices.is_unknown() => is_listed.then(|| format!("{mode} mode")),
        Some(mode) => prices.lacks(kinds).map(|kind| format!("{kind} of {mode} mode")),
        None => prices.lacks(kinds).filter(|_| is_listed).map(str::to_owned),
    }
}

/// Whether prices are a row of zeros on what is no free offer.
fn is_zero(prices: &Prices, id: &str) -> bool {
    prices.is_free() && !id.ends_with(":free")
}

/// The tariff that a written id means: the one with this very id; of those of one model else the only one, else the one with the
/// longest id that the written one contains. Others are variants of the offer, with prices of their own.
fn meant<'a>(tariffs: &'a [Tariff], written: &str, are_one_model: bool) -> Option<&'a Tariff> {
    let exact = tariffs.iter().find(|tariff| tariff.id == written);
    if exact.is_some() || !are_one_model {
        return exact;
    }
    let first = tariffs.first()?;
    let is_same = |tariff: &Tariff| (tariff.prices, &tariff.bands) == (first.prices, &first.bands);
    let only = tariffs.iter().all(is_same).then_some(first);
    let written = written.to_lowercase();
    let contained = tariffs.iter().filter(|tariff| written.contains(&tariff.id.to_lowercase()));
    only.or_else(|| contained.max_by_key(|tariff| tariff.id.len()))
}

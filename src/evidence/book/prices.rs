//! One list price out of several opinions: who may speak, when they agree, and what is said when they do not.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, NaiveDate, Utc};
use rust_decimal::Decimal;

use crate::identity::is_vendor_of;
use crate::vocabulary::{ModelId, PriceRow, Prices, ProviderId, RememberedPrice, SourceId, next_change, prices_at};

/// Two prices within 5 % of the larger are the same price (DESIGN §14).
pub(super) const TOLERANCE: Decimal = Decimal::from_parts(5, 0, 0, false, 2);

/// Days after an announced change in which another source may still state the old price without a dispute.
const LATE_DAYS: i64 = 14;

/// The list price of a model, with the opinions behind it.
#[derive(Debug, Clone, PartialEq)]
pub enum ListPrice {
    /// The sources that speak agree.
    Agreed(Prices, Vec<SourceId>),
    /// They do not: the bill is unknown, and all are shown.
    Disputed(Vec<(SourceId, Prices)>),
}

/// A change of the list price that is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceChange {
    /// First day of the new prices.
    pub day: NaiveDate,
    /// Prices now.
    pub before: Prices,
    /// Prices from that day on.
    pub after: Prices,
}

/// What else is known of a list price.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceFacts {
    /// The next change that is announced.
    pub change: Option<PriceChange>,
    /// The lower prices of other hours, when the price depends on the hour: what is used is the highest, an upper bound.
    pub other_hours: Vec<Prices>,
    /// What one source alone says now, while the price of the run before is still used.
    pub jump: Option<(SourceId, Prices)>,
}

/// What one source says of a model's list price.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Opinion {
    /// The prices: where they depend on the hour, the highest.
    prices: Prices,
    /// The other prices of today, by hour.
    hours: Vec<Prices>,
    /// What was charged until a change within the last days.
    late: Option<Prices>,
    /// What is announced.
    change: Option<(NaiveDate, Prices)>,
}

/// What all sources say.
#[derive(Debug, Default)]
pub(super) struct Opinions {
    /// Model → source → undated prices.
    plain: BTreeMap<ModelId, BTreeMap<SourceId, Prices>>,
    /// Model → row of the dated list.
    dated: BTreeMap<ModelId, PriceRow>,
}

/// Everything said of one model.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfModel<'a> {
    /// Undated prices by source.
    plain: Option<&'a BTreeMap<SourceId, Prices>>,
    /// The dated row.
    dated: Option<&'a PriceRow>,
}

/// A settled price.
pub(super) struct Settled {
    /// The price, or the dispute.
    pub(super) price: ListPrice,
    /// What else is known.
    pub(super) facts: PriceFacts,
    /// What the next run must know; nothing of a dispute.
    pub(super) remembered: Option<RememberedPrice>,
}

impl Opinions {
    /// Adds what a source says of a vendor's own offer; of several rows of one source the first that states both prices stays.
    pub(super) fn add(&mut self, provider: &ProviderId, model: &ModelId, source: SourceId, prices: Prices) {
        if is_vendor_of(provider, model) && prices.input.is_some() && prices.output.is_some() {
            self.plain.entry(model.clone()).or_default().entry(source).or_insert(prices);
        }
    }

    /// Adds the market's view. It may state one model's price at several efforts: of those that differ the dearest counts, so
    /// that a fault in one of them is seen, whatever the order of the rows.
    pub(super) fn add_market(&mut self, model: &ModelId, prices: Prices) {
        if prices.input.is_some() && prices.output.is_some() {
            let known = self.plain.entry(model.clone()).or_default().entry(SourceId::Market).or_insert(prices);
            if (prices.input, prices.output) > (known.input, known.output) {
                *known = prices;
            }
        }
    }

    /// Adds a row of the dated list.
    pub(super) fn add_dated(&mut self, provider: &ProviderId, model: &ModelId, row: &PriceRow) {
        if is_vendor_of(provider, model) {
            self.dated.entry(model.clone()).or_insert_with(|| row.clone());
        }
    }

    /// Everything said, by model.
    pub(super) fn by_model(&self) -> impl Iterator<Item = (&ModelId, OfModel<'_>)> {
        let models: std::collections::BTreeSet<&ModelId> = self.plain.keys().chain(self.dated.keys()).collect();
        models.into_iter().map(|model| (model, OfModel { plain: self.plain.get(model), dated: self.dated.get(model) }))
    }
}

/// One price out of the opinions on a model; `None` when nobody states one.
/// The market's view runs across the hosts of open weights, and is outvoted by two vendor lists; against one list it disputes.
pub(super) fn settle(
    of: OfModel<'_>,
    is_open: bool,
    earlier: Option<&RememberedPrice>,
    at: DateTime<Utc>,
) -> Option<Settled> {
    let mut opinions: Vec<(SourceId, Opinion)> = of
        .plain
        .into_iter()
        .flatten()
        .map(|(source, prices)| (*source, Opinion { prices: *prices, hours: Vec::new(), late: None, change: None }))
        .collect();
    opinions.extend(of.dated.and_then(|row| dated(row, at)).map(|opinion| (SourceId::Prices, opinion)));
    let vendor_lists = opinions.iter().filter(|(source, _)| *source != SourceId::Market).count();
    if vendor_lists > 1 || (vendor_lists == 1 && is_open) {
        opinions.retain(|(source, _)| *source != SourceId::Market);
    }
    let order = |source: &SourceId| {
        [SourceId::Prices, SourceId::Catalogues, SourceId::Retirements].iter().position(|s| s == source).unwrap_or(9)
    };
    opinions.sort_by_key(|(source, _)| order(source));
    let leading = opinions.first()?.1.clone();
    let agrees = |other: &Opinion| {
        let known = std::iter::once(&leading.prices).chain(&leading.hours).chain(&leading.late);
        known.into_iter().any(|known| known.is_close(&other.prices, TOLERANCE))
    };
    if !opinions.iter().all(|(_, opinion)| agrees(opinion)) {
        let shown = opinions.iter().map(|(source, opinion)| (*source, opinion.prices)).collect();
        let price = ListPrice::Disputed(shown);
        return Some(Settled { price, facts: PriceFacts::default(), remembered: None });
    }
    let missing = opinions.iter().fold(leading.prices, |known, (_, opinion)| {
        if leading.hours.is_empty() && leading.late.is_none() { known.or(opinion.prices) } else { known }
    });
    let sources = opinions.iter().map(|(source, _)| *source).collect();
    Some(with_memory(Opinion { prices: missing, ..leading }, sources, earlier))
}

/// What the dated list says at an instant: the highest price of the day's hours, so that no bill is too low half of the day.
fn dated(row: &PriceRow, at: DateTime<Utc>) -> Option<Opinion> {
    let is_known = |prices: &Prices| prices.input.is_some() && prices.output.is_some();
    let starts = row.bands.iter().filter_map(|band| band.when.hours.as_ref());
    let minutes = starts.flat_map(|hours| [hours.start, hours.end]).map(|minute| Duration::minutes(i64::from(minute)));
    let midnight = at.date_naive().and_time(chrono::NaiveTime::MIN).and_utc();
    let instants = minutes.map(|minute| midnight + minute).filter(|instant| instant.date_naive() == at.date_naive());
    let mut of_day: Vec<Prices> =
        std::iter::once(at).chain(instants).map(|instant| prices_at(row.prices, &row.bands, instant)).collect();
    of_day.retain(is_known);
    of_day.sort_by_key(|prices| std::cmp::Reverse((prices.input, prices.output)));
    of_day.dedup();
    let mut of_day = of_day.into_iter();
    let highest = of_day.next()?;
    let days = (at.date_naive() - Duration::days(LATE_DAYS)).and_time(chrono::NaiveTime::MIN).and_utc();
    let late = Some(prices_at(row.prices, &row.bands, days)).filter(is_known).filter(|late| *late != highest);
    let hours: Vec<Prices> = of_day.collect();
    let change = next_change(row.prices, &row.bands, at);
    Some(Opinion { prices: highest, late: late.filter(|_| hours.is_empty()), hours, change })
}

/// Holds a price against the run before: a jump that one source makes alone is not believed until a second run agrees.
fn with_memory(opinion: Opinion, sources: Vec<SourceId>, earlier: Option<&RememberedPrice>) -> Settled {
    let now = opinion.prices;
    let is_announced = |used: &Prices| opinion.late.is_some_and(|late| late.is_close(used, TOLERANCE));
    let jumped = earlier.filter(|earlier| {
        let is_repeated = earlier.pending.is_some_and(|pending| pending.is_close(&now, TOLERANCE));
        sources.len() == 1 && !earlier.used.is_close(&now, TOLERANCE) && !is_repeated && !is_announced(&earlier.used)
    });
    let used = jumped.map_or(now, |earlier| earlier.used);
    let facts = PriceFacts {
        change: opinion.change.map(|(day, after)| PriceChange { day, before: used, after }),
        other_hours: opinion.hours,
        jump: jumped.map(|_| (sources[0], now)),
    };
    let remembered = Some(RememberedPrice { used, pending: jumped.map(|_| now) });
    Settled { price: ListPrice::Agreed(used, sources), facts, remembered }
}

/// Opinions side by side, input and output in USD per million tokens, as stated.
pub(super) fn show(opinions: &[(SourceId, Prices)]) -> String {
    let shown = opinions.iter().map(|(source, prices)| {
        let hint = if prices.input.is_some() && opinions.iter().any(|(_, other)| other.cache_write == prices.input) {
            " (equals a cache-write price)"
        } else {
            ""
        };
        format!("{source} {prices}{hint}")
    });
    shown.collect::<Vec<_>>().join(" against ")
}

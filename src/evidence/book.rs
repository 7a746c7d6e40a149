//! What the world says of models, joined once per run: market rows by model and effort, list prices with their second
//! opinion, release and end dates, and who offers what.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::standing::{Bill, TaskShape, bill};
use crate::identity::{Identity, Resolution};
use crate::vocabulary::{
    CatalogueOffer, Effort, MarketModel, ModelId, Prices, ProviderId, RetirementRow, SourceId, TargetRef,
};

/// Providers that are the vendor of the models they list: the list price of a model is its vendor's own (DESIGN §14).
const VENDORS: [&str; 14] = [
    "alibaba",
    "anthropic",
    "cohere",
    "deepseek",
    "google",
    "meta",
    "minimax",
    "mistral",
    "moonshotai",
    "openai",
    "stepfun",
    "xai",
    "xiaomi",
    "zai",
];

/// Two prices this close are the same price (DESIGN §14).
const PRICE_TOLERANCE: f64 = 0.05;

/// The list price of a model, with the opinions behind it.
#[derive(Debug, Clone, PartialEq)]
pub enum ListPrice {
    /// The sources that speak agree.
    Agreed(Prices, Vec<SourceId>),
    /// They do not: the bill is unknown, and both are shown.
    Disputed(Vec<(SourceId, Prices)>),
}

/// When an offer of a model ends.
#[derive(Debug, Clone, PartialEq)]
pub struct EndDate {
    /// The day it ends.
    pub date: NaiveDate,
    /// Where the date is stated, if the source says so; without it the date only warns.
    pub stated_by: Option<String>,
    /// The successor as the source names it.
    pub successor: Option<String>,
    /// The successor as a canonical model, if its name could be matched.
    pub successor_model: Option<ModelId>,
}

/// One offer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Provider.
    pub provider: ProviderId,
    /// Id under it.
    pub id: String,
    /// Efforts it takes.
    pub efforts: Vec<String>,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether its weights are published.
    pub open_weights: bool,
    /// Context window in tokens.
    pub context: Option<u64>,
}

/// The market row a member key is judged by.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    /// The row.
    pub row: &'a MarketModel,
    /// Whether another effort's row stands in (an unset effort takes the highest one's).
    pub is_imputed: bool,
}

/// The joined market.
#[derive(Debug, Default)]
pub struct Book {
    /// Model → effort → row.
    rows: BTreeMap<ModelId, BTreeMap<Effort, MarketModel>>,
    /// Model → list price.
    prices: BTreeMap<ModelId, ListPrice>,
    /// Model → release date.
    released: BTreeMap<ModelId, NaiveDate>,
    /// Model → offers, sorted by provider and id.
    offers: BTreeMap<ModelId, Vec<Offer>>,
    /// Provider and id → end date.
    ends: BTreeMap<(ProviderId, String), EndDate>,
    /// Source, id, suggestion: what could not be matched.
    unmatched: Vec<(SourceId, String, Option<String>)>,
}

impl Book {
    /// Joins market rows, offers and retirements under canonical models.
    pub fn build(
        identity: &Identity,
        market: &[MarketModel],
        offers: &[CatalogueOffer],
        retirements: &[RetirementRow],
    ) -> Self {
        let mut book = Self::default();
        let mut opinions: BTreeMap<ModelId, BTreeMap<SourceId, Prices>> = BTreeMap::new();
        for offer in offers {
            book.add_offer(identity, offer, &mut opinions);
        }
        for row in market {
            book.add_market(identity, row, &mut opinions);
        }
        for row in retirements {
            book.add_retirement(identity, row, &mut opinions);
        }
        book.prices = opinions.into_iter().filter_map(|(model, opinions)| Some((model, agree(&opinions)?))).collect();
        book.offers
            .values_mut()
            .for_each(|offers| offers.sort_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id))));
        book.unmatched.sort();
        book.unmatched.dedup();
        book
    }

    /// Adds an offer of a provider.
    fn add_offer(&mut self, identity: &Identity, offer: &CatalogueOffer, opinions: &mut Opinions) {
        let Resolution::Model { model, .. } = identity.offer(&offer.provider, &offer.id) else { return };
        if is_vendor(&offer.provider) && !offer.id.contains('/') {
            opinion(opinions, &model, SourceId::Catalogues, offer.prices);
        }
        if let Some(day) = offer.released {
            let known = self.released.entry(model.clone()).or_insert(day);
            *known = day.min(*known);
        }
        self.offers.entry(model).or_default().push(Offer {
            provider: offer.provider.clone(),
            id: offer.id.clone(),
            efforts: offer.efforts.clone(),
            tools: offer.tools,
            open_weights: offer.open_weights,
            context: offer.context,
        });
    }

    /// Adds a market row. Of two rows for one model and effort the one with more indices counts, then the smaller id.
    fn add_market(&mut self, identity: &Identity, row: &MarketModel, opinions: &mut Opinions) {
        let (model, effort) = match identity.market(row) {
            Resolution::Model { model, effort, .. } => (model, effort),
            Resolution::Unmatched { suggestion } => {
                self.unmatched.push((SourceId::Market, row.name.clone(), suggestion));
                return;
            }
        };
        opinion(opinions, &model, SourceId::Market, row.prices);
        if let Some(day) = row.released {
            self.released.insert(model.clone(), day);
        }
        let effort = effort.or_else(|| row.effort.clone()).unwrap_or_else(Effort::default_effort);
        let rows = self.rows.entry(model).or_default();
        let rank = |row: &MarketModel| (std::cmp::Reverse(row.indices.len()), row.id.clone());
        if rows.get(&effort).is_none_or(|known| rank(row) < rank(known)) {
            rows.insert(effort, row.clone());
        }
    }

    /// Adds an end date, a successor or a price opinion.
    fn add_retirement(&mut self, identity: &Identity, row: &RetirementRow, opinions: &mut Opinions) {
        if let Resolution::Model { model, .. } = identity.retirement(row)
            && is_vendor(&row.provider)
        {
            opinion(opinions, &model, SourceId::Retirements, row.prices);
        }
        let Some(date) = row.ends else { return };
        let end = EndDate {
            date,
            stated_by: row.stated_by.clone(),
            successor: row.successor.clone(),
            successor_model: identity.successor(row).and_then(|successor| successor.model().cloned()),
        };
        self.ends.insert((row.provider.clone(), row.model.clone()), end);
    }

    /// The row of a model at an effort. An unset effort takes the default's row, else the highest effort's, marked.
    pub fn row(&self, model: &ModelId, effort: &Effort) -> Option<RowView<'_>> {
        let rows = self.rows.get(model)?;
        if let Some(row) = rows.get(effort) {
            return Some(RowView { row, is_imputed: false });
        }
        if !effort.is_default() {
            return None;
        }
        rows.iter()
            .max_by_key(|(effort, _)| effort.height())
            .map(|(_, row)| RowView { row, is_imputed: rows.len() > 1 })
    }

    /// Every model and effort the market knows, sorted.
    pub fn rows(&self) -> impl Iterator<Item = (&ModelId, &Effort, &MarketModel)> {
        self.rows.iter().flat_map(|(model, rows)| rows.iter().map(move |(effort, row)| (model, effort, row)))
    }

    /// Every model anybody speaks of, sorted.
    pub fn models(&self) -> std::collections::BTreeSet<&ModelId> {
        self.rows.keys().chain(self.offers.keys()).collect()
    }

    /// The bill of a model for a task of some shape, or why it is unknown.
    pub fn bill(&self, model: &ModelId, shape: TaskShape) -> Result<Bill, String> {
        match self.prices.get(model) {
            None => Err("no list price in any source".to_owned()),
            Some(ListPrice::Disputed(opinions)) => Err(format!("price disputed: {}", show_opinions(opinions))),
            Some(ListPrice::Agreed(prices, _)) => bill(prices.input, prices.output, prices.cache_read, shape)
                .ok_or_else(|| "the list price lacks input or output".to_owned()),
        }
    }

    /// The list price of a model.
    pub fn price(&self, model: &ModelId) -> Option<&ListPrice> {
        self.prices.get(model)
    }

    /// The release date of a model: the market's own, else the earliest a catalogue states.
    pub fn released(&self, model: &ModelId) -> Option<NaiveDate> {
        self.released.get(model).copied()
    }

    /// The offers of a model, sorted by provider and id.
    pub fn offers(&self, model: &ModelId) -> &[Offer] {
        self.offers.get(model).map_or(&[], Vec::as_slice)
    }

    /// The end date of the very offer a target calls; the date of one offer says nothing of another.
    pub fn end_of(&self, target: &TargetRef) -> Option<&EndDate> {
        self.ends.get(&(target.provider.clone(), target.model.clone()))
    }

    /// What could not be matched: source, id, suggestion.
    pub fn unmatched(&self) -> &[(SourceId, String, Option<String>)] {
        &self.unmatched
    }
}

/// Model → source → prices.
type Opinions = BTreeMap<ModelId, BTreeMap<SourceId, Prices>>;

/// Whether a provider is the vendor of the models it lists.
fn is_vendor(provider: &ProviderId) -> bool {
    VENDORS.contains(&provider.as_str())
}

/// Records one source's opinion; of several rows of one source the first that states both prices stays.
fn opinion(opinions: &mut Opinions, model: &ModelId, source: SourceId, prices: Prices) {
    if prices.input.is_some() && prices.output.is_some() {
        opinions.entry(model.clone()).or_default().entry(source).or_insert(prices);
    }
}

/// One price out of the vendor's own lists, which must agree. The market's view runs across hosts: it speaks only when no
/// vendor list does.
fn agree(opinions: &BTreeMap<SourceId, Prices>) -> Option<ListPrice> {
    let vendor: Vec<(SourceId, Prices)> =
        opinions.iter().filter(|(source, _)| **source != SourceId::Market).map(|(s, p)| (*s, *p)).collect();
    let speaking = if vendor.is_empty() { opinions.iter().map(|(s, p)| (*s, *p)).collect() } else { vendor };
    let (_, first) = *speaking.first()?;
    if speaking.iter().all(|(_, other)| is_close(first.input, other.input) && is_close(first.output, other.output)) {
        return Some(ListPrice::Agreed(first, speaking.iter().map(|(source, _)| *source).collect()));
    }
    Some(ListPrice::Disputed(speaking))
}

/// Whether two prices are the same within the tolerance.
fn is_close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= PRICE_TOLERANCE * a.abs().max(b.abs()),
        _ => false,
    }
}

/// Opinions side by side, input and output in USD per million tokens.
fn show_opinions(opinions: &[(SourceId, Prices)]) -> String {
    let shown = opinions.iter().map(|(source, prices)| {
        format!("{source} {:.3}/{:.3}", prices.input.unwrap_or(f64::NAN), prices.output.unwrap_or(f64::NAN))
    });
    shown.collect::<Vec<_>>().join(" against ")
}

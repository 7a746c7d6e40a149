//! What the world says of models, joined once per run: market rows by model and effort, list prices with their second
//! opinion, release and end dates, and who offers what.

mod prices;
mod repeats;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::prelude::ToPrimitive as _;

use super::standing::{Bill, TaskShape, bill};
use crate::identity::{Identity, Resolution, is_vendor_of};
use crate::vocabulary::{
    CatalogueOffer, Effort, ListedEnd, MarketModel, ModelId, PriceRow, Prices, ProviderId, RememberedPrice,
    RetirementRow, SourceId, TargetRef,
};
use prices::Opinions;
pub use prices::{ListPrice, PriceChange, PriceFacts};

/// What the sources state, before it is joined.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statements<'a> {
    /// Market rows.
    pub market: &'a [MarketModel],
    /// Offers, each provider's own list already applied.
    pub offers: &'a [CatalogueOffer],
    /// Providers whose own list was applied to them.
    pub own_lists: &'a [ProviderId],
    /// Rows of the price map.
    pub retirements: &'a [RetirementRow],
    /// Rows of the dated price list.
    pub prices: &'a [PriceRow],
    /// Rows of the retirement list.
    pub listed_ends: &'a [ListedEnd],
    /// Prices as an earlier run used them, by model.
    pub earlier_prices: Option<&'a BTreeMap<String, RememberedPrice>>,
    /// The review instant, for dated prices.
    pub at: Option<DateTime<Utc>>,
}

/// When an offer of a model ends.
#[derive(Debug, Clone, PartialEq)]
pub struct EndDate {
    /// The day it ends: of two that disagree the earlier one.
    pub date: NaiveDate,
    /// Where the date is stated, if the source says so; without it the date only warns.
    pub stated_by: Option<String>,
    /// Who else states a date for this offer: another day is a conflict, the same day confirms.
    pub second: Option<(SourceId, NaiveDate)>,
    /// The successor as the source names it.
    pub successor: Option<String>,
    /// The successor as a canonical model, if its name could be matched.
    pub successor_model: Option<ModelId>,
}

impl EndDate {
    /// Whether two lists name different days.
    pub fn is_disputed(&self) -> bool {
        self.second.is_some_and(|(_, day)| day != self.date)
    }

    /// Whether the date carries a change: a page or a second list states it, and no list contradicts.
    pub fn is_firm(&self) -> bool {
        !self.is_disputed() && (self.stated_by.is_some() || self.second.is_some())
    }
}

/// One offer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What the catalogue says of its state; a hint, never an end.
    pub status: Option<String>,
    /// What this very offer costs, where it is not the list price that counts.
    pub prices: Prices,
    /// Why a price that is written was not taken.
    pub price_note: Option<&'static str>,
    /// The effort of a call that sets none.
    pub default_effort: Option<String>,
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

impl Offer {
    /// What is kept of an offer.
    fn of(offer: &CatalogueOffer) -> Self {
        Self {
            status: offer.status.clone(),
            prices: offer.prices,
            price_note: offer.price_note,
            default_effort: offer.default_effort.clone(),
            provider: offer.provider.clone(),
            id: offer.id.clone(),
            efforts: offer.efforts.clone(),
            tools: offer.tools,
            open_weights: offer.open_weights,
            context: offer.context,
        }
    }
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
    /// Model → what else is known of its price.
    price_facts: BTreeMap<ModelId, PriceFacts>,
    /// What the next run must know of prices.
    remembered: BTreeMap<String, RememberedPrice>,
    /// Copies of an offer's price that differ from the provider's own.
    deviations: Vec<String>,
    /// Model → release date.
    released: BTreeMap<ModelId, NaiveDate>,
    /// Model → offers, sorted by provider and id.
    offers: BTreeMap<ModelId, Vec<Offer>>,
    /// Offers whose name matches no model and whose price is none: routers.
    nameless: BTreeMap<(ProviderId, String), Offer>,
    /// Provider and lower-case id → end date of offers that nobody lists any more.
    listed_ends: BTreeMap<(ProviderId, String), EndDate>,
    /// Provider and id → end date.
    ends: BTreeMap<(ProviderId, String), EndDate>,
    /// Providers whose own list was read and believed.
    own_lists: BTreeSet<ProviderId>,
    /// Every model anybody speaks of.
    models: BTreeSet<ModelId>,
    /// Source, id, suggestion: what could not be matched.
    unmatched: Vec<(SourceId, String, Option<String>)>,
    /// Model → the market's indices as `OpenRouter` repeats them, without version or effort.
    repeats: BTreeMap<ModelId, BTreeMap<String, f64>>,
}

impl Book {
    /// Joins what the sources state under canonical models.
    pub fn build(identity: &Identity, stated: &Statements<'_>) -> Self {
        let mut book = Self { own_lists: stated.own_lists.iter().cloned().collect(), ..Self::default() };
        let mut opinions = Opinions::default();
        for offer in stated.offers {
            book.add_offer(identity, offer, &mut opinions);
        }
        for row in stated.market {
            book.add_market(identity, row, &mut opinions);
        }
        for row in stated.retirements {
            book.add_retirement(identity, row, &mut opinions);
        }
        for row in stated.prices.iter().filter(|row| !row.is_deprecated) {
            if let Resolution::Model { model, .. } = identity.offer(&row.provider, &row.model) {
                opinions.add_dated(&row.provider, &model, row);
            }
        }
        book.add_listed_ends(identity, stated.listed_ends);
        book.settle_prices(&opinions, stated);
        book.offers
            .values_mut()
            .for_each(|offers| offers.sort_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id))));
        book.models = book.rows.keys().chain(book.offers.keys()).cloned().collect();
        book.unmatched.sort();
        book.unmatched.dedup();
        book
    }

    /// Settles one list price per model.
    fn settle_prices(&mut self, opinions: &Opinions, stated: &Statements<'_>) {
        let at = stated.at.unwrap_or_default();
        for (model, opinions) in opinions.by_model() {
            let is_open = self.is_open(model);
            let Some(settled) = prices::settle(
                opinions,
                is_open,
                stated.earlier_prices.and_then(|known| known.get(model.as_str())),
                at,
            ) else {
                continue;
            };
            self.prices.insert(model.clone(), settled.price);
            if settled.facts != PriceFacts::default() {
                self.price_facts.insert(model.clone(), settled.facts);
            }
            if let Some(remembered) = settled.remembered {
                self.remembered.insert(model.to_string(), remembered);
            }
        }
    }

    /// Whether a model's weights are published: as its vendor says, else as anybody does (resellers are careless here).
    fn is_open(&self, model: &ModelId) -> bool {
        let offers = self.offers(model);
        let by_vendor = offers.iter().find(|offer| is_vendor_of(&offer.provider, model));
        by_vendor.map_or_else(|| offers.iter().any(|offer| offer.open_weights), |offer| offer.open_weights)
    }

    /// Adds an offer of a provider. One that writes no text is no choice for a pool.
    fn add_offer(&mut self, identity: &Identity, offer: &CatalogueOffer, opinions: &mut Opinions) {
        if let Some(date) = offer.ends {
            let stated_by = Some(format!("the provider {}", offer.provider));
            let end = EndDate { date, stated_by, second: None, successor: None, successor_model: None };
            self.ends.insert((offer.provider.clone(), offer.id.clone()), end);
        }
        let id = offer.stands_for.as_deref().unwrap_or(&offer.id);
        let Resolution::Model { model, .. } = identity.offer(&offer.provider, id) else {
            if offer.price_note.is_some() {
                self.nameless.insert((offer.provider.clone(), offer.id.clone()), Offer::of(offer));
            }
            return;
        };
        if !offer.id.contains('/') {
            opinions.add(&offer.provider, &model, SourceId::Catalogues, offer.prices);
        }
        if let Some(day) = offer.released {
            let known = self.released.entry(model.clone()).or_insert(day);
            *known = day.min(*known);
        }
        if !offer.indices.is_empty() && offer.stands_for.is_none() {
            self.repeats.entry(model.clone()).or_insert_with(|| offer.indices.clone());
        }
        if !offer.writes_text {
            return;
        }
        self.offers.entry(model).or_default().push(Offer::of(offer));
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
        opinions.add_market(&model, row.prices);
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
        if let Resolution::Model { model, .. } = identity.retirement(row) {
            opinions.add(&row.provider, &model, SourceId::Retirements, row.prices);
            self.note_deviation(&model, row);
        }
        let Some(date) = row.ends else { return };
        let end = EndDate {
            date,
            stated_by: row.stated_by.clone(),
            second: None,
            successor: row.successor.clone(),
            successor_model: identity.successor(row).and_then(|successor| successor.model().cloned()),
        };
        self.ends.insert((row.provider.clone(), row.model.clone()), end);
    }

    /// Notes that the map's copy of an offer's price is not what the provider itself asks.
    fn note_deviation(&mut self, model: &ModelId, row: &RetirementRow) {
        let own = self.offers(model).iter().find(|offer| offer.provider == row.provider && offer.id == row.model);
        let Some(own) = own.filter(|offer| offer.provider.as_str() == "openrouter" && !offer.prices.is_unknown())
        else {
            return;
        };
        if !row.prices.is_unknown() && !own.prices.is_close(&row.prices, prices::TOLERANCE) {
            let text = format!("{}/{}: {} here, {} in a copy", own.provider, own.id, own.prices, row.prices);
            self.deviations.push(text);
        }
    }

    /// Holds the retirement list against the dates that are known: it confirms, contradicts or adds them, offer by offer.
    fn add_listed_ends(&mut self, identity: &Identity, listed: &[ListedEnd]) {
        let mut by_model: BTreeMap<(ProviderId, ModelId), &ListedEnd> = BTreeMap::new();
        let mut by_id: BTreeMap<(ProviderId, String), &ListedEnd> = BTreeMap::new();
        for row in listed.iter().filter(|row| row.ends.is_some()) {
            if let Resolution::Model { model, .. } = identity.offer(&row.provider, &row.model) {
                let slot = by_model.entry((row.provider.clone(), model)).or_insert(row);
                if row.ends < slot.ends {
                    *slot = row;
                }
            }
            by_id.insert((row.provider.clone(), row.model.to_lowercase()), row);
        }
        for ((provider, id), end) in &mut self.ends {
            let by_name = || {
                let model = identity.offer(provider, id).model().cloned()?;
                by_model.get(&(provider.clone(), model))
            };
            let found = by_id.get(&(provider.clone(), id.to_lowercase())).or_else(by_name);
            if let Some((row, day)) = found.and_then(|row| Some((*row, row.ends?))) {
                end.second = Some((SourceId::RetirementList, day.max(end.date)));
                if day < end.date {
                    end.second = Some((SourceId::Retirements, end.date));
                    end.date = day;
                    end.stated_by.clone_from(&row.stated_by);
                }
            }
        }
        for ((provider, id), row) in &by_id {
            self.listed_ends.extend(listed_end(identity, row).map(|end| ((provider.clone(), id.clone()), end)));
        }
        for (model, offers) in &self.offers {
            for offer in offers {
                let place = (offer.provider.clone(), offer.id.clone());
                let row = by_model.get(&(offer.provider.clone(), model.clone()));
                if let Some(end) =
                    row.filter(|_| !self.ends.contains_key(&place)).and_then(|row| listed_end(identity, row))
                {
                    self.ends.insert(place, end);
                }
            }
        }
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
        let stated = self.offers(model).iter().find_map(|offer| offer.default_effort.as_deref());
        if let Some(row) = stated.and_then(|stated| rows.get(&Effort::new(stated.to_lowercase()))) {
            return Some(RowView { row, is_imputed: false });
        }
        rows.iter()
            .max_by_key(|(effort, _)| effort.height())
            .map(|(_, row)| RowView { row, is_imputed: rows.len() > 1 })
    }

    /// The intelligence index of a model at every effort the market rates, lowest effort first: `21.0 (low), 37.3 (max)`.
    pub fn efforts_of(&self, model: &ModelId) -> String {
        let rows = self.rows.get(model).into_iter().flatten();
        let mut rated: Vec<(&Effort, f64)> =
            rows.filter_map(|(effort, row)| Some((effort, *row.indices.get("intelligence")?))).collect();
        rated.sort_by_key(|(effort, _)| (effort.height(), *effort));
        rated.iter().map(|(effort, index)| format!("{index:.1} ({effort})")).collect::<Vec<_>>().join(", ")
    }

    /// Whether a provider's own list was read and believed.
    pub fn lists_itself(&self, provider: &ProviderId) -> bool {
        self.own_lists.contains(provider)
    }

    /// Every model and effort the market knows, sorted.
    pub fn rows(&self) -> impl Iterator<Item = (&ModelId, &Effort, &MarketModel)> {
        self.rows.iter().flat_map(|(model, rows)| rows.iter().map(move |(effort, row)| (model, effort, row)))
    }

    /// Every model anybody speaks of, sorted.
    pub fn models(&self) -> &BTreeSet<ModelId> {
        &self.models
    }

    /// The bill of a model for a task of some shape, or why it is unknown.
    pub fn bill(&self, model: &ModelId, shape: TaskShape) -> Result<Bill, String> {
        match self.prices.get(model) {
            None => Err("no list price in any source".to_owned()),
            Some(ListPrice::Disputed(opinions)) => Err(format!("price disputed: {}", prices::show(opinions))),
            Some(ListPrice::Agreed(prices, _)) => {
                bill_of(*prices, shape).ok_or_else(|| "the list price lacks input or output".to_owned())
            }
        }
    }

    /// The least a model's bill may be while it is unknown: that of the lowest price in dispute, 0 where nobody states a whole one.
    pub fn least_bill(&self, model: &ModelId, shape: TaskShape) -> f64 {
        let disputed = match self.prices.get(model) {
            Some(ListPrice::Disputed(opinions)) => opinions.as_slice(),
            _ => &[],
        };
        let bills = disputed.iter().map(|(_, prices)| bill_of(*prices, shape).map_or(0.0, |bill| bill.usd_per_mtok));
        bills.min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// The list price of a model.
    pub fn price(&self, model: &ModelId) -> Option<&ListPrice> {
        self.prices.get(model)
    }

    /// What else is known of a model's price: an announced change, hours, a jump that one source made alone.
    pub fn price_facts(&self, model: &ModelId) -> Option<&PriceFacts> {
        self.price_facts.get(model)
    }

    /// What the next run must know of prices, by model.
    pub fn remembered_prices(&self) -> &BTreeMap<String, RememberedPrice> {
        &self.remembered
    }

    /// Copies of an offer's price that are not what the provider itself asks.
    pub fn deviations(&self) -> &[String] {
        &self.deviations
    }

    /// The very offer a target calls.
    pub fn offer_of(&self, model: &ModelId, target: &TargetRef) -> Option<&Offer> {
        let is_it = |offer: &&Offer| offer.provider == target.provider && offer.id == target.model;
        let nameless = || self.nameless.get(&(target.provider.clone(), target.model.clone()));
        self.offers(model).iter().find(is_it).or_else(nameless)
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
        let listed = || self.listed_ends.get(&(target.provider.clone(), target.model.to_lowercase()));
        self.ends.get(&(target.provider.clone(), target.model.clone())).or_else(listed)
    }

    /// What could not be matched: source, id, suggestion.
    pub fn unmatched(&self) -> &[(SourceId, String, Option<String>)] {
        &self.unmatched
    }
}

/// The end date of a row of the retirement list; `None` when its day is not known.
fn listed_end(identity: &Identity, row: &ListedEnd) -> Option<EndDate> {
    let successor = row.successors.first().cloned();
    let model_of = |text: &String| identity.offer(&row.provider, text).model().cloned();
    let successor_model = successor.as_ref().filter(|text| !text.contains(char::is_whitespace)).and_then(model_of);
    Some(EndDate { date: row.ends?, stated_by: row.stated_by.clone(), second: None, successor, successor_model })
}

/// The bill of prices for a task of some shape. This is where decimals become numbers to reckon with.
pub fn bill_of(prices: Prices, shape: TaskShape) -> Option<Bill> {
    let number = |usd: Option<rust_decimal::Decimal>| usd.and_then(|usd| usd.to_f64());
    bill(number(prices.input), number(prices.output), number(prices.cache_read), shape)
}

//! What the market says: models, offers, prices and ends.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::{Effort, PriceBand, Prices, ProviderId};

/// One Artificial Analysis row: one model at one effort.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarketModel {
    /// The row's UUID: stable, unlike its slug.
    pub id: String,
    /// The slug; may be re-pointed to another model.
    pub slug: String,
    /// The display name, with the effort in parentheses.
    pub name: String,
    /// The effort the name states, in lower case.
    pub effort: Option<Effort>,
    /// Release date, if the row states one.
    pub released: Option<NaiveDate>,
    /// Intelligence, coding and agentic index in points of one index version.
    pub indices: BTreeMap<String, f64>,
    /// List price as this source sees it across hosts.
    pub prices: Prices,
    /// Median output speed, tokens per second.
    pub output_tps: Option<f64>,
    /// Median time to the first answer token, thinking included, seconds.
    pub first_answer_s: Option<f64>,
}

/// One model as one provider offers it (models.dev).
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent claims about an offer, each named")]
pub struct CatalogueOffer {
    /// Provider id.
    pub provider: ProviderId,
    /// Model id under that provider; may hold slashes.
    pub id: String,
    /// `lab/model`, where the catalogue links the offer to one.
    pub canonical: Option<String>,
    /// Release date with day precision, if stated.
    pub released: Option<NaiveDate>,
    /// Effort values the offer takes; empty when it takes none.
    pub efforts: Vec<String>,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether its weights are published.
    pub open_weights: bool,
    /// Context window in tokens.
    pub context: Option<u64>,
    /// `alpha`, `beta` or `deprecated`; a hint, never a retirement.
    pub status: Option<String>,
    /// Prices; a row of 0/0 means "subscription or unknown" and reads as unknown unless the id says that it is free.
    pub prices: Prices,
    /// Prices under a condition: long prompts, hours, batch and fast modes.
    pub bands: Vec<PriceBand>,
    /// Why a price that is written was not taken (`router`, `0 without :free`).
    pub price_note: Option<&'static str>,
    /// The effort of a call that sets none.
    pub default_effort: Option<String>,
    /// Whether it writes text and nothing else is its business; `false` for images, speech, songs and embeddings.
    pub writes_text: bool,
    /// Whether tools, weights and context are stated at all; a bare list of ids says nothing of them.
    pub is_described: bool,
    /// The day the provider says it ends.
    pub ends: Option<NaiveDate>,
    /// The id a moving name stands for.
    pub stands_for: Option<String>,
    /// Indices that the provider republishes for this very id; comparable inside one body only.
    pub indices: BTreeMap<String, f64>,
}

impl CatalogueOffer {
    /// An offer of which nothing is known but its place.
    pub fn new(provider: ProviderId, id: impl Into<String>) -> Self {
        Self {
            provider,
            id: id.into(),
            canonical: None,
            released: None,
            efforts: Vec::new(),
            tools: false,
            open_weights: false,
            context: None,
            status: None,
            prices: Prices::default(),
            bands: Vec::new(),
            price_note: None,
            default_effort: None,
            writes_text: true,
            is_described: true,
            ends: None,
            stands_for: None,
            indices: BTreeMap::new(),
        }
    }
}

/// What one provider says it offers, whole: an id that is not in it is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderList {
    /// The provider.
    pub provider: ProviderId,
    /// The ids it lists.
    pub ids: BTreeSet<String>,
}

/// One row of the retirement list: an end date as one provider's page states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEnd {
    /// Provider in the catalogue's spelling.
    pub provider: ProviderId,
    /// Model id as the provider writes it.
    pub model: String,
    /// The day it stops answering; `None`: announced, day unknown.
    pub ends: Option<NaiveDate>,
    /// What it names as replacements; may be text that is no model.
    pub successors: Vec<String>,
    /// The page that says so.
    pub stated_by: Option<String>,
}

/// One model of the dated price list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceRow {
    /// Provider in the catalogue's spelling.
    pub provider: ProviderId,
    /// Model id.
    pub model: String,
    /// Prices without a condition.
    pub prices: Prices,
    /// Prices with one, in the order of the list: of those that hold the last wins.
    pub bands: Vec<PriceBand>,
    /// Whether the list says that no such model is served any more.
    pub is_deprecated: bool,
}

/// One row of the retirement source: an offer with an end date, a successor or a price opinion.
#[derive(Debug, Clone, PartialEq)]
pub struct RetirementRow {
    /// The key in the source.
    pub key: String,
    /// Provider in the catalogue's spelling, where it can be told.
    pub provider: ProviderId,
    /// Model id without the provider's prefix.
    pub model: String,
    /// End date of this offer.
    pub ends: Option<NaiveDate>,
    /// Where the source has the date from.
    pub stated_by: Option<String>,
    /// Named successor: a key, or free text.
    pub successor: Option<String>,
    /// Second opinion on the price.
    pub prices: Prices,
    /// Prices under a condition: long prompts, batch, flex and priority.
    pub bands: Vec<PriceBand>,
}

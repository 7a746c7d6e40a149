//! models.dev `api.json`: which provider offers which model id, with limits, capabilities, prices and a release date.
//! It knows no retirement dates; its `status` is a hint.

use std::path::Path;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use serde::Deserialize;

use super::body::{Body, fetched_at, sidecar_of};
use super::loose::{Entries, List, Loose, Object, day, not_negative, settle_zeros};
use crate::vocabulary::{
    CatalogueOffer, Digest, PriceBand, PriceWhen, Prices, ProviderId, SourceId, SourceNote, SourceState,
};

/// One provider as sent.
#[derive(Deserialize)]
struct Provider {
    /// Model id → model.
    #[serde(default)]
    models: Loose<Entries<Object<Model>>>,
}

/// One model as sent; unknown keys are ignored.
#[derive(Deserialize)]
struct Model {
    /// `lab/model`.
    #[serde(default)]
    canonical_model_id: Loose<String>,
    /// `YYYY-MM-DD` or `YYYY-MM`.
    #[serde(default)]
    release_date: Loose<String>,
    /// Toggles, efforts, budgets.
    #[serde(default)]
    reasoning_options: Loose<List<Object<ReasoningOption>>>,
    /// Whether it calls tools.
    #[serde(default)]
    tool_call: Loose<bool>,
    /// Whether its weights are published.
    #[serde(default)]
    open_weights: Loose<bool>,
    /// Token limits.
    #[serde(default)]
    limit: Loose<Object<Limit>>,
    /// `alpha`, `beta`, `deprecated`.
    #[serde(default)]
    status: Loose<String>,
    /// USD per million tokens.
    #[serde(default)]
    cost: Loose<Object<Cost>>,
    /// What goes in and comes out.
    #[serde(default)]
    modalities: Loose<Object<Modalities>>,
    /// What is not settled yet.
    #[serde(default)]
    experimental: Loose<Object<Experimental>>,
}

/// What goes in and comes out.
#[derive(Deserialize)]
struct Modalities {
    /// `text`, `image`, `audio`, `video`.
    #[serde(default)]
    output: Loose<List<String>>,
}

/// What is not settled yet.
#[derive(Deserialize)]
struct Experimental {
    /// Mode (`fast`) → what it costs.
    #[serde(default)]
    modes: Loose<Entries<Object<Mode>>>,
}

/// A way of calling.
#[derive(Deserialize)]
struct Mode {
    /// USD per million tokens.
    #[serde(default)]
    cost: Loose<Object<Cost>>,
}

/// One way of steering how much it thinks.
#[derive(Deserialize)]
struct ReasoningOption {
    /// `toggle`, `effort` or `budget_tokens`.
    #[serde(default, rename = "type")]
    kind: Loose<String>,
    /// Effort values; may hold `null`.
    #[serde(default)]
    values: Loose<List<String>>,
}

/// Token limits.
#[derive(Deserialize)]
struct Limit {
    /// Context window.
    #[serde(default)]
    context: Loose<f64>,
}

/// Prices, USD per million tokens.
#[derive(Deserialize, Default)]
struct Cost {
    /// Input.
    #[serde(default)]
    input: Loose<Decimal>,
    /// Output.
    #[serde(default)]
    output: Loose<Decimal>,
    /// Input read from cache.
    #[serde(default)]
    cache_read: Loose<Decimal>,
    /// Input written to cache.
    #[serde(default)]
    cache_write: Loose<Decimal>,
    /// Prices of long prompts.
    #[serde(default)]
    tiers: Loose<List<Object<TierCost>>>,
}

/// Prices of long prompts.
#[derive(Deserialize)]
struct TierCost {
    /// Input.
    #[serde(default)]
    input: Loose<Decimal>,
    /// Output.
    #[serde(default)]
    output: Loose<Decimal>,
    /// Input read from cache.
    #[serde(default)]
    cache_read: Loose<Decimal>,
    /// Input written to cache.
    #[serde(default)]
    cache_write: Loose<Decimal>,
    /// From which length on.
    #[serde(default)]
    tier: Loose<Object<Tier>>,
}

/// From which length on a price holds.
#[derive(Deserialize)]
struct Tier {
    /// `context`; others are not known here.
    #[serde(default, rename = "type")]
    kind: Loose<String>,
    /// Tokens.
    #[serde(default)]
    size: Loose<f64>,
}

/// Reads the catalogue: offers sorted by provider and id, and the note. A file that is missing, unreadable, no JSON or
/// holds no offer gives a `Failed` note. As-of is the sidecar's `fetched_at`.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<CatalogueOffer>, SourceNote) {
    match Body::read(path, display) {
        Ok(body) => {
            let (offers, mut note) = read_body(&body);
            note.as_of = fetched_at(&sidecar_of(path), now);
            (offers, note)
        }
        Err(reason) => (Vec::new(), SourceNote::failed(SourceId::Catalogues, reason)),
    }
}

/// Turns one body into offers and a note without as-of.
pub(super) fn read_body(body: &Body) -> (Vec<CatalogueOffer>, SourceNote) {
    let mut note = SourceNote::new(SourceId::Catalogues, SourceState::Fresh);
    note.digest = Some(Digest::of(&body.bytes));
    let providers = match body.parse::<Loose<Entries<Object<Provider>>>>() {
        Ok(Loose::Value(providers)) => providers,
        Ok(_) => return fail(note, format!("{}:1: is no catalogue: not an object", body.display)),
        Err(reason) => return fail(note, reason),
    };
    let mut offers = Vec::new();
    let (providers, repeated) = providers.by_key();
    for provider in repeated {
        body.reject(&mut note, &provider, true, format!("provider {provider} stands twice"));
    }
    for (provider, value) in providers {
        match value {
            Loose::Value(Object(Provider { models: Loose::Value(models) })) => {
                offers_of(&ProviderId::new(provider), models, body, &mut note, &mut offers);
            }
            _ => body.reject(&mut note, &provider, true, format!("provider {provider} has no models")),
        }
    }
    note.used = offers.len() as u64;
    if offers.is_empty() {
        return fail(note, format!("{}:1: holds no usable offer", body.display));
    }
    (offers, note)
}

/// No offers, and why.
fn fail(mut note: SourceNote, reason: String) -> (Vec<CatalogueOffer>, SourceNote) {
    note.state = SourceState::Failed(reason);
    (Vec::new(), note)
}

/// Adds the offers of one provider.
fn offers_of(
    provider: &ProviderId,
    models: Entries<Object<Model>>,
    body: &Body,
    note: &mut SourceNote,
    offers: &mut Vec<CatalogueOffer>,
) {
    note.rows += models.0.len() as u64;
    let (models, repeated) = models.by_key();
    for id in repeated {
        body.reject(note, &id, true, format!("{provider}/{id} stands twice"));
    }
    for (id, model) in models {
        match offer(provider, &id, model) {
            Ok(offer) => offers.push(offer),
            Err(reason) => body.reject(note, &id, true, format!("{provider}/{id}: {reason}")),
        }
    }
}

/// One model as an offer; the error says which key is wrong.
fn offer(provider: &ProviderId, id: &str, model: Loose<Object<Model>>) -> Result<CatalogueOffer, String> {
    let Loose::Value(Object(model)) = model else { return Err("is not an object".to_owned()) };
    if id.is_empty() {
        return Err("has an empty id".to_owned());
    }
    let limit = model.limit.get("limit")?;
    let context = limit.map_or(Ok(None), |limit| not_negative(limit.0.context, "limit.context"))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be above 0")]
    let context = context.filter(|tokens| *tokens >= 1.0).map(|tokens| tokens as u64);
    let (prices, mut bands) = prices(model.cost, id)?;
    bands.extend(modes(model.experimental));
    let outputs = model.modalities.lenient().and_then(|object| object.0.output.lenient());
    let is_text = |list: List<String>| list.0.iter().any(|kind| *kind == Loose::Value("text".to_owned()));
    Ok(CatalogueOffer {
        writes_text: outputs.is_none_or(is_text),
        bands,
        canonical: model.canonical_model_id.get("canonical_model_id")?.filter(|text| !text.is_empty()),
        released: model.release_date.get("release_date")?.and_then(|text| day(&text)),
        efforts: efforts(model.reasoning_options),
        tools: model.tool_call.get("tool_call")?.unwrap_or(false),
        open_weights: model.open_weights.get("open_weights")?.unwrap_or(false),
        context,
        status: model.status.get("status")?,
        prices,
        ..CatalogueOffer::new(provider.clone(), id)
    })
}

/// Effort values in the source's order, each once; values that are no text are left out.
fn efforts(options: Loose<List<Object<ReasoningOption>>>) -> Vec<String> {
    let mut efforts: Vec<String> = Vec::new();
    let options = options.lenient().map(|list| list.0).unwrap_or_default();
    for Object(option) in options.into_iter().filter_map(Loose::lenient) {
        if option.kind.lenient().as_deref() == Some("effort") {
            let values = option.values.lenient().map(|list| list.0).unwrap_or_default();
            for value in values.into_iter().filter_map(Loose::lenient) {
                if !efforts.contains(&value) {
                    efforts.push(value);
                }
            }
        }
    }
    efforts
}

/// Prices of an offer, and those of long prompts: 0/0 is a subscription or not known, unless the id says `:free`.
fn prices(cost: Loose<Object<Cost>>, id: &str) -> Result<(Prices, Vec<PriceBand>), String> {
    let cost = cost.get("cost")?.map(|object| object.0).unwrap_or_default();
    let stated = Prices {
        input: not_negative(cost.input, "cost.input")?,
        output: not_negative(cost.output, "cost.output")?,
        cache_read: not_negative(cost.cache_read, "cost.cache_read")?,
        cache_write: not_negative(cost.cache_write, "cost.cache_write")?,
    };
    let settled = settle_zeros(stated, id.ends_with(":free"));
    let tiers = cost.tiers.lenient().map(|list| list.0).unwrap_or_default();
    let mut bands = Vec::new();
    for Object(tier) in tiers.into_iter().filter_map(Loose::lenient).filter(|_| !settled.is_unknown()) {
        bands.extend(tier_band(tier)?);
    }
    bands.sort_by_key(|band| band.when.above_tokens);
    Ok((settled, bands))
}

/// One price of long prompts; a tier of another kind than context is left out.
fn tier_band(tier: TierCost) -> Result<Option<PriceBand>, String> {
    let prices = Prices {
        input: not_negative(tier.input, "cost.tiers.input")?,
        output: not_negative(tier.output, "cost.tiers.output")?,
        cache_read: not_negative(tier.cache_read, "cost.tiers.cache_read")?,
        cache_write: not_negative(tier.cache_write, "cost.tiers.cache_write")?,
    };
    let of = tier.tier.lenient().map(|object| object.0);
    let size = of.filter(|of| of.kind == Loose::Value("context".to_owned())).and_then(|of| of.size.lenient());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be above 0")]
    let above_tokens = size.filter(|size| *size >= 1.0).map(|size| size as u64);
    Ok(above_tokens.is_some().then(|| PriceBand { when: PriceWhen { above_tokens, ..PriceWhen::default() }, prices }))
}

/// Prices of other ways of calling (fast mode); one that cannot be read is left out.
fn modes(experimental: Loose<Object<Experimental>>) -> Vec<PriceBand> {
    let modes = experimental.lenient().and_then(|object| object.0.modes.lenient()).map(|entries| entries.by_key().0);
    let bands = |(mode, sent): (String, Loose<Object<Mode>>)| {
        let (prices, tiers) = prices(sent.lenient()?.0.cost, "").ok()?;
        let plain = PriceBand { when: PriceWhen::default(), prices };
        let bands = std::iter::once(plain).chain(tiers).filter(|band| !band.prices.is_unknown());
        let in_mode = |band: PriceBand| {
            let when = PriceWhen { mode: Some(mode.clone()), ..band.when };
            PriceBand { when, ..band }
        };
        Some(bands.map(in_mode).collect::<Vec<_>>())
    };
    modes.unwrap_or_default().into_iter().filter_map(bands).flatten().collect()
}

//! models.dev `api.json`: which provider offers which model id, with limits, capabilities, prices and a release date.
//! It knows no retirement dates; its `status` is a hint.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::body::{Body, fetched_at, sidecar_of};
use super::loose::{Entries, List, Loose, Object, day, not_negative, settle_zeros};
use crate::vocabulary::{CatalogueOffer, Digest, Prices, ProviderId, SourceId, SourceNote, SourceState};

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

/// Prices, USD per million tokens; tiers and modes are left to a later reading.
#[derive(Deserialize, Default)]
struct Cost {
    /// Input.
    #[serde(default)]
    input: Loose<f64>,
    /// Output.
    #[serde(default)]
    output: Loose<f64>,
    /// Input read from cache.
    #[serde(default)]
    cache_read: Loose<f64>,
    /// Input written to cache.
    #[serde(default)]
    cache_write: Loose<f64>,
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
    Ok(CatalogueOffer {
        provider: provider.clone(),
        id: id.to_owned(),
        canonical: model.canonical_model_id.get("canonical_model_id")?.filter(|text| !text.is_empty()),
        released: model.release_date.get("release_date")?.and_then(|text| day(&text)),
        efforts: efforts(model.reasoning_options),
        tools: model.tool_call.get("tool_call")?.unwrap_or(false),
        open_weights: model.open_weights.get("open_weights")?.unwrap_or(false),
        context,
        status: model.status.get("status")?,
        prices: prices(model.cost, id)?,
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

/// Prices of an offer: 0/0 is a subscription or not known, unless the id says `:free`.
fn prices(cost: Loose<Object<Cost>>, id: &str) -> Result<Prices, String> {
    let cost = cost.get("cost")?.map(|object| object.0).unwrap_or_default();
    let stated = Prices {
        input: not_negative(cost.input, "cost.input")?,
        output: not_negative(cost.output, "cost.output")?,
        cache_read: not_negative(cost.cache_read, "cost.cache_read")?,
        cache_write: not_negative(cost.cache_write, "cost.cache_write")?,
    };
    Ok(settle_zeros(stated, id.ends_with(":free")))
}

//! `OpenRouter`'s own list (`/api/v1/models`): what it offers, at which price and until when, and the Artificial Analysis
//! indices it republishes per id. Prices are decimal strings in USD per token and are never read as floats.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use serde::Deserialize;

use super::body::Body;
use super::loose::{Amount, List, Loose, Object, day};
use super::{MILLION, read_one};
use crate::vocabulary::{CatalogueOffer, Hours, PriceBand, PriceWhen, Prices, ProviderId, SourceId, SourceNote};

/// The provider these offers belong to.
const PROVIDER: &str = "openrouter";

/// The list as sent; older copies are a bare list of rows.
#[derive(Deserialize)]
struct Envelope {
    /// The rows.
    #[serde(default)]
    data: Loose<List<Object<Row>>>,
}

/// One offer as sent; unknown keys are ignored.
#[derive(Deserialize)]
struct Row {
    /// `author/slug[:variant]`, or `~author/x-latest`.
    #[serde(default)]
    id: Loose<String>,
    /// Context window.
    #[serde(default)]
    context_length: Loose<f64>,
    /// Decimal strings.
    #[serde(default)]
    pricing: Loose<Object<Pricing>>,
    /// What goes in and comes out.
    #[serde(default)]
    architecture: Loose<Object<Architecture>>,
    /// What the gateway accepts.
    #[serde(default)]
    supported_parameters: Loose<List<String>>,
    /// How it thinks.
    #[serde(default)]
    reasoning: Loose<Object<Reasoning>>,
    /// Indices of others.
    #[serde(default)]
    benchmarks: Loose<Object<Benchmarks>>,
    /// Day it ends.
    #[serde(default)]
    expiration_date: Loose<String>,
    /// Where its weights are; empty is none.
    #[serde(default)]
    hugging_face_id: Loose<String>,
    /// What a moving name stands for.
    #[serde(default)]
    alias_target: Loose<Object<AliasTarget>>,
}

/// Prices as sent.
#[derive(Deserialize, Default)]
struct Pricing {
    /// The prices of a short prompt at an ordinary hour.
    #[serde(flatten)]
    plain: Amounts,
    /// Prices under conditions; later ones win.
    #[serde(default)]
    overrides: Loose<List<Object<Override>>>,
}

/// The four prices that count here, USD per token.
#[derive(Deserialize, Default)]
struct Amounts {
    /// Input.
    #[serde(default)]
    prompt: Loose<Amount>,
    /// Output.
    #[serde(default)]
    completion: Loose<Amount>,
    /// Input read from cache.
    #[serde(default)]
    input_cache_read: Loose<Amount>,
    /// Input written to cache.
    #[serde(default)]
    input_cache_write: Loose<Amount>,
}

/// Prices under a condition.
#[derive(Deserialize)]
struct Override {
    /// The prompt is strictly longer than this.
    #[serde(default)]
    min_prompt_tokens: Loose<f64>,
    /// First hour as `HHMM`.
    #[serde(default)]
    utc_start: Loose<f64>,
    /// First hour after it.
    #[serde(default)]
    utc_end: Loose<f64>,
    /// Days of the week.
    #[serde(default)]
    utc_days: Loose<List<String>>,
    /// What is charged then.
    #[serde(flatten)]
    amounts: Amounts,
}

/// Modalities.
#[derive(Deserialize, Default)]
struct Architecture {
    /// What comes out.
    #[serde(default)]
    output_modalities: Loose<List<String>>,
}

/// How it thinks.
#[derive(Deserialize)]
struct Reasoning {
    /// Efforts it takes.
    #[serde(default)]
    supported_efforts: Loose<List<String>>,
    /// The one it takes when none is asked for.
    #[serde(default)]
    default_effort: Loose<String>,
}

/// Indices of others.
#[derive(Deserialize)]
struct Benchmarks {
    /// The three indices.
    #[serde(default)]
    artificial_analysis: Loose<Object<Indices>>,
}

/// The three indices.
#[derive(Deserialize)]
struct Indices {
    /// Intelligence.
    #[serde(default, rename = "intelligence_index")]
    intelligence: Loose<f64>,
    /// Coding.
    #[serde(default, rename = "coding_index")]
    coding: Loose<f64>,
    /// Agentic.
    #[serde(default, rename = "agentic_index")]
    agentic: Loose<f64>,
}

/// What a moving name stands for.
#[derive(Deserialize)]
struct AliasTarget {
    /// The id behind it.
    #[serde(default)]
    slug: Loose<String>,
}

/// Reads the list: offers sorted by id, and the note.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<CatalogueOffer>, SourceNote) {
    read_one((path, display), now, SourceId::OpenRouter, rows)
}

/// The offers of a body.
pub(super) fn rows(body: &Body, note: &mut SourceNote) -> Result<Vec<CatalogueOffer>, String> {
    let list = match body.parse::<Loose<Object<Envelope>>>()? {
        Loose::Value(Object(envelope)) => envelope.data.lenient(),
        _ => body.parse::<Loose<List<Object<Row>>>>()?.lenient(),
    };
    let Some(List(rows)) = list else { return Err(format!("{}:1: is no list of models", body.display)) };
    note.rows = rows.len() as u64;
    let mut offers: BTreeMap<String, CatalogueOffer> = BTreeMap::new();
    let mut routers = 0_u64;
    for (at, row) in rows.into_iter().enumerate() {
        match offer(row) {
            Ok(offer) if offers.contains_key(&offer.id) => {
                body.reject(note, &offer.id, false, format!("id {} stands twice", offer.id));
            }
            Ok(offer) => {
                routers += u64::from(offer.price_note == Some("router"));
                offers.insert(offer.id.clone(), offer);
            }
            Err((id, reason)) => {
                let name = id.clone().unwrap_or_else(|| (at + 1).to_string());
                body.reject(note, id.as_deref().unwrap_or_default(), false, format!("row {name}: {reason}"));
            }
        }
    }
    if offers.values().all(|offer| !offer.id.contains('/')) {
        return Err(format!("{}:1: is no list of OpenRouter: no id names an author", body.display));
    }
    if routers > 0 {
        note.remarks.push(format!("{routers} routers without a price of their own"));
    }
    Ok(offers.into_values().collect())
}

/// One row as an offer. The error carries the id if there is one.
fn offer(row: Loose<Object<Row>>) -> Result<CatalogueOffer, (Option<String>, String)> {
    let Loose::Value(Object(row)) = row else { return Err((None, "is not an object".to_owned())) };
    let id = row.id.get("id").map_err(|reason| (None, reason))?.filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| (None, "has no id".to_owned()))?;
    let with_id = |reason: String| (Some(id.clone()), reason);
    let pricing = row.pricing.get("pricing").map_err(with_id)?.map(|object| object.0).unwrap_or_default();
    let (prices, bands, price_note) = prices(pricing, &id).map_err(with_id)?;
    let reasoning = row.reasoning.lenient().map(|object| object.0);
    let ends = match row.expiration_date.get("expiration_date").map_err(with_id)?.filter(|text| !text.is_empty()) {
        Some(text) => Some(day(&text).ok_or_else(|| with_id(format!("expiration_date {text:?} is no day")))?),
        None => None,
    };
    let texts = |list: Loose<List<String>>| -> Vec<String> {
        list.lenient().map(|list| list.0.into_iter().filter_map(Loose::lenient).collect()).unwrap_or_default()
    };
    let outputs = row.architecture.lenient().map(|object| texts(object.0.output_modalities)).unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be at least 1")]
    let context = row.context_length.lenient().filter(|tokens| *tokens >= 1.0).map(|tokens| tokens as u64);
    let (efforts, default_effort) =
        reasoning.map_or((Vec::new(), None), |how| (texts(how.supported_efforts), how.default_effort.lenient()));
    Ok(CatalogueOffer {
        tools: texts(row.supported_parameters).iter().any(|parameter| parameter == "tools"),
        open_weights: row.hugging_face_id.lenient().is_some_and(|id| !id.is_empty()),
        writes_text: outputs.is_empty() || outputs.iter().any(|kind| kind == "text"),
        stands_for: row.alias_target.lenient().and_then(|target| target.0.slug.lenient()),
        indices: row.benchmarks.lenient().map(|object| indices(object.0)).unwrap_or_default(),
        prices,
        bands,
        price_note,
        context,
        efforts,
        default_effort,
        ends,
        ..CatalogueOffer::new(ProviderId::new(PROVIDER), id)
    })
}

/// The indices that lie on the scale.
fn indices(benchmarks: Benchmarks) -> BTreeMap<String, f64> {
    let Some(Object(found)) = benchmarks.artificial_analysis.lenient() else { return BTreeMap::new() };
    [("intelligence", found.intelligence), ("coding", found.coding), ("agentic", found.agentic)]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.lenient()?)))
        .filter(|(_, points)| (0.0..=100.0).contains(points))
        .collect()
}

/// What an offer costs, under which conditions, and why a price that is written was not taken.
type Charged = (Prices, Vec<PriceBand>, Option<&'static str>);

/// The prices of an offer. `-1` is a router's sign for "depends"; 0 without `:free` is charged otherwise (per song, per
/// image) or not launched.
fn prices(pricing: Pricing, id: &str) -> Result<Charged, String> {
    let Some(plain) = amounts(pricing.plain)? else { return Ok((Prices::default(), Vec::new(), Some("router"))) };
    let is_zero = |usd: Option<Decimal>| usd.is_some_and(|usd| usd.is_zero());
    if is_zero(plain.input) && is_zero(plain.output) && !id.ends_with(":free") {
        return Ok((Prices::default(), Vec::new(), Some("0 without :free")));
    }
    let mut bands = Vec::new();
    for Object(found) in
        pricing.overrides.lenient().map(|list| list.0).unwrap_or_default().into_iter().filter_map(Loose::lenient)
    {
        bands.extend(band(found)?);
    }
    Ok((plain, bands, None))
}

/// Four amounts in USD per million tokens; `None` when one of them is the sign of a router.
fn amounts(amounts: Amounts) -> Result<Option<Prices>, String> {
    let mut is_router = false;
    let mut take = |value: Loose<Amount>, key: &str| -> Result<Option<Decimal>, String> {
        let Some(Amount(usd)) = value.get(key)? else { return Ok(None) };
        if usd == Decimal::NEGATIVE_ONE {
            is_router = true;
            return Ok(None);
        }
        if usd.is_sign_negative() && !usd.is_zero() {
            return Err(format!("{key} is below 0"));
        }
        usd.checked_mul(MILLION).map(Some).ok_or_else(|| format!("{key} is out of range"))
    };
    let prices = Prices {
        input: take(amounts.prompt, "prompt")?,
        output: take(amounts.completion, "completion")?,
        cache_read: take(amounts.input_cache_read, "input_cache_read")?,
        cache_write: take(amounts.input_cache_write, "input_cache_write")?,
    };
    Ok((!is_router).then_some(prices))
}

/// One override as a band; one whose condition is not understood is left out, so that it is never charged by mistake.
fn band(found: Override) -> Result<Option<PriceBand>, String> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be at least 0")]
    let above_tokens = found.min_prompt_tokens.lenient().filter(|tokens| *tokens >= 0.0).map(|tokens| tokens as u64);
    let days: Vec<u8> = found
        .utc_days
        .lenient()
        .map(|list| list.0.into_iter().filter_map(Loose::lenient).filter_map(|word| Hours::day(&word)).collect())
        .unwrap_or_default();
    let clock = found.utc_start.lenient().and_then(minutes).zip(found.utc_end.lenient().and_then(minutes));
    let hours = match clock {
        Some((start, end)) => Some(Hours { start, end, days }),
        None if days.is_empty() => None,
        None => Some(Hours { start: 0, end: 24 * 60, days }),
    };
    if above_tokens.is_none() && hours.is_none() {
        return Ok(None);
    }
    let when = PriceWhen { above_tokens, hours, ..PriceWhen::default() };
    Ok(amounts(found.amounts)?.map(|prices| PriceBand { when, prices }))
}

/// `HHMM` as minutes of the day.
fn minutes(clock: f64) -> Option<u32> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a clock")]
    let clock = ((0.0..=2400.0).contains(&clock) && clock.fract() <= 0.0).then_some(clock as u32)?;
    (clock % 100 < 60).then_some(clock / 100 * 60 + clock % 100)
}

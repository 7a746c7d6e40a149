//! genai-prices: the second opinion on prices, and the only source with dated ones, past and future. The last entry whose
//! condition holds now is the price; the last entry of the list may lie in the future.

use std::path::Path;

use chrono::{DateTime, NaiveTime, Timelike as _, Utc};
use rust_decimal::Decimal;
use serde::Deserialize;

use super::body::Body;
use super::loose::{Kind, List, Loose, Object, day, not_negative};
use super::read_one;
use crate::vocabulary::{Hours, PriceBand, PriceRow, PriceWhen, Prices, ProviderId, SourceId, SourceNote};

/// One provider as sent.
#[derive(Deserialize)]
struct Provider {
    /// Provider id.
    #[serde(default)]
    id: Loose<String>,
    /// Its models.
    #[serde(default)]
    models: Loose<List<Object<Model>>>,
}

/// One model as sent.
#[derive(Deserialize)]
struct Model {
    /// Model id.
    #[serde(default)]
    id: Loose<String>,
    /// Whether it is served no more.
    #[serde(default)]
    deprecated: Loose<bool>,
    /// One set of prices, or several under conditions.
    #[serde(default)]
    prices: Loose<PriceEntries>,
    /// Other ways of calling it.
    #[serde(default)]
    price_variants: Loose<List<Object<Variant>>>,
}

/// Prices of a model: one object, or a list of entries.
#[derive(Debug, Clone, PartialEq)]
struct PriceEntries(Vec<Entry>);

/// One entry of the list of prices.
#[derive(Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    /// When it holds.
    #[serde(default)]
    constraint: Loose<Object<Constraint>>,
    /// What it is.
    #[serde(default)]
    prices: Loose<Object<Units>>,
}

/// A way of calling.
#[derive(Deserialize)]
struct Variant {
    /// Which way.
    #[serde(default)]
    when: Loose<Object<Way>>,
    /// When it holds.
    #[serde(default)]
    constraint: Loose<Object<Constraint>>,
    /// What it costs; absent is as the plain prices.
    #[serde(default)]
    prices: Loose<Object<Units>>,
}

/// Which way of calling a variant is.
#[derive(Deserialize)]
struct Way {
    /// `batch`.
    #[serde(default)]
    processing: Loose<String>,
    /// `flex`, `priority`.
    #[serde(default)]
    service_tier: Loose<String>,
    /// `fast`.
    #[serde(default)]
    speed: Loose<String>,
}

/// When prices hold.
#[derive(Deserialize, Debug, Clone, PartialEq)]
struct Constraint {
    /// First day.
    #[serde(default)]
    start_date: Loose<String>,
    /// First time of the day, UTC.
    #[serde(default)]
    start_time: Loose<String>,
    /// First time after it.
    #[serde(default)]
    end_time: Loose<String>,
}

/// Prices per million tokens.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
struct Units {
    /// Input.
    #[serde(default, rename = "input_mtok")]
    input: Loose<Tiered>,
    /// Output.
    #[serde(default, rename = "output_mtok")]
    output: Loose<Tiered>,
    /// Input read from cache.
    #[serde(default, rename = "cache_read_mtok")]
    cache_read: Loose<Tiered>,
    /// Input written to cache.
    #[serde(default, rename = "cache_write_mtok")]
    cache_write: Loose<Tiered>,
}

/// A price: a number, or a base with tiers that hold for all tokens once crossed.
#[derive(Debug, Clone, PartialEq)]
struct Tiered {
    /// Below the first tier.
    base: Decimal,
    /// Start in tokens → price.
    tiers: Vec<(u64, Decimal)>,
}

/// A tiered price as sent.
#[derive(Deserialize)]
struct TieredObject {
    /// Below the first tier.
    #[serde(default)]
    base: Loose<Decimal>,
    /// The tiers.
    #[serde(default)]
    tiers: Loose<List<Object<Tier>>>,
}

/// One tier as sent.
#[derive(Deserialize)]
struct Tier {
    /// Tokens from which on it holds.
    #[serde(default)]
    start: Loose<f64>,
    /// Its price.
    #[serde(default)]
    price: Loose<Decimal>,
}

impl Kind for Tiered {
    fn number(number: f64) -> Option<Self> {
        Some(Self { base: Decimal::number(number)?, tiers: Vec::new() })
    }

    fn object<'de, A: serde::de::MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        let Some(Object(sent)) = Object::<TieredObject>::object(map)? else { return Ok(None) };
        let tiers = sent.tiers.lenient().map(|list| list.0).unwrap_or_default();
        let tier = |Object(tier): Object<Tier>| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be at least 0")]
            let start = tier.start.lenient().filter(|start| *start >= 0.0).map(|start| start as u64);
            Some((start?, tier.price.lenient()?))
        };
        let tiers = tiers.into_iter().filter_map(Loose::lenient).filter_map(tier).collect();
        Ok(sent.base.lenient().map(|base| Self { base, tiers }))
    }
}

impl PartialOrd for Tiered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.base.partial_cmp(&other.base)
    }
}

impl Default for Tiered {
    fn default() -> Self {
        Self { base: Decimal::ZERO, tiers: Vec::new() }
    }
}

impl Kind for PriceEntries {
    fn object<'de, A: serde::de::MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        let prices = Object::<Units>::object(map)?.map_or(Loose::Wrong, Loose::Value);
        Ok(Some(Self(vec![Entry { constraint: Loose::Missing, prices }])))
    }

    fn list<'de, A: serde::de::SeqAccess<'de>>(seq: A) -> Result<Option<Self>, A::Error> {
        let list = List::<Object<Entry>>::list(seq)?.map(|list| list.0).unwrap_or_default();
        Ok(Some(Self(list.into_iter().filter_map(Loose::lenient).map(|object| object.0).collect())))
    }
}

/// Reads the list: one row per provider and model, sorted, and the note.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<PriceRow>, SourceNote) {
    read_one((path, display), now, SourceId::Prices, rows)
}

/// The rows of a body.
pub(super) fn rows(body: &Body, note: &mut SourceNote) -> Result<Vec<PriceRow>, String> {
    let Some(List(providers)) = body.parse::<Loose<List<Object<Provider>>>>()?.lenient() else {
        return Err(format!("{}:1: is no price list: not a list of providers", body.display));
    };
    let mut rows = Vec::new();
    for (at, provider) in providers.into_iter().enumerate() {
        let Loose::Value(Object(Provider { id: Loose::Value(id), models: Loose::Value(List(models)) })) = provider
        else {
            body.reject(note, "", false, format!("provider {}: has no id or no models", at + 1));
            continue;
        };
        note.rows += models.len() as u64;
        let provider = provider_id(&id);
        for model in models {
            match row(&provider, model) {
                Ok(row) => rows.push(row),
                Err((model, reason)) => body.reject(note, &model, false, format!("{id}/{model}: {reason}")),
            }
        }
    }
    rows.sort_by(|a, b| (&a.provider, &a.model).cmp(&(&b.provider, &b.model)));
    Ok(rows)
}

/// A provider in the catalogue's spelling.
fn provider_id(id: &str) -> ProviderId {
    ProviderId::new(match id {
        "x-ai" => "xai",
        "aws" => "amazon-bedrock",
        "fireworks" => "fireworks-ai",
        "together" => "togetherai",
        "novita" => "novita-ai",
        "zai" | "z-ai" => "zai",
        other => other,
    })
}

/// One model as a row. The error carries its id.
fn row(provider: &ProviderId, model: Loose<Object<Model>>) -> Result<PriceRow, (String, String)> {
    let Loose::Value(Object(model)) = model else { return Err((String::new(), "is not an object".to_owned())) };
    let id = model.id.lenient().filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| (String::new(), "has no id".to_owned()))?;
    let with_id = |reason: String| (id.clone(), reason);
    let entries = model.prices.get("prices").map_err(with_id)?.map(|entries| entries.0).unwrap_or_default();
    let (mut prices, mut bands) = (Prices::default(), Vec::new());
    for entry in entries {
        let when = when(entry.constraint).map_err(with_id)?;
        let Some(Object(units)) = entry.prices.get("prices").map_err(with_id)? else { continue };
        let (plain, tiers) = charged(units, &when).map_err(with_id)?;
        if when == PriceWhen::default() {
            prices = plain;
        } else {
            bands.push(PriceBand { when, prices: plain });
        }
        bands.extend(tiers);
    }
    for Object(variant) in
        model.price_variants.lenient().map(|list| list.0).unwrap_or_default().into_iter().filter_map(Loose::lenient)
    {
        bands.extend(variant_bands(variant).map_err(with_id)?);
    }
    let is_deprecated = model.deprecated.lenient().unwrap_or(false);
    Ok(PriceRow { provider: provider.clone(), model: id, prices, bands, is_deprecated })
}

/// The bands of a way of calling; one that names no way, or no price of its own, has none.
fn variant_bands(variant: Variant) -> Result<Vec<PriceBand>, String> {
    let (Some(Object(way)), Some(Object(units))) = (variant.when.lenient(), variant.prices.lenient()) else {
        return Ok(Vec::new());
    };
    let mode = way.processing.lenient().or(way.service_tier.lenient()).or(way.speed.lenient());
    let Some(mode) = mode else { return Ok(Vec::new()) };
    let when = PriceWhen { mode: Some(mode), ..when(variant.constraint)? };
    let (prices, tiers) = charged(units, &when)?;
    Ok(std::iter::once(PriceBand { when, prices }).chain(tiers).collect())
}

/// When an entry holds. A condition that cannot be read is an error: a price must not hold by accident.
fn when(constraint: Loose<Object<Constraint>>) -> Result<PriceWhen, String> {
    let Some(Object(constraint)) = constraint.get("constraint")? else { return Ok(PriceWhen::default()) };
    let from = match constraint.start_date.get("start_date")? {
        Some(text) => Some(day(&text).ok_or_else(|| format!("start_date {text:?} is no day"))?),
        None => None,
    };
    let hours = match (constraint.start_time.get("start_time")?, constraint.end_time.get("end_time")?) {
        (Some(start), Some(end)) => Some(Hours { start: clock(&start)?, end: clock(&end)?, days: Vec::new() }),
        (None, None) => None,
        _ => return Err("has a time without its other end".to_owned()),
    };
    Ok(PriceWhen { hours, from, ..PriceWhen::default() })
}

/// `HH:MM:SS` in UTC as minutes of the day.
fn clock(text: &str) -> Result<u32, String> {
    let bare = text.trim_end_matches("+00:00").trim_end_matches('Z');
    let time = NaiveTime::parse_from_str(bare, "%H:%M:%S").map_err(|_| format!("time {text:?} is no time in UTC"))?;
    Ok(time.hour() * 60 + time.minute())
}

/// The prices below the first tier, and one band per tier.
fn charged(units: Units, when: &PriceWhen) -> Result<(Prices, Vec<PriceBand>), String> {
    let input = not_negative(units.input, "input_mtok")?;
    let output = not_negative(units.output, "output_mtok")?;
    let cache_read = not_negative(units.cache_read, "cache_read_mtok")?;
    let cache_write = not_negative(units.cache_write, "cache_write_mtok")?;
    let four = [&input, &output, &cache_read, &cache_write];
    let prices = four.map(|price| price.as_ref().map(|price| price.base));
    let mut starts: Vec<u64> =
        four.iter().filter_map(|p| p.as_ref()).flat_map(|p| p.tiers.iter().map(|t| t.0)).collect();
    starts.sort_unstable();
    starts.dedup();
    let at = |price: &Option<Tiered>, start: u64| {
        let tier = price.as_ref()?.tiers.iter().filter(|tier| tier.0 <= start).max_by_key(|tier| tier.0);
        tier.map(|tier| tier.1)
    };
    let band = |start: u64| PriceBand {
        when: PriceWhen { above_tokens: Some(start), ..when.clone() },
        prices: of_four(four.map(|price| at(price, start))),
    };
    Ok((of_four(prices), starts.into_iter().map(band).collect()))
}

/// Prices from input, output, cache read and cache write.
fn of_four([input, output, cache_read, cache_write]: [Option<Decimal>; 4]) -> Prices {
    Prices { input, output, cache_read, cache_write }
}

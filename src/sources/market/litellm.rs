//! The `LiteLLM` price map: end date, where that date comes from, named successor and a second opinion on the price, per
//! offer. The same model ends on different days at different providers, so rows are never merged here.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess};

use super::MILLION;
use super::body::{Body, fetched_at, sidecar_of};
use super::loose::{Entries, Kind, List, Loose, Object, day, not_negative, settle_zeros};
use crate::vocabulary::{
    Digest, PriceBand, PriceWhen, Prices, ProviderId, RetirementRow, SourceId, SourceNote, SourceState,
};

/// The documentation row of the map; it is no model.
const SAMPLE_KEY: &str = "sample_spec";

/// One entry as sent; keys of no concern here are skipped in place.
#[derive(Default)]
struct Entry {
    /// Provider in `LiteLLM`'s spelling.
    litellm_provider: Loose<String>,
    /// `YYYY-MM-DD`.
    deprecation_date: Loose<String>,
    /// Page the date comes from.
    deprecation_source: Loose<String>,
    /// Key of the successor, or free text.
    successor_model: Loose<String>,
    /// Every key that speaks of a cost, in file order, USD per token.
    costs: Vec<(String, Loose<Decimal>)>,
    /// Prices by length of the prompt.
    tiered_pricing: Loose<List<Object<Tier>>>,
}

/// Prices of a range of prompt lengths.
#[derive(Deserialize)]
struct Tier {
    /// USD per token.
    #[serde(default)]
    input_cost_per_token: Loose<Decimal>,
    /// USD per token.
    #[serde(default)]
    output_cost_per_token: Loose<Decimal>,
    /// From and to, in tokens.
    #[serde(default)]
    range: Loose<List<f64>>,
}

impl Kind for Entry {
    fn object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut entry = Self::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "litellm_provider" => entry.litellm_provider = map.next_value()?,
                "deprecation_date" => entry.deprecation_date = map.next_value()?,
                "deprecation_source" => entry.deprecation_source = map.next_value()?,
                "successor_model" => entry.successor_model = map.next_value()?,
                "tiered_pricing" => entry.tiered_pricing = map.next_value()?,
                key_of_cost if BASES.iter().any(|(base, _)| key_of_cost.starts_with(base)) => {
                    let value = map.next_value()?;
                    entry.costs.push((key, value));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Some(entry))
    }
}

/// Which of the four prices a key speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Uncached input.
    Input,
    /// Output.
    Output,
    /// Input read from cache.
    CacheRead,
    /// Input written to cache.
    CacheWrite,
}

/// What a key of a cost begins with.
const BASES: [(&str, Which); 4] = [
    ("input_cost_per_token", Which::Input),
    ("output_cost_per_token", Which::Output),
    ("cache_read_input_token_cost", Which::CacheRead),
    ("cache_creation_input_token_cost", Which::CacheWrite),
];

/// The ways of calling that the map has prices for.
const MODES: [&str; 4] = ["batches", "flex", "priority", "ultrafast"];

/// Reads the map: rows with an end date, a successor or a price, sorted by key, and the note. A file that is missing,
/// unreadable, no JSON or holds no such row gives a `Failed` note. As-of is the sidecar's `fetched_at`.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<RetirementRow>, SourceNote) {
    match Body::read(path, display) {
        Ok(body) => {
            let (rows, mut note) = read_body(&body);
            note.as_of = fetched_at(&sidecar_of(path), now);
            (rows, note)
        }
        Err(reason) => (Vec::new(), SourceNote::failed(SourceId::Retirements, reason)),
    }
}

/// Turns one body into rows and a note without as-of.
pub(super) fn read_body(body: &Body) -> (Vec<RetirementRow>, SourceNote) {
    let mut note = SourceNote::new(SourceId::Retirements, SourceState::Fresh);
    note.digest = Some(Digest::of(&body.bytes));
    let entries = match body.parse::<Loose<Entries<Entry>>>() {
        Ok(Loose::Value(entries)) => entries,
        Ok(_) => return fail(note, format!("{}:1: is no price map: not an object", body.display)),
        Err(reason) => return fail(note, reason),
    };
    note.rows = entries.0.iter().filter(|(key, _)| key != SAMPLE_KEY).count() as u64;
    let (entries, repeated) = entries.by_key();
    for key in repeated {
        body.reject(&mut note, &key, true, format!("{key} stands twice"));
    }
    let mut rows = Vec::new();
    for (key, entry) in entries.into_iter().filter(|(key, _)| key != SAMPLE_KEY) {
        match row(&key, entry) {
            Ok(row) => rows.extend(row),
            Err(reason) => body.reject(&mut note, &key, true, format!("{key}: {reason}")),
        }
    }
    note.used = rows.len() as u64;
    if rows.is_empty() {
        return fail(note, format!("{}:1: no row holds an end date, a successor or a price", body.display));
    }
    (rows, note)
}

/// No rows, and why.
fn fail(mut note: SourceNote, reason: String) -> (Vec<RetirementRow>, SourceNote) {
    note.state = SourceState::Failed(reason);
    (Vec::new(), note)
}

/// One entry as a row; `None` when it says nothing of use here, an error when it is broken.
fn row(key: &str, entry: Loose<Entry>) -> Result<Option<RetirementRow>, String> {
    let Loose::Value(entry) = entry else { return Err("is not an object".to_owned()) };
    let ends = end_date(entry.deprecation_date)?;
    let successor = entry.successor_model.get("successor_model")?.filter(|text| !text.trim().is_empty());
    let stated_by = entry.deprecation_source.get("deprecation_source")?.filter(|text| !text.trim().is_empty());
    let (prices, mut bands) = costs(entry.costs)?;
    let tiers = tiers(entry.tiered_pricing)?;
    let first = tiers.iter().find(|tier| tier.when.above_tokens == Some(0)).map(|tier| tier.prices);
    bands.extend(tiers.into_iter().filter(|tier| tier.when.above_tokens != Some(0)));
    let prices = settle_zeros(prices.or(first.unwrap_or_default()), false);
    if prices.is_unknown() {
        bands.clear();
    }
    if ends.is_none() && successor.is_none() && prices.is_unknown() {
        return Ok(None);
    }
    let stated_provider = entry.litellm_provider.get("litellm_provider")?;
    let (provider, model) = split_key(key, stated_provider.as_deref());
    Ok(Some(RetirementRow { key: key.to_owned(), provider, model, ends, stated_by, successor, prices, bands }))
}

/// The prices without a condition, and those with one, by condition.
fn costs(costs: Vec<(String, Loose<Decimal>)>) -> Result<(Prices, Vec<PriceBand>), String> {
    let mut by_condition: BTreeMap<PriceWhen, Prices> = BTreeMap::new();
    for (key, value) in costs {
        let Some((which, when)) = condition(&key) else { continue };
        let usd = per_mtok(value, &key)?;
        let prices = by_condition.entry(when).or_default();
        match which {
            Which::Input => prices.input = usd,
            Which::Output => prices.output = usd,
            Which::CacheRead => prices.cache_read = usd,
            Which::CacheWrite => prices.cache_write = usd,
        }
    }
    let plain = by_condition.remove(&PriceWhen::default()).unwrap_or_default();
    let bands = by_condition.into_iter().filter(|(_, prices)| !prices.is_unknown());
    Ok((plain, bands.map(|(when, prices)| PriceBand { when, prices }).collect()))
}

/// Which price a key speaks of, and its condition: `_above_200k_tokens` and one way of calling, in any order. `None` for
/// other suffixes (`_above_1hr`, `_per_second`): such a price is another one.
fn condition(key: &str) -> Option<(Which, PriceWhen)> {
    let (base, which) = BASES.iter().find(|(base, _)| key.starts_with(base))?;
    let mut when = PriceWhen::default();
    let mut rest = &key[base.len()..];
    while !rest.is_empty() {
        rest = rest.strip_prefix('_')?;
        if let Some(mode) = MODES.iter().find(|mode| rest.starts_with(**mode)) {
            when.mode = Some(if *mode == "batches" { "batch".to_owned() } else { (*mode).to_owned() });
            rest = &rest[mode.len()..];
        } else {
            let (thousands, after) = rest.strip_prefix("above_")?.split_once("k_tokens")?;
            when.above_tokens = Some(thousands.parse::<u64>().ok()?.checked_mul(1000)?);
            rest = after;
        }
    }
    Some((*which, when))
}

/// Prices by length of the prompt, each above where its range begins.
fn tiers(sent: Loose<List<Object<Tier>>>) -> Result<Vec<PriceBand>, String> {
    let tier = |Object(tier): Object<Tier>| -> Result<Option<PriceBand>, String> {
        let range = tier.range.lenient().map(|list| list.0).unwrap_or_default();
        let from = range.into_iter().next().and_then(Loose::lenient).filter(|from| *from >= 0.0);
        let prices = Prices {
            input: per_mtok(tier.input_cost_per_token, "tiered_pricing.input_cost_per_token")?,
            output: per_mtok(tier.output_cost_per_token, "tiered_pricing.output_cost_per_token")?,
            ..Prices::default()
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be at least 0")]
        let above_tokens = from.map(|from| from as u64);
        let is_sound = above_tokens.is_some() && !prices.is_unknown();
        Ok(is_sound.then(|| PriceBand { when: PriceWhen { above_tokens, ..PriceWhen::default() }, prices }))
    };
    let sent = sent.lenient().map(|list| list.0).unwrap_or_default();
    let bands: Result<Vec<_>, _> = sent.into_iter().filter_map(Loose::lenient).map(tier).collect();
    Ok(bands?.into_iter().flatten().collect())
}

/// The end date; text that is no day is an error, because a date that cannot be read must not look like "none known".
fn end_date(value: Loose<String>) -> Result<Option<NaiveDate>, String> {
    match value.get("deprecation_date")?.filter(|text| !text.trim().is_empty()) {
        Some(text) => day(&text).map(Some).ok_or_else(|| format!("deprecation_date {text:?} is no day")),
        None => Ok(None),
    }
}

/// USD per token as USD per million tokens, rounded to six decimals to shed float noise (3.9600000000000004 → 3.96).
pub(super) fn per_mtok(value: Loose<Decimal>, key: &str) -> Result<Option<Decimal>, String> {
    let Some(usd) = not_negative(value, key)? else { return Ok(None) };
    let scaled = usd.checked_mul(MILLION).ok_or_else(|| format!("{key} is out of range"))?;
    Ok(Some(scaled.round_dp(6)))
}

/// Provider and model of a key: the text before the first slash where that names a provider, else what the entry states.
fn split_key(key: &str, stated: Option<&str>) -> (ProviderId, String) {
    let prefix = key.split_once('/').filter(|(prefix, _)| is_provider_prefix(prefix, stated));
    match (prefix, stated) {
        (Some((prefix, model)), _) => (catalogue_provider(prefix), model.to_owned()),
        (None, Some(stated)) => (catalogue_provider(stated), key.to_owned()),
        (None, None) => (ProviderId::new("unknown"), key.to_owned()),
    }
}

/// Whether the text before the first slash is a provider: it starts the stated one (`vertex_ai` of
/// `vertex_ai-anthropic_models`), or nothing is stated. `medium/1024-x-1024/…` of `openai` is a quality.
fn is_provider_prefix(prefix: &str, stated: Option<&str>) -> bool {
    stated.is_none_or(|stated| stated.starts_with(prefix) || catalogue_provider(stated) == catalogue_provider(prefix))
}

/// Families of one provider that the map spells as `provider_suffix` or `provider-suffix`.
const FAMILIES: [(&str, &str); 3] = [("vertex_ai", "google-vertex"), ("bedrock", "amazon-bedrock"), ("azure", "azure")];

/// `LiteLLM` spelling → models.dev spelling, where a change of `_` to `-` does not do it.
const SPELLINGS: [(&str, &str); 24] = [
    ("amazon-nova", "nova"),
    ("amazon_nova", "nova"),
    ("bigmodel", "zhipuai"),
    ("clf_ai_gateway", "cloudflare-ai-gateway"),
    ("cloudflare", "cloudflare-workers-ai"),
    ("codestral", "mistral"),
    ("cohere_chat", "cohere"),
    ("dashscope", "alibaba"),
    ("fireworks_ai-embedding-models", "fireworks-ai"),
    ("friendliai", "friendli"),
    ("gemini", "google"),
    ("gmi", "gmicloud"),
    ("meta_llama", "llama"),
    ("moonshot", "moonshotai"),
    ("novita", "novita-ai"),
    ("nvidia_nim", "nvidia"),
    ("snowflake", "snowflake-cortex"),
    ("tencent", "tencent-tokenhub"),
    ("text-completion-codestral", "mistral"),
    ("text-completion-inception", "inception"),
    ("text-completion-openai", "openai"),
    ("together_ai", "togetherai"),
    ("vercel_ai_gateway", "vercel"),
    ("xiaomi_mimo", "xiaomi"),
];

/// A provider in the catalogue's spelling.
pub(super) fn catalogue_provider(litellm: &str) -> ProviderId {
    if let Some((_, provider)) = SPELLINGS.iter().find(|(spelling, _)| *spelling == litellm) {
        return ProviderId::new(*provider);
    }
    if let Some((_, provider)) = FAMILIES.iter().find(|(family, _)| litellm.starts_with(family)) {
        return ProviderId::new(*provider);
    }
    ProviderId::new(litellm.replace('_', "-"))
}

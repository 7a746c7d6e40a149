//! The `LiteLLM` price map: end date, where that date comes from, named successor and a second opinion on the price, per
//! offer. The same model ends on different days at different providers, so rows are never merged here.

use std::path::Path;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;

use super::body::{Body, fetched_at, sidecar_of};
use super::loose::{Entries, Loose, Object, day, not_negative, settle_zeros};
use crate::vocabulary::{Digest, Prices, ProviderId, RetirementRow, SourceId, SourceNote, SourceState};

/// The documentation row of the map; it is no model.
const SAMPLE_KEY: &str = "sample_spec";

/// One entry as sent; the other 250 keys are ignored.
#[derive(Deserialize)]
struct Entry {
    /// Provider in `LiteLLM`'s spelling.
    #[serde(default)]
    litellm_provider: Loose<String>,
    /// `YYYY-MM-DD`.
    #[serde(default)]
    deprecation_date: Loose<String>,
    /// Page the date comes from.
    #[serde(default)]
    deprecation_source: Loose<String>,
    /// Key of the successor, or free text.
    #[serde(default)]
    successor_model: Loose<String>,
    /// USD per token.
    #[serde(default)]
    input_cost_per_token: Loose<f64>,
    /// USD per token.
    #[serde(default)]
    output_cost_per_token: Loose<f64>,
    /// USD per token.
    #[serde(default)]
    cache_read_input_token_cost: Loose<f64>,
    /// USD per token.
    #[serde(default)]
    cache_creation_input_token_cost: Loose<f64>,
}

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
    let entries = match body.parse::<Loose<Entries<Object<Entry>>>>() {
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
fn row(key: &str, entry: Loose<Object<Entry>>) -> Result<Option<RetirementRow>, String> {
    let Loose::Value(Object(entry)) = entry else { return Err("is not an object".to_owned()) };
    let ends = end_date(entry.deprecation_date)?;
    let successor = entry.successor_model.get("successor_model")?.filter(|text| !text.trim().is_empty());
    let stated_by = entry.deprecation_source.get("deprecation_source")?.filter(|text| !text.trim().is_empty());
    let prices = Prices {
        input: per_mtok(entry.input_cost_per_token, "input_cost_per_token")?,
        output: per_mtok(entry.output_cost_per_token, "output_cost_per_token")?,
        cache_read: per_mtok(entry.cache_read_input_token_cost, "cache_read_input_token_cost")?,
        cache_write: per_mtok(entry.cache_creation_input_token_cost, "cache_creation_input_token_cost")?,
    };
    let prices = settle_zeros(prices, false);
    if ends.is_none() && successor.is_none() && prices == Prices::default() {
        return Ok(None);
    }
    let stated_provider = entry.litellm_provider.get("litellm_provider")?;
    let (provider, model) = split_key(key, stated_provider.as_deref());
    Ok(Some(RetirementRow { key: key.to_owned(), provider, model, ends, stated_by, successor, prices }))
}

/// The end date; text that is no day is an error, because a date that cannot be read must not look like "none known".
fn end_date(value: Loose<String>) -> Result<Option<NaiveDate>, String> {
    match value.get("deprecation_date")?.filter(|text| !text.trim().is_empty()) {
        Some(text) => day(&text).map(Some).ok_or_else(|| format!("deprecation_date {text:?} is no day")),
        None => Ok(None),
    }
}

/// USD per token as USD per million tokens, rounded to six decimals to shed float noise (3.9600000000000004 → 3.96).
fn per_mtok(value: Loose<f64>, key: &str) -> Result<Option<f64>, String> {
    let usd = not_negative(value, key)?.map(|usd| (usd * 1e12).round() / 1e6);
    if usd.is_some_and(f64::is_infinite) { Err(format!("{key} is out of range")) } else { Ok(usd) }
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
fn catalogue_provider(litellm: &str) -> ProviderId {
    if let Some((_, provider)) = SPELLINGS.iter().find(|(spelling, _)| *spelling == litellm) {
        return ProviderId::new(*provider);
    }
    if let Some((_, provider)) = FAMILIES.iter().find(|(family, _)| litellm.starts_with(family)) {
        return ProviderId::new(*provider);
    }
    ProviderId::new(litellm.replace('_', "-"))
}

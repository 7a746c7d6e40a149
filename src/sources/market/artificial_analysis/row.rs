//! One row of a page: a model at one effort. `null` is unknown; 0/0 is free; a lone zero price was rounded down.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Deserialize;

use crate::sources::market::loose::{Loose, Object, day, not_negative, settle_zeros};
use crate::vocabulary::{Effort, MarketModel, Prices};

/// One row as sent; unknown keys are ignored.
#[derive(Deserialize)]
pub(super) struct Row {
    /// UUID.
    #[serde(default)]
    id: Loose<String>,
    /// Display name.
    #[serde(default)]
    name: Loose<String>,
    /// Slug.
    #[serde(default)]
    slug: Loose<String>,
    /// `YYYY-MM-DD`.
    #[serde(default)]
    release_date: Loose<String>,
    /// Indices.
    #[serde(default)]
    evaluations: Loose<Object<Evaluations>>,
    /// USD per million tokens.
    #[serde(default)]
    pricing: Loose<Object<Pricing>>,
    /// Medians.
    #[serde(default)]
    performance: Loose<Object<Performance>>,
    /// Tokens per second, in the legacy shape.
    #[serde(default)]
    median_output_tokens_per_second: Loose<f64>,
    /// Seconds to the first answer token, in the legacy shape.
    #[serde(default)]
    median_time_to_first_answer_token: Loose<f64>,
}

/// Which of the two shapes a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// v2: null is unknown, 0/0 is free, speeds in an object.
    V2,
    /// Legacy: 0 is missing or free and cannot be told apart, so it is unknown; speeds are flat.
    Legacy,
}

/// The three indices, 0 to 100.
#[derive(Deserialize, Default)]
struct Evaluations {
    /// Intelligence index.
    #[serde(default, rename = "artificial_analysis_intelligence_index")]
    intelligence: Loose<f64>,
    /// Coding index.
    #[serde(default, rename = "artificial_analysis_coding_index")]
    coding: Loose<f64>,
    /// Agentic index.
    #[serde(default, rename = "artificial_analysis_agentic_index")]
    agentic: Loose<f64>,
}

/// Prices, USD per million tokens.
#[derive(Deserialize, Default)]
struct Pricing {
    /// Input.
    #[serde(default, rename = "price_1m_input_tokens")]
    input: Loose<Decimal>,
    /// Output.
    #[serde(default, rename = "price_1m_output_tokens")]
    output: Loose<Decimal>,
    /// Input read from cache.
    #[serde(default, rename = "price_1m_cache_hit_tokens")]
    cache_read: Loose<Decimal>,
    /// Input written to cache.
    #[serde(default, rename = "price_1m_cache_write_tokens")]
    cache_write: Loose<Decimal>,
}

/// Median speeds over the providers of the model.
#[derive(Deserialize, Default, Clone)]
struct Performance {
    /// Tokens per second.
    #[serde(default)]
    median_output_tokens_per_second: Loose<f64>,
    /// Seconds, thinking included.
    #[serde(default)]
    median_time_to_first_answer_token_seconds: Loose<f64>,
}

/// Names a rejected row by its id, else by its place on the page.
pub(super) fn row_reason(at: usize, id: Option<&str>, reason: &str) -> String {
    id.map_or_else(|| format!("row {}: {reason}", at + 1), |id| format!("row {id}: {reason}"))
}

/// One row as a market model, and whether a lone zero price was read as unknown. The error carries the id if there is one.
pub(super) fn market_model(
    row: Loose<Object<Row>>,
    shape: Shape,
) -> Result<(MarketModel, bool), (Option<String>, String)> {
    let Loose::Value(Object(row)) = row else { return Err((None, "is not an object".to_owned())) };
    let id = required(row.id, "id").map_err(|reason| (None, reason))?;
    let with_id = |reason: String| (Some(id.clone()), reason);
    let name = required(row.name, "name").map_err(with_id)?;
    let slug = required(row.slug, "slug").map_err(with_id)?;
    let released = match row.release_date.get("release_date").map_err(with_id)? {
        Some(text) => Some(day(&text).ok_or_else(|| with_id(format!("release_date {text:?} is no day")))?),
        None => None,
    };
    let stated = prices(row.pricing).map_err(with_id)?;
    let settled = settle_zeros(stated, shape == Shape::V2);
    let performance = match shape {
        Shape::V2 => row.performance,
        Shape::Legacy => Loose::Value(Object(Performance {
            median_output_tokens_per_second: row.median_output_tokens_per_second,
            median_time_to_first_answer_token_seconds: row.median_time_to_first_answer_token,
        })),
    };
    let (output_tps, first_answer_s) = speeds(performance).map_err(with_id)?;
    let indices = indices(row.evaluations).map_err(with_id)?;
    let effort = effort_of_name(&name);
    let prices = settled;
    let model = MarketModel { id, slug, name, effort, released, indices, prices, output_tps, first_answer_s };
    Ok((model, settled != stated))
}

/// A text that must be there and not empty.
fn required(value: Loose<String>, key: &str) -> Result<String, String> {
    value.get(key)?.filter(|text| !text.trim().is_empty()).ok_or_else(|| format!("{key} is missing"))
}

/// The indices the row has, in points from 0 to 100.
fn indices(evaluations: Loose<Object<Evaluations>>) -> Result<BTreeMap<String, f64>, String> {
    let evaluations = evaluations.get("evaluations")?.map(|object| object.0).unwrap_or_default();
    let mut indices = BTreeMap::new();
    for (name, value) in
        [("intelligence", evaluations.intelligence), ("coding", evaluations.coding), ("agentic", evaluations.agentic)]
    {
        match not_negative(value, &format!("{name} index"))? {
            Some(points) if points > 100.0 => return Err(format!("{name} index is above 100")),
            Some(points) => drop(indices.insert(name.to_owned(), points)),
            None => {}
        }
    }
    Ok(indices)
}

/// The prices as stated, zeros included.
fn prices(pricing: Loose<Object<Pricing>>) -> Result<Prices, String> {
    let pricing = pricing.get("pricing")?.map(|object| object.0).unwrap_or_default();
    Ok(Prices {
        input: not_negative(pricing.input, "input price")?,
        output: not_negative(pricing.output, "output price")?,
        cache_read: not_negative(pricing.cache_read, "cache-hit price")?,
        cache_write: not_negative(pricing.cache_write, "cache-write price")?,
    })
}

/// Tokens per second and seconds to the first answer token; 0 is "not measured".
fn speeds(performance: Loose<Object<Performance>>) -> Result<(Option<f64>, Option<f64>), String> {
    let performance = performance.get("performance")?.map(|object| object.0).unwrap_or_default();
    let tps = not_negative(performance.median_output_tokens_per_second, "output speed")?;
    let first = not_negative(performance.median_time_to_first_answer_token_seconds, "time to first answer token")?;
    Ok((tps.filter(|tps| *tps > 0.0), first.filter(|seconds| *seconds > 0.0)))
}

/// The levels and switches a display name may state.
const EFFORT_WORDS: [&str; 9] =
    ["max", "xhigh", "high", "medium", "low", "minimal", "non-reasoning", "reasoning", "adaptive"];

/// The effort a display name states in its parentheses, in lower case. "Non-reasoning, High" is `non-reasoning-high`;
/// "Reasoning, Max Effort" is `max`, for a level says that it reasons. Fallbacks, dates, "Preview" and "Based on …" are none.
pub fn effort_of_name(name: &str) -> Option<Effort> {
    let mut words: Vec<String> = Vec::new();
    for group in name.split('(').skip(1) {
        let inside = group.split(')').next().unwrap_or_default().to_lowercase();
        for word in inside.split(',').map(str::trim) {
            let word = word.strip_suffix(" effort").unwrap_or(word);
            let word = if word == "adaptive reasoning" { "adaptive" } else { word };
            if EFFORT_WORDS.contains(&word) && !words.iter().any(|other| other == word) {
                words.push(word.to_owned());
            }
        }
    }
    if words.len() > 1 {
        words.retain(|word| word != "reasoning" && word != "adaptive");
    }
    (!words.is_empty()).then(|| Effort::new(words.join("-")))
}

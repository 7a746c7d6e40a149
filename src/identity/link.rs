//! Whether the catalogue's link from an offer to a model is to be believed. It is a seed, not truth: it groups distilled
//! models and other snapshots under a base model now and then, so the offer's own words may veto it, never make it.

use std::collections::BTreeSet;

use super::words::is_number;

/// Words an offer may add to the model's name: price, speed and packaging, and the vendor's own name.
const HARMLESS: [&str; 34] = [
    "ai",
    "amazon",
    "anthropic",
    "awq",
    "batch",
    "bf16",
    "databricks",
    "deepseek",
    "fast",
    "fp4",
    "fp8",
    "free",
    "google",
    "highspeed",
    "hf",
    "instruct",
    "int4",
    "int8",
    "it",
    "latitude",
    "meta",
    "microsoft",
    "minimax",
    "mistralai",
    "moonshotai",
    "nvfp4",
    "nvidia",
    "openai",
    "qwen",
    "spot",
    "tee",
    "tencent",
    "xai",
    "zai",
];

/// Words that make another model; the model may not have one that the offer lacks.
const TIERS: [&str; 22] = [
    "air",
    "audio",
    "chat",
    "codex",
    "coder",
    "image",
    "large",
    "lite",
    "live",
    "max",
    "medium",
    "mini",
    "nano",
    "omni",
    "plus",
    "small",
    "spark",
    "super",
    "transcribe",
    "tts",
    "turbo",
    "ultra",
];

/// Whether an offer with this key may mean the model with that key: it adds nothing but harmless words, and the model has no
/// tier that the offer does not name.
pub(super) fn is_plausible(offer: &str, model: &str) -> bool {
    let offer: BTreeSet<&str> = offer.split('-').collect();
    let model: BTreeSet<&str> = model.split('-').collect();
    let is_harmless = |word: &&&str| HARMLESS.contains(*word) || is_window(word);
    offer.difference(&model).all(|word| is_harmless(&word))
        && model.difference(&offer).all(|word| !TIERS.contains(word))
}

/// Whether a word is a context window: `256k`, `1m`.
fn is_window(word: &str) -> bool {
    word == "1m" || word.strip_suffix('k').is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_holds_when_the_offer_says_no_more_than_the_model() {
        assert!(is_plausible("gpt-5-6", "gpt-5-6-sol"));
        assert!(is_plausible("k3-256k", "kimi-k3"));
        assert!(is_plausible("deepseek-v4-pro", "deepseek-v4-pro-0813"));
        assert!(is_plausible("kimi-k2-6-nvfp4", "kimi-k2-6"));
    }

    #[test]
    fn a_link_falls_when_the_offer_names_another_snapshot_derivative_or_tier() {
        assert!(!is_plausible("deepseek-r1-distill-qwen-32b", "deepseek-r1"));
        assert!(!is_plausible("qwen3-235b-a22b-instruct-2507", "qwen3-235b-a22b"));
        assert!(!is_plausible("qwen3-8-max-0902", "qwen3-8-max"));
        assert!(!is_plausible("kimi-for-coding", "kimi-k2-8-preview"));
        assert!(!is_plausible("gpt-5-4", "gpt-5-4-mini"));
    }
}

//! The traps of names, on a small catalogue of our own.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Identity, Resolution, Via};
use crate::vocabulary::{CatalogueOffer, Effort, MarketModel, Prices, ProviderId, RetirementRow};

/// An offer of which only names matter.
fn offer(provider: &str, id: &str, canonical: Option<&str>) -> CatalogueOffer {
    CatalogueOffer { canonical: canonical.map(str::to_owned), ..CatalogueOffer::new(ProviderId::new(provider), id) }
}

/// The catalogue of these tests.
fn catalogue() -> Vec<CatalogueOffer> {
    vec![
        offer("anthropic", "claude-opus-4", None),
        offer("anthropic", "claude-opus-4-8", Some("anthropic/claude-opus-4-8")),
        offer("anthropic", "claude-opus-5-5", Some("anthropic/claude-opus-5-5")),
        offer("anthropic", "claude-sonnet-4-5-20250929", None),
        offer("openai", "gpt-6.1-sol", Some("openai/gpt-6.1-sol")),
        offer("openai", "gpt-4o-2024-05-13", None),
        offer("openai", "gpt-4o-2024-11-20", None),
        offer("minimax", "MiniMax-M3", None),
        offer("zai", "glm-5.3", Some("zhipuai/glm-5.3")),
        offer("zai", "glm-5.3-flash", Some("zhipuai/glm-5.3-flash")),
        offer("plan", "for-coding", Some("moonshotai/kimi-k2.8-preview")),
        offer("host", "r1-distill-qwen-32b", Some("deepseek/deepseek-r1")),
        offer("host", "glm-latest", Some("zhipuai/glm-5.3")),
        offer("host", "gpt-daybreak", Some("openai/gpt-6.1-sol")),
    ]
}

/// Aliases of these tests.
const ALIASES: &str = "source,id,model,effort,note
models.dev,plan/moving,kimi-k2.8-preview,high,read again when the catalogue changes
any,deepseek-v4-pro,,,different snapshots in different places
artificialanalysis,0000-uuid,gpt-6.1-sol,,its slug was re-pointed
";

/// The identity of these tests.
fn identity() -> Identity {
    let (identity, rejects) = Identity::new(Some((ALIASES, "aliases.csv")), &catalogue());
    assert_eq!(rejects, []);
    identity
}

/// The model an offer means.
fn model(provider: &str, id: &str) -> Option<String> {
    identity().offer(&ProviderId::new(provider), id).model().map(ToString::to_string)
}

/// What a market row with this name means.
fn market(id: &str, name: &str, effort: Option<&str>) -> Resolution {
    identity().market(&MarketModel {
        id: id.to_owned(),
        slug: "claude-opus-4".to_owned(),
        name: name.to_owned(),
        effort: effort.map(Effort::from),
        released: None,
        indices: BTreeMap::new(),
        prices: Prices::default(),
        output_tps: None,
        first_answer_s: None,
    })
}

#[test]
fn one_model_has_one_name_whoever_hosts_it() {
    let spellings = [
        ("anthropic", "claude-opus-5-5"),
        ("github-copilot", "claude-opus-5.5"),
        ("openrouter", "anthropic/claude-opus-5.5"),
        ("amazon-bedrock", "us.anthropic.claude-opus-5-5"),
        ("amazon-bedrock", "global.anthropic.claude-opus-5-5-20260922-v1:0"),
        ("google-vertex", "claude-opus-5-5@default"),
        ("azure", "claude-opus-5-5-fast"),
        ("sap-ai-core", "anthropic--claude-5.5-opus"),
        ("gitlab", "duo-chat-opus-5-5"),
        ("databricks", "databricks-claude-opus-5-5"),
    ];
    for (provider, id) in spellings {
        assert_eq!(model(provider, id).as_deref(), Some("claude-opus-5-5"), "{provider}/{id}");
    }
    assert_eq!(model("azure", "eu/gpt-6.1-sol").as_deref(), Some("gpt-6.1-sol"));
    assert_eq!(model("fireworks-ai", "accounts/fireworks/models/glm-5p3").as_deref(), Some("glm-5.3"));
    assert_eq!(model("minimax-coding-plan", "MiniMax-M3").as_deref(), Some("minimax-m3"));
    assert_eq!(model("regolo-ai", "glm5.3-flash").as_deref(), Some("glm-5.3-flash"));
}

#[test]
fn a_decorated_id_never_falls_back_to_a_shorter_one() {
    for id in ["claude-opus-4-8[1m]", "claude-opus-4-8-20260528", "aws.claude-opus-4-8", "us.anthropic.claude-opus-4-8"]
    {
        assert_eq!(model("host", id).as_deref(), Some("claude-opus-4-8"), "{id}");
    }
    assert_ne!(model("host", "claude-opus-4-7"), model("host", "claude-opus-4-70"));
    assert_ne!(model("host", "grok-4.3"), model("host", "grok-4.30"));
    assert_eq!(model("host", "grok-4.3"), model("host", "grok-4-3"));
    assert_ne!(model("host", "glm-5.3-air"), model("host", "glm-5.3"));
    assert_ne!(model("host", "gpt-4-5"), model("host", "gpt-5-4"));
}

#[test]
fn a_date_is_noise_on_a_model_with_one_snapshot_and_part_of_the_name_on_one_with_several() {
    assert_eq!(
        model("amazon-bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        model("host", "claude-sonnet-4.5")
    );
    assert_ne!(model("openai", "gpt-4o-2024-05-13"), model("openai", "gpt-4o-2024-11-20"));
    assert_ne!(model("openai", "gpt-4o"), model("openai", "gpt-4o-2024-11-20"));
}

#[test]
fn a_catalogue_link_is_followed_unless_the_offers_own_words_deny_it() {
    let linked = identity().offer(&ProviderId::new("host"), "gpt-daybreak");
    assert_eq!(
        linked,
        Resolution::Unmatched { suggestion: Some("gpt-6.1-sol".to_owned()) },
        "daybreak is no word of Sol"
    );
    let linked = identity().offer(&ProviderId::new("zai"), "glm-5.3");
    assert!(matches!(linked, Resolution::Model { via: Via::Canonical, .. }), "{linked:?}");
    assert_ne!(model("host", "r1-distill-qwen-32b").as_deref(), Some("deepseek-r1"));
}

#[test]
fn a_moving_name_is_resolved_by_the_alias_file_only() {
    for (provider, id) in
        [("host", "glm-latest"), ("openrouter", "~zai/glm-latest"), ("plan", "for-coding"), ("host", "deepseek-v4-pro")]
    {
        assert_eq!(model(provider, id), None, "{provider}/{id}");
    }
    let moving = identity().offer(&ProviderId::new("plan"), "moving");
    assert_eq!(moving.effort().map(Effort::as_str), Some("high"));
    assert_eq!(moving.model().map(ToString::to_string).as_deref(), Some("kimi-k2.8-preview"));
}

#[test]
fn a_near_name_is_suggested_and_not_used() {
    let typo = identity().offer(&ProviderId::new("zai"), "glm");
    assert_eq!(typo.model(), None);
    let (identity, _) = Identity::new(None, &[offer("stepfun", "stepper", None)]);
    let near = identity.offer(&ProviderId::new("host"), "steper");
    assert_eq!(near, Resolution::Unmatched { suggestion: Some("stepper".to_owned()) });
}

#[test]
fn the_display_name_decides_and_not_the_slug() {
    let named = market("1", "Claude 4.8 Opus (Max, Default Fallback)", Some("max"));
    assert_eq!(named.model().map(ToString::to_string).as_deref(), Some("claude-opus-4-8"));
    assert_eq!(named.effort().map(Effort::as_str), Some("max"));
    let off = market("1", "GPT-6.1 Sol (Non-reasoning)", Some("non-reasoning"));
    assert_eq!(off.effort().map(Effort::as_str), Some("none"), "the catalogue's word");
    let dated = market("1", "Mistral Large (Feb '24)", None);
    assert_eq!(dated.model(), None, "a dated row is one snapshot, not the model");
    let by_uuid = market("0000-uuid", "Whatever 9 (High)", Some("high"));
    assert_eq!(by_uuid.model().map(ToString::to_string).as_deref(), Some("gpt-6.1-sol"));
    assert_eq!(by_uuid.effort().map(Effort::as_str), Some("high"));
}

/// A retirement row of Azure.
fn retiring(successor: Option<&str>) -> RetirementRow {
    RetirementRow {
        key: "azure_ai/claude-opus-4-8".to_owned(),
        provider: ProviderId::new("azure"),
        model: "claude-opus-4-8".to_owned(),
        ends: None,
        stated_by: None,
        successor: successor.map(str::to_owned),
        prices: Prices::default(),
        bands: Vec::new(),
    }
}

#[test]
fn a_successor_is_a_model_a_free_text_or_not_named() {
    let identity = identity();
    assert_eq!(identity.successor(&retiring(None)), None);
    let text = identity.successor(&retiring(Some("Nemotron Super VL")));
    assert_eq!(text, Some(Resolution::Unmatched { suggestion: None }));
    let key = identity.successor(&retiring(Some("azure_ai/claude-opus-5-5")));
    let name = key.and_then(|found| found.model().map(ToString::to_string));
    assert_eq!(name.as_deref(), Some("claude-opus-5-5"));
}

#[test]
fn a_broken_alias_line_is_rejected_with_its_place_and_two_that_contradict_are_both_left_out() {
    let text = "source,id,model,effort,note\nhearsay,a,b,,why\nany,,b,,why\nany,a-1,b,,\nany,a-1\nany,x-1,y-1,,one\nany,x-1,z-1,,two\n";
    let (identity, rejects) = Identity::new(Some((text, "aliases.csv")), &[]);
    let places: Vec<String> = rejects.iter().map(|reject| reject.place.to_string()).collect();
    assert_eq!(places, ["aliases.csv:2", "aliases.csv:3", "aliases.csv:4", "aliases.csv:5", "aliases.csv:7"]);
    let own = identity.offer(&ProviderId::new("host"), "x-1").model().map(ToString::to_string);
    assert_eq!(own.as_deref(), Some("x-1"), "neither y-1 nor z-1");
    let (_, rejects) = Identity::new(Some(("id,model\n", "aliases.csv")), &[]);
    assert_eq!(rejects.len(), 1);
}

#[test]
fn the_order_of_the_offers_changes_nothing() {
    let mut turned = catalogue();
    turned.reverse();
    let (other, _) = Identity::new(Some((ALIASES, "aliases.csv")), &turned);
    for offer in catalogue() {
        assert_eq!(identity().offer(&offer.provider, &offer.id), other.offer(&offer.provider, &offer.id));
    }
}

#[test]
fn a_price_or_speed_variant_is_told_from_the_plain_offer() {
    let is_variant = |id: &str| Identity::is_variant_offer(&ProviderId::new("host"), id);
    assert!(
        is_variant("z-ai/glm-5.3:free") && is_variant("claude-opus-5-5-fast") && is_variant("kimi-k2.7-code-highspeed")
    );
    assert!(!is_variant("grok-4.1-fast") && !is_variant("gpt-oss:20b") && !is_variant("glm-5.3"));
}

proptest! {
    #[test]
    fn any_text_is_a_model_or_unmatched_and_always_the_same(provider in "[a-z-]{0,12}", id in any::<String>()) {
        let identity = identity();
        let provider = ProviderId::new(provider);
        prop_assert_eq!(identity.offer(&provider, &id), identity.offer(&provider, &id));
        let _ = market("1", &id, None);
        let row = RetirementRow { key: id.clone(), model: id.clone(), ..retiring(Some(&id)) };
        let _ = (identity.retirement(&row), identity.successor(&row), Identity::new(Some((&id, "a")), &[]));
    }
}

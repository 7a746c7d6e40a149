//! The three readers on small bodies of our own: states of numbers, rejects with their line, and hostile bytes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::artificial_analysis::{Reading, effort_of_name, read_bodies};
use super::body::Body;
use super::{litellm, models_dev};
use crate::vocabulary::{Prices, SourceState};

/// A known price.
#[expect(clippy::unnecessary_wraps, reason = "prices are known or not")]
fn usd(text: &str) -> Option<rust_decimal::Decimal> {
    Some(text.parse().expect("a decimal"))
}

/// A market row with these prices and nothing else unusual.
fn market_row(id: &str, name: &str, input: &Value, output: &Value, cache: &Value) -> Value {
    json!({
        "id": id, "name": name, "slug": "s", "release_date": "2026-09-22", "model_creator": null,
        "evaluations": {"artificial_analysis_intelligence_index": 50.5, "artificial_analysis_coding_index": null},
        "pricing": {"price_1m_input_tokens": input, "price_1m_output_tokens": output, "price_1m_cache_hit_tokens": cache},
        "performance": {"median_output_tokens_per_second": 80, "median_time_to_first_answer_token_seconds": null},
    })
}

/// A page of rows.
fn page(number: u32, total: u32, version: &Value, rows: &[Value]) -> String {
    json!({
        "tier": "free", "intelligence_index_version": version, "data": rows,
        "pagination": {"page": number, "page_size": 200, "total_pages": total, "has_more": number < total},
    })
    .to_string()
}

/// Reads pages given as text.
fn market(pages: &[&str]) -> Reading {
    let bodies: Vec<Body> = pages.iter().map(|text| Body::new("aa.json", text.as_bytes().to_vec())).collect();
    read_bodies(&bodies, "aa")
}

/// Prices of the only row of a page with these prices.
fn market_prices(input: &Value, output: &Value, cache: &Value) -> Prices {
    market(&[&page(1, 1, &json!(4.3), &[market_row("a", "A 1", input, output, cache)])]).0[0].prices
}

/// The reason of a failed state.
fn reason(state: &SourceState) -> &str {
    match state {
        SourceState::Failed(reason) => reason,
        other => panic!("not failed: {other:?}"),
    }
}

#[test]
fn a_null_price_is_unknown_zero_and_zero_is_free_and_a_lone_zero_was_rounded() {
    assert_eq!(market_prices(&json!(null), &json!(null), &json!(null)), Prices::default());
    let free = Prices { input: usd("0.0"), output: usd("0.0"), cache_read: usd("0.0"), cache_write: None };
    assert_eq!(market_prices(&json!(0), &json!(0), &json!(0)), free);
    let rounded = Prices { input: usd("0.4"), output: usd("2.0"), cache_read: None, cache_write: None };
    assert_eq!(market_prices(&json!(0.4), &json!(2), &json!(0)), rounded);
}

#[test]
fn a_row_with_a_negative_price_a_text_index_or_no_id_is_counted_and_named_with_its_line() {
    let good = market_row("good", "A 1", &json!(1), &json!(2), &json!(null)).to_string();
    let dear = market_row("dear", "B 1", &json!(-1), &json!(2), &json!(null)).to_string();
    let text = market_row("text", "C 1", &json!("1.0"), &json!(2), &json!(null)).to_string();
    let body = format!(
        "{{\"intelligence_index_version\": \"4.3\",\n\"pagination\": {{\"page\": 1, \"total_pages\": 1}},\n\"data\": [\n{good},\n{dear},\n{text},\n5]}}"
    );
    let (rows, version, note) = market(&[&body]);
    assert_eq!((rows.len(), version.as_deref()), (1, Some("4.3")));
    assert_eq!((note.rows, note.used, note.rejected), (4, 1, 3));
    let shown: Vec<String> = note.rejects.iter().map(|reject| format!("{}: {}", reject.place, reject.reason)).collect();
    assert_eq!(
        shown,
        [
            "aa.json:5: row dear: input price is below 0",
            "aa.json:6: row text: input price is of the wrong kind",
            "aa.json:1: row 4: is not an object",
        ]
    );
}

#[test]
fn a_snapshot_needs_all_its_pages_of_one_version() {
    let row = |id: &str| [market_row(id, "A 1", &json!(1), &json!(2), &json!(null))];
    let (one, two) = (page(1, 2, &json!(4.3), &row("a")), page(2, 2, &json!("4.3"), &row("b")));
    let (rows, version, note) = market(&[&two, &one]);
    assert_eq!((rows.len(), version.as_deref(), note.state), (2, Some("4.3"), SourceState::Fresh));
    let (rows, _, note) = market(&[&one]);
    assert_eq!((rows.len(), note.rows), (0, 1));
    assert_eq!(reason(&note.state), "aa:1: holds 1 of 2 pages");
    let other = page(2, 2, &json!(4.1), &row("b"));
    assert!(reason(&market(&[&one, &other]).2.state).contains("another intelligence_index_version"));
    assert!(reason(&market(&[&one, &one]).2.state).contains("is page 1 again"));
    assert!(reason(&market(&[&page(1, 1, &json!(4.3), &[])]).2.state).contains("no usable row"));
    assert!(reason(&market(&[r#"{"status": 200, "data": []}"#]).2.state).contains("no v2 page"));
    assert!(reason(&market(&[""]).2.state).contains("is empty"));
}

#[test]
fn the_effort_stands_in_the_parenthesis_of_the_name() {
    let effort = |name: &str| effort_of_name(name).map(|effort| effort.as_str().to_owned());
    assert_eq!(effort("Claude Opus 5.5 (Max, Default Fallback)").as_deref(), Some("max"));
    assert_eq!(effort("GPT-5.4 mini (Xhigh)").as_deref(), Some("xhigh"));
    assert_eq!(effort("Claude Opus 4.6 (Non-reasoning, High)").as_deref(), Some("non-reasoning-high"));
    assert_eq!(effort("DeepSeek V4 Pro (Reasoning, Max Effort)").as_deref(), Some("max"));
    assert_eq!(effort("Solar Pro 2 (Preview) (Reasoning)").as_deref(), Some("reasoning"));
    assert_eq!(effort("HyperNova 60B (High, Based on gpt-oss-120b)").as_deref(), Some("high"));
    assert_eq!(effort("GPT-4o (Nov '24)"), None);
    assert_eq!(effort("Qwen3.7 Max"), None, "Max outside the parenthesis is the tier");
}

/// A small catalogue.
const CATALOGUE: &str = r#"{
"plan": {"id": "plan", "models": {
  "m-1": {"id": "m-1", "release_date": "2026-09", "tool_call": true, "cost": {"input": 0, "output": 0, "cache_read": 0},
    "reasoning_options": [{"type": "toggle"}, {"type": "effort", "values": ["low", null, "max", "low"]}]},
  "m-1:free": {"id": "m-1:free", "release_date": "2026-09-02", "cost": {"input": 0, "output": 0}},
  "m-2": {"id": "m-2", "limit": {"context": 200000}, "open_weights": true, "canonical_model_id": "lab/m-2",
    "cost": {"input": 1.5, "output": 6, "cache_read": 0}},
  "bad": {"id": "bad", "cost": {"input": -1, "output": 2}}}},
"hollow": {"id": "hollow"}}"#;

#[test]
fn a_catalogue_zero_is_unknown_unless_the_id_says_free() {
    let (offers, note) = models_dev::read_body(&Body::new("api.json", CATALOGUE.as_bytes().to_vec()));
    let ids: Vec<&str> = offers.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["m-1", "m-1:free", "m-2"]);
    assert_eq!((note.rows, note.used, note.rejected), (4, 3, 2));
    assert_eq!(offers[0].prices, Prices::default());
    assert_eq!(offers[1].prices, Prices { input: usd("0.0"), output: usd("0.0"), ..Prices::default() });
    assert_eq!(offers[2].prices, Prices { input: usd("1.5"), output: usd("6.0"), ..Prices::default() });
    assert_eq!(offers[0].efforts, ["low", "max"]);
    assert_eq!(offers[0].released, None, "a month is not a day");
    assert_eq!(offers[1].released.map(|day| day.to_string()).as_deref(), Some("2026-09-02"));
    assert_eq!((offers[2].context, offers[2].open_weights), (Some(200_000), true));
    let shown: Vec<String> = note.rejects.iter().map(|reject| format!("{}: {}", reject.place, reject.reason)).collect();
    assert_eq!(shown, ["api.json:9: provider hollow has no models", "api.json:8: plan/bad: cost.input is below 0"]);
}

/// A small price map.
const MAP: &str = r#"{
"sample_spec": {"litellm_provider": "one of the docs", "deprecation_date": "date when it ends", "input_cost_per_token": 0},
"gemini/g-1": {"litellm_provider": "gemini", "deprecation_date": "2026-12-01", "successor_model": "gemini/g-2"},
"us.anthropic.c-1-v1:0": {"litellm_provider": "bedrock_converse", "input_cost_per_token": 3.96e-06, "output_cost_per_token": 1e-05},
"vertex_ai/c-1@default": {"litellm_provider": "vertex_ai-anthropic_models", "input_cost_per_token": 3e-06},
"github_copilot/c-1": {"litellm_provider": "github_copilot", "input_cost_per_token": 0, "output_cost_per_token": 0},
"medium/1024-x-1024/img": {"litellm_provider": "openai", "input_cost_per_token": 1e-06},
"c-latest": {"alias_of": "c-1"},
"zai/late": {"litellm_provider": "zai", "deprecation_date": "2026-13-01"},
"zai/num": 7}"#;

#[test]
fn the_map_keeps_rows_of_use_per_offer_in_the_catalogues_spelling() {
    let (rows, note) = litellm::read_body(&Body::new("map.json", MAP.as_bytes().to_vec()));
    let shown: Vec<(&str, &str, &str)> =
        rows.iter().map(|row| (row.key.as_str(), row.provider.as_str(), row.model.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("gemini/g-1", "google", "g-1"),
            ("medium/1024-x-1024/img", "openai", "medium/1024-x-1024/img"),
            ("us.anthropic.c-1-v1:0", "amazon-bedrock", "us.anthropic.c-1-v1:0"),
            ("vertex_ai/c-1@default", "google-vertex", "c-1@default"),
        ]
    );
    assert_eq!((note.rows, note.used, note.rejected), (8, 4, 2));
    assert_eq!(rows[0].ends.map(|day| day.to_string()).as_deref(), Some("2026-12-01"));
    assert_eq!(rows[0].successor.as_deref(), Some("gemini/g-2"));
    assert_eq!((rows[2].prices.input, rows[2].prices.output), (usd("3.96"), usd("10.0")));
    let places: Vec<String> = note.rejects.iter().map(|reject| reject.place.to_string()).collect();
    assert_eq!(places, ["map.json:9", "map.json:10"], "an unreadable end date must not look like none");
}

#[test]
fn a_key_that_stands_twice_is_not_used_whichever_comes_first() {
    let twice = r#"{"zai/a": {"input_cost_per_token": 1e-06}, "zai/b": {"input_cost_per_token": 2e-06}, "zai/a": {"input_cost_per_token": 9e-06}}"#;
    let (rows, note) = litellm::read_body(&Body::new("map.json", twice.as_bytes().to_vec()));
    assert_eq!(rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["zai/b"]);
    assert_eq!(note.rejected, 1);
}

/// Every reader on some bytes: rows only from a fresh source, and counts that fit.
fn read_all(bytes: &[u8]) {
    let body = || Body::new("x.json", bytes.to_vec());
    let (models, _, note) = read_bodies(&[body()], "x.json");
    assert_eq!(models.is_empty(), note.state != SourceState::Fresh);
    for prices in models.iter().map(|model| model.prices) {
        assert!(prices.input.is_none_or(|usd| !usd.is_sign_negative() || usd.is_zero()));
    }
    let (offers, note) = models_dev::read_body(&body());
    assert_eq!((offers.is_empty(), offers.len() as u64), (note.state != SourceState::Fresh, note.used));
    let (rows, note) = litellm::read_body(&body());
    assert_eq!((rows.is_empty(), rows.len() as u64), (note.state != SourceState::Fresh, note.used));
}

proptest! {
    #[test]
    fn cut_and_flipped_bodies_are_read_or_rejected(which in 0..3_usize, cut in 0.0..1.0_f64, flips in proptest::collection::vec((0.0..1.0_f64, 0..8_u8), 0..4)) {
        let sample = match which {
            0 => page(1, 1, &json!(4.3), &[market_row("a", "A 1 (Max)", &json!(1), &json!(2), &json!(0.1))]),
            1 => CATALOGUE.to_owned(),
            _ => MAP.to_owned(),
        };
        let mut bytes = sample.into_bytes();
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small body")]
        let at = |fraction: f64, len: usize| (fraction * len as f64) as usize;
        for (place, bit) in flips {
            let place = at(place, bytes.len());
            bytes[place] ^= 1 << bit;
        }
        read_all(&bytes);
        bytes.truncate(at(cut, bytes.len()));
        read_all(&bytes);
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }
}

#[test]
fn deep_nesting_and_huge_numbers_fail_the_body_and_not_the_run() {
    read_all("[".repeat(100_000).as_bytes());
    read_all(format!("{}1", "{\"a\":".repeat(100_000)).as_bytes());
    read_all(br#"{"zai/a": {"input_cost_per_token": 1e999}}"#);
    read_all(br#"{"zai/a": {"input_cost_per_token": 1e300}}"#);
}

//! What calls cost by list: the price of their day, of the size of their prompt and of their way of calling; else unknown, by name.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::fresh;

/// A model of the catalogue with a price.
fn priced(cost: &Value) -> Value {
    json!({"id": "m", "name": "m", "cost": cost, "tool_call": true, "limit": {"context": 1_000_000, "output": 64_000}})
}

/// A workspace whose catalogue holds these models of one provider, and whose dated list these prices of `anthropic`.
fn workspace(name: &str, provider: &str, models: &Value, list: &Value, store: &str) -> PathBuf {
    let folder = fresh(&format!("prices-{name}"));
    let fetched = r#"{"fetched_at": "2026-11-29T11:00:00Z"}"#;
    let write = |path: &str, text: String| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "opencode.jsonc",
        r#"{"experimental": {"model_routes": {"w": {"targets": ["anthropic/claude-opus-4-6"]}}}}"#.to_owned(),
    );
    write("models.json", json!({provider: {"id": provider, "name": provider, "models": models}}).to_string());
    write("models.json.meta.json", fetched.to_owned());
    let mut data = format!("  catalogues: models.json\n  session_stores:\n    - {store}\n");
    if !list.is_null() {
        write("prices.json", json!([{"id": "anthropic", "name": "a", "api_pattern": "x", "models": list}]).to_string());
        write("prices.json.meta.json", fetched.to_owned());
        data.push_str("  prices: prices.json\n");
    }
    write("i.md", format!("---\nconfig:\n  opencode: opencode.jsonc\ndata:\n{data}---\nWords.\n"));
    folder
}

/// A store of Claude Code.
const CLAUDE: &str = "{ kind: claude-code, path: claude }";

/// Writes responses of Claude Code: instant, model and usage.
fn claude(folder: &Path, responses: &[(&str, &str, Value)]) {
    let line = |(number, (at, model, usage)): (usize, &(&str, &str, Value))| {
        let message = json!({"id": format!("msg_{number}"), "role": "assistant", "model": model, "stop_reason": "end_turn",
            "usage": usage, "content": []});
        let record = json!({"type": "assistant", "uuid": format!("u{number}"), "sessionId": "s", "timestamp": at,
            "requestId": format!("r{number}"), "message": message});
        format!("{record}\n")
    };
    let project = folder.join("claude/projects/p");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("s.jsonl"), responses.iter().enumerate().map(line).collect::<String>()).unwrap();
}

/// The document that `sessions` prints.
fn sessions(folder: &Path, args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(folder)
        .env_clear()
        .args(["sessions", "-i", "i.md", "--now", "2026-11-29T12:00:00Z", "--format", "json", "--no-cache"])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Cost, priced responses and responses of every row.
fn costs(document: &Value) -> Vec<(Option<f64>, u64, u64)> {
    let count = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let rows = document["rows"].as_array().unwrap();
    rows.iter().map(|row| (row["cost_usd"].as_f64(), count(row, "n_cost"), count(row, "responses"))).collect()
}

/// The models that are named as without a price.
fn unpriced(document: &Value) -> Vec<String> {
    let remarks = document["remarks"].as_array().unwrap();
    let said = remarks.iter().find_map(|remark| remark.as_str().unwrap().strip_prefix("no price for "));
    said.map(|said| said.split(", ").map(str::to_owned).collect()).unwrap_or_default()
}

/// Usage without cache.
fn usage(input: u64, output: u64) -> Value {
    json!({"input_tokens": input, "output_tokens": output})
}

/// An instant at which most responses are.
const NOON: &str = "2026-11-20T12:00:00Z";

#[test]
fn a_long_prompt_costs_its_tier_and_each_response_its_own() {
    let tier = json!({"input": 6, "output": 22.5, "cache_read": 0.6, "tier": {"type": "context", "size": 200_000}});
    let higher = json!({"input": 9, "output": 30, "tier": {"type": "context", "size": 512_000}});
    let tiers = json!({"input": 3, "output": 15, "cache_read": 0.3, "tiers": [higher, tier]});
    let models = json!({"claude-opus-4-6": priced(&tiers)});
    let cached = json!({"input_tokens": 1_000, "cache_read_input_tokens": 250_000, "output_tokens": 100});
    let short = json!({"input_tokens": 1_000, "cache_read_input_tokens": 150_000, "output_tokens": 100});
    for (name, usages, wanted) in [
        // 250,000 × 6 + 100 × 22.5 = 1.50225; at the price of short prompts 0.7515.
        ("long", vec![usage(250_000, 100)], 1.502_25),
        // 1,000 × 6 + 250,000 × 0.6 + 100 × 22.5 = 0.15825: what was read from the cache is part of the prompt.
        ("cached", vec![cached], 0.158_25),
        // At the limit the lower price, one token above it the higher one for all of them.
        ("at the limit", vec![usage(200_000, 0)], 0.6),
        ("above it", vec![usage(200_001, 0)], 1.200_006),
        // 600,000 × 9: of the tiers that are crossed the highest, in whatever order they are listed.
        ("twice above", vec![usage(600_000, 0)], 5.4),
        // 0.0045 + 1.50225 + 0.3 × 0.15 + 0.003 + 0.0015: two short ones whose sum is long cost two short ones.
        ("mixed", vec![usage(1_000, 100), usage(250_000, 100), short], 0.0045 + 1.502_25 + 0.0495),
    ] {
        let folder = workspace(&format!("tier-{}", name.replace(' ', "-")), "anthropic", &models, &Value::Null, CLAUDE);
        let responses: Vec<_> = usages.into_iter().map(|usage| (NOON, "claude-opus-4-6", usage)).collect();
        claude(&folder, &responses);
        let found = costs(&sessions(&folder, &[]));
        let n = responses.len() as u64;
        assert_eq!((found.len(), found[0].1, found[0].2), (1, n, n), "{name}");
        assert!((found[0].0.unwrap() - wanted).abs() < 1e-12, "{name}: {found:?}, wanted {wanted}");
    }
}

#[test]
fn a_tier_inside_a_band_of_prompts_is_unknown_and_not_guessed() {
    let tier = json!({"input": 6, "output": 22.5, "tier": {"type": "context", "size": 150_000}});
    let models = json!({"claude-opus-4-6": priced(&json!({"input": 3, "output": 15, "tiers": [tier]}))});
    let folder = workspace("tier-odd", "anthropic", &models, &Value::Null, CLAUDE);
    let response = |input| (NOON, "claude-opus-4-6", usage(input, 0));
    claude(&folder, &[response(100_000), response(160_000), response(300_000)]);
    let found = sessions(&folder, &[]);
    // 100,000 × 3 and 300,000 × 6; whether 160,000 lies above 150,000 the sums no longer tell.
    assert_eq!(costs(&found), [(Some(2.1), 2, 3)]);
    let why = "its price depends on the hour or on a prompt size that is not counted apart";
    assert_eq!(unpriced(&found), [format!("anthropic/claude-opus-4-6 ({why})")]);
}

/// The dated list of a model whose price fell on 15 November.
fn fallen() -> Value {
    json!([{"id": "claude-opus-4-6", "match": {"equals": "claude-opus-4-6"}, "prices": [
        {"prices": {"input_mtok": 10, "output_mtok": 50}},
        {"constraint": {"start_date": "2026-11-15"}, "prices": {"input_mtok": 5, "output_mtok": 25}},
        {"constraint": {"start_date": "2026-12-15"}, "prices": {"input_mtok": 1, "output_mtok": 1}}]}])
}

#[test]
fn a_day_keeps_the_price_of_its_day() {
    let stated = json!({"claude-opus-4-6": priced(&json!({"input": 5, "output": 25}))});
    let unstated = json!({"claude-opus-4-6": {"id": "m", "name": "m", "limit": {"context": 1_000_000}}});
    for (name, models) in [("stated", stated), ("unstated", unstated)] {
        let folder = workspace(&format!("dated-{name}"), "anthropic", &models, &fallen(), CLAUDE);
        let response = |at| (at, "claude-opus-4-6", usage(1_000, 100));
        claude(
            &folder,
            &[response("2026-11-10T10:00:00Z"), response("2026-11-15T00:00:00Z"), response("2026-11-14T23:59:59Z")],
        );
        // 1,000 × 10 + 100 × 50 = 0.015; from the 15th on half of it; what begins in December is not yet.
        let found = sessions(&folder, &["--by", "day"]);
        let wanted = [(Some(0.015), 1, 1), (Some(0.015), 1, 1), (Some(0.0075), 1, 1)];
        assert_eq!(costs(&found), wanted, "{name}: {found}");
    }
}

#[test]
fn a_list_without_days_prices_what_the_catalogue_does_not_and_gives_way_where_it_does() {
    let list = json!([{"id": "claude-opus-4-6", "prices": {"input_mtok": {"base": 5, "tiers": [{"start": 200_000, "price": 10}]},
        "output_mtok": {"base": 25, "tiers": [{"start": 200_000, "price": 37.5}]}}}]);
    let unstated = json!({"claude-opus-4-6": {"id": "m", "name": "m", "limit": {"context": 1_000_000}}});
    let stated = json!({"claude-opus-4-6": priced(&json!({"input": 3, "output": 15}))});
    // 250,000 × 10 + 100 × 37.5 = 2.50375; the catalogue's own 250,000 × 3 + 100 × 15 = 0.7515.
    for (name, models, wanted) in [("without", unstated, 2.503_75), ("with", stated, 0.7515)] {
        let folder = workspace(&format!("undated-{name}"), "anthropic", &models, &list, CLAUDE);
        claude(&folder, &[(NOON, "claude-opus-4-6", usage(250_000, 100))]);
        assert_eq!(costs(&sessions(&folder, &[])), [(Some(wanted), 1, 1)], "{name}");
    }
}

#[test]
fn another_way_of_calling_has_its_own_price_or_none() {
    let plain = json!({"input": 5, "output": 25, "cache_read": 0.5});
    let mut with_fast = priced(&plain);
    with_fast["experimental"] = json!({"modes": {"fast": {"cost": {"input": 30, "output": 150}}}});
    let variant =
        |when: Value, input, output| json!({"when": when, "prices": {"input_mtok": input, "output_mtok": output}});
    let variants =
        json!([variant(json!({"processing": "batch"}), 2.5, 12.5), variant(json!({"speed": "fast"}), 30.0, 150.0)]);
    let list =
        json!([{"id": "claude-opus-4-6", "prices": {"input_mtok": 5, "output_mtok": 25}, "price_variants": variants}]);
    let called = |key: &str, value: &str| {
        let mut usage = usage(1_000, 100);
        usage[key] = json!(value);
        usage
    };
    let cached = json!({"input_tokens": 1_000, "cache_read_input_tokens": 10, "output_tokens": 100, "speed": "fast"});
    let both = json!({"input_tokens": 1_000, "output_tokens": 100, "speed": "fast", "service_tier": "batch"});
    let with_both = json!({"claude-opus-4-6": with_fast});
    let without = json!({"claude-opus-4-6": priced(&plain)});
    let none = Value::Null;
    for (name, models, list, usage, wanted, part) in [
        // Standard: 1,000 × 5 + 100 × 25 = 0.0075; fast six times, batch half of it.
        ("standard", &without, &none, called("service_tier", "standard"), Some(0.0075), ""),
        ("fast", &with_both, &none, called("speed", "fast"), Some(0.045), ""),
        ("fast-list", &without, &list, called("speed", "fast"), Some(0.045), ""),
        ("batch-list", &without, &list, called("service_tier", "batch"), Some(0.00375), ""),
        ("fast-none", &without, &none, called("speed", "fast"), None, " (fast mode)"),
        ("batch-none", &without, &none, called("service_tier", "batch"), None, " (batch mode)"),
        ("priority-none", &without, &list, called("service_tier", "priority"), None, " (priority mode)"),
        ("other", &without, &list, called("service_tier", "flex"), None, " (another service tier)"),
        ("fast-batch", &with_both, &list, both, None, " (another service tier)"),
        ("fast-cache", &with_both, &none, cached, None, " (cache reads of fast mode)"),
    ] {
        let folder = workspace(&format!("mode-{name}"), "anthropic", models, list, CLAUDE);
        claude(&folder, &[(NOON, "claude-opus-4-6", usage)]);
        let found = sessions(&folder, &[]);
        assert_eq!(costs(&found), [(wanted, u64::from(wanted.is_some()), 1)], "{name}");
        let named = if wanted.is_some() { vec![] } else { vec![format!("anthropic/claude-opus-4-6{part}")] };
        assert_eq!(unpriced(&found), named, "{name}");
    }
}

#[test]
fn what_has_no_price_is_named_and_never_0() {
    let models = json!({
        "claude-opus-4-6": priced(&json!({"input": 5, "output": 25})),
        "claude-haiku-4-5": priced(&json!({"input": 0, "output": 0, "cache_read": 0})),
        "claude-sonnet-4-5": {"id": "m", "name": "m", "limit": {"context": 1_000_000}},
    });
    let folder = workspace("named", "anthropic", &models, &Value::Null, CLAUDE);
    let cached = json!({"input_tokens": 1_000, "cache_read_input_tokens": 10, "output_tokens": 100});
    claude(
        &folder,
        &[
            (NOON, "claude-opus-4-6", usage(1_000, 100)),
            (NOON, "claude-opus-4-6", cached),
            (NOON, "claude-haiku-4-5", usage(1_000, 100)),
            (NOON, "claude-sonnet-4-5", usage(1_000, 100)),
            (NOON, "k9", usage(1_000, 100)),
        ],
    );
    let found = sessions(&folder, &[]);
    let wanted = ["claude-haiku-4-5", "claude-opus-4-6 (cache reads)", "claude-sonnet-4-5", "k9"];
    assert_eq!(unpriced(&found), wanted.map(|name| format!("anthropic/{name}")));
    // Rows by model: haiku, opus, sonnet, k9. Of the two of opus one is priced.
    assert_eq!(costs(&found), [(None, 0, 1), (Some(0.0075), 1, 2), (None, 0, 1), (None, 0, 1)]);
    let csv = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(&folder)
        .args(["sessions", "-i", "i.md", "--now", "2026-11-29T12:00:00Z", "--format", "csv", "--no-cache"])
        .output()
        .unwrap();
    let mut reader = csv::Reader::from_reader(&csv.stdout[..]);
    let place = reader.headers().unwrap().iter().position(|name| name == "cost_usd").unwrap();
    let cells: Vec<String> = reader.records().map(|row| row.unwrap()[place].to_owned()).collect();
    assert_eq!(cells, ["", "0.0075", "", ""], "an empty cell is unknown");
}

#[test]
fn an_offer_that_calls_itself_free_costs_nothing_and_prices_no_other() {
    let models = json!({
        "deepseek/deepseek-v4-pro": priced(&json!({"input": 1, "output": 2})),
        "deepseek/deepseek-v4-pro:free": priced(&json!({"input": 0, "output": 0})),
    });
    let store = "{ kind: claude-code, path: claude, provider: openrouter }";
    let folder = workspace("free", "openrouter", &models, &Value::Null, store);
    claude(
        &folder,
        &[
            (NOON, "deepseek/deepseek-v4-pro", usage(1_000_000, 0)),
            (NOON, "deepseek/deepseek-v4-pro:free", usage(1_000_000, 0)),
        ],
    );
    let found = sessions(&folder, &[]);
    assert_eq!(costs(&found), [(Some(1.0), 1, 1), (Some(0.0), 1, 1)], "{found}");
}

/// A log of a gateway: `status`, `spend` and tokens of each row.
fn spend_log(folder: &Path, columns: &str, rows: &[&str]) {
    let head = format!(
        "request_id,call_type,startTime,endTime,model,custom_llm_provider,status,prompt_tokens,completion_tokens{columns}\n"
    );
    let row = |(number, rest): (usize, &&str)| {
        format!("r{number},acompletion,2026-11-20 10:00:00,2026-11-20 10:00:05,claude-opus-4-6,anthropic,{rest}\n")
    };
    std::fs::write(folder.join("log.csv"), head + &rows.iter().enumerate().map(row).collect::<String>()).unwrap();
}

#[test]
fn a_bill_of_0_is_unknown_and_one_that_is_not_stated_is_tokens_times_price() {
    let models = json!({"claude-opus-4-6": priced(&json!({"input": 5, "output": 25}))});
    let store = "{ kind: litellm, path: log.csv }";
    let folder = workspace("bills", "anthropic", &models, &Value::Null, store);
    // Billed 0.5, billed 0, not stated (0.0075 by price), and a failure that cost 0.25 and is no response.
    spend_log(
        &folder,
        ",spend",
        &["success,1000,100,0.5", "success,1000,100,0", "success,1000,100,", "failure,10,1,0.25"],
    );
    let found = sessions(&folder, &[]);
    assert_eq!(costs(&found), [(Some(0.7575), 2, 3)], "{found}");
    assert_eq!(found["rows"][0]["priced_share"], json!(2.0 / 3.0));
    assert_eq!(unpriced(&found), Vec::<String>::new(), "the model has a price; what lacks is the bill");
    assert!(found["remarks"].to_string().contains("1 responses with tokens and no bill"), "{found}");
    // Without the column every response costs its tokens.
    spend_log(&folder, "", &["success,1000,100", "success,1000,100", "failure,10,1"]);
    assert_eq!(costs(&sessions(&folder, &[])), [(Some(0.015), 2, 2)]);
}

#[test]
fn messages_of_opencode_are_billed_or_priced_one_by_one() {
    let models = json!({"m": priced(&json!({"input": 5, "output": 25}))});
    let folder = workspace("opencode", "p", &models, &Value::Null, "{ kind: opencode, path: oc }");
    std::fs::create_dir_all(folder.join("oc/storage/message/s")).unwrap();
    for (name, cost) in [("a", json!(0.5)), ("b", json!(0)), ("c", Value::Null)] {
        let tokens = json!({"input": 1_000, "output": 100, "reasoning": 0, "cache": {"read": 0, "write": 0}});
        let start = 1_795_176_000_000_u64 + 60_000 * u64::from(name.as_bytes()[0]);
        let message = json!({"role": "assistant", "providerID": "p", "modelID": "m", "cost": cost,
            "tokens": tokens, "time": {"created": start, "completed": start + 5_000}});
        std::fs::write(folder.join(format!("oc/storage/message/s/{name}.json")), message.to_string()).unwrap();
    }
    let found = sessions(&folder, &[]);
    // 0.5 as billed, 0.0075 by the price of the offer, whatever model it is; what was billed 0 is unknown.
    assert_eq!(costs(&found), [(Some(0.5075), 2, 3)], "{found}");
}

#[test]
fn a_price_by_the_hour_holds_where_all_calls_of_a_row_are_in_its_hours() {
    let prices = json!([{"prices": {"input_mtok": 10, "output_mtok": 10}},
        {"constraint": {"start_time": "01:00:00Z", "end_time": "04:00:00Z"}, "prices": {"input_mtok": 20, "output_mtok": 20}}]);
    let list = json!([{"id": "claude-opus-4-6", "prices": prices}]);
    let unstated = json!({"claude-opus-4-6": {"id": "m", "name": "m", "limit": {"context": 1_000_000}}});
    let of = |name: &str, times: &[&'static str]| {
        let folder = workspace(&format!("hours-{name}"), "anthropic", &unstated, &list, CLAUDE);
        let responses: Vec<_> = times.iter().map(|at| (*at, "claude-opus-4-6", usage(1_000, 0))).collect();
        claude(&folder, &responses);
        costs(&sessions(&folder, &[]))
    };
    assert_eq!(of("dear", &["2026-11-20T01:00:00Z", "2026-11-20T03:59:00Z"]), [(Some(0.04), 2, 2)]);
    assert_eq!(of("cheap", &["2026-11-20T04:00:00Z", "2026-11-20T23:00:00Z"]), [(Some(0.02), 2, 2)]);
    assert_eq!(of("both", &["2026-11-20T00:59:00Z", "2026-11-20T01:00:00Z"]), [(None, 0, 2)], "not guessed");
}

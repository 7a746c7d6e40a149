//! The market side over runs of the real process and of the flow: a price that goes missing, a list that shrank, an end date seen
//! twice, and whom every output credits.

#![expect(clippy::disallowed_methods, reason = "a test places its input")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use pool_review::history::MarketMemory;
use pool_review::verdict::Verdict;
use serde_json::{Value, json};

use crate::market_support::{Scene as Fleet, at, codes, findings, why};
use crate::scene::Scene;

/// A whole Artificial Analysis body: name and intelligence of each row.
fn market(rows: &[(&str, f64)]) -> String {
    let row = |(name, index): &(&str, f64)| {
        let slug = name.to_lowercase().replace([' ', '.'], "-");
        json!({ "id": format!("id-{slug}"), "name": name, "slug": slug, "release_date": "2026-01-01",
            "evaluations": { "artificial_analysis_intelligence_index": index }, "pricing": {}, "performance": {} })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    json!({ "tier": "free", "intelligence_index_version": 4.3,
        "pagination": { "page": 1, "page_size": rows.len(), "total_pages": 1, "has_more": false }, "data": rows })
    .to_string()
}

/// A models.dev body of one vendor: id and price of input, output five times as much; none is not stated.
fn catalogue(offers: &[(&str, Option<f64>)]) -> String {
    let model = |(id, price): &(&str, Option<f64>)| {
        let cost = price.map(|price| json!({ "input": price, "output": 5.0 * price }));
        let mut model = json!({ "tool_call": true, "release_date": "2026-01-01" });
        if let Some(cost) = cost {
            model["cost"] = cost;
        }
        ((*id).to_owned(), model)
    };
    let models: serde_json::Map<String, Value> = offers.iter().map(model).collect();
    json!({ "openai": { "models": models } }).to_string()
}

/// A `LiteLLM` map that states other prices for some ids.
fn map(offers: &[(&str, f64)]) -> String {
    let row = |(id, price): &(&str, f64)| {
        let usd = |price: f64| price / 1e6;
        let row = json!({ "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": usd(*price),
            "output_cost_per_token": usd(5.0 * price) });
        ((*id).to_owned(), row)
    };
    Value::Object(offers.iter().map(row).collect()).to_string()
}

/// The instant of these reviews.
const NOW: &str = "2026-05-13T12:00:00Z";

/// When the bodies came.
const FETCHED: &str = "2026-05-13T11:00:00Z";

/// A pool led by GPT-4.1 (index 40, 2 dollars in), with what lies around it.
fn fleet(name: &str, rows: &[(&str, f64)], offers: &[(&str, Option<f64>)], copies: &[(&str, f64)]) -> Fleet {
    let copies: Vec<(&str, f64)> = copies.iter().copied().chain([("gpt-4.1", 2.0)]).collect();
    Fleet::new(name)
        .pool("work", &["openai/gpt-4.1", "openai/gpt-4.1-mini"])
        .body("market", "aa.json", market(&[&[("GPT-4.1", 40.0), ("GPT-4.1 mini", 30.0)], rows].concat()), FETCHED)
        .body(
            "catalogues",
            "api.json",
            catalogue(&[&[("gpt-4.1", Some(2.0)), ("gpt-4.1-mini", Some(1.0))], offers].concat()),
            FETCHED,
        )
        .body("retirements", "map.json", map(&copies), FETCHED)
}

/// Codes of candidates and verdict of latest-model.
fn latest(fleet: &Fleet) -> (Vec<&'static str>, Verdict) {
    let reviewed = fleet.review(at(NOW));
    let found =
        codes(&reviewed, "work").into_iter().filter(|code| ["missing", "unknown_bill"].contains(code)).collect();
    let pool = reviewed.report.pools.iter().find(|pool| pool.id.as_str() == "work").unwrap();
    (found, pool.checks[0].verdict)
}

#[test]
fn a_candidate_whose_price_goes_missing_holds_the_check_at_watch_and_one_without_an_index_does_not() {
    let rows = [("GPT-5.2", 60.0)];
    let priced = fleet("bill-known", &rows, &[("gpt-5.2", Some(2.0))], &[]);
    assert_eq!(latest(&priced), (vec!["missing"], Verdict::Misaligned));
    let unpriced = fleet("bill-gone", &rows, &[("gpt-5.2", None)], &[]);
    assert_eq!(latest(&unpriced), (vec!["unknown_bill"], Verdict::Watch));
    let reviewed = unpriced.review(at(NOW));
    let said = why(&reviewed, "work", "unknown_bill");
    assert!(said.contains("no list price in any source") && said.contains("Source: Artificial Analysis"), "{said}");
    assert!(findings(&reviewed, "work", "unknown_bill")[0].intent.is_none(), "nothing is proposed on it");
    let unrated = fleet("index-gone", &[], &[("gpt-5.2", None)], &[]);
    assert_eq!(latest(&unrated).0, Vec::<&str>::new(), "unrated by index: named, and no more");
}

#[test]
fn an_unknown_bill_counts_only_where_the_least_it_may_be_would_clear_a_bar() {
    // Too weak at any price: 0.80 of the best member's q is needed.
    let weak = fleet("bill-weak", &[("GPT-5.2", 20.0)], &[("gpt-5.2", None)], &[]);
    assert_eq!(latest(&weak).0, Vec::<&str>::new());
    // As good as the lead (40.2 against 40 is under the quality bar of 2): only its price could speak for it.
    // 0.70 of the lead's 2 dollars is 1.4, so a dispute from 1.8 to 3 cannot, and one from 1 to 3 can.
    let near = [("GPT-5.2", 40.2)];
    let dear = fleet("bill-dear", &near, &[("gpt-5.2", Some(1.8))], &[("gpt-5.2", 3.0)]);
    assert_eq!(latest(&dear).0, Vec::<&str>::new());
    let cheap = fleet("bill-cheap", &near, &[("gpt-5.2", Some(1.0))], &[("gpt-5.2", 3.0)]);
    assert_eq!(latest(&cheap), (vec!["unknown_bill"], Verdict::Watch));
    assert!(why(&cheap.review(at(NOW)), "work", "unknown_bill").contains("price disputed"));
}

#[test]
fn a_list_that_shrank_is_not_believed_until_the_operator_takes_it() {
    let offers: Vec<String> = (0..100).map(|at| format!("other-{at}")).collect();
    let many: Vec<(&str, Option<f64>)> = offers.iter().map(|id| (id.as_str(), Some(1.0))).collect();
    let whole = fleet("shrunk", &[], &many, &[]);
    let memory = whole.review(at(NOW)).market;
    whole.put("api.json", catalogue(&[("gpt-4.1", Some(2.0)), ("gpt-4.1-mini", Some(1.0))]));
    let reason = |memory: &MarketMemory| {
        let reviewed = whole.review_with(memory, at(NOW));
        let note = reviewed.report.sources.iter().find(|note| note.source.as_str() == "catalogues").unwrap();
        (format!("{:?}", note.state), reviewed.market)
    };
    let (refused, kept) = reason(&memory);
    assert!(refused.contains("2 of 102 rows, below 90 %") && refused.contains("--accept-fewer"), "{refused}");
    let (taken, after) = reason(&kept.without_measure());
    assert_eq!((taken.as_str(), after.high_water["catalogues"]), ("Fresh", 2));
    // `fetch` that took it on purpose says so in the sidecar, and a review follows.
    let sidecar = json!({ "fetched_at": FETCHED, "rows": 2, "high_water": 2, "accepted_fewer": true });
    whole.put("api.json.meta.json", sidecar.to_string());
    assert_eq!(reason(&kept).0, "Fresh");
}

#[test]
fn what_a_provider_lists_more_and_fewer_is_said_once_for_the_providers_of_the_pools() {
    let before = fleet("listing", &[], &[("gpt-5.1", Some(1.0)), ("gpt-5.2", Some(1.0))], &[]);
    let first = before.review(at(NOW));
    let said = |reviewed: &pool_review::review::Reviewed| {
        let all: Vec<String> = reviewed.report.remarks.iter().map(pool_review::verdict::Sentence::plain).collect();
        all.into_iter().filter(|remark| remark.starts_with("catalogue of")).collect::<Vec<_>>()
    };
    assert_eq!(said(&first), Vec::<String>::new(), "nothing to compare with");
    before.put(
        "api.json",
        catalogue(&[
            ("gpt-4.1", Some(2.0)),
            ("gpt-4.1-mini", Some(1.0)),
            ("gpt-5.1", Some(1.0)),
            ("gpt-6-luna", Some(1.0)),
        ]),
    );
    let second = before.review_with(&first.market, at(NOW));
    let lines = said(&second);
    assert_eq!(lines.len(), 1, "{lines:?}");
    for words in ["openai", "1 more, 1 fewer", "gpt-6-luna", "no retirement date, confirm: gpt-5.2"] {
        assert!(lines[0].contains(words), "{words}: {}", lines[0]);
    }
    assert_eq!(said(&before.review_with(&second.market, at(NOW))), Vec::<String>::new(), "said once");
}

#[test]
fn an_index_that_openrouter_repeats_is_held_against_the_market_and_never_used() {
    let own = |id: &str, index: f64| {
        json!({ "id": id, "pricing": { "prompt": "0.000002", "completion": "0.00001" }, "supported_parameters": ["tools"],
            "benchmarks": { "artificial_analysis": { "intelligence_index": index } } })
    };
    let list =
        json!({ "data": [own("openai/gpt-4.1", 52.0), own("openai/gpt-4.1-mini", 30.2), own("openai/gpt-5.2", 60.0)] });
    let offers = json!({ "openai": { "models": { "gpt-4.1": { "tool_call": true, "cost": { "input": 2, "output": 10 } },
        "gpt-4.1-mini": { "tool_call": true, "cost": { "input": 1, "output": 5 } },
        "gpt-5.2": { "tool_call": true, "cost": { "input": 1, "output": 5 } } } }, "openrouter": { "models": {} } });
    let fleet = Fleet::new("repeats")
        .pool("work", &["openrouter/openai/gpt-4.1", "openrouter/openai/gpt-4.1-mini"])
        .body("market", "aa.json", market(&[("GPT-4.1", 40.0), ("GPT-4.1 mini", 30.0)]), FETCHED)
        .body("catalogues", "api.json", offers.to_string(), FETCHED)
        .body("openrouter", "or.json", list.to_string(), FETCHED);
    let reviewed = fleet.review(at(NOW));
    let remarks: Vec<String> = reviewed.report.remarks.iter().map(pool_review::verdict::Sentence::plain).collect();
    assert!(
        remarks.iter().any(|remark| remark.contains("2 rated models") && remark.contains("1 otherwise")),
        "{remarks:?}"
    );
    let pool = &reviewed.report.pools.iter().find(|pool| pool.id.as_str() == "work").unwrap();
    let index = |target: &str| {
        let numbers = &pool.checks[0].numbers;
        numbers.iter().find(|number| number.what == "index" && number.of.contains(target)).unwrap().clone()
    };
    assert_eq!(index("gpt-4.1").value, Some(40.0), "the market's own is used");
    assert!(index("gpt-4.1").remark.contains("OpenRouter repeats 52.0"), "{}", index("gpt-4.1").remark);
    assert_eq!(index("gpt-4.1-mini").remark, "", "30.2 and 30.0 are the same index");
    let unrated = why(&reviewed, "work", "unrated");
    assert!(unrated.contains("gpt-5.2 60.0") && unrated.contains("Source: Artificial Analysis"), "{unrated}");
    assert!(!codes(&reviewed, "work").contains(&"missing"), "an index without a version ranks nothing");
}

/// A workspace whose pool holds an `OpenRouter` offer that ends in two days.
fn ending(name: &str) -> Scene {
    let scene = Scene::new(name);
    let put = |path: &str, text: String| std::fs::write(scene.root.join(path), text).unwrap();
    let offers = ["x-ai/grok-4", "anthropic/claude-opus-4.7"];
    let models: serde_json::Map<String, Value> = offers
        .iter()
        .map(|id| ((*id).to_owned(), json!({ "tool_call": true, "cost": { "input": 1, "output": 5 } })))
        .collect();
    put("api.json", json!({ "openrouter": { "models": models } }).to_string());
    let own = |id: &str, end: Option<&str>| json!({ "id": id, "pricing": { "prompt": "0.000001", "completion": "0.000005" }, "supported_parameters": ["tools"], "expiration_date": end });
    put("or.json", json!({ "data": [own(offers[0], Some("2026-05-15")), own(offers[1], None)] }).to_string());
    let targets: Vec<String> = offers.iter().map(|id| format!("openrouter/{id}")).collect();
    let config = json!({ "experimental": { "model_routes": { "grok": { "targets": targets } } },
        "agent": { "build": { "model": "opencode-route/grok" } } });
    put("opencode.jsonc", serde_json::to_string_pretty(&config).unwrap());
    put("review.md", "---\nconfig: { opencode: opencode.jsonc }\ndata: { catalogues: api.json, openrouter: or.json }\nhomes:\n  or: { providers: [openrouter], billing: balance }\nissues: { repository: acme/pools }\n---\nWords.\n".to_owned());
    scene
}

#[test]
fn one_day_later_the_same_end_is_neither_proposed_nor_opened_twice() {
    let scene = ending("same-end");
    let review = |now: &str| {
        for body in ["api.json", "or.json"] {
            let sidecar = json!({ "fetched_at": now }).to_string();
            std::fs::write(scene.root.join(format!("{body}.meta.json")), sidecar).unwrap();
        }
        let ran = scene.run(&["review", "--instructions", "review.md", "--now", now, "--format", "json"]);
        assert_eq!(ran.stderr, "", "{ran:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let ids = || -> BTreeSet<String> {
        let plan = std::fs::read_to_string(scene.root.join("reports/issues/plan.json")).unwrap_or_default();
        let plan: Value = serde_json::from_str(&plan).unwrap_or_default();
        let entries = plan["entries"].as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    };
    let proposals = || -> BTreeSet<PathBuf> {
        let folder = std::fs::read_dir(scene.root.join("reports/proposals")).unwrap();
        folder
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect()
    };
    let days = |run: &Value| {
        let checks = run["pools"][0]["checks"].as_array().unwrap().clone();
        let found = checks.iter().flat_map(|check| check["findings"].as_array().unwrap().clone());
        found
            .filter(|found| found["code"] == "retirement_due")
            .map(|found| found["measured"]["value"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(days(&review("2026-05-13T12:00:00Z")), [json!(2.0)]);
    let (opened, proposed) = (ids(), proposals());
    assert_eq!((opened.len(), proposed.len()), (1, 1), "{opened:?}");
    assert_eq!(days(&review("2026-05-14T12:00:00Z")), [json!(1.0)]);
    assert_eq!(proposals(), proposed, "the same fingerprint");
    assert!(ids().is_subset(&opened), "no second issue: {:?}", ids());
    let ledger = std::fs::read_to_string(scene.root.join("reports/ledger.jsonl")).unwrap();
    let fingerprint = proposed.iter().next().unwrap().file_stem().unwrap().to_string_lossy().into_owned();
    let made = ledger.lines().filter(|line| line.contains(&fingerprint) && line.contains("\"state\":\"new\""));
    assert_eq!(made.count(), 1, "proposed once");
}

/// Whether a text shows a number of the market: an index, a standing, a speed of the market, or a distance between standings.
/// The version of an index is none, and neither is the index line of a patch.
fn shows_market_numbers(text: &str) -> bool {
    let words = ["index", "standing q", "market speed", "nearest miss", "hull gap", "q against"];
    let is_number = |rest: &str| {
        let is_blob = rest.len() > 41 && rest.chars().skip(1).take(40).all(|c| c.is_ascii_hexdigit());
        !is_blob && rest.chars().take(40).any(|c| c.is_ascii_digit())
    };
    text.lines().any(|line| {
        let line = line.to_lowercase().replace("index version", "");
        words.iter().any(|word| line.split(word).skip(1).any(is_number))
    })
}

#[test]
fn every_output_that_shows_a_number_of_the_market_credits_its_source() {
    let scene = Scene::demo("credit");
    let summary = scene.root.join("summary.md");
    std::fs::write(&summary, "").unwrap();
    let mut said: Vec<(String, String)> = Vec::new();
    for args in [
        &["review"][..],
        &["review", "--format", "json"],
        &["explain", "scout"],
        &["explain", "scout", "--format", "json"],
        &["explain", "unknown_bill"],
        &["doctor"],
        &["doctor", "--format", "json"],
        &["doctor", "--names"],
        &["doctor", "--names", "--format", "json"],
        &["status"],
        &["status", "--format", "json"],
        &["diff", "20261129T120000Z", "20261129T120000Z"],
    ] {
        let mut command = scene.command(args);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary);
        let output = command.output().unwrap();
        said.push((args.join(" "), String::from_utf8(output.stdout).unwrap()));
    }
    said.push(("the summary of a job".to_owned(), std::fs::read_to_string(&summary).unwrap()));
    let mut folders = vec![scene.root.join("reports")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let shown = path.strip_prefix(&scene.root).unwrap().display().to_string();
                said.push((shown, String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()));
            }
        }
    }
    let showing: Vec<&(String, String)> = said.iter().filter(|(_, text)| shows_market_numbers(text)).collect();
    for (output, text) in &showing {
        assert!(
            text.contains("Source: Artificial Analysis, https://artificialanalysis.ai"),
            "{output} gives no credit"
        );
    }
    let names: Vec<&str> = showing.iter().map(|(output, _)| output.as_str()).collect();
    for output in
        ["review --format json", "the summary of a job", "reports/index.html", "reports/pool-composition-log.md"]
    {
        assert!(names.contains(&output), "{output} shows no number at all: {names:?}");
    }
    let memory = said.iter().find(|(output, _)| output == "reports/history/market.json").unwrap();
    assert!(memory.1.contains("Source: Artificial Analysis"), "the memory holds its rows");
}

#[test]
fn an_empty_data_folder_and_bodies_of_the_wrong_kind_are_said_with_their_path_and_no_pool_is_aligned() {
    let scene = Scene::demo("wrong");
    let swap = |to: &str, from: &str| {
        std::fs::copy(scene.root.join(from), scene.root.join(to)).unwrap();
    };
    swap("data/market/litellm.json", "data/aliases.csv");
    swap("data/market/models-dev.json", "data/fleet/openchamber/routing.json");
    let ran = scene.run(&["review"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let doctor = scene.run(&["doctor"]).stdout;
    for words in ["data/market/litellm.json:1", "data/market/models-dev.json:1"] {
        assert!(doctor.contains(words), "{words}: {doctor}");
    }
    std::fs::remove_dir_all(scene.root.join("data/market")).unwrap();
    std::fs::create_dir(scene.root.join("data/market")).unwrap();
    let ran = scene.run(&["review", "--format", "json"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let run: Value = serde_json::from_str(&ran.stdout).unwrap();
    let pools = run["pools"].as_array().unwrap();
    assert!(!pools.is_empty() && pools.iter().all(|pool| pool["verdict"] != "aligned"));
}

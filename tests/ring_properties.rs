//! What holds of every ring, whatever config, policy and member text make it; and the four leaks of methods §16.3, each failing to
//! show here.

#![expect(clippy::unwrap_used, reason = "a test that cannot build its input has failed")]

mod ring_support;
#[path = "ring_support/text.rs"]
mod text;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use pool_review::ring::{Catalogue, ResolvedRing, RingError, RingInput, Rule};
use pool_review::settings::Settings;
use pool_review::sources::pools::{layers, litellm, omo};
use pool_review::vocabulary::{ConfigFile, Digest, FleetConfig, ModelId, PoolId};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ring_support::{NOW_MS, canonical, scratch, settings, write};
use serde_json::{Value, json};
use text::{catalogue, drops, file, ring, routes, targets};

/// Models that random configs are made of.
const MODELS: [&str; 8] =
    ["a/one", "a/two:low,high", "b/vendor/one", "b/three:high", "c/ONE", "c/four.5", "d/four-5:max", "e/five"];

/// A catalogue of them.
fn known() -> Catalogue {
    catalogue(&MODELS)
}

/// One target: a model, a pattern, a nested pool, a missing one, text that cannot be told, an expired one.
fn target() -> impl Strategy<Value = Value> {
    let model = (0..MODELS.len()).prop_map(|i| json!(MODELS[i].split(':').next().unwrap()));
    let pinned = (0..MODELS.len(), "[a-z]{3,4}")
        .prop_map(|(i, variant)| json!(format!("{}#{variant}", MODELS[i].split(':').next().unwrap())));
    let nested = (0..12_usize, any::<bool>())
        .prop_map(|(i, pinned)| json!(format!("opencode-route/r{i}{}", if pinned { "#high" } else { "" })));
    let pattern =
        prop_oneof![Just("a/*"), Just("c/*5"), Just("b/*one"), Just("z/*")].prop_map(|pattern| json!(pattern));
    let odd = prop_oneof![
        Just(json!("{env:X}")),
        Just(json!({"model": "e/five", "until": 5})),
        Just(json!({"model": "a/two", "defaultVariant": "high", "variants": {"max": "high", "no": "none"}})),
        Just(json!({"providerID": "b", "model": "vendor/one"})),
        Just(json!("a/gone")),
    ];
    prop_oneof![4 => model, 1 => pinned, 4 => nested, 1 => pattern, 2 => odd]
}

/// A graph of routes that may refer to each other and to themselves in every way.
fn graph() -> impl Strategy<Value = Value> {
    let selection = prop_oneof![Just("ordered"), Just("weighted"), Just("round-robin")];
    let weights = prop::collection::btree_map(
        prop_oneof![Just("a/one"), Just("b/three"), Just("opencode-route/r1"), Just("a/two#high")],
        prop_oneof![Just(1.0), Just(3.0), Just(1e308), Just(0.25)],
        0..3,
    );
    let route = (prop::collection::vec(target(), 0..6), selection, weights, any::<bool>()).prop_map(
        |(targets, selection, weights, is_fixed)| {
            let mut route = json!({ "targets": targets, "selection": selection, "weights": weights });
            if is_fixed {
                route["autonomy"] = json!("fixed");
            }
            route
        },
    );
    prop::collection::vec(route, 1..12).prop_map(|routes| {
        Value::Object(routes.into_iter().enumerate().map(|(i, route)| (format!("r{i}"), route)).collect())
    })
}

/// The config of a graph.
fn config_of(routes: &Value) -> FleetConfig {
    let text = json!({ "experimental": { "model_routes": routes } }).to_string();
    pool_review::sources::pools::opencode::parse(&file(&text)).unwrap()
}

/// Front matters with rules of every kind.
fn policies() -> impl Strategy<Value = String> {
    let pattern = prop_oneof![
        Just("one"),
        Just("ONE"),
        Just("'*'"),
        Just("'t*'"),
        Just("four-5"),
        Just("four.5"),
        Just("four"),
        Just("'{one,two}'")
    ];
    let pools = prop_oneof![Just("'*'"), Just("'r[0-5]'"), Just("r1")];
    let homes = "homes: {x: {providers: [a, b], billing: flat}, y: {providers: [c, d], billing: metered}}";
    (pattern.clone(), pools, pattern, any::<[bool; 5]>()).prop_map(
        move |(never, pools, tier, [homes_only, open, unpooled, tools, context])| {
            let mut front = vec![homes.to_owned(), "policy:".to_owned()];
            front.push(format!("  never: [{{model: {never}, pools: {pools}}}]"));
            front.push(format!("  not_in_tier: [{{tier: workhorse, model: {tier}, pools: r2}}]"));
            front.push("  plan_meaning: none".to_owned());
            front.extend(homes_only.then(|| "  only_homes: [x]".to_owned()));
            front.extend(open.then(|| "  family: open".to_owned()));
            let least = if context { 1_000_000 } else { 1 };
            front.push(format!(
                "pools: [{{pattern: r1, unpooled: {unpooled}, needs_tools: {tools}, min_context: {least}}}]"
            ));
            front.join("\n")
        },
    )
}

/// A runner of some cases, the same ones every time.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// Every ring of a config.
fn rings(config: &FleetConfig, known: Option<&Catalogue>, settings: &Settings) -> Vec<Result<ResolvedRing, RingError>> {
    let input = RingInput::new(config, known, settings, &canonical, NOW_MS);
    config.effective().values().map(|route| ResolvedRing::build(&input, route)).collect()
}

/// Whether a plain never-rule of these tests names a member, decided without the ring's own code.
fn is_named(pattern: &str, model: &str) -> bool {
    let (pattern, model) = (pattern.trim_matches('\'').to_lowercase(), model.to_lowercase());
    match pattern.as_str() {
        "*" => true,
        "t*" => model.starts_with('t'),
        "{one,two}" => model == "one" || model == "two",
        "four" => model == "four" || model == "four-5",
        other => other.replace('.', "-") == model,
    }
}

#[test]
fn no_config_policy_and_member_text_make_a_ring_that_holds_a_forbidden_member() {
    let known = known();
    let mut runner = runner(600);
    let checked = std::cell::Cell::new(0_usize);
    runner
        .run(&(graph(), policies()), |(routes, front)| {
            let settings = settings(&front);
            let config = config_of(&routes);
            for ring in rings(&config, Some(&known), &settings).into_iter().flatten() {
                prop_assert!(!ring.members().is_empty());
                let total: f64 = ring.members().iter().map(|member| member.share).sum();
                prop_assert!((total - 1.0).abs() < 1e-9, "shares of {} add up to {total}", ring.pool());
                let rule = settings.pool_rule(ring.pool());
                if rule.is_some_and(|rule| rule.unpooled) {
                    prop_assert_eq!(ring.members().len(), 1);
                }
                for member in ring.members() {
                    checked.set(checked.get() + 1);
                    let model = member.key.model.as_str();
                    let pool = ring.pool().as_str();
                    for never in &settings.policy.never {
                        let applies = never.pools == "*"
                            || never.pools == pool
                            || never.pools == "r[0-5]" && pool.len() == 2 && pool < "r6";
                        prop_assert!(!(applies && is_named(&never.model, model)), "{} in {pool}", member.target);
                    }
                    for rule in settings.policy.not_in_tier.iter().filter(|rule| rule.never.pools == pool) {
                        prop_assert!(!is_named(&rule.never.model, model), "{} in {pool}", member.target);
                    }
                    let homes = &settings.policy.only_homes;
                    prop_assert!(homes.is_empty() || homes.contains(&member.key.home), "{} in {pool}", member.target);
                    let is_small = rule.and_then(|rule| rule.min_context) == Some(1_000_000);
                    prop_assert!(!is_small || !member.is_listed, "200,000 tokens are fewer than a million");
                }
            }
            Ok(())
        })
        .unwrap();
    assert!(checked.get() > 1_000, "only {} members were looked at", checked.get());
}

/// A ring as a flat definition: its members as written, with the weights of their shares.
fn flat(ring: &ResolvedRing) -> Value {
    let targets: Vec<String> = ring.members().iter().map(|member| member.target.to_string()).collect();
    json!({ "flat": { "targets": targets } })
}

#[test]
fn expanding_is_idempotent_and_the_order_of_keys_changes_nothing() {
    let known = known();
    let settings = settings("");
    let mut runner = runner(500);
    runner
        .run(&graph(), |routes| {
            let config = config_of(&routes);
            let built = rings(&config, Some(&known), &settings);
            prop_assert_eq!(&built, &rings(&config, Some(&known), &settings), "the same input, the same ring");
            let text = reversed(&json!({ "experimental": { "model_routes": routes } }));
            let turned = pool_review::sources::pools::opencode::parse(&file(&text)).unwrap();
            for (ring, turned) in built.iter().zip(rings(&turned, Some(&known), &settings)) {
                match (ring, turned) {
                    (Ok(a), Ok(b)) => {
                        prop_assert_eq!(targets(a), targets(&b));
                        let shares =
                            |ring: &ResolvedRing| ring.members().iter().map(|m| m.share.to_bits()).collect::<Vec<_>>();
                        prop_assert_eq!(shares(a), shares(&b));
                        prop_assert_eq!(a.subtree_digest(), b.subtree_digest());
                    }
                    (a, b) => prop_assert_eq!(a.is_ok(), b.is_ok()),
                }
            }
            for ring in built.iter().flatten() {
                let again = rings(&config_of(&flat(ring)), Some(&known), &settings).remove(0).unwrap();
                prop_assert_eq!(targets(&again), targets(ring), "a flattened pool expands to itself");
            }
            Ok(())
        })
        .unwrap();
}

/// JSON text with the keys of every object in reverse order.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().rev().map(|(key, value)| format!("{}:{}", json!(key), reversed(value))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// A graph of up to twelve routes that name each other in every way, from a seed: cheaper to make than to shrink.
fn graph_from(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let routes: Vec<String> = (0..=below(12))
        .map(|i| {
            let targets: Vec<String> = (0..below(6))
                .map(|_| match below(8) {
                    0 => "\"a/*\"".to_owned(),
                    1 => "\"a/two#high\"".to_owned(),
                    2 => "\"e/five\"".to_owned(),
                    3 => format!("\"opencode-route/r{}#high\"", below(12)),
                    _ => format!("\"opencode-route/r{}\"", below(12)),
                })
                .collect();
            format!("\"r{i}\": {{\"targets\": [{}]}}", targets.join(", "))
        })
        .collect();
    routes.join(",\n")
}

#[test]
fn ten_thousand_random_graphs_with_cycles_neither_hang_nor_overflow() {
    let known = known();
    let settings = settings("");
    let mut cycles = 0;
    for seed in 0..10_000 {
        let config = routes(&graph_from(seed));
        let built = rings(&config, Some(&known), &settings);
        assert_eq!(built.len(), config.routes.len(), "seed {seed}");
        cycles += built.iter().flat_map(drops).filter(|drop| drop.ends_with(": cycle")).count();
    }
    assert!(cycles > 10_000, "only {cycles} cycles were met");
}

#[test]
fn graphs_that_double_at_every_level_and_chains_without_end_are_cut_and_said() {
    // 40 levels that each name the next one twice: 2^40 ways down for a router that walks them all.
    let doubling: Vec<String> = (0..40)
        .map(|i| {
            format!(r#""d{i}": {{"targets": ["opencode-route/d{n}", "a/m{i}", "opencode-route/d{n}"]}}"#, n = i + 1)
        })
        .collect();
    let config = routes(&format!(r#"{}, "d40": {{"targets": ["a/last"]}}"#, doubling.join(",")));
    let found = ring(&config, None, &settings(""), "d0").unwrap();
    assert_eq!(found.members().len(), 41);
    // The same with a way back to the start at every level.
    let cyclic: Vec<String> = (0..40)
        .map(|i| format!(r#""c{i}": {{"targets": ["opencode-route/c{}", "opencode-route/c{}", "opencode-route/c{}", "a/m{i}"]}}"#, (i + 1) % 40, (i + 7) % 40, (i * 3) % 40))
        .collect();
    let config = routes(&cyclic.join(","));
    assert!(ring(&config, None, &settings(""), "c0").is_ok());
    // A chain of 20,000 pools.
    let chain: Vec<String> =
        (0..20_000).map(|i| format!(r#""l{i}": {{"targets": ["a/m{i}", "opencode-route/l{}"]}}"#, i + 1)).collect();
    let config = routes(&chain.join(","));
    let found = ring(&config, None, &settings(""), "l0");
    assert_eq!(found.as_ref().unwrap().members().len(), 64);
    assert_eq!(drops(&found), ["opencode-route/l64: nested too deep to expand"], "what is cut is said");
}

#[test]
fn leak_1_a_rule_holds_for_every_way_in() {
    let never = "policy: {plan_meaning: none, never: [{model: claude-opus-6, reason: contract}]}";
    let settings = settings(never);
    let known = catalogue(&["a/claude-opus-6:high", "a/other", "b/Claude-Opus-6", "c/vendor/claude-opus.6", "d/x"]);
    let ways = [
        ("direct", r#""p": {"targets": ["a/claude-opus-6", "d/x"]}"#),
        ("pinned", r#""p": {"targets": ["a/claude-opus-6#high", "d/x"]}"#),
        ("object", r#""p": {"targets": [{"providerID": "a", "model": "claude-opus-6"}, "d/x"]}"#),
        ("nested", r#""p": {"targets": ["opencode-route/n", "d/x"]}, "n": {"targets": ["a/claude-opus-6"]}"#),
        ("glob", r#""p": {"targets": ["a/*opus*", "d/x"]}"#),
        ("case", r#""p": {"targets": ["b/Claude-Opus-6", "d/x"]}"#),
        ("spelling", r#""p": {"targets": ["c/vendor/claude-opus.6", "d/x"]}"#),
        ("not in the catalogue", r#""p": {"targets": ["a/Claude-Opus-6", "d/x"]}"#),
    ];
    for (way, text) in ways {
        let found = ring(&routes(text), Some(&known), &settings, "p").unwrap();
        assert_eq!(targets(&found), ["d/x"], "{way}");
        let rules: Vec<&Rule> = found.violations().iter().map(|violation| &violation.rule).collect();
        assert_eq!(rules, [&Rule::Never], "{way}: it stands among the violations, with its line");
        assert_eq!(found.violations()[0].setting, "policy.never[0]", "{way}");
        assert!(found.violations()[0].detail.contains("contract"), "{way}");
    }
    let omo =
        r#"{"categories": {"c": {"model": "d/x", "fallback_models": ["a/claude-opus-6 high", "opencode-route/n"]}}}"#;
    let mut config = omo::parse(&ConfigFile { path: "omo.json".to_owned(), text: omo.to_owned() }).unwrap();
    config.routes.extend(routes(r#""n": {"targets": ["c/vendor/claude-opus.6"]}"#).routes);
    let found = ring(&config, None, &settings, "omo:c").unwrap();
    assert_eq!(targets(&found), ["d/x"], "fallback");
    let ways: Vec<String> =
        found.violations().iter().map(|violation| violation.member.way_in(&PoolId::new("omo:c"))).collect();
    assert_eq!(ways, ["direct, as a fallback", "nested in n, as a fallback"]);
    let lite = "model_list:\n  - {model_name: g, litellm_params: {model: d/x}}\n  - {model_name: f, litellm_params: {model: a/claude-opus-6}}\nrouter_settings: {fallbacks: [{g: [f]}]}\n";
    let config = litellm::parse(&ConfigFile { path: "c.yaml".to_owned(), text: lite.to_owned() }).unwrap();
    let found = ring(&config, None, &settings, "litellm:g").unwrap();
    assert_eq!((targets(&found).len(), found.violations().len()), (1, 1), "a group behind a group");
}

#[test]
fn leak_1_a_proposal_whose_result_holds_a_forbidden_model_is_not_made() {
    // The lead breaks a rule and its line goes; what stands behind it may not be forbidden either, whatever brings it in.
    let config = "{\n  \"model\": \"opencode-route/p\",\n  \"experimental\": { \"model_routes\": {\n    \"p\": { \"targets\": [\n      \"a/bad\",\n      \"a/worse\"\n    ] }\n  } }\n}\n";
    let folder = scratch("leak-1");
    write(&folder.join(".opencode/opencode.jsonc"), config.as_bytes());
    write(
        &folder.join("review.md"),
        b"---\npolicy: {plan_meaning: none, never: [{model: bad}, {model: worse}]}\n---\nOur policy.\n",
    );
    let run = reviewed(&folder);
    assert!(run["proposals"].as_array().unwrap().is_empty(), "either removal would leave no allowed member");
    let held: Vec<Value> = findings(&run).into_iter().filter(|finding| finding["code"] == "policy_violation").collect();
    assert_eq!(held.len(), 2, "both stand in the report all the same");
}

/// The run of a review of a folder.
fn reviewed(folder: &Path) -> Value {
    let ran = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .args(["review", "-i", "review.md", "--now", "2026-10-20T00:00:00Z", "--format", "json"])
        .current_dir(folder)
        .env_clear()
        .output()
        .unwrap();
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stderr)))
}

/// Every finding of a run.
fn findings(run: &Value) -> Vec<Value> {
    let pools = run["pools"].as_array().unwrap().iter();
    let checks = pools.flat_map(|pool| pool["checks"].as_array().unwrap());
    checks.flat_map(|check| check["findings"].as_array().unwrap().clone()).collect()
}

#[test]
fn leak_2_conditions_of_a_tier_hold_for_pinned_and_derived_members_alike() {
    let front = "pools: [{pattern: deep, tier: summit, min_context: 500000, needs_tools: true}]\npolicy: {plan_meaning: none, not_in_tier: [{tier: summit, model: small}]}";
    let settings = settings(front);
    let known = catalogue(&["a/small:high", "a/short:high", "b/small"]);
    let text = r#""deep": {"targets": ["a/small", "a/small#high", {"providerID": "b", "model": "small"}, "a/s*", "opencode-route/n#high"]},
                  "n": {"targets": ["a/short"]}"#;
    let found = ring(&routes(text), Some(&known), &settings, "deep");
    assert!(found.is_err(), "nobody fulfils the conditions, however explicit the model is");
    let violations = found.unwrap_err().violations().to_vec();
    let broken = |target: &str| {
        let mut rules: Vec<&str> =
            violations.iter().filter(|v| v.member.target.to_string() == target).map(|v| v.rule.as_str()).collect();
        rules.sort_unstable();
        rules
    };
    for target in ["a/small", "a/small#high", "b/small"] {
        assert_eq!(broken(target), ["not in a pool of this tier", "smallest context window"], "{target}");
    }
    for target in ["a/short", "a/short#high"] {
        assert_eq!(broken(target), ["smallest context window"], "{target}");
    }
    let elsewhere = ring(&routes(r#""other": {"targets": ["a/small"]}"#), Some(&known), &settings, "other");
    assert!(elsewhere.is_ok(), "the conditions are those of one tier");
}

#[test]
fn leak_3_config_is_read_once_and_one_digest_ties_ring_finding_and_proposal() {
    let folder = scratch("leak-3");
    let text = "{\n  \"model\": \"opencode-route/p\",\n  \"experimental\": { \"model_routes\": {\n    \"p\": { \"targets\": [\n      \"a/b\",\n      { \"model\": \"c/d\", \"until\": 5 }\n    ] }\n  } }\n}\n";
    write(&folder.join(".opencode/opencode.jsonc"), text.as_bytes());
    write(&folder.join("review.md"), b"---\npolicy: {plan_meaning: none}\n---\nOur policy.\n");
    let read = Settings::load(&folder, Path::new("review.md")).unwrap();
    let config = layers::opencode_layers(&folder, &read.config).unwrap();
    write(&folder.join(".opencode/opencode.jsonc"), b"{}");
    let built = ring(&config, None, &settings(""), "p").unwrap();
    assert_eq!(targets(&built), ["a/b"], "the file has changed since, this run has not");
    write(&folder.join(".opencode/opencode.jsonc"), text.as_bytes());
    let run = reviewed(&folder);
    let proposal = run["proposals"].as_array().unwrap().first().expect("the dead line is proposed away");
    let path = folder.join("reports").join(proposal["file"].as_str().unwrap());
    let proposal: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(proposal["config"]["subtree_digest"], built.subtree_digest().as_str());
    let clock = chrono::DateTime::from_timestamp_millis(NOW_MS).unwrap();
    let finding = finding_of(&folder, &read, clock);
    assert_eq!(finding.as_ref(), Some(built.subtree_digest()));
}

/// The digest that a finding of a review carries.
fn finding_of(folder: &Path, settings: &Settings, now: chrono::DateTime<chrono::Utc>) -> Option<Digest> {
    use pool_review::review::{Clock, gather, review};
    let canonical = gather::canonical(folder, settings, now).unwrap();
    let gathered = gather::gather(folder, settings, canonical, &pool_review::history::MarketMemory::default(), now);
    let clock = Clock { now, is_frozen: false, next_due: None };
    let reviewed = review(
        &gathered,
        settings,
        &pool_review::history::Past::default(),
        clock,
        &pool_review::history::ProposalFiles::NONE,
    );
    let checks = reviewed.report.pools.iter().flat_map(|pool| &pool.checks);
    checks.flat_map(|check| &check.findings).find(|finding| finding.code == "expired_member")?.subtree.clone()
}

#[test]
fn leak_4_what_the_constructor_accepts_its_own_reader_accepts_again() {
    let front = "homes: {x: {providers: [a, c], billing: flat}}\npolicy: {plan_meaning: none, never: [{model: two}]}";
    let settings = settings(front);
    let text = r#""p": {"selection": "weighted", "targets": ["a/One#High", "opencode-route/n", "a/*o"], "weights": {"a/One": 3}},
                  "n": {"targets": ["c/Four.5"]}, "gone": {"targets": ["a/two"]}"#;
    let known = catalogue(&["a/One:High", "a/two", "c/Four.5"]);
    let config = routes(text);
    let first = ring(&config, Some(&known), &settings, "p").unwrap();
    let again = ring(&config_of(&flat(&first)), Some(&known), &settings, "flat").unwrap();
    assert_eq!(targets(&again), targets(&first), "written as it was accepted, it is accepted as it was written");
    assert_eq!(again.members()[0].key, first.members()[0].key, "names are normalised before, not after");
    assert!(again.violations().is_empty(), "and breaks nothing");
    assert!(ring(&config, Some(&known), &settings, "gone").is_err(), "an empty ring does not exist, so none is stored");
    let raw = Settings::parse("---\npools: [{pattern: p, tier: Scout}]\n---\nx\n", "s.md").unwrap_err().to_string();
    assert!(raw.contains("must be one of scout"), "a raw spelling is refused at the door, not on a later load: {raw}");
}

#[test]
fn a_checker_shares_no_vendor_with_what_it_checks() {
    let front = "pools: [{pattern: check, different_vendor_from: work}]\npolicy: {plan_meaning: none}";
    let settings = settings(front);
    let config = routes(
        r#""work": {"targets": ["a/one", "opencode-route/n"]}, "n": {"targets": ["b/two"]}, "check": {"targets": ["x/one-mini", "y/three", "z/unknown"]}"#,
    );
    let vendors = |pairs: &[(&str, &str)]| {
        Arc::new(pairs.iter().map(|(model, vendor)| (ModelId::new(*model), (*vendor).to_owned())).collect())
    };
    let build = |pairs: &[(&str, &str)]| {
        let input = RingInput::new(&config, None, &settings, &canonical, NOW_MS).with_vendors(vendors(pairs));
        ResolvedRing::build(&input, config.effective()[&PoolId::new("check")]).unwrap()
    };
    let found = build(&[("one", "acme"), ("two", "globex"), ("one-mini", "acme"), ("three", "initech")]);
    assert_eq!(targets(&found), ["y/three", "z/unknown"]);
    assert_eq!(found.violations()[0].detail, "its vendor acme also has a member in work");
    let open: Vec<String> =
        found.unjudged().map(|(member, rule)| format!("{} {}", member.target, rule.as_str())).collect();
    assert_eq!(
        open,
        ["z/unknown another vendor than the pool it checks"],
        "an unknown vendor is neither the same nor another"
    );
    let found = build(&[("one", "acme"), ("three", "initech")]);
    assert_eq!(found.unjudged().count(), 3, "while a vendor of the worker is unknown nothing is shown");
}

#[test]
fn a_pool_that_may_not_be_pooled_keeps_its_lead_only() {
    let front = "pools: [{pattern: p, unpooled: true}]\npolicy: {plan_meaning: none}";
    let config = routes(r#""p": {"selection": "weighted", "targets": ["a/one", "b/two"], "weights": {"b/two": 3}}"#);
    let found = ring(&config, None, &settings(front), "p").unwrap();
    assert_eq!(targets(&found), ["b/two"], "the largest share leads");
    assert_eq!(found.violations()[0].rule, Rule::Unpooled);
    assert_eq!(found.violations()[0].setting, "pools[0].unpooled");
}

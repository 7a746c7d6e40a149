//! One test per trap of the pool reference (`reference/pools.md` §7), in its order and named after it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

mod ring_support;
#[path = "ring_support/text.rs"]
mod text;

use std::path::{Path, PathBuf};
use std::process::Command;

use pool_review::ring::{HoldKind, holds};
use pool_review::settings::Settings;
use pool_review::sources::pools::{layers, litellm, openchamber, opencode, overrides};
use pool_review::sources::{quotas, scorecards, speeds};
use pool_review::vocabulary::{ConsumerTarget, LayerState, Outcome, PoolId, ProviderId};
use ring_support::{NOW_MS, scratch, settings, write};
use serde_json::Value;
use text::{catalogue, drops, file, ring, routes, targets};

/// Runs the binary in a folder with an empty environment.
fn pool_review(folder: &Path, args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_pool-review")).args(args).current_dir(folder).env_clear().output().unwrap()
}

/// A folder with an instruction file, an opencode config, and further files.
fn fleet(name: &str, front_matter: &str, config: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = scratch(&format!("trap-{name}"));
    write(&folder.join("review.md"), format!("---\n{front_matter}\n---\nOur policy.\n").as_bytes());
    write(&folder.join(".opencode/opencode.jsonc"), config.as_bytes());
    for (path, text) in files {
        write(&folder.join(path), text.as_bytes());
    }
    folder
}

/// The run file of a review of a folder at the instant of these tests.
fn reviewed(folder: &Path) -> Value {
    let args = ["review", "-i", "review.md", "--now", "2026-10-20T00:00:00Z", "--format", "json"];
    let ran = pool_review(folder, &args);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&ran.stderr)))
}

/// Pool, code and verdict of every finding of `structure`.
fn structure(run: &Value) -> Vec<(String, String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or("note").to_owned();
    let mut found = Vec::new();
    for pool in run["pools"].as_array().unwrap() {
        for check in pool["checks"].as_array().unwrap().iter().filter(|check| check["check"] == "structure") {
            for finding in check["findings"].as_array().unwrap() {
                found.push((word(&pool["id"]), word(&finding["code"]), word(&finding["verdict"])));
            }
        }
    }
    found
}

/// The verdict of `structure` on a pool, and its reasons.
fn verdict(run: &Value, pool: &str) -> (String, Vec<String>) {
    let pools = run["pools"].as_array().unwrap();
    let pool = pools.iter().find(|known| known["id"] == pool).unwrap();
    let check = pool["checks"].as_array().unwrap().iter().find(|check| check["check"] == "structure").unwrap();
    let reasons = check["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap().to_owned());
    (check["verdict"].as_str().unwrap().to_owned(), reasons.collect())
}

/// Whether some finding is among some.
fn has(found: &[(String, String, String)], pool: &str, code: &str, verdict: &str) -> bool {
    found.iter().any(|known| (known.0.as_str(), known.1.as_str(), known.2.as_str()) == (pool, code, verdict))
}

#[test]
fn trap_01_split_at_the_first_slash_only() {
    let config = routes(r#""p": {"targets": ["openrouter/anthropic/claude-x"]}"#);
    let ring = ring(&config, None, &settings(""), "p").unwrap();
    assert_eq!(ring.members()[0].target.provider, ProviderId::new("openrouter"));
    assert_eq!(ring.members()[0].target.model, "anthropic/claude-x");
}

#[test]
fn trap_02_variants_share_one_weight_and_a_key_with_a_variant_matches_nothing() {
    let config = routes(
        r#""p": {"selection": "weighted", "targets": ["p/m#high", "p/m#low", "q/n"],
             "weights": {"p/m": 2, "q/n#high": 9}}"#,
    );
    let ring = ring(&config, None, &settings(""), "p").unwrap();
    let weights: Vec<f64> = ring.members().iter().map(|member| member.weight).collect();
    assert_eq!(
        format!("{weights:?}"),
        "[2.0, 2.0, 1.0]",
        "both variants have the weight of p/m; q/n#high means nothing"
    );
}

#[test]
fn trap_03_nested_pools_are_flattened_per_root_with_cycles_dedupe_and_variants_handed_down() {
    let known = catalogue(&["a/one:high", "b/two", "c/three:high"]);
    let config = routes(
        r#""inner": {"targets": ["a/one", "b/two", "opencode-route/outer"]},
           "outer": {"targets": ["opencode-route/inner#high", "a/one#high", "c/three"]}"#,
    );
    let outer = ring(&config, Some(&known), &settings(""), "outer");
    assert_eq!(targets(outer.as_ref().unwrap()), ["a/one#high", "c/three"], "b/two has no high and is lost");
    assert_eq!(
        drops(&outer),
        ["b/two#high: variant unknown to model", "opencode-route/outer: cycle", "a/one#high: already in this tree"]
    );
    let inner = ring(&config, Some(&known), &settings(""), "inner").unwrap();
    assert_eq!(targets(&inner), ["a/one", "b/two", "a/one#high", "c/three"], "another root, another tree");
}

#[test]
fn trap_04_until_is_milliseconds_and_ignored_on_nested_pools() {
    let past = NOW_MS - 1;
    let config = routes(&format!(
        r#""inner": {{"targets": ["a/one"]}},
           "outer": {{"targets": [{{"model": "opencode-route/inner", "until": {past}}}, {{"model": "b/two", "until": {past}}},
                      {{"model": "c/three", "until": {NOW_MS}}}, {{"model": "d/four", "until": {}}}]}}"#,
        NOW_MS + 1
    ));
    let outer = ring(&config, None, &settings(""), "outer");
    assert_eq!(targets(outer.as_ref().unwrap()), ["a/one", "d/four"], "the nested pool stays, whatever its `until`");
    assert_eq!(drops(&outer), ["b/two: until passed", "c/three: until passed"], "the instant itself has passed");
    let folder = fleet(
        "04",
        "policy: {plan_meaning: none}",
        &format!(
            r#"{{"model": "opencode-route/outer", "experimental": {{"model_routes": {{"inner": {{"targets": ["a/one"]}},
               "outer": {{"targets": [{{"model": "opencode-route/inner", "until": {past}}}]}}}}}}}}"#
        ),
        &[],
    );
    assert!(has(&structure(&reviewed(&folder)), "outer", "dead_weight", "misaligned"), "the dead key is named");
}

#[test]
fn trap_05_patterns_depend_on_the_catalogue_and_take_no_weight_by_their_pattern() {
    let config = routes(
        r#""p": {"selection": "weighted", "targets": ["a/*sonnet*", "b/two"], "weights": {"a/*sonnet*": 9, "a/sonnet-2": 3}}"#,
    );
    let known = catalogue(&["a/sonnet-2", "a/sonnet-1", "a/opus", "b/two", "A/sonnet-9"]);
    let found = ring(&config, Some(&known), &settings(""), "p").unwrap();
    let members: Vec<_> = found.members().iter().map(|m| (m.target.to_string(), m.weight, m.by_pattern)).collect();
    assert_eq!(
        members,
        [("a/sonnet-2".to_owned(), 3.0, true), ("a/sonnet-1".to_owned(), 1.0, true), ("b/two".to_owned(), 1.0, false)],
        "catalogue order; weights by the id, never by the pattern"
    );
    let without = ring(&config, None, &settings(""), "p");
    assert_eq!(drops(&without), ["a/*sonnet*: pattern cannot be expanded without a catalogue of its provider"]);
}

#[test]
fn trap_06_members_vanish_without_a_message_and_a_pool_with_none_left_does_not_exist() {
    let known = catalogue(&["a/one:low"]);
    let config = routes(r#""p": {"targets": ["a/gone", "a/one#high", "opencode-route/nobody"]}"#);
    let none = ring(&config, Some(&known), &settings(""), "p");
    assert!(none.is_err(), "nothing resolves");
    assert_eq!(
        drops(&none),
        ["a/gone: not in catalogue", "a/one#high: variant unknown to model", "opencode-route/nobody: no such route"]
    );
    let folder = fleet(
        "06",
        "config: {openchamber: routing.json}",
        r#"{"experimental": {"model_routes": {"p": {"targets": ["opencode-route/nobody"]}}}}"#,
        &[(
            "routing.json",
            r#"{"version": 1, "categories": {"hard": {"builtin": true, "model": {"providerID": "opencode-route", "modelID": "p"}}}}"#,
        )],
    );
    let found = structure(&reviewed(&folder));
    assert!(has(&found, "p", "empty_pool", "misaligned"), "{found:?}");
    assert!(has(&found, "category/hard", "dangling_consumer", "misaligned"), "the category still names it");
}

#[test]
fn trap_07_one_model_has_several_ids_and_policy_sees_through_them() {
    let never = settings("policy: {never: [{model: claude-opus-4-6}]}");
    let config = routes(
        r#""p": {"targets": ["copilot/claude-opus-4.6", "anthropic/claude-opus-4-6", "router/anthropic/claude-opus-4.6", "x/y"]}"#,
    );
    let found = ring(&config, None, &never, "p").unwrap();
    assert_eq!(targets(&found), ["x/y"]);
    assert_eq!(found.violations().len(), 3, "every spelling is the same model");
}

#[test]
fn trap_08_the_explicit_object_form_parses_no_slash_and_may_stand_inside_model() {
    let config = routes(
        r#""p": {"targets": [{"providerID": "a", "model": "x/y", "variant": "high"}, {"model": {"providerID": "b", "model": "z"}, "defaultVariant": "low"},
                 {"providerID": "opencode-route", "model": "q"}]}, "q": {"targets": ["c/w"]}"#,
    );
    let found = ring(&config, None, &settings(""), "p").unwrap();
    assert_eq!(targets(&found), ["a/x/y#high", "b/z", "c/w"]);
    assert_eq!(found.members()[1].key.effort.as_str(), "low");
}

#[test]
fn trap_09_the_two_validators_differ() {
    let config = routes(
        r#""zero": {"targets": ["a/b"], "weights": {"a/b": 0}},
           "empty": {"targets": []},
           "budget": {"targets": ["a/b"], "budgets": {"a/b": {"requestsPerDay": 0}}},
           "health": {"targets": ["a/b"], "health": {"slowThreshold": 0}},
           "fine": {"targets": ["a/b"]}"#,
    );
    let by = |id: &str| {
        let route = config.routes.iter().find(|route| route.id.as_str() == id).unwrap();
        (route.invalid.is_none(), route.unsaveable.is_none())
    };
    assert_eq!(by("zero"), (false, false), "both refuse a weight of 0");
    assert_eq!(by("empty"), (true, false), "the router takes it, OpenChamber does not");
    assert_eq!(by("budget"), (false, true), "OpenChamber does not look at budgets");
    assert_eq!(by("health"), (false, true), "nor at health");
    assert_eq!(by("fine"), (true, true));
}

#[test]
fn trap_10_unknown_keys_are_ignored_so_near_misses_are_named() {
    let config = routes(
        r#""p": {"targets": [{"model": "a/b", "untill": 5}], "wieghts": {}, "note": "mine", "health": {"cooldownMS": 5},
                 "budgets": {"a/b": {"requestPerDay": 5}}}"#,
    );
    let route = &config.routes[0];
    assert!(route.invalid.is_none(), "the router ignores what it does not know");
    let mut near: Vec<_> = route.unknown_keys.iter().map(|key| (key.key.as_str(), key.near.as_deref())).collect();
    near.sort_unstable();
    assert_eq!(
        near,
        [
            ("cooldownMS", Some("cooldownMs")),
            ("note", None),
            ("requestPerDay", Some("requestsPerDay")),
            ("untill", Some("until")),
            ("wieghts", Some("weights"))
        ]
    );
}

#[test]
fn trap_11_comments_hold_no_keys_and_nothing_is_resolved() {
    let config = opencode::parse(&file(
        r#"{ // "model": "opencode-route/ghost", { {
          /* "experimental": {"model_routes": {"ghost": {"targets": ["a/b"]}}} */
          "model": "{file:/etc/passwd}", "small_model": "{env:SMALL}",
          "experimental": {"model_routes": {"p": {"targets": ["a/b//c", "{env:MODEL}", "x/{file:secret}"],}}},
        }"#,
    ))
    .unwrap();
    let ids: Vec<_> = config.routes.iter().map(|route| route.id.as_str()).collect();
    assert_eq!(ids, ["p"]);
    assert!(config.consumers.iter().all(|consumer| matches!(consumer.target, ConsumerTarget::Unreadable(_))));
    let found = ring(&config, None, &settings(""), "p");
    assert_eq!(targets(found.as_ref().unwrap()), ["a/b//c"]);
    let untold = "cannot be told without resolving it";
    assert_eq!(drops(&found), [format!("{{env:MODEL}}: {untold}"), format!("x/{{file:secret}}: {untold}")]);
}

#[test]
fn trap_12_a_proposal_is_a_patch_that_keeps_comments() {
    let config = "{\n  \"model\": \"opencode-route/p\", // the default\n  \"experimental\": { \"model_routes\": {\n    \"p\": { \"targets\": [\n      \"a/b\", // 3x, dear\n      { \"model\": \"c/d\", \"until\": 5 }, // over\n      \"e/f\", // policy: keep\n    ] },\n  } },\n}\n";
    let folder = fleet("12", "policy: {plan_meaning: none}", config, &[]);
    reviewed(&folder);
    let proposals = std::fs::read_dir(folder.join("reports/proposals")).unwrap().map(|entry| entry.unwrap().path());
    let patches: Vec<String> = proposals
        .filter(|path| path.extension().is_some_and(|extension| extension == "patch"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let expired = patches.iter().find(|patch| patch.contains("\"until\": 5")).expect("the dead line is taken out");
    let removed: Vec<&str> = expired.lines().filter(|line| line.starts_with('-') && !line.starts_with("---")).collect();
    assert_eq!(removed.len(), 1, "{expired}");
    assert_eq!(
        std::fs::read_to_string(folder.join(".opencode/opencode.jsonc")).unwrap(),
        config,
        "config is read only"
    );
}

#[test]
fn trap_13_a_higher_file_replaces_a_route_whole_and_shadowed_ones_are_reported() {
    let route = |target: &str| format!(r#""targets": ["{target}"]"#);
    let lower = format!(
        r#"{{"model": "opencode-route/same", "experimental": {{"model_routes": {{"p": {{{}, "selection": "weighted"}}, "same": {{{}}}, "low": {{{}}}}}}}}}"#,
        route("a/low"),
        route("a/same"),
        route("a/only")
    );
    let upper = format!(
        r#"{{"experimental": {{"model_routes": {{"p": {{{}}}, "same": {{{}}}, "broken": {{"targets": [7]}}}}}}}}"#,
        route("b/high"),
        route("a/same")
    );
    let folder =
        fleet("13", "config: {layers: [global, absent.json]}", &upper, &[("global/opencode.json", lower.as_str())]);
    let config =
        layers::opencode_layers(&folder, &Settings::load(&folder, Path::new("review.md")).unwrap().config).unwrap();
    let effective = config.effective();
    assert_eq!(effective[&PoolId::new("p")].raw["targets"][0], "b/high");
    assert!(effective[&PoolId::new("p")].raw.get("selection").is_none(), "replaced whole, not merged");
    assert_eq!(effective[&PoolId::new("low")].raw["targets"][0], "a/only", "ids only in lower files stay");
    let states: Vec<_> = config.layers.iter().map(|layer| matches!(layer.state, LayerState::Read { .. })).collect();
    assert_eq!(states, [true, false, true], "lowest first; a missing layer is a note");
    let found = structure(&reviewed(&folder));
    assert!(has(&found, "p", "shadowed_pool", "watch"), "they differ: {found:?}");
    assert!(has(&found, "same", "shadowed_pool", "note"), "equal ones are a note");
}

#[test]
fn trap_14_a_blacklist_is_the_owners_wish_and_keeps_nothing_out_of_a_ring() {
    let config = opencode::parse(&file(
        r#"{"provider": {"a": {"blacklist": ["one"], "whitelist": ["two"]}}, "experimental": {"model_routes": {"p": {"targets": ["a/one", "a/three"]}}}}"#,
    ))
    .unwrap();
    assert_eq!(config.blacklist[&ProviderId::new("a")], ["one"]);
    assert_eq!(
        targets(&ring(&config, None, &settings(""), "p").unwrap()),
        ["a/one", "a/three"],
        "2.x ignores both lists"
    );
    assert_eq!(config.problems.len(), 2, "and it says so");
}

#[test]
fn trap_15_unset_autonomy_is_not_fixed_and_fixed_kills_weights_selection_and_budgets() {
    let text = |autonomy: &str| {
        format!(
            r#""p": {{{autonomy}"selection": "weighted", "targets": ["a/b", "c/d"], "weights": {{"c/d": 9}}, "budgets": {{"a/b": {{"requestsPerDay": 5}}}}}}"#
        )
    };
    let unset = ring(&routes(&text("")), None, &settings(""), "p").unwrap();
    assert_eq!(unset.lead().target.to_string(), "c/d");
    assert!(unset.members()[0].budget.is_some());
    let config = routes(&text(r#""autonomy": "fixed", "#));
    let fixed = ring(&config, None, &settings(""), "p").unwrap();
    assert_eq!((fixed.lead().target.to_string(), fixed.selection().as_str()), ("a/b".to_owned(), "ordered"));
    assert!(fixed.members()[0].budget.is_none());
    let with = |is_fixed: bool| {
        let text = format!(
            r#"{{"version": 1, "overrides": [{{"id": "x", "action": "avoid", "providers": ["a"], "fixed": {is_fixed}, "until": {}}}]}}"#,
            NOW_MS + 1
        );
        let mut config = config.clone();
        config.stack(overrides::parse(&file(&text)).unwrap());
        holds(&fixed, &config, true, NOW_MS).len()
    };
    assert_eq!((with(true), with(false)), (1, 0), "an override reaches a fixed route unless it says `fixed: false`");
}

#[test]
fn trap_16_weights_also_drive_round_robin() {
    let config = routes(r#""p": {"selection": "round-robin", "targets": ["a/b", "c/d"], "weights": {"a/b": 3}}"#);
    let found = ring(&config, None, &settings(""), "p").unwrap();
    assert!((found.members()[0].share - 0.75).abs() < 1e-12);
    let (rotation, _) = found.rotation().unwrap();
    assert_eq!(rotation.smooth, [0, 0, 1, 0]);
}

#[test]
fn trap_17_what_plan_means_is_a_setting() {
    let homes = "homes: {seat: {providers: [zai-coding-plan], billing: flat}, key: {providers: [a], billing: metered}}";
    let config = routes(r#""work-plan": {"targets": ["zai-coding-plan/glm", "a/plan"]}"#);
    let by_home = ring(&config, None, &settings(homes), "work-plan").unwrap();
    assert_eq!(targets(&by_home), ["zai-coding-plan/glm"], "billing decides, not the provider's name");
    let twin = format!("{homes}\npolicy: {{plan_meaning: planning_twin}}");
    assert_eq!(targets(&ring(&config, None, &settings(&twin), "work-plan").unwrap()).len(), 2);
}

#[test]
fn trap_18_a_pool_has_no_price_of_its_own() {
    // The router shows the first member's price as the pool's. Here a bill belongs to a member: the demo's pool `scout` has three.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let args = ["review", "--format", "json"];
    let folder = scratch("trap-18");
    copy(root, &folder, "data");
    copy(root, &folder, "instructions");
    let run: Value = serde_json::from_slice(&pool_review(&folder, &args).stdout).unwrap();
    let scout = run["pools"].as_array().unwrap().iter().find(|pool| pool["id"] == "scout").unwrap();
    let numbers = scout["checks"].as_array().unwrap().iter().flat_map(|check| check["numbers"].as_array().unwrap());
    let bills: Vec<&Value> = numbers.filter(|number| number["unit"] == "usd_per_mtok").collect();
    assert!(bills.len() >= 3, "a bill per member: {bills:?}");
    assert!(bills.iter().all(|bill| bill["of"].as_str().is_some_and(|of| !of.is_empty())), "each says whose it is");
}

/// Copies a folder of the repository.
fn copy(root: &Path, folder: &Path, name: &str) {
    let mut open = vec![root.join(name)];
    while let Some(next) = open.pop() {
        for path in std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                write(&folder.join(path.strip_prefix(root).unwrap()), &std::fs::read(&path).unwrap());
            }
        }
    }
}

/// Scorecards of some rows below the usual head.
fn cards(name: &str, rows: &str) -> (Vec<pool_review::vocabulary::ScorecardRow>, pool_review::vocabulary::SourceNote) {
    let head = "task_id,attempt,finished_at,pool,provider,model,outcome,failure_kind,cost_usd,tokens_output\n";
    let path = scratch(&format!("trap-{name}")).join("cards.csv");
    write(&path, format!("{head}{rows}").as_bytes());
    let now = chrono::DateTime::from_timestamp_millis(NOW_MS).unwrap();
    scorecards::read(&path, "cards.csv", now)
}

#[test]
fn trap_19_what_was_stopped_or_lost_a_race_is_no_failure() {
    let rows = "t1,1,2026-10-18T00:00:00Z,p,a,b,success,,,\nt2,1,2026-10-18T00:00:00Z,p,a,b,failure,rate_limited,,\nt3,1,2026-10-18T00:00:00Z,p,a,b,unknown,,,\n";
    let (cards, note) = cards("19", rows);
    assert_eq!(note.rejected, 0, "{:?}", note.rejects);
    let outcomes: Vec<Outcome> = cards.iter().map(|card| card.outcome).collect();
    assert_eq!(outcomes, [Outcome::Success, Outcome::Infra, Outcome::Unknown], "only a failure of the model is one");
}

#[test]
fn trap_20_requests_outside_a_pool_belong_to_none() {
    let (cards, _) = cards("20", "t1,1,2026-10-18T00:00:00Z,,a,b,success,,,\n");
    assert_eq!(cards[0].pool, None, "an empty route id is no pool called \"\"");
}

#[test]
fn trap_21_speeds_are_weighted_by_what_they_measured() {
    let head = "measured_at,provider,model,n,output_tps\n";
    let path = scratch("trap-21").join("speeds.csv");
    write(&path, format!("{head}2026-10-19T00:00:00Z,a,b,24,40\n2026-10-19T01:00:00Z,a,b,0,900\n").as_bytes());
    let now = chrono::DateTime::from_timestamp_millis(NOW_MS).unwrap();
    let (rows, note) = speeds::read(&path, "speeds.csv", now);
    assert_eq!((rows.len(), rows[0].n), (1, 24), "a speed without requests behind it is no measurement");
    assert_eq!(note.rejected, 1);
}

#[test]
fn trap_22_token_counts_of_different_kinds_are_not_added_up() {
    // The pool's tokens are a setting where its own are unknown, and a cost of 0 beside tokens is unknown, whatever they count.
    let (cards, _) = cards("22", "t1,1,2026-10-18T00:00:00Z,p,a,b,success,,0,42\n");
    assert_eq!(cards[0].cost_usd, None);
}

#[test]
fn trap_23_absent_tables_are_no_evidence_and_never_zero() {
    let config =
        r#"{"model": "opencode-route/p", "experimental": {"model_routes": {"p": {"targets": ["a/b", "c/d"]}}}}"#;
    let absent = reviewed(&fleet("23", "policy: {plan_meaning: none}", config, &[]));
    let named = reviewed(&fleet("23-named", "data: {sessions: absent.csv}", config, &[]));
    let best = |run: &Value| {
        let checks = run["pools"][0]["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["check"] == "best-per-pool").unwrap()["verdict"].clone()
    };
    assert_eq!(best(&absent), "insufficient_evidence", "nothing configured");
    assert_eq!(best(&named), "blocked", "configured and missing");
}

/// The quota source over one window.
fn window(name: &str, fields: &str) -> Vec<pool_review::vocabulary::QuotaHome> {
    let path = scratch(&format!("trap-{name}")).join("q.json");
    let text = format!(
        r#"{{"schema": "quota-snapshot/1", "generated_at": "2026-10-19T23:59:00Z", "homes": [{{"home_id": "h", "windows": [{{"window_id": "w", "kind": "fixed", {fields}}}]}}]}}"#
    );
    write(&path, text.as_bytes());
    let now = chrono::DateTime::from_timestamp_millis(NOW_MS).unwrap();
    quotas::read(&path, "q.json", now).0
}

#[test]
fn trap_24_the_stated_end_of_a_hold_counts_not_the_event_of_its_end() {
    let config = routes(r#""p": {"targets": ["a/b"]}"#);
    let found = ring(&config, None, &settings(""), "p").unwrap();
    let active = |until: i64| {
        let text = format!(r#"{{"overrides": [{{"id": "x", "action": "avoid", "models": ["b"], "until": {until}}}]}}"#);
        let mut config = config.clone();
        config.stack(overrides::parse(&file(&text)).unwrap());
        holds(&found, &config, false, NOW_MS).len()
    };
    assert_eq!((active(NOW_MS), active(NOW_MS + 1)), (0, 1), "nobody has to remove an expired one");
}

#[test]
fn trap_25_a_reset_without_a_unit_is_no_instant() {
    let homes = window("25", r#""used_percent": 20, "window_seconds": 18000, "resets_at": "1792468800""#);
    assert!(homes[0].windows[0].resets_at.is_none(), "seconds of an epoch are not guessed to be an instant");
}

#[test]
fn trap_26_a_cost_of_0_is_not_free() {
    let (cards, note) = cards(
        "26",
        "t1,1,2026-10-18T00:00:00Z,p,a,b,success,,0,900\nt2,1,2026-10-18T00:00:00Z,p,a,b,success,,0.5,900\n",
    );
    assert_eq!((cards[0].cost_usd, cards[1].cost_usd), (None, Some(0.5)));
    assert!(note.remarks.iter().any(|remark| remark.contains("not billed")), "{:?}", note.remarks);
}

#[test]
fn trap_27_an_aborted_turn_says_nothing_about_a_model() {
    let (cards, _) = cards("27", "t1,1,2026-10-18T00:00:00Z,p,a,b,unknown,,,\n");
    assert_eq!(cards[0].outcome, Outcome::Unknown);
}

#[test]
fn trap_28_model_id_and_model_variant_and_effort() {
    let config = opencode::parse(&file(
        r#"{"agent": {"one": {"model": {"providerID": "a", "modelID": "m", "variant": "high"}}, "two": {"model": {"providerID": "a", "id": "m"}},
            "three": {"model": "opencode-route/p", "variant": "low"}}, "agents": {"one": {"model": "opencode-route/q#max"}}}"#,
    ))
    .unwrap();
    let shown: Vec<_> =
        config.consumers.iter().map(|c| (c.id.as_str(), format!("{:?}", c.target), c.variant.as_deref())).collect();
    assert_eq!(shown.len(), 3);
    assert!(shown[0].1.contains("\"q\"") && shown[0].2 == Some("max"), "the 2.x spelling counts: {:?}", shown[0]);
    assert!(shown[1].1.contains("\"p\"") && shown[1].2 == Some("low"), "{:?}", shown[1]);
    assert!(shown[2].1.contains("model: \"m\""), "{:?}", shown[2]);
}

#[test]
fn trap_29_a_match_is_a_part_of_the_name() {
    let config = opencode::parse(&file(
        r#"{"experimental": {"model_routes": {"p": {"targets": ["openai/gpt-6-luna", "openai/gpt-6", "a/b"]}},
            "model_route_tuning": {"notes": ["openai/gpt-6: spent, reset at 2026-10-26T00:00:00Z", "a/b: back in 3 hours", "a/b: reset at 2026-10-01"]}}}"#,
    ))
    .unwrap();
    let found = ring(&config, None, &settings(""), "p").unwrap();
    let held: Vec<_> = holds(&found, &config, false, NOW_MS).iter().map(|hold| (hold.member, hold.kind)).collect();
    assert_eq!(
        held,
        [(0, HoldKind::Note), (1, HoldKind::Note)],
        "gpt-6 also means gpt-6-luna; expired and unstated resets hold nobody"
    );
}

#[test]
fn trap_30_nothing_is_opened_for_writing_and_no_credential_is_shown() {
    let secret = "sk-very-secret-0123456789";
    let config = format!(
        r#"{{"provider": {{"a": {{"options": {{"apiKey": "{secret}"}}}}}}, "model": "opencode-route/p", "experimental": {{"model_routes": {{"p": {{"targets": ["a/b"]}}}}}}}}"#
    );
    let lite = format!("model_list:\n  - model_name: g\n    litellm_params: {{ model: a/b, api_key: {secret} }}\n");
    let ccr = format!(
        r#"{{"Providers": [{{"name": "a", "api_key": "{secret}", "models": ["b"]}}], "Router": {{"default": "a,b"}}}}"#
    );
    let front = "config: {litellm: lite.yaml, ccr: ccr.json}";
    let folder = fleet("30", front, &config, &[("lite.yaml", lite.as_str()), ("ccr.json", ccr.as_str())]);
    for args in [vec!["review"], vec!["doctor"], vec!["explain", "p"], vec!["explain", "litellm:g", "--format", "json"]]
    {
        let args: Vec<&str> = args.into_iter().chain(["-i", "review.md", "--now", "2026-10-20T00:00:00Z"]).collect();
        let ran = pool_review(&folder, &args);
        let said = [ran.stdout, ran.stderr].concat();
        assert!(!String::from_utf8_lossy(&said).contains(secret), "{args:?}");
    }
    let mut open = vec![folder.join("reports")];
    while let Some(next) = open.pop() {
        for path in std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                assert!(!std::fs::read_to_string(&path).unwrap().contains(secret), "{}", path.display());
            }
        }
    }
    let parsed = litellm::parse(&pool_review::vocabulary::ConfigFile { path: "lite.yaml".into(), text: lite }).unwrap();
    assert!(!format!("{parsed:?}").contains(secret), "what is not shown cannot leak");
}

#[test]
fn trap_31_an_absent_category_runs_on_the_fallback_and_deleted_is_the_only_way_to_be_gone() {
    let config = openchamber::parse(&file(
        r#"{"version": 1, "fallback": {"model": {"providerID": "opencode-route", "modelID": "w"}},
            "categories": {"review": {"builtin": true, "deleted": true}, "hard": {"builtin": true, "variant": "high"}}}"#,
    ))
    .unwrap();
    let shown: Vec<_> = config
        .consumers
        .iter()
        .map(|c| (c.id.as_str(), c.target == ConsumerTarget::Fallback, c.variant.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            ("category/trivial", true, None),
            ("category/research", true, None),
            ("category/implement", true, None),
            ("category/hard", true, None),
            ("fallback/openchamber", false, None)
        ],
        "an own variant without an own model is ignored"
    );
}

#[test]
fn trap_32_every_referrer_is_collected_before_a_pool_is_called_unused() {
    let pool = |name: &str| format!(r#""{name}": {{"targets": ["a/{name}"]}}"#);
    let names = ["by-model", "by-agent", "by-command", "by-omo", "by-omo-fallback", "by-job", "by-category", "nobody"];
    let pools: Vec<String> = names.iter().map(|name| pool(name)).collect();
    let config = format!(
        r#"{{"model": "opencode-route/by-model", "agent": {{"x": {{"model": "opencode-route/by-agent"}}}}, "command": {{"c": {{"model": "opencode-route/by-command"}}}},
            "experimental": {{"model_routes": {{{}, "parent": {{"targets": ["opencode-route/nested"]}}, "nested": {{"targets": ["a/nested"]}}}}}}}}"#,
        pools.join(", ")
    );
    let omo = r#"{"categories": {"quick": {"model": "opencode-route/by-omo", "fallback_models": ["opencode-route/by-omo-fallback"]}}}"#;
    let job = r#"{"slug": "nightly", "run": {"model": "a/old"}, "invocation": {"command": "opencode", "args": ["run", "--model", "opencode-route/by-job"]}}"#;
    let routing = r#"{"version": 1, "categories": {"hard": {"builtin": true, "model": {"providerID": "opencode-route", "modelID": "by-category"}}}}"#;
    let front = "config: {openchamber: routing.json, omo: [omo.jsonc], scheduler: scheduler}";
    let files = [("routing.json", routing), ("omo.jsonc", omo), ("scheduler/scopes/s/jobs/nightly.json", job)];
    let folder = fleet("32", front, &config, &files);
    let unused = |run: &Value| -> Vec<String> {
        structure(run).into_iter().filter(|(_, code, _)| code == "no_consumer").map(|(pool, ..)| pool).collect()
    };
    assert_eq!(unused(&reviewed(&folder)), ["nobody", "parent"], "and only those");
    let broken = fleet("32-unread", front, &config, &files[..2]);
    let run = reviewed(&broken);
    assert!(unused(&run).is_empty(), "the jobs could not be read: nobody can be called unused");
    assert_eq!(verdict(&run, "nobody").0, "blocked");
    assert!(verdict(&run, "nobody").1.contains(&"failed:consumers".to_owned()));
}

#[test]
fn there_is_a_test_for_every_trap_of_the_reference() {
    let own = include_str!("pool_traps.rs");
    for trap in 1..=32 {
        assert!(own.contains(&format!("fn trap_{trap:02}_")), "trap {trap}");
    }
}

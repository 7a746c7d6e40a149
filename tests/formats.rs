//! Pools of other formats against the handed examples and their page: oh-my-openagent, `LiteLLM`, claude-code-router, scheduler
//! jobs, overrides and notes. A whole fleet with every format runs through the binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

mod common;
mod ring_support;

use std::path::Path;
use std::process::Command;

use pool_review::ring::{HoldKind, ResolvedRing, RingInput, holds};
use pool_review::sources::pools::{ccr, litellm, omo, opencode, overrides, scheduler};
use pool_review::vocabulary::{ConfigFile, ConsumerTarget, FleetConfig, PoolId};
use ring_support::{NOW_MS, canonical, scratch, settings, write};
use serde_json::Value;

/// A handed file.
fn handed(path: &Path) -> ConfigFile {
    ConfigFile {
        path: path.file_name().unwrap().to_str().unwrap().to_owned(),
        text: std::fs::read_to_string(path).unwrap(),
    }
}

/// `pool: members` of every pool of a config, fallbacks marked, without a catalogue.
fn flattened(config: &FleetConfig) -> Vec<String> {
    let settings = settings("");
    let input = RingInput::new(config, None, &settings, &canonical, NOW_MS);
    let member = |member: &pool_review::ring::RingMember| {
        let mark = if member.is_fallback { "+" } else { "" };
        format!("{mark}{} {:.2}", member.target, member.share)
    };
    let line = |ring: ResolvedRing| {
        format!("{}: {}", ring.pool(), ring.members().iter().map(member).collect::<Vec<_>>().join(", "))
    };
    config.effective().values().filter_map(|route| ResolvedRing::build(&input, route).ok()).map(line).collect()
}

/// `consumer → target` of every consumer.
fn referrers(config: &FleetConfig) -> Vec<String> {
    let shown = |target: &ConsumerTarget| match target {
        ConsumerTarget::Pool(id) => format!("pool {id}"),
        ConsumerTarget::Model(target) => target.to_string(),
        other => format!("{other:?}"),
    };
    let consumer = |consumer: &pool_review::vocabulary::Consumer| {
        let variant = consumer.variant.as_ref().map_or_else(String::new, |variant| format!(" at {variant}"));
        format!("{} → {}{variant}", consumer.id, shown(&consumer.target))
    };
    config.consumers.iter().map(consumer).collect()
}

#[test]
fn omo_categories_and_agents_are_ordered_lists_with_a_grammar_of_their_own() {
    let Some(shared) = common::shared() else { return };
    for path in common::files_below(&shared.join("examples"), &|name| name == "oh-my-openagent.jsonc") {
        let pools = opencode::parse(&handed(&path.with_file_name("../opencode/opencode.jsonc"))).unwrap();
        let mut config = omo::parse(&handed(&path)).unwrap();
        let mut referrers = referrers(&config);
        referrers.sort();
        assert_eq!(
            referrers,
            [
                "omo-agent/explore → pool scout",
                "omo-agent/oracle → pool summit",
                "omo/deep → pool specialist at high",
                "omo/ledger-audit → anthropic/claude-sonnet-5",
                "omo/quick → pool scout",
            ],
            "ultrabrain is off"
        );
        config.routes.splice(0..0, pools.routes);
        let flat: Vec<_> = flattened(&config).into_iter().filter(|line| line.starts_with("omo")).collect();
        assert_eq!(
            flat,
            [
                "omo-agent:oracle: openai/gpt-6-astra#xhigh 1.00, anthropic/claude-opus-5#max 0.00",
                "omo:deep: anthropic/claude-opus-5#high 1.00, openrouter/anthropic/claude-opus-5 0.00, \
                 +openai/gpt-6-astra#xhigh 0.00, +openrouter/anthropic/claude-opus-5#high 0.00",
                "omo:quick: openai/gpt-6-luna#low 0.75, openrouter/z-ai/glm-5.3-air 0.25",
            ],
            "a fallback that the pool before it holds already is no second member"
        );
        let chains = config.problems.iter().filter(|problem| problem.reason.contains("built in")).count();
        assert_eq!(chains, 2, "quick and deep also have a chain that no file shows");
    }
}

#[test]
fn omo_without_a_provider_cannot_be_told_and_a_disabled_one_is_taken_out() {
    let text = r#"{"disabled_providers": ["x"], "categories": {
        "one": {"model": "x/a", "fallback_models": ["y/b", "bare-model", {"model": "y/c", "variant": "max"}]}}}"#;
    let file = ConfigFile { path: "omo.json".to_owned(), text: text.to_owned() };
    let config = omo::parse(&file).unwrap();
    assert_eq!(flattened(&config), ["omo:one: +y/b 1.00, +y/c#max 0.00"]);
    let reasons: Vec<&str> = config.problems.iter().map(|problem| problem.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "the model of one is of a disabled provider, so another one takes its place",
            "runtime_fallback is off, so the fallbacks of this file may never be used"
        ]
    );
}

#[test]
fn litellm_groups_have_weights_tiers_fallbacks_and_aliases() {
    let Some(shared) = common::shared() else { return };
    for path in common::files_below(&shared.join("examples/pools"), &|name| name == "config.yaml") {
        let config = litellm::parse(&handed(&path)).unwrap();
        assert_eq!(
            flattened(&config),
            [
                "litellm:scout: openai/gpt-6-luna 0.75, openrouter/z-ai/glm-5.3-air 0.25",
                "litellm:summit: anthropic/claude-opus-5 1.00, +anthropic/claude-sonnet-5 0.00, \
                 +openrouter/anthropic/claude-sonnet-5 0.00, +openai/gpt-6-luna 0.00, +openrouter/z-ai/glm-5.3-air 0.00",
                "litellm:workhorse: anthropic/claude-sonnet-5 1.00, openrouter/anthropic/claude-sonnet-5 0.00, \
                 +openai/gpt-6-luna 0.00, +openrouter/z-ai/glm-5.3-air 0.00",
            ],
            "summit falls back to workhorse, workhorse to scout; order 2 works when order 1 has nobody left"
        );
        assert_eq!(referrers(&config), ["litellm/background → pool litellm:scout"]);
        assert!(!format!("{config:?}").contains("os.environ"), "keys are not shown");
    }
}

#[test]
fn litellm_deployments_of_one_model_add_up_and_measured_strategies_are_said() {
    let text = "model_list:\n  - {model_name: g, litellm_params: {model: a/b, weight: 2, api_key: k1}}\n  - {model_name: g, litellm_params: {model: a/b, weight: 1, api_key: k2}}\n  - {model_name: g, litellm_params: {model: c/d}}\n  - {model_name: g, litellm_params: {model: bare}}\n  - {litellm_params: {model: a/b}}\nrouter_settings: {routing_strategy: least-busy}\n";
    let config = litellm::parse(&ConfigFile { path: "c.yaml".to_owned(), text: text.to_owned() }).unwrap();
    assert_eq!(flattened(&config), ["litellm:g: a/b 0.75, c/d 0.25"], "3 of 4; a bare name has no provider");
    let places: Vec<String> = config.problems.iter().map(|problem| problem.place.to_string()).collect();
    assert_eq!(places, ["c.yaml:6", "c.yaml:7"], "an entry without a name, and a strategy that measures");
}

#[test]
fn ccr_slots_part_provider_and_model_by_a_comma_and_a_new_store_makes_the_file_stale() {
    let Some(shared) = common::shared() else { return };
    let found = common::files_below(&shared.join("examples/pools/ccr"), &|name| name == "config.json");
    for path in found {
        let config = ccr::parse(&handed(&path), false).unwrap();
        assert_eq!(
            flattened(&config),
            [
                "ccr:background: openrouter/z-ai/glm-5.3-air 1.00",
                "ccr:default: openai/gpt-6-luna 1.00, +openrouter/z-ai/glm-5.3-air 0.00",
                "ccr:longContext: openai/gpt-6-astra 1.00",
                "ccr:think: openrouter/anthropic/claude-opus-5 1.00, +openai/gpt-6-astra 0.00",
                "ccr:webSearch: openai/gpt-6-luna 1.00",
            ]
        );
        assert!(config.problems.is_empty());
        let stale = ccr::parse(&handed(&path), true).unwrap();
        assert!(stale.problems[0].reason.contains("3.x store"), "{:?}", stale.problems);
        assert!(!format!("{config:?}").contains("API_KEY"), "keys are not shown");
    }
}

#[test]
fn a_scheduled_job_names_the_pool_of_its_frozen_invocation() {
    let Some(shared) = common::shared() else { return };
    let folder = shared.join("examples/pools/scheduler");
    for path in common::files_below(&folder, &|name| name == "pool-composition-review.json") {
        let config = scheduler::parse(&handed(&path)).unwrap();
        assert_eq!(referrers(&config), ["scheduler/pool-composition-review → pool background"]);
        let edited = ConfigFile {
            path: "job.json".to_owned(),
            text: handed(&path).text.replacen("opencode-route/background", "opencode-route/scout", 1),
        };
        let config = scheduler::parse(&edited).unwrap();
        assert_eq!(
            referrers(&config),
            ["scheduler/pool-composition-review → pool background"],
            "`run` alone changes nothing"
        );
        assert_eq!(config.problems.len(), 1, "and that is worth a remark");
    }
    for path in common::files_below(&folder, &|name| name == "opencode-scheduler.json") {
        assert!(scheduler::parse(&handed(&path)).unwrap().consumers.is_empty(), "settings are no job");
    }
}

#[test]
fn overrides_and_notes_stand_beside_the_ring() {
    let Some(shared) = common::shared() else { return };
    for path in common::files_below(&shared.join("examples"), &|name| name == "route-overrides.json") {
        let mut config = opencode::parse(&handed(&path.with_file_name("opencode.jsonc"))).unwrap();
        config.stack(overrides::parse(&handed(&path)).unwrap());
        let settings = settings("");
        let input = RingInput::new(&config, None, &settings, &canonical, NOW_MS);
        let held = |pool: &str| -> Vec<(String, HoldKind)> {
            let route = config.effective()[&PoolId::new(pool)];
            let ring = ResolvedRing::build(&input, route).unwrap();
            let holds = holds(&ring, &config, route.is_fixed, NOW_MS);
            holds.iter().map(|hold| (ring.members()[hold.member].target.to_string(), hold.kind)).collect()
        };
        assert_eq!(
            held("workhorse-plan"),
            [
                ("github-copilot/gpt-6-luna".to_owned(), HoldKind::Avoid),
                ("zai-coding-plan/glm-5.3".to_owned(), HoldKind::Note)
            ]
        );
        assert!(held("summit").is_empty(), "the preference spares fixed routes");
        let preferred: Vec<_> = held("specialist");
        assert_eq!(
            preferred,
            [("anthropic/claude-opus-5#high".to_owned(), HoldKind::Prefer(2.0))],
            "ids with a vendor before them do not begin with claude-"
        );
    }
}

#[test]
fn broken_overrides_are_dropped_one_by_one_as_the_router_does() {
    let text = r#"{"version": 1, "overrides": [
        {"id": "ok", "action": "prefer", "models": ["*"], "until": 5},
        {"id": "nobody", "action": "avoid", "until": 5},
        {"id": "odd", "action": "boost", "models": ["*"], "until": 5},
        {"action": "avoid", "models": ["*"], "until": 5},
        {"id": "no-end", "action": "avoid", "models": ["*"]},
        7]}"#;
    let config = overrides::parse(&ConfigFile { path: "o.json".to_owned(), text: text.to_owned() }).unwrap();
    assert_eq!(config.overrides.len(), 1);
    assert!((config.overrides[0].factor - 3.0).abs() < 1e-12, "what `prefer` means without a factor");
    let lines: Vec<usize> = config.problems.iter().map(|problem| problem.place.line).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7]);
}

/// Runs the binary in a folder with an empty environment.
fn pool_review(folder: &Path, args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_pool-review")).args(args).current_dir(folder).env_clear().output().unwrap()
}

#[test]
fn a_fleet_with_every_format_is_read_explained_and_judged() {
    let Some(shared) = common::shared() else { return };
    let folder = scratch("formats-fleet");
    let examples = shared.join("examples/pools");
    for (from, to) in [
        ("opencode/opencode.jsonc", ".opencode/opencode.jsonc"),
        ("opencode/route-overrides.json", "data/route-overrides.json"),
        ("openchamber/routing.json", "routing.json"),
        ("omo/oh-my-openagent.jsonc", ".opencode/oh-my-openagent.jsonc"),
        ("litellm/config.yaml", "litellm.yaml"),
        ("ccr/config.json", "ccr.json"),
        ("scheduler/pool-composition-review.json", "jobs/pool-composition-review.json"),
    ] {
        write(&folder.join(to), &std::fs::read(examples.join(from)).unwrap());
    }
    let front = "---\npolicy: {plan_meaning: none}\nconfig:\n  overrides: data/route-overrides.json\n  openchamber: routing.json\n  omo: [.opencode/oh-my-openagent.jsonc]\n  litellm: litellm.yaml\n  ccr: ccr.json\n  scheduler: jobs\n---\nOur policy.\n";
    write(&folder.join("review.md"), front.as_bytes());
    let common = ["-i", "review.md", "--now", "2026-10-20T00:00:00Z", "--format", "json"];
    let run = |verb: &[&str]| -> Value {
        let args: Vec<&str> = verb.iter().copied().chain(common).collect();
        let ran = pool_review(&folder, &args);
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stderr)))
    };
    let doctor = run(&["doctor"]);
    let kinds: Vec<&str> =
        doctor["layers"].as_array().unwrap().iter().map(|layer| layer["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "canonical opencode config",
            "route overrides",
            "oh-my-openagent",
            "LiteLLM",
            "claude-code-router",
            "scheduler job",
            "OpenChamber categories"
        ]
    );
    let pool = run(&["explain", "background"]);
    let consumers: Vec<&str> =
        pool["consumers"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(consumers, ["category/bulk-chores", "scheduler/pool-composition-review"], "a job is a referrer too");
    let plan = run(&["explain", "workhorse-plan"]);
    let held: Vec<&str> = plan["members"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|m| m["holds"].as_array().unwrap())
        .map(|h| h["what"].as_str().unwrap())
        .collect();
    assert!(held.iter().any(|what| what.starts_with("avoid until 2026-10-24")), "{held:?}");
    let review = run(&["review"]);
    let ids: Vec<&str> = review["pools"].as_array().unwrap().iter().map(|pool| pool["id"].as_str().unwrap()).collect();
    for id in ["scout", "omo:deep", "omo:ledger-audit", "litellm:summit", "ccr:think", "openchamber:research"] {
        assert!(ids.contains(&id), "{id} is judged: {ids:?}");
    }
    let text = String::from_utf8(
        pool_review(&folder, &["explain", "workhorse", "-i", "review.md", "--now", "2026-10-20T00:00:00Z"]).stdout,
    )
    .unwrap();
    for part in [
        "openai/gpt-6-luna",
        "anthropic/*sonnet*: pattern cannot be expanded",
        "rotation",
        "smooth AABA",
        "block  AAAB",
        ".opencode/opencode.jsonc:",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

//! Config files as they come: broken, huge, no files at all, and files in layers. Nothing hangs, nothing panics, and while the
//! canonical config is unreadable nothing is written.

#![expect(clippy::unwrap_used, reason = "a test that cannot build its input has failed")]

mod ring_support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pool_review::settings::Settings;
use pool_review::sources::pools::layers;
use pool_review::vocabulary::{LayerState, ModelId, PoolId};
use ring_support::{NOW_MS, canonical, scratch, settings, write};
use serde_json::Value;

/// Runs the binary in a folder with an empty environment.
fn pool_review(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .args(args)
        .args(["-i", "review.md", "--now", "2026-10-20T00:00:00Z"])
        .current_dir(folder)
        .env_clear()
        .output()
        .unwrap()
}

/// A folder with an instruction file.
fn workspace(name: &str, front: &str) -> PathBuf {
    let folder = scratch(&format!("config-{name}"));
    write(&folder.join("review.md"), format!("---\n{front}\n---\nOur policy.\n").as_bytes());
    folder
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Makes a link.
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).unwrap();
}

/// A name, a part of the message, and how to make what is no config.
type NoFile = (&'static str, &'static str, fn(&Path));

#[test]
fn a_canonical_config_that_is_no_file_ends_with_exit_2_and_writes_nothing() {
    let make: [NoFile; 8] = [
        ("missing", "no such file", |_| {}),
        ("directory", "not a regular file", |path| {
            #[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
            std::fs::create_dir_all(path).unwrap();
        }),
        ("fifo", "not a regular file", |path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("loop", "levels of symbolic links", |path| link(path, path)),
        ("not-utf8", ":2: not valid UTF-8", |path| write(path, b"{\n\"a\": \"\xff\xfe\"}")),
        ("broken", ":3: ", |path| write(path, b"{\n  \"a\": 1,\n  oops\n}")),
        ("no-object", "the config is not an object", |path| write(path, b"[1]")),
        ("empty", "the file holds no value", |path| write(path, b"// nothing\n")),
    ];
    for (name, message, make) in make {
        let folder = workspace(name, "config: {opencode: opencode.jsonc}");
        make(&folder.join("opencode.jsonc"));
        let before = names(&folder);
        for verb in [&["review"][..], &["doctor"], &["explain", "scout"]] {
            let ran = pool_review(&folder, verb);
            let said = String::from_utf8(ran.stderr).unwrap();
            assert_eq!(ran.status.code(), Some(2), "{name}: {said}");
            assert!(said.starts_with("error: ") && said.contains("opencode.jsonc"), "{name}: {said}");
            assert!(said.contains(message), "{name}: {said}");
            assert_eq!(said.lines().count(), 1, "{name}: one line: {said}");
        }
        assert_eq!(names(&folder), before, "{name}: nothing is written");
    }
}

#[test]
fn a_config_of_50_mb_is_read_and_one_above_the_limit_is_refused() {
    let folder = workspace("huge", "config: {opencode: opencode.jsonc}");
    let mut text = String::with_capacity(52 << 20);
    text.push_str("{ \"model\": \"opencode-route/p0\", \"experimental\": { \"model_routes\": {\n");
    for i in 0..20_000 {
        writeln!(text, "  \"p{i}\": {{ \"targets\": [\"a/m{i}\", \"opencode-route/p{}\"] }}, // pool {i}", i / 2)
            .unwrap();
    }
    text.push_str("} },\n");
    let line = format!("// {}\n", "x".repeat(997));
    while text.len() < 50 << 20 {
        text.push_str(&line);
    }
    text.push_str("}\n");
    write(&folder.join("opencode.jsonc"), text.as_bytes());
    let started = std::time::Instant::now();
    let read = Settings::load(&folder, Path::new("review.md")).unwrap();
    let config = layers::opencode_layers(&folder, &read.config).unwrap();
    assert_eq!(config.routes.len(), 20_000);
    assert!(started.elapsed().as_secs() < 60, "reading took {:?}", started.elapsed());
    text.push_str(&line.repeat(16 << 10));
    write(&folder.join("opencode.jsonc"), text.as_bytes());
    let ran = pool_review(&folder, &["review"]);
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(ran.stderr).unwrap(),
        "error: opencode.jsonc: larger than 64 MiB, the most that is read; is it the right file?\n"
    );
    #[expect(clippy::disallowed_methods, reason = "64 MiB of a scratch folder")]
    std::fs::remove_file(folder.join("opencode.jsonc")).unwrap();
}

#[test]
fn an_object_with_many_keys_takes_time_in_proportion() {
    // Quadratic reading of 200,000 weights would take minutes.
    let weights: Vec<String> = (0..200_000).map(|i| format!("\"a/m{i}\": {}", i + 1)).collect();
    let text = format!(
        r#"{{"experimental": {{"model_routes": {{"p": {{"selection": "weighted", "targets": ["a/m7"], "weights": {{{}}}}}}}}}}}"#,
        weights.join(",")
    );
    let file = pool_review::vocabulary::ConfigFile { path: "o.json".to_owned(), text };
    let started = std::time::Instant::now();
    let config = pool_review::sources::pools::opencode::parse(&file).unwrap();
    assert_eq!(config.routes[0].weights.len(), 200_000);
    assert!(started.elapsed().as_secs() < 20, "reading took {:?}", started.elapsed());
}

#[test]
fn layers_stack_in_their_order_and_a_broken_one_is_a_note() {
    let route =
        |target: &str| format!(r#"{{"experimental": {{"model_routes": {{"p": {{"targets": ["{target}"]}}}}}}}}"#);
    let folder = workspace(
        "layers",
        "config: {layers: [global, explicit.json, project, .opencode/opencode.jsonc, above.json], content: content.json}",
    );
    for (path, text) in [
        ("global/opencode.json", route("a/global-json")),
        ("global/opencode.jsonc", route("a/global-jsonc")),
        ("explicit.json", route("a/explicit")),
        ("project/opencode.jsonc", "{ broken".to_owned()),
        (".opencode/opencode.json", route("a/twin")),
        (".opencode/opencode.jsonc", route("a/canonical")),
        ("above.json", route("a/above")),
        ("content.json", route("a/content")),
    ] {
        write(&folder.join(path), text.as_bytes());
    }
    let read = Settings::load(&folder, Path::new("review.md")).unwrap();
    let config = layers::opencode_layers(&folder, &read.config).unwrap();
    let paths: Vec<(&str, bool)> = config
        .layers
        .iter()
        .map(|layer| (layer.path.as_str(), matches!(layer.state, LayerState::Read { .. })))
        .collect();
    assert_eq!(
        paths,
        [
            ("global/opencode.json", true),
            ("global/opencode.jsonc", true),
            ("explicit.json", true),
            ("project/opencode.jsonc", false),
            (".opencode/opencode.json", true),
            (".opencode/opencode.jsonc", true),
            ("above.json", true),
            ("content.json", true),
        ]
    );
    assert_eq!(config.effective()[&PoolId::new("p")].raw["targets"][0], "a/content");
    let doctor = pool_review(&folder, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(0));
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(said.contains("4. project/opencode.jsonc (opencode layer)\n     gave nothing, left out whole: "), "{said}");
    assert!(said.contains("8. content.json (content variable)\n     pools in force: p\n"), "{said}");
    assert!(said.contains("1. global/opencode.json (opencode layer)\n     pools not in force: p\n"), "{said}");
}

#[test]
fn a_higher_definition_that_the_router_drops_leaves_the_lower_one_in_force() {
    let folder = workspace("fall-through", "policy: {plan_meaning: none}\nconfig: {layers: [low.json]}");
    write(&folder.join("low.json"), br#"{"experimental": {"model_routes": {"p": {"targets": ["a/low"]}}}}"#);
    write(
        &folder.join(".opencode/opencode.jsonc"),
        br#"{"model": "opencode-route/p", "experimental": {"model_routes": {"p": {"targets": ["a/high", 7]}}}}"#,
    );
    let ran = pool_review(&folder, &["explain", "p", "--format", "json"]);
    let view: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(view["members"][0]["target"], "a/low");
    assert!(view["other_definitions"][0]["what"].as_str().unwrap().starts_with("dropped by the router"), "{view}");
}

#[test]
fn a_finding_whose_line_stands_outside_the_workspace_is_held() {
    let outer = scratch("config-outside");
    let folder = outer.join("workspace");
    write(
        &folder.join("review.md"),
        b"---\npolicy: {plan_meaning: none}\nconfig: {layers: [../global/opencode.json]}\n---\nOur policy.\n",
    );
    write(
        &outer.join("global/opencode.json"),
        br#"{"experimental": {"model_routes": {"p": {"targets": ["a/b", {"model": "c/d", "until": 5}]}}}}"#,
    );
    write(&folder.join(".opencode/opencode.jsonc"), br#"{"model": "opencode-route/p"}"#);
    let before = std::fs::read(outer.join("global/opencode.json")).unwrap();
    let ran = pool_review(&folder, &["review", "--format", "json"]);
    let run: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(run["proposals"].as_array().unwrap().is_empty());
    let checks = run["pools"][0]["checks"].as_array().unwrap();
    let findings = checks.iter().flat_map(|check| check["findings"].as_array().unwrap());
    let expired =
        findings.clone().find(|finding| finding["code"] == "expired_member").expect("it is found all the same");
    assert!(expired.to_string().contains("outside_workspace"), "{expired}");
    assert_eq!(std::fs::read(outer.join("global/opencode.json")).unwrap(), before);
}

#[test]
fn a_provider_of_the_routes_name_leaves_all_routes_off() {
    let folder = workspace("routes-off", "policy: {plan_meaning: none}\nconfig: {layers: [low.json]}");
    write(&folder.join("low.json"), br#"{"provider": {"opencode-route": {"models": {}}}}"#);
    write(
        &folder.join(".opencode/opencode.jsonc"),
        br#"{"model": "opencode-route/p", "experimental": {"model_routes": {"p": {"targets": ["a/b"]}}}}"#,
    );
    let ran = pool_review(&folder, &["explain", "p", "--format", "json"]);
    let view: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(view["no_ring"].as_str().unwrap().contains("leaves all routes off"), "{view}");
}

#[test]
fn providers_that_may_not_be_used_and_models_of_the_config_itself_are_seen() {
    use pool_review::ring::{Catalogue, CatalogueEntry, ResolvedRing, RingInput};
    let text = r#"{"disabled_providers": ["off"], "experimental": {
        "policies": [{"action": "provider.use", "resource": "late", "effect": "deny"}, {"action": "session.share", "resource": "a", "effect": "deny"}],
        "model_routes": {"p": {"targets": ["a/own", "a/listed", "a/switched", "a/gone", "off/x", "late/y"]}}},
        "provider": {"a": {"models": {"own": {"name": "Mine"}, "switched": {"disabled": true}}}}}"#;
    let file = pool_review::vocabulary::ConfigFile { path: "o.json".to_owned(), text: text.to_owned() };
    let config = pool_review::sources::pools::opencode::parse(&file).unwrap();
    let mut known = Catalogue::default();
    for id in ["listed", "switched"] {
        let entry = CatalogueEntry { variants: vec![], enabled: true, tools: None, open_weights: None, context: None };
        known.add(&"a".into(), id, entry);
    }
    let settings = settings("");
    let input = RingInput::new(&config, Some(&known), &settings, &canonical, NOW_MS);
    let ring = ResolvedRing::build(&input, config.effective()[&PoolId::new("p")]).unwrap();
    let targets: Vec<String> = ring.members().iter().map(|member| member.target.to_string()).collect();
    assert_eq!(targets, ["a/own", "a/listed"], "the config's own model exists, whatever the catalogue says");
    let dropped: Vec<String> = ring.dropped().iter().map(|d| format!("{} {}", d.target, d.reason.as_str())).collect();
    assert_eq!(dropped, ["a/switched disabled", "a/gone not in catalogue", "off/x disabled", "late/y disabled"]);
    assert_eq!(ring.lead().key.model, ModelId::new("own"));
}

/// The verdict of `structure` on a pool, its reasons, and its findings as `code verdict`.
fn structure(run: &Value, pool: &str) -> (String, Vec<String>, Vec<String>) {
    let pools = run["pools"].as_array().unwrap();
    let pool = pools.iter().find(|known| known["id"] == pool).unwrap();
    let check = pool["checks"].as_array().unwrap().iter().find(|check| check["check"] == "structure").unwrap();
    let word = |value: &Value| value.as_str().unwrap_or("note").to_owned();
    let reasons = check["reasons"].as_array().unwrap().iter().map(word).collect();
    let findings = check["findings"].as_array().unwrap().iter();
    let findings =
        findings.map(|finding| format!("{} {}", word(&finding["code"]), word(&finding["verdict"]))).collect();
    (word(&check["verdict"]), reasons, findings)
}

#[test]
fn a_missing_catalogue_never_reads_as_aligned_nor_as_a_fault_of_the_pool() {
    let config = r#"{"model": "opencode-route/p", "agent": {"a": {"model": "opencode-route/q"}},
        "experimental": {"model_routes": {"p": {"targets": ["a/b", "c/d"]}, "q": {"targets": ["a/*"]}}}}"#;
    let verdict = |name: &str, front: &str| {
        let folder = workspace(name, front);
        write(&folder.join(".opencode/opencode.jsonc"), config.as_bytes());
        write(&folder.join("stale.json"), br#"{"a": {"models": {"b": {"id": "b"}}}}"#);
        let ran = pool_review(&folder, &["review", "--format", "json"]);
        let run: Value =
            serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stderr)));
        (structure(&run, "p"), structure(&run, "q"))
    };
    let (p, q) = verdict("no-catalogue", "policy: {plan_meaning: none}");
    assert_eq!(
        (p.0.as_str(), p.1.as_slice()),
        ("insufficient_evidence", &["not_configured:catalogues".to_owned()][..])
    );
    assert_eq!(
        (q.0.as_str(), q.2.is_empty()),
        ("insufficient_evidence", true),
        "a pattern nobody can expand is no fault"
    );
    let (p, q) = verdict("stale-catalogue", "policy: {plan_meaning: none}\ndata: {catalogues: stale.json}");
    assert_eq!((p.0.as_str(), p.1.as_slice()), ("blocked", &["stale:catalogues".to_owned()][..]), "of unknown age");
    assert_eq!((q.0.as_str(), q.2.is_empty()), ("blocked", true));
}

#[test]
fn the_age_of_an_unused_pool_is_carried_from_run_to_run() {
    let folder = workspace("unused", "policy: {plan_meaning: none}");
    let config =
        |more: &str| format!(r#"{{"experimental": {{"model_routes": {{"p": {{"targets": ["a/b", "c/d"{more}]}}}}}}}}"#);
    let run = |now: &str| -> Value {
        let ran = Command::new(env!("CARGO_BIN_EXE_pool-review"))
            .args(["review", "-i", "review.md", "--format", "json", "--now", now])
            .current_dir(&folder)
            .env_clear()
            .output()
            .unwrap();
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stderr)))
    };
    let days = |run: &Value| -> Option<f64> {
        let checks = run["pools"][0]["checks"].as_array().unwrap();
        let numbers = checks.iter().flat_map(|check| check["numbers"].as_array().unwrap());
        numbers.clone().find(|number| number["what"] == "days without a consumer")?["value"].as_f64()
    };
    write(&folder.join(".opencode/opencode.jsonc"), config("").as_bytes());
    assert_eq!(days(&run("2026-10-20T00:00:00Z")), None, "found now");
    assert_eq!(days(&run("2026-10-21T12:00:00Z")), Some(1.5));
    // Another finding comes and goes beside it: the outcome is another, the fact is not.
    write(&folder.join(".opencode/opencode.jsonc"), config(r#", {"model": "e/f", "until": 5}"#).as_bytes());
    assert_eq!(days(&run("2026-10-22T00:00:00Z")), Some(2.0));
    write(&folder.join(".opencode/opencode.jsonc"), config("").as_bytes());
    assert_eq!(days(&run("2026-10-23T00:00:00Z")), Some(3.0));
    let used = config("").replacen('{', r#"{"model": "opencode-route/p", "#, 1);
    write(&folder.join(".opencode/opencode.jsonc"), used.as_bytes());
    assert_eq!(days(&run("2026-10-24T00:00:00Z")), None, "somebody names it");
    write(&folder.join(".opencode/opencode.jsonc"), config("").as_bytes());
    run("2026-10-25T00:00:00Z");
    assert_eq!(days(&run("2026-10-26T00:00:00Z")), Some(1.0), "counted anew since it was unused again");
}

#[test]
fn keys_under_patterns_and_budgets_of_nested_members_are_not_dead() {
    let folder = workspace("keys", "policy: {plan_meaning: none}\ndata: {catalogues: models.json}");
    let catalogue = r#"{"a": {"id": "a", "models": {"one-x": {"id": "one-x"}, "two-x": {"id": "two-x"}}}, "b": {"id": "b", "models": {"three": {"id": "three"}}}}"#;
    write(&folder.join("models.json"), catalogue.as_bytes());
    write(&folder.join("models.json.meta.json"), br#"{"fetched_at": "2026-10-19T23:00:00Z"}"#);
    let config = r#"{"model": "opencode-route/p", "experimental": {"model_routes": {
        "n": {"targets": ["b/three"]},
        "p": {"selection": "weighted", "targets": ["a/*-x", "opencode-route/n"],
              "weights": {"a/one-x": 2, "a/*-x": 3, "opencode-route/n": 2, "b/three": 4},
              "budgets": {"a/two-x": {"requestsPerDay": 5}, "b/three": {"requestsPerDay": 5}, "b/nobody": {"requestsPerDay": 5}}}}}}"#;
    write(&folder.join(".opencode/opencode.jsonc"), config.as_bytes());
    let ran = pool_review(&folder, &["review", "--format", "json"]);
    let run: Value =
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stderr)));
    let pools = run["pools"].as_array().unwrap().iter().find(|pool| pool["id"] == "p").unwrap();
    let findings = pools["checks"].as_array().unwrap().iter().flat_map(|check| check["findings"].as_array().unwrap());
    let mut dead: Vec<&str> =
        findings.filter(|f| f["code"] == "dead_weight").map(|f| f["subject"].as_str().unwrap()).collect();
    dead.sort_unstable();
    assert_eq!(
        dead,
        ["budgets:b/nobody", "weights:a/*-x", "weights:b/three"],
        "a pattern takes no weight; a nested member's weight is its own pool's business, its budget may be this one's"
    );
}

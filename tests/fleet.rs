//! The handed fleet, reviewed as a fleet: every fact planted in it that the rooms can see is found, each by one finding, and
//! nothing that its page calls sound is found at all. Market and evidence are the demo's.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

#[path = "scene/binary.rs"]
mod binary;
mod common;
#[path = "demo_page/run.rs"]
mod run_file;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use binary::Ran;
use common::{files_below, shared};
use run_file::{findings, list, text};
use scene::Scene;
use serde_json::{Value, json};

/// What shows a planted fact.
enum Shown {
    /// The one finding of a pool: check, code, what its subject or counterpart begins with, and a word of its reason.
    Found(&'static str, &'static str, &'static str, &'static str, &'static str),
    /// A number of a check of a pool: check, what, of, value.
    Number(&'static str, &'static str, &'static str, &'static str, f64),
    /// A member of a pool as the review sees it.
    Member(&'static str, &'static str),
    /// No finding of this pool has this code.
    NotFound(&'static str, &'static str),
    /// No proposal speaks of this.
    NeverProposed(&'static str),
}

use Shown::{Found, Member, NeverProposed, NotFound, Number};

/// Fact of the page → what of the run shows it.
const FACTS: &[(&str, &[Shown])] = &[
    ("F1", &[Found("workhorse", "latest-model", "retirement_due", "claude-sonnet-4-5", "2026-11-30")]),
    ("F2", &[Found("scout", "structure", "expired_member", "openrouter/deepseek/deepseek-v4.1-flash", "until")]),
    ("F3", &[Member("workhorse", "openrouter/moonshotai/kimi-k3"), NotFound("workhorse", "expiring_member")]),
    ("F4", &[Found("workhorse-plan", "structure", "unknown_member", "zai-coding-plan/glm-5.3#medium", "budget")]),
    ("F5", &[Found("scout-plan", "structure", "dead_weight", "weights:github-copilot/gpt-6-luna#low", "variant")]),
    ("F6", &[Found("summit-plan", "structure", "dead_weight", "weights and selection", "fixed")]),
    ("F7", &[Found("specialist-plan", "structure", "policy_violation", "claude-opus-5-5@default#openrouter", "plan")]),
    (
        "F8",
        &[
            Number("summit-plan", "structure", "members that break policy", "", 1.0),
            Member("summit-plan", "anthropic/claude-opus-5-5#high"),
            NotFound("summit-plan", "policy_violation"),
        ],
    ),
    (
        "F9",
        &[
            Number("summit", "structure", "members", "", 5.0),
            Number("background", "structure", "members", "", 4.0),
            NotFound("summit", "lead_window_scarce"),
            NotFound("background", "expired_member"),
        ],
    ),
    ("F10", &[NeverProposed("gpt-6.2-astra")]),
    ("F11", &[Number("background", "structure", "consumers", "", 0.0)]),
    ("F12", &[Found("background", "structure", "no_consumer", "background", "inputs read")]),
    (
        "F13",
        &[Found("specialist", "best-per-pool", "lead_window_scarce", "claude-opus-5-5@high#claude-max", "copilot-org")],
    ),
    ("F14", &[NotFound("specialist-plan", "duplicate_member"), NotFound("specialist-plan", "equal_models")]),
    ("F15", &[Member("background", "openai/gpt-6-luna#low"), Member("background", "anthropic/claude-haiku-4-5")]),
    ("F16", &[Found("category/security-audit", "structure", "dangling_consumer", "category/security-audit", "oracle")]),
    ("F17", &[Found("category/review", "structure", "dropped_variant", "category/review", "high")]),
    ("F18", &[Found("category/research", "structure", "fallback_consumer", "category/research", "workhorse")]),
    ("F19", &[Number("workhorse", "structure", "consumers", "", 4.0)]),
    (
        "F20",
        &[Number("scout", "structure", "consumers", "", 3.0), Number("summit-plan", "structure", "consumers", "", 2.0)],
    ),
    ("N1", &[Found("scout", "latest-model", "missing", "claude-haiku-5-5", "displaces claude-haiku-4-5")]),
    (
        "N2",
        &[
            Found("workhorse", "latest-model", "missing", "gpt-6.1-sol", ""),
            Found("workhorse", "latest-model", "missing", "gpt-6.2-sol", ""),
        ],
    ),
    ("N3", &[Found("summit", "latest-model", "policy_excluded", "gpt-6.2-astra", "")]),
    (
        "N4",
        &[
            Number("summit", "latest-model", "nearest miss: points short of the quality bar", "claude-fable-5-2", 3.1),
            Number(
                "summit-plan",
                "latest-model",
                "nearest miss: points short of the quality bar",
                "claude-fable-5-2",
                1.4,
            ),
        ],
    ),
    ("N5", &[Found("specialist", "latest-model", "missing", "gpt-6.2-sol", "displaces gpt-6.1-sol")]),
    ("N6", &[Found("workhorse-plan", "latest-model", "missing", "gpt-6.2-sol", "github-copilot/gpt-6.2-sol")]),
    ("N7", &[Found("workhorse", "latest-model", "unrated", "unrated", "kimi-k3.1-pro")]),
    ("N8", &[Found("workhorse-plan", "latest-model", "unrated", "unrated", "kimi-k3.1-pro")]),
];

/// The handed fleets and their runs.
static RUNS: LazyLock<Vec<(PathBuf, Value)>> =
    LazyLock::new(|| fleets().into_iter().map(|fleet| (fleet.clone(), review(&fleet))).collect());

/// Codes that the page rules out for the whole fleet: what stands under "Nothing wrong here".
const SOUND: [&str; 4] = ["near_miss_key", "duplicate_member", "expiring_member", "empty_pool"];

/// Every handed fleet: a folder with a config under audit, a catalogue and a page of planted facts.
fn fleets() -> Vec<PathBuf> {
    let Some(shared) = shared() else { return Vec::new() };
    let configs = files_below(&shared.join("examples"), &|name| name == "opencode.jsonc");
    let roots = configs.iter().filter(|path| path.parent().unwrap().ends_with(".opencode"));
    let roots: Vec<PathBuf> = roots.map(|path| path.parent().unwrap().parent().unwrap().to_owned()).collect();
    assert!(!roots.is_empty(), "the handed folder holds no fleet");
    roots
}

/// A workspace with the demo's settings and evidence, a handed fleet and its catalogue.
fn workspace(fleet: &Path) -> Scene {
    let scene = Scene::demo(fleet.file_name().unwrap().to_str().unwrap());
    for file in [".opencode/opencode.jsonc", "openchamber/routing.json"] {
        scene.copy(fleet.join(file).to_str().unwrap(), &format!("data/fleet/{file}"));
    }
    let path = scene.root.join("data/models-dev.json");
    let path = path.with_file_name("market").join("models-dev.json");
    let mut body: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let catalogue: Value = serde_json::from_slice(&std::fs::read(fleet.join("catalog.json")).unwrap()).unwrap();
    add_offers(&mut body, &catalogue);
    put(&path, &body.to_string());
    scene
}

/// Puts the offers of a handed catalogue into a models.dev body: which ids there are and which efforts they take. Prices and
/// dates, which that catalogue does not have, stay as the body has them.
fn add_offers(body: &mut Value, catalogue: &Value) {
    for (provider, models) in catalogue.as_object().unwrap().iter().filter(|(_, models)| models.is_object()) {
        for (id, facts) in models.as_object().unwrap() {
            let entry = &mut body[provider];
            if entry.is_null() {
                *entry = json!({ "id": provider, "name": provider, "models": {} });
            }
            let row = &mut entry["models"][id];
            if row.is_null() {
                *row = json!({ "id": id, "name": id, "tool_call": true });
            }
            row["reasoning_options"] = match list(facts, "variants") {
                [] => json!([]),
                values => json!([{ "type": "effort", "values": values }]),
            };
        }
    }
}

/// Writes a file of a workspace.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// The run of a handed fleet.
fn review(fleet: &Path) -> Value {
    let Ran { code, stdout, stderr } = workspace(fleet).run(&["review", "--format", "json"]);
    assert!(matches!(code, Some(0 | 3)) && stderr.is_empty(), "{}: {code:?} {stderr}", fleet.display());
    serde_json::from_str(&stdout).unwrap()
}

/// The planted facts of a page: the first cells of its tables that read `F1` or `N1`.
fn planted(fleet: &Path) -> BTreeSet<String> {
    let page = std::fs::read_to_string(fleet.join("README.md")).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |")).map(|(cell, _)| cell);
    let is_fact = |cell: &&str| {
        cell.strip_prefix(['F', 'N']).is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    cells.filter(is_fact).map(str::to_owned).collect()
}

#[test]
fn every_planted_fact_is_shown_and_by_one_finding() {
    for (fleet, run) in &*RUNS {
        let table: BTreeMap<&str, &[Shown]> = FACTS.iter().copied().collect();
        for fact in planted(fleet) {
            let shown = table.get(fact.as_str());
            let shown = shown.unwrap_or_else(|| panic!("{}: no row of FACTS for {fact}", fleet.display()));
            for shown in *shown {
                check(run, &fact, shown);
            }
        }
    }
}

/// Holds a run against what should show a fact.
fn check(run: &Value, fact: &str, shown: &Shown) {
    match shown {
        Found(pool, name, code, subject, word) => {
            let all = findings(run).into_iter().filter(|(id, _, f)| id == pool && text(f, "code") == *code);
            let found: Vec<_> = all.filter(|(_, _, f)| text(f, "subject").starts_with(subject)).collect();
            assert_eq!(found.len(), 1, "{fact}: findings {code} about {subject} in {pool}");
            assert_eq!(found[0].1, *name, "{fact}");
            assert!(text(found[0].2, "why").contains(word), "{fact}: no {word:?} in {}", found[0].2);
        }
        Number(pool, name, what, of, wanted) => {
            let value = number(run, pool, name, what, of);
            assert!((value - wanted).abs() < 0.05, "{fact}: {what} of {pool} is {value}, not {wanted}");
        }
        Member(pool, target) => {
            let members = list(find(list(run, "pools"), "id", pool), "members");
            assert!(members.iter().any(|member| text(member, "target") == *target), "{fact}: {target} in {members:?}");
        }
        NotFound(pool, code) => {
            let found = findings(run).into_iter().filter(|(id, _, f)| id == pool && text(f, "code") == *code);
            assert_eq!(found.count(), 0, "{fact}: {code} in {pool}");
        }
        NeverProposed(what) => {
            assert!(!run["proposals"].to_string().contains(what), "{fact}: {what} is proposed");
        }
    }
}

/// The value of a number of a check.
fn number(run: &Value, pool: &str, name: &str, what: &str, of: &str) -> f64 {
    let check = find(list(find(list(run, "pools"), "id", pool), "checks"), "check", name);
    let mut numbers = list(check, "numbers").iter();
    let found = numbers.find(|number| text(number, "what") == what && text(number, "of").starts_with(of));
    found.unwrap_or_else(|| panic!("no {what} of {of} in {pool}"))["value"].as_f64().unwrap()
}

/// The row with this word under this key.
fn find<'a>(rows: &'a [Value], key: &str, word: &str) -> &'a Value {
    rows.iter().find(|row| text(row, key) == word).unwrap_or_else(|| panic!("no {key} {word}"))
}

#[test]
fn nothing_sound_is_found_and_nothing_is_found_twice() {
    for (_, run) in &*RUNS {
        let mut seen = BTreeSet::new();
        for (pool, name, finding) in findings(run) {
            let part = |key| text(finding, key).to_owned();
            let key = (pool.to_owned(), name.to_owned(), part("code"), part("subject"), part("counterpart"));
            assert!(!SOUND.contains(&text(finding, "code")), "{key:?} is sound");
            assert!(seen.insert(key.clone()), "{key:?} stands twice");
        }
        // One line of the config has one fault of one kind, whichever pools the member reaches through nesting.
        let mut lines = BTreeSet::new();
        for (pool, name, finding) in
            findings(run).into_iter().filter(|(_, name, f)| *name == "structure" && !f["place"].is_null())
        {
            let line = (finding["place"].to_string(), text(finding, "code").to_owned());
            let is_own = text(&finding["place"], "path").ends_with("routing.json");
            assert!(is_own || lines.insert(line.clone()), "{pool}, {name}: {line:?} is found twice");
        }
        let consumers_with_faults =
            findings(run).into_iter().filter(|(pool, _, f)| pool.starts_with("category/") && !f["verdict"].is_null());
        let faulty: BTreeSet<&str> = consumers_with_faults.map(|(pool, _, _)| pool).collect();
        assert_eq!(
            faulty,
            BTreeSet::from(["category/review", "category/security-audit"]),
            "every other category is sound"
        );
    }
}

//! What session stores and rollups give to the checks, and what they never give: calls are no tasks, a day that two stores saw
//! counts once, and nothing that goes missing makes a verdict better.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, NaiveDate, Utc};
use pool_review::evidence::attribution::SpeedMember;
use pool_review::evidence::usage::{MemberCalls, Usage, UsageDays};
use pool_review::identity::Identity;
use pool_review::vocabulary::{
    CallCounts, CallSource, Effort, HomeId, ModelId, PoolId, ProviderId, Quantity, UsageRow,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{copy, fresh};

/// The small fleet of the golden case of this name, with other sources in its settings.
fn fleet(name: &str, case: &str, sources: &str) -> PathBuf {
    let folder = fresh(name);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(case).join("in"), &folder);
    configure(&folder, sources);
    folder
}

/// Puts sources in the place of speeds and scorecards.
fn configure(folder: &Path, sources: &str) {
    let file = folder.join("instructions/pool-composition-review.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once("data:\n").unwrap();
    let behind = &after[after.find("homes:").unwrap()..];
    let market = "  market: data/market.json\n  catalogues: data/models-dev.json\n  retirements: data/litellm.json\n";
    std::fs::write(&file, format!("{before}data:\n{market}{sources}{behind}")).unwrap();
}

/// The run at an instant, as JSON.
fn review_at(folder: &Path, now: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .current_dir(folder)
        .env_clear()
        .args(["review", "--format", "json", "--now", now])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The run at the instant of the golden cases.
fn review(folder: &Path) -> Value {
    review_at(folder, "2026-11-29T12:00:00Z")
}

/// Verdicts by pool and check, pools included.
fn verdicts(run: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of_pool = |pool: &Value| {
        let id = text(&pool["id"]);
        let checks = pool["checks"].as_array().unwrap().iter();
        let checks = checks.map(|check| (format!("{id} {}", text(&check["check"])), text(&check["verdict"])));
        checks.chain([(id.clone(), text(&pool["verdict"]))]).collect::<Vec<_>>()
    };
    run["pools"].as_array().unwrap().iter().flat_map(of_pool).collect()
}

/// What became aligned although it was not.
fn brightened(before: &Value, after: &Value) -> Vec<String> {
    let (before, after) = (verdicts(before), verdicts(after));
    let is_new = |key: &String| before.get(key).is_some_and(|verdict| verdict != "aligned");
    after.into_iter().filter(|(key, verdict)| verdict == "aligned" && is_new(key)).map(|(key, _)| key).collect()
}

/// The pools of a run without the lines at which settings stand.
fn without_lines(run: &Value) -> Value {
    let mut pools = run["pools"].clone();
    for check in pools[0]["checks"].as_array_mut().unwrap() {
        for finding in check["findings"].as_array_mut().unwrap() {
            finding["limit"]["set_at"] = Value::Null;
        }
    }
    pools
}

/// One check of the only pool.
fn check<'a>(run: &'a Value, id: &str) -> &'a Value {
    run["pools"][0]["checks"].as_array().unwrap().iter().find(|check| check["check"] == id).unwrap()
}

/// A number of a check.
fn number<'a>(run: &'a Value, id: &str, what: &str, of: &str) -> Option<&'a Value> {
    let numbers = check(run, id)["numbers"].as_array().unwrap();
    numbers.iter().find(|number| number["what"] == what && number["of"] == of)
}

/// Codes of the findings of a check.
fn codes(run: &Value, id: &str) -> Vec<String> {
    let findings = check(run, id)["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Whether a check lacks something that starts like this.
fn lacks(run: &Value, id: &str, start: &str) -> bool {
    check(run, id)["reasons"].as_array().unwrap().iter().any(|reason| reason.as_str().unwrap().starts_with(start))
}

/// The state of a source; `None` where it is not listed.
fn state<'a>(run: &'a Value, source: &str) -> Option<&'a str> {
    let found = run["sources"].as_array().unwrap().iter().find(|one| one["source"] == source)?;
    found["state"].as_str()
}

#[test]
fn run_files_with_calls_follow_their_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parse = |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let schema = jsonschema::validator_for(&parse(&root.join("instructions/schemas/run.v1.json"))).unwrap();
    let folder = fleet("evidence-schema", "right-sizing", ROLLUP);
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let run = review(&folder);
    let errors: Vec<String> =
        schema.iter_errors(&run).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let marked = run.to_string().matches("\"basis\":\"calls\"").count();
    assert!(marked > 10, "{marked} numbers and findings say what they rest on");
}

/// Rows of a rollup: source, day, provider, model, effort, calls and how many of them were lost.
fn rollup(rows: &[(&str, u32, &str, &str, &str, u64, u64)]) -> String {
    let head = "day,pool,provider,model,effort,source,attempts,infra,responses,input_tokens,cache_read_tokens,output_tokens,\
                cost_usd,n_cost,speed_output_tokens,busy_s,n_speed,last_at\n";
    let row = |(source, day, provider, model, effort, calls, infra): &(&str, u32, &str, &str, &str, u64, u64)| {
        let n = calls - infra;
        format!(
            "2026-11-{day},scout,{provider},{model},{effort},{source},{calls},{infra},{n},{},{},{},{},{n},{},{},{n},2026-11-{day}T22:00:00Z\n",
            1000 * n,
            3000 * n,
            200 * n,
            0.001 * n as f64,
            200 * n,
            2 * n
        )
    };
    head.to_owned() + &rows.iter().map(row).collect::<String>()
}

/// Rows of three members of which the last is often out of reach, as one source saw them.
fn often_lost(source: &str) -> String {
    rollup(&[
        (source, 28, "openai", "gpt-6-luna", "low", 60, 0),
        (source, 28, "google", "gemini-3.5-flash-lite", "", 40, 1),
        (source, 28, "anthropic", "claude-haiku-4-5", "", 40, 20),
    ])
}

#[test]
fn a_lead_that_answers_none_of_the_routers_calls_is_unreachable() {
    let stores = "  session_stores:\n    - { kind: opencode, path: store/opencode.db }\n";
    let folder = fleet("evidence-silent", "right-sizing", stores);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/calls-unavailable/in/store");
    copy(&golden, &folder.join("store"));
    let silent = |run: &Value| codes(run, "structure").contains(&"lead_unreachable".to_owned());
    assert!(!silent(&review(&folder)), "it answers");
    std::fs::remove_dir_all(folder.join("reports")).unwrap();
    let database = rusqlite::Connection::open(folder.join("store/opencode.db")).unwrap();
    let day = "time_started >= 1795824000000 AND model_id = 'gpt-6-luna'";
    database
        .execute_batch(&format!(
            "DELETE FROM message WHERE id IN (SELECT assistant_message_id FROM route_attempt WHERE {day});
             UPDATE route_attempt SET outcome = 'failure', error_tag = 'Transport' WHERE {day}"
        ))
        .unwrap();
    drop(database);
    let run = review(&folder);
    assert!(silent(&run), "{}", check(&run, "structure"));
    let found = &check(&run, "structure")["findings"][0];
    // 35 calls of the 28th, and 10 of the 27th that all lie behind noon.
    assert_eq!((found["measured"]["n"].as_u64(), found["basis"].as_str()), (Some(45), Some("calls")));
    std::fs::write(folder.join("store/opencode.db"), "no database at all, and long enough to be one").unwrap();
    std::fs::remove_dir_all(folder.join("reports")).unwrap();
    assert!(lacks(&review(&folder), "structure", "failed:session_stores"));
}

const ROLLUP: &str = "  rollup: data/rollup.csv\n";
const CARDS: &str = "  speeds: data/speeds.csv\n  sessions: data/scorecards.csv\n";

#[test]
fn a_rollup_that_goes_missing_blocks_by_name_and_aligns_nothing() {
    let folder = fleet("evidence-missing", "right-sizing", ROLLUP);
    let file = folder.join("data/rollup.csv");
    std::fs::write(&file, often_lost("warehouse")).unwrap();
    let before = review(&folder);
    assert_eq!(codes(&before, "latest-model"), ["unavailable"]);
    assert_eq!(check(&before, "latest-model")["findings"][0]["basis"], "calls");
    for (what, content) in [
        ("gone", None),
        ("another thing", Some("a,b\n1,2\n".to_owned())),
        ("broken rows only", Some(rollup(&[]) + "yesterday,,,,,x,1,,,,,,,,,,,\n")),
    ] {
        std::fs::remove_dir_all(folder.join("reports")).unwrap();
        match content {
            Some(content) => std::fs::write(&file, content).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let after = review(&folder);
        assert_eq!(state(&after, "session_stores"), Some("failed"), "{what}");
        assert_eq!(brightened(&before, &after), Vec::<String>::new(), "{what}");
        for check in ["latest-model", "right-sizing"] {
            assert!(lacks(&after, check, "failed:session_stores"), "{what}: {after}");
            assert_eq!(verdicts(&after)[&format!("scout {check}")], "blocked", "{what}");
        }
    }
}

#[test]
fn a_store_that_cannot_be_read_blocks_what_the_others_cannot_settle() {
    let stores = "  session_stores:\n    - { kind: litellm, path: store/spend.jsonl }\n";
    let folder = fleet("evidence-unread", "right-sizing", &(ROLLUP.to_owned() + stores));
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let run = review(&folder);
    assert_eq!(state(&run, "session_stores"), Some("failed"));
    assert_eq!(codes(&run, "latest-model"), ["unavailable"], "what is known is still said");
    assert_eq!(verdicts(&run)["scout latest-model"], "blocked");
    // Where scorecards tell how often every member could be reached, and how long it took, nothing hangs on the store.
    let folder = fleet("evidence-settled", "aligned", &(CARDS.to_owned() + stores));
    let run = review(&folder);
    assert_eq!((state(&run, "session_stores"), verdicts(&run)["scout"].as_str()), (Some("failed"), "aligned"));
}

#[test]
fn calls_of_yesterday_are_evidence_and_those_of_last_week_are_stale() {
    let folder = fleet("evidence-stale", "right-sizing", ROLLUP);
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let late = review_at(&folder, "2026-11-29T23:00:00Z");
    assert_eq!(state(&late, "session_stores"), Some("stale"));
    assert_eq!(codes(&late, "latest-model"), Vec::<String>::new(), "stale calls find nothing");
    assert!(lacks(&late, "latest-model", "stale:session_stores"));
    assert_eq!(number(&late, "best-per-pool", "availability of calls", "anthropic/claude-haiku-4-5"), None);
}

#[test]
fn a_store_without_a_call_changes_no_verdict_and_no_number() {
    for (case, sources) in [("aligned", CARDS), ("right-sizing", CARDS), ("right-sizing", "")] {
        let folder = fleet(&format!("evidence-none-{case}-{}", sources.len()), case, sources);
        let before = review(&folder);
        std::fs::remove_dir_all(folder.join("reports")).unwrap();
        std::fs::create_dir_all(folder.join("store/claude/projects")).unwrap();
        std::fs::create_dir_all(folder.join("store/codex/sessions")).unwrap();
        std::fs::write(folder.join("store/spend.jsonl"), "").unwrap();
        std::fs::write(folder.join("data/rollup.csv"), rollup(&[])).unwrap();
        let stores = "  session_stores:\n    - { kind: claude-code, path: store/claude }\n    - { kind: codex, path: store/codex }\n    \
                      - { kind: litellm, path: store/spend.jsonl }\n";
        configure(&folder, &[sources, ROLLUP, stores].concat());
        let after = review(&folder);
        assert_eq!(state(&after, "session_stores"), Some("fresh"), "{}", after["sources"]);
        assert!(without_lines(&after) == without_lines(&before), "{case} with {sources:?}: {}", after["pools"]);
    }
}

#[test]
fn task_attempts_of_a_rollup_are_no_calls_and_calls_are_no_outcome() {
    let folder = fleet("evidence-tasks", "right-sizing", ROLLUP);
    let rows = often_lost("warehouse").replace(",warehouse,", ",scorecards,");
    std::fs::write(folder.join("data/rollup.csv"), rows).unwrap();
    let run = review(&folder);
    assert_eq!(codes(&run, "latest-model"), Vec::<String>::new());
    assert!(run["sources"].to_string().contains("3 rollup rows are of task attempts"), "{}", run["sources"]);
    std::fs::write(folder.join("data/rollup.csv"), often_lost("warehouse")).unwrap();
    let run = review(&folder);
    let success = number(&run, "best-per-pool", "raw success", "openai/gpt-6-luna#low").unwrap();
    assert_eq!((success["value"].as_f64(), success["n"].as_u64()), (None, Some(0)), "no outcome is invented");
    assert!(lacks(&run, "best-per-pool", "not_configured:sessions"));
    let share = number(&run, "right-sizing", "observed share of calls", "anthropic/claude-haiku-4-5").unwrap();
    assert_eq!((share["n"].as_u64(), share["basis"].as_str()), (Some(140), Some("calls")));
    assert!((share["value"].as_f64().unwrap() - 40.0 / 140.0).abs() < 1e-12);
    let priced = number(&run, "best-per-pool", "cost of calls", "openai/gpt-6-luna#low").unwrap();
    assert!((priced["value"].as_f64().unwrap() - 0.25).abs() < 1e-9, "0.001 dollars for 4000 input tokens: {priced}");
}

#[test]
fn attempts_decide_where_there_are_enough_and_lost_calls_are_a_note_beside_them() {
    let folder = fleet("evidence-both", "aligned", &(CARDS.to_owned() + ROLLUP));
    std::fs::write(folder.join("data/rollup.csv"), rollup(&[("litellm", 28, "openai", "gpt-6-luna", "low", 60, 30)]))
        .unwrap();
    let run = review(&folder);
    let found = &check(&run, "latest-model")["findings"][0];
    assert_eq!((found["code"].as_str(), found["verdict"].as_str()), (Some("calls_lost"), None));
    assert_eq!(verdicts(&run)["scout"], "aligned", "its 121 attempts were all reached");
}

/// An export of a gateway: one line per call, with the session it was made for.
fn spend_log(calls: &[(String, u64)]) -> String {
    let line = |(session, tokens): &(String, u64)| {
        format!(
            "{{\"request_id\":\"r-{session}-{tokens}\",\"call_type\":\"acompletion\",\"model\":\"gpt-6-luna\",\"model_group\":\"scout\",\
             \"custom_llm_provider\":\"openai\",\"startTime\":\"2026-11-28T20:00:00\",\"endTime\":\"2026-11-28T20:00:04\",\
             \"prompt_tokens\":{tokens},\"completion_tokens\":400,\"total_tokens\":{},\"spend\":0.01,\"status\":\"success\",\
             \"cache_hit\":\"None\",\"session_id\":\"{session}\"}}\n",
            tokens + 400
        )
    };
    calls.iter().map(line).collect()
}

/// The scorecards of the aligned fleet without tokens; attempts of the lead name a session each.
fn without_tokens(text: &str) -> String {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let strip = |line: &str| -> Vec<String> {
        let cells = line.split(',').zip(&head);
        cells.filter(|(_, name)| !name.ends_with("_tokens")).map(|(cell, _)| cell.to_owned()).collect()
    };
    let mut out = strip(&head.join(",")).join(",") + ",session_id\n";
    for (at, line) in lines.enumerate() {
        // The first two attempts share a session.
        let session = if line.contains("gpt-6-luna") { format!("s-{}", at.max(1)) } else { String::new() };
        out.push_str(&[strip(line).join(","), session].join(","));
        out.push('\n');
    }
    out
}

#[test]
fn attempts_without_tokens_have_those_of_their_session_where_it_is_theirs_alone() {
    let stores = "  session_stores:\n    - { kind: litellm, path: store/spend.jsonl }\n";
    let folder = fleet("evidence-tokens", "aligned", &(CARDS.to_owned() + stores));
    let cards = folder.join("data/scorecards.csv");
    let text = without_tokens(&std::fs::read_to_string(&cards).unwrap());
    std::fs::write(&cards, &text).unwrap();
    std::fs::create_dir_all(folder.join("store")).unwrap();
    std::fs::write(folder.join("store/spend.jsonl"), "").unwrap();
    let cost = |run: &Value| {
        number(run, "best-per-pool", "cost of a task at list price", "openai/gpt-6-luna#low").unwrap()["value"].as_f64()
    };
    assert_eq!(cost(&review(&folder)), None, "nobody knows the tokens");
    let sessions: BTreeSet<&str> =
        text.lines().skip(1).filter_map(|line| line.rsplit(',').next()).filter(|s| !s.is_empty()).collect();
    let calls: Vec<(String, u64)> =
        sessions.iter().flat_map(|s| [((*s).to_owned(), 9000), ((*s).to_owned(), 11_000)]).collect();
    std::fs::write(folder.join("store/spend.jsonl"), spend_log(&calls)).unwrap();
    std::fs::remove_dir_all(folder.join("reports")).unwrap();
    let run = review(&folder);
    // 20,000 input and 800 output tokens at 0.1 and 0.5 dollars a million.
    let usd = cost(&run).unwrap();
    let attempts = text.lines().skip(1).filter(|line| line.contains("gpt-6-luna")).count();
    let joined = attempts - 2;
    let said = format!("{joined} attempts that state no tokens have those of their session");
    assert!(run["sources"].to_string().contains(&said), "two attempts share a session: {}", run["sources"]);
    assert!(usd > 0.0, "{usd}");
    let bill = number(&run, "best-per-pool", "bill at the mix of its calls", "openai/gpt-6-luna#low").unwrap();
    let by_calls = bill["value"].as_f64().unwrap() * 20_000.0 / 1e6;
    assert!((usd - by_calls).abs() < 1e-9, "the same tokens at the same price: {usd} and {by_calls}");
}

#[test]
fn stores_in_another_order_say_the_same() {
    let log = |model: &str| spend_log(&[("a".to_owned(), 100), ("b".to_owned(), 900)]).replace("gpt-6-luna", model);
    let run = |name: &str, order: [&str; 2]| {
        let store = |name: &str| format!("    - {{ kind: litellm, path: store/{name}.jsonl }}\n");
        let stores = format!("  session_stores:\n{}{}", store(order[0]), store(order[1]));
        let folder = fleet(name, "right-sizing", &stores);
        std::fs::create_dir_all(folder.join("store")).unwrap();
        std::fs::write(folder.join("store/one.jsonl"), log("gpt-6-luna")).unwrap();
        std::fs::write(folder.join("store/two.jsonl"), log("claude-haiku-4-5").replace("openai", "anthropic")).unwrap();
        review(&folder)["pools"].clone()
    };
    let first = run("evidence-order", ["one", "two"]);
    assert!(first.to_string().contains("tokens of a call"));
    assert_eq!(first, run("evidence-turned", ["two", "one"]));
}

/// The review instant of the properties.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// A row of the member of the properties.
fn usage_row(source: &str, day: u32, has_effort: bool, pool: Option<&str>, calls: u64, priced: bool) -> UsageRow {
    UsageRow {
        source: CallSource::named(source),
        day: NaiveDate::from_ymd_opt(2026, 11, day).unwrap(),
        pool: pool.map(PoolId::new),
        provider: ProviderId::new("openai"),
        model: "gpt-6-luna".to_owned(),
        effort: has_effort.then(|| Effort::new("low")),
        home: None,
        counts: CallCounts {
            calls,
            infra: calls / 3,
            responses: calls - calls / 3,
            tokens: [calls, 2 * calls, 0, 3 * calls],
            cost_usd: if priced { calls as f64 } else { 0.0 },
            n_cost: if priced { calls - calls / 3 } else { 0 },
            ..CallCounts::default()
        },
    }
}

/// What the pool `scout` sees of that member.
fn seen(rows: &[UsageRow]) -> MemberCalls {
    let identity = Identity::default();
    let model = identity.offer(&ProviderId::new("openai"), "gpt-6-luna").model().cloned();
    let model = model.unwrap_or_else(|| ModelId::new("gpt-6-luna"));
    let days = UsageDays { now: now(), max_age_days: 60.0, recent_days: 14.0 };
    let (effort, home) = (Effort::new("low"), HomeId::new("openai-api"));
    let member = SpeedMember {
        key: "gpt-6-luna@low#openai-api".to_owned(),
        model: &model,
        effort: &effort,
        home: home.as_str(),
        provider: "openai",
        is_only_effort: true,
    };
    Usage::build(&identity, rows, days).of(&PoolId::new("scout"), &member)
}

/// Sources of the properties, two of one place among them.
const SOURCES: [&str; 6] = ["route_attempt", "litellm", "opencode", "claude-code", "codex", "warehouse"];

/// Some rows.
fn some_rows() -> impl Strategy<Value = Vec<UsageRow>> {
    let pool = prop_oneof![Just(Some("scout")), Just(Some("summit")), Just(None)];
    let row = (0..SOURCES.len(), 20_u32..=29, any::<bool>(), pool, 1_u64..50, any::<bool>());
    let row = row.prop_map(|(source, day, effort, pool, calls, priced)| {
        usage_row(SOURCES[source], day, effort, pool, calls, priced)
    });
    proptest::collection::vec(row, 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of every day one place among the sources speaks, whatever the others saw, and rows may stand in any order.
    #[test]
    fn a_day_that_several_stores_saw_counts_once(rows in some_rows(), turn in 0_usize..24) {
        let found = seen(&rows);
        let mut wanted = 0;
        for day in 20..=29 {
            let day = NaiveDate::from_ymd_opt(2026, 11, day).unwrap();
            let of_day: Vec<&UsageRow> = rows.iter().filter(|row| row.day == day).collect();
            let Some(first) = of_day.iter().map(|row| row.source.rank(Quantity::Calls)).min() else { continue };
            let here = of_day.iter().filter(|row| row.source.rank(Quantity::Calls) == first);
            let here = here.filter(|row| row.pool.as_ref().is_none_or(|pool| pool.as_str() == "scout"));
            wanted += here.map(|row| row.counts.calls).sum::<u64>();
        }
        prop_assert_eq!(found.reach.counts.calls, wanted);
        let mut turned = rows.clone();
        turned.rotate_left(turn.min(rows.len()));
        turned.reverse();
        prop_assert_eq!(seen(&turned), found);
    }

    /// Calls that no pool can claim count for the member and never for the traffic of a pool; no row prices another's tokens.
    #[test]
    fn shares_are_of_the_own_pool_and_the_priced_share_is_one(rows in some_rows()) {
        let found = seen(&rows);
        let own: u64 = rows.iter().filter(|row| row.pool == Some(PoolId::new("scout"))).map(|row| row.counts.calls).sum();
        prop_assert!(found.recent.counts.calls <= own);
        prop_assert!(found.recent.counts.calls <= found.reach.counts.calls);
        prop_assert!(found.priced_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
        prop_assert!(found.availability().is_none_or(|share| share.lo <= share.value && share.value <= share.hi));
    }
}

#[test]
fn dollars_come_from_the_gateway_that_billed_them_and_tokens_from_the_client() {
    let mut gateway = usage_row("litellm", 28, false, Some("scout"), 30, true);
    gateway.counts.cost_usd = 7.0;
    let client = usage_row("codex", 28, true, Some("scout"), 60, true);
    let found = seen(&[client.clone(), gateway.clone()]);
    assert_eq!((found.cost.counts.cost_usd, found.cost.said()), (7.0, "litellm".to_owned()));
    assert_eq!((found.tokens.counts.responses, found.tokens.said()), (40, "codex".to_owned()));
    assert_eq!((found.reach.counts.calls, found.reach.said()), (30, "litellm".to_owned()));
    let unbilled = UsageRow { counts: CallCounts { n_cost: 0, cost_usd: 0.0, ..gateway.counts }, ..gateway };
    let found = seen(&[client, unbilled]);
    assert_eq!((found.cost.counts.cost_usd, found.cost.said()), (60.0, "codex".to_owned()), "no bill is no price of 0");
    assert_eq!(found.priced_share(), Some(1.0));
}

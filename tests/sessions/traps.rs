//! Traps 19 to 25 and 27 of reference pools, each in a real `opencode.db` of the second generation with the router's tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::fresh;
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::{CallSums, StatedPool, StoreKind};
use rusqlite::Connection;

/// The tables a review reads, as newest opencode makes them.
pub(crate) const TABLES: &str = "
    CREATE TABLE session_v2(id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, model TEXT);
    CREATE TABLE session_message(id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, data TEXT);
    CREATE TABLE route_attempt(id INTEGER PRIMARY KEY AUTOINCREMENT, time_started INTEGER, time_ended INTEGER,
        session_id TEXT, assistant_message_id TEXT, route_id TEXT NOT NULL, provider_id TEXT, model_id TEXT, variant TEXT,
        outcome TEXT, error_tag TEXT, error_body TEXT, hedged INTEGER, first_token_ms REAL, response_ms REAL,
        tokens_per_second REAL, tokens_input INTEGER, tokens_estimated INTEGER, tokens_output INTEGER,
        tokens_reasoning INTEGER, quota TEXT);
    CREATE TABLE route_health(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER, provider_id TEXT, model_id TEXT, kind TEXT,
        reason TEXT, until INTEGER);
    CREATE TABLE route_decision(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER, route_id TEXT, reason TEXT);
    INSERT INTO session_v2 VALUES('s', NULL, '/w', '{\"id\":\"workhorse\",\"providerID\":\"opencode-route\"}');";

/// An instant of the tests, epoch milliseconds.
pub(crate) const AT: i64 = 1_792_450_000_000;

/// A store with the tables and some statements more.
pub(crate) fn store(name: &str, tables: &str, statements: &[String]) -> StoreScan {
    let folder = fresh(name);
    let database = Connection::open(folder.join("opencode.db")).unwrap();
    database.execute_batch(tables).unwrap();
    for statement in statements {
        database.execute_batch(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    drop(database);
    let scan = read(&StoreSpec::new(StoreKind::Opencode, folder), &BTreeSet::new(), None, &|_, _| {});
    assert_eq!(scan.faults, Vec::<String>::new());
    scan
}

/// A message of `a/m` with so much output, in 10 s.
pub(crate) fn message(id: &str, output: u64, more: &str) -> String {
    let data = format!(
        r#"{{"model":{{"id":"m","providerID":"a"}},"tokens":{{"input":10,"output":{output},"reasoning":0,"cache":{{"read":0,"write":0}}}},"time":{{"created":{AT},"streamed":{}}}{more}}}"#,
        AT + 10_000
    );
    format!(
        "INSERT INTO session_message VALUES('{id}', 's', 'assistant', (SELECT count(*) FROM session_message), '{data}')"
    )
}

/// An attempt: columns and values beside its times.
pub(crate) fn attempt(columns: &str, values: &str) -> String {
    format!("INSERT INTO route_attempt(time_started, time_ended, {columns}) VALUES({AT}, {}, {values})", AT + 5000)
}

/// The columns that most attempts fill.
pub(crate) const WHO: &str = "assistant_message_id, route_id, provider_id, model_id, outcome";

/// Everything of one member added up.
pub(crate) fn of(scan: &StoreScan, provider: &str, model: &str) -> CallSums {
    let mut sums = CallSums::default();
    for row in scan.rows.iter().filter(|row| (row.key.provider.as_str(), row.key.model.as_str()) == (provider, model)) {
        sums.add(&row.sums);
    }
    sums
}

#[test]
fn trap_19_interrupted_and_hedged_out_attempts_are_no_failures_and_a_lost_call_is_its_own_members() {
    let scan = store(
        "trap-19",
        TABLES,
        &[
            message("m1", 80, ""),
            attempt(&format!("{WHO}, error_tag"), "'m1','workhorse','b','other','failure','RateLimit'"),
            attempt(WHO, "'m1','workhorse','c','loser','hedged-out'"),
            attempt(WHO, "'m1','workhorse','a','m','success'"),
            attempt(WHO, "'m2','workhorse','a','m','interrupted'"),
        ],
    );
    let (answered, limited) = (of(&scan, "a", "m"), of(&scan, "b", "other"));
    assert_eq!(
        (answered.calls, answered.infra, answered.failures.len()),
        (2, 0, 0),
        "an answer and a cut: nobody failed"
    );
    assert_eq!((limited.calls, limited.infra), (1, 1), "the limit was that of b/other");
    assert_eq!(limited.failures, BTreeMap::from([("rate_limited", 1)]));
    let loser = of(&scan, "c", "loser");
    assert_eq!((loser.calls, loser.failures.len()), (1, 0), "the losing leg of a race is an attempt without blame");
    assert_eq!((answered.blameless, loser.blameless), (1, 1));
    assert_eq!(
        (answered.retries, scan.events.api_errors),
        (2, 1),
        "three attempts at one message: two retries, one error"
    );
}

#[test]
fn trap_20_an_empty_route_is_outside_every_pool_and_the_root_pool_counts() {
    let scan = store(
        "trap-20",
        TABLES,
        &[
            message("m1", 80, ""),
            attempt(WHO, "'m1','','a','m','success'"),
            message("m2", 81, ""),
            attempt(WHO, "'m2','workhorse','a','m','success'"),
            format!(
                "INSERT INTO route_decision(time, route_id, reason) VALUES({AT},'workhorse','drawn'),({AT},'nested','ordered')"
            ),
        ],
    );
    let pools: BTreeMap<_, _> =
        scan.rows.iter().map(|row| (row.key.stated.clone(), (row.sums.responses, row.sums.output_tokens))).collect();
    let wanted = [(StatedPool::Attempt(None), (1, 80)), (StatedPool::Attempt(Some("workhorse".to_owned())), (1, 81))];
    assert_eq!(pools, BTreeMap::from(wanted), "the session's pool is not asked, and decisions are no calls");
    assert_eq!((scan.kinds["route_decision:drawn"], scan.kinds["route_decision:ordered"]), (1, 1));
}

#[test]
fn trap_21_speed_is_tokens_over_time_without_estimates_losers_and_tiny_replies() {
    let times = format!(
        "{WHO}, first_token_ms, response_ms, tokens_per_second, tokens_estimated, tokens_output, tokens_reasoning"
    );
    let scan = store(
        "trap-21",
        TABLES,
        &[
            attempt(&times, "NULL,'workhorse','a','m','success',1000,11000,999,0,400,100"),
            attempt(&times, "NULL,'workhorse','a','m','success',500,2500,999,NULL,100,0"),
            attempt(&times, "NULL,'workhorse','a','m','success',100,600,900,0,49,0"),
            attempt(&times, "NULL,'workhorse','a','m','success',100,1000,900,1,5000,0"),
            attempt(&times, "NULL,'workhorse','a','m','hedged-out',100,1000,900,0,5000,0"),
        ],
    );
    let sums = of(&scan, "a", "m");
    let total = |timed: &[pool_review::vocabulary::Timed]| {
        (timed.len(), timed.iter().map(|t| t.output).sum::<u64>(), timed.iter().map(|t| t.ms).sum::<u64>())
    };
    assert_eq!(total(&sums.timed), (2, 600, 13_500), "600 tokens in 13.5 s, never the mean of stated rates");
    assert_eq!(total(&sums.decoded), (2, 600, 12_000), "reasoning is output; the first token's time is taken off");
}

#[test]
fn trap_22_input_of_attempts_is_never_added_to_that_of_messages() {
    let columns = format!("{WHO}, tokens_input, tokens_output");
    let scan = store(
        "trap-22",
        TABLES,
        &[
            message("m1", 80, ""),
            attempt(&columns, "'m1','workhorse','a','m','success',10,80"),
            attempt(&columns, "NULL,'','a','m','success',123456,20"),
        ],
    );
    let sums = of(&scan, "a", "m");
    assert_eq!((sums.input_tokens, sums.output_tokens, sums.responses), (10, 80, 1), "a title's call is in no message");
}

#[test]
fn trap_23_columns_that_are_not_there_are_not_asked_for_and_absent_tables_are_no_evidence() {
    let older = TABLES.replace("error_body TEXT, hedged INTEGER,", "").replace("tokens_estimated INTEGER,", "");
    assert_ne!(older, TABLES, "three columns are gone");
    let one = [message("m1", 80, ""), attempt(WHO, "'m1','workhorse','a','m','success'")];
    let rows = |tables: &str, name: &str| store(name, tables, &one).rows;
    assert_eq!(rows(&older, "trap-23-older"), rows(TABLES, "trap-23-newer"));
    let stock: String = TABLES.split_inclusive(';').filter(|statement| !statement.contains("route_")).collect();
    let scan = store("trap-23-stock", &stock, &one[..1]);
    assert_eq!(
        scan.rows[0].key.stated,
        StatedPool::Session("workhorse".to_owned()),
        "the session's word is what is left"
    );
    assert!(!scan.kinds.keys().any(|kind| kind.starts_with("route_")), "no table, nothing said: {:?}", scan.kinds);
}

#[test]
fn traps_24_and_25_the_end_of_a_hold_and_raw_resets_change_no_figure() {
    let columns = format!("{WHO}, quota");
    let with = |name: &str, quota: &str, health: &str| {
        let health = (!health.is_empty())
            .then(|| format!("INSERT INTO route_health(time, provider_id, model_id, kind, until) VALUES{health}"));
        let attempts =
            [message("m1", 80, ""), attempt(&columns, &format!("'m1','workhorse','a','m','success',{quota}"))];
        store(name, TABLES, &attempts.into_iter().chain(health).collect::<Vec<_>>())
    };
    let plain = with("trap-24-plain", "NULL", "");
    let held = format!("({AT},'a','m','cooldown-start',{}),({AT},'a','m','network-suspect',NULL)", AT + 60_000);
    let ended = format!("{held},({},'a','m','cooldown-end',NULL)", AT + 9_000_000);
    for (name, health) in [("trap-24-held", held), ("trap-24-ended", ended)] {
        let scan = with(name, r#"'{"reset":{"tokens":"1792460800"},"retryAfterMs":1}'"#, &health);
        assert_eq!(scan.rows, plain.rows, "{name}: holds and resets are the router's own business");
        assert!(scan.windows.is_empty(), "{name}: nothing here describes a plan window");
        assert_eq!(scan.kinds["route_health:cooldown-start"], 1, "{name}: it is named");
    }
}

#[test]
fn trap_27_aborted_rejected_and_overflowing_turns_blame_nobody_and_a_subagent_has_its_own_pool() {
    let scan = store(
        "trap-27",
        TABLES,
        &[
            message("m1", 0, r#","error":{"type":"aborted","message":"x"}"#).replace("\"input\":10", "\"input\":0"),
            message("m2", 90, r#","error":{"type":"MessageAbortedError","message":"x"}"#),
            message("m3", 0, r#","error":{"type":"ContextOverflowError","message":"x"}"#)
                .replace("\"input\":10", "\"input\":0"),
            "INSERT INTO session_v2 VALUES('child', 's', '/w', '{\"id\":\"m\",\"providerID\":\"a\"}')".to_owned(),
            message("m4", 95, "").replace("'s', 'assistant'", "'child', 'assistant'"),
        ],
    );
    let sums = of(&scan, "a", "m");
    assert_eq!((sums.infra, scan.events.interrupts), (0, 1), "cut short by a person");
    assert_eq!(sums.failures, BTreeMap::from([("context", 1)]), "an overflow is told apart and is no infrastructure");
    assert_eq!(sums.timed.iter().map(|timed| timed.output).collect::<Vec<_>>(), [95], "the aborted reply is not timed");
    let child = scan.rows.iter().find(|row| row.sums.sidechain_responses > 0).unwrap();
    assert_eq!(child.key.stated, StatedPool::Nothing, "the parent's pool is not inherited");
}

//! opencode's calls: each once, whatever tables and files speak of it, and none lost because its record is of another make.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::fresh;
use crate::traps::{AT, TABLES, WHO, attempt, message, of, store};
use pool_review::sources::sessions::{ClassRule, StoreScan, StoreSpec, read};
use pool_review::vocabulary::{Bill, CallSums, StatedPool, StoreKind};
use rusqlite::Connection;

/// Reads a folder of stores.
fn scan(folder: &Path) -> StoreScan {
    read(&StoreSpec::new(StoreKind::Opencode, folder.to_owned()), &BTreeSet::new(), None, &|_, _| {})
}

/// A database of some statements in a folder.
fn database(folder: &Path, name: &str, statements: &[String]) {
    let database = Connection::open(folder.join(name)).unwrap();
    for statement in statements {
        database.execute_batch(statement).unwrap();
    }
}

/// Everything of a scan added up.
fn all(scan: &StoreScan) -> CallSums {
    let mut sums = CallSums::default();
    for row in &scan.rows {
        sums.add(&row.sums);
    }
    sums
}

/// Output and milliseconds of what was timed.
fn timed(sums: &CallSums) -> Vec<(u64, u64)> {
    sums.timed.iter().map(|timed| (timed.output, timed.ms)).collect()
}

#[test]
fn every_row_of_the_router_is_an_attempt() {
    let ends = [
        ("success", ""),
        ("failure", "RateLimit"),
        ("failure", "QuotaExceeded"),
        ("failure", "Authentication"),
        ("failure", "Transport"),
        ("failure", "ProviderInternal"),
        ("failure", "ContextOverflow"),
        ("failure", "InvalidProviderOutput"),
        ("timeout", ""),
        ("interrupted", ""),
        ("interrupted", "RateLimit"),
        ("hedged-out", ""),
        ("resolution-failure", ""),
    ];
    let columns = format!("{WHO}, error_tag, response_ms, tokens_output");
    let rows =
        ends.map(|(outcome, tag)| attempt(&columns, &format!("NULL,'workhorse','a','m','{outcome}','{tag}',4000,100")));
    let sums = of(&store("attempts-ends", TABLES, &rows), "a", "m");
    assert_eq!((sums.calls, sums.infra, sums.blameless), (13, 5, 3), "the tag says what is availability");
    assert_eq!(timed(&sums), [(100, 4000)], "only the success has a speed");
    let successes = vec![attempt(WHO, "NULL,'workhorse','a','m','success'"); 9];
    let limited = attempt(&format!("{WHO}, error_tag"), "'gone','workhorse','a','m','failure','RateLimit'");
    let sums = of(&store("attempts-share", TABLES, &[successes, vec![limited]].concat()), "a", "m");
    assert_eq!(
        (sums.calls, sums.infra, sums.responses),
        (10, 1, 0),
        "nine of ten could be reached; no message, no tokens"
    );
}

#[test]
fn the_own_call_of_a_message_is_no_second_attempt() {
    let columns = format!("{WHO}, error_tag, hedged, first_token_ms, response_ms, tokens_output");
    let race = store(
        "attempts-race",
        TABLES,
        &[
            message("m1", 200, ""),
            attempt(&columns, "'m1','workhorse','b','loser','hedged-out',NULL,0,NULL,8500,150"),
            attempt(&columns, "'m1','workhorse','a','m','success',NULL,1,700,5000,200"),
        ],
    );
    let (winner, loser) = (of(&race, "a", "m"), of(&race, "b", "loser"));
    assert_eq!((winner.calls, winner.responses, winner.retries), (1, 1, 1), "two attempts at one message");
    assert_eq!((loser.calls, loser.blameless, loser.retries), (1, 1, 0));
    assert_eq!((timed(&winner), timed(&loser)), (vec![(200, 5000)], Vec::new()));
    let cut = store(
        "attempts-cut",
        TABLES,
        &[message("m1", 90, ""), attempt(&columns, "'m1','workhorse','a','m','failure','ProviderInternal',0,1,2,90")],
    );
    let sums = of(&cut, "a", "m");
    assert_eq!((sums.calls, sums.responses, sums.infra), (1, 1, 1), "an answer that broke off is one call, and lost");
    assert!(sums.timed.is_empty(), "only successes are timed");
    let gone = store("attempts-gone", TABLES, &vec![attempt(WHO, "'gone','workhorse','a','m','success'"); 3]);
    assert_eq!((all(&gone).calls, all(&gone).retries), (3, 2), "a message that is gone had retries all the same");
}

#[test]
fn limits_of_time_hold_before_rounding_and_a_row_without_times_leaves_those_of_its_message() {
    let columns = format!("{WHO}, first_token_ms, response_ms, tokens_output");
    let rows = [
        attempt(&columns, "NULL,'w','a','short','success',NULL,249.9,100"),
        attempt(&columns, "NULL,'w','a','long','success',NULL,250.0,100"),
        attempt(&columns, "NULL,'w','a','burst','success',750.4,999.5,100"),
        message("m1", 80, ""),
        attempt(WHO, "'m1','w','a','m','success'"),
        message("m2", 81, r#","retry":{"attempt":1}"#),
        attempt(&columns, "'m2','w','a','m','failure',NULL,100,NULL"),
        attempt(&columns, "'m2','w','a','m','success',NULL,4000,81"),
    ];
    let scan = store("attempts-times", TABLES, &rows);
    assert!(of(&scan, "a", "short").timed.is_empty());
    assert_eq!(timed(&of(&scan, "a", "long")), [(100, 250)]);
    assert!(of(&scan, "a", "burst").decoded.is_empty(), "249.1 ms behind the first token are no rate");
    let sums = of(&scan, "a", "m");
    assert_eq!(
        timed(&sums),
        [(80, 10_000), (81, 4000)],
        "a retry that the router logged lies outside of its answer's time"
    );
    assert_eq!((sums.calls, sums.retries), (3, 1), "the router's word on retries goes first");
}

#[test]
fn copies_of_messages_and_of_databases_repeat_no_attempt() {
    let columns = format!("{WHO}, response_ms");
    let ended = format!(r#","time":{{"created":{AT},"completed":{}}}"#, AT + 10_000);
    let statements = [
        TABLES.to_owned(),
        message("a-copy", 80, &ended),
        message("b-first", 80, &ended),
        attempt(&columns, "'b-first','specialist','a','m','success',5000"),
        attempt(&columns, "NULL,'','a','m','failure',5000"),
    ];
    let folder = fresh("attempts-copies");
    database(&folder, "opencode.db", &statements);
    let once = scan(&folder);
    let sums = all(&once);
    assert_eq!((sums.calls, sums.responses, once.notes.copies_dropped), (2, 1, 1));
    assert_eq!(
        timed(&sums),
        [(80, 5000)],
        "the router knows the original, though the id of the fork's copy comes first"
    );
    let pools: BTreeSet<_> = once.rows.iter().map(|row| row.key.stated.clone()).collect();
    let wanted = [StatedPool::Attempt(None), StatedPool::Attempt(Some("specialist".to_owned()))];
    assert_eq!(pools, BTreeSet::from(wanted));
    std::fs::copy(folder.join("opencode.db"), folder.join("opencode-saved.db")).unwrap();
    assert_eq!(scan(&folder).rows, once.rows, "a copy of the database says nothing new");
}

#[test]
fn a_message_that_a_person_cut_short_was_a_call_and_silent_ones_are_named() {
    let none = r#""input":0"#;
    let blank = |id: &str, more: &str| message(id, 0, more).replace("\"input\":10", none);
    let scan = store(
        "attempts-aborted",
        TABLES,
        &[
            blank("m1", r#","error":{"name":"MessageAbortedError","data":{}}"#),
            blank("m2", r#","error":{"name":"APIError","data":{"statusCode":529}}"#),
            blank("m3", ""),
        ],
    );
    let sums = of(&scan, "a", "m");
    assert_eq!((sums.calls, sums.infra, sums.blameless, sums.responses), (2, 1, 1, 0));
    assert_eq!((scan.events.interrupts, scan.notes.silent), (1, 1), "nothing is lost in silence");
}

/// A compaction of a session.
fn compaction(id: &str, session: &str, seq: u32) -> String {
    let data = format!(
        r#"{{"cost":0.02,"tokens":{{"input":500,"output":80,"reasoning":0}},"time":{{"created":{},"completed":{}}}}}"#,
        AT + i64::from(seq),
        AT + 5000
    );
    format!("INSERT INTO session_message VALUES('{id}','{session}','compaction',{seq},'{data}')")
}

#[test]
fn a_compaction_is_work_of_the_model_that_was_active() {
    let switch = |session: &str, seq: u32, model: &str| {
        format!(
            "INSERT INTO session_message VALUES('sw-{session}','{session}','model-switched',{seq},'{{\"model\":{model}}}')"
        )
    };
    let statements = [
        message("m1", 60, ""),
        switch("s", 5, r#"{"id":"new","providerID":"p","variant":"high"}"#),
        compaction("c1", "s", 6),
        r#"INSERT INTO session_v2 VALUES('own',NULL,'/w','{"id":"named","providerID":"q"}')"#.to_owned(),
        compaction("c2", "own", 1),
        switch("own", 2, r#"{"id":"workhorse","providerID":"opencode-route"}"#),
        compaction("c3", "own", 3),
        compaction("c4", "unheard", 1),
        attempt(WHO, "'c4','workhorse','r','logged','success'"),
    ];
    let scan = store("attempts-compactions", TABLES, &statements);
    let output = |provider: &str, model: &str| of(&scan, provider, model).output_tokens;
    assert_eq!((output("a", "m"), output("p", "new")), (60, 80), "the switch beats the answer before it");
    let effort = scan.rows.iter().find(|row| row.key.model == "new").unwrap().key.effort.clone();
    assert_eq!(effort.as_deref(), Some("high"));
    assert_eq!(output("q", "named"), 80, "before any answer the session's own model is active");
    assert_eq!(output("", "unknown"), 80, "a pool is no model, and the one before it is not active any more");
    assert_eq!(output("r", "logged"), 80, "the router's log names the model");
    assert!(scan.rows.iter().all(|row| row.sums.timed.iter().all(|timed| timed.output != 80)), "never timed");
}

#[test]
fn tools_and_sessions_of_older_files_count_as_those_of_a_database() {
    let folder = fresh("attempts-files");
    let write = |path: &str, text: &str| {
        let path = folder.join("storage").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let data = format!(
        r#"{{"id":"stale","role":"assistant","providerID":"a","modelID":"m","time":{{"created":{AT},"completed":{}}},"tokens":{{"input":1,"output":100}}}}"#,
        AT + 10_000
    );
    let tool = |from: i64, to: i64| {
        format!(
            r#"{{"type":"tool","state":{{"status":"completed","time":{{"start":{},"end":{}}}}}}}"#,
            AT + from,
            AT + to
        )
    };
    write("message/s1/msg_1.json", &data);
    write("part/msg_1/prt_1.json", &tool(2000, 4000));
    write("part/msg_1/prt_2.json", &tool(3000, 5000));
    write("part/msg_1/prt_3.json", r#"{"type":"text","text":"x"}"#);
    write("part/msg_2/prt_1.json", &tool(0, 9000));
    write("session/p1/s1.json", r#"{"id":"stale","directory":"/srv/code","parentID":"s0","agent":"review"}"#);
    let mut spec = StoreSpec::new(StoreKind::Opencode, folder.clone());
    let glob = |pattern: &str| globset::Glob::new(pattern).unwrap().compile_matcher();
    let rule = ClassRule { folder: Some(glob("/srv/*")), agent: Some(glob("review")), class: "reviews".to_owned() };
    spec.classes = vec![rule];
    let read = |spec: &StoreSpec| read(spec, &BTreeSet::new(), None, &|_, _| {});
    let scan = read(&spec);
    assert_eq!(timed(&all(&scan)), [(100, 7000)], "10 s less the 3 s in which a tool ran, overlaps once");
    assert_eq!((all(&scan).sidechain_responses, scan.rows[0].key.task_class.as_str()), (1, "reviews"));
    assert_eq!((scan.fault_count, scan.input.files), (0, 5), "parts of messages that are not there are not opened");
    write("part/msg_1/prt_4.json", "{");
    let damaged = read(&spec);
    assert_eq!((damaged.rows == scan.rows, damaged.input.malformed_lines, damaged.fault_count), (true, 1, 1));
    let tables =
        "CREATE TABLE message(id TEXT, session_id TEXT, data TEXT); CREATE TABLE part(message_id TEXT, data TEXT)";
    let parted = [
        tables.to_owned(),
        format!("INSERT INTO message VALUES('msg_1','s1','{data}')"),
        format!("INSERT INTO part VALUES('msg_1','{}')", tool(1000, 9000)),
    ];
    database(&folder, "opencode.db", &parted);
    assert_eq!(timed(&all(&read(&spec))), [(100, 2000)], "of a message that a database knows its own parts count");
}

#[test]
fn messages_and_attempts_without_an_agent_have_that_of_their_session() {
    let tables = TABLES
        .replace("model TEXT);", "model TEXT, agent TEXT);")
        .replace("opencode-route\"}');", "opencode-route\"}', 'plan');");
    let folder = fresh("attempts-agent");
    let statements = [
        tables,
        message("m1", 80, ""),
        message("m2", 81, r#","agent":"build""#),
        attempt(WHO, "NULL,'w','a','loose','success'"),
    ];
    database(&folder, "opencode.db", &statements);
    Connection::open(folder.join("opencode.db"))
        .unwrap()
        .execute("UPDATE route_attempt SET session_id = 's'", [])
        .unwrap();
    let mut spec = StoreSpec::new(StoreKind::Opencode, folder);
    let agent = globset::Glob::new("plan").unwrap().compile_matcher();
    spec.classes = vec![ClassRule { folder: None, agent: Some(agent), class: "planning".to_owned() }];
    let scan = read(&spec, &BTreeSet::new(), None, &|_, _| {});
    let calls = |class: &str| -> u64 {
        scan.rows.iter().filter(|row| row.key.task_class == class).map(|row| row.sums.calls).sum()
    };
    assert_eq!((calls("planning"), calls("unclassified")), (2, 1), "a message's own agent goes first");
}

#[test]
fn a_log_that_names_no_messages_counts_no_call_twice() {
    let tables = TABLES.replace("session_id TEXT, assistant_message_id TEXT,", "session_id TEXT,");
    assert_ne!(tables, TABLES);
    let columns = "session_id, route_id, provider_id, model_id, outcome, error_tag, response_ms";
    let rows = [
        message("m1", 80, ""),
        attempt(columns, "'s','workhorse','a','m','success',NULL,5000"),
        attempt(columns, "'s','workhorse','a','m','success',NULL,5000"),
        attempt(columns, "'s','workhorse','a','m','failure','RateLimit',5000"),
        attempt(columns, "'t','workhorse','a','m','success',NULL,5000"),
    ];
    let scan = store("attempts-nameless", &tables, &rows);
    let sums = of(&scan, "a", "m");
    assert_eq!((sums.calls, sums.infra, sums.responses), (4, 1, 1), "the first success is the message's own call");
    assert_eq!(timed(&sums), [(80, 5000)]);
    let said = scan.remarks("store").join("\n");
    assert!(
        said.contains("table route_attempt has no column assistant_message_id: calls are joined to messages"),
        "{said}"
    );
}

#[test]
fn a_table_of_another_make_loses_no_row_in_silence() {
    let tables =
        "CREATE TABLE message(id TEXT, data TEXT); CREATE TABLE session_message(id TEXT, session_id TEXT, type TEXT);
        CREATE TABLE route_attempt(outcome TEXT, error_tag TEXT);";
    let data = format!(
        r#"{{"role":"assistant","providerID":"a","modelID":"m","time":{{"created":{AT},"completed":{}}},"tokens":{{"input":1,"output":100}}}}"#,
        AT + 9000
    );
    let rows = [
        tables.to_owned(),
        format!("INSERT INTO message VALUES('m1','{data}'),('m2','damaged')"),
        "INSERT INTO route_attempt VALUES('failure','RateLimit'),('failure','RateLimit'),('success',NULL)".to_owned(),
    ];
    let folder = fresh("attempts-tables");
    database(&folder, "opencode.db", &rows);
    let scan = scan(&folder);
    let sums = all(&scan);
    assert_eq!((sums.calls, sums.responses, sums.infra), (4, 1, 2), "equal rows of one table are rows all the same");
    let said = scan.remarks("store").join("\n");
    for wanted in [
        "opencode.db: table session_message has no column data: it is not read",
        "opencode.db: table message has no column session_id: the pool, folder and agent of its sessions are not known",
        "opencode.db: table route_attempt has no column model_id: the model of calls without a message is not known",
        "1 damaged lines, the first: ",
        "opencode.db:2",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn what_a_message_says_it_cost_is_told_apart() {
    let costs = [(80, ",\"cost\":0"), (81, ",\"cost\":0.5"), (82, ""), (83, ",\"cost\":-1"), (84, ",\"cost\":null")];
    let rows: Vec<String> = costs.iter().map(|(output, cost)| message(&format!("m{output}"), *output, cost)).collect();
    let scan = store("attempts-bills", TABLES, &rows);
    let mut bills: BTreeMap<Bill, (u64, u64)> = BTreeMap::new();
    for row in &scan.rows {
        let bill = bills.entry(row.key.charge.bill).or_default();
        *bill = (bill.0 + row.sums.responses, bill.1 + row.sums.n_cost);
    }
    assert_eq!(bills, BTreeMap::from([(Bill::Unstated, (3, 0)), (Bill::Nothing, (1, 0)), (Bill::Stated, (1, 1))]));
    assert_eq!(scan.notes.not_billed, 1, "only a bill of 0 is none");
}

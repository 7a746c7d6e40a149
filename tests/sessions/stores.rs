//! Stores as they are found: written by another process, locked, in folders nobody may change, of files that come and go, and
//! things that are called like a store and are none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::fresh;
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::{CallRow, StatedPool, StoreKind};
use rusqlite::Connection;

/// The variable that makes a process of this binary write into a database until its parent ends it.
const WRITE_INTO: &str = "POOL_REVIEW_TEST_WRITES_INTO";

/// The tables that are written: messages, and what the router logged of them.
const TABLES: &str = "CREATE TABLE IF NOT EXISTS message(id TEXT PRIMARY KEY, session_id TEXT, data TEXT);
    CREATE TABLE IF NOT EXISTS route_attempt(id INTEGER PRIMARY KEY, time_started INTEGER, time_ended INTEGER,
        assistant_message_id TEXT, route_id TEXT, provider_id TEXT, model_id TEXT, outcome TEXT);";

/// Reads a store.
fn scan(kind: StoreKind, path: &Path) -> StoreScan {
    read(&StoreSpec::new(kind, path.to_owned()), &BTreeSet::new(), None, &|_, _| {})
}

/// Responses and output tokens of a scan.
fn figures(scan: &StoreScan) -> (u64, u64) {
    let sum = |count: fn(&pool_review::vocabulary::CallSums) -> u64| scan.rows.iter().map(|row| count(&row.sums)).sum();
    (sum(|sums| sums.responses), sum(|sums| sums.output_tokens))
}

/// Puts a message of `output` tokens into a database of the first generation; each has its own time.
fn message(database: &Connection, number: u64, output: u64) -> rusqlite::Result<usize> {
    let at = 1_792_440_000_000 + number * 60_000;
    let data = format!(
        r#"{{"role":"assistant","time":{{"created":{at},"completed":{}}},"modelID":"m","providerID":"p","tokens":{{"input":1,"output":{output}}}}}"#,
        at + 9_000
    );
    database.execute("INSERT INTO message VALUES(?1, 's', ?2)", (format!("msg_{number:08}"), data))
}

/// A database in write-ahead mode, open.
fn database(store: &Path) -> Connection {
    let database = Connection::open(store.join("opencode.db")).unwrap();
    database
        .execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, data TEXT)")
        .unwrap();
    database
}

/// Runs the program on a store.
fn sessions(workspace: &Path, store: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-review"));
    command.current_dir(workspace).env_clear();
    command.args(["sessions", "--store", store, "--format", "json"]).output().unwrap()
}

/// Another process that writes messages until it is ended.
struct Writer(Child);

impl Writer {
    /// Starts it.
    fn start(database: &Path) -> Self {
        let own = "stores::another_process_writes_two_messages_at_a_time";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", own, "--nocapture"]).env(WRITE_INTO, database);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn another_process_writes_two_messages_at_a_time() {
    // Started by the test below in a process of its own; here it only shows that two messages go in together.
    let is_child = std::env::var_os(WRITE_INTO);
    let path = is_child.clone().map_or_else(|| fresh("stores-writer").join("opencode.db"), PathBuf::from);
    let database = Connection::open(&path).unwrap();
    database.busy_timeout(Duration::from_secs(5)).unwrap();
    database.execute_batch(TABLES).unwrap();
    let rounds = if is_child.is_some() { 500_000 } else { 3 };
    for round in 1..=rounds {
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        for (number, output) in [(2 * round, 80), (2 * round + 1, 20)] {
            message(&database, number, output).unwrap();
            let id = format!("msg_{number:08}");
            database
                .execute("INSERT INTO route_attempt VALUES(NULL, 1, 2, ?1, 'w', 'p', 'm', 'success')", [id])
                .unwrap();
        }
        database.execute_batch("COMMIT").unwrap();
        if round % 50 == 0 {
            database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
    }
    assert_eq!(figures(&scan(StoreKind::Opencode, &path)), (6, 300));
}

#[test]
fn a_database_that_another_process_writes_is_read_whole_transaction_by_transaction() {
    let store = fresh("stores-written");
    let own = database(&store);
    let path = store.join("opencode.db");
    let writer = Writer::start(&path);
    let began = Instant::now();
    let (mut last, mut readings, mut grown) = (0, 0, 0);
    while (readings < 60 || grown < 5) && began.elapsed() < Duration::from_secs(40) {
        let scan = scan(StoreKind::Opencode, &store);
        let (responses, output) = figures(&scan);
        let is_told = scan
            .faults
            .iter()
            .all(|fault| fault.contains("is locked by another program") || fault.contains("write-ahead"));
        assert!(is_told, "{:?}", scan.faults);
        if scan.fault_count == 0 {
            assert_eq!(output, responses * 50, "never half of a transaction");
            let is_routed = |row: &CallRow| row.key.stated == StatedPool::Attempt(Some("w".to_owned()));
            assert!(scan.rows.iter().all(is_routed), "every table as of one instant");
            assert!(responses >= last, "{responses} after {last}");
            grown += u32::from(responses > last);
            last = responses;
        }
        readings += 1;
    }
    assert!(grown >= 5, "it was read while it grew: {grown} times in {readings} readings, {last} messages");
    drop(writer);
    drop(own);
    let count: i64 =
        Connection::open(&path).unwrap().query_row("SELECT count(*) FROM message", [], |row| row.get(0)).unwrap();
    assert_eq!(figures(&scan(StoreKind::Opencode, &store)).0, count.unsigned_abs(), "at rest every message counts");
}

#[test]
fn a_locked_database_is_a_warning_and_not_the_end_of_other_stores() {
    let folder = fresh("stores-locked");
    std::fs::create_dir_all(folder.join("locked")).unwrap();
    std::fs::create_dir_all(folder.join("open")).unwrap();
    for store in ["locked", "open"] {
        let database = Connection::open(folder.join(store).join("opencode.db")).unwrap();
        database.execute_batch("CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, data TEXT)").unwrap();
        message(&database, 1, 80).unwrap();
    }
    let held = Connection::open(folder.join("locked/opencode.db")).unwrap();
    held.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let alone = sessions(&folder, "opencode=locked");
    let said = String::from_utf8(alone.stderr).unwrap();
    assert!(said.contains("warning: locked/opencode.db is locked by another program; the next run reads it"), "{said}");
    assert_eq!(alone.status.code(), Some(1), "no store could be read");
    let mut both = Command::new(env!("CARGO_BIN_EXE_pool-review"));
    both.current_dir(&folder).env_clear();
    let both = both
        .args(["sessions", "--store", "opencode=locked", "--store", "opencode=open", "--format", "csv"])
        .output()
        .unwrap();
    assert_eq!(both.status.code(), Some(0), "the other store is read: {}", String::from_utf8_lossy(&both.stderr));
    assert_eq!(String::from_utf8(both.stdout).unwrap().lines().count(), 2);
    held.execute_batch("ROLLBACK").unwrap();
    assert_eq!(sessions(&folder, "opencode=locked").status.code(), Some(0), "the next run reads it");
}

#[test]
fn a_write_ahead_file_without_its_index_is_told_and_nothing_is_made_beside_it() {
    let store = fresh("stores-no-index");
    let database = database(&store);
    message(&database, 1, 80).unwrap();
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    message(&database, 2, 20).unwrap();
    let copied = fresh("stores-copied");
    let names = |folder: &Path| {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<String>>()
    };
    for (name, wanted, told) in
        [("opencode.db", (1, 80), 0), ("opencode.db-wal", (1, 80), 1), ("opencode.db-shm", (2, 100), 0)]
    {
        std::fs::copy(store.join(name), copied.join(name)).unwrap();
        let before = names(&copied);
        let scan = scan(StoreKind::Opencode, &copied);
        assert_eq!((figures(&scan), scan.fault_count), (wanted, told), "with {name}: {:?}", scan.faults);
        assert_eq!(names(&copied), before, "with {name}: no file comes or goes");
    }
}

#[test]
fn tables_that_lack_a_column_or_are_of_another_program_are_passed_over() {
    let store = fresh("stores-columns");
    let database = Connection::open(store.join("opencode.db")).unwrap();
    // No `seq`, no `part.id`, no `model` of a session, and tables of credentials that nobody may touch.
    let tables = "CREATE TABLE session_message(id TEXT, session_id TEXT, type TEXT, data TEXT);
        CREATE TABLE message(id TEXT, session_id TEXT, data TEXT);
        CREATE TABLE part(message_id TEXT, data TEXT);
        CREATE TABLE session(id TEXT); CREATE TABLE route_health(time INTEGER);
        CREATE VIEW account AS SELECT * FROM nowhere; CREATE VIEW credential AS SELECT * FROM nowhere;";
    database.execute_batch(tables).unwrap();
    message(&database, 1, 80).unwrap();
    let second = r#"{"model":{"id":"m","providerID":"p"},"tokens":{"input":1,"output":30},"time":{"created":1792440000000,"completed":1792440009000}}"#;
    database.execute("INSERT INTO session_message VALUES('n1', 's', 'assistant', ?1)", [second]).unwrap();
    let scan = scan(StoreKind::Opencode, &store);
    assert_eq!((figures(&scan), &scan.faults), ((2, 110), &Vec::new()));
}

#[test]
fn files_that_come_and_go_while_they_are_read_end_in_a_count() {
    let store = fresh("stores-come-and-go");
    let line = |n: u64| {
        format!(
            "{{\"type\":\"assistant\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"message\":{{\"id\":\"m{n}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":1}}}}}}\n"
        )
    };
    for n in 0..40 {
        std::fs::write(store.join(format!("{n}.jsonl")), line(n)).unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in (0..40).cycle() {
                let file = store.join(format!("{n}.jsonl"));
                std::fs::remove_file(&file).unwrap();
                std::fs::write(&file, line(n)).unwrap();
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let mut index: Option<Vec<u8>> = None;
        for _ in 0..100 {
            let spec = StoreSpec::new(StoreKind::ClaudeCode, store.clone());
            let scan = read(&spec, &BTreeSet::new(), index.as_deref(), &|_, _| {});
            assert!(scan.faults.iter().all(|fault| fault.ends_with("does not exist")), "{:?}", scan.faults);
            assert!(figures(&scan).0 <= 40);
            index = scan.index.or(index);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(figures(&scan(StoreKind::ClaudeCode, &store)), (40, 40), "at rest everything is counted");
}

#[test]
fn a_store_that_is_a_file_or_is_not_there_is_said_and_fails_alone() {
    let folder = fresh("stores-file");
    std::fs::write(folder.join("plain.txt"), "no store at all\n").unwrap();
    for (store, said) in [
        ("claude-code=plain.txt", "plain.txt is not a folder"),
        ("codex=plain.txt", "plain.txt is not a folder"),
        ("opencode=plain.txt", "plain.txt is no SQLite database"),
        ("litellm=plain.txt", "plain.txt has no column startTime"),
        ("codex=gone", "gone does not exist"),
        ("opencode=gone", "gone does not exist"),
        ("litellm=gone.csv", "gone.csv does not exist"),
    ] {
        let output = sessions(&folder, store);
        let warnings = String::from_utf8(output.stderr).unwrap();
        assert_eq!(warnings, format!("warning: {said}\n"), "{store}");
        assert_eq!(output.status.code(), Some(1), "{store}: nothing could be read");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    }
    std::fs::create_dir_all(folder.join("empty/sessions")).unwrap();
    for kind in ["claude-code", "codex", "litellm"] {
        let output = sessions(&folder, &format!("{kind}=empty"));
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{kind}: an empty store is no fault"
        );
    }
}

#[test]
fn a_folder_of_rollouts_may_be_named_itself() {
    let store = fresh("stores-rollouts").join("sessions");
    std::fs::create_dir_all(store.join("2026/11/20")).unwrap();
    let count = r#"{"timestamp":"2026-11-20T10:00:05.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":5,"output_tokens":7}}}}"#;
    std::fs::write(store.join("2026/11/20/rollout-a.jsonl"), format!("{count}\n")).unwrap();
    std::fs::write(store.join("history.jsonl"), "{\"text\":\"no rollout\"}\n").unwrap();
    assert_eq!(figures(&scan(StoreKind::Codex, &store)), (1, 7));
    assert_eq!(figures(&scan(StoreKind::Codex, store.parent().unwrap())), (1, 7), "as by the folder above");
}

#[test]
#[cfg(unix)]
fn pipes_are_never_opened() {
    let folder = fresh("stores-pipes");
    std::fs::create_dir_all(folder.join("opencode")).unwrap();
    std::fs::create_dir_all(folder.join("claude")).unwrap();
    for pipe in ["spend.jsonl", "spend.csv", "opencode/opencode.db", "claude/x.jsonl"] {
        assert!(Command::new("mkfifo").arg(folder.join(pipe)).status().unwrap().success());
    }
    for (kind, path, told) in [
        (StoreKind::Litellm, "spend.jsonl", "spend.jsonl is not a regular file"),
        (StoreKind::Litellm, "spend.csv", "spend.csv is not a regular file"),
        (StoreKind::Opencode, "opencode", "opencode/opencode.db is not a regular file"),
        (StoreKind::Opencode, "opencode/opencode.db", "opencode/opencode.db is not a regular file"),
        (StoreKind::Codex, "spend.jsonl", "spend.jsonl is not a regular file"),
        (StoreKind::ClaudeCode, "claude", "claude/x.jsonl is not a regular file"),
    ] {
        let began = Instant::now();
        let scan = scan(kind, &folder.join(path));
        assert!(began.elapsed() < Duration::from_secs(5), "{path} waits for a writer");
        assert!(scan.faults.len() == 1 && scan.faults[0].ends_with(told), "{:?}", scan.faults);
    }
}

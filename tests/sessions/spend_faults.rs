//! What goes wrong between us and a database of spend logs: it is said in one line, no secret is in it, and the last rollup stays.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::database::{Database, SECRET, free_port};
use crate::spend_logs::{ROWS, TABLE, run, spawn, workspace};

/// Runs `fetch` beside a rollup that is there, and looks that it fails as documented, with these words, and that the rollup stays.
fn fails(kept: &Path, spend_logs: &str, address: &str, words: &str) {
    let own = beside(kept, spend_logs);
    let output = run(&own, address, &["fetch", "--force"]);
    failed(kept, &own, &output, words);
}

/// A workspace with the files of another.
fn beside(kept: &Path, spend_logs: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let own = workspace(&format!("spend-fault-{}", NUMBER.fetch_add(1, Ordering::Relaxed)), spend_logs);
    std::fs::create_dir_all(own.join("data")).unwrap();
    for file in ["data/spend.csv", "data/spend.csv.meta.json"] {
        std::fs::copy(kept.join(file), own.join(file)).unwrap();
    }
    own
}

/// Looks at a run that failed.
fn failed(kept: &Path, own: &Path, output: &std::process::Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words}: {said}");
    assert!(said.contains(words) && said.lines().count() <= 2, "{words}: {said}");
    for file in ["data/spend.csv", "data/spend.csv.meta.json"] {
        assert_eq!(
            std::fs::read(own.join(file)).unwrap(),
            std::fs::read(kept.join(file)).unwrap(),
            "{words}: {file} stays"
        );
    }
}

/// A server with some rows, and a workspace with their rollup.
fn begun(name: &str) -> Option<(Database, PathBuf)> {
    let database = Database::start()?;
    let mut owner = database.owner();
    owner.batch_execute(TABLE).unwrap();
    owner.execute(ROWS, &[&1_i64, &40_i64]).unwrap();
    let folder = workspace(name, "days: 36500");
    let output = run(&folder, &Database::address("owner", SECRET, database.port), &["fetch"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some((database, folder))
}

#[test]
fn what_goes_wrong_with_the_database_is_said_and_the_last_rollup_stays() {
    let Some((database, folder)) = begun("spend-faults") else { return };
    let mut owner = database.owner();
    owner
        .batch_execute(
            "CREATE ROLE stranger LOGIN PASSWORD 'owner-secret-too'; CREATE TABLE bare (model text, spend float8); \
             CREATE VIEW old AS SELECT call_type, model, \"startTime\", \"endTime\", prompt_tokens, completion_tokens, spend, \
             cache_hit FROM \"LiteLLM_SpendLogs\"; CREATE VIEW slow AS SELECT * FROM \"LiteLLM_SpendLogs\" \
             WHERE pg_sleep(30) IS NULL; CREATE VIEW texts AS SELECT *, '' AS metadata FROM old; CREATE VIEW words AS SELECT call_type, model, \
             '' AS \"startTime\", \"endTime\", prompt_tokens, completion_tokens, spend, cache_hit FROM old",
        )
        .unwrap();
    let good = Database::address("owner", SECRET, database.port);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let quiet = silent.local_addr().unwrap().port();
    let address = |user, password, port| Database::address(user, password, port);
    for (spend_logs, address, words) in [
        (
            "days: 36500",
            address("owner", "owner-secret-not", database.port),
            "does not accept user or password (variable: SPEND_DB)",
        ),
        ("days: 36500", format!("{}x", address("owner", SECRET, database.port)), "there is no such database"),
        ("days: 36500", "owner-secret-as-text".to_owned(), "no connection string"),
        ("days: 36500", String::new(), "the variable SPEND_DB holds no connection string"),
        ("days: 36500", address("owner", SECRET, free_port()), "no connection to the database: connection refused"),
        ("days: 36500", format!("{good}?owner-secret=1"), "is no connection string"),
        (
            "days: 36500",
            address("stranger", "owner-secret-too", database.port),
            "no table LiteLLM_SpendLogs that this user may read",
        ),
        ("days: 36500, table: nothing", good.clone(), "there is no table nothing"),
        (
            "days: 36500, table: bare",
            good.clone(),
            "no column cache_hit, call_type, completion_tokens, endTime, prompt_tokens, startTime",
        ),
        ("days: 36500, table: texts", good.clone(), "the column metadata of texts is text, not jsonb"),
        ("days: 36500, table: words", good.clone(), "the column startTime of words is text, not a time"),
        ("days: 36500, table: slow, timeout_s: 0.2", good.clone(), "took longer than 0.2 s"),
        ("days: 36500, timeout_s: 0.1", address("owner", SECRET, quiet), "the database fell silent"),
        ("days: 1", good.clone(), "no call in the last 1 days"),
    ] {
        fails(&folder, spend_logs, &address, words);
    }
    let old = workspace("spend-old", "days: 36500, table: old");
    let output = run(&old, &good, &["fetch"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success()
            && said.contains("no column model_group, custom_llm_provider, status, metadata, request_id, total_tokens"),
        "{said}"
    );
}

#[test]
fn a_database_with_tls_is_asked_who_it_is_as_the_connection_string_says() {
    let Some((database, folder)) = begun("spend-tls") else { return };
    let mut owner = database.owner();
    owner.batch_execute("CREATE ROLE guarded LOGIN PASSWORD 'owner-secret-too'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO guarded").unwrap();
    let file = |name: &str| database.file(name).to_str().unwrap().replace('/', "%2F");
    let (root, other, key) = (file("root.pem"), file("other.pem"), file("server.key"));
    let url = |host: &str, options: String| {
        format!("postgres://guarded:owner-secret-too@{host}:{}/postgres?{options}", database.port)
    };
    let pairs = format!(
        "host=localhost port={} user=guarded password='owner-secret-too' dbname=postgres sslmode=verify-full sslrootcert='{}'",
        database.port,
        database.file("root.pem").display()
    );
    // The user is let in with TLS only, so every one of these spoke it.
    for address in [
        url("localhost", format!("sslmode=verify-full&sslrootcert={root}")),
        url("localhost", format!("sslmode=verify-full&channel_binding=require&sslrootcert={root}")),
        url("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={root}")),
        url("127.0.0.1", format!("sslmode=require&sslrootcert={root}")),
        url("127.0.0.1", "sslmode=require&channel_binding=require&connection_limit=5".to_owned()),
        url("127.0.0.1", "sslmode=prefer".to_owned()),
        url("127.0.0.1", String::new()),
        pairs,
    ] {
        let own = beside(&folder, "days: 36500");
        let output = run(&own, &address, &["fetch", "--force"]);
        assert!(output.status.success(), "{address}: {}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::copy(database.file("root.pem"), folder.join("root.pem")).unwrap();
    let output =
        run(&folder, &url("localhost", "sslmode=verify-full&sslrootcert=root.pem".to_owned()), &["fetch", "--force"]);
    assert!(output.status.success(), "a path starts at the workspace: {}", String::from_utf8_lossy(&output.stderr));
    let deaf = no_tls();
    for (host, options, words) in [
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}"), "not accepted: it is for another host"),
        ("localhost", format!("sslmode=verify-full&sslrootcert={other}"), "no authority that is trusted signed it"),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={other}"), "no authority that is trusted signed it"),
        ("localhost", format!("sslmode=require&sslrootcert={other}"), "no authority that is trusted signed it"),
        ("localhost", "sslmode=verify-full".to_owned(), "no authority that is trusted signed it"),
        ("localhost", "sslmode=verify-full&sslrootcert=system".to_owned(), "no authority that is trusted signed it"),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=gone.pem".to_owned(),
            "sslrootcert cannot be read: entity not found",
        ),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={key}"),
            "sslrootcert holds no certificate of an authority",
        ),
        ("localhost", "sslmode=disable".to_owned(), "the database demands TLS from this user and address"),
        ("localhost", "sslmode=sometimes".to_owned(), "the variable SPEND_DB has another sslmode than disable, prefer"),
        ("localhost", "sslmode=require&sslcert=a&sslkey=b".to_owned(), "a certificate of our own (sslcert, sslkey)"),
    ] {
        fails(&folder, "days: 36500", &url(host, options), words);
    }
    let address = format!("{}?sslmode=require", Database::address("owner", SECRET, deaf));
    fails(&folder, "days: 36500", &address, "the database does not speak TLS, and the connection string demands it");
}

/// A server that says no to TLS. Returns its port.
fn no_tls() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 8];
            let _answered = client.read_exact(&mut request).and_then(|()| client.write_all(b"N"));
        }
    });
    port
}

#[test]
fn a_database_that_goes_away_in_the_middle_is_said_and_the_last_rollup_stays() {
    let Some((database, folder)) = begun("spend-gone") else { return };
    let mut owner = database.owner();
    owner.batch_execute(r#"CREATE VIEW slow AS SELECT * FROM "LiteLLM_SpendLogs" WHERE pg_sleep(60) IS NULL"#).unwrap();
    let address = Database::address("owner", SECRET, database.port);
    let asked = |owner: &mut postgres::Client| {
        let own = beside(&folder, "days: 36500, table: slow");
        let child = spawn(&own, &address, &["fetch", "--force"]);
        let start = Instant::now();
        let pid: i32 = loop {
            assert!(start.elapsed() < Duration::from_mins(1), "the statement runs");
            owner.execute("SELECT pg_sleep(0.02)", &[]).unwrap();
            let busy =
                "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'pool-review'";
            if let Some(row) = owner.query_opt(busy, &[]).unwrap() {
                break row.get(0);
            }
        };
        (own, child, pid)
    };
    let (own, child, pid) = asked(&mut owner);
    owner.execute("SELECT pg_terminate_backend($1)", &[&pid]).unwrap();
    failed(&folder, &own, &child.wait_with_output().unwrap(), "is left: the database ");
    let (own, child, pid) = asked(&mut owner);
    owner.execute("SELECT pg_cancel_backend($1)", &[&pid]).unwrap();
    failed(&folder, &own, &child.wait_with_output().unwrap(), "the statement was cancelled, or took longer than 300 s");
    let (own, child, _) = asked(&mut owner);
    drop(owner);
    drop(database);
    failed(&folder, &own, &child.wait_with_output().unwrap(), "spend_logs: failed, the body of");
}

//! `fetch` of `LiteLLM`'s spend logs from a real `PostgreSQL`: the rollup of a million rows in the database is the rollup of their export,
//! and only its rows cross the wire.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use postgres::Client;
use serde_json::Value;

use crate::common::shared;
use crate::database::{Database, SECRET, relay};
use crate::support::fresh;

/// The columns a reader needs, as the table has them.
pub(crate) const TABLE: &str = r#"CREATE TABLE "LiteLLM_SpendLogs" (request_id text PRIMARY KEY, call_type text NOT NULL, api_base text,
    spend double precision NOT NULL DEFAULT 0, total_tokens integer NOT NULL DEFAULT 0, prompt_tokens integer NOT NULL DEFAULT 0,
    completion_tokens integer NOT NULL DEFAULT 0, "startTime" timestamp(3) NOT NULL, "endTime" timestamp(3) NOT NULL,
    "completionStartTime" timestamp(3), model text NOT NULL DEFAULT '', model_id text, model_group text,
    custom_llm_provider text, cache_hit text, session_id text, status text, request_tags jsonb, end_user text, metadata jsonb)"#;

/// Rows of every kind a log holds: failures of each class, cache hits, embeddings, rows without a model, retries, cached
/// tokens written as number, text and nonsense, unbilled calls, calls over midnight, metadata that is absent or no object.
pub(crate) const ROWS: &str = r#"INSERT INTO "LiteLLM_SpendLogs"
    SELECT 'req-' || i,
           CASE i % 23 WHEN 0 THEN 'aembedding' WHEN 1 THEN '' WHEN 2 THEN 'anthropic_messages' ELSE 'acompletion' END, '',
           CASE WHEN i % 7 = 0 THEN 0 WHEN i % 101 = 0 THEN -1 ELSE (i % 997) * 0.000123457 END,
           0, CASE WHEN i % 89 = 0 THEN 0 ELSE 100 + i % 20011 END,
           CASE WHEN i % 97 = 0 THEN 0 ELSE i % 1301 END,
           timestamp '2026-09-01' + i * interval '7.3 seconds',
           timestamp '2026-09-01' + i * interval '7.3 seconds' + (i % 30011) * interval '1 millisecond',
           NULL,
           CASE WHEN i % 211 = 0 THEN '' ELSE (ARRAY['claude-sonnet-5','gpt-6-luna','glm-5.3','kimi, "k3"'])[1 + i % 4] END,
           'm1', CASE WHEN i % 31 = 0 THEN NULL WHEN i % 37 = 0 THEN '' ELSE (ARRAY['scout','workhorse','summit'])[1 + i % 3] END,
           CASE WHEN i % 41 = 0 THEN NULL ELSE (ARRAY['anthropic','openai','zai','moonshot'])[1 + i % 4] END,
           CASE i % 29 WHEN 0 THEN 'True' WHEN 1 THEN '' WHEN 2 THEN NULL ELSE 'None' END, 's' || i % 50,
           CASE WHEN i % 19 = 0 THEN 'failure' WHEN i % 43 = 0 THEN NULL WHEN i % 47 = 0 THEN '' ELSE 'success' END,
           '[]', '',
           CASE WHEN i % 53 = 0 THEN NULL WHEN i % 59 = 0 THEN '[]'::jsonb ELSE jsonb_build_object(
             'usage_object', jsonb_build_object('prompt_tokens_details', jsonb_build_object(
               'cached_tokens', CASE i % 5 WHEN 0 THEN 'null'::jsonb WHEN 1 THEN to_jsonb(i % 90) WHEN 2 THEN to_jsonb((i % 90)::text)
                                WHEN 3 THEN '12.0'::jsonb ELSE '"many"'::jsonb END,
               'cache_creation_tokens', CASE i % 6 WHEN 0 THEN to_jsonb(i % 17) WHEN 1 THEN '-4'::jsonb ELSE '0'::jsonb END)),
             'attempted_retries', CASE WHEN i % 13 = 0 THEN '2'::jsonb ELSE 'null'::jsonb END,
             'reasoning_effort', CASE i % 3 WHEN 0 THEN '"high"'::jsonb WHEN 1 THEN '3'::jsonb ELSE 'null'::jsonb END,
             'error_information', CASE WHEN i % 19 = 0 THEN jsonb_build_object('error_class',
               (ARRAY['RateLimitError','Timeout','BudgetExceededError','ContextWindowExceededError',''])[1 + i % 5]) END) END
      FROM generate_series($1::bigint, $2::bigint) AS i"#;

/// Rows of the table.
const MILLION: i64 = 1_000_000;

/// A workspace whose instruction file fetches spend logs.
pub(crate) fn workspace(name: &str, spend_logs: &str) -> PathBuf {
    let folder = fresh(name);
    let text = format!(
        "---\ndata: {{ spend_logs: data/spend.csv }}\nfetch:\n  spend_logs: {{ variable: SPEND_DB, {spend_logs} }}\n---\nWords.\n"
    );
    std::fs::create_dir_all(folder.join("instructions")).unwrap();
    std::fs::write(folder.join("instructions/pool-composition-review.md"), text).unwrap();
    folder
}

/// Starts the program in a workspace with a connection string.
pub(crate) fn spawn(folder: &Path, address: &str, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-review"));
    command.current_dir(folder).env_clear().env("SPEND_DB", address).args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs the program in a workspace with a connection string, which nothing it says or writes may hold.
pub(crate) fn run(folder: &Path, address: &str, args: &[&str]) -> Output {
    let output = spawn(folder, address, args).wait_with_output().unwrap();
    for stream in [&output.stdout, &output.stderr] {
        assert!(!String::from_utf8_lossy(stream).contains(SECRET), "the connection string was shown");
    }
    for file in ["data/spend.csv", "data/spend.csv.meta.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        assert!(!text.contains(SECRET), "the connection string was written into {file}");
    }
    output
}

/// The rows of a rollup by their key, without the time it was made.
fn table(bytes: &[u8]) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().unwrap().clone();
    let cells =
        |record: csv::StringRecord| header.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect();
    let rows: Vec<BTreeMap<String, String>> = reader.records().map(|record| cells(record.unwrap())).collect();
    let key = ["day", "pool", "provider", "model", "effort", "mode", "home", "task_class", "epoch", "source"];
    rows.into_iter()
        .map(|mut row| {
            row.remove("as_of");
            (key.map(|name| row[name].clone()).join("|"), row)
        })
        .collect()
}

/// Compares two rollups: every cell is the same. Returns the number of rows.
pub(crate) fn compare(found: &[u8], wanted: &[u8]) -> usize {
    let (found, wanted) = (table(found), table(wanted));
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "the same keys");
    for (key, row) in &found {
        for (column, cell) in row {
            let other = &wanted[key][column];
            assert!(cell == other, "{key}: {column} is {cell} in the database and {other} in the export");
        }
    }
    found.len()
}

/// Fills the table with rows from two sides at once, then says which id is whose.
fn fill(database: &Database, rows: i64) {
    let half = rows / 2;
    std::thread::scope(|scope| {
        for part in [(1, half), (half + 1, rows)] {
            scope.spawn(move || database.owner().execute(ROWS, &[&part.0, &part.1]).unwrap());
        }
    });
    database.owner().batch_execute(r#"ALTER TABLE "LiteLLM_SpendLogs" ADD PRIMARY KEY (request_id); ANALYZE"#).unwrap();
}

/// A filled table, its export, and how many bytes that has.
fn million(database: &Database, owner: &mut Client) -> (PathBuf, u64) {
    owner.batch_execute(&TABLE.replace(" PRIMARY KEY", "")).unwrap();
    fill(database, MILLION);
    let reader =
        "CREATE ROLE reader LOGIN PASSWORD 'owner-secret-too'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader";
    owner.batch_execute(reader).unwrap();
    let file = database.file("spend_logs.csv");
    let copy = format!(r#"COPY "LiteLLM_SpendLogs" TO '{}' WITH (FORMAT csv, HEADER)"#, file.display());
    owner.batch_execute(&copy).unwrap();
    let bytes = file.metadata().unwrap().len();
    (file, bytes)
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures that must be shown")]
fn a_million_calls_of_a_database_sum_up_as_their_export_does_and_only_rollup_rows_cross_the_wire() {
    let Some(database) = Database::start() else { return };
    let start = Instant::now();
    let mut owner = database.owner();
    let (file, exported) = million(&database, &mut owner);
    let filled = start.elapsed();
    let folder = workspace("spend-equal", "days: 36500");
    let store = format!("litellm={}", file.display());
    let reading = spawn(&folder, "", &["sessions", "--store", &store, "--rollup", "csv", "--no-cache"]);
    let (port, wire) = relay(database.port);
    let address = format!("{}?sslmode=disable", Database::address("reader", "owner-secret-too", port));
    let output = run(&folder, &address, &["fetch"]);
    let fetched_at = start.elapsed();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for words in ["answers from a cache: left out", "rows without a model: left out", "calls that generate nothing"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let read = reading.wait_with_output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let fetched = std::fs::read(folder.join("data/spend.csv")).unwrap();
    let rows = compare(&fetched, &read.stdout) as u64;
    let calls: u64 = table(&fetched).values().map(|row| row["attempts"].parse::<u64>().unwrap()).sum();
    let columns = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'LiteLLM_SpendLogs'";
    let columns: i64 = owner.query_one(columns, &[]).unwrap().get(0);
    // Beside the rollup: one row for each of the three kinds left out, the columns of the table, and whether its ids are unique.
    let beside = 3 + columns.unsigned_abs() + 1;
    let wire = *wire.lock().unwrap();
    assert_eq!(wire.rows, rows + beside, "only rollup rows cross the wire: {wire:?}");
    assert!(calls > 800_000 && wire.longest_row < 512 && wire.bytes < 400 * wire.rows, "{wire:?}");
    let sidecar = std::fs::read(folder.join("data/spend.csv.meta.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&sidecar).unwrap()["rows"], rows, "the sidecar counts them");
    let seconds = [filled, fetched_at, start.elapsed()].map(|at| at.as_secs_f64());
    eprintln!(
        "{MILLION} rows, {exported} bytes exported: {calls} calls in {rows} rollup rows, equal in every field; over the wire {} rows and \
         {} bytes; filled after {:.1} s, fetched after {:.1} s, compared after {:.1} s",
        wire.rows, wire.bytes, seconds[0], seconds[1], seconds[2]
    );
    if let Some(shared) = shared() {
        handed(&mut owner, &database, &shared);
    }
}

/// The handed table gives the handed answer, by way of a schema of its own.
fn handed(owner: &mut Client, database: &Database, shared: &Path) {
    let case = shared.join("cases/sessions/se-34-litellm-spend-logs");
    owner.batch_execute("CREATE SCHEMA handed; SET search_path = handed").unwrap();
    owner.batch_execute(&std::fs::read_to_string(case.join("in/litellm/spend_logs.sql")).unwrap()).unwrap();
    let folder = workspace("spend-handed", "days: 36500, table: handed.LiteLLM_SpendLogs");
    let output = run(&folder, &Database::address("owner", SECRET, database.port), &["fetch", "spend_logs"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let fetched = std::fs::read(folder.join("data/spend.csv")).unwrap();
    // LiteLLM's own connection string names the schema, and options of its client.
    let own = workspace("spend-schema", "days: 36500");
    let address = format!("{}?schema=handed&connection_limit=5", Database::address("owner", SECRET, database.port));
    assert!(run(&own, &address, &["fetch"]).status.success());
    compare(&std::fs::read(own.join("data/spend.csv")).unwrap(), &fetched);
    let table = table(&fetched);
    let row = table.values().next().unwrap();
    let answer: Value = serde_json::from_slice(&std::fs::read(case.join("expected.json")).unwrap()).unwrap();
    let wanted = answer["from_table"][0].as_object().unwrap();
    let mut compared = 0;
    for (column, value) in wanted.iter().filter(|(column, _)| row.contains_key(*column)) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        assert_eq!(row[column].parse::<f64>().ok(), text.parse::<f64>().ok(), "{column}");
        compared += 1;
    }
    assert!(table.len() == 1 && compared > 15, "{compared} columns of {}", wanted.len());
}

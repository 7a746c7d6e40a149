//! 10,000 changed records of each of opencode's formats, held against a plain reading with `serde_json`: every record that
//! is one counts as it says, every other one is named, and nothing else happens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use crate::mutations::Dice;
use crate::support::fresh;
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::{CallSums, StoreKind, Timed};
use rusqlite::Connection;
use serde_json::{Value, json};

/// How many records of each format.
const MANY: usize = 10_000;
/// How many message files share a folder: making folders is slow.
const SHARE: usize = 50;
/// An instant of the tests, epoch milliseconds.
const AT: i64 = 1_792_450_000_000;

/// Reads a store; every session is told apart.
fn scan(path: PathBuf) -> StoreScan {
    let sessions: BTreeSet<String> = (0..MANY).map(session).collect();
    let began = Instant::now();
    let scan = read(&StoreSpec::new(StoreKind::Opencode, path), &sessions, None, &|_, _| {});
    assert!(began.elapsed().as_secs() < 120, "{MANY} records in {:?}", began.elapsed());
    scan
}

/// The session of a record.
fn session(number: usize) -> String {
    format!("ses_{number}")
}

/// What counts of one record.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counted {
    /// Provider, model and effort.
    who: (String, String, Option<String>),
    /// Day of the call; empty when not known.
    day: String,
    /// Input, read from cache, written to cache, output, reasoning, retries.
    tokens: [u64; 6],
    /// Calls, responses, bills.
    calls: [u64; 3],
    /// Classes of failures.
    failures: BTreeMap<String, u64>,
    /// Timed responses.
    timed: Vec<Timed>,
}

/// A text without what power cuts and editors leave around it.
fn cleaned(text: &str) -> &str {
    let is_nothing = |c: char| c == '\0' || c.is_ascii_whitespace();
    text.trim_start_matches(|c: char| c == '\u{feff}' || is_nothing(c)).trim_end_matches(is_nothing)
}

/// What a scan counted, per session.
fn counted(scan: &StoreScan) -> BTreeMap<String, Vec<Counted>> {
    let mut all: BTreeMap<String, Vec<Counted>> = BTreeMap::new();
    for row in &scan.rows {
        let CallSums {
            input_tokens,
            cache_read_tokens,
            cache_write_tokens,
            output_tokens,
            reasoning_tokens,
            retries,
            ..
        } = row.sums;
        let counted = Counted {
            who: (row.key.provider.clone(), row.key.model.clone(), row.key.effort.clone()),
            day: row.key.day.map(|day| day.to_string()).unwrap_or_default(),
            tokens: [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, retries],
            calls: [row.sums.calls, row.sums.responses, row.sums.n_cost],
            failures: row.sums.failures.iter().map(|(class, n)| ((*class).to_owned(), *n)).collect(),
            timed: row.sums.timed.clone(),
        };
        // A call without tokens that did not fail is a row of nothing.
        let is_nothing = counted.calls == [0; 3] && counted.tokens == [0; 6] && counted.timed.is_empty();
        if !is_nothing || !counted.failures.is_empty() {
            all.entry(row.key.session.clone()).or_default().push(counted);
        }
    }
    all
}

/// A count as the reference means it: whole, of at least 0, at most what 32 bits hold.
fn count(value: &Value) -> u64 {
    let number = value.as_f64().unwrap_or(0.0).clamp(0.0, f64::from(u32::MAX));
    number.floor() as u64
}

/// Epoch milliseconds, if the value is a time at all.
fn time(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    (0.0..=253_402_300_799_999.0).contains(&number).then(|| number.floor() as i64)
}

/// The text of a value; an empty one is none.
fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What a failed call is a failure of; `None` when a person cut it short, or when nothing failed.
fn class(error: &Value) -> Option<&'static str> {
    let name = error["name"].as_str().or_else(|| error["type"].as_str())?.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let status = error["data"]["statusCode"].as_i64().or_else(|| error["status"].as_i64());
    if has(&["abort", "interrupt"]) {
        return None;
    }
    if has(&["contextoverflow", "context-overflow", "context_overflow"]) {
        return Some("context");
    }
    Some(match status {
        Some(429) => "rate_limited",
        Some(401..=403) => "auth",
        Some(500..=599) => "overloaded",
        None if has(&["auth"]) => "auth",
        None if has(&["quota", "ratelimit", "rate-limit", "rate_limit"]) => "rate_limited",
        None if has(&["transport", "network"]) => "network",
        _ => "other",
    })
}

/// What a plain reading makes of a message; `v2` is the second generation. `tool` is a tool interval beside it.
fn plain(data: &Value, v2: bool, tool: Option<(i64, i64)>) -> Vec<Counted> {
    if !v2 && data["role"] != "assistant" {
        return Vec::new();
    }
    let model = &data["model"];
    let who = if v2 {
        (text(&model["providerID"]), text(&model["id"]), text(&model["variant"]))
    } else {
        let name =
            |key: &str| text(&data[key]).or_else(|| data[key].as_str().is_none().then(|| text(&model[key])).flatten());
        (name("providerID"), name("modelID"), text(&data["variant"]))
    };
    let tokens = &data["tokens"];
    let reasoning = count(&tokens["reasoning"]);
    let retries = if v2 { count(&data["retry"]["attempt"]) } else { 0 };
    let cache = &tokens["cache"];
    let output = count(&tokens["output"]) + reasoning;
    let used = [count(&tokens["input"]), count(&cache["read"]), count(&cache["write"]), output];
    let [created, streamed, completed] = ["created", "streamed", "completed"].map(|name| time(&data["time"][name]));
    let day = completed.or(created).and_then(chrono::DateTime::from_timestamp_millis);
    let mut counted = Counted {
        who: (who.0.unwrap_or_default(), who.1.unwrap_or_else(|| "unknown".to_owned()), who.2),
        day: day.map(|at| at.date_naive().to_string()).unwrap_or_default(),
        ..Counted::default()
    };
    let is_trouble = data["error"]["name"].is_string() || data["error"]["type"].is_string();
    if used.iter().all(|tokens| *tokens == 0) {
        let Some(class) = class(&data["error"]) else { return Vec::new() };
        counted.calls = [1, 0, 0];
        counted.failures.insert(class.to_owned(), 1);
        return vec![counted];
    }
    let is_billed = data["cost"].as_f64().is_some_and(|cost| cost > 0.0 && cost < 1e15);
    counted.tokens = [used[0], used[1], used[2], output, reasoning, retries];
    counted.calls = [1, 1, u64::from(is_billed)];
    let covered = |from: i64, to: i64| match tool {
        Some((start, end)) if start >= from && end <= to => (end - start).max(0),
        _ => 0,
    };
    let busy = created.and_then(|from| match (streamed, completed) {
        (Some(to), _) => Some(to - from),
        (None, Some(to)) => Some(to - from - covered(from, to)),
        (None, None) => None,
    });
    if let Some(ms) = busy.filter(|ms| *ms >= 250 && output >= 50 && !is_trouble && retries == 0) {
        counted.timed.push(Timed { output, ms: ms.unsigned_abs() });
    }
    vec![counted]
}

/// What was counted, by who and day.
fn merged(all: Vec<Counted>) -> Vec<Counted> {
    let mut merged: BTreeMap<_, Counted> = BTreeMap::new();
    for one in all {
        let key = (one.who.clone(), one.day.clone());
        let sum = merged.entry(key).or_insert_with(|| Counted { who: one.who, day: one.day, ..Counted::default() });
        (0..sum.tokens.len()).for_each(|at| sum.tokens[at] += one.tokens[at]);
        (0..sum.calls.len()).for_each(|at| sum.calls[at] += one.calls[at]);
        for (class, n) in one.failures {
            *sum.failures.entry(class).or_default() += n;
        }
        sum.timed.extend(one.timed);
        sum.timed.sort_unstable();
    }
    merged.into_values().collect()
}

/// Compares what was counted with a plain reading, session by session; so many records share one. Bytes that a plain parser does
/// not accept may still be read where only broken UTF-8, NUL bytes or a byte-order mark stand in its way; else they are damage.
fn compare(scan: &StoreScan, records: &[Vec<u8>], share: usize, plain: &dyn Fn(usize, &Value) -> Vec<Counted>) {
    let mut found = counted(scan);
    let (mut damaged, mut forgiven, mut accepted) = (0, 0, 0);
    for (group, bytes) in records.chunks(share).enumerate() {
        let mut wanted = Vec::new();
        for (at, bytes) in bytes.iter().enumerate() {
            let is_object = |data: &Value| data.is_object();
            let strict = serde_json::from_slice::<Value>(bytes).ok();
            let shown = String::from_utf8_lossy(bytes);
            let lenient = || serde_json::from_str::<Value>(cleaned(&shown)).ok().filter(is_object);
            let data = match strict {
                Some(data) if data.is_object() => {
                    accepted += 1;
                    Some(data)
                }
                Some(_) => None,
                None => lenient().inspect(|_| forgiven += 1),
            };
            damaged += u64::from(data.is_none());
            wanted.extend(data.into_iter().flat_map(|data| plain(group * share + at, &data)));
        }
        let found = merged(found.remove(&session(group)).unwrap_or_default());
        let shown: Vec<_> = bytes.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(found, merged(wanted), "{group}: {shown:#?}");
    }
    assert_eq!(found, BTreeMap::new(), "every call is of a record");
    assert_eq!(scan.input.malformed_lines, damaged, "every damaged record is counted, none else");
    assert!(
        accepted > MANY / 3 && forgiven > 50 && damaged > 500,
        "{accepted} accepted, {forgiven} forgiven, {damaged} damaged"
    );
}

/// A message of the first generation to begin with; each has its own time, so that none is a copy of another.
fn v1(number: usize) -> Value {
    let created = AT + 100_000 * i64::try_from(number).unwrap();
    let mut data = json!({
        "role": "assistant", "time": {"created": created, "completed": created + 20_000}, "parentID": "msg_0", "providerID": "acme",
        "modelID": "one", "variant": "high", "agent": "build", "path": {"cwd": "/w", "root": "/"}, "cost": 0.0125,
        "tokens": {"total": 999, "input": 120, "output": 300, "reasoning": 40, "cache": {"read": 1000, "write": 20}}, "finish": "stop",
    });
    if number % 5 == 1 {
        data["tokens"] = json!({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}});
        data["error"] = json!({"name": "APIError", "data": {"statusCode": 429, "isRetryable": true}});
    }
    if number % 7 == 2 {
        data = json!({"role": "user", "time": {"created": created}, "agent": "build", "model": {"providerID": "acme", "modelID": "one"}});
    }
    data
}

/// A message of the second generation.
fn v2(number: usize) -> Value {
    let created = AT + 100_000 * i64::try_from(number).unwrap();
    let mut data = json!({
        "agent": "build", "model": {"id": "one", "providerID": "acme", "variant": "low"}, "content": [{"type": "text", "text": "x"}],
        "finish": "stop", "cost": 0, "tokens": {"input": 10, "output": 90, "reasoning": 5, "cache": {"read": 7, "write": 3}},
        "time": {"created": created, "streamed": created + 9_000, "completed": created + 12_000},
    });
    if number % 6 == 1 {
        data["retry"] = json!({"attempt": 2, "at": created, "error": {}});
    }
    if number % 6 == 2 {
        data["error"] = json!({"type": "provider.auth", "message": "no"});
        data["tokens"] = Value::Null;
    }
    data
}

/// Changed records of a kind.
fn changed(seed: u64, record: fn(usize) -> Value) -> Vec<Vec<u8>> {
    let mut dice = Dice::new(seed);
    (0..MANY).map(|number| dice.mutate(record(number).to_string().as_bytes())).collect()
}

/// A database with one table filled.
fn database(name: &str, tables: &str, fill: impl FnOnce(&Connection)) -> PathBuf {
    let store = fresh(name);
    let database = Connection::open(store.join("opencode.db")).unwrap();
    database.execute_batch(tables).unwrap();
    database.execute_batch("BEGIN").unwrap();
    fill(&database);
    database.execute_batch("COMMIT").unwrap();
    store
}

#[test]
fn every_message_file_counts_as_it_says() {
    let store = fresh("mutated-message-files");
    let records = changed(1, v1);
    for (group, records) in records.chunks(SHARE).enumerate() {
        let folder = store.join("storage/message").join(session(group));
        std::fs::create_dir_all(&folder).unwrap();
        for (at, bytes) in records.iter().enumerate() {
            std::fs::write(folder.join(format!("msg_{group:03}_{at:02}.json")), bytes).unwrap();
        }
    }
    let scan = scan(store.clone());
    std::fs::remove_dir_all(store).unwrap();
    compare(&scan, &records, SHARE, &|_, data| plain(data, false, None));
    assert_eq!(scan.fault_count, scan.input.malformed_lines, "a damaged file is named");
    assert_eq!(scan.input.files, MANY as u64);
}

#[test]
fn every_message_of_the_first_generation_counts_as_it_says_with_its_tools() {
    let records = changed(2, v1);
    let part = |number: usize| {
        let start = AT + 100_000 * i64::try_from(number).unwrap() + 1_000;
        let spelled = json!({"type": "tool", "callID": "c", "state": {"status": "completed", "time": {"start": start, "end": start + 2_000}}});
        spelled.to_string()
    };
    let mut dice = Dice::new(3);
    let parts: Vec<Vec<u8>> = (0..MANY).map(|number| dice.mutate(part(number).as_bytes())).collect();
    let tables = "CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, data TEXT);
        CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);";
    let store = database("mutated-v1", tables, |database| {
        for (number, (data, part)) in records.iter().zip(&parts).enumerate() {
            let id = format!("msg_{number:05}");
            database
                .execute("INSERT INTO message VALUES(?1, ?2, CAST(?3 AS TEXT))", (&id, session(number), data))
                .unwrap();
            database
                .execute("INSERT INTO part VALUES(?1, ?1, ?2, CAST(?3 AS TEXT))", (&id, session(number), part))
                .unwrap();
        }
    });
    let tool = |number: usize| {
        let shown = String::from_utf8_lossy(&parts[number]);
        let part = serde_json::from_str::<Value>(cleaned(&shown)).ok().filter(|part| part["type"] == "tool")?;
        let at = &part["state"]["time"];
        time(&at["start"]).zip(time(&at["end"]))
    };
    compare(&scan(store), &records, 1, &|number, data| plain(data, false, tool(number)));
}

#[test]
fn every_message_of_the_second_generation_counts_as_it_says() {
    let records = changed(4, v2);
    let tables =
        "CREATE TABLE session_message(id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, data TEXT);";
    let store = database("mutated-v2", tables, |database| {
        for (number, data) in records.iter().enumerate() {
            let row = (format!("msg_{number:05}"), session(number), "assistant", 1, data);
            database.execute("INSERT INTO session_message VALUES(?1, ?2, ?3, ?4, CAST(?5 AS TEXT))", row).unwrap();
        }
    });
    compare(&scan(store), &records, 1, &|_, data| plain(data, true, None));
}

/// A cell of any type, as a database without types takes it.
fn cell(dice: &mut Dice) -> rusqlite::types::Value {
    use rusqlite::types::Value as Cell;
    let texts = ["", "abc", "300", "1e3"];
    match dice.below(8) {
        0 => Cell::Null,
        1 => Cell::Integer(i64::MAX),
        2 => Cell::Integer(i64::MIN),
        3 => Cell::Real(*dice.one(&[1e300, -0.5, 0.4, 1234.6])),
        4 => Cell::Text((*dice.one(&texts)).to_owned()),
        5 => Cell::Blob(vec![0xff, 0, b'1']),
        _ => Cell::Integer(i64::try_from(dice.below(3_000)).unwrap()),
    }
}

/// The number of a cell.
fn number(cell: &rusqlite::types::Value) -> Option<f64> {
    match cell {
        rusqlite::types::Value::Integer(number) => Some(*number as f64),
        rusqlite::types::Value::Real(number) => Some(*number),
        _ => None,
    }
}

#[test]
fn every_row_of_the_router_counts_as_it_says() {
    let mut dice = Dice::new(5);
    let tables = "CREATE TABLE route_attempt(id INTEGER PRIMARY KEY, time_started, time_ended, session_id TEXT, route_id TEXT,
        provider_id TEXT, model_id TEXT, variant TEXT, outcome TEXT, error_tag TEXT, response_ms, first_token_ms, tokens_estimated,
        tokens_output, tokens_reasoning, quota);";
    let outcomes =
        ["success", "success", "failure", "timeout", "interrupted", "hedged-out", "resolution-failure", "Success", ""];
    let tags = [
        "RateLimit",
        "QuotaExceeded",
        "Authentication",
        "Transport",
        "ProviderInternal",
        "ContextOverflow",
        "InvalidProviderOutput",
        "",
    ];
    let quota = json!({"at": AT, "limit": {"unified-5h": "100", "requests": "50"}, "remaining": {"unified-5h": "40", "requests": "1"},
        "reset": {"unified-5h": "1h2m", "unified-7d": "1792810000", "requests": "250ms"}, "retryAfterMs": 5,
        "headers": {"anthropic-ratelimit-unified-7d-utilization": "0.25", "retry-after": "2"}})
    .to_string();
    let mut wanted: BTreeMap<String, Vec<Counted>> = BTreeMap::new();
    let mut quotas = Vec::new();
    let store = database("mutated-routes", tables, |database| {
        for row in 0..MANY {
            let (outcome, tag) = (*dice.one(&outcomes), *dice.one(&tags));
            let [ended, response, first, estimated, output, reasoning] = [0; 6].map(|_| cell(&mut dice));
            let quota = dice.mutate(quota.as_bytes());
            let cells = rusqlite::params![
                i64::try_from(row).unwrap(),
                ended,
                session(row),
                "pool",
                "acme",
                "one",
                outcome,
                tag,
                response,
                first,
                estimated,
                output,
                reasoning,
                quota,
            ];
            database
                .execute("INSERT INTO route_attempt VALUES(?1, 0, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9, ?10, ?11, ?12, ?13, CAST(?14 AS TEXT))", cells)
                .unwrap();
            quotas.push(quota);
            let tokens = |cell| count(&json!(number(cell)));
            let output = tokens(&output) + tokens(&reasoning);
            let ms = number(&response).map(f64::round).filter(|ms| (250.0..=2_592_000_000.0).contains(ms));
            let is_timed = outcome == "success" && !number(&estimated).is_some_and(|flag| flag > 0.0);
            let who = ("acme".to_owned(), "one".to_owned(), None);
            let mut counted = Counted { who, calls: [1, 0, 0], ..Counted::default() };
            if let Some(ms) = ms.filter(|_| is_timed && output >= 50) {
                counted.timed.push(Timed { output, ms: ms as u64 });
            }
            if !matches!(outcome, "success" | "interrupted" | "hedged-out") {
                let class = match tag {
                    "RateLimit" | "QuotaExceeded" => "rate_limited",
                    "Authentication" => "auth",
                    "Transport" => "network",
                    "ProviderInternal" => "overloaded",
                    "ContextOverflow" => "context",
                    _ if outcome == "timeout" => "timeout",
                    _ => "other",
                };
                counted.failures.insert(class.to_owned(), 1);
            }
            // An attempt that was cut short, or lost a race, is one all the same.
            wanted.insert(session(row), vec![counted]);
        }
    });
    let scan = scan(store);
    let mut found = counted(&scan);
    found.values_mut().flatten().for_each(|row| row.day = String::new());
    for (session, wanted) in &wanted {
        assert_eq!(found.get(session), Some(wanted), "{session}");
    }
    assert_eq!(found.len(), wanted.len(), "nothing else is counted");
    for limit in &scan.limits {
        let quota = String::from_utf8_lossy(&quotas[limit.place.line - 1]);
        assert!(quota.contains("unified") || quota.contains("\\u00"), "only windows of plans are read: {quota}");
        assert!(limit.windows[0].seconds.is_some_and(|seconds| seconds >= 3_600), "{limit:?}");
    }
    assert!(!scan.limits.is_empty() && scan.limits.len() <= quotas.len());
}

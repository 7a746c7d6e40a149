//! 10,000 changed rows of each format of a spend log, held against a plain reading: a row that is one counts as it says with
//! its metadata, every other one is named, and the rows around it always count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use crate::mutations::Dice;
use crate::support::fresh;
use chrono::{DateTime, NaiveDateTime};
use pool_review::sources::sessions::{StoreScan, StoreSpec, read};
use pool_review::vocabulary::{StoreKind, Timed};
use serde_json::{Map, Value, json};

/// How many rows of each format.
const MANY: usize = 10_000;

/// What counts of one row.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counted {
    /// Provider, model and effort.
    who: (String, String, Option<String>),
    /// Day of the call.
    day: String,
    /// Input, read from cache, written to cache, output, retries.
    tokens: [u64; 5],
    /// Calls, responses, bills, calls lost to availability.
    calls: [u64; 4],
    /// Class of its failure.
    failures: BTreeMap<String, u64>,
    /// Whether it may be timed.
    timed: Vec<Timed>,
}

/// Reads an export; sessions are told apart.
fn scan(path: PathBuf, sessions: &BTreeSet<String>) -> StoreScan {
    read(&StoreSpec::new(StoreKind::Litellm, path), sessions, None, &|_, _| {})
}

/// What a scan counted, per session.
fn counted(scan: &StoreScan) -> BTreeMap<String, Vec<Counted>> {
    let mut all: BTreeMap<String, Vec<Counted>> = BTreeMap::new();
    for row in &scan.rows {
        let sums = &row.sums;
        let counted = Counted {
            who: (row.key.provider.clone(), row.key.model.clone(), row.key.effort.clone()),
            day: row.key.day.map(|day| day.to_string()).unwrap_or_default(),
            tokens: [
                sums.input_tokens,
                sums.cache_read_tokens,
                sums.cache_write_tokens,
                sums.output_tokens,
                sums.retries,
            ],
            calls: [sums.calls, sums.responses, sums.n_cost, sums.infra],
            failures: sums.failures.iter().map(|(class, n)| ((*class).to_owned(), *n)).collect(),
            timed: sums.timed.clone(),
        };
        all.entry(row.key.session.clone()).or_default().push(counted);
    }
    all
}

/// The text of a value; an empty one and null are none.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}

/// A count: digits, with or without zeros behind a point; anything else is 0.
fn count(value: &Value) -> u64 {
    let text = if value.is_number() || value.is_string() { text(value).unwrap_or_default() } else { String::new() };
    let (whole, rest) = text.split_once('.').unwrap_or((&text, "0"));
    let is_count = rest.bytes().all(|digit| digit == b'0') && !rest.is_empty() && whole.len() <= 12;
    if is_count && whole.bytes().all(|digit| digit.is_ascii_digit()) { whole.parse().unwrap_or(0) } else { 0 }
}

/// Epoch milliseconds of a time; text without a zone is UTC.
fn time(value: &Value) -> Option<i64> {
    let text = text(value)?;
    let zoned = DateTime::parse_from_rfc3339(&text).map(|time| time.timestamp_micros());
    let naive = || NaiveDateTime::parse_from_str(&text.replace('T', " "), "%Y-%m-%d %H:%M:%S%.f");
    let micros = zoned.or_else(|_| naive().map(|time| time.and_utc().timestamp_micros())).ok()?;
    Some((micros + 500).div_euclid(1000))
}

/// What a plain reading makes of a row: its session and what counts; `None` when it is no row.
fn plain(row: &Map<String, Value>) -> Option<(String, Option<Counted>)> {
    let cell = |column: &str| row.get(column).cloned().unwrap_or_default();
    let (ended, model) = (time(&cell("endTime"))?, text(&cell("model"))?);
    let session = text(&cell("session_id")).unwrap_or_default();
    let is_generation = text(&cell("call_type")).is_none_or(|kind| kind == "acompletion");
    if !is_generation || text(&cell("cache_hit")).is_some_and(|hit| hit.eq_ignore_ascii_case("true")) {
        return Some((session, None));
    }
    let metadata = match cell("metadata") {
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        other => other,
    };
    let details = &metadata["usage_object"]["prompt_tokens_details"];
    let [cached, written] = ["cached_tokens", "cache_creation_tokens"].map(|name| count(&details[name]));
    let (prompt, output, retries) =
        (count(&cell("prompt_tokens")), count(&cell("completion_tokens")), count(&metadata["attempted_retries"]));
    let input = prompt.saturating_sub(cached).saturating_sub(written);
    let spend = cell("spend");
    let spend = spend.as_f64().or_else(|| spend.as_str()?.parse().ok()).filter(|usd| *usd > 0.0 && *usd < 1e15);
    let has_failed = text(&cell("status")).is_some_and(|status| status != "success");
    let mut counted = Counted {
        who: (
            text(&cell("custom_llm_provider")).unwrap_or_default(),
            model,
            metadata["reasoning_effort"].as_str().filter(|effort| !effort.is_empty()).map(str::to_owned),
        ),
        day: DateTime::from_timestamp_millis(ended)?.date_naive().to_string(),
        tokens: [input, cached, written, output, retries],
        calls: [1, 0, 0, 0],
        ..Counted::default()
    };
    if has_failed {
        let class = metadata["error_information"]["error_class"].as_str().unwrap_or_default();
        let (class, is_infra) = match class {
            "RateLimitError" => ("rate_limited", true),
            "AuthenticationError" | "PermissionDeniedError" => ("auth", true),
            "Timeout" => ("timeout", false),
            _ => ("other", false),
        };
        counted.failures.insert(class.to_owned(), 1);
        counted.calls[3] = u64::from(is_infra);
    } else {
        counted.calls[1] = u64::from(input + cached + written + output > 0);
        counted.calls[2] = u64::from(spend.is_some()).min(counted.calls[1]);
        let busy =
            time(&cell("startTime")).map(|start| ended - start).filter(|ms| *ms >= 250 && output >= 50 && retries == 0);
        counted.timed.extend(busy.map(|ms| Timed { output, ms: ms.unsigned_abs() }));
    }
    Some((session, Some(counted)))
}

/// Every request id that a line names: one that no strict parser takes may count all the same, as a copy of the row with its id.
fn ids_in(line: &[u8]) -> Vec<String> {
    let line = String::from_utf8_lossy(line);
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    line.split("req-").skip(1).map(|rest| format!("req-{}", digits(rest))).collect()
}

/// The session of a row.
fn session(number: usize) -> String {
    format!("ses-{number}")
}

/// A row; each has its own id, session and times.
fn row(number: usize, dice: &mut Dice) -> Map<String, Value> {
    let at = DateTime::from_timestamp(1_795_168_800 + 100 * i64::try_from(number).unwrap(), 0).unwrap();
    let ended = at + chrono::TimeDelta::milliseconds(4_500);
    let mut metadata = json!({"usage_object": {"prompt_tokens_details": {"cached_tokens": 60, "cache_creation_tokens": 7}}, "attempted_retries": 0});
    if number % 4 == 1 {
        metadata["error_information"] = json!({"error_code": "429", "error_class": *dice.one(&["RateLimitError", "Timeout", "APIError", "AuthenticationError"])});
    }
    let metadata = match number % 3 {
        0 => metadata,
        1 => Value::from(metadata.to_string()),
        _ => Value::from(String::from_utf8_lossy(&dice.mutate(metadata.to_string().as_bytes())).into_owned()),
    };
    let value = json!({
        "request_id": format!("req-{number}"), "call_type": "acompletion", "startTime": at.format("%Y-%m-%d %H:%M:%S").to_string(),
        "endTime": ended.format("%Y-%m-%dT%H:%M:%S%.3f").to_string(), "model": "one", "custom_llm_provider": "acme",
        "prompt_tokens": 500, "completion_tokens": 120, "spend": 0.0125, "cache_hit": "None",
        "status": if number % 4 == 1 { "failure" } else { "success" }, "session_id": session(number), "metadata": metadata,
    });
    let Value::Object(row) = value else { panic!("an object") };
    row
}

#[test]
fn every_line_of_a_spend_log_counts_as_it_says() {
    let mut dice = Dice::new(11);
    let lines: Vec<Vec<u8>> = (0..MANY)
        .map(|number| {
            let own = Value::from(row(number, &mut dice)).to_string();
            let other = Value::from(row(MANY + number, &mut dice)).to_string();
            dice.mutate_beside(own.as_bytes(), other.as_bytes())
        })
        .collect();
    let file = fresh("mutated-spend").join("spend.jsonl");
    std::fs::write(
        &file,
        lines.iter().flat_map(|line| [line.as_slice(), b"\n"]).flatten().copied().collect::<Vec<u8>>(),
    )
    .unwrap();
    let sessions: BTreeSet<String> = (0..2 * MANY).map(session).collect();
    let began = Instant::now();
    let scan = scan(file, &sessions);
    assert!(began.elapsed().as_secs() < 60, "{MANY} rows in {:?}", began.elapsed());
    let mut found = counted(&scan);
    let (mut damaged, mut blank, mut taken, mut several) = (0, 0, 0, 0);
    let mut elsewhere: Vec<Counted> = Vec::new();
    let id = |line: &[u8]| text(serde_json::from_slice::<Map<String, Value>>(line).ok()?.get("request_id")?);
    let own_id = |number: usize| format!("req-{number}");
    let foreign = lines.iter().enumerate().flat_map(|(number, line)| {
        let own = own_id(number);
        ids_in(line).into_iter().filter(move |id| *id != own)
    });
    let shared: BTreeSet<String> = foreign.collect();
    for (number, line) in lines.iter().enumerate() {
        let shown = String::from_utf8_lossy(line);
        let own = found.remove(&session(number)).unwrap_or_default();
        let row = serde_json::from_slice::<Map<String, Value>>(line).ok();
        // Rows that took one id are copies of one call; which counts, the tests of spend logs say.
        if id(line).is_some_and(|id| id != own_id(number) || shared.contains(&id)) {
            taken += 1;
            continue;
        }
        match row.map(|row| plain(&row)) {
            Some(Some((named, wanted))) if named == session(number) => {
                taken += 1;
                assert_eq!(own, Vec::from_iter(wanted), "{number}: a strict parser accepts {shown}");
            }
            Some(Some((_, wanted))) => {
                taken += 1;
                assert_eq!(own, Vec::new(), "{number}: {shown}");
                elsewhere.extend(wanted);
            }
            Some(None) => damaged += 1,
            None if line.trim_ascii().is_empty() => blank += 1,
            None => several += u64::from(line.windows(4).filter(|piece| piece == b"req-").count() > 1),
        }
    }
    let input = scan.input;
    let lost = MANY as u64 - taken - blank;
    assert!(
        input.malformed_lines + input.open_tails >= lost - several && input.malformed_lines <= lost + several,
        "{input:?}, {lost} lost"
    );
    let unnamed = found.remove("").unwrap_or_default();
    let calls = |rows: &[Counted]| rows.iter().map(|row| row.calls[0]).sum::<u64>();
    assert!(calls(&unnamed) >= calls(&elsewhere), "rows of another session count as well");
    assert!(
        taken > MANY as u64 / 3 && damaged > 0 && lost > 500,
        "{taken} taken, {damaged} without an end, {lost} lost"
    );
}

#[test]
fn a_row_of_an_export_that_was_cut_is_damaged_and_every_whole_row_counts() {
    let head = "request_id,startTime,endTime,model,completion_tokens,prompt_tokens,spend,session_id";
    let mut state = 11_usize;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let (mut text, mut whole) = (format!("{head}\n"), 0);
    for number in 0..MANY {
        let row = format!("r{number},2026-11-20 10:00:00,2026-11-20 10:00:05,m,100,5,0.5,session");
        let row = match below(4) {
            0 => row,
            1 => format!("{row},more"),
            2 => row[..=below(row.len() - 1)].to_owned(),
            _ => row.replacen(',', "", 1 + below(3)),
        };
        // A cell is what stands between commas: no cell of these rows is in quotes.
        whole += u64::from(row.split(',').count() == head.split(',').count());
        text.push_str(&row);
        text.push('\n');
    }
    let path = fresh("cut-export").join("a.csv");
    std::fs::write(&path, text).unwrap();
    let scan = scan(path, &BTreeSet::new());
    let calls: u64 = scan.rows.iter().map(|row| row.sums.calls).sum();
    assert!(whole > 2_000 && whole < 8_000, "{whole} rows are whole");
    assert_eq!((calls, scan.input.malformed_lines), (whole, MANY as u64 - whole), "a cut row is no call");
    assert_eq!(scan.input.lines, MANY as u64, "nothing is lost in silence");
    assert!(scan.damaged.iter().all(|place| place.to_string().contains("a.csv:")), "{:?}", scan.damaged);
}

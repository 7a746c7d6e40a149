//! 10,000 changed lines of each of our own evidence files, held against a plain reading: a line that is a record counts as it
//! says, every other one is rejected by number, and the lines around it always count.

#![expect(clippy::option_option, reason = "a cell holds a number, nothing, or neither")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::mutations::Dice;
use crate::support::fresh;
use chrono::{DateTime, NaiveDate, Utc};
use pool_review::rollup::read_csv;
use pool_review::sources::{babysitter, scorecards, speeds};
use pool_review::vocabulary::SourceNote;
use serde_json::{Deserializer, Map, Value};

/// How many lines of each format.
const MANY: usize = 10_000;
/// Largest number of a cell.
const MOST: f64 = 1e15;

/// The instant of reading.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// A record as texts by column.
type Cells = BTreeMap<String, String>;
/// A record as it counts: texts and numbers in the order of the format.
type Row = Vec<String>;

/// A finite number of at least 0 that a cell may hold; an empty one is fine.
fn number(cells: &Cells, column: &str) -> Option<Option<f64>> {
    let Some(cell) = cells.get(column) else { return Some(None) };
    cell.parse::<f64>().ok().filter(|number| (0.0..=MOST).contains(number)).map(Some)
}

/// A whole number of at least so much.
fn whole(cells: &Cells, column: &str, least: u64) -> Option<Option<u64>> {
    let Some(cell) = cells.get(column) else { return Some(None) };
    let number = cell.strip_suffix(".0").unwrap_or(cell).parse::<u64>().ok()?;
    (number >= least && number as f64 <= MOST).then_some(Some(number))
}

/// A time with an offset that lies in the past.
fn time(cells: &Cells, column: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(cells.get(column)?).ok()?.to_utc();
    (time <= now()).then_some(time)
}

/// One of some words, or nothing.
fn word(cells: &Cells, column: &str, words: &[&str]) -> Option<()> {
    cells.get(column).is_none_or(|cell| words.contains(&cell.as_str())).then_some(())
}

/// A text in the form rows are compared in.
fn shown<T: std::fmt::Debug>(value: &T) -> String {
    format!("{value:?}")
}

/// A plain reading of a scorecard.
fn card(cells: &Cells) -> Option<Row> {
    let who = ["task_id", "provider", "model"].map(|column| cells.get(column));
    let [Some(task), Some(provider), Some(model)] = who else { return None };
    word(cells, "outcome", &["success", "failure", "infra", "unknown"]).filter(|()| cells.contains_key("outcome"))?;
    word(cells, "basis", &["check", "merge", "human", "judge", "unknown"])?;
    let kinds = ["rate_limited", "overloaded", "network", "auth", "credits", "window", "timeout", "context", "other"];
    word(cells, "failure_kind", &kinds)?;
    number(cells, "score")?.is_none_or(|score| score <= 100.0).then_some(())?;
    number(cells, "cost_usd")?;
    let tokens = ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"];
    let tokens: Vec<Option<u64>> = tokens.iter().map(|column| whole(cells, column, 0)).collect::<Option<_>>()?;
    let attempt = whole(cells, "attempt", 1)?.unwrap_or(1);
    let duration = number(cells, "duration_s")?;
    Some(vec![
        task.clone(),
        shown(&attempt),
        shown(&time(cells, "finished_at")?),
        provider.clone(),
        model.clone(),
        shown(&duration),
        shown(&tokens),
    ])
}

/// A plain reading of an event of the babysitter.
fn event(cells: &Cells) -> Option<Row> {
    let who = ["session_id", "provider", "model"].map(|column| cells.get(column));
    let [Some(session), Some(provider), Some(model)] = who else { return None };
    word(cells, "event", &["stall", "nudge", "restart", "kill", "timeout", "loop", "recovered"])
        .filter(|()| cells.contains_key("event"))?;
    let waited = number(cells, "waited_s")?;
    Some(vec![session.clone(), shown(&time(cells, "at")?), provider.clone(), model.clone(), shown(&waited)])
}

/// A plain reading of a speed.
fn speed(cells: &Cells) -> Option<Row> {
    let [Some(provider), Some(model)] = ["provider", "model"].map(|column| cells.get(column)) else { return None };
    let above = |column| number(cells, column).filter(|value| value.is_none_or(|value| value > 0.0));
    let (tps, first, task) = (above("output_tps")?, number(cells, "ttft_s")?, above("task_s")?);
    tps.or(first).or(task)?;
    match (number(cells, "output_tps_lo")?, number(cells, "output_tps_hi")?, tps) {
        (None, None, _) => {}
        (Some(low), Some(high), Some(tps)) if low <= tps && tps <= high => {}
        _ => return None,
    }
    let n = whole(cells, "n", 1)??;
    Some(vec![
        shown(&time(cells, "measured_at")?),
        provider.clone(),
        model.clone(),
        shown(&n),
        shown(&[tps, first, task]),
    ])
}

/// The cells of a JSON object; `None` when a known column holds no single value.
fn of_object(object: &Map<String, Value>, known: &[&str]) -> Option<Cells> {
    let mut cells = Cells::new();
    for (name, value) in object {
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text.trim_ascii().to_owned(),
            Value::Array(_) | Value::Object(_) if known.contains(&name.as_str()) => return None,
            other => other.to_string(),
        };
        if !text.is_empty() {
            cells.insert(name.clone(), text);
        }
    }
    Some(cells)
}

/// What a plain reading makes of one line of JSON: the rows, and how many records are none.
fn of_json(line: &[u8], known: &[&str], plain: fn(&Cells) -> Option<Row>) -> (Vec<Row>, u64) {
    if line.trim_ascii().is_empty() {
        return (Vec::new(), 0);
    }
    let is_nothing = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let begin = line.iter().take_while(|byte| is_nothing(byte)).count();
    let end = line.len() - line.iter().rev().take_while(|byte| is_nothing(byte)).count();
    if begin == line.len() {
        return (Vec::new(), 1);
    }
    let (mut rows, mut broken) = (Vec::new(), 0);
    for value in Deserializer::from_slice(&line[begin..end]).into_iter::<Value>() {
        let object = value.as_ref().ok().and_then(Value::as_object);
        match object.and_then(|object| of_object(object, known)).and_then(|cells| plain(&cells)) {
            Some(row) => rows.push(row),
            None => broken += 1,
        }
        if object.is_none() {
            break;
        }
    }
    (rows, broken)
}

/// What a plain reading makes of one line of CSV; `None` where quotes leave open what it says.
fn of_csv(line: &[u8], header: &[&str], plain: fn(&Cells) -> Option<Row>) -> Option<(Vec<Row>, u64)> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Some((Vec::new(), 0));
    }
    let Ok(text) = std::str::from_utf8(line) else { return (!line.contains(&b'"')).then_some((Vec::new(), 1)) };
    if text.contains('"') {
        return None;
    }
    let texts: Vec<&str> = text.split(',').collect();
    if texts.len() != header.len() {
        return Some((Vec::new(), 1));
    }
    let filled = header.iter().zip(texts).map(|(name, text)| ((*name).to_owned(), text.trim_ascii().to_owned()));
    let row = plain(&filled.filter(|(_, text)| !text.is_empty()).collect());
    let broken = u64::from(row.is_none());
    Some((row.into_iter().collect(), broken))
}

/// What a plain reading makes of a line: rows, and how many records are none; `None` where it leaves that open.
type Plain<'a> = &'a dyn Fn(&[u8]) -> Option<(Vec<Row>, u64)>;
/// Reads a file: rows in the form of the plain reading, and the note.
type Read<'a> = &'a dyn Fn(&Path) -> (Vec<Row>, SourceNote);

/// Changes a line in the middle of a file many times and compares.
fn compare(name: &str, lines: [&str; 4], read: Read<'_>, plain: Plain<'_>) {
    let [head, first, line, other] = lines;
    let file: PathBuf = fresh(&format!("mutated-{}", name.replace('.', "-"))).join(name);
    let mut dice = Dice::new(name.len() as u64);
    let began = Instant::now();
    let (mut used, mut broken, mut open) = (0, 0, 0);
    for number in 0..MANY {
        let line = dice.mutate_beside(line.as_bytes(), other.as_bytes());
        let text =
            [head.as_bytes(), first.as_bytes(), b"\n", &line, b"\n", first.replace("first", "last").as_bytes(), b"\n"]
                .concat();
        std::fs::write(&file, text).unwrap();
        let (found, note) = read(&file);
        let shown = String::from_utf8_lossy(&line);
        let is_around = |row: &Row| row.iter().any(|cell| cell == "first" || cell == "last");
        let (around, found): (Vec<Row>, Vec<Row>) = found.into_iter().partition(is_around);
        assert_eq!(around.len(), 2, "{name} {number}: the lines around it are lost: {shown}");
        assert_eq!(
            note.rows,
            note.rejected + found.len() as u64 + 2,
            "{name} {number}: every record is used or rejected: {shown}"
        );
        match plain(&line) {
            Some((rows, rejected)) => {
                assert_eq!((&found, note.rejected), (&rows, rejected), "{name} {number}: {shown}");
                used += rows.len();
                broken += rejected;
            }
            None => open += 1,
        }
        assert!(
            note.rejects.iter().all(|reject| reject.place.line == 2 + usize::from(!head.is_empty())),
            "{:?}",
            note.rejects
        );
    }
    assert!(
        used > MANY / 4 && broken > 500,
        "{name}: {used} used, {broken} rejected, {open} that only have to be used or rejected"
    );
    assert!(began.elapsed().as_secs() < 120, "{MANY} lines of {name} in {:?}", began.elapsed());
}

/// The columns of scorecards.
const CARD: [&str; 14] = [
    "task_id",
    "attempt",
    "finished_at",
    "pool",
    "provider",
    "model",
    "outcome",
    "basis",
    "score",
    "failure_kind",
    "duration_s",
    "input_tokens",
    "output_tokens",
    "cost_usd",
];

/// A line of CSV with these cells.
fn csv(cells: &[&str]) -> String {
    cells.join(",")
}

/// The same cells as a line of JSON; numbers are numbers.
fn json(columns: &[&str], cells: &[&str]) -> String {
    let value = |cell: &str| {
        cell.parse::<u64>()
            .map_or_else(|_| cell.parse::<f64>().map_or_else(|_| Value::from(cell), Value::from), Value::from)
    };
    let filled = columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    Value::Object(filled.map(|(name, cell)| ((*name).to_owned(), value(cell))).collect()).to_string()
}

/// A scorecard of a task.
fn card_of(task: &str) -> [&str; 14] {
    [
        task,
        "1",
        "2026-11-20T10:00:00Z",
        "workhorse",
        "acme",
        "one",
        "failure",
        "check",
        "",
        "timeout",
        "61.5",
        "1200",
        "300",
        "0.25",
    ]
}

/// Reads scorecards.
fn read_cards(path: &Path) -> (Vec<Row>, SourceNote) {
    let (cards, note) = scorecards::read(path, "cards", now());
    let row = |card: &pool_review::vocabulary::ScorecardRow| {
        let who = [card.provider.to_string(), card.model.clone()];
        let [provider, model] = who;
        vec![
            card.task_id.clone(),
            shown(&card.attempt),
            shown(&card.finished_at),
            provider,
            model,
            shown(&card.duration_s),
            shown(&card.tokens.to_vec()),
        ]
    };
    (cards.iter().map(row).collect(), note)
}

#[test]
fn every_line_of_scorecards_counts_as_it_says_in_either_format() {
    let mut known = CARD.to_vec();
    known.extend([
        "session_id",
        "effort",
        "home",
        "task_class",
        "judge",
        "cache_read_tokens",
        "cache_write_tokens",
        "epoch",
    ]);
    let lines = ["first", "middle", "other"].map(|task| json(&CARD, &card_of(task)));
    // Of two records of one attempt at most one is used; which, the tests of scorecards say.
    let is_once = |(rows, _): &(Vec<Row>, u64)| {
        rows.iter().all(|row| rows.iter().filter(|other| other[0] == row[0]).count() == 1)
    };
    let plain = |line: &[u8]| Some(of_json(line, &known, card)).filter(is_once);
    compare("cards.jsonl", ["", &lines[0], &lines[1], &lines[2]], &read_cards, &plain);
    let lines = ["first", "middle", "other"].map(|task| csv(&card_of(task)));
    let head = csv(&CARD) + "\n";
    compare("cards.csv", [&head, &lines[0], &lines[1], &lines[2]], &read_cards, &|line| of_csv(line, &CARD, card));
}

#[test]
fn every_line_of_the_babysitter_counts_as_it_says() {
    let columns = ["at", "session_id", "pool", "provider", "model", "effort", "event", "waited_s", "note"];
    let lines = ["first", "middle", "other"].map(|session| {
        json(&columns, &["2026-11-20T10:00:00Z", session, "workhorse", "acme", "one", "high", "stall", "12.5", "x"])
    });
    let known = [&columns[..], &["task_id"]].concat();
    let read = |path: &Path| {
        let (events, note) = babysitter::read(path, "log", now());
        let row = |event: &pool_review::vocabulary::SitterRow| {
            vec![
                event.session_id.clone(),
                shown(&event.at),
                event.provider.to_string(),
                event.model.clone(),
                shown(&event.waited_s),
            ]
        };
        (events.iter().map(row).collect(), note)
    };
    compare("log.jsonl", ["", &lines[0], &lines[1], &lines[2]], &read, &|line| Some(of_json(line, &known, event)));
}

#[test]
fn every_line_of_speeds_counts_as_it_says() {
    let columns = [
        "measured_at",
        "provider",
        "model",
        "effort",
        "pool",
        "n",
        "output_tps",
        "ttft_s",
        "task_s",
        "output_tps_lo",
        "output_tps_hi",
        "source",
    ];
    let lines = ["first", "middle", "other"].map(|model| {
        csv(&["2026-11-20T10:00:00Z", "acme", model, "high", "", "12", "80.5", "0.5", "", "70", "90", "us"])
    });
    let read = |path: &Path| {
        let (speeds, note) = speeds::read(path, "speeds", now());
        let row = |speed: &pool_review::vocabulary::SpeedRow| {
            let figures = [speed.output_tps, speed.first_answer_s, speed.task_s];
            vec![
                shown(&speed.measured_at),
                speed.provider.to_string(),
                speed.model.clone(),
                shown(&speed.n),
                shown(&figures),
            ]
        };
        (speeds.iter().map(row).collect(), note)
    };
    let head = csv(&columns) + "\n";
    compare("speeds.csv", [&head, &lines[0], &lines[1], &lines[2]], &read, &|line| of_csv(line, &columns, speed));
}

#[test]
fn every_line_of_a_rollup_counts_as_it_says() {
    let columns = [
        "day",
        "pool",
        "provider",
        "model",
        "effort",
        "source",
        "attempts",
        "responses",
        "output_tokens",
        "busy_s",
        "sum_ln_duration",
        "last_at",
        "format_version",
    ];
    let line = |model: &str| {
        csv(&[
            "2026-11-20",
            "workhorse",
            "acme",
            model,
            "high",
            "warehouse",
            "12",
            "11",
            "5000",
            "61.5",
            "-3.25",
            "2026-11-20T10:00:00Z",
            "1",
        ])
    };
    let plain = |cells: &Cells| {
        let day: NaiveDate = cells.get("day")?.parse().ok()?;
        let count = |column: &str| whole(cells, column, 0).map(Option::unwrap_or_default);
        let amount = |column: &str, least: f64| {
            let Some(cell) = cells.get(column) else { return Some(0.0) };
            cell.parse::<f64>().ok().filter(|amount| (least..=1e24).contains(amount))
        };
        if let Some(at) = cells.get("last_at") {
            DateTime::parse_from_rfc3339(at).ok()?;
        }
        cells.get("format_version").is_none_or(|version| version == "1").then_some(())?;
        let model = cells.get("model").cloned().unwrap_or_default();
        let busy = (amount("busy_s", 0.0)? * 1000.0).round() as u64;
        let figures = [count("attempts")?, count("responses")?, count("output_tokens")?, busy];
        Some(vec![shown(&day), model, shown(&figures), shown(&amount("sum_ln_duration", -1e24)?)])
    };
    let head = csv(&columns) + "\n";
    let mut dice = Dice::new(99);
    let (mut used, mut broken) = (0, 0);
    for number in 0..MANY {
        let changed = dice.mutate_beside(line("middle").as_bytes(), line("other").as_bytes());
        let text =
            [head.as_bytes(), line("first").as_bytes(), b"\n", &changed, b"\r\n", line("last").as_bytes()].concat();
        let (rows, rejects) = read_csv(&text).unwrap();
        let row = |row: &pool_review::rollup::RollupRow| {
            let figures = [row.sums.attempts, row.usage.responses, row.usage.output_tokens, row.usage.busy_ms];
            vec![shown(&row.key.day), row.key.model.clone(), shown(&figures), shown(&row.sums.sum_ln_duration)]
        };
        let found: Vec<Row> =
            rows.iter().filter(|row| !matches!(row.key.model.as_str(), "first" | "last")).map(row).collect();
        let shown = String::from_utf8_lossy(&changed);
        assert_eq!(rows.len(), found.len() + 2, "{number}: the lines around it are lost: {shown}");
        assert!(rejects.iter().all(|(line, _)| *line == 3), "{number}: {rejects:?}");
        match of_csv(&changed, &columns, plain) {
            Some((rows, rejected)) => {
                assert_eq!((&found, rejects.len() as u64), (&rows, rejected), "{number}: {shown}");
                used += rows.len();
                broken += rejected;
            }
            None => assert_eq!(found.len() + rejects.len(), 1, "{number}: {shown}"),
        }
    }
    assert!(used > MANY / 4 && broken > 500, "{used} used, {broken} rejected");
}

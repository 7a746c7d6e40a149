//! Scorecards (`instructions/data/scorecards.md`): one row is one attempt at one task.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};

use super::table::{self, Cells, Columns, TableFile, effort, quoted, rows_of};
use crate::vocabulary::{HomeId, JudgeScore, Outcome, PoolId, ProviderId, ScorecardRow, SourceId, SourceNote};

/// The columns of a scorecards file.
const COLUMNS: Columns = Columns {
    known: &[
        "task_id",
        "attempt",
        "session_id",
        "finished_at",
        "pool",
        "provider",
        "model",
        "effort",
        "home",
        "task_class",
        "outcome",
        "basis",
        "score",
        "judge",
        "failure_kind",
        "duration_s",
        "input_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "output_tokens",
        "cost_usd",
        "epoch",
    ],
    required: &["task_id", "finished_at", "pool", "provider", "model", "outcome"],
    one_of: &[],
};
/// How an attempt can end.
const OUTCOMES: [&str; 4] = ["success", "failure", "infra", "unknown"];
/// Who can have decided it.
const BASES: [&str; 5] = ["check", "merge", "human", "judge", "unknown"];
/// Why an attempt can have failed; the first [`INFRA_KINDS`] say nothing about the member's quality.
const FAILURE_KINDS: [&str; 9] =
    ["rate_limited", "overloaded", "network", "auth", "credits", "window", "timeout", "context", "other"];
/// How many of [`FAILURE_KINDS`] are failures of the infrastructure.
const INFRA_KINDS: usize = 6;
/// Token counts of an attempt.
const TOKENS: [&str; 4] = ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"];

/// What can be remarkable about a row, in the order of [`Parsed::facts`].
const FACTS: [&str; 6] = [
    "scored by a judge: attempts only",
    "of outcome failure with an infrastructure kind: infra",
    "ended by a full context: attempts only",
    "scored without a basis",
    "of cost 0 that do not show that no tokens were used: not billed, cost unknown",
    "without a pool",
];

/// A row and what is remarkable about it.
struct Parsed {
    /// The row.
    row: ScorecardRow,
    /// Which of [`FACTS`] hold.
    facts: [bool; FACTS.len()],
}

/// Reads a scorecards file, rows in file order; `display` is what the file is called in places. The note's age is not
/// yet settled, and immature rows are still among the others: both are decided at review time.
pub fn read(path: &Path, display: &str, now: DateTime<Utc>) -> (Vec<ScorecardRow>, SourceNote) {
    let file = TableFile { path, display, source: SourceId::Sessions, columns: &COLUMNS };
    let (parsed, mut note) = table::read(&file, |cells| parse(cells, now));
    if note.digest.is_none() {
        return (Vec::new(), note);
    }
    let parsed = without_repeats(parsed, &mut note);
    for (index, fact) in FACTS.iter().enumerate() {
        let count = parsed.iter().filter(|parsed| parsed.facts[index]).count();
        if count > 0 {
            note.remarks.push(format!("{} {fact}", rows_of(count as u64)));
        }
    }
    let rows: Vec<_> = parsed.into_iter().map(|parsed| parsed.row).collect();
    table::settle(&mut note, display, rows.iter().map(|row| row.finished_at));
    (rows, note)
}

/// One row, or what is wrong with it.
fn parse(cells: &Cells, now: DateTime<Utc>) -> Result<Parsed, String> {
    let score = cells.number("score")?;
    if score.is_some_and(|score| score > 100.0) {
        return Err("score is above 100".to_owned());
    }
    let stated = cells.word("outcome", &OUTCOMES)?.ok_or("outcome is empty")?;
    let basis = cells.word("basis", &BASES)?.unwrap_or("unknown");
    let kind = cells.word("failure_kind", &FAILURE_KINDS)?;
    let cost = cells.number("cost_usd")?;
    let tokens = tokens(cells)?;
    let used_nothing = tokens.iter().any(Option::is_some) && tokens.iter().all(|count| count.unwrap_or(0) == 0);
    let row = ScorecardRow {
        task_id: cells.needed("task_id")?.to_owned(),
        attempt: cells.whole("attempt", 1)?.unwrap_or(1),
        finished_at: cells.past_time("finished_at", now)?,
        pool: cells.text("pool").map(PoolId::new),
        provider: ProviderId::new(cells.needed("provider")?),
        model: cells.needed("model")?.to_owned(),
        effort: effort(cells.text("effort")),
        home: cells.text("home").map(HomeId::new),
        task_class: cells.text("task_class").unwrap_or("unclassified").to_owned(),
        outcome: outcome(stated, basis, kind),
        duration_s: cells.number("duration_s")?,
        is_cut_off: kind == Some("timeout"),
        cost_usd: cost.filter(|cost| *cost > 0.0 || used_nothing),
        session_id: cells.text("session_id").map(str::to_owned),
        epoch: cells.text("epoch").unwrap_or_default().to_owned(),
        tokens,
        judged: judged(basis, cells.text("judge"), score),
        place: cells.place.clone(),
    };
    let is_scored = matches!(row.outcome, Outcome::Success | Outcome::Failure);
    let facts = [
        basis == "judge" && row.outcome == Outcome::Unknown && stated != "unknown",
        stated == "failure" && row.outcome == Outcome::Infra,
        stated == "failure" && kind == Some("context"),
        is_scored && basis == "unknown",
        cost.is_some() && row.cost_usd.is_none(),
        row.pool.is_none(),
    ];
    Ok(Parsed { row, facts })
}

/// What an attempt counts as (references sessions §6 and §7.5, DESIGN §14): infrastructure before everything, a judge
/// decides nothing, and a context that overflowed says nothing about the member.
fn outcome(stated: &str, basis: &str, kind: Option<&str>) -> Outcome {
    let is_infra_kind = kind.is_some_and(|kind| FAILURE_KINDS[..INFRA_KINDS].contains(&kind));
    match stated {
        "infra" => Outcome::Infra,
        "failure" if is_infra_kind => Outcome::Infra,
        "failure" if kind == Some("context") => Outcome::Unknown,
        "success" if basis != "judge" => Outcome::Success,
        "failure" if basis != "judge" => Outcome::Failure,
        _ => Outcome::Unknown,
    }
}

/// The score of a model judge. Whoever is not named counts as one judge.
fn judged(basis: &str, judge: Option<&str>, score: Option<f64>) -> Option<JudgeScore> {
    let score = score.filter(|_| basis == "judge")?;
    Some(JudgeScore { judge: judge.unwrap_or("unnamed").to_owned(), score })
}

/// The token counts a row states.
fn tokens(cells: &Cells) -> Result<[Option<u64>; 4], String> {
    let mut counts = [None; 4];
    for (count, column) in counts.iter_mut().zip(TOKENS) {
        *count = cells.whole(column, 0)?;
    }
    Ok(counts)
}

/// The rows without repeated (task, attempt) pairs. Of equal rows one is used; of rows that contradict each other none
/// is, so that the order of rows never decides.
fn without_repeats(parsed: Vec<Parsed>, note: &mut SourceNote) -> Vec<Parsed> {
    let mut first: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    let mut rejects: BTreeMap<usize, String> = BTreeMap::new();
    for (index, Parsed { row, .. }) in parsed.iter().enumerate() {
        let earlier = *first.entry((&row.task_id, row.attempt)).or_insert(index);
        if earlier == index {
            continue;
        }
        let other = &parsed[earlier].row;
        let pair = format!("task_id {} attempt {}", quoted(&row.task_id), row.attempt);
        if is_same_attempt(other, row) {
            rejects.insert(index, format!("repeats {pair} of {}", other.place));
        } else {
            rejects.insert(index, format!("contradicts {pair} of {}; neither is used", other.place));
            rejects.entry(earlier).or_insert_with(|| format!("contradicts {pair} of {}; neither is used", row.place));
        }
    }
    for (index, reason) in &rejects {
        note.reject(parsed[*index].row.place.clone(), reason.as_str());
    }
    parsed.into_iter().enumerate().filter(|(index, _)| !rejects.contains_key(index)).map(|(_, parsed)| parsed).collect()
}

/// Whether two rows say the same, wherever they stand.
fn is_same_attempt(a: &ScorecardRow, b: &ScorecardRow) -> bool {
    ScorecardRow { place: b.place.clone(), ..a.clone() } == *b
}

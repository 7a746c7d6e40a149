//! `status`: reads what runs left behind, without taking their lock.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::stored::{plan, run_file};
use super::{Answer, Surroundings, schedule, settings};
use crate::cli::{Cli, ExitCode, Failure, Format, StatusArgs};
use crate::history::{Cadence, LATE_MINUTES, Ledger, Rhythm};
use crate::outputs;
use crate::outputs::log_file::Lost;
use crate::outputs::status::{self, DueLine, LastRun, RunLine, SCHEMA, SourceAge, Status};
use crate::review::calibration;
use crate::schedule::Schedule;
use crate::settings::Settings;
use crate::store::{Store, lock_owner, look, look_at};

/// Most runs that are listed.
const MOST_RUNS: usize = 10;

/// The largest ledger that is verified here, bytes.
const MOST_LEDGER_BYTES: u64 = 32 << 20;

/// How far back missed reviews are counted.
const LOOK_BACK: TimeDelta = TimeDelta::days(7);

/// Says how the job lives.
pub(super) fn run(cli: &Cli, args: &StatusArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let settings = settings(cli, &args.file.instructions)?;
    let schedule = schedule(&settings).map_err(Failure::Unusable)?;
    if args.calibration {
        return calibration(cli, &settings).map_err(Failure::Failed);
    }
    let now = cli.now.unwrap_or_else(around.clock);
    let status = read(cli, &settings, &schedule, now).map_err(Failure::Failed)?;
    if args.prometheus {
        let store = Store::open(&cli.workspace, &settings.reports, &settings.log).map_err(Failure::Failed)?;
        let path = store.in_reports("metrics.prom");
        store.replace(&path, status::prometheus(&status).as_bytes()).map_err(Failure::Failed)?;
    }
    let text = match (cli.quiet, cli.format) {
        (true, _) => String::new(),
        (false, Format::Human | Format::Csv) => status::human(&status),
        (false, Format::Json) => status::json(&status),
    };
    let is_bad = args.check && !status.problems.is_empty();
    let code = if is_bad { ExitCode::Failed } else { ExitCode::Finished };
    Ok(Answer { text, warnings: Vec::new(), code })
}

/// Says how our own claims came true, from the ledger.
fn calibration(cli: &Cli, settings: &Settings) -> Result<Answer> {
    let bytes = look(&cli.workspace.join(&settings.reports).join("ledger.jsonl"))?.unwrap_or_default();
    let (ledger, problems) = Ledger::read("ledger.jsonl", &String::from_utf8_lossy(&bytes));
    let (numbers, _) = calibration::told(&ledger.present(), settings, &[], &[]);
    let text = match (cli.quiet, cli.format) {
        (true, _) => String::new(),
        (false, Format::Human | Format::Csv) => outputs::calibration::human(&numbers),
        (false, Format::Json) => outputs::calibration::json(&numbers),
    };
    let warnings = problems.iter().map(|problem| format!("{} {}", problem.place, problem.reason)).collect();
    Ok(Answer { text, warnings, code: ExitCode::Finished })
}

/// Reads cadence and last run.
fn read(cli: &Cli, settings: &Settings, schedule: &Schedule, now: DateTime<Utc>) -> Result<Status> {
    let reports = cli.workspace.join(&settings.reports);
    let rhythm = rhythm(&reports)?;
    let next_due = |due: DateTime<Utc>| schedule.next_after(due);
    let from = rhythm.runs.first().map_or(now, |first| first.started).max(now - LOOK_BACK);
    let gaps = rhythm.gaps(from, now, &next_due);
    let is_running = rhythm.runs.last().is_some_and(|last| last.ended.is_none()) && lock_owner(&reports).is_some();
    let mut counted = rhythm.clone();
    if is_running {
        counted.runs.pop();
    }
    let mut damaged = Vec::new();
    let mut taken = |read: Result<Option<Value>>| {
        read.unwrap_or_else(|error| {
            damaged.push(format!("{error:#}"));
            None
        })
    };
    let last = taken(last_run(&reports, &settings.reports, &rhythm));
    let plan = taken(plan(&reports, &settings.reports));
    let sources = last.as_ref().map_or_else(Vec::new, |file| sources(file, now));
    let skipped = rhythm.runs.len().saturating_sub(MOST_RUNS);
    let lines = rhythm.runs.iter().skip(skipped).map(|run| RunLine {
        run: run.run.clone(),
        started: run.started,
        duration_ms: run.duration_ms,
        exit: run.exit,
        reason: run.reason.clone(),
    });
    let mut status = Status {
        schema: SCHEMA,
        now,
        schedule: settings.schedule.clone(),
        timezone: settings.timezone.to_string(),
        is_running,
        runs: lines.collect(),
        failures_in_a_row: counted.failures_in_a_row(),
        missed: gaps.missed,
        late: gaps.late.iter().map(|(due, _)| *due).collect(),
        next_due: schedule.next_after(now),
        last: last.as_ref().map(said),
        issues: status::issues(plan.as_ref(), settings.issues.repository.as_deref()),
        rollbacks_due: last.as_ref().map_or_else(Vec::new, rollbacks_due),
        sources,
        problems: Vec::new(),
        remedies: Vec::new(),
    };
    diagnose(&mut status, cli, &rhythm, schedule);
    status.problems.append(&mut damaged);
    add_ledger_and_log(&mut status, cli, settings, &rhythm)?;
    Ok(status)
}

/// What is wrong with ledger and log.
fn add_ledger_and_log(status: &mut Status, cli: &Cli, settings: &Settings, rhythm: &Rhythm) -> Result<()> {
    match of_ledger(&cli.workspace.join(&settings.reports), &settings.reports)? {
        Looked::AtIt(ledger, problem) => {
            status.problems.extend(problem);
            if ledger.is_damaged() {
                let path = settings.reports.join("ledger.jsonl");
                status.remedies.push(format!("restore the damaged lines of {} from version control", path.display()));
            }
            let log = cli.workspace.join(&settings.log);
            // A run that is under way, or was killed, may have its section yet to come.
            let begun = rhythm.runs.last().filter(|last| last.ended.is_none()).map_or("", |last| last.run.as_str());
            status.problems.extend(Lost::of(&log, &ledger, begun)?.sentence(&settings.log));
        }
        Looked::TooLarge => {
            let words = "verify the ledger with `pool-review doctor`: it is too large to be verified here".to_owned();
            status.remedies.push(words);
        }
    }
    Ok(())
}

/// The runs that the reports folder knows.
pub(super) fn rhythm(reports: &Path) -> Result<Rhythm> {
    let bytes = look(&reports.join("cadence.jsonl"))?.unwrap_or_default();
    Ok(Rhythm::of(&Cadence::read("cadence.jsonl", &String::from_utf8_lossy(&bytes)).0))
}

/// The run file of the last run that did its work.
fn last_run(reports: &Path, shown: &Path, rhythm: &Rhythm) -> Result<Option<Value>> {
    let Some(last) = rhythm.last_success().filter(|last| last.run.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    else {
        return Ok(None);
    };
    run_file(reports, shown, &last.run)
}

/// How the ledger was looked at.
enum Looked {
    /// Line by line; what it says, and what is wrong with it, in one sentence.
    AtIt(Box<Ledger>, Option<String>),
    /// Not at all: that is left to `doctor`.
    TooLarge,
}

/// What is wrong with the ledger. One that takes long to read is left to `doctor`.
fn of_ledger(reports: &Path, shown: &Path) -> Result<Looked> {
    let path = reports.join("ledger.jsonl");
    if look_at(&path).is_some_and(|file| file.length > MOST_LEDGER_BYTES) {
        return Ok(Looked::TooLarge);
    }
    let (ledger, problems) = outputs::ledger::unlocked(&path, &shown.join("ledger.jsonl").display().to_string())?;
    let more = problems.len().saturating_sub(1);
    let more = if more == 0 { String::new() } else { format!(", and {more} more like it") };
    let problem = problems.first().map(|problem| format!("{} {}{more}", problem.place, problem.reason));
    Ok(Looked::AtIt(Box::new(ledger), problem))
}

/// What a run file says in short.
fn said(file: &Value) -> LastRun {
    let tally = file["tally"].as_object().into_iter().flatten();
    let tally: BTreeMap<String, u64> =
        tally.filter_map(|(word, count)| Some((word.clone(), count.as_u64()?))).collect();
    let open_proposals = file["proposals"].as_array().map_or(0, Vec::len);
    LastRun {
        run: file["run_id"].as_str().unwrap_or_default().to_owned(),
        now: instant(&file["now"]).unwrap_or_default(),
        outcome: LastRun::outcome(&tally, open_proposals),
        tally,
        open_proposals,
    }
}

/// The landed changes of a run file whose way back is due.
fn rollbacks_due(file: &Value) -> Vec<DueLine> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |standing: &Value| {
        let due = standing["rollback_due"].as_object()?;
        Some(DueLine {
            number: standing["number"].as_u64()?,
            fingerprint: word(&standing["fingerprint"]),
            pool: word(&standing["pool"]),
            since: word(due.get("since")?),
            words: word(due.get("words")?),
        })
    };
    file["standings"].as_array().into_iter().flatten().filter_map(one).collect()
}

/// An instant of a run file.
fn instant(value: &Value) -> Option<DateTime<Utc>> {
    value.as_str()?.parse().ok()
}

/// The sources of a run file with the age they have by now. A frozen clock stands still.
fn sources(file: &Value, now: DateTime<Utc>) -> Vec<SourceAge> {
    let is_frozen = file["is_frozen"].as_bool().unwrap_or(false);
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let since = instant(&file["now"]).filter(|_| !is_frozen).map_or(0.0, |at| (now - at).num_seconds() as f64 / 3600.0);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |source: &Value| SourceAge {
        source: word(&source["source"]),
        state: word(&source["state"]),
        reason: source["reason"].as_str().map(str::to_owned),
        age_hours: source["age_hours"].as_f64().map(|age| age + since.max(0.0)),
        max_age_hours: source["max_age_hours"].as_f64(),
    };
    file["sources"].as_array().into_iter().flatten().map(one).collect()
}

/// Says which sources are wrong and what to do: what depends on them is blocked.
fn of_sources(status: &mut Status, problems: &mut Vec<String>) {
    let (failed, sound): (Vec<&SourceAge>, Vec<&SourceAge>) =
        status.sources.iter().partition(|source| source.has_failed());
    let why = |source: &SourceAge| source.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    problems.extend(failed.iter().map(|source| format!("source {} failed{}", source.source, why(source))));
    let stale: Vec<&str> =
        sound.iter().filter(|source| source.is_stale()).map(|source| source.source.as_str()).collect();
    let mut remedies = Vec::new();
    if !failed.is_empty() {
        remedies.push("mend the files of the failed sources, or the paths under `data` that name them".to_owned());
    }
    if !stale.is_empty() {
        problems.push(format!("stale sources: {}", stale.join(", ")));
        remedies
            .push("bring newer files for the stale sources; instructions/data says where each comes from".to_owned());
    }
    status.remedies.extend(remedies);
}

/// Says what is wrong and what to do.
fn diagnose(status: &mut Status, cli: &Cli, rhythm: &Rhythm, schedule: &Schedule) {
    let at = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%MZ").to_string();
    let now = status.now;
    let mut problems = Vec::new();
    match rhythm.last_start() {
        None => problems.push("no review has run yet".to_owned()),
        Some(last) => {
            let due = schedule.next_after(last).filter(|due| now - *due > TimeDelta::minutes(LATE_MINUTES));
            let due = due.filter(|_| !status.is_running);
            problems.extend(
                due.map(|due| format!("the review due {} has not started; the last began {}", at(due), at(last))),
            );
        }
    }
    if status.failures_in_a_row > 0 {
        let last = rhythm.runs.iter().rev().find(|run| !run.is_success());
        let how =
            last.and_then(|run| run.exit).map_or("was killed".to_owned(), |exit| format!("ended with exit {exit}"));
        let why = last.and_then(|run| run.reason.as_ref()).map_or(String::new(), |reason| format!(": {reason}"));
        problems.push(format!("failures in a row: {}; the last run {how}{why}", status.failures_in_a_row));
    }
    let is_of_runs = !problems.is_empty();
    of_sources(status, &mut problems);
    if is_of_runs {
        let workspace = cli.workspace.display();
        status.remedies.insert(0, format!("to re-arm, run one now: pool-review --workspace {workspace} review"));
        status.remedies.insert(
            1,
            "then look at what starts it: pool-review schedule crontab (or systemd, …) prints the unit".to_owned(),
        );
    }
    status.problems = problems;
}

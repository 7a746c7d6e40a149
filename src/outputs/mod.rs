//! Views of one report, and the order in which a run leaves them behind. Every step can be repeated: a run that was
//! killed anywhere ends in the same bytes when it is delivered again, and a delivered run changes nothing.

pub mod issues;
pub mod json;
pub mod log;
pub mod proposals;
pub mod terminal;
pub mod text;
mod view;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};

use crate::history::{Cadence, Ledger, Settlement, run_facts};
use crate::store::Store;
use crate::verdict::Report;
use crate::vocabulary::Reject;

/// The ledger's name in the reports folder.
const LEDGER: &str = "ledger.jsonl";

/// The cadence's name in the reports folder.
const CADENCE: &str = "cadence.jsonl";

/// The issue plan's name in the reports folder.
const PLAN: &str = "issues/plan.json";

/// What one run delivers, compared and settled.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// The report.
    pub report: &'a Report,
    /// What became of every proposal; `report.proposals` are its open ones.
    pub settlement: &'a Settlement,
    /// Digest of the instruction file.
    pub settings_digest: &'a str,
    /// Canonical ids of every model that this run saw.
    pub models: &'a BTreeSet<String>,
    /// The reports folder as configured, relative to the repository root, for links.
    pub reports: &'a str,
    /// `owner/name` of the tracker; without one no issue plan is written.
    pub repository: Option<&'a str>,
    /// Most new issues per run.
    pub new_per_run: usize,
}

/// Writes everything in order: run file, proposals, ledger, closed proposals' files, issue plan, log last. What comes back
/// are warnings for people, which no output holds.
pub fn deliver(delivery: Delivery<'_>, store: &Store) -> Result<Vec<String>> {
    let mut warnings = delivery.settlement.warnings.clone();
    write_run(delivery, store)?;
    proposals::write_open(store, &delivery.report.proposals)?;
    warnings.extend(append_events(delivery, store)?);
    proposals::remove_closed(store, &delivery.settlement.closed)?;
    write_plan(delivery, store)?;
    append_log(delivery, store)?;
    Ok(warnings)
}

/// The run file. Other inputs under the same id replace it; the ledger says so with `rerun`.
pub fn write_run(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let name = format!("runs/{}.json", run_id(delivery.report)?);
    store.replace(&store.in_reports(&name), json::run_json(delivery.report).as_bytes())?;
    Ok(())
}

/// The events that the ledger lacks. Warnings name its lines that are not part of its chain.
pub fn append_events(delivery: Delivery<'_>, store: &Store) -> Result<Vec<String>> {
    let (ledger, problems) = read_ledger(store)?;
    let report = delivery.report;
    let past = ledger.before(&report.run_id);
    let facts = run_facts(report, &past, delivery.settlement, delivery.settings_digest, delivery.models);
    let lines = ledger.lines_for(&report.run_id, report.now, &facts);
    let torn = store.append_lines(&store.in_reports(LEDGER), &lines)?;
    let warnings = problems.iter().map(|problem| format!("{} {}", problem.place, problem.reason));
    Ok(warnings.chain(torn).collect())
}

/// The issue plan, if a tracker is configured.
pub fn write_plan(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let Some(repository) = delivery.repository else { return Ok(()) };
    let report = delivery.report;
    let plan = issues::plan(&report.run_id, repository, delivery.new_per_run, &report.proposals);
    store.replace(&store.in_reports(PLAN), issues::plan_json(&plan).as_bytes())?;
    Ok(())
}

/// The log section, if no log has it. The first run of a month moves the finished log beside it first: month file, then
/// a new log; a run killed between the two finds an equal month file and does the second.
pub fn append_log(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let (report, path) = (delivery.report, store.log_path());
    let month = log::month(report);
    let archived = store.read(&store.month_path(&month))?.unwrap_or_default();
    if log::holds_run(&String::from_utf8_lossy(&archived), &report.run_id) {
        return Ok(());
    }
    let old = store.read(path)?;
    let finished = old.as_deref().and_then(|old| finished_month(old, &month, &report.run_id));
    let kept = match finished {
        Some(finished) => {
            archive(store, &finished, old.as_deref().unwrap_or_default())?;
            None
        }
        None => old,
    };
    let new = log::append(report, delivery.reports, kept.as_deref());
    if let Some(bytes) = new.with_context(|| format!("appending to {}", store.shown(path)))? {
        store.replace(path, &bytes)?;
    }
    Ok(())
}

/// The ledger of a reports folder, and its lines that are not part of its chain.
pub fn read_ledger(store: &Store) -> Result<(Ledger, Vec<Reject>)> {
    let path = store.in_reports(LEDGER);
    let bytes = store.read(&path)?.unwrap_or_default();
    Ok(Ledger::read(&store.shown(&path), &String::from_utf8_lossy(&bytes)))
}

/// Notes a start or an end.
pub fn note_cadence(cadence: &Cadence, store: &Store) -> Result<Option<String>> {
    store.append_line(&store.in_reports(CADENCE), &cadence.line())
}

/// The run id, which becomes a file name: letters and digits only.
fn run_id(report: &Report) -> Result<&str> {
    let id = report.run_id.as_str();
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        bail!("{id:?} is no run id");
    }
    Ok(id)
}

/// The month of a log that a later month finishes, unless the log has this run already.
fn finished_month(log: &[u8], month: &str, run: &str) -> Option<String> {
    let log = String::from_utf8_lossy(log);
    let begun = log::month_of(&log).filter(|begun| *begun < month)?;
    (!log::holds_run(&log, run)).then(|| begun.to_owned())
}

/// Puts a finished log into its month's file. Another text under that month is never overwritten.
fn archive(store: &Store, month: &str, log: &[u8]) -> Result<()> {
    let path = store.month_path(month);
    if store.read(&path)?.is_some_and(|old| old != log) {
        bail!("{} holds another text than the finished log; move one of them away", store.shown(&path));
    }
    store.replace(&path, log)?;
    Ok(())
}

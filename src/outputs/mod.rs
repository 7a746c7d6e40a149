//! Views of one report, and the order in which a run leaves them behind. Every step can be repeated: a run that was
//! killed anywhere ends in the same bytes when it is delivered again, and a delivered run changes nothing.

pub mod inspect;
pub mod issues;
pub mod json;
pub mod log;
pub mod names;
pub mod proposals;
pub mod sessions;
pub mod terminal;
pub mod text;
mod view;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};

use crate::history::{Cadence, Ledger, MarketFile, Settlement, run_facts};
use crate::store::Store;
use crate::verdict::Report;
use crate::vocabulary::Reject;

/// The ledger's name in the reports folder.
const LEDGER: &str = "ledger.jsonl";

/// The cadence's name in the reports folder.
const CADENCE: &str = "cadence.jsonl";

/// The name of a section that is not in the log yet, in the reports folder.
const PENDING: &str = "pending-section.md";

/// The memory of the market in the reports folder.
const MARKET: &str = "history/market.json";

/// The issue plan's name in the reports folder.
const PLAN: &str = "issues/plan.json";

/// Whom to credit wherever a number of the market is shown; `None` when no market was read.
fn credit(report: &Report) -> Option<String> {
    let version = text::own(report.index_version.as_deref()?, text::Place::Terminal);
    Some(format!("Source: Artificial Analysis, https://artificialanalysis.ai (Intelligence Index v{version})"))
}

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

/// Writes everything in order: what a killed run left pending, run file, proposals, ledger, files of closed proposals, issue
/// plan, log last. A run that is older than the newest of the ledger never touches what is open now: one that the ledger
/// knows writes nothing, one that it does not know is added to history only. What comes back are warnings for people, which
/// no output holds.
pub fn deliver(delivery: Delivery<'_>, store: &Store) -> Result<Vec<String>> {
    let run = run_id(delivery.report)?;
    let (ledger, problems) = read_ledger(store)?;
    let mut warnings = delivery.settlement.warnings.clone();
    warnings.extend(problems.iter().map(|problem| format!("{} {}", problem.place, problem.reason)));
    finish_pending(&ledger, run, store)?;
    match ledger.newest_run().filter(|newest| *newest > run) {
        None => warnings.extend(deliver_newest(delivery, store)?),
        Some(newest) if ledger.holds_run(run) => {
            warnings.push(format!("run {run} is older than run {newest} and known: nothing was written"));
        }
        Some(newest) => {
            warnings.push(format!("run {run} is older than run {newest}: proposals and issue plan were left alone"));
            warnings.extend(deliver_history(delivery, store)?);
        }
    }
    Ok(warnings)
}

/// The ordinary case.
fn deliver_newest(delivery: Delivery<'_>, store: &Store) -> Result<Option<String>> {
    write_run(delivery, store)?;
    write_pending(delivery, store)?;
    proposals::write_open(store, &delivery.report.proposals)?;
    let torn = append_events(delivery, store)?;
    proposals::remove_others(store, &delivery.settlement.keep)?;
    write_plan(delivery, store)?;
    append_log(delivery, store)?;
    remove_pending(store)?;
    Ok(torn)
}

/// A run between older ones: its file, its events without proposals, its section.
fn deliver_history(delivery: Delivery<'_>, store: &Store) -> Result<Option<String>> {
    let nothing = Settlement::default();
    let history = Delivery { settlement: &nothing, ..delivery };
    write_run(history, store)?;
    write_pending(history, store)?;
    let torn = append_events(history, store)?;
    append_log(history, store)?;
    remove_pending(store)?;
    Ok(torn)
}

/// The run file. Other inputs under the same id replace it; the ledger says so with `rerun`.
pub fn write_run(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let name = format!("runs/{}.json", run_id(delivery.report)?);
    store.replace(&store.in_reports(&name), json::run_json(delivery.report).as_bytes())?;
    Ok(())
}

/// The section, kept aside until it is in the log, so that a run that is killed before is finished by the next one.
pub fn write_pending(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let section = log::render_section(delivery.report, delivery.reports);
    store.replace(&store.in_reports(PENDING), section.as_bytes())?;
    Ok(())
}

/// The events that the ledger lacks. A sentence comes back when a torn line was moved aside.
pub fn append_events(delivery: Delivery<'_>, store: &Store) -> Result<Option<String>> {
    let (ledger, _) = read_ledger(store)?;
    let report = delivery.report;
    let past = ledger.before(&report.run_id);
    let facts = run_facts(report, &past, delivery.settlement, delivery.settings_digest, delivery.models);
    let lines = ledger.lines_for(&report.run_id, report.now, &facts);
    store.append_lines(&store.in_reports(LEDGER), &lines)
}

/// The issue plan, if a tracker is configured.
pub fn write_plan(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let Some(repository) = delivery.repository else { return Ok(()) };
    let report = delivery.report;
    let plan = issues::plan(&report.run_id, repository, delivery.new_per_run, &report.proposals);
    store.replace(&store.in_reports(PLAN), issues::plan_json(&plan).as_bytes())?;
    Ok(())
}

/// The log section, if no log has it.
pub fn append_log(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let section = log::render_section(delivery.report, delivery.reports);
    append_section(run_id(delivery.report)?, &section, store)
}

/// Drops the section that was kept aside.
pub fn remove_pending(store: &Store) -> Result<()> {
    store.remove(&store.in_reports(PENDING))?;
    Ok(())
}

/// Puts a section that an earlier run left aside into the log, if the ledger knows that run. Without events the run never
/// happened, and this run's own section is about to be made again.
fn finish_pending(ledger: &Ledger, run: &str, store: &Store) -> Result<()> {
    let Some(bytes) = store.read(&store.in_reports(PENDING))? else { return Ok(()) };
    let section = String::from_utf8_lossy(&bytes);
    if let Some(pending) = log::run_of(&section).filter(|pending| *pending != run && ledger.holds_run(pending)) {
        append_section(pending, &section, store)?;
    }
    remove_pending(store)
}

/// Appends a section. The first run of a month moves the finished log beside it first: month file, then a new log; a run
/// killed between the two finds an equal month file and does the second.
fn append_section(run: &str, section: &str, store: &Store) -> Result<()> {
    let Some(month) = log::month_of_run(run) else { bail!("{run:?} is no run id") };
    let path = store.log_path();
    let archived = store.read(&store.month_path(&month))?.unwrap_or_default();
    if log::holds_run(&String::from_utf8_lossy(&archived), run) {
        return Ok(());
    }
    let old = store.read(path)?;
    let finished = old.as_deref().and_then(|old| finished_month(old, &month, run));
    let kept = match finished {
        Some(finished) => {
            archive(store, &finished, old.as_deref().unwrap_or_default())?;
            None
        }
        None => old,
    };
    let new = log::append(section, run, &month, kept.as_deref());
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

/// What earlier runs remember of the market. A damaged file is no memory: what comes back with it says so.
pub fn read_market(store: &Store) -> Result<(MarketFile, Option<String>)> {
    let path = store.in_reports(MARKET);
    let Some(bytes) = store.read(&path)? else { return Ok((MarketFile::default(), None)) };
    match MarketFile::read(&String::from_utf8_lossy(&bytes)) {
        Ok(file) => Ok((file, None)),
        Err(reason) => Ok((MarketFile::default(), Some(format!("{} {reason}", store.shown(&path))))),
    }
}

/// Keeps what the next run must know of the market. It is written before everything else: a run that is killed after it
/// is judged again, and begins with the same memory.
pub fn keep_market(file: &MarketFile, store: &Store) -> Result<()> {
    store.replace(&store.in_reports(MARKET), file.text().as_bytes())?;
    Ok(())
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

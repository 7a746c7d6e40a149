//! Views of one report, and the order in which a run leaves them behind. Every step can be repeated: a run that was
//! killed anywhere ends in the same bytes when it is delivered again, and a delivered run changes nothing.

pub mod calibration;
pub mod index;
pub mod inspect;
pub mod issues;
pub mod job;
pub mod json;
pub mod ledger;
pub mod log;
pub mod log_file;
pub mod names;
pub mod page;
pub mod proposal_files;
pub mod proposals;
mod quarantine;
pub mod sessions;
pub mod status;
pub mod steward;
pub mod terminal;
pub mod text;
pub mod verbs;
mod view;
pub mod wrap;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, anyhow, bail};
use serde::{Deserialize, Serialize};

use crate::history::{Cadence, Ledger, MarketFile, Settlement, run_facts};
use crate::store::{Cache, Store};
use crate::verdict::Report;
use ledger::LEDGER;
pub use ledger::read_ledger;
use log_file::append_section;
use proposal_files::Files;

/// The cadence's name in the reports folder.
const CADENCE: &str = "cadence.jsonl";

/// The name of what a run is about to add to ledger and log, in the reports folder.
const PENDING: &str = "pending.json";

/// The index's name in the reports folder.
const INDEX: &str = "README.md";

/// The page's name in the reports folder.
const PAGE: &str = "index.html";

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
    /// Where issues are planned, and filed if that is wanted; without a tracker no plan is written.
    pub issues: Option<&'a issues::Desk<'a>>,
    /// What happened since the run before: in the section only, because a cadence speaks of the wall clock.
    pub since: log::Since<'a>,
}

/// What a delivery leaves for people.
#[derive(Debug, Default)]
pub struct Delivered {
    /// Warnings, which no output holds.
    pub warnings: Vec<String>,
    /// What came of filing issues, where that was wanted.
    pub filed: Option<issues::Filed>,
    /// The section.
    pub section: String,
}

/// What a run is about to add. From the moment it is on disk the run counts: whoever comes next completes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    /// The run.
    run: String,
    /// The lines that the ledger lacks.
    events: Vec<String>,
    /// The section.
    section: String,
}

/// Writes everything in order: run file, proposals, then what is about to be added, from where on the run counts; ledger,
/// files of closed proposals, issues, log, index and page. A run that is older than the newest of the ledger never
/// touches what is open now: one that the ledger knows writes nothing, one that it does not know is added to history only.
pub fn deliver(delivery: Delivery<'_>, store: &Store) -> Result<Delivered> {
    let warnings = recover(store)?;
    let mut opened = ledger::open(store, None, run_id(delivery.report)?)?;
    let mut delivered = deliver_on(delivery, &mut opened, &Files::default(), store)?;
    delivered.warnings.splice(0..0, warnings);
    Ok(delivered)
}

/// As [`deliver`], on the ledger that the run was judged by; `files` are the proposals' files as they were found.
pub fn deliver_on(
    delivery: Delivery<'_>,
    opened: &mut ledger::Opened,
    files: &Files,
    store: &Store,
) -> Result<Delivered> {
    let run = run_id(delivery.report)?;
    let ledger = &mut opened.ledger;
    let mut delivered = Delivered { warnings: opened.warnings.clone(), ..Delivered::default() };
    delivered.warnings.extend(delivery.settlement.warnings.iter().cloned());
    delivered.warnings.extend(opened.problems.iter().map(|problem| format!("{} {}", problem.place, problem.reason)));
    delivered.warnings.extend(quarantine::keep(store, ledger)?);
    delivered.warnings.extend(quarantine::advice(&store.shown(&store.in_reports(LEDGER)), ledger));
    let cut = quarantine::cut_off(store, ledger)?;
    let is_whole = opened.problems.is_empty() && cut.is_none();
    delivered.warnings.extend(cut);
    match ledger.newest_run().filter(|newest| *newest > run).map(str::to_owned) {
        None => deliver_newest(delivery, (ledger, is_whole), (files, store), &mut delivered)?,
        Some(newest) if ledger.holds_run(run) => {
            delivered.warnings.push(format!("run {run} is older than run {newest} and known: nothing was written"));
        }
        Some(newest) => {
            let words = format!("run {run} is older than run {newest}: proposals and issue plan were left alone");
            delivered.warnings.push(words);
            delivered.warnings.extend(deliver_history(delivery, ledger, store)?);
        }
    }
    Ok(delivered)
}

/// Keeps in the cache what spares the next run work: the fold of the ledger, and what the proposals' files look like. Sentences
/// come back where that failed; nothing else depends on it.
pub fn remember(delivery: Delivery<'_>, opened: &ledger::Opened, store: &Store, cache: &Cache) -> Vec<String> {
    let run = delivery.report.run_id.as_str();
    let is_newest = opened.ledger.newest_run().is_none_or(|newest| newest <= run);
    let files = is_newest.then(|| Files::keep(delivery.settlement, store, cache)).flatten();
    ledger::keep(store, cache, opened).into_iter().chain(files).collect()
}

/// The ordinary case. When issues are filed, the section is known only after that; until then what is pending says that the
/// run was killed on the way. While the ledger is damaged no file of a proposal is removed: it may be all that is left of an event.
fn deliver_newest(
    delivery: Delivery<'_>,
    (ledger, is_whole): (&mut Ledger, bool),
    (files, store): (&Files, &Store),
    delivered: &mut Delivered,
) -> Result<()> {
    write_run(delivery, store)?;
    let settlement = delivery.settlement;
    let all = delivery.report.proposals.iter().chain(&settlement.suppressed).chain(&settlement.landed);
    let edited = proposals::write(store, all.filter(|proposal| !files.hold(store, proposal)))?;
    delivered.warnings.extend(edited);
    let lines = missing_events(delivery, ledger);
    put_pending(delivery, &lines, pending_section(delivery), store)?;
    delivered.warnings.extend(store.append_lines(&store.in_reports(LEDGER), &lines)?);
    ledger.extend(&lines).map_err(|reason| anyhow!("an event of this run {reason}"))?;
    if is_whole {
        let left = proposals::remove_others(store, &delivery.settlement.keep, &ledger.proposals())?;
        delivered.warnings.extend(left);
    }
    delivered.filed = file_issues(delivery, ledger, store)?;
    delivered.section = section(delivery, delivered.filed.as_ref());
    write_plan(delivery, delivered.filed.as_ref(), store)?;
    append_section(run_id(delivery.report)?, &delivered.section, store)?;
    write_views(delivery, ledger, store)?;
    remove_pending(store)
}

/// Looks at the tracker and carries the plan out, if that is wanted.
fn file_issues(delivery: Delivery<'_>, ledger: &mut Ledger, store: &Store) -> Result<Option<issues::Filed>> {
    let Some(desk) = delivery.issues else { return Ok(None) };
    let path = store.in_reports(LEDGER);
    let (run, at) = (run_id(delivery.report)?, delivery.report.now);
    desk.carry_out(&mut issues::Outbox { store, path, ledger, run, at })
}

/// A run between older ones: its file, its events without proposals, its section.
fn deliver_history(delivery: Delivery<'_>, ledger: &Ledger, store: &Store) -> Result<Option<String>> {
    let nothing = Settlement::default();
    let history = Delivery { settlement: &nothing, issues: None, ..delivery };
    let section = with_issues(history, &[]);
    write_run(history, store)?;
    put_pending(history, &missing_events(history, ledger), section.clone(), store)?;
    let torn = append_events(history, ledger, store)?;
    append_section(run_id(delivery.report)?, &section, store)?;
    remove_pending(store)?;
    Ok(torn)
}

/// Completes what a killed run was about to add: the rest of its events, then its section. Events that no longer fit the
/// ledger, because somebody changed it meanwhile, are left out and said. To be called before the ledger is read for judging.
pub fn recover(store: &Store) -> Result<Vec<String>> {
    let path = store.in_reports(PENDING);
    let Some(bytes) = store.read(&path)? else { return Ok(Vec::new()) };
    let mut said = Vec::new();
    match serde_json::from_slice::<Pending>(&bytes) {
        Err(error) => said.push(format!("{} is not readable ({error}) and was dropped", store.shown(&path))),
        Ok(pending) => {
            said.extend(complete_events(&pending, store)?);
            append_section(&pending.run, &pending.section, store)?;
            said.push(format!("run {} was killed while it wrote; it is complete now", pending.run));
        }
    }
    remove_pending(store)?;
    Ok(said)
}

/// Adds the events of a killed run that the ledger lacks.
fn complete_events(pending: &Pending, store: &Store) -> Result<Option<String>> {
    let path = store.in_reports(LEDGER);
    let ledger = ledger::open(store, None, &pending.run)?.ledger;
    let held: BTreeSet<&str> = ledger.events().iter().map(|event| event.hash.as_str()).collect();
    let is_held = |line: &str| {
        let event = serde_json::from_str::<serde_json::Value>(line).unwrap_or_default();
        event["hash"].as_str().is_some_and(|hash| held.contains(hash))
    };
    let missing: Vec<String> = pending.events.iter().filter(|line| !is_held(line)).cloned().collect();
    let follows = missing.first().is_none_or(|line| ledger.accepts(line));
    if !follows {
        return Ok(Some(format!(
            "events of run {} no longer fit {} and were left out",
            pending.run,
            store.shown(&path)
        )));
    }
    store.append_lines(&path, &missing)
}

/// The run file. Other inputs under the same id replace it; the ledger says so with `rerun`.
pub fn write_run(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    let name = format!("runs/{}.json", run_id(delivery.report)?);
    store.replace(&store.in_reports(&name), json::run_json(delivery.report).as_bytes())?;
    Ok(())
}

/// What is about to be added to ledger and log, kept aside until it is there.
pub fn write_pending(delivery: Delivery<'_>, ledger: &Ledger, store: &Store) -> Result<()> {
    put_pending(delivery, &missing_events(delivery, ledger), pending_section(delivery), store)
}

/// The same with events and a section that are known.
fn put_pending(delivery: Delivery<'_>, events: &[String], section: String, store: &Store) -> Result<()> {
    let pending = Pending { run: run_id(delivery.report)?.to_owned(), events: events.to_vec(), section };
    let text = serde_json::to_string(&pending).context("writing what is pending")?;
    store.replace(&store.in_reports(PENDING), text.as_bytes())?;
    Ok(())
}

/// The events that the ledger lacks. A sentence comes back when a torn line was moved aside.
pub fn append_events(delivery: Delivery<'_>, ledger: &Ledger, store: &Store) -> Result<Option<String>> {
    store.append_lines(&store.in_reports(LEDGER), &missing_events(delivery, ledger))
}

/// The lines that the ledger lacks.
fn missing_events(delivery: Delivery<'_>, ledger: &Ledger) -> Vec<String> {
    let report = delivery.report;
    let past = ledger.before(&report.run_id);
    let facts = run_facts(report, &past, delivery.settlement, delivery.settings_digest, delivery.models);
    ledger.lines_for(&report.run_id, report.now, &facts)
}

/// The issue plan, if a tracker is configured: as it was carried out, else as the ledger alone makes it.
pub fn write_plan(delivery: Delivery<'_>, filed: Option<&issues::Filed>, store: &Store) -> Result<()> {
    let Some(desk) = delivery.issues else { return Ok(()) };
    let seen = filed.filter(|filed| filed.failure.is_none() || !filed.plan.entries.is_empty());
    let plan = seen.map_or_else(|| desk.plan(), |filed| filed.plan.clone());
    store.replace(&store.in_reports(PLAN), issues::plan_json(&plan).as_bytes())?;
    Ok(())
}

/// The section of a delivery, with what came of filing.
pub fn section(delivery: Delivery<'_>, filed: Option<&issues::Filed>) -> String {
    let lines = match delivery.issues {
        Some(desk) => issues::section_lines(desk, filed),
        None => issues::without_tracker(delivery.report),
    };
    with_issues(delivery, &lines)
}

/// The section that is kept while a run is under way.
fn pending_section(delivery: Delivery<'_>) -> String {
    if delivery.issues.is_some_and(issues::Desk::is_filing) {
        with_issues(delivery, &[issues::KILLED.to_owned()])
    } else {
        section(delivery, None)
    }
}

/// The section with these lines about issues.
fn with_issues(delivery: Delivery<'_>, lines: &[String]) -> String {
    let since = log::Since { issues: lines, ..delivery.since };
    log::render_section(delivery.report, delivery.reports, since)
}

/// The log section, if no log has it.
pub fn append_log(delivery: Delivery<'_>, store: &Store) -> Result<()> {
    append_section(run_id(delivery.report)?, &section(delivery, None), store)
}

/// Index and page: made anew from the report, the ledger and the months that are there.
pub fn write_views(delivery: Delivery<'_>, ledger: &Ledger, store: &Store) -> Result<()> {
    let runs = ledger.runs();
    let index = index::render(delivery.report, &runs, &index::Places::read(store, delivery.reports)?);
    store.replace(&store.in_reports(INDEX), index.as_bytes())?;
    store.replace(&store.in_reports(PAGE), page::render(delivery.report, &runs).as_bytes())?;
    Ok(())
}

/// Drops what was kept aside.
pub fn remove_pending(store: &Store) -> Result<()> {
    store.remove(&store.in_reports(PENDING))?;
    Ok(())
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

/// The cadence of a reports folder; lines that do not parse are left out.
pub fn read_cadence(store: &Store) -> Result<Vec<Cadence>> {
    let path = store.in_reports(CADENCE);
    let bytes = store.read(&path)?.unwrap_or_default();
    Ok(Cadence::read(&store.shown(&path), &String::from_utf8_lossy(&bytes)).0)
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

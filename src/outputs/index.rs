//! The index of the reports folder, for the repository view: open proposals, the last runs, the months of the log. It is the
//! only markdown that is rewritten.

use std::collections::BTreeMap;

use anyhow::Result;

use super::text::{self, Place};
use super::view::{minute, tally};
use crate::history::RunFact;
use crate::store::Store;
use crate::verdict::{Proposal, Report};

/// Most runs that are listed.
const MOST_RUNS: usize = 20;

/// Where log and months lie, as links from the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The reports folder.
    reports: String,
    /// The running log.
    log: String,
    /// Finished months, newest first: `2026-11` and its link.
    months: Vec<(String, String)>,
    /// Run id → the link of its section, where that is in a finished month.
    in_months: BTreeMap<String, String>,
}

impl Places {
    /// Reads which months there are and which runs stand in them.
    pub fn read(store: &Store, reports: &str) -> Result<Self> {
        let root_link = |path: &std::path::Path| format!("/{}", store.shown(path).trim_start_matches('/'));
        let mut places = Self {
            reports: format!("/{}", reports.trim_matches('/')),
            log: root_link(store.log_path()),
            months: Vec::new(),
            in_months: BTreeMap::new(),
        };
        for month in store.months()? {
            let path = store.month_path(&month);
            let link = root_link(&path);
            let text = store.read(&path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            for run in text.split("\n<a id=\"run-").skip(1).filter_map(|rest| rest.split_once("\"></a>\n")) {
                if run.0.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                    places.in_months.insert(run.0.to_owned(), format!("{link}#run-{}", run.0));
                }
            }
            places.months.push((month, link));
        }
        places.months.reverse();
        Ok(places)
    }

    /// The link of a run's section.
    fn section(&self, run: &str) -> String {
        self.in_months.get(run).cloned().unwrap_or_else(|| format!("{}#run-{run}", self.log))
    }
}

/// The index after a run. `runs` is what the ledger says of each run, oldest first.
pub fn render(report: &Report, runs: &[(&str, &RunFact)], places: &Places) -> String {
    let head = format!(
        "# Pool review\n\nMade anew by every run; edit nothing here. Last run {} ({}). The page [index.html]({}/index.html) shows the \
         same with charts, from a checkout.",
        report.run_id,
        minute(report.now),
        places.reports
    );
    let parts = [head, proposals(report, places), last_runs(runs, places), months(runs, places)];
    parts.join("\n\n") + "\n"
}

/// Open proposals.
fn proposals(report: &Report, places: &Places) -> String {
    let row = |proposal: &Proposal| {
        let (fingerprint, reports) = (&proposal.fingerprint, &places.reports);
        let short = text::name(fingerprint.get(..13).unwrap_or(fingerprint), Place::Markdown);
        let is_plain = fingerprint.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let number = report.label(fingerprint);
        let link = if is_plain { format!("[{short}]({reports}/proposals/{fingerprint}.json)") } else { short };
        let pool = text::name(&proposal.pool, Place::Markdown);
        format!(
            "| {number} | {link} | {} | {pool} | {} | {} | {} |",
            text::own(&proposal.status, Place::Markdown),
            text::own(&proposal.kind, Place::Markdown),
            text::quote(&proposal.title, Place::Markdown),
            text::own(proposal.first_seen.get(..10).unwrap_or_default(), Place::Markdown)
        )
    };
    if report.proposals.is_empty() {
        return "## Open proposals\n\nNone.".to_owned();
    }
    let rows: Vec<String> = report.proposals.iter().map(row).collect();
    format!(
        "## Open proposals\n\n| No. | Proposal | Status | Pool | Kind | Title | Since |\n|:--|:--|:--|:--|:--|:--|:--|\n{}",
        rows.join("\n")
    )
}

/// The last runs, newest first, one line each.
fn last_runs(runs: &[(&str, &RunFact)], places: &Places) -> String {
    let line = |(run, fact): &(&str, &RunFact)| {
        let words = tally(fact.verdicts.values().map(|pool| pool.verdict));
        let words = if words.is_empty() { "no pool to judge".to_owned() } else { words };
        let counts = fact.counts;
        format!(
            "- [{run}]({}): {words}; {} new, {} updated, {} unchanged, {} absent",
            places.section(run),
            counts.new,
            counts.updated,
            counts.unchanged,
            counts.absent
        )
    };
    let lines: Vec<String> = runs.iter().rev().take(MOST_RUNS).map(line).collect();
    format!("## Last runs\n\n{}\n\nVerdicts count pools and categories.", lines.join("\n"))
}

/// The months of the log.
fn months(runs: &[(&str, &RunFact)], places: &Places) -> String {
    let newest = runs.last().and_then(|(run, _)| super::log::month_of_run(run)).unwrap_or_default();
    let mut lines = vec![format!("- [{newest}]({}), running", places.log)];
    lines.extend(places.months.iter().map(|(month, link)| format!("- [{month}]({link})")));
    format!("## Months of the log\n\n{}", lines.join("\n"))
}

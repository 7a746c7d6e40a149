//! One run as a section of the log. It gives up detail, never verdicts, to stay within what a diff shows at once.

use std::collections::BTreeSet;

use super::parse::{run_anchor, run_marker};
use super::{pools, tables};
use crate::history::RunFact;
use crate::outputs::text::{self, Place};
use crate::outputs::view::{categories, counted, minute, pools as pools_of, tally};
use crate::verdict::{PoolReport, Report};

/// Longest section that a hosted diff shows without a click.
const MOST_LINES: usize = 400;

/// Its size in bytes.
const MOST_BYTES: usize = 20_000;

/// What no section can show.
const LIMITS: &str = "What this does not show: cause (routers and people choose who gets which task), what a plan costs in \
                      cash (prices are list prices), how a market index would rank on this fleet's own work.";

/// The same in a section in which nothing moved.
const LIMITS_SHORT: &str = "What this does not show: cause, what a plan costs in cash, how a market index would rank on this fleet's own work.";

/// How the numbers behind a verdict are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// One row each.
    Rows,
    /// One row per check.
    Compact,
    /// In the run file only.
    RunFile,
}

/// How much a section tells about one pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    /// The numbers behind its verdict.
    pub(super) numbers: Numbers,
    /// Most findings in words beside the one that carries each check.
    pub(super) findings: usize,
}

/// From most to least.
const DETAILS: [Detail; 4] = [
    Detail { numbers: Numbers::Rows, findings: usize::MAX },
    Detail { numbers: Numbers::Compact, findings: 6 },
    Detail { numbers: Numbers::RunFile, findings: 2 },
    Detail { numbers: Numbers::RunFile, findings: 0 },
];

/// What the parts of a section need to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    /// The report.
    pub(super) report: &'a Report,
    /// The reports folder relative to the repository root, `/` between parts.
    pub(super) reports: &'a str,
    /// How much to tell.
    pub(super) detail: Detail,
}

impl Context<'_> {
    /// A link to a file of the reports folder, from the repository root, because finished months move.
    pub(super) fn link(&self, label: &str, file: &str) -> String {
        let path = format!("{}/{file}", self.reports.trim_matches('/'));
        let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
        if is_plain && !path.split('/').any(|part| part == "..") {
            format!("[{}](/{path})", text::name(label, Place::Markdown))
        } else {
            text::name(label, Place::Markdown)
        }
    }
}

/// What a section says beside its report: of the time since the run before, and of issues.
#[derive(Debug, Clone, Copy, Default)]
pub struct Since<'a> {
    /// What the cadence has to say of runs that were due.
    pub cadence: &'a [String],
    /// What the run before said.
    pub before: Option<&'a RunFact>,
    /// What became of issues, as Markdown lines.
    pub issues: &'a [String],
}

/// The section of a run: anchor, heading, headline, sources, one open block per pool that moved, one row per pool that needs
/// someone as before, the rest folded. `reports` is the reports folder relative to the repository root.
pub fn render_section(report: &Report, reports: &str, since: Since<'_>) -> String {
    let draft = |detail: Detail| draft(Context { report, reports, detail }, since);
    let fits = |text: &String| text.len() <= MOST_BYTES && text.lines().count() <= MOST_LINES;
    let [most @ .., least] = DETAILS;
    most.into_iter().map(draft).find(fits).unwrap_or_else(|| draft(least))
}

/// The section at one level of detail: parts with a blank line between them.
fn draft(context: Context<'_>, since: Since<'_>) -> String {
    let mut parts = vec![heading(context.report)];
    parts.extend(frozen(context.report));
    parts.push(headline(context.report));
    parts.extend(tables::moved(context.report, since.before));
    parts.extend(tables::cadence(since.cadence));
    parts.extend(tables::remarks(context.report));
    parts.push(tables::sources(context.report));
    parts.extend(pools::open_blocks(context));
    parts.extend(pools::carried(context));
    parts.extend(pools::folded(context.report));
    parts.extend(pools::categories(context));
    parts.extend(tables::proposals(context));
    parts.extend(tables::standings(context));
    parts.extend(tables::issues(since.issues));
    parts.extend(tables::calibration(context.report));
    parts.extend(tables::unmatched(context.report));
    parts.extend(tables::rejects(context.report));
    parts.push(footer(context));
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

/// Anchor, heading and marker.
fn heading(report: &Report) -> String {
    let run = &report.run_id;
    let (anchor, marker) = (run_anchor(run), run_marker(run));
    format!("{anchor}</a>\n\n## {} · run {run}\n{marker}", minute(report.now))
}

/// A loud line when the clock is frozen.
fn frozen(report: &Report) -> Option<String> {
    report.is_frozen.then(|| {
        format!(
            "> **Frozen clock.** `frozen_now` in {} sets the time of this review to {}; ages and dates are not today's.",
            text::name(&report.settings_path, Place::Markdown),
            minute(report.now)
        )
    })
}

/// Verdicts in bold, then how much was judged, then how it moved.
fn headline(report: &Report) -> String {
    let verdicts = |pools: Vec<&PoolReport>| tally(pools.iter().map(|pool| pool.verdict));
    let (pools, categories): (Vec<_>, Vec<_>) = (pools_of(report).collect(), categories(report).collect());
    let checks: BTreeSet<_> = report.pools.iter().flat_map(|pool| &pool.checks).map(|check| check.check).collect();
    let outcomes = report.pools.iter().map(|pool| pool.checks.len()).sum();
    let bold = if pools.is_empty() { "no pool to judge".to_owned() } else { verdicts(pools.clone()) };
    let and_categories = match categories.len() {
        0 => String::new(),
        count => format!(" and {} ({})", counted(count, "category", "categories"), verdicts(categories)),
    };
    let (pools, checks) = (counted(pools.len(), "pool", "pools"), counted(checks.len(), "check", "checks"));
    let outcomes = counted(outcomes, "outcome", "outcomes");
    format!("**{bold}.** {pools}{and_categories}, {checks}, {outcomes}. {}", movement(report))
}

/// How the outcomes relate to the run before.
fn movement(report: &Report) -> String {
    let counts = report.counts;
    match &report.previous_run {
        None => "First run in this ledger.".to_owned(),
        Some(previous) => format!(
            "Since run {previous}: {} new, {} updated, {} unchanged, {} absent.",
            counts.new, counts.updated, counts.unchanged, counts.absent
        ),
    }
}

/// Where the whole record is, what it rests on, whom to credit, and what it cannot show.
fn footer(context: Context<'_>) -> String {
    let report = context.report;
    let file = format!("runs/{}.json", report.run_id);
    let policy = text::name(short(&report.policy_digest), Place::Markdown);
    let due = report.next_due.map_or(String::new(), |due| format!(" Next review due {}.", minute(due)));
    let mut lines = vec![format!("Every number of this run: {}. Policy {policy}.{due}", context.link(&file, &file))];
    lines.extend(report.index_version.as_ref().map(|version| {
        let version = text::name(version, Place::Markdown);
        format!("Source: Artificial Analysis, https://artificialanalysis.ai (Intelligence Index v{version})")
    }));
    lines.push(if tables::is_still(report) { LIMITS_SHORT } else { LIMITS }.to_owned());
    lines.join("\n\n")
}

/// Eight digits of a digest.
fn short(digest: &str) -> &str {
    let hex = digest.trim_start_matches("sha256:");
    hex.get(..8).unwrap_or(hex)
}

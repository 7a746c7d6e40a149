//! One run as a section of the log. It gives up detail, never verdicts, to stay within what a diff shows at once.

use std::collections::BTreeSet;

use super::parse::{LAST_PART, run_anchor, run_marker};
use super::{brief, pools, tables};
use crate::history::RunFact;
use crate::outputs::text::{self, Place};
use crate::outputs::view::{categories, counted, minute, pools as pools_of, tally};
use crate::verdict::{PoolReport, Report};

/// Longest section that a hosted diff shows without a click.
const MOST_LINES: usize = 400;

/// Its size in bytes.
const MOST_BYTES: usize = 20_000;

/// What no section can show; where nothing moved it stands in the section since which everything holds.
const LIMITS: &str = "What this does not show: cause (routers and people choose who gets which task), what a plan costs in \
                      cash (prices are list prices), how a market index would rank on this fleet's own work.";

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

/// How a pool that moved is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// A block: every check in numbers and in words.
    Full,
    /// A block: every check in numbers, the worst one in words.
    Brief,
    /// One row for every check that needs someone or moved.
    Rows,
}

/// How much a section tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    /// How a pool that moved is told.
    pub(super) blocks: Blocks,
    /// The numbers behind its verdict.
    pub(super) numbers: Numbers,
    /// Most findings in words beside the one that carries each check.
    pub(super) findings: usize,
    /// Most characters of a finding's words.
    pub(super) words: usize,
    /// Most rows of any table and lines of any list; how many more there are is said.
    pub(super) most: usize,
}

impl Detail {
    /// Fewer bytes than a section of so many pools and categories can have when all are told so; folded rows are the shortest.
    fn least_bytes(self, pools: usize) -> usize {
        pools.min(self.most) * 12
    }
}

/// Everything.
const ALL: Detail =
    Detail { blocks: Blocks::Full, numbers: Numbers::Rows, findings: usize::MAX, words: usize::MAX, most: usize::MAX };

/// Without numbers beside those of the checks.
const PLAIN: Detail = Detail { numbers: Numbers::RunFile, findings: 0, ..ALL };

/// From most to least. The last one fits whatever the fleet.
const DETAILS: [Detail; 10] = [
    ALL,
    Detail { numbers: Numbers::Compact, findings: 6, ..ALL },
    Detail { findings: 2, ..PLAIN },
    PLAIN,
    Detail { blocks: Blocks::Brief, words: 240, ..PLAIN },
    Detail { blocks: Blocks::Brief, words: 120, ..PLAIN },
    Detail { blocks: Blocks::Rows, words: 120, ..PLAIN },
    Detail { blocks: Blocks::Rows, words: 120, most: 24, ..PLAIN },
    Detail { blocks: Blocks::Rows, words: 80, most: 8, ..PLAIN },
    Detail { blocks: Blocks::Rows, words: 80, most: 2, ..PLAIN },
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
        self.link_as(&text::name(label, Place::Markdown), file)
    }

    /// The same with words of our own.
    fn link_as(&self, label: &str, file: &str) -> String {
        let path = format!("{}/{file}", self.reports.trim_matches('/'));
        let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
        let is_link = is_plain && !path.split('/').any(|part| part == "..");
        if is_link { format!("[{label}](/{path})") } else { label.to_owned() }
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
    /// Sections that the log has lost, where no section before says so.
    pub lost: Option<&'a str>,
}

/// The section of a run: anchor, heading, headline, sources, one open block per pool that moved, one row per pool that needs
/// someone as before, the rest folded. What a large fleet's section leaves to the run file is said in it. `reports` is the
/// reports folder relative to the repository root.
pub fn render_section(report: &Report, reports: &str, since: Since<'_>) -> String {
    let fits = |text: &String| text.len() <= MOST_BYTES && text.lines().count() <= MOST_LINES;
    let [most @ .., least] = DETAILS;
    let may_fit = |detail: &Detail| detail.least_bytes(report.pools.len()) <= MOST_BYTES;
    let draft = |detail: Detail| draft(Context { report, reports, detail }, since);
    most.into_iter().filter(may_fit).map(draft).find(fits).unwrap_or_else(|| draft(least))
}

/// The section at every level of detail, from most to least, whether it would fit or not.
pub fn levels(report: &Report, reports: &str, since: Since<'_>) -> Vec<String> {
    DETAILS.map(|detail| draft(Context { report, reports, detail }, since)).to_vec()
}

/// The section at one level of detail: parts with a blank line between them.
fn draft(context: Context<'_>, since: Since<'_>) -> String {
    let mut parts = vec![heading(context.report)];
    parts.extend(frozen(context.report));
    parts.push(headline(context.report));
    parts.extend(since.lost.map(lost_note));
    parts.extend(left_out(context));
    parts.extend(tables::moved(context, since.before));
    parts.extend(tables::cadence(context, since.cadence));
    parts.extend(tables::remarks(context));
    parts.push(tables::sources(context));
    parts.extend(pools::open_blocks(context));
    parts.extend(pools::carried(context));
    parts.extend(pools::folded(context));
    parts.extend(pools::categories(context));
    parts.extend(match context.detail.blocks {
        Blocks::Full => tables::proposals(context),
        Blocks::Brief | Blocks::Rows => brief::proposals(context, &parts.concat()),
    });
    parts.extend(tables::standings(context));
    parts.extend(tables::issues(context, since.issues));
    parts.extend(tables::calibration(context));
    parts.extend(tables::unmatched(context));
    parts.extend(tables::rejects(context));
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

/// How the line begins that says what the log has lost.
pub(in crate::outputs) const LOST: &str = "> **Sections are lost.** ";

/// A loud line of what the log has lost.
pub(in crate::outputs) fn lost_note(sentence: &str) -> String {
    format!("{LOST}{}", text::own(sentence, Place::Markdown))
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

/// What this section leaves to the run file so that a diff shows it at once.
fn left_out(context: Context<'_>) -> Option<String> {
    let detail = context.detail;
    let what = match (detail.blocks, detail.numbers) {
        (Blocks::Full, Numbers::Rows | Numbers::Compact) => return None,
        (Blocks::Full, Numbers::RunFile) => "the numbers behind each verdict are",
        (Blocks::Brief, _) => "all but the worst finding of each pool, and the numbers behind each verdict, are",
        (Blocks::Rows, _) => "the words of each finding and the numbers behind each verdict are",
    };
    let rows = match detail.most {
        usize::MAX => String::new(),
        most => format!("; every table is cut after {}", counted(most, "row", "rows")),
    };
    let file = format!("runs/{}.json", context.report.run_id);
    Some(format!("Shortened to 20 KB: {what} in the {}{rows}.", context.link_as("run file", &file)))
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
    let run = if tables::is_still(report) { context.link_as("run file", &file) } else { context.link(&file, &file) };
    let mut lines = vec![format!("{LAST_PART}{run}. Policy {policy}.{due}")];
    lines.extend(report.index_version.as_ref().map(|version| {
        let version = text::name(version, Place::Markdown);
        format!("Source: Artificial Analysis, https://artificialanalysis.ai (Intelligence Index v{version})")
    }));
    lines.extend((!tables::is_still(report)).then(|| LIMITS.to_owned()));
    lines.join("\n\n")
}

/// Eight digits of a digest.
fn short(digest: &str) -> &str {
    let hex = digest.trim_start_matches("sha256:");
    hex.get(..8).unwrap_or(hex)
}

//! The page `index.html`: one self-contained file that needs neither network nor script. It shows what the log says, with
//! pictures; every picture stands above the table of its numbers.

mod calibration;
mod charts;
mod html;
mod pool;
mod proposals;
mod strip;

use html::{esc, own, scroll, table};

use super::view::{NOTHING, categories, counted, minute, pools, tally};
use crate::history::RunFact;
use crate::verdict::{PoolReport, Report, Subject, Verdict};
use crate::vocabulary::{SourceNote, SourceState};

/// The style sheet.
const STYLE: &str = include_str!("style.css");

/// What every page begins with: no script, no font, no picture from anywhere.
const HEAD: &str = include_str!("head.html");

/// What no page can show.
const LIMITS: &str = "What this does not show: cause (routers and people choose who gets which task), what a plan costs in cash (prices \
                      are list prices), how a market index would rank on this fleet's own work.";

/// What every part of the page is drawn from.
#[derive(Clone, Copy)]
struct Context<'a> {
    /// The report.
    report: &'a Report,
    /// What the ledger says of each run, oldest first, up to this one.
    runs: &'a [(&'a str, &'a RunFact)],
    /// How much is told.
    detail: Detail,
}

/// How much the page tells about each pool.
#[derive(Clone, Copy)]
struct Detail {
    /// Most numbers behind its verdict; the run file has them all.
    numbers: usize,
    /// Whether aligned pools get pictures too.
    all_pictures: bool,
}

/// From most to least. A fleet of fifty pools fits at one of them.
const DETAILS: [Detail; 4] = [
    Detail { numbers: 24, all_pictures: true },
    Detail { numbers: 8, all_pictures: true },
    Detail { numbers: 0, all_pictures: true },
    Detail { numbers: 0, all_pictures: false },
];

/// Largest page, bytes.
const MOST_BYTES: usize = 1_000_000;

/// The page of a run. `runs` is what the ledger says of each run, oldest first. A large fleet gives up detail, never verdicts.
pub fn render(report: &Report, runs: &[(&str, &RunFact)]) -> String {
    let until = runs.partition_point(|(run, _)| *run <= report.run_id.as_str());
    let page = |detail: Detail| draft(Context { report, runs: &runs[..until], detail });
    let [most @ .., least] = DETAILS;
    most.into_iter().map(page).find(|page| page.len() < MOST_BYTES).unwrap_or_else(|| page(least))
}

/// The page at one level of detail.
fn draft(context: Context<'_>) -> String {
    let report = context.report;
    let mut body = vec![header(report), "<main id=\"main\">".to_owned(), overview(context)];
    body.push("<h2 id=\"pools\">Pools</h2>".to_owned());
    body.extend(ordered(report).into_iter().map(|(number, one)| pool::article(context, number, one)));
    body.extend(category_table(report));
    body.push(proposals::section(report));
    body.push(calibration::section(report));
    body.push(sources(report));
    body.push("</main>".to_owned());
    body.push(footer(report));
    let head = HEAD.replace("[WHEN]", &minute(report.now)).replace("[STYLE]", STYLE);
    format!("{head}{}\n</body>\n</html>\n", body.join("\n"))
}

/// Pools with their number in the report, worst verdict first; equals keep their order.
fn ordered(report: &Report) -> Vec<(usize, &PoolReport)> {
    let mut all: Vec<(usize, &PoolReport)> = pools(report).enumerate().collect();
    all.sort_by_key(|(_, pool)| std::cmp::Reverse(pool.verdict));
    all
}

/// Which run this is, how it went, and where to go.
fn header(report: &Report) -> String {
    let frozen = report.is_frozen.then(|| {
        format!(
            "<p class=\"loud\"><strong>Frozen clock.</strong> <code>frozen_now</code> in <code>{}</code> sets the time of this review; ages \
             and dates are not today's.</p>",
            esc(&report.settings_path)
        )
    });
    let due = report.next_due.map_or(String::new(), |due| format!(" Next review due {}.", minute(due)));
    let counts = report.counts;
    let moved = report.previous_run.as_ref().map_or("First run in this ledger.".to_owned(), |previous| {
        let (new, updated, unchanged, absent) = (counts.new, counts.updated, counts.unchanged, counts.absent);
        format!("Since run {}: {new} new, {updated} updated, {unchanged} unchanged, {absent} absent.", esc(previous))
    });
    let links = [
        ("overview", "Overview"),
        ("pools", "Pools"),
        ("proposals", "Proposals"),
        ("calibration", "Calibration"),
        ("sources", "Sources"),
    ];
    let links = links.map(|(id, name)| format!("<li><a href=\"#{id}\">{name}</a></li>")).concat();
    format!(
        "<a class=\"skip\" href=\"#main\">Skip to the overview</a>\n<header>\n<h1>Pool review</h1>\n<p>Run {} · {}. {moved}{due}</p>\n{}\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n</header>",
        esc(&report.run_id),
        minute(report.now),
        frozen.unwrap_or_default()
    )
}

/// A verdict as a word with a sign in front; the word alone says it.
fn badge(verdict: Verdict) -> String {
    let sign = match verdict {
        Verdict::Aligned => "✓",
        Verdict::InsufficientEvidence => "…",
        Verdict::Watch => "◷",
        Verdict::Unresolved => "≈",
        Verdict::Misaligned => "▲",
        Verdict::Blocked => "■",
    };
    format!("<span class=\"badge {verdict}\"><span aria-hidden=\"true\">{sign}</span> {verdict}</span>")
}

/// Every pool by verdict.
fn overview(context: Context<'_>) -> String {
    let report = context.report;
    let all: Vec<&PoolReport> = pools(report).collect();
    let words = tally(all.iter().map(|pool| pool.verdict));
    let rows = ordered(report).into_iter().map(|(number, pool)| {
        let mut cells =
            vec![format!("<a href=\"#pool-{number}\"><code>{}</code></a>", esc(pool.id.as_str())), badge(pool.verdict)];
        cells.extend(pool.checks.iter().map(|check| check.verdict.to_string()));
        cells.push(strip::strip(context.runs, pool));
        cells
    });
    let mut heads = vec!["Pool", "Verdict"];
    heads.extend(all.first().into_iter().flat_map(|pool| &pool.checks).map(|check| check.check.as_str()));
    heads.push("History, oldest run first");
    format!(
        "<h2 id=\"overview\">Overview</h2>\n<p>{}: {}. {} open.</p>\n{}",
        counted(all.len(), "pool", "pools"),
        if words.is_empty() { "none" } else { &words },
        counted(report.proposals.len(), "proposal", "proposals"),
        scroll("Pools by verdict", &table(None, &heads, &[], rows))
    )
}

/// Categories and what they run on.
fn category_table(report: &Report) -> Option<String> {
    let all: Vec<&PoolReport> = categories(report).collect();
    let rows = all.iter().map(|category| {
        let on = match &category.subject {
            Subject::Category { pool: Some(pool) } => format!("<code>{}</code>", esc(pool.as_str())),
            _ => NOTHING.to_owned(),
        };
        let findings = category.checks.iter().flat_map(|check| &check.findings);
        let own: Vec<String> = findings.map(|finding| html::sentence(&finding.why)).collect();
        let own = if own.is_empty() { NOTHING.to_owned() } else { own.join("; ") };
        vec![format!("<code>{}</code>", esc(category.id.as_str())), on, badge(category.verdict), own]
    });
    let table = table(None, &["Category", "Runs on", "Verdict", "Of its own"], &[], rows);
    (!all.is_empty()).then(|| format!("<h2 id=\"categories\">Categories</h2>\n{}", scroll("Categories", &table)))
}

/// What the judgement rests on.
fn sources(report: &Report) -> String {
    let hours = |hours: Option<f64>| hours.map_or(NOTHING.to_owned(), |hours| format!("{hours:.1}"));
    let row = |note: &SourceNote| {
        let state = match &note.state {
            SourceState::Fresh => "fresh".to_owned(),
            SourceState::Stale => "<strong class=\"misaligned\">stale</strong>".to_owned(),
            SourceState::NotConfigured => "not configured".to_owned(),
            SourceState::Failed(reason) => {
                format!("<strong class=\"misaligned\">failed</strong>: {}", html::quote(reason))
            }
        };
        vec![
            note.source.to_string(),
            state,
            note.as_of.map_or(NOTHING.to_owned(), minute),
            hours(note.age_hours(report.now)),
            hours(note.max_age_hours),
            note.rows.to_string(),
            note.used.to_string(),
            note.rejected.to_string(),
        ]
    };
    let heads = ["Source", "State", "As of", "Age h", "Max age h", "Rows", "Used", "Rejected"];
    let table = table(None, &heads, &[3, 4, 5, 6, 7], report.sources.iter().map(row));
    let unmatched = counted(report.unmatched.len(), "name", "names");
    format!(
        "<h2 id=\"sources\">Sources</h2>\n{}\n<p class=\"soft\">{unmatched} of models matched nothing; the run file lists them.</p>",
        scroll("Sources and their age", &table)
    )
}

/// Whom to credit, where the record is, and what this cannot show.
fn footer(report: &Report) -> String {
    let run = &report.run_id;
    let credit = report.index_version.as_ref().map(|version| {
        format!(
            "<p>Source: Artificial Analysis, https://artificialanalysis.ai (Intelligence Index v{})</p>\n",
            esc(version)
        )
    });
    format!(
        "<footer>\n<p>Every number of this run: <a href=\"runs/{run}.json\">runs/{run}.json</a>. The page is made anew by every run; the log \
         keeps them all.</p>\n{}<p>{}</p>\n</footer>",
        credit.unwrap_or_default(),
        own(LIMITS)
    )
}

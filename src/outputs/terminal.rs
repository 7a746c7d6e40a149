//! What a person reads at the end of a run: one block per pool that needs someone, the tally, one status per check last.
//! Lines fit the terminal's width; what does not fit stands on further lines.

use std::collections::{BTreeMap, BTreeSet};

use super::text::{self, Place};
use super::view::{
    categories, counted, head, limit, measured, minute, moved, observations, pools, shortened, standing, tally,
};
use super::wrap;
use crate::verdict::{CheckReport, Finding, PoolReport, Report, Standing, Subject, Verdict};
use crate::vocabulary::{SourceNote, SourceState};

/// Longest sentence.
const MOST_WORDS: usize = 240;

/// Columns of the verdict and of the gaps around it.
const VERDICT: usize = 25;

/// Most proposals that landed, ended or were decided.
const MOST_TOLD: usize = 10;

/// Width of the column of names.
const MOST_NAME: usize = 28;

/// How a summary looks.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Whether escape codes are wanted.
    pub colour: bool,
    /// Columns of a line.
    pub columns: usize,
    /// The reports folder as configured.
    pub reports: &'a str,
}

impl Look<'_> {
    /// For a pipe.
    pub const PLAIN: Self = Self { colour: false, columns: wrap::WIDTH, reports: "reports" };
}

/// The summary of a run. Colour adds nothing that the words do not say.
pub fn render(report: &Report, look: Look<'_>) -> String {
    render_with(report, look, &[])
}

/// The same with what was done about issues, before the tally.
pub fn render_with(report: &Report, look: Look<'_>, issues: &[String]) -> String {
    let columns = look.columns;
    let paint = Paint { colour: look.colour, width: name_width(report), columns };
    let mut lines = vec![title(report)];
    let reports = show(look.reports.trim_end_matches('/'));
    let written = format!("all of it: {reports}/index.html in a browser, {reports}/README.md as text");
    lines.extend(frozen(report).into_iter().chain([written]).flat_map(|line| wrap::line(&line, columns)));
    lines.push(String::new());
    lines.extend(blocks(report, paint));
    lines.extend(grouped(pools(report), "pools", Verdict::InsufficientEvidence, paint));
    lines.extend(categories(report).flat_map(|category| own_block(category, paint)));
    lines.extend(categories(report).filter(|category| is_unread(category)).flat_map(|all| unread_lines(all, paint)));
    let by_pool = |category: &&PoolReport| own_finding(category).is_none() && !is_unread(category);
    for verdict in Verdict::WORST_FIRST.into_iter().filter(|verdict| *verdict != Verdict::Aligned) {
        lines.extend(grouped(categories(report).filter(by_pool), "by their pool", verdict, paint));
    }
    if lines.last().is_some_and(|line| !line.is_empty()) {
        lines.push(String::new());
    }
    lines.extend(standings(report).into_iter().flat_map(|line| wrap::line(&line, columns)));
    if !issues.is_empty() {
        lines.extend(issues.iter().flat_map(|line| wrap::line(line, columns)));
        lines.push(String::new());
    }
    let last = remedies(report).into_iter().chain(super::credit(report)).chain(tallies(report)).chain([checks(report)]);
    lines.extend(last.flat_map(|line| wrap::line(&line, columns)));
    lines.join("\n") + "\n"
}

/// How words are laid out and painted.
#[derive(Clone, Copy)]
struct Paint {
    /// Whether escape codes are wanted.
    colour: bool,
    /// Width of the column of names.
    width: usize,
    /// Columns of a line.
    columns: usize,
}

impl Paint {
    /// A verdict word, padded, in its colour.
    fn verdict(self, verdict: Verdict) -> String {
        let code = match verdict {
            Verdict::Blocked | Verdict::Misaligned => 31,
            Verdict::Unresolved | Verdict::Watch => 33,
            Verdict::InsufficientEvidence => 36,
            Verdict::Aligned => 32,
        };
        let word = format!("{verdict:<21}");
        if self.colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word }
    }

    /// A name, padded.
    fn name(self, name: &str) -> String {
        format!("{:<width$}", shortened(name, self.width), width = self.width)
    }

    /// A name, its verdict and what there is to say, each behind a label, in lines that fit.
    fn lines(self, name: &str, verdict: Verdict, said: &[(String, String)]) -> Vec<String> {
        let start = self.width + VERDICT;
        let indent = " ".repeat(start);
        let mut lines = Vec::new();
        for (i, (label, words)) in said.iter().enumerate() {
            let mut fitting = wrap::behind(start + label.chars().count(), words, self.columns);
            fitting[0].insert_str(0, label);
            let before =
                if i == 0 { format!("{}  {}  ", self.name(name), self.verdict(verdict)) } else { indent.clone() };
            fitting[0].insert_str(0, &before);
            let length = fitting[0].trim_end().len();
            fitting[0].truncate(length);
            lines.extend(fitting);
        }
        lines
    }
}

/// A name on a terminal.
fn show(name: &str) -> String {
    text::name(name, Place::Terminal)
}

/// Whether a pool gets a block of its own.
fn needs_someone(pool: &PoolReport) -> bool {
    !matches!(pool.verdict, Verdict::Aligned | Verdict::InsufficientEvidence)
}

/// The longest name that is listed.
fn name_width(report: &Report) -> usize {
    let needing = pools(report).filter(|pool| needs_someone(pool));
    let listed = needing.chain(categories(report).filter(|category| own_finding(category).is_some()));
    let widths = listed.map(|pool| short_name(pool.id.as_str()).chars().count());
    widths.max().unwrap_or(0).clamp("by their pool".len(), MOST_NAME)
}

/// What landed, ended or was decided since the run before, and what a steward said that the config does not show.
fn standings(report: &Report) -> Vec<String> {
    let is_told = |one: &&Standing| one.is_moved || one.unseen.is_some() || one.due.is_some();
    let told = report.other_standings().into_iter().filter(is_told);
    let line = |one| shortened(&text::sentence(&standing(one, report), Place::Terminal), MOST_WORDS);
    let mut lines: Vec<String> = told.map(line).collect();
    let more = lines.len().saturating_sub(MOST_TOLD);
    lines.truncate(MOST_TOLD);
    if more > 0 {
        lines.push(format!("and {more} more: pool-review proposals list --all"));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// Which run this is.
fn title(report: &Report) -> String {
    format!("pool-review run {} ({})", report.run_id, minute(report.now))
}

/// A loud line when the clock is frozen.
fn frozen(report: &Report) -> Option<String> {
    let path = show(&report.settings_path);
    report
        .is_frozen
        .then(|| format!("FROZEN CLOCK: frozen_now in {path} sets the time; ages and dates are not today's, and running again changes nothing"))
}

/// What there is to say of a pool: lines of a label and words.
type Said = Vec<(String, String)>;

/// Fewest pools that share a block because the same keeps all of them from being judged.
const FEW: usize = 3;

/// What there is to say of pools that need someone, in report order. Pools of which nothing but the same reasons can be said
/// share a block.
fn blocks(report: &Report, paint: Paint) -> Vec<String> {
    let mut groups: Vec<(Said, Vec<&PoolReport>)> = Vec::new();
    for pool in pools(report).filter(|pool| needs_someone(pool)) {
        let said = block(report, pool);
        let mut carrying = pool.checks.iter().filter(|check| check.verdict == pool.verdict);
        let is_alike = |group: &&mut (Said, Vec<&PoolReport>)| {
            group.0 == said && group.1.iter().all(|other| other.verdict == pool.verdict)
        };
        let group = if carrying.all(|check| head(check).is_none()) { groups.iter_mut().find(is_alike) } else { None };
        match group {
            Some(group) => group.1.push(pool),
            None => groups.push((said, vec![pool])),
        }
    }
    groups.iter().flat_map(|(said, pools)| group(said, pools, paint)).collect()
}

/// A block of one pool, or of several with their names below it.
fn group(said: &[(String, String)], pools: &[&PoolReport], paint: Paint) -> Vec<String> {
    let names: Vec<String> = pools.iter().map(|pool| show(pool.id.as_str())).collect();
    if pools.len() < FEW {
        return names.iter().zip(pools).flat_map(|(name, pool)| paint.lines(name, pool.verdict, said)).collect();
    }
    let all: Said = said.iter().cloned().chain([("pools: ".to_owned(), names.join(", "))]).collect();
    paint.lines(&format!("{} pools", pools.len()), pools[0].verdict, &all)
}

/// Sources that are stale or failed, and what to do.
fn remedies(report: &Report) -> Vec<String> {
    let one = |note: &SourceNote| {
        let what = match (&note.state, note.age_hours(report.now), note.max_age_hours) {
            (SourceState::Failed(reason), ..) => format!("failed: {}", text::quote(reason, Place::Terminal)),
            (SourceState::Stale, Some(age), Some(limit)) => format!("stale: {age:.1} h old, at most {limit:.1} h"),
            (SourceState::Stale, ..) => {
                "stale: nothing says how old it is (a sidecar <file>.meta.json would)".to_owned()
            }
            _ => return None,
        };
        Some(format!(
            "source {} is {what}; pool-review doctor says more, pool-review fetch brings market data",
            note.source
        ))
    };
    report.sources.iter().filter_map(one).collect()
}

/// One pool: a line per check that carries its verdict, then the verdicts of the other checks.
fn block(report: &Report, pool: &PoolReport) -> Said {
    let rest: Vec<_> = pool
        .checks
        .iter()
        .filter(|check| check.verdict != pool.verdict && check.verdict != Verdict::Aligned)
        .map(|check| format!("{} {}", check.check, check.verdict))
        .collect();
    let carrying = pool.checks.iter().filter(|check| check.verdict == pool.verdict);
    let mut lines: Said = carrying.map(|check| (format!("{:<13}  ", check.check), said(report, check))).collect();
    if !rest.is_empty() {
        lines.push(("also ".to_owned(), rest.join(", ")));
    }
    lines
}

/// What a check says in one line: its carrying finding in numbers, or why it has none.
fn said(report: &Report, check: &CheckReport) -> String {
    head(check).map_or_else(|| because(check), |finding| numbers(report, finding))
}

/// A finding in numbers: what, whom, measured, limit, n, and the proposal that answers it.
fn numbers(report: &Report, finding: &Finding) -> String {
    let mut words = vec![finding.code.to_owned(), moved(finding, Place::Terminal)];
    words.extend(measured(finding));
    words.extend(limit(finding).map(|limit| format!("(limit {limit})")));
    words.extend(observations(finding).map(|n| format!("(n {n})")));
    let proposal = report.proposals.iter().find(|proposal| super::log::answers(proposal, finding));
    words.extend(proposal.map(|proposal| {
        let short = show(proposal.fingerprint.get(..13).unwrap_or_default());
        format!("[{}]", format!("{} {short}", report.label(&proposal.fingerprint)).trim_start())
    }));
    words.join("  ")
}

/// Why a check without a finding says what it says.
fn because(check: &CheckReport) -> String {
    let summary = text::sentence(&check.summary, Place::Terminal);
    let reasons: Vec<_> = check.reasons.iter().map(|reason| show(reason)).collect();
    let words = if summary.is_empty() { reasons.join(", ") } else { summary };
    shortened(&words, MOST_WORDS)
}

/// The worst finding that a category has of its own, notes left out.
fn own_finding(category: &PoolReport) -> Option<&Finding> {
    let findings = category.checks.iter().flat_map(|check| &check.findings);
    findings.filter(|finding| finding.verdict.is_some()).max_by_key(|finding| finding.verdict)
}

/// A category with a finding of its own.
fn own_block(category: &PoolReport, paint: Paint) -> Vec<String> {
    let Some(finding) = own_finding(category) else { return Vec::new() };
    let words = shortened(&text::sentence(&finding.why, Place::Terminal), MOST_WORDS);
    let label = format!("category: {}  ", finding.code);
    paint.lines(&short_name(category.id.as_str()), category.verdict, &[(label, words)])
}

/// Whether a row stands for categories that could not be read: blocked, with no pool and no finding behind it.
fn is_unread(category: &PoolReport) -> bool {
    let is_without_pool = matches!(category.subject, Subject::Category { pool: None });
    is_without_pool && category.verdict == Verdict::Blocked && own_finding(category).is_none()
}

/// Why the categories are blocked.
fn unread_lines(all: &PoolReport, paint: Paint) -> Vec<String> {
    all.checks
        .first()
        .map_or_else(Vec::new, |check| paint.lines("categories", all.verdict, &[(String::new(), because(check))]))
}

/// All names with one verdict.
fn grouped<'a>(pools: impl Iterator<Item = &'a PoolReport>, what: &str, verdict: Verdict, paint: Paint) -> Vec<String> {
    let names: Vec<_> = pools.filter(|pool| pool.verdict == verdict).map(|pool| short_name(pool.id.as_str())).collect();
    if names.is_empty() { Vec::new() } else { paint.lines(what, verdict, &[(String::new(), names.join(", "))]) }
}

/// A category without its prefix.
fn short_name(id: &str) -> String {
    show(id.strip_prefix("category/").unwrap_or(id))
}

/// How many of each verdict, how they moved, and what is open.
fn tallies(report: &Report) -> Vec<String> {
    let (pools, categories): (Vec<_>, Vec<_>) = (pools(report).collect(), categories(report).collect());
    let of = |pools: &[&PoolReport]| tally(pools.iter().map(|pool| pool.verdict));
    let mut first = vec![if pools.is_empty() {
        "no pool is defined in the config that was read; pool-review doctor lists the files".to_owned()
    } else {
        format!("{}: {}", counted(pools.len(), "pool", "pools"), of(&pools))
    }];
    if !categories.is_empty() {
        first.push(format!("{}: {}", counted(categories.len(), "category", "categories"), of(&categories)));
    }
    let counts = report.counts;
    let moved = report.previous_run.as_ref().map_or("first run in this ledger".to_owned(), |run| {
        let (new, updated, unchanged, absent) = (counts.new, counts.updated, counts.unchanged, counts.absent);
        format!("{new} new, {updated} updated, {unchanged} unchanged, {absent} absent since run {run}")
    });
    let open = match report.proposals.len() {
        0 => "no open proposal".to_owned(),
        count => counted(count, "open proposal", "open proposals"),
    };
    let asleep = report.standings.values().filter(|one| matches!(one.status.as_str(), "rejected" | "deferred")).count();
    let open = if asleep > 0 { format!("{open}, {asleep} put to sleep by a steward") } else { open };
    let unmatched = counted(report.unmatched.len(), "name", "names");
    vec![first.join(". "), format!("{moved}; {open}; {unmatched} not matched")]
}

/// One status per check over the pools: `ok`, or how many of each verdict.
fn checks(report: &Report) -> String {
    let ids: BTreeSet<_> = pools(report).flat_map(|pool| &pool.checks).map(|check| check.check).collect();
    let mut verdicts: BTreeMap<_, Vec<Verdict>> = BTreeMap::new();
    for check in pools(report).flat_map(|pool| &pool.checks) {
        verdicts.entry(check.check).or_default().push(check.verdict);
    }
    let status = |id: &crate::vocabulary::CheckId| {
        let bad = verdicts[id].iter().copied().filter(|verdict| *verdict != Verdict::Aligned);
        let words = tally(bad).replace(',', "");
        format!("{id} {}", if words.is_empty() { "ok" } else { &words })
    };
    let all: Vec<_> = ids.iter().map(status).collect();
    if all.is_empty() { "no check ran".to_owned() } else { all.join(", ") }
}

//! The tables of a section that are not about one pool: sources, proposals, what was not matched, what was not used.

use std::collections::BTreeMap;

use super::section::Context;
use crate::history::RunFact;
use crate::outputs::calibration;
use crate::outputs::issues::PLANNED;
use crate::outputs::text::{self, Place};
use crate::outputs::view::{self, NOTHING, counted, minute};
use crate::verdict::{Baseline, PoolReport, Proposal, Report, Standing};
use crate::vocabulary::{SourceNote, SourceState};

/// Most names of one source in the list of what was not matched; the run file has them all.
const MOST_UNMATCHED: usize = 40;

/// Most proposals that are listed in one place.
const MOST_PROPOSALS: usize = 30;

/// Rows under a heading row.
pub(super) fn table(heads: &[&str], rule: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut lines = vec![format!("| {} |", heads.join(" | ")), rule.to_owned()];
    lines.extend(rows.into_iter().map(|cells| format!("| {} |", cells.join(" | "))));
    lines.join("\n")
}

/// As many rows as a section shows, and how many more there are; a row is only made when it is shown.
pub(super) fn capped<T>(
    context: Context<'_>,
    heads: &[&str],
    rule: &str,
    all: &[T],
    row: impl Fn(&T) -> Vec<String>,
) -> String {
    let more = all.len().saturating_sub(context.detail.most);
    let table = table(heads, rule, all.iter().take(context.detail.most).map(row));
    if more == 0 {
        table
    } else {
        format!("{table}\n\nAnd {} in the run file.", counted(more, "more row", "more rows"))
    }
}

/// As many lines as a section shows, and how many more there are.
pub(super) fn listed(context: Context<'_>, mut lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(context.detail.most);
    lines.truncate(context.detail.most);
    if more > 0 {
        lines.push(format!("- and {more} more in the run file"));
    }
    lines.join("\n")
}

/// A part that is folded away: GitHub needs the blank lines.
pub(super) fn fold(summary: &str, body: &str) -> String {
    format!("<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>")
}

/// Whether no outcome moved since the run before: then a section says in a line what the run file says in full.
pub(super) fn is_still(report: &Report) -> bool {
    let counts = report.counts;
    report.previous_run.is_some() && counts.new + counts.updated + counts.absent == 0
}

/// What the judgement rests on. Where nothing moved, sources that are fresh share a line with their ages, without remarks.
pub(super) fn sources(context: Context<'_>) -> String {
    let report = context.report;
    let heads = ["Source", "State", "As of", "Age h", "Max age h", "Rows", "Used", "Rejected", "Digest"];
    let (absent, there): (Vec<&SourceNote>, Vec<&SourceNote>) =
        report.sources.iter().partition(|note| note.state == SourceState::NotConfigured);
    let (short, long): (Vec<&SourceNote>, Vec<&SourceNote>) =
        there.into_iter().partition(|note| is_still(report) && note.is_usable());
    let mut parts = Vec::new();
    if !long.is_empty() {
        let rows = long.into_iter().map(|note| source_row(note, report));
        parts.push(table(&heads, "|:--|:--|:--|--:|--:|--:|--:|--:|:--|", rows));
    }
    let ages: Vec<String> = short.iter().map(|note| short_age(note, report)).collect();
    if !ages.is_empty() {
        parts.push(format!("Fresh, age of at most: {}.", ages.join(", ")));
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|note| note.source.as_str()).collect();
        parts.push(format!("Not configured: {}.", names.join(", ")));
    }
    let told = report.sources.iter().filter(|note| !is_still(report) || !note.is_usable());
    let remarks: Vec<_> = told.filter(|note| !note.remarks.is_empty()).map(source_remarks).collect();
    if !remarks.is_empty() {
        parts.push(listed(context, remarks));
    }
    parts.join("\n\n")
}

/// A fresh source with its age, the age from which on it is stale, and how many of its rows were not used because they are
/// broken.
fn short_age(note: &SourceNote, report: &Report) -> String {
    let hours = |hours: Option<f64>| hours.map_or(NOTHING.to_owned(), |hours| format!("{hours:.1}"));
    let age = format!("{} {} of {} h", note.source, hours(note.age_hours(report.now)), hours(note.max_age_hours));
    if note.rejected == 0 { age } else { format!("{age} ({} of {} rows rejected)", note.rejected, note.rows) }
}

/// Further facts about one source.
fn source_remarks(note: &SourceNote) -> String {
    let remarks: Vec<_> = note.remarks.iter().map(|remark| text::quote(remark, Place::Markdown)).collect();
    format!("- {}: {}", note.source, remarks.join(", "))
}

/// One source.
fn source_row(note: &SourceNote, report: &Report) -> Vec<String> {
    let hours = |hours: Option<f64>| hours.map_or(NOTHING.to_owned(), |hours| format!("{hours:.1}"));
    let state = match &note.state {
        SourceState::Fresh => "fresh".to_owned(),
        SourceState::Stale => "**stale**".to_owned(),
        SourceState::NotConfigured => "not configured".to_owned(),
        SourceState::Failed(reason) => format!("**failed**: {}", text::quote(reason, Place::Markdown)),
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
        note.digest.as_ref().map_or(NOTHING.to_owned(), |digest| format!("`{}`", digest.short())),
    ]
}

/// Remarks on the whole run.
pub(super) fn remarks(context: Context<'_>) -> Option<String> {
    let lines: Vec<_> =
        context.report.remarks.iter().map(|remark| format!("- {}", text::sentence(remark, Place::Markdown))).collect();
    (!lines.is_empty()).then(|| listed(context, lines))
}

/// Pools and categories whose verdict is another than in the run before.
pub(super) fn moved(context: Context<'_>, before: Option<&RunFact>) -> Option<String> {
    let (report, before) = (context.report, before?);
    let line = |pool: &PoolReport| {
        let was = before.verdicts.get(pool.id.as_str()).map(|pool| pool.verdict);
        let name = text::name(pool.id.as_str(), Place::Markdown);
        match was {
            Some(was) if was == pool.verdict => None,
            Some(was) => Some(format!("- {name}: {was} → {}", pool.verdict)),
            None => Some(format!("- {name}: not there before → {}", pool.verdict)),
        }
    };
    let gone =
        before.verdicts.iter().filter(|(id, _)| !report.pools.iter().any(|pool| pool.id.as_str() == id.as_str()));
    let gone = gone.map(|(id, was)| format!("- {}: {} → not there", text::name(id, Place::Markdown), was.verdict));
    let lines: Vec<String> = report.pools.iter().filter_map(line).chain(gone).collect();
    (!lines.is_empty()).then(|| format!("Verdicts that moved:\n\n{}", listed(context, lines)))
}

/// Runs that were missed, late or killed since the run before.
pub(super) fn cadence(context: Context<'_>, said: &[String]) -> Option<String> {
    let lines: Vec<_> = said.iter().map(|line| format!("- {}", text::own(line, Place::Markdown))).collect();
    (!lines.is_empty()).then(|| format!("Cadence since the run before:\n\n{}", listed(context, lines)))
}

/// The link of a proposal, by the first digits of its fingerprint.
pub(super) fn proposal_link(context: Context<'_>, proposal: &Proposal) -> String {
    let short = proposal.fingerprint.get(..13).unwrap_or(&proposal.fingerprint);
    let link = context.link(short, &format!("proposals/{}.json", proposal.fingerprint));
    format!("{} {link}", context.report.label(&proposal.fingerprint)).trim_start().to_owned()
}

/// The number of a proposal and the first digits of its fingerprint with how long it has been carried: the index and the section of `Since` have the link.
pub(super) fn carried_name(context: Context<'_>, proposal: &Proposal) -> String {
    let short = text::name(proposal.fingerprint.get(..13).unwrap_or(&proposal.fingerprint), Place::Markdown);
    let standing = context.report.standings.get(&proposal.fingerprint);
    standing.map_or(short.clone(), |standing| format!("{} {short} {}", standing.label(), view::carried(standing)))
}

/// Open proposals.
pub(super) fn proposals(context: Context<'_>) -> Option<String> {
    let show = |text: &str| text::name(text, Place::Markdown);
    let row = |proposal: &Proposal| {
        vec![
            proposal_link(context, proposal),
            text::own(&proposal.baseline_state, Place::Markdown),
            text::own(&proposal.status, Place::Markdown),
            proposal.revision.to_string(),
            text::own(&proposal.kind, Place::Markdown),
            show(&proposal.pool),
            text::quote(&proposal.title, Place::Markdown),
        ]
    };
    let heads = ["Proposal", "State", "Status", "Revision", "Kind", "Pool", "Title"];
    let (carried, moved): (Vec<&Proposal>, Vec<&Proposal>) =
        context.report.proposals.iter().partition(|proposal| proposal.baseline_state == Baseline::Unchanged.as_str());
    let table = (!moved.is_empty()).then(|| table(&heads, "|:--|:--|:--|--:|:--|:--|:--|", moved.into_iter().map(row)));
    let carried = carried.into_iter().filter(|proposal| !super::pools::is_carried(context, proposal));
    let names: Vec<String> = carried.map(|proposal| carried_name(context, proposal)).collect();
    let carried = (!names.is_empty()).then(|| format!("Unchanged: {}", first(context, names, "; ")));
    let parts: Vec<String> = table.into_iter().chain(carried).collect();
    (!parts.is_empty()).then(|| format!("### Proposals open after this run\n\n{}", parts.join("\n\n")))
}

/// What became of issues; the lines are Markdown already. Where nothing moved, a plan that was not sent is only counted.
pub(super) fn issues(context: Context<'_>, lines: &[String]) -> Option<String> {
    if let [planned @ .., last] = lines
        && last.starts_with(PLANNED)
        && is_still(context.report)
    {
        return Some(format!("Issues planned and not sent, as before: {}.", planned.len()));
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    (!lines.is_empty()).then(|| format!("### Issues\n\n{}", listed(context, lines)))
}

/// How the reviewer's own claims came true, and the landed changes that are being measured or whose measurement ended now. Where
/// nothing moved and nothing was ever measured, a few words.
pub(super) fn calibration(context: Context<'_>) -> Vec<String> {
    let report = context.report;
    let numbers = &report.calibration;
    if is_still(report) && !numbers.has_history() {
        return vec![format!("Calibration: n 0; new claims at {:.3}.", numbers.propose_bar)];
    }
    let bounds =
        calibration::bounds_line(numbers).map_or_else(String::new, |said| format!(" Aligned verdicts: {said}."));
    let mut parts = vec![format!("Calibration of our own claims: {}.{bounds}", calibration::line(numbers))];
    let changes: Vec<_> = calibration::current(numbers).collect();
    if !changes.is_empty() {
        let rule = "|:--|:--|:--|--:|--:|--:|:--|:--|";
        let table =
            capped(context, &calibration::HEADS, rule, &changes, |change| calibration::cells(change, Place::Markdown));
        parts.push(format!("### Landed changes, measured\n\n{table}"));
    }
    parts
}

/// What stewards decided, what landed and what ended, one line each.
pub(super) fn standings(context: Context<'_>) -> Option<String> {
    let line = |standing: &Standing| {
        format!("- {}", text::sentence(&view::standing(standing, context.report), Place::Markdown))
    };
    let lines: Vec<String> = context.report.other_standings().into_iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("### Proposals decided, landed or ended\n\n{}", first(context, lines, "\n")))
}

/// The first few of some lines, and how many more there are.
fn first(context: Context<'_>, mut lines: Vec<String>, between: &str) -> String {
    let most = MOST_PROPOSALS.min(context.detail.most);
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    if more > 0 {
        let start = if between.contains('\n') { "- " } else { "" };
        lines.push(format!("{start}and {more} more in the run file"));
    }
    lines.join(between)
}

/// Names that matched nothing, by source; suggestions are shown and never used.
pub(super) fn unmatched(context: Context<'_>) -> Option<String> {
    let report = context.report;
    let most = MOST_UNMATCHED.min(context.detail.most);
    let mut by_source: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (source, id, suggestion) in &report.unmatched {
        let id = text::name(id, Place::Markdown);
        let like = |like: &String| format!("{id} (like {})", text::name(like, Place::Markdown));
        by_source.entry(source).or_default().push(suggestion.as_ref().map_or_else(|| id.clone(), like));
    }
    let line = |(source, mut names): (&str, Vec<String>)| {
        let more = names.len().saturating_sub(most);
        names.truncate(most);
        if more > 0 {
            names.push(format!("and {more} more in the run file"));
        }
        format!("- {}: {}", text::own(source, Place::Markdown), names.join(", "))
    };
    if is_still(report) && !report.unmatched.is_empty() {
        let names = counted(report.unmatched.len(), "name", "names");
        return Some(format!("{names} matched no known model; the run file has them."));
    }
    let lines: Vec<_> = by_source.into_iter().map(line).collect();
    let summary = format!("Names that matched no known model: {} (suggestions are never used)", report.unmatched.len());
    (!lines.is_empty()).then(|| fold(&summary, &lines.join("\n")))
}

/// The first few rows of each source that were not used; where nothing moved their counts stand with the sources.
pub(super) fn rejects(context: Context<'_>) -> Option<String> {
    let mut lines = Vec::new();
    for note in context.report.sources.iter().filter(|note| !is_still(context.report) || !note.is_usable()) {
        for reject in &note.rejects {
            let place = text::name(&reject.place.to_string(), Place::Markdown);
            lines.push(format!("- {}: {place} {}", note.source, text::quote(&reject.reason, Place::Markdown)));
        }
        let more = note.rejected.saturating_sub(note.rejects.len() as u64);
        if more > 0 {
            lines.push(format!("- {}: and {more} more", note.source));
        }
    }
    (!lines.is_empty()).then(|| format!("Rows that were not used:\n\n{}", listed(context, lines)))
}

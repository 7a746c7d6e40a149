//! Open proposals with what they claim and their diffs.

use std::fmt::Write as _;

use super::html::{esc, fold, own, quote, scroll};
use crate::outputs::text::{self, Place};
use crate::outputs::view::{carried, counted, standing};
use crate::verdict::{Effect, Proposal, Report};

/// Most lines of a diff.
const MOST_LINES: usize = 60;

/// All open proposals.
pub(super) fn section(report: &Report) -> String {
    let all: Vec<String> = report.proposals.iter().map(|proposal| article(proposal, report)).collect();
    let body = if all.is_empty() { "<p>No proposal is open.</p>".to_owned() } else { all.join("\n") };
    format!("<h2 id=\"proposals\">Open proposals</h2>\n{body}{}", others(report))
}

/// What stewards decided, what landed and what ended.
fn others(report: &Report) -> String {
    let line = |one| format!("<li>{}</li>", text::sentence(&standing(one, report), Place::Html));
    let lines: Vec<String> = report.other_standings().into_iter().map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\n<h3>Decided, landed or ended</h3>\n<ul>\n{}\n</ul>", lines.join("\n"))
}

/// One proposal.
fn article(proposal: &Proposal, report: &Report) -> String {
    let fingerprint = esc(&proposal.fingerprint);
    let claimed = proposal.expected.iter().find(|effect| effect.primary).map(effect);
    let expires = esc(proposal.expires.get(..10).unwrap_or_default());
    let facts = [
        format!("pool <code>{}</code>", esc(&proposal.pool)),
        format!("{} ({})", own(&proposal.kind), own(&proposal.check)),
        format!("{}, {}, revision {}", own(&proposal.status), own(&proposal.baseline_state), proposal.revision),
        format!("lapses {expires}"),
    ];
    let known = report.standings.get(&proposal.fingerprint);
    let carried = known.map(|one| format!("{}, {}", one.label(), esc(&carried(one))));
    let facts: Vec<String> = carried.into_iter().chain(facts).collect();
    let diff = diff(proposal).map(|(lines, diff)| {
        let name = format!("Diff of {fingerprint}");
        fold(&format!("Diff, {}", counted(lines, "line", "lines")), &scroll(&name, &diff))
    });
    format!(
        "<article>\n<div class=\"title\"><h3>{}</h3></div>\n<p>{}</p>\n<p>{}</p>\n{}{}\
         <p class=\"soft\"><a href=\"proposals/{fingerprint}.json\">{fingerprint}</a></p>\n</article>",
        quote(&proposal.title),
        facts.join(" · "),
        quote(proposal.change.human()),
        claimed.map_or(String::new(), |claimed| format!("<p>{claimed}</p>\n")),
        diff.map_or(String::new(), |diff| diff + "\n")
    )
}

/// What it claims to bring about.
fn effect(effect: &Effect) -> String {
    #[expect(clippy::cast_precision_loss, reason = "millionths, shown as a percentage")]
    let probability = effect.claimed_probability_ppm as f64 / 10_000.0;
    format!(
        "Expected: {} {} by {} {} (90 % interval {} to {}), {probability:.1} % sure, after {}.",
        own(&effect.metric),
        own(&effect.direction),
        effect.point,
        own(&effect.unit),
        effect.lo90,
        effect.hi90,
        counted(usize::try_from(effect.horizon_days).unwrap_or(usize::MAX), "day", "days")
    )
}

/// The diff with its number of lines; `None` of a change without one.
fn diff(proposal: &Proposal) -> Option<(usize, String)> {
    let patch = &proposal.change.config()?.patch.text;
    let count = patch.lines().count();
    let shown = patch.lines().take(MOST_LINES).map(|line| {
        let escaped = if line.is_empty() { String::new() } else { text::quote(line, Place::Html) };
        match line.as_bytes() {
            [b'+', ..] if !line.starts_with("+++") => format!("<ins>{escaped}</ins>"),
            [b'-', ..] if !line.starts_with("---") => format!("<del>{escaped}</del>"),
            _ => format!("{escaped}\n"),
        }
    });
    let mut lines: String = shown.collect();
    if count > MOST_LINES {
        writeln!(lines, "… and {} more in the .patch file", count - MOST_LINES).expect("a String takes all");
    }
    (count > 0).then(|| (count, format!("<pre>{lines}</pre>")))
}

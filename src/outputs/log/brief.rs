//! What a section of a large fleet shows instead of a block in full: every number of a check that needs someone, fewer words.

use super::pools::{
    ROW_HEADS, ROW_RULE, anchor, checks, finding_lines, first_number, lacks, name, proposal_of, row_of, title,
};
use super::section::Context;
use super::tables::{capped, listed, proposal_link};
use crate::outputs::text::{self, Place};
use crate::outputs::view::{counted, head};
use crate::verdict::{Baseline, CheckReport, Number, PoolReport, Proposal, Verdict};

/// One pool: anchor, heading, marker, lead, the checks that are not aligned as rows, the aligned ones in a line, the finding that
/// carries the verdict in words, what the checks lack, and how many findings the run file has beside.
pub(super) fn block(context: Context<'_>, pool: &PoolReport) -> String {
    let (aligned, others): (Vec<&CheckReport>, Vec<&CheckReport>) =
        pool.checks.iter().partition(|check| check.verdict == Verdict::Aligned);
    let mut parts = title(context, pool);
    let lead = pool.lead.as_ref().map_or("no lead".to_owned(), |lead| format!("lead {}", name(lead)));
    let owner = pool.owner.as_ref().map_or(String::new(), |owner| format!(" · owner {}", name(owner)));
    let mut about = format!("{lead} · {}{owner}", counted(pool.members.len(), "member", "members"));
    if !aligned.is_empty() {
        let aligned: Vec<String> = aligned.into_iter().map(in_words).collect();
        about = format!("{about} · aligned: {}", aligned.join(", "));
    }
    parts.push(about);
    if !others.is_empty() {
        parts.push(checks(pool, others.iter().copied()));
    }
    let carrying = others.iter().filter(|check| check.verdict == pool.verdict).find_map(|check| head(check));
    let mut lines = carrying.map_or_else(Vec::new, |finding| finding_lines(context, finding));
    lines.extend(pool.checks.iter().filter_map(rates));
    lines.extend(others.iter().filter_map(|check| lacks(check)));
    let findings: usize = pool.checks.iter().map(|check| check.findings.len()).sum();
    let more = findings - usize::from(carrying.is_some());
    if more > 0 {
        lines.push(format!("- {} in the run file", counted(more, "more finding", "more findings")));
    }
    parts.push(lines.join("\n"));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// The raw and the standardised success of every member that has both, side by side: the one may mislead where work is shared out
/// unevenly.
fn rates(check: &CheckReport) -> Option<String> {
    let value = |what: &str, of: &str| {
        let number = check.numbers.iter().find(|number| number.what == what && number.of == of)?;
        Some((number.value?, number.n?))
    };
    let rate = |number: &Number| {
        let (raw, n) = value("raw success", &number.of)?;
        #[expect(clippy::cast_precision_loss, reason = "rows of a member")]
        let successes = (raw * n as f64).round();
        let (standardised, _) = value("standardised success", &number.of)?;
        let of = name(&number.of);
        Some(format!("{of} raw {successes:.0}/{n}, standardised {:.1} %", standardised * 100.0))
    };
    let rates: Vec<String> =
        check.numbers.iter().filter(|number| number.what == "raw success").filter_map(rate).collect();
    (!rates.is_empty()).then(|| format!("- Success: {}", rates.join("; ")))
}

/// An aligned check with a number and its observations.
fn in_words(check: &CheckReport) -> String {
    let number = check.numbers.iter().find(|number| number.value.is_some_and(f64::is_finite));
    let n = number.and_then(|number| number.n).map_or(String::new(), |n| format!(" (n {n})"));
    number.map_or(check.check.to_string(), |number| format!("{} {}{n}", check.check, first_number(number)))
}

/// All pools that moved: their anchors, and one row for every check that is not aligned; of an aligned pool those that moved.
pub(super) fn rows(context: Context<'_>, pools: &[&PoolReport]) -> Option<String> {
    let is_shown = |(pool, check): &(&PoolReport, &CheckReport)| {
        let is_moved = pool.verdict == Verdict::Aligned && check.state != Baseline::Unchanged;
        check.verdict != Verdict::Aligned || is_moved
    };
    let all = pools.iter().flat_map(|pool| pool.checks.iter().map(move |check| (*pool, check)));
    let shown: Vec<(&PoolReport, &CheckReport)> = all.filter(is_shown).collect();
    let anchors: Vec<String> = pools.iter().take(context.detail.most).map(|pool| anchor(context, pool)).collect();
    let table = capped(context, &ROW_HEADS, ROW_RULE, &shown, |(pool, check)| {
        let proposal = proposal_of(context.report, check).map(|proposal| proposal_link(context, proposal));
        row_of(pool, check, proposal)
    });
    let count = counted(pools.len(), "pool", "pools");
    (!pools.is_empty()).then(|| format!("{}\n\n### Moved or in need of someone: {count}\n\n{table}", anchors.concat()))
}

/// Open proposals that nothing above links, and how many there are in all.
pub(super) fn proposals(context: Context<'_>, above: &str) -> Option<String> {
    let all = &context.report.proposals;
    let is_above = |proposal: &&Proposal| above.contains(&proposal.fingerprint);
    let line = |proposal: &Proposal| {
        let (state, title) = (&proposal.baseline_state, text::quote(&proposal.title, Place::Markdown));
        format!("- {} {}: {title}", proposal_link(context, proposal), text::own(state, Place::Markdown))
    };
    let lines: Vec<String> = all.iter().filter(|proposal| !is_above(proposal)).map(line).collect();
    let linked = all.len() - lines.len();
    let head = format!("### Proposals open after this run: {} ({linked} linked above)", all.len());
    let text = if lines.is_empty() { head } else { format!("{head}\n\n{}", listed(context, lines)) };
    (!all.is_empty()).then_some(text)
}

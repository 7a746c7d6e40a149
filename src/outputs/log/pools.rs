//! Pools and categories in a section: open blocks for what moved or needs someone, one folded table for the rest.

use std::collections::BTreeMap;

use super::brief;
use super::section::{Blocks, Context, Numbers};
use super::tables::{capped, carried_name, fold, listed, proposal_link, table};
use crate::outputs::text::{self, Place};
use crate::outputs::view::{
    NOTHING, categories as categories_of, counted, head, limit, limit_words, measured, moved, observations,
    pools as pools_of, ranked,
};
use crate::verdict::{Baseline, CheckReport, Finding, Number, PoolReport, Proposal, Report, Subject, Verdict};

/// Most members in the line under a pool's heading.
const MOST_MEMBERS: usize = 8;

/// Whether a pool can be folded away: aligned, and unmoved or seen by the first run of all.
fn is_quiet(pool: &PoolReport, report: &Report) -> bool {
    pool.verdict == Verdict::Aligned && (is_still(pool) || report.previous_run.is_none())
}

/// Whether neither a pool nor one of its checks moved since the run before.
fn is_still(pool: &PoolReport) -> bool {
    pool.state == Baseline::Unchanged && pool.checks.iter().all(|check| check.state == Baseline::Unchanged)
}

/// Whether a proposal is named in a row of the carried pools already.
pub(super) fn is_carried(context: Context<'_>, proposal: &Proposal) -> bool {
    let pools = pools_of(context.report).filter(|pool| pool.verdict != Verdict::Aligned && is_still(pool));
    let mut carrying =
        pools.flat_map(|pool| pool.checks.iter().filter(|check| check.verdict == pool.verdict)).filter_map(head);
    carrying.any(|finding| answers(proposal, finding))
}

/// Pools that need someone as they did before, one row per check that carries the verdict: the block stands in the section of
/// the run where it began.
pub(super) fn carried(context: Context<'_>) -> Option<String> {
    let report = context.report;
    let all: Vec<&PoolReport> =
        pools_of(report).filter(|pool| pool.verdict != Verdict::Aligned && is_still(pool)).collect();
    let rows: Vec<(&PoolReport, &CheckReport)> = all
        .iter()
        .flat_map(|pool| pool.checks.iter().map(move |check| (*pool, check)))
        .filter(|(pool, check)| check.verdict == pool.verdict)
        .collect();
    let table = capped(context, &ROW_HEADS, ROW_RULE, &rows, |(pool, check)| {
        // The row ends with the run since which it holds.
        let since = format!(", since {}", check.since);
        let proposal = proposal_of(report, check).map(|proposal| carried_name(context, proposal).replace(&since, ""));
        row_of(pool, check, proposal)
    });
    let count = counted(all.len(), "pool needs", "pools need");
    (!all.is_empty()).then(|| format!("### Carried: {count} someone as before\n\n{table}"))
}

/// Heads of a table that shows checks of several pools.
pub(super) const ROW_HEADS: [&str; 9] =
    ["Pool", "Check", "Verdict", "Now → proposed", "Measured", "Limit", "n", "Proposal", "Since"];

/// Its rule.
pub(super) const ROW_RULE: &str = "|:--|:--|:--|:--|--:|--:|--:|:--|:--|";

/// One check of one pool in such a table.
pub(super) fn row_of(pool: &PoolReport, check: &CheckReport, proposal: Option<String>) -> Vec<String> {
    let [id, verdict, now, measured, limit, n, since] =
        <[String; 7]>::try_from(check_row(pool, check)).expect("a row of a check has seven cells");
    let code = head(check).map_or_else(String::new, |finding| format!("`{}` ", finding.code));
    let proposal = proposal.unwrap_or(NOTHING.to_owned());
    vec![name(pool.id.as_str()), id, verdict, code + &now, measured, limit, n, proposal, since]
}

/// The open proposal that answers the finding of a check.
pub(super) fn proposal_of<'a>(report: &'a Report, check: &CheckReport) -> Option<&'a Proposal> {
    let finding = head(check)?;
    report.proposals.iter().find(|one| answers(one, finding))
}

/// The pools that moved or need someone, as blocks or as rows.
pub(super) fn open_blocks(context: Context<'_>) -> Vec<String> {
    let is_open = |pool: &&PoolReport| !is_quiet(pool, context.report) && !is_still(pool);
    let open = pools_of(context.report).filter(is_open);
    match context.detail.blocks {
        Blocks::Full => open.map(|pool| block(context, pool)).collect(),
        Blocks::Brief => open.map(|pool| brief::block(context, pool)).collect(),
        Blocks::Rows => brief::rows(context, &open.collect::<Vec<_>>()).into_iter().collect(),
    }
}

/// One pool: anchor, heading, marker, members, checks, words, numbers.
fn block(context: Context<'_>, pool: &PoolReport) -> String {
    let mut parts = title(context, pool);
    parts.push(about(pool));
    parts.push(checks(pool, pool.checks.iter()));
    let bullets = bullets(context, pool);
    if !bullets.is_empty() {
        parts.push(bullets.join("\n"));
    }
    parts.extend(numbers(context, pool));
    parts.join("\n\n")
}

/// Anchor, heading and marker of a pool.
pub(super) fn title(context: Context<'_>, pool: &PoolReport) -> Vec<String> {
    let (run, id, verdict) = (&context.report.run_id, text::marker(pool.id.as_str()), pool.verdict);
    let marker = format!("<!-- pool-review v1 run={run} pool={id} verdict={verdict} -->");
    vec![anchor(context, pool), format!("### {} · {verdict}\n{marker}", name(pool.id.as_str()))]
}

/// The anchor of a pool.
pub(super) fn anchor(context: Context<'_>, pool: &PoolReport) -> String {
    format!("<a id=\"run-{}-{}\"></a>", context.report.run_id, text::marker(pool.id.as_str()))
}

/// Checks of one pool as a table.
pub(super) fn checks<'a>(pool: &PoolReport, shown: impl Iterator<Item = &'a CheckReport>) -> String {
    let heads = ["Check", "Verdict", "Now → proposed", "Measured", "Limit", "n", "Since"];
    table(&heads, "|:--|:--|:--|--:|--:|--:|:--|", shown.map(|check| check_row(pool, check)))
}

/// A name in the log.
pub(super) fn name(text: &str) -> String {
    text::name(text, Place::Markdown)
}

/// Tier, owner, lead and members of a pool.
fn about(pool: &PoolReport) -> String {
    let mut facts = Vec::new();
    if pool.subject == Subject::Single {
        facts.push("a model named directly".to_owned());
    }
    facts.extend(pool.tier.map(|tier| format!("tier {tier}")));
    facts.extend(pool.owner.as_ref().map(|owner| format!("owner {}", name(owner))));
    facts.push(pool.lead.as_ref().map_or("no lead".to_owned(), |lead| format!("lead {}", name(lead))));
    let mut members: Vec<_> =
        pool.members.iter().map(|(target, share)| format!("{} {:.1} %", name(target), share * 100.0)).collect();
    let more = members.len().saturating_sub(MOST_MEMBERS);
    members.truncate(MOST_MEMBERS);
    if more > 0 {
        members.push(format!("and {more} more"));
    }
    let count = counted(pool.members.len(), "member", "members");
    facts.push(if members.is_empty() { "no members".to_owned() } else { format!("{count}: {}", members.join(", ")) });
    facts.join(" · ")
}

/// One check: the finding that carries its verdict, or the first number behind it.
fn check_row(pool: &PoolReport, check: &CheckReport) -> Vec<String> {
    let number = check.numbers.iter().find(|number| number.value.is_some_and(f64::is_finite));
    let finding = head(check);
    let verdict = check.verdict.to_string();
    let now = match (finding, &pool.lead) {
        (Some(finding), _) => moved(finding, Place::Markdown),
        (None, Some(lead)) if check.verdict == Verdict::Aligned => name(lead),
        (None, _) => NOTHING.to_owned(),
    };
    let measured = finding.and_then(measured).map(|words| text::own(&words, Place::Markdown));
    let measured = measured.or_else(|| number.filter(|_| finding.is_none()).map(first_number));
    let count = match finding {
        Some(finding) => observations(finding),
        None => number.and_then(|number| number.n),
    };
    vec![
        check.check.to_string(),
        if check.verdict == Verdict::Aligned { verdict } else { format!("**{verdict}**") },
        now,
        measured.unwrap_or(NOTHING.to_owned()),
        finding.and_then(limit).map_or(NOTHING.to_owned(), |words| text::own(&words, Place::Markdown)),
        count.map_or(NOTHING.to_owned(), |n| n.to_string()),
        check.since.clone(),
    ]
}

/// A number where no finding has one.
pub(super) fn first_number(number: &Number) -> String {
    format!("{} {}", text::own(&number.what, Place::Markdown), value(number))
}

/// What every check has to say in words: for each the finding that carries its verdict, or what it lacks; then further
/// findings, worst first, as far as the level of detail goes.
fn bullets(context: Context<'_>, pool: &PoolReport) -> Vec<String> {
    let mut lines: Vec<String> = pool.checks.iter().flat_map(|check| carrying_lines(context, check)).collect();
    let is_carrying =
        |check: &CheckReport, finding: &Finding| head(check).is_some_and(|head| std::ptr::eq(head, finding));
    let mut further: Vec<&Finding> = pool
        .checks
        .iter()
        .flat_map(|check| ranked(check).into_iter().filter(move |finding| !is_carrying(check, finding)))
        .collect();
    further.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let more = further.len().saturating_sub(context.detail.findings);
    for finding in further.into_iter().take(context.detail.findings) {
        lines.extend(finding_lines(context, finding));
    }
    if more > 0 {
        lines.push(format!("- {} in the run file", counted(more, "more finding", "more findings")));
    }
    lines
}

/// The finding that carries a check's verdict, and what the check waits for or lacks.
fn carrying_lines(context: Context<'_>, check: &CheckReport) -> Vec<String> {
    let mut lines = Vec::new();
    match head(check) {
        Some(finding) if check.verdict != Verdict::Aligned => lines.extend(finding_lines(context, finding)),
        None if check.verdict != Verdict::Aligned && check.reasons.is_empty() => {
            lines.push(format!("- {}: {}", check.check, text::sentence(&check.summary, Place::Markdown)));
        }
        _ => {}
    }
    lines.extend(lacks(check));
    lines
}

/// What a check waits for or lacks.
pub(super) fn lacks(check: &CheckReport) -> Option<String> {
    let reasons: Vec<_> = check.reasons.iter().map(|reason| text::quote(reason, Place::Markdown)).collect();
    (!reasons.is_empty()).then(|| format!("- {} waits for or lacks: {}", check.check, reasons.join(", ")))
}

/// Why, and what to do.
pub(super) fn finding_lines(context: Context<'_>, finding: &Finding) -> Vec<String> {
    let lead = if finding.verdict.is_some() { "Why" } else { "Note" };
    let code = format!("{} `{}`", finding.check, finding.code);
    let words = text::sentence_within(&finding.why, Place::Markdown, context.detail.words);
    let words = words.trim_end_matches('.');
    let mut why = vec![format!("- {lead}: {code}: {words}")];
    why.extend(finding.place.as_ref().map(|place| format!(" ({})", name(&place.to_string()))));
    if let Some(limit) = &finding.limit {
        why.push(format!(". {}", limit_words(context.report, limit.setting, name)));
    }
    let mut lines = vec![why.concat()];
    lines.extend(todo(context, finding).map(|todo| format!("- What to do: {todo}")));
    lines
}

/// What to do, the proposal that does it, or why there is none.
fn todo(context: Context<'_>, finding: &Finding) -> Option<String> {
    let mut parts = Vec::new();
    if !finding.todo.is_empty() {
        parts.push(text::sentence(&finding.todo, Place::Markdown));
    }
    let proposal = context.report.proposals.iter().find(|proposal| answers(proposal, finding));
    parts.extend(proposal.map(|proposal| format!("proposal {}", proposal_link(context, proposal))));
    parts.extend(finding.held.as_ref().map(|held| format!("held: {}", text::quote(held, Place::Markdown))));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Whether a proposal argues what a finding states.
pub(in crate::outputs) fn answers(proposal: &Proposal, finding: &Finding) -> bool {
    proposal.check == finding.check.as_str()
        && proposal.code == finding.code
        && proposal.pool == finding.pool.as_str()
        && proposal.subject == finding.subject
        && proposal.counterpart == finding.counterpart
}

/// The numbers behind a pool's verdict, folded.
fn numbers(context: Context<'_>, pool: &PoolReport) -> Option<String> {
    let count: usize = pool.checks.iter().map(|check| check.numbers.len()).sum();
    if count == 0 {
        return None;
    }
    let body = match context.detail.numbers {
        Numbers::Rows => number_rows(pool),
        Numbers::Compact => compact_numbers(pool),
        Numbers::RunFile => return None,
    };
    Some(fold(&format!("Numbers behind the verdict ({count})"), &body))
}

/// One row per number.
fn number_rows(pool: &PoolReport) -> String {
    let rows = pool.checks.iter().flat_map(|check| check.numbers.iter().map(move |number| (check, number)));
    let row = |(check, number): (&CheckReport, &Number)| {
        let interval =
            number.interval.map(|(low, high)| format!("{} to {}", number.unit.show(low), number.unit.show(high)));
        vec![
            check.check.to_string(),
            text::own(&number.what, Place::Markdown),
            if number.of.is_empty() { NOTHING.to_owned() } else { name(&number.of) },
            value(number),
            interval.unwrap_or(NOTHING.to_owned()),
            number.n.map_or(NOTHING.to_owned(), |n| n.to_string()),
            if number.remark.is_empty() { NOTHING.to_owned() } else { text::quote(&number.remark, Place::Markdown) },
        ]
    };
    let heads = ["Check", "Number", "Of", "Value", "90 % interval", "n", "Remark"];
    table(&heads, "|:--|:--|:--|--:|:--|--:|:--|", rows.map(row))
}

/// One row per check.
fn compact_numbers(pool: &PoolReport) -> String {
    let one = |number: &Number| {
        let of = if number.of.is_empty() { String::new() } else { format!(" {}", name(&number.of)) };
        let n = number.n.map_or(String::new(), |n| format!(" (n {n})"));
        format!("{}{of} {}{n}", text::own(&number.what, Place::Markdown), value(number))
    };
    let row = |check: &CheckReport| {
        let numbers: Vec<_> = check.numbers.iter().map(one).collect();
        vec![check.check.to_string(), numbers.join("; ")]
    };
    let with_numbers = pool.checks.iter().filter(|check| !check.numbers.is_empty());
    table(&["Check", "Numbers"], "|:--|:--|", with_numbers.map(row))
}

/// A value with its unit; unknown is said, never left empty.
fn value(number: &Number) -> String {
    number.value.filter(|value| value.is_finite()).map_or("unknown".to_owned(), |value| number.unit.show(value))
}

/// Aligned pools without a move, folded, still with a number of each check. Limits and words stand in the section of the run
/// since which they hold; the first run of all has them here.
pub(super) fn folded(context: Context<'_>) -> Option<String> {
    let report = context.report;
    let quiet: Vec<_> = pools_of(report).filter(|pool| is_quiet(pool, report)).collect();
    if quiet.is_empty() {
        return None;
    }
    let is_first = report.previous_run.is_none();
    let mut heads = vec!["Pool"];
    let mut checks: Vec<_> = quiet.iter().flat_map(|pool| &pool.checks).map(|check| check.check).collect();
    checks.sort();
    checks.dedup();
    heads.extend(checks.iter().map(|check| check.as_str()));
    let shown = if is_first { folded_cell } else { short_cell };
    let row = |pool: &&PoolReport| {
        let cell = |id| pool.checks.iter().find(|check| check.check == id).map_or(NOTHING.to_owned(), shown);
        let mut cells = vec![name(pool.id.as_str())];
        cells.extend(checks.iter().copied().map(cell));
        cells
    };
    let since = if is_first { "" } else { ", no change" };
    let summary = format!("{} aligned{since}", counted(quiet.len(), "pool", "pools"));
    let rule = format!("|{}", ":--|".repeat(heads.len()));
    Some(fold(&summary, &capped(context, &heads, &rule, &quiet, row)))
}

/// The first number of an aligned check with its observations.
fn short_cell(check: &CheckReport) -> String {
    let number = check.numbers.iter().find(|number| number.value.is_some_and(f64::is_finite));
    let n = |number: &Number| number.n.map_or(String::new(), |n| format!(" n {n}"));
    number.map_or(check.verdict.to_string(), |number| value(number) + &n(number))
}

/// A check's verdict with its numbers.
fn folded_cell(check: &CheckReport) -> String {
    format!("{}: {}", check.verdict, text::sentence(&check.summary, Place::Markdown))
}

/// Categories: those that moved in one table with their own findings in words below it, the others in a line for each verdict and
/// the run since which it holds; folded when all are aligned.
pub(super) fn categories(context: Context<'_>) -> Option<String> {
    let report = context.report;
    let all: Vec<&PoolReport> = categories_of(report).collect();
    if all.is_empty() {
        return None;
    }
    let (still, moved): (Vec<&PoolReport>, Vec<&PoolReport>) = all.iter().partition(|category| is_still(category));
    let mut parts = Vec::new();
    if !moved.is_empty() {
        let heads = ["Category", "Runs on", "Verdict", "Of its own", "Since"];
        parts
            .push(capped(context, &heads, "|:--|:--|:--|:--|:--|", &moved, |category| category_row(context, category)));
    }
    let findings = moved.iter().flat_map(|category| &category.checks).flat_map(ranked);
    let lines: Vec<String> = findings.flat_map(|finding| finding_lines(context, finding)).collect();
    if !lines.is_empty() {
        parts.push(listed(context, lines));
    }
    if !still.is_empty() {
        parts.push(listed(context, as_before(context, &still)));
    }
    let (count, body) = (counted(all.len(), "category", "categories"), parts.join("\n\n"));
    if all.iter().all(|category| is_quiet(category, report)) {
        return Some(fold(&format!("{count} aligned"), &body));
    }
    Some(format!("### Categories ({count}; a category has its pool's verdict and its own)\n\n{body}"))
}

/// Categories that did not move, worst first: a line for each verdict and run.
fn as_before(context: Context<'_>, still: &[&PoolReport]) -> Vec<String> {
    let mut groups: BTreeMap<(std::cmp::Reverse<Verdict>, &str), Vec<String>> = BTreeMap::new();
    for category in still {
        let key = (std::cmp::Reverse(category.verdict), category.since.as_str());
        groups.entry(key).or_default().push(name(category.id.as_str()));
    }
    let line = |((verdict, since), mut names): ((std::cmp::Reverse<Verdict>, &str), Vec<String>)| {
        let more = names.len().saturating_sub(context.detail.most);
        names.truncate(context.detail.most);
        if more > 0 {
            names.push(format!("and {more} more in the run file"));
        }
        format!("- {} since {since}: {}", verdict.0, names.join(", "))
    };
    groups.into_iter().map(line).collect()
}

/// One category: its pool's verdict by reference, its own checks in words; in short only those that differ from its pool's.
fn category_row(context: Context<'_>, category: &PoolReport) -> Vec<String> {
    let pool = match &category.subject {
        Subject::Category { pool: Some(pool) } => name(pool.as_str()),
        _ => NOTHING.to_owned(),
    };
    let runs_on = match &category.subject {
        Subject::Category { pool: Some(pool) } => context.report.pools.iter().find(|one| one.id == *pool),
        _ => None,
    };
    let of_pool =
        |check: &CheckReport| runs_on?.checks.iter().find(|one| one.check == check.check).map(|one| one.verdict);
    let is_shown = |check: &&CheckReport| {
        context.detail.blocks == Blocks::Full || of_pool(check).is_none_or(|verdict| verdict != check.verdict)
    };
    let own: Vec<_> = category.checks.iter().filter(is_shown).map(|c| format!("{} {}", c.check, c.verdict)).collect();
    let own = if own.is_empty() { NOTHING.to_owned() } else { own.join(", ") };
    vec![name(category.id.as_str()), pool, category.verdict.to_string(), own, category.since.clone()]
}

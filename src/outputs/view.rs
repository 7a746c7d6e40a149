//! What several outputs ask of a report: the finding that carries a verdict, its cells, and where a limit is set.

use chrono::{DateTime, Utc};

use super::text::{self, Place};
use crate::verdict::{
    CheckReport, Finding, PoolReport, ProposalKind, Report, Ruling, Sentence, Standing, Subject, Verdict,
};

/// A cell with nothing to show.
pub(super) const NOTHING: &str = "–";

/// The finding that carries a check's verdict: the worst one, if it says what the check says.
pub(super) fn head(check: &CheckReport) -> Option<&Finding> {
    check.findings.iter().find(|finding| finding.verdict == Some(check.verdict))
}

/// Findings worst first, notes last; equals keep their order.
pub(super) fn ranked(check: &CheckReport) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = check.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    findings
}

/// Pools and pools of one, in report order.
pub(super) fn pools(report: &Report) -> impl Iterator<Item = &PoolReport> {
    report.pools.iter().filter(|pool| !matches!(pool.subject, Subject::Category { .. }))
}

/// Categories, in report order.
pub(super) fn categories(report: &Report) -> impl Iterator<Item = &PoolReport> {
    report.pools.iter().filter(|pool| matches!(pool.subject, Subject::Category { .. }))
}

/// `2 misaligned, 1 aligned`, worst first; verdicts nobody has are left out.
pub(super) fn tally(verdicts: impl IntoIterator<Item = Verdict>) -> String {
    let verdicts: Vec<Verdict> = verdicts.into_iter().collect();
    let one = |word: &Verdict| {
        let count = verdicts.iter().filter(|verdict| *verdict == word).count();
        (count > 0).then(|| format!("{count} {word}"))
    };
    Verdict::WORST_FIRST.iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

/// `3 pools`, `1 pool`, `2 categories`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `carried 4 runs, since 20261120T120000Z`; `new` in the run that opened it.
pub(super) fn carried(standing: &Standing) -> String {
    match usize::try_from(standing.carried).unwrap_or(usize::MAX) {
        0 => "new".to_owned(),
        runs => format!("carried {}, since {}", counted(runs, "run", "runs"), shortened(&standing.opened, 20)),
    }
}

/// What became of a proposal, or what a steward said of it, in one sentence.
pub(super) fn standing(standing: &Standing, report: &Report) -> Sentence {
    let said = Sentence::new().own(format!("{} of ", standing.label())).name(&standing.pool).own(" (");
    let said = said.own(standing.kind.clone()).own(" ").name(&standing.subject).own("): ");
    let ruled = |said: Sentence, word: &str| match &standing.ruling {
        Some(ruling) => {
            said.own(format!("{word} by ")).name(&ruling.by).own(format!("{}: ", bounds(ruling))).name(&ruling.reason)
        }
        None => said.own(word.to_owned()),
    };
    let said = match standing.status.as_str() {
        word @ ("accepted" | "rejected" | "deferred") => ruled(said, word),
        "landed" if standing.is_moved => {
            said.own("landed, the config holds what it predicted; its files hold the way back")
        }
        "landed" => said.own(format!("landed, seen by run {}", shortened(&standing.since, 20))),
        "superseded" => {
            let heir = standing.heir.as_ref().map(|heir| format!(", {} takes its place", report.label(heir)));
            said.own(format!("superseded by another change of its definition{}", heir.unwrap_or_default()))
        }
        "rolled_back" => said.own("rolled back, the config is again what it was before"),
        "withdrawn" => said.own("withdrawn, it was not found again"),
        "expired" => said.own("expired, its time ran out"),
        "verifying" => said.own("landed, its effect is being measured"),
        "proposed" => said.own("proposed"),
        measured => said.own(format!("measured: {measured}")),
    };
    let said = match &standing.due {
        Some(due) => {
            let way = format!("; `pool-review proposals patch {} --rollback` prints the way back", standing.label());
            said.own("; ").then(due.sentence()).own(way)
        }
        None => said,
    };
    match (&standing.unseen, standing.status.as_str()) {
        (None, _) => said,
        (Some(by), "proposed" | "accepted" | "rejected" | "deferred") => said
            .own("; ")
            .name(by)
            .own(" says that it landed, but the config does not hold what it predicts: nothing has landed"),
        (Some(by), _) => said.own("; ").name(by).own(" says that it is taken back, but the config still holds it"),
    }
}

/// Until when a decision holds, and what lifts it.
fn bounds(ruling: &Ruling) -> String {
    let until = ruling.until.as_deref().and_then(|until| until.get(..10)).map(|day| format!(" until {day}"));
    let unless = match (ruling.decision.as_str(), ruling.unless.as_deref()) {
        (_, Some("effect_grows_beyond_hi90")) => " unless its effect grows beyond the claim",
        (_, Some("config_changes")) => " unless its definition changes",
        ("reject", Some("never")) => " for good",
        _ => "",
    };
    until.unwrap_or_default() + unless
}

/// `2026-11-29 12:00Z`.
pub(super) fn minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%MZ").to_string()
}

/// What a change does to whom: both sides where there are two, else the side and the kind of change.
pub(super) fn moved(finding: &Finding, place: Place) -> String {
    let subject = text::name(&finding.subject, place);
    let other = (!finding.counterpart.is_empty()).then(|| text::name(&finding.counterpart, place));
    match (&finding.intent, other) {
        (Some(intent), other) if adds(intent.kind) => match other {
            Some(other) => format!("add {subject} beside {other}"),
            None => format!("add {subject}"),
        },
        (Some(intent), Some(_)) if intent.kind == ProposalKind::RetireMember => format!("{subject}: retire member"),
        (Some(_), Some(other)) => format!("{subject} → {other}"),
        (Some(intent), None) => format!("{subject}: {}", intent.kind.as_str().replace('_', " ")),
        (None, Some(other)) => format!("{subject} against {other}"),
        (None, None) => subject,
    }
}

/// Whether a change puts a model in without taking one out.
fn adds(kind: ProposalKind) -> bool {
    matches!(kind, ProposalKind::AddMember | ProposalKind::AddTrial)
}

/// What was measured, with its unit in the cell.
pub(super) fn measured(finding: &Finding) -> Option<String> {
    let measured = finding.measured.as_ref().filter(|measured| measured.value.is_finite())?;
    Some(format!("{} {}", measured.what, measured.unit.show(measured.value)))
}

/// The bound, in the measurement's unit.
pub(super) fn limit(finding: &Finding) -> Option<String> {
    let limit = finding.limit.as_ref().filter(|limit| limit.value.is_finite())?;
    let value = finding.measured.as_ref().map_or_else(|| limit.value.to_string(), |m| m.unit.show(limit.value));
    Some(format!("{} {value}", limit.op.as_str()))
}

/// The number of observations behind the measurement.
pub(super) fn observations(finding: &Finding) -> Option<u64> {
    finding.measured.as_ref().and_then(|measured| measured.n)
}

/// What a limit that no setting moves names as its setting.
const BUILT_IN: &str = "built in";

/// Where the limit of a finding is set: `path:line`; `None` when nothing sets it.
pub(super) fn limit_place(report: &Report, setting: &str) -> Option<String> {
    report.setting_lines.get(setting).map(|line| format!("{}:{line}", report.settings_path))
}

/// Where the limit of a finding comes from, as a fragment; `show` makes a name inert and marks it.
pub(super) fn limit_words(report: &Report, setting: &str, show: impl Fn(&str) -> String) -> String {
    match limit_place(report, setting) {
        Some(place) => format!("Limit {} set at {}", show(setting), show(&place)),
        None if setting == BUILT_IN => "The limit is built in".to_owned(),
        None => format!("Limit {} at its default", show(setting)),
    }
}

/// Up to so many characters of our own words, for a line that must stay one line.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit - 1).collect();
    format!("{}…", kept.trim_end())
}

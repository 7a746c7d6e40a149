//! The run file: everything the report says in a frozen `v1` shape (schema: `instructions/schemas/run.v1.json`).
//! Its types are twins of the report's, so that those can change without this shape.

mod shape;

use serde_json::{Value, json};

use shape::{
    ChartV1, CheckV1, FindingV1, IntentV1, LimitV1, MeasuredV1, MemberV1, NumberV1, PlaceV1, PoolV1, ProposalV1,
    RejectV1, RollbackDueV1, RulingV1, RunV1, SourceV1, StandingV1, UnmatchedV1, WindowV1,
};

use super::view::limit_place;
use crate::verdict::{
    Baseline, Basis, Chart, ChartWindow, CheckReport, Edit, Finding, Intent, Number, PoolReport, Proposal, Report,
    Ruling, Standing, Subject, Verdict,
};
use crate::vocabulary::{Place, SourceNote, SourceState};

/// The name of the shape.
pub const SCHEMA: &str = "pool-review.run/1";

/// The run file of a report, with a line end.
pub fn run_json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(&run(report)).expect("the twins hold text and finite numbers only");
    text.push('\n');
    text
}

/// An instant.
fn instant(at: chrono::DateTime<chrono::Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A number JSON can hold.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The twin of a report.
fn run(report: &Report) -> RunV1<'_> {
    let tally = report.tally();
    let unmatched = report.unmatched.iter().map(|(source, id, suggestion)| UnmatchedV1 {
        source,
        id,
        suggestion: suggestion.as_deref(),
    });
    RunV1 {
        schema: SCHEMA,
        run_id: &report.run_id,
        now: instant(report.now),
        is_frozen: report.is_frozen,
        settings_path: &report.settings_path,
        policy_digest: &report.policy_digest,
        index_version: report.index_version.as_deref(),
        previous_run: report.previous_run.as_deref(),
        next_due: report.next_due.map(instant),
        tally: Verdict::WORST_FIRST.iter().map(|v| (v.as_str(), tally.get(v).copied().unwrap_or(0))).collect(),
        counts: report.counts,
        sources: report.sources.iter().map(|note| source(note, report.now)).collect(),
        pools: report.pools.iter().map(|one| pool(one, report)).collect(),
        proposals: report.proposals.iter().map(|one| proposal(one, report)).collect(),
        standings: report.other_standings().into_iter().map(standing).collect(),
        unmatched: unmatched.collect(),
        calibration: super::calibration::twin(&report.calibration),
        remarks: report.remarks.iter().map(crate::verdict::Sentence::plain).chain(super::credit(report)).collect(),
    }
}

/// A source as the run file shows it, at an instant.
pub(super) fn source_json(note: &SourceNote, now: chrono::DateTime<chrono::Utc>) -> Value {
    serde_json::to_value(source(note, now)).expect("the twin holds text and finite numbers only")
}

/// The twin of a source note.
fn source(note: &SourceNote, now: chrono::DateTime<chrono::Utc>) -> SourceV1<'_> {
    let (state, reason) = match &note.state {
        SourceState::Fresh => ("fresh", None),
        SourceState::Stale => ("stale", None),
        SourceState::NotConfigured => ("not_configured", None),
        SourceState::Failed(reason) => ("failed", Some(reason.as_str())),
    };
    SourceV1 {
        source: note.source.as_str(),
        state,
        reason,
        as_of: note.as_of.map(instant),
        age_hours: note.age_hours(now).and_then(finite),
        max_age_hours: note.max_age_hours.and_then(finite),
        rows: note.rows,
        used: note.used,
        rejected: note.rejected,
        rejects: note.rejects.iter().map(|r| RejectV1 { place: place(&r.place), reason: &r.reason }).collect(),
        remarks: &note.remarks,
        digest: note.digest.as_ref().map(crate::vocabulary::Digest::as_str),
    }
}

/// The twin of a place.
fn place(place: &Place) -> PlaceV1<'_> {
    PlaceV1 { path: &place.path, line: place.line }
}

/// The twin of a pool.
fn pool<'a>(pool: &'a PoolReport, report: &'a Report) -> PoolV1<'a> {
    let (subject, runs_on) = match &pool.subject {
        Subject::Pool => ("pool", None),
        Subject::Single => ("single", None),
        Subject::Category { pool } => ("category", pool.as_ref().map(crate::vocabulary::PoolId::as_str)),
    };
    PoolV1 {
        id: pool.id.as_str(),
        subject,
        runs_on,
        tier: pool.tier.map(crate::vocabulary::Tier::as_str),
        owner: pool.owner.as_deref(),
        verdict: pool.verdict,
        state: pool.state,
        since: &pool.since,
        lead: pool.lead.as_deref(),
        members: pool.members.iter().map(|(target, share)| MemberV1 { target, share: finite(*share) }).collect(),
        checks: pool.checks.iter().map(|one| check(one, report)).collect(),
        chart: chart(&pool.chart),
    }
}

/// The twin of what the pictures show.
fn chart(chart: &Chart) -> ChartV1<'_> {
    ChartV1 {
        points: &chart.points,
        more_candidates: chart.more_candidates,
        speeds: &chart.speeds,
        speed_floor: chart.speed_floor,
        bill_ceiling: chart.bill_ceiling,
        windows: chart.windows.iter().map(window).collect(),
    }
}

/// The twin of a window.
fn window(window: &ChartWindow) -> WindowV1<'_> {
    let ChartWindow { id, members, class, length_h, resets_at, used, price, age_h, remarks } = window;
    let (length_h, resets_at, used, price, age_h) = (*length_h, resets_at.map(instant), *used, *price, *age_h);
    WindowV1 { id, members, class, length_h, resets_at, used, price, age_h, remarks }
}

/// The twin of a check.
fn check<'a>(check: &'a CheckReport, report: &'a Report) -> CheckV1<'a> {
    CheckV1 {
        check: check.check.as_str(),
        verdict: check.verdict,
        state: check.state,
        since: &check.since,
        summary: check.summary.plain(),
        reasons: &check.reasons,
        findings: check.findings.iter().map(|one| finding(one, report)).collect(),
        numbers: check.numbers.iter().map(number).collect(),
    }
}

/// The twin of a finding.
fn finding<'a>(finding: &'a Finding, report: &'a Report) -> FindingV1<'a> {
    let answers = |proposal: &&Proposal| super::log::answers(proposal, finding);
    FindingV1 {
        code: finding.code,
        subject: &finding.subject,
        counterpart: &finding.counterpart,
        verdict: finding.verdict,
        severity: finding.severity.map(crate::verdict::Severity::as_str),
        measured: finding.measured.as_ref().map(|m| MeasuredV1 {
            what: m.what,
            value: finite(m.value),
            unit: m.unit.as_str(),
            n: m.n,
        }),
        basis: finding.basis.map(Basis::as_str),
        limit: finding.limit.as_ref().map(|limit| LimitV1 {
            op: limit.op.as_str(),
            value: finite(limit.value),
            setting: limit.setting,
            set_at: limit_place(report, limit.setting),
        }),
        why: finding.why.plain(),
        todo: finding.todo.plain(),
        place: finding.place.as_ref().map(place),
        sources: finding.sources.iter().map(|source| source.as_str()).collect(),
        intent: finding.intent.as_ref().map(intent),
        held: finding.held.as_deref(),
        fingerprint: report.proposals.iter().find(answers).map(|proposal| proposal.fingerprint.as_str()),
    }
}

/// The twin of an intent.
fn intent(intent: &Intent) -> IntentV1<'_> {
    IntentV1 {
        kind: intent.kind.as_str(),
        seat: intent.seat.as_str(),
        path: &intent.path,
        pointer: &intent.pointer,
        human: &intent.human,
        moved_share: intent.moved_share.and_then(finite),
        edits: intent.edits.iter().map(edit).collect(),
    }
}

/// The twin of an edit.
fn edit(edit: &Edit) -> Value {
    match edit {
        Edit::Remove { pointer } => json!({ "edit": "remove", "pointer": pointer }),
        Edit::Replace { pointer, value } => json!({ "edit": "replace", "pointer": pointer, "value": value }),
        Edit::Append { array, value } => json!({ "edit": "append", "pointer": array, "value": value }),
        Edit::Insert { object, key, value } => {
            json!({ "edit": "insert", "pointer": object, "key": key, "value": value })
        }
        Edit::ToFront { pointer } => json!({ "edit": "to_front", "pointer": pointer }),
        Edit::Move { pointer, to } => json!({ "edit": "move", "pointer": pointer, "to": to }),
        Edit::Expect { pointer } => json!({ "edit": "expect", "pointer": pointer }),
    }
}

/// The twin of a number. An unknown one always has a reason.
fn number(number: &Number) -> NumberV1<'_> {
    let value = number.value.and_then(finite);
    let is_unexplained = value.is_none() && number.remark.is_empty();
    NumberV1 {
        what: &number.what,
        of: &number.of,
        value,
        unit: number.unit.as_str(),
        interval: number.interval.filter(|(low, high)| low.is_finite() && high.is_finite()),
        n: number.n,
        basis: number.basis.map(Basis::as_str),
        remark: if is_unexplained { "unknown, no reason stated" } else { &number.remark },
    }
}

/// The twin of a standing.
fn standing(standing: &Standing) -> StandingV1<'_> {
    let ruling = |ruling: &'_ Ruling| RulingV1 {
        decision: ruling.decision.clone(),
        by: ruling.by.clone(),
        reason: ruling.reason.clone(),
        until: ruling.until.clone(),
        unless: ruling.unless.clone(),
    };
    StandingV1 {
        number: standing.number,
        fingerprint: &standing.fingerprint,
        pool: &standing.pool,
        kind: &standing.kind,
        subject: &standing.subject,
        counterpart: &standing.counterpart,
        status: &standing.status,
        since: &standing.since,
        is_moved: standing.is_moved,
        ruling: standing.ruling.as_ref().map(ruling),
        superseded_by: standing.heir.as_deref(),
        unseen: standing.unseen.as_deref(),
        rollback_due: standing.due.as_ref().map(|due| RollbackDueV1 {
            since: &due.since,
            rule: due.reading.rule(),
            words: due.reading.sentence().plain(),
        }),
    }
}

/// The line of a proposal.
fn proposal<'a>(proposal: &'a Proposal, report: &Report) -> ProposalV1<'a> {
    let known = report.standings.get(&proposal.fingerprint);
    let is_made_now = proposal.baseline_state != Baseline::Absent.as_str();
    ProposalV1 {
        number: known.map_or(0, |known| known.number),
        carried_runs: known.map_or(0, |known| known.carried),
        carried_since: known.map_or(report.run_id.clone(), |known| known.opened.clone()),
        fingerprint: &proposal.fingerprint,
        file: format!("proposals/{}.json", proposal.fingerprint),
        revision: proposal.revision,
        content_digest: &proposal.content_digest,
        baseline_state: &proposal.baseline_state,
        status: &proposal.status,
        pool: &proposal.pool,
        check: &proposal.check,
        code: &proposal.code,
        kind: &proposal.kind,
        subject: &proposal.subject,
        counterpart: &proposal.counterpart,
        title: &proposal.title,
        first_seen: &proposal.first_seen,
        last_seen: is_made_now.then(|| instant(report.now)),
        expires: &proposal.expires,
    }
}

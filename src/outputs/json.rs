//! The run file: everything the report says in a frozen `v1` shape (schema: `instructions/schemas/run.v1.json`).
//! The types here are twins of the report's, so that those can change without this shape.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::view::limit_place;
use crate::verdict::{
    Baseline, CheckReport, Counts, Edit, Finding, Intent, Number, PoolReport, Proposal, Report, Subject, Verdict,
};
use crate::vocabulary::{Place, SourceNote, SourceState};

/// The name of the shape.
pub const SCHEMA: &str = "pool-review.run/1";

/// The whole run.
#[derive(Serialize)]
struct RunV1<'a> {
    /// Name of the shape.
    schema: &'static str,
    /// Run id.
    run_id: &'a str,
    /// Review instant.
    now: String,
    /// Whether the clock was frozen by the settings.
    is_frozen: bool,
    /// Path of the instruction file.
    settings_path: &'a str,
    /// Digest of the policy.
    policy_digest: &'a str,
    /// Market index version, if one was read.
    index_version: Option<&'a str>,
    /// The run before.
    previous_run: Option<&'a str>,
    /// Next due instant.
    next_due: Option<String>,
    /// Pools and categories by verdict; every word is there.
    tally: BTreeMap<&'static str, usize>,
    /// Outcomes by baseline state.
    counts: Counts,
    /// How each source was read.
    sources: Vec<SourceV1<'a>>,
    /// Pools, then categories.
    pools: Vec<PoolV1<'a>>,
    /// Proposals open after this run.
    proposals: Vec<ProposalV1<'a>>,
    /// Ids that matched nothing.
    unmatched: Vec<UnmatchedV1<'a>>,
    /// Remarks on the whole run.
    remarks: Vec<String>,
}

/// One source.
#[derive(Serialize)]
struct SourceV1<'a> {
    /// Its id.
    source: &'static str,
    /// `fresh`, `stale`, `not_configured` or `failed`.
    state: &'static str,
    /// Why it failed.
    reason: Option<&'a str>,
    /// As-of time.
    as_of: Option<String>,
    /// Age in hours.
    age_hours: Option<f64>,
    /// The age from which on it is stale.
    max_age_hours: Option<f64>,
    /// Rows seen.
    rows: u64,
    /// Rows used.
    used: u64,
    /// Rows not used because they are broken.
    rejected: u64,
    /// The first few of them.
    rejects: Vec<RejectV1<'a>>,
    /// Further facts.
    remarks: &'a [String],
    /// Digest of the bytes read.
    digest: Option<&'a str>,
}

/// A row that was not used.
#[derive(Serialize)]
struct RejectV1<'a> {
    /// Where it stands.
    place: PlaceV1<'a>,
    /// What is wrong.
    reason: &'a str,
}

/// A line of a file.
#[derive(Serialize)]
struct PlaceV1<'a> {
    /// Path relative to the workspace.
    path: &'a str,
    /// Line, from 1.
    line: usize,
}

/// One pool or category.
#[derive(Serialize)]
struct PoolV1<'a> {
    /// Its id.
    id: &'a str,
    /// `pool`, `single` or `category`.
    subject: &'static str,
    /// The pool a category runs on.
    runs_on: Option<&'a str>,
    /// Tier.
    tier: Option<&'static str>,
    /// Owner.
    owner: Option<&'a str>,
    /// Its verdict.
    verdict: Verdict,
    /// Against the run before.
    state: Baseline,
    /// Since which run.
    since: &'a str,
    /// The lead's target.
    lead: Option<&'a str>,
    /// Members with configured share, lead first.
    members: Vec<MemberV1<'a>>,
    /// Its checks.
    checks: Vec<CheckV1<'a>>,
}

/// One member.
#[derive(Serialize)]
struct MemberV1<'a> {
    /// As the router spells it.
    target: &'a str,
    /// Configured share; null when it is not a finite number.
    share: Option<f64>,
}

/// One check of one pool.
#[derive(Serialize)]
struct CheckV1<'a> {
    /// Its id.
    check: &'static str,
    /// Its verdict.
    verdict: Verdict,
    /// Against the run before.
    state: Baseline,
    /// Since which run.
    since: &'a str,
    /// The verdict in a sentence.
    summary: String,
    /// What it waits for or lacks.
    reasons: &'a [String],
    /// Facts.
    findings: Vec<FindingV1<'a>>,
    /// Numbers.
    numbers: Vec<NumberV1<'a>>,
}

/// One finding.
#[derive(Serialize)]
struct FindingV1<'a> {
    /// What kind of fact.
    code: &'static str,
    /// Whom it is about.
    subject: &'a str,
    /// The other side, or empty.
    counterpart: &'a str,
    /// What it means; null is a note.
    verdict: Option<Verdict>,
    /// How serious.
    severity: Option<&'static str>,
    /// The number.
    measured: Option<MeasuredV1>,
    /// The bound.
    limit: Option<LimitV1>,
    /// Why.
    why: String,
    /// What to do, or empty.
    todo: String,
    /// Where the thing stands.
    place: Option<PlaceV1<'a>>,
    /// The sources it rests on.
    sources: Vec<&'static str>,
    /// The change it asks for.
    intent: Option<IntentV1<'a>>,
    /// Why no proposal follows.
    held: Option<&'a str>,
    /// The open proposal that argues it.
    fingerprint: Option<&'a str>,
}

/// A measured value.
#[derive(Serialize)]
struct MeasuredV1 {
    /// What it is.
    what: &'static str,
    /// The value; null when it is not a finite number.
    value: Option<f64>,
    /// Its unit.
    unit: &'static str,
    /// Observations.
    n: Option<u64>,
}

/// A bound.
#[derive(Serialize)]
struct LimitV1 {
    /// Which side is fine.
    op: &'static str,
    /// The bound; null when it is not a finite number.
    value: Option<f64>,
    /// The settings key.
    setting: &'static str,
    /// Where it is set; null is the default.
    set_at: Option<String>,
}

/// A change asked for.
#[derive(Serialize)]
struct IntentV1<'a> {
    /// What it does.
    kind: &'static str,
    /// What is argued about.
    seat: &'static str,
    /// The file.
    path: &'a str,
    /// The subtree.
    pointer: &'a str,
    /// What a person would do.
    human: &'a str,
    /// Share of the pool's tasks that moves.
    moved_share: Option<f64>,
    /// The edits.
    edits: Vec<Value>,
}

/// One number behind a verdict.
#[derive(Serialize)]
struct NumberV1<'a> {
    /// What it is.
    what: &'a str,
    /// Whom it is about.
    of: &'a str,
    /// The value; null is unknown, and `remark` says why.
    value: Option<f64>,
    /// Its unit.
    unit: &'static str,
    /// 90 % interval.
    interval: Option<(f64, f64)>,
    /// Observations.
    n: Option<u64>,
    /// Why it is unknown, or what it rests on.
    remark: &'a str,
}

/// One open proposal; its file has the rest.
#[derive(Serialize)]
struct ProposalV1<'a> {
    /// What is argued.
    fingerprint: &'a str,
    /// Its file in the reports folder.
    file: String,
    /// Counts contents.
    revision: u64,
    /// What it says.
    content_digest: &'a str,
    /// Against the run before.
    baseline_state: &'a str,
    /// Lifecycle state.
    status: &'a str,
    /// The pool.
    pool: &'a str,
    /// The check.
    check: &'a str,
    /// The code.
    code: &'a str,
    /// What it does.
    kind: &'a str,
    /// Whom it is about.
    subject: &'a str,
    /// The other side, or empty.
    counterpart: &'a str,
    /// Its title.
    title: &'a str,
    /// First run that made it.
    first_seen: &'a str,
    /// Last run that made it; null when this run did not.
    last_seen: Option<String>,
    /// When it lapses.
    expires: &'a str,
}

/// An id that matched nothing.
#[derive(Serialize)]
struct UnmatchedV1<'a> {
    /// The source.
    source: &'a str,
    /// The id.
    id: &'a str,
    /// The nearest known one, never used.
    suggestion: Option<&'a str>,
}

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
        sources: report.sources.iter().map(|note| source(note, report)).collect(),
        pools: report.pools.iter().map(|one| pool(one, report)).collect(),
        proposals: report.proposals.iter().map(|one| proposal(one, report)).collect(),
        unmatched: unmatched.collect(),
        remarks: report.remarks.iter().map(crate::verdict::Sentence::plain).collect(),
    }
}

/// The twin of a source note.
fn source<'a>(note: &'a SourceNote, report: &Report) -> SourceV1<'a> {
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
        age_hours: note.age_hours(report.now).and_then(finite),
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
    }
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
        remark: if is_unexplained { "unknown, no reason stated" } else { &number.remark },
    }
}

/// The line of a proposal.
fn proposal<'a>(proposal: &'a Proposal, report: &Report) -> ProposalV1<'a> {
    let is_made_now = proposal.baseline_state != Baseline::Absent.as_str();
    ProposalV1 {
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

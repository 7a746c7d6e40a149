//! From a finding and its worked-out change to the proposal file: identity, effect, evidence, bar, conditions, way back.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

use super::conditions::{Answer, Facts, Question, conditions};
use super::evidence::evidence;
use super::terms::{Family, bar, effects};
use super::text::{cut, cut_key, visible};
use super::{Applied, ChangeError, Draft};
use crate::verdict::{
    BarTerm, Baseline, Change, Condition, ConfigChange, ConfigRef, Effect, Finding, Intent, PolicyRef, Proposal,
    ProposalKind, Reviewer, Rollback, TestPlan, Trigger, Verdict, Verification, axis, content_digest, fingerprint,
};
use crate::vocabulary::{Digest, SourceNote, subtree_digest};

/// The method's version; a change of it starts looks again.
pub const METHODS: &str = "pool-review.methods/1";
/// The longest title the schema takes, in characters.
const TITLE_CHARS: usize = 120;
/// The longest sentence for a person the schema takes, in characters.
const HUMAN_CHARS: usize = 400;
/// Days within which a landed change must show (methods §25, `horizon_days`).
const DEADLINE_DAYS: u64 = 14;

/// What a proposal needs to know beyond its finding and its change.
#[derive(Debug, Clone)]
pub struct ProposeContext<'a> {
    /// The review instant.
    pub now: DateTime<Utc>,
    /// The first run that made this proposal; `now` for a new one.
    pub first_seen: DateTime<Utc>,
    /// Counts contents; 1 for a new one.
    pub revision: u64,
    /// When it lapses.
    pub expires: DateTime<Utc>,
    /// Version of the program.
    pub reviewer_version: &'a str,
    /// Digest of the policy. Whoever fills this in has rebuilt the rings that [`Applied::document_after`] reaches under it and met
    /// no violation (methods §16.2).
    pub policy_digest: &'a str,
    /// Commit of the config, where it is known.
    pub commit: Option<&'a str>,
    /// How the sources were read.
    pub notes: &'a [SourceNote],
    /// Thresholds that were passed besides the finding's own.
    pub terms: &'a [BarTerm],
    /// Answers that the caller knows better than the finding alone tells.
    pub answers: BTreeMap<Question, Answer>,
    /// Pools that a measured change may be compared with, sorted.
    pub controls: &'a [String],
}

/// What is argued, by itself: the fields that make the fingerprint and the axis (methods §18.1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// What is argued.
    pub fingerprint: String,
    /// Between whom, in no order.
    pub axis: String,
    /// Whom it is about, as written in the file.
    pub subject: String,
    /// The other side, or empty.
    pub counterpart: String,
}

/// The identity of the proposal a finding asks for; `None` when it asks for none. A finding without a subject is about
/// its pool; keys longer than the schema takes are cut, and the cut keys are what is fingerprinted.
pub fn identity(finding: &Finding) -> Option<Identity> {
    let intent = finding.intent.as_ref()?;
    let pool = finding.pool.as_str();
    let subject = cut_key(if finding.subject.is_empty() { pool } else { &finding.subject });
    let counterpart = cut_key(&finding.counterpart);
    let (check, kind, seat) = (finding.check.as_str(), intent.kind.as_str(), intent.seat.as_str());
    Some(Identity {
        fingerprint: fingerprint(check, finding.code, kind, pool, seat, &subject, &counterpart),
        axis: axis(pool, seat, &subject, &counterpart),
        subject,
        counterpart,
    })
}

/// The proposal that a finding asks for, in the frozen shape. `applied` is what [`super::apply`] made of the finding's edits.
///
/// Errors: a finding that is not `misaligned` or asks for nothing, a test plan, a change of another file or subtree, an
/// identity that the schema does not take, an answer that forbids it.
pub fn propose(finding: &Finding, applied: &Applied, context: &ProposeContext<'_>) -> Result<Proposal, ChangeError> {
    let intent = finding.intent.as_ref().ok_or_else(|| unfit("asks for no change"))?;
    let identity = identity(finding).ok_or_else(|| unfit("asks for no change"))?;
    may_be_proposed(finding, intent, applied, context)?;
    let family = Family::of(finding);
    let config = config_ref(intent, applied, context)?;
    let title = title(finding, intent, &identity);
    let parts = Parts {
        change: Change::Config(change(intent, applied, &title)),
        rollback: rollback(finding, applied, family),
        verdict: Verdict::Misaligned,
        config,
        title,
        file: applied.digest_before.clone(),
    };
    Ok(assemble(finding, intent, identity, parts, context))
}

/// The proposal of a controlled test: nothing in the config changes. `file` is the file that holds the pool. The verdict is the
/// finding's.
///
/// Errors: a finding without a plan, an identity that the schema does not take, a subtree that is not there.
pub fn propose_test(finding: &Finding, file: &Draft, context: &ProposeContext<'_>) -> Result<Proposal, ChangeError> {
    let intent = finding.intent.as_ref().ok_or_else(|| unfit("asks for no change"))?;
    let identity = identity(finding).ok_or_else(|| unfit("asks for no change"))?;
    let plan = finding.claim.as_ref().and_then(|claim| claim.test.clone()).ok_or_else(|| unfit("has no test plan"))?;
    let verdict = finding.verdict.ok_or_else(|| unfit("changes no verdict"))?;
    if !is_pool(finding.pool.as_str()) || context.terms.iter().any(|term| !term.pass) {
        return Err(unfit("the pool's id is not one the proposal's schema takes, or a bar is not met"));
    }
    let subtree = subtree_digest(file.document(), &intent.pointer)
        .ok_or_else(|| ChangeError::Pointer { pointer: intent.pointer.clone(), reason: "is no subtree of the file" })?;
    let config = ConfigRef {
        path: file.path.clone(),
        commit: context.commit.map(str::to_owned),
        blob: file.blob.clone(),
        pointer: intent.pointer.clone(),
        subtree_digest: subtree.to_string(),
        subtree_digest_after: None,
        stale_if_changed: vec![intent.pointer.clone()],
    };
    let plan = TestPlan { human: cut(&visible(&plan.human), HUMAN_CHARS), ..plan };
    let parts = Parts {
        change: Change::Test(plan),
        rollback: Rollback { ops: Vec::new(), patch: None, trigger: no_trigger() },
        verdict,
        title: title(finding, intent, &identity),
        config,
        file: file.digest.clone(),
    };
    Ok(assemble(finding, intent, identity, parts, context))
}

/// A trigger that never fires.
fn no_trigger() -> Trigger {
    Trigger { rule: "none".to_owned(), floor_ppm: None, probability_ppm: None, min_weighted_rows_milli: None }
}

/// What tells a change of config from a test.
struct Parts {
    /// The change.
    change: Change,
    /// The way back.
    rollback: Rollback,
    /// The verdict.
    verdict: Verdict,
    /// The title.
    title: String,
    /// The config.
    config: ConfigRef,
    /// Digest of the file.
    file: Digest,
}

/// The proposal from its parts.
fn assemble(
    finding: &Finding,
    intent: &Intent,
    identity: Identity,
    parts: Parts,
    context: &ProposeContext<'_>,
) -> Proposal {
    let family = Family::of(finding);
    let expected = effects(finding, intent, family);
    let mut proposal = Proposal {
        schema: "pool-review.proposal/1".to_owned(),
        fingerprint: identity.fingerprint,
        axis: identity.axis,
        revision: context.revision,
        content_digest: String::new(),
        baseline_state: Baseline::New.as_str().to_owned(),
        status: "proposed".to_owned(),
        reviewer: reviewer(context),
        conditions: answers(finding, family, &parts.config, context),
        pool: finding.pool.to_string(),
        check: finding.check.as_str().to_owned(),
        code: finding.code.to_owned(),
        kind: intent.kind.as_str().to_owned(),
        seat: intent.seat.as_str().to_owned(),
        subject: identity.subject,
        counterpart: identity.counterpart,
        verdict: parts.verdict,
        change: parts.change,
        title: parts.title,
        evidence: evidence(finding, context.notes, &parts.file, context.now),
        config: parts.config,
        policy: policy(context),
        bar: bar(finding, family, context.terms),
        first_seen: instant(context.first_seen),
        expires: instant(context.expires),
        supersedes: Vec::new(),
        verification: verification(finding, &expected, context.controls),
        expected,
        rollback: parts.rollback,
        suppressed: None,
        landing: None,
        outcome: None,
    };
    proposal.content_digest = content_digest(&proposal.to_json()).to_string();
    proposal
}

/// Program and method.
fn reviewer(context: &ProposeContext<'_>) -> Reviewer {
    Reviewer { version: context.reviewer_version.to_owned(), methods: METHODS.to_owned() }
}

/// The policy that the result was checked against.
fn policy(context: &ProposeContext<'_>) -> PolicyRef {
    PolicyRef { digest: context.policy_digest.to_owned(), checked_on_result: true, violations: Vec::new() }
}

/// The way back.
fn rollback(finding: &Finding, applied: &Applied, family: Family) -> Rollback {
    let (ops, patch) = (applied.rollback_ops.clone(), Some(applied.rollback_patch.clone()));
    let trigger = match &finding.claim {
        Some(claim) => below_floor(claim.floor),
        None => family.trigger(),
    };
    Rollback { ops, patch, trigger }
}

/// Back as soon as the new lead is surely below the floor of the tier.
fn below_floor(floor: f64) -> Trigger {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 1")]
    let floor_ppm = (floor.clamp(0.0, 1.0) * 1e6).round() as u64;
    Trigger {
        rule: "below_floor_1".to_owned(),
        floor_ppm: Some(floor_ppm),
        probability_ppm: Some(900_000),
        min_weighted_rows_milli: Some(8_000),
    }
}

/// The nine conditions.
fn answers(finding: &Finding, family: Family, config: &ConfigRef, context: &ProposeContext<'_>) -> Vec<Condition> {
    let facts = Facts {
        finding,
        family,
        now: context.now,
        notes: context.notes,
        policy_digest: context.policy_digest,
        pointer: &config.pointer,
        subtree_digest: &config.subtree_digest,
    };
    conditions(&facts, &context.answers, &instant(context.first_seen), context.revision)
}

/// An instant in the schema's form: UTC, whole seconds.
pub(super) fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// An error about a finding.
fn unfit(why: impl Into<String>) -> ChangeError {
    ChangeError::Unfit(why.into())
}

/// What must hold before anything is written.
fn may_be_proposed(
    finding: &Finding,
    intent: &Intent,
    applied: &Applied,
    context: &ProposeContext<'_>,
) -> Result<(), ChangeError> {
    let no = |why: &str| Err(unfit(why));
    if finding.verdict != Some(Verdict::Misaligned) {
        return no("only a misaligned finding changes config");
    }
    if intent.kind == ProposalKind::ControlledTest {
        return no("a controlled test is a plan and no change of config");
    }
    if applied.patch.path != intent.path {
        return no("the change was worked out for another file");
    }
    if !is_pool(finding.pool.as_str()) {
        return no("the pool's id is not one the proposal's schema takes");
    }
    let forbids = |question| context.answers.get(&question).is_some_and(|answer: &Answer| answer.status != Some(true));
    if forbids(Question::PolicyClean) || forbids(Question::BarCleared) || context.terms.iter().any(|term| !term.pass) {
        return no("the policy or a bar is not met");
    }
    Ok(())
}

/// Whether the schema takes a pool id: letters, digits and `._:%/-`, at most 192 characters, a letter or digit first.
fn is_pool(id: &str) -> bool {
    id.len() <= 192
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:%/-".contains(&byte))
}

/// The config the proposal was computed on. A subtree that the change takes out altogether has the digest of `null` after it.
fn config_ref(intent: &Intent, applied: &Applied, context: &ProposeContext<'_>) -> Result<ConfigRef, ChangeError> {
    let before = subtree_digest(&applied.document_before, &intent.pointer)
        .filter(|_| intent.pointer.starts_with('/'))
        .ok_or_else(|| ChangeError::Pointer { pointer: intent.pointer.clone(), reason: "is no subtree of the file" })?;
    let after =
        subtree_digest(&applied.document_after, &intent.pointer).unwrap_or_else(|| Digest::of_json(&Value::Null));
    if before == after {
        return Err(unfit("the change leaves its subtree as it is"));
    }
    Ok(ConfigRef {
        path: applied.patch.path.clone(),
        commit: context.commit.map(str::to_owned),
        blob: applied.patch.blob.clone(),
        pointer: intent.pointer.clone(),
        subtree_digest: before.to_string(),
        subtree_digest_after: Some(after.to_string()),
        stale_if_changed: stale_if_changed(intent, applied),
    })
}

/// The subtree, and what the operations test outside it.
fn stale_if_changed(intent: &Intent, applied: &Applied) -> Vec<String> {
    let inside = format!("{}/", intent.pointer);
    let mut pointers = vec![intent.pointer.clone()];
    for op in applied.ops.iter().filter(|op| op["op"] == "test") {
        let path = op["path"].as_str().unwrap_or_default();
        if !path.starts_with(&inside) && !pointers.iter().any(|known| known == path) {
            pointers.push(path.to_owned());
        }
    }
    pointers
}

/// The change with its sentence for a person.
fn change(intent: &Intent, applied: &Applied, title: &str) -> ConfigChange {
    let human = if intent.human.is_empty() { title } else { &intent.human };
    ConfigChange {
        format: "json-patch+test".to_owned(),
        target: applied.patch.path.clone(),
        ops: applied.ops.clone(),
        patch: applied.patch.clone(),
        human: cut(&visible(&quoted(human)), HUMAN_CHARS),
    }
}

/// The marks of code in our own sentences as plain quotes: the text is shown where no markup is.
fn quoted(text: &str) -> String {
    text.replace('`', "'")
}

/// One line for lists.
fn title(finding: &Finding, intent: &Intent, identity: &Identity) -> String {
    let (subject, counterpart) = (&identity.subject, &identity.counterpart);
    let to = |word: &str| if counterpart.is_empty() { String::new() } else { format!(" {word} {counterpart}") };
    let what = match intent.kind {
        ProposalKind::SwapLead => format!("lead {subject}{}", to("->")),
        ProposalKind::Reorder => format!("move {subject}{}", to("behind")),
        ProposalKind::AddMember => format!("add {subject}{}", to("beside")),
        ProposalKind::AddTrial => format!("try {subject}{}", to("beside")),
        ProposalKind::RetireMember => format!("retire {subject}"),
        ProposalKind::ReplaceMember => format!("replace {subject}{}", to("by")),
        ProposalKind::Reweight => format!("reweight {subject}{}", to("against")),
        ProposalKind::MoveClass => format!("move class of {subject}{}", to("to")),
        ProposalKind::SetUntil => format!("set an end date on {subject}"),
        ProposalKind::FixKey => format!("fix key {subject}{}", to("->")),
        ProposalKind::RepointConsumer => format!("repoint {subject}{}", to("to")),
        ProposalKind::RetirePool => "retire the pool".to_owned(),
        ProposalKind::ControlledTest => format!("test {subject}{}", to("against")),
    };
    cut(&visible(&format!("{}: {what} ({})", finding.pool, finding.code)), TITLE_CHARS)
}

/// Metrics that are looked at and not measured (methods §17).
const LOOKED_AT: [&str; 3] = ["structural_fact", "window_price", "share_of_pool"];

/// How a landed change is verified: an estimate by measuring it against pools that were left alone, else by looking again.
fn verification(finding: &Finding, expected: &[Effect], controls: &[String]) -> Verification {
    let primary = expected.iter().find(|effect| effect.primary);
    let measured = primary.filter(|primary| !LOOKED_AT.contains(&primary.metric.as_str()));
    if let (Some(claim), Some(primary)) = (&finding.claim, measured) {
        let others: Vec<String> = controls.iter().filter(|pool| **pool != finding.pool.as_str()).cloned().collect();
        let (design, rule, since, controls) = match (&claim.test, others.is_empty()) {
            (Some(_), _) => ("paired_test", "paired_standard_1", "test_started_at", Vec::new()),
            (None, true) => ("before_after", "before_after_1", "landed_at", Vec::new()),
            (None, false) => ("did", "did_standard_1", "landed_at", others),
        };
        return Verification {
            design: design.to_owned(),
            rule: rule.to_owned(),
            metric: primary.metric.clone(),
            pool: finding.pool.to_string(),
            since: since.to_owned(),
            controls,
            min_rows: primary.min_rows,
            deadline_days: DEADLINE_DAYS,
        };
    }
    let metric = expected.iter().find(|effect| effect.primary).map_or("structural_fact", |effect| &effect.metric);
    Verification {
        design: "structural".to_owned(),
        rule: "structural_1".to_owned(),
        metric: metric.to_owned(),
        pool: finding.pool.to_string(),
        since: "landed_at".to_owned(),
        controls: Vec::new(),
        min_rows: 0,
        deadline_days: DEADLINE_DAYS,
    }
}

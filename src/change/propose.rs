//! From a finding and its worked-out change to the proposal file: identity, effect, evidence, bar, conditions, way back.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

use super::conditions::{Answer, Facts, Question, conditions};
use super::evidence::evidence;
use super::terms::{Family, bar, effects};
use super::text::{cut, cut_key, visible};
use super::{Applied, ChangeError};
use crate::verdict::{
    BarTerm, Baseline, Change, Condition, ConfigRef, Effect, Finding, Intent, PolicyRef, Proposal, ProposalKind,
    Reviewer, Rollback, Verdict, Verification, axis, content_digest, fingerprint,
};
use crate::vocabulary::{Digest, SourceNote, subtree_digest};

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
    /// Digest of the policy. Whoever fills this in has rebuilt the ring from [`Applied::document_after`] under it and met
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
        conditions: answers(finding, family, &config, context),
        pool: finding.pool.to_string(),
        check: finding.check.as_str().to_owned(),
        code: finding.code.to_owned(),
        kind: intent.kind.as_str().to_owned(),
        seat: intent.seat.as_str().to_owned(),
        subject: identity.subject,
        counterpart: identity.counterpart,
        verdict: Verdict::Misaligned,
        change: change(intent, applied, &title),
        title,
        evidence: evidence(finding, context.notes, &Digest::of(applied.text_before.as_bytes()), context.now),
        config,
        policy: policy(context),
        bar: bar(finding, family, context.terms),
        first_seen: instant(context.first_seen),
        expires: instant(context.expires),
        supersedes: Vec::new(),
        verification: verification(finding, &expected),
        expected,
        rollback: rollback(applied, family),
    };
    proposal.content_digest = content_digest(&proposal.to_json()).to_string();
    Ok(proposal)
}

/// Program and method.
fn reviewer(context: &ProposeContext<'_>) -> Reviewer {
    Reviewer { version: context.reviewer_version.to_owned(), methods: "pool-review.methods/1".to_owned() }
}

/// The policy that the result was checked against.
fn policy(context: &ProposeContext<'_>) -> PolicyRef {
    PolicyRef { digest: context.policy_digest.to_owned(), checked_on_result: true, violations: Vec::new() }
}

/// The way back.
fn rollback(applied: &Applied, family: Family) -> Rollback {
    let (ops, patch) = (applied.rollback_ops.clone(), Some(applied.rollback_patch.clone()));
    Rollback { ops, patch, trigger: family.trigger() }
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
fn change(intent: &Intent, applied: &Applied, title: &str) -> Change {
    let human = if intent.human.is_empty() { title } else { &intent.human };
    Change {
        format: "json-patch+test".to_owned(),
        target: applied.patch.path.clone(),
        ops: applied.ops.clone(),
        patch: applied.patch.clone(),
        human: cut(&visible(human), HUMAN_CHARS),
    }
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

/// How a landed change is verified: by looking again.
fn verification(finding: &Finding, expected: &[Effect]) -> Verification {
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

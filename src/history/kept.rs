//! What a proposal says, put beside what the ledger kept of it.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::baseline::{Current, Previous};
use super::facts::{ProposalFact, ProposalState};
use super::lifecycle::Status;
use crate::verdict::{Effect, Proposal, content_digest};

/// A proposal with what the ledger knows it replaces, as long as it is open.
pub(super) fn carrying(made: &Proposal, fact: &ProposalFact) -> Proposal {
    let mut made = made.clone();
    if fact.is_open() && !fact.supersedes.is_empty() {
        name_superseded(&mut made, &fact.supersedes);
    }
    made
}

/// Writes what a proposal replaces into it; that is content.
pub(super) fn name_superseded(proposal: &mut Proposal, fingerprints: &[String]) {
    fingerprints.clone_into(&mut proposal.supersedes);
    proposal.content_digest = content_digest(&proposal.to_json()).to_string();
}

/// Whether a file says what its digest says.
pub(super) fn is_intact(value: &Value) -> bool {
    value["content_digest"].as_str() == Some(content_digest(value).as_str())
}

/// Whether a proposal's time has run out. An instant that does not parse never lapses.
pub(super) fn has_lapsed(fact: &ProposalFact, now: DateTime<Utc>) -> bool {
    DateTime::parse_from_rfc3339(&fact.expires).is_ok_and(|expires| expires <= now)
}

/// The primary effect; a proposal without one has an effect of zero.
pub(super) fn primary(proposal: &Proposal) -> (i64, i64, i64) {
    let of = |effect: &Effect| (effect.point, effect.lo90, effect.hi90);
    proposal.expected.iter().find(|effect| effect.primary).map_or((0, 0, 0), of)
}

/// What a proposal says now.
pub(super) fn current(proposal: &Proposal) -> Current<'_> {
    Current {
        content_digest: &proposal.content_digest,
        verdict: proposal.verdict,
        point: primary(proposal).0,
        subtree_digest: &proposal.config.subtree_digest,
    }
}

/// What the ledger kept of it.
pub(super) fn previous(fact: &ProposalFact) -> Previous<'_> {
    Previous {
        content_digest: &fact.content_digest,
        verdict: fact.verdict,
        lo90: fact.lo90,
        hi90: fact.hi90,
        subtree_digest: &fact.subtree_digest,
    }
}

/// Whether the patch that was kept applies to the file that this run read. A file that changed elsewhere needs another patch, though
/// what is argued is the same.
pub(super) fn is_on_file(proposal: &Proposal, fact: &ProposalFact) -> bool {
    let blob = proposal.change.config().map(|change| &change.patch.blob);
    blob.zip(fact.blob.as_ref()).is_none_or(|(made, kept)| made == kept)
}

/// What the ledger keeps of a proposal.
pub(super) fn fact_of(proposal: &Proposal, state: ProposalState, status: Status, number: u64) -> ProposalFact {
    let (point, lo90, hi90) = primary(proposal);
    ProposalFact {
        fingerprint: proposal.fingerprint.clone(),
        axis: proposal.axis.clone(),
        code: proposal.code.clone(),
        change: proposal.kind.clone(),
        subject: proposal.subject.clone(),
        counterpart: proposal.counterpart.clone(),
        pool: proposal.pool.clone(),
        check: proposal.check.clone(),
        state,
        status,
        number,
        supersedes: proposal.supersedes.clone(),
        revision: proposal.revision,
        content_digest: proposal.content_digest.clone(),
        verdict: proposal.verdict,
        point,
        lo90,
        hi90,
        path: proposal.config.path.clone(),
        pointer: proposal.config.pointer.clone(),
        blob: proposal.change.config().map(|change| change.patch.blob.clone()),
        subtree_digest: proposal.config.subtree_digest.clone(),
        subtree_digest_after: proposal.config.subtree_digest_after.clone(),
        first_seen: proposal.first_seen.clone(),
        expires: proposal.expires.clone(),
        misses: 0,
    }
}

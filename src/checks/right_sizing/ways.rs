//! What a right-sizing finding asks to be changed: less weight, out, over to another member, or its class to another pool.

use serde_json::json;

use crate::checks::intents::{self, leaves_two_homes};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::verdict::{Edit, Finding, Intent, ProposalKind, Seat, Sentence};

/// The change that takes a member out, where this pool holds its line.
fn retire(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Intent> {
    let pointer = evidence.pointer_of(&member.key)?;
    let mut intent = intents::retire(evidence.definition.as_ref()?, &pointer)?;
    intent.moved_share = Some(member.share).filter(|share| *share > 0.0);
    Some(intent)
}

/// Less work for a member: weight 1 in a weighted pool where it has more, else out.
pub(super) fn less(evidence: &PoolEvidence, member: &MemberEvidence, found: &mut Finding) {
    lighter(evidence, member, found);
    if found.intent.is_none() {
        out(evidence, member, found);
    }
}

/// Weight 1 for a member of a weighted pool that has more; else nothing is asked for.
pub(super) fn lighter(evidence: &PoolEvidence, member: &MemberEvidence, found: &mut Finding) {
    found.intent = evidence.definition.as_ref().filter(|_| evidence.is_weighted).and_then(|route| {
        let pointer = evidence.pointer_of(&member.key)?;
        intents::to_one(route, &pointer)
    });
}

/// Out, unless the pool would be thin without it.
pub(super) fn out(evidence: &PoolEvidence, member: &MemberEvidence, found: &mut Finding) {
    let is_lead = evidence.lead().is_some_and(|lead| lead.key == member.key);
    if !leaves_two_homes(evidence, member) {
        found.held = Some("fewer than two members on two homes would remain".to_owned());
    } else if is_lead && !evidence.is_weighted {
        found.held = Some("it leads: who follows is decided by best-per-pool".to_owned());
    } else {
        found.intent = retire(evidence, member);
        if found.intent.is_none() {
            found.held = Some("its line stands in another pool or is a pattern".to_owned());
        }
    }
}

/// One class of work to a pool that a member leads: the category of that name is pointed there.
pub(super) fn move_class(evidence: &PoolEvidence, class: &str, to: &MemberEvidence, found: &mut Finding) {
    let facts = &evidence.facts;
    let Some((consumer, pool)) = facts.classes.get(class).zip(facts.led_elsewhere.get(&to.model_effort)) else {
        return;
    };
    found.todo = Sentence::new().own("send ").name(&consumer.id).own(" to ").name(pool).own(", which it leads");
    found.held = None;
    found.intent = Some(Intent {
        kind: ProposalKind::MoveClass,
        seat: Seat::Consumer,
        path: consumer.path.clone(),
        pointer: consumer.pointer.clone(),
        edits: vec![Edit::Replace {
            pointer: format!("{}/model/modelID", consumer.pointer),
            value: json!(pool.as_str()),
        }],
        human: format!("Point {} to {pool} instead of {}.", consumer.id, evidence.pool),
        moved_share: None,
        expires: None,
    });
}

/// From a dear member to a cheap one in one class: the class moves to a pool that the cheap one leads; else the two exchange
/// their weights where the dear one has more.
pub(super) fn over_to(
    evidence: &PoolEvidence,
    (strong, cheap): (&MemberEvidence, &MemberEvidence),
    class: &str,
    found: &mut Finding,
) {
    if !evidence.is_weighted && evidence.lead().is_some_and(|lead| lead.key == cheap.key) {
        found.held = Some("the cheaper member leads already; the dear one gets what it cannot answer".to_owned());
        return;
    }
    move_class(evidence, class, cheap, found);
    if found.intent.is_some() {
        return;
    }
    let members = evidence.ring_member(&strong.key).zip(evidence.ring_member(&cheap.key));
    found.intent =
        evidence.definition.as_ref().filter(|_| evidence.is_weighted && strong.share > cheap.share).and_then(|route| {
            let (strong, cheap) = members?;
            intents::exchange(route, strong, cheap)
        });
    if found.intent.is_none() {
        let why =
            "no category of this name could go to a pool that it leads: where the class goes is the owner's choice";
        found.held = Some(why.to_owned());
    }
}

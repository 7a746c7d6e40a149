//! What a right-sizing finding asks to be changed: less weight, out, or over to another member.

use crate::checks::intents::{self, leaves_two_homes};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::verdict::{Finding, Intent};

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

/// From a dear member to a cheap one: the two exchange their weights where the dear one has more.
pub(super) fn over_to(evidence: &PoolEvidence, strong: &MemberEvidence, cheap: &MemberEvidence, found: &mut Finding) {
    let members = evidence.ring_member(&strong.key).zip(evidence.ring_member(&cheap.key));
    found.intent =
        evidence.definition.as_ref().filter(|_| evidence.is_weighted && strong.share > cheap.share).and_then(|route| {
            let (strong, cheap) = members?;
            intents::exchange(route, strong, cheap)
        });
    if found.intent.is_none() {
        found.held = Some("which pool this class should go to is the owner's choice".to_owned());
    }
}

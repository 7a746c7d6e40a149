//! Members whose offer has ended or ends soon, and what becomes of their work (methods §11).

use super::finding;
use crate::checks::intents;
use crate::evidence::book::EndDate;
use crate::evidence::retire::{RetireCode, RetireFacts, RetireParams, retire_flags};
use crate::evidence::{MemberEvidence, PoolEvidence, Successor};
use crate::verdict::{Finding, Intent, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::{RouteDef, SourceId};

/// Members whose offer has ended or ends soon, where this pool holds the line.
pub(super) fn ends(evidence: &PoolEvidence, params: &RetireParams) -> Vec<Finding> {
    evidence.own_members().filter_map(|member| ending(evidence, member, params)).collect()
}

/// One member on its way out.
#[expect(clippy::cast_precision_loss, reason = "days of a few centuries")]
fn ending(evidence: &PoolEvidence, member: &MemberEvidence, params: &RetireParams) -> Option<Finding> {
    let ending = member.end.as_ref()?;
    let facts = RetireFacts { days_to_end: Some(ending.days_left as f64), ..RetireFacts::default() };
    let code = retire_flags(&facts, params)
        .into_iter()
        .find(|c| matches!(c, RetireCode::Retired | RetireCode::RetirementDue))?;
    let still_listed = ending.days_left < 0 && member.market.is_listed == Some(true);
    let is_firm = ending.end.is_firm() && !still_listed;
    let verdict = if is_firm { Verdict::Misaligned } else { Verdict::Watch };
    let mut found = finding(evidence, code.as_str(), &member.key, Some(verdict));
    found.sources = vec![SourceId::Pools, SourceId::Retirements, SourceId::RetirementList, SourceId::OpenRouter];
    found.measured =
        Some(Measured { what: "days to its end", value: ending.days_left as f64, unit: Unit::Days, n: None });
    found.limit = Some(Limit { op: LimitOp::AtLeast, value: params.retire_days, setting: "latest.retire_days" });
    found.place = evidence.place_of(&member.key);
    found.why = Sentence::new().name(&member.target).own(format!(" ends on {}", ending.end.date));
    found.why = stated(&ending.end, found.why);
    if still_listed {
        found.why = found.why.own("; past its date but still listed by its provider, so confirm before it goes");
    }
    let intent =
        evidence.definition.as_ref().and_then(|route| way_out(evidence, route, member, &ending.successor, &mut found));
    if verdict == Verdict::Misaligned {
        found.intent = intent;
    }
    Some(found)
}

/// Who states an end date, and who says otherwise.
fn stated(end: &EndDate, why: Sentence) -> Sentence {
    let why = match &end.stated_by {
        Some(source) => why.own(" (stated by ").name(source).own(")"),
        None if end.is_firm() => why,
        None => why.own(" by one list that names no source, so it only warns"),
    };
    match end.second {
        Some((source, day)) if day == end.date => why.own(format!("; {source} says the same day")),
        Some((source, day)) => why
            .own(format!("; disputed: {source} says {day}; the earlier day warns, confirm before anything is retired")),
        None => why,
    }
}

/// What to do about a member that ends: its successor in its place when it may be used, else out.
fn way_out(
    evidence: &PoolEvidence,
    route: &RouteDef,
    member: &MemberEvidence,
    successor: &Successor,
    found: &mut Finding,
) -> Option<Intent> {
    let pointer = evidence.pointer_of(&member.key)?;
    match successor {
        Successor::InPool { model, .. } => {
            model.clone_into(&mut found.counterpart);
            found.why = found.why.clone().own("; its successor ").name(model).own(" is in the pool already");
            found.todo = Sentence::from("take it out");
            intents::retire(route, &pointer)
        }
        Successor::Offered { model, target, weight_key } => {
            model.clone_into(&mut found.counterpart);
            found.why = found.why.clone().own("; its successor is ").name(model);
            found.todo = Sentence::new().own("put ").name(target).own(" in its place");
            let is_lead = evidence.lead().is_some_and(|lead| lead.key == member.key);
            if is_lead && evidence.members.len() > 1 {
                return intents::replace_behind(route, &pointer, target);
            }
            intents::replace(route, &pointer, target, weight_key)
        }
        Successor::Unusable(why) => {
            found.why = found.why.clone().own("; no usable successor: ").name(why);
            found.todo = Sentence::from("take it out");
            intents::retire(route, &pointer)
        }
    }
}

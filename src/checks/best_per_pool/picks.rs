//! Configured, market-only and own-evidence pick side by side (methods §12). A disagreement is information, not a finding.

use super::finding;
use crate::evidence::pairs::alone;
use crate::evidence::statistics::cost::loss;
use crate::evidence::statistics::picks::{PickMember, ThreePicks, three_picks};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Finding, Sentence};
use crate::vocabulary::SourceId;

/// The three picks of a pool.
pub(in crate::checks) fn picks(evidence: &PoolEvidence, lead: &MemberEvidence, settings: &Settings) -> ThreePicks {
    let member = |member: &MemberEvidence| {
        let side = alone(&member.own, &evidence.mix.shares);
        let loss = loss(side.rate.mean(), side.cost.map(|cost| cost.usd), side.minutes(), evidence.worth());
        PickMember {
            id: member.key.clone(),
            bill: member.bill.get(),
            q: member.q.get(),
            imputed: member.imputed.len(),
            n: member.own.n,
            loss: loss.is_complete().then_some(loss.total),
        }
    };
    let members: Vec<PickMember> = evidence.members.iter().map(member).collect();
    let rows = settings.thresholds.bars.rows;
    three_picks(&lead.key, &members, evidence.tier.tokens_per_task, evidence.tier.stake_usd, rows)
}

/// The picks as a note, with where they disagree; none where there is nothing to pick.
pub(super) fn note(evidence: &PoolEvidence, lead: &MemberEvidence, settings: &Settings) -> Option<Finding> {
    if evidence.members.len() < 2 {
        return None;
    }
    let picks = picks(evidence, lead, settings);
    let mut found = finding(evidence, "three_picks", lead, "", None);
    found.sources = vec![SourceId::Pools, SourceId::Market, SourceId::Sessions];
    let named = |sentence: Sentence, pick: Option<&String>| match pick {
        Some(key) => sentence.name(key),
        None => sentence.own("unknown"),
    };
    let sentence = named(Sentence::new().own("table "), Some(&picks.table));
    let sentence = named(sentence.own(", catalog "), picks.catalog.as_ref());
    let sentence = named(sentence.own(", learn "), picks.learn.as_ref());
    let knee = evidence.market.members_pareto.as_ref().and_then(|front| front.knee.as_ref());
    let sentence = named(sentence.own("; knee "), knee);
    let flag = |agree: Option<bool>| match agree {
        Some(true) => "agree",
        Some(false) => "disagree",
        None => "unknown",
    };
    let sentence = sentence.own(format!(
        "; table and catalog {}, table and learn {}, catalog and learn {}",
        flag(picks.table_catalog()),
        flag(picks.table_learn()),
        flag(picks.catalog_learn())
    ));
    found.why =
        if picks.left_out.is_empty() { sentence } else { sentence.own("; learn cannot judge ").names(&picks.left_out) };
    Some(found)
}

//! Rated models that could be called and whose bill is unknown, in the standing they would have with one.

use std::collections::BTreeMap;

use super::around::{Unbilled, candidate_evidence};
use super::assemble::{PoolInput, World, in_order, model_effort, rated_set};
use super::outside::{Outside, WayIn};

use super::standing::standings;
use crate::ring::RingMember;

/// Rated models that could be called here and whose bill is unknown, in the set that they would stand in with one.
pub(super) fn unbilled(
    world: &World<'_>,
    input: &PoolInput<'_>,
    ring: &[RingMember],
    outside: &[&Outside<'_>],
) -> Unbilled {
    let is_choice = |way: &WayIn| !way.is_incapable && way.target.is_some();
    let unknown: Vec<(&Outside<'_>, &(f64, String))> = outside
        .iter()
        .filter(|candidate| is_choice(&candidate.way_in))
        .filter_map(|candidate| Some((*candidate, candidate.unknown_bill.as_ref()?)))
        .collect();
    if unknown.is_empty() {
        return Unbilled::default();
    }
    let mut set: BTreeMap<String, BTreeMap<String, f64>> =
        rated_set(world, ring, outside).into_iter().map(|rated| (rated.id, rated.indices)).collect();
    set.extend(unknown.iter().map(|(candidate, _)| (candidate.id.clone(), candidate.indices.clone())));
    let standings = standings(&in_order(set), &input.tier.index_mix);
    let least_index = input.requirements.min_index;
    let candidate = |(candidate, (least, reason)): (&Outside<'_>, &(f64, String))| {
        let mut evidence = candidate_evidence(world, candidate, &standings, least_index);
        evidence.fit.values.bill = Some(*least);
        (evidence, reason.clone())
    };
    let q_of = |member: &RingMember| {
        let id = model_effort(&member.key.model, &member.key.effort);
        let q = standings.by_id.get(&id)?.q?;
        Some((id, q))
    };
    Unbilled {
        candidates: unknown.into_iter().map(candidate).collect(),
        members_q: ring.iter().filter_map(q_of).collect(),
    }
}

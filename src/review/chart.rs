//! The numbers behind a pool's pictures, taken from its evidence.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::windows::WindowView;
use crate::evidence::{CandidateEvidence, MemberEvidence, PoolEvidence};
use crate::verdict::{Chart, ChartPoint, ChartSpeed, ChartWindow, PointRole};
use crate::vocabulary::Known;

/// Most candidates of a pool's picture; those on the front come first.
const MOST_CANDIDATES: usize = 10;

/// What the pictures of a pool show.
pub(super) fn chart(evidence: &PoolEvidence) -> Chart {
    let front: BTreeSet<&str> =
        evidence.market.pareto.iter().flat_map(|pareto| &pareto.front).map(String::as_str).collect();
    let lead = evidence.lead().map(|lead| lead.key.as_str());
    let mut members: Vec<&MemberEvidence> = evidence.members.iter().collect();
    members.sort_by_key(|member| Some(member.key.as_str()) != lead);
    let mut points: Vec<ChartPoint> = members
        .iter()
        .map(|member| {
            let role = if Some(member.key.as_str()) == lead { PointRole::Lead } else { PointRole::Member };
            member_point(member, role, front.contains(member.key.as_str()))
        })
        .collect();
    let candidates = candidates(evidence, &front);
    let more_candidates = candidates.len().saturating_sub(MOST_CANDIDATES);
    points.extend(candidates.into_iter().take(MOST_CANDIDATES));
    Chart {
        points,
        more_candidates,
        speeds: evidence.members.iter().map(speed).collect(),
        speed_floor: evidence.requirements.min_output_tps,
        bill_ceiling: evidence.requirements.max_bill,
        windows: windows(evidence),
    }
}

/// A member as a point.
fn member_point(member: &MemberEvidence, role: PointRole, on_front: bool) -> ChartPoint {
    let reason = |value: &Known<f64>| value.reason().map(str::to_owned);
    let unknown = [reason(&member.bill), reason(&member.q)].into_iter().flatten();
    let imputed =
        (!member.imputed.is_empty()).then(|| format!("rests on imputed values: {}", member.imputed.join(", ")));
    ChartPoint {
        id: member.key.clone(),
        role,
        bill: member.bill.get(),
        q: member.q.get(),
        index: member.index.get(),
        on_front,
        remark: unknown.chain(imputed).collect::<Vec<_>>().join("; "),
    }
}

/// Candidates that have a place on the plane and a way in: the front first, then the cheapest.
fn candidates(evidence: &PoolEvidence, front: &BTreeSet<&str>) -> Vec<ChartPoint> {
    let is_open = |candidate: &&CandidateEvidence| {
        let fit = &candidate.fit;
        fit.has_home && fit.is_allowed && fit.is_capable && fit.values.bill.is_some() && fit.values.q.is_some()
    };
    let point = |candidate: &CandidateEvidence| ChartPoint {
        id: candidate.fit.values.id.clone(),
        role: PointRole::Candidate,
        bill: candidate.fit.values.bill,
        q: candidate.fit.values.q,
        index: candidate.index,
        on_front: front.contains(candidate.fit.values.id.as_str()),
        remark: String::new(),
    };
    let mut points: Vec<ChartPoint> = evidence.market.candidates.iter().filter(is_open).map(point).collect();
    let bill = |point: &ChartPoint| point.bill.unwrap_or(f64::MAX);
    points.sort_by(|a, b| {
        b.on_front.cmp(&a.on_front).then_with(|| bill(a).total_cmp(&bill(b))).then_with(|| a.id.cmp(&b.id))
    });
    points
}

/// A member's speed.
fn speed(member: &MemberEvidence) -> ChartSpeed {
    let measured = member.speed.as_ref().and_then(|speed| speed.all.output_tps);
    ChartSpeed {
        member: member.target.clone(),
        measured: measured.map(|measure| measure.value),
        interval: measured.and_then(|measure| measure.interval_90),
        n: measured.map_or(0, |measure| measure.n),
        market: member.market_tps.get(),
    }
}

/// Every window once, with the members it binds.
fn windows(evidence: &PoolEvidence) -> Vec<ChartWindow> {
    let mut by_id: BTreeMap<&str, ChartWindow> = BTreeMap::new();
    for member in &evidence.members {
        for view in &member.windows.windows {
            by_id.entry(&view.id).or_insert_with(|| window(view)).members.push(member.target.clone());
        }
    }
    by_id.into_values().collect()
}

/// One window without its members.
fn window(view: &WindowView) -> ChartWindow {
    let ends = view.ends.as_ref();
    ChartWindow {
        id: view.id.clone(),
        members: Vec::new(),
        class: view.class.as_str().to_owned(),
        length_h: view.length_h,
        resets_at: view.resets_at,
        used: ends.map(|(low, high)| (low.used, high.used)),
        price: ends.map(|(low, high)| (low.price, high.price)),
        age_h: view.age_h,
        remarks: view.flags.clone(),
    }
}

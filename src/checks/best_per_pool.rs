//! Is the lead the best choice? It is held against every member that may lead: on market values, on our own sessions and on
//! quota windows (methods §12).

mod picks;
mod sessions;
mod trials;
mod windows;

use super::{Judgement, calls, lacking, number, plain};
use crate::evidence::pairs::alone;
use crate::evidence::statistics::drift::DRIFT_Z;
use crate::evidence::windows::Standing;
use crate::evidence::{MemberEvidence, PoolEvidence, Readiness};
use crate::settings::Settings;
use crate::verdict::{Finding, Limit, LimitOp, Measured, Number, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, SourceId};
use sessions::rivals;

/// Judges one pool.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Judgement {
    let Some(lead) = evidence.lead() else { return Judgement::default() };
    let mut judgement = Judgement::default();
    market(evidence, lead, settings, &mut judgement);
    sessions::judge(evidence, lead, settings, &mut judgement);
    windows::judge(evidence, lead, settings, &mut judgement);
    judgement.findings.extend(picks::note(evidence, lead, settings));
    judgement.findings.extend(evidence.members.iter().filter_map(|member| drifting(evidence, member)));
    judgement.numbers.splice(0..0, numbers(evidence, lead));
    judgement.aligned = aligned(evidence, lead);
    judgement
}

/// A finding of this check against an alternative.
fn finding(
    evidence: &PoolEvidence,
    code: &'static str,
    lead: &MemberEvidence,
    against: &str,
    verdict: Option<Verdict>,
) -> Finding {
    Finding {
        counterpart: against.to_owned(),
        place: evidence.place_of(&lead.key),
        ..Finding::new(CheckId::BestPerPool, evidence.pool.clone(), code, lead.key.clone(), verdict)
    }
}

/// Market: an alternative that dominates the lead where neither has rows of its own is worth a look, never a change.
fn market(evidence: &PoolEvidence, lead: &MemberEvidence, settings: &Settings, judgement: &mut Judgement) {
    if rivals(evidence, lead).next().is_none() {
        return;
    }
    judgement.open.extend(lacking(evidence, &[SourceId::Market]));
    if *evidence.readiness(SourceId::Market) != Readiness::Ready {
        return;
    }
    for (known, what) in [(lead.q.get(), "standing_of_lead"), (lead.bill.get(), "bill_of_lead")] {
        if known.is_none() {
            judgement.open.push((Verdict::Watch, format!("missing_number:{what}")));
        }
    }
    for rival in rivals(evidence, lead).filter(|rival| dominates(rival, lead)) {
        let has_rows = [lead, rival].iter().any(|member| member.own.n >= settings.thresholds.bars.rows);
        if !has_rows {
            judgement.findings.push(market_inferior(evidence, lead, rival));
        }
    }
}

/// Whether a member dominates another on the market (methods §11: q by a point, bill within 5 %, speed within 10 %).
/// An unknown number on either side settles nothing.
fn dominates(rival: &MemberEvidence, lead: &MemberEvidence) -> bool {
    let all = rival.q.get().zip(lead.q.get()).zip(rival.bill.get().zip(lead.bill.get()));
    let speeds = rival.market_tps.get().zip(lead.market_tps.get());
    let Some((((q, q_lead), (bill, bill_lead)), (tps, tps_lead))) = all.zip(speeds) else { return false };
    q >= q_lead + 1.0 && bill <= 1.05 * bill_lead && tps >= 0.9 * tps_lead
}

/// The lead is behind on the market and nobody has rows.
fn market_inferior(evidence: &PoolEvidence, lead: &MemberEvidence, rival: &MemberEvidence) -> Finding {
    let mut found = finding(evidence, "lead_market_inferior", lead, &rival.key, Some(Verdict::Watch));
    let gain = rival.q.get().unwrap_or_default() - lead.q.get().unwrap_or_default();
    found.sources = vec![SourceId::Pools, SourceId::Market];
    found.measured =
        Some(Measured { what: "q of the alternative against the lead", value: gain, unit: Unit::Points, n: None });
    found.limit = Some(Limit { op: LimitOp::Below, value: 1.0, setting: "built in" });
    found.why = Sentence::new()
        .name(&rival.target)
        .own(format!(" stands {gain:.1} points above the lead "))
        .name(&lead.target)
        .own(" at no higher bill and no lower speed; neither has enough rows of its own");
    found.todo = Sentence::from("compare them on your own tasks before changing anything");
    found
}

/// What each member shows on market, scorecards and windows, side by side; the lead first.
fn numbers(evidence: &PoolEvidence, lead: &MemberEvidence) -> Vec<Number> {
    let mut numbers = Vec::new();
    let others = evidence.members.iter().filter(|member| member.key != lead.key);
    for member in std::iter::once(lead).chain(others) {
        numbers.push(success(member));
        numbers.extend(estimates(evidence, member));
        numbers.extend(calls::numbers(evidence, member));
        numbers.extend(window_numbers(member));
        numbers.push(number("standing q", &member.target, &member.q, Unit::Points));
        numbers.push(number("bill", &member.target, &member.bill, Unit::UsdPerMtok));
    }
    if let Some(front) = &evidence.market.members_pareto {
        let pick = plain("market pick by loss of a task", front.objective, Unit::Usd);
        numbers.push(Number { of: front.stake_pick.clone().unwrap_or_default(), ..pick });
    }
    numbers
}

/// A member's raw success rate.
fn success(member: &MemberEvidence) -> Number {
    let rate = member.rate();
    let share = rate.success();
    Number {
        what: "raw success".to_owned(),
        of: member.target.clone(),
        value: share.as_ref().map(|share| share.value),
        unit: Unit::Share,
        interval: share.as_ref().map(|share| (share.lo, share.hi)),
        n: Some(rate.scored()),
        basis: None,
        remark: format!("{} infra, {} unknown, {} immature left out", rate.infra, rate.unknown, rate.immature),
    }
}

/// What is believed of a member on the pool's own mix, and what model judges scored it, which never enters that.
fn estimates(evidence: &PoolEvidence, member: &MemberEvidence) -> Vec<Number> {
    let own = &member.own;
    if own.raw.scored() == 0 {
        return Vec::new();
    }
    let side = alone(own, &evidence.mix.shares);
    let of = |what: &str, value: Option<f64>, unit: Unit, interval: Option<(f64, f64)>, remark: String| Number {
        of: member.target.clone(),
        interval,
        n: Some(own.raw.scored()),
        remark,
        ..plain(what, value, unit)
    };
    let weighted = format!("{:.1} weighted rows, {} tasks, {} days", own.n, own.raw.tasks, own.raw.days);
    let cost = side.cost.map(|cost| (cost.usd, cost.se_usd));
    let spread = cost.map_or_else(|| "unknown price or tokens".to_owned(), |(_, se)| format!("standard error {se:.4}"));
    let mut numbers = vec![
        of("standardised success", Some(own.rate.mean()), Unit::Share, Some(own.rate.interval_90()), weighted),
        of("cost of a task at list price", cost.map(|(usd, _)| usd), Unit::Usd, None, spread),
        of("typical minutes of a task", side.minutes().map(|m| m * 60.0), Unit::Seconds, None, String::new()),
    ];
    numbers.extend(judge_score(evidence, member));
    numbers
}

/// The mean score of model judges, corrected for their severity.
fn judge_score(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Number> {
    let prefix = format!("{}|", member.model_effort);
    let items: Vec<f64> = evidence
        .judged
        .item_means
        .iter()
        .filter(|(item, _)| item.starts_with(&prefix))
        .map(|(_, mean)| *mean)
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of classes")]
    let mean = (!items.is_empty()).then(|| items.iter().sum::<f64>() / items.len() as f64)?;
    let remark = match evidence.judged.uncorrected.len() {
        0 => "corrected for severity; beside success, never inside it".to_owned(),
        _ => format!(
            "not corrected for severity of {}; beside success, never inside it",
            evidence.judged.uncorrected.join(", ")
        ),
    };
    Some(Number {
        of: member.target.clone(),
        remark,
        ..plain("score of model judges, of 100", Some(mean), Unit::Count)
    })
}

/// A member whose success changed lately, class by class: a note that names the day a new epoch may have begun.
fn drifting(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let z = member.own.drift.filter(|z| z.abs() > DRIFT_Z)?;
    let mut found = finding(evidence, "drift", member, "", None);
    found.sources = vec![SourceId::Pools, SourceId::Sessions];
    found.measured =
        Some(Measured { what: "z of the last 7 days", value: z, unit: Unit::Ratio, n: Some(member.own.raw.scored()) });
    let day = (evidence.now - chrono::Duration::days(7)).date_naive();
    found.why = Sentence::new().name(&member.target).own(format!(
        " succeeds {} often in the last 7 days than in the 28 before, class by class (z {z:.2}); a new epoch may have begun about {day}",
        if z < 0.0 { "less" } else { "more" }
    ));
    Some(found)
}

/// A member's binding window: remaining, hours to the reset, price.
fn window_numbers(member: &MemberEvidence) -> Vec<Number> {
    let of = |mut number: Number, remark: &str| {
        member.target.clone_into(&mut number.of);
        remark.clone_into(&mut number.remark);
        number
    };
    match &member.windows.standing {
        Standing::Metered => {
            vec![of(plain("window price", Some(0.0), Unit::WindowPrice), "metered: no window binds it")]
        }
        Standing::Unknown(reason) | Standing::Stale(reason) => {
            vec![of(plain("window price", None, Unit::WindowPrice), reason)]
        }
        Standing::Known(_) => {
            let Some((view, price)) = member.windows.binding() else { return Vec::new() };
            let age = view.age_h.map_or_else(|| "age unknown".to_owned(), |age| format!("read {age:.1} h ago"));
            let remark = format!("{}, {}, {age}", view.id, view.class.as_str());
            vec![
                of(plain("window remaining", Some(price.remaining), Unit::Share), &remark),
                of(plain("hours to reset", Some(price.tau_h), Unit::Hours), &remark),
                of(plain("window price", Some(price.price), Unit::WindowPrice), &remark),
            ]
        }
    }
}

/// The sentence of an aligned pool.
fn aligned(evidence: &PoolEvidence, lead: &MemberEvidence) -> Sentence {
    let rate = lead
        .rate()
        .success()
        .map_or_else(|| "no rows".to_owned(), |r| format!("raw success {:.0} % (n {})", r.value * 100.0, r.n));
    let others = evidence.alternatives().count();
    let windows = match lead.windows.price() {
        Some(price) => format!("window price {:.3}", price.high),
        None => "window price unknown".to_owned(),
    };
    let sentence = Sentence::new().name(&lead.target).own(format!(": {rate}, {windows}; "));
    if others == 0 {
        sentence.own("no alternative")
    } else {
        sentence.own(format!("none of {others} alternatives is ahead"))
    }
}

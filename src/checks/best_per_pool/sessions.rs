//! Lead against every alternative on our own sessions (methods §7 to §9): one loss decides, and what it cannot settle may be
//! worth a test.

use chrono::{DateTime, Utc};

use super::finding;
use super::trials::test;
use crate::checks::estimates::{
    Compared, Estimate, claim_rows, compare, corrected, effect, look_rules, ppm_term, previous, rows_said, shortfall,
    take_look, term,
};
use crate::checks::{Judgement, broken, intents, lacking};
use crate::evidence::statistics::claim::{ClaimInput, ClaimedEffect, HORIZON_DAYS, claim};
use crate::evidence::statistics::difference::{diff_interval, p_diff};
use crate::evidence::statistics::looks::{LookRules, LookState, LookStep, ReverseFacts, reverse_rule};
use crate::evidence::statistics::pair::{PairVerdict, PreviousLook};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{BarTerm, Claim, Finding, Limit, LimitOp, Measured, Seat, Sentence, Unit, Verdict, axis};
use crate::vocabulary::{LookKey, SourceId};

/// The code of every finding here.
const CODE: &str = "lead_loses_on_sessions";

/// Members that are another model (or another effort) than the lead and may lead.
pub(super) fn rivals<'a>(
    evidence: &'a PoolEvidence,
    lead: &'a MemberEvidence,
) -> impl Iterator<Item = &'a MemberEvidence> {
    evidence.alternatives().filter(|member| member.model_effort != lead.model_effort)
}

/// Judges the lead against every alternative.
pub(super) fn judge(evidence: &PoolEvidence, lead: &MemberEvidence, settings: &Settings, judgement: &mut Judgement) {
    if rivals(evidence, lead).next().is_none() {
        return;
    }
    let open = lacking(evidence, &[SourceId::Sessions]);
    if !open.is_empty() {
        judgement.open.extend(open);
        return;
    }
    if let Some(short) = shortfall(lead, settings) {
        judgement.open.push((Verdict::InsufficientEvidence, format!("floor_lead:{short}")));
        return;
    }
    let lacks_tokens = |member: &MemberEvidence| member.own.raw.scored() > 0 && !member.own.has_cost_rows();
    if evidence.members.iter().any(lacks_tokens) {
        judgement.open.extend(broken(evidence, SourceId::SessionStores));
    }
    for rival in rivals(evidence, lead) {
        let key = LookKey::new(CODE, &lead.key, &rival.key);
        let before = previous(evidence, &key, lead, rival);
        let compared = compare(evidence, lead, rival, settings, before);
        let has_rows = shortfall(rival, settings).is_none();
        let rules = look_rules(settings, settings.thresholds.bars.propose);
        let p = compared.decision.money.p_saving;
        let landed = evidence.landed.get(&axis(evidence.pool.as_str(), Seat::Lead.as_str(), &lead.key, &rival.key));
        let look = (p, landed.is_some());
        let step = has_rows.then(|| take_look(evidence, judgement, key, (lead, rival), look, &rules));
        let found = conclude(evidence, lead, &compared, step, before, settings, judgement);
        judgement.findings.extend(found.map(|found| match landed {
            Some(at) => held_back(evidence, lead, found, *at, step, &rules),
            None => found,
        }));
    }
}

/// The finding of a pair, and the reason codes of what it could not be.
fn conclude(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    compared: &Compared<'_>,
    step: Option<LookStep>,
    before: Option<PreviousLook>,
    settings: &Settings,
    judgement: &mut Judgement,
) -> Option<Finding> {
    let verdict = match compared.decision.verdict {
        PairVerdict::Aligned => return None,
        PairVerdict::InsufficientEvidence => Verdict::InsufficientEvidence,
        PairVerdict::Watch => Verdict::Watch,
        PairVerdict::Unresolved => Verdict::Unresolved,
        PairVerdict::Misaligned => Verdict::Misaligned,
    };
    for reason in &compared.decision.reasons {
        let short = shortfall(compared.rival, settings).filter(|_| *reason == "floor_alternative");
        let short = short.map_or_else(String::new, |short| format!(":{short}"));
        judgement.open.push((verdict, format!("{reason}:{}{short}", compared.rival.key)));
    }
    let mut found = finding(evidence, CODE, lead, &compared.rival.key, Some(verdict));
    found.sources = vec![SourceId::Pools, SourceId::Sessions];
    let decision = &compared.decision;
    let bar =
        if verdict == Verdict::Unresolved { settings.thresholds.bars.watch } else { settings.thresholds.bars.propose };
    found.measured = Some(Measured {
        what: "P(the alternative saves more than the threshold)",
        value: decision.money.p_saving,
        unit: Unit::Share,
        n: Some(lead.own.raw.scored().min(compared.rival.own.raw.scored())),
    });
    found.limit = Some(Limit {
        op: LimitOp::Below,
        value: bar,
        setting: if verdict == Verdict::Unresolved { "bars.watch" } else { "bars.propose" },
    });
    found.why = words(lead, compared, step);
    match verdict {
        Verdict::Misaligned => swap(evidence, lead, compared, before, settings, &mut found),
        Verdict::Unresolved => test(evidence, lead, compared, settings, &mut found),
        _ => found.todo = Sentence::from("nothing yet: it is watched"),
    }
    Some(found)
}

/// A change that would undo a landed one waits for the reverse rule (methods §8.1).
fn held_back(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    mut found: Finding,
    landed: DateTime<Utc>,
    step: Option<LookStep>,
    rules: &LookRules,
) -> Finding {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let days = (evidence.now - landed).num_seconds() as f64 / 86_400.0;
    let missing = reverse_rule(
        &ReverseFacts {
            days,
            rows: evidence.rows_since(lead, lead, landed),
            p: found.measured.as_ref().map_or(0.0, |measured| measured.value),
            looks: step.map_or(0, |step| step.streak),
        },
        rules,
    );
    if !missing.is_empty() && found.intent.is_some() {
        found.held =
            Some(format!("it would undo a change that landed {days:.1} days ago; missing: {}", missing.join(", ")));
    }
    found
}

/// Both sides with their numbers, raw and standardised side by side.
fn words(lead: &MemberEvidence, compared: &Compared<'_>, step: Option<LookStep>) -> Sentence {
    let (pair, decision, rival) = (&compared.pair, &compared.decision, compared.rival);
    let money = &decision.money;
    let side = |member: &MemberEvidence, side: &crate::evidence::statistics::pair::PairSide, loss: f64| {
        let raw = member.own.raw;
        let cost = side.cost.map_or_else(|| "c unknown".to_owned(), |cost| format!("c {:.3} USD", cost.usd));
        let time = side.minutes().map_or_else(|| "T unknown".to_owned(), |minutes| format!("T {minutes:.1} min"));
        let success = side.rate.mean() * 100.0;
        format!(
            " raw {}/{}, standardised {success:.1} %, {cost}, {time}, loss {loss:.3} USD",
            raw.successes,
            raw.scored()
        )
    };
    let sentence = Sentence::new().own("lead ").name(&lead.target).own(side(lead, &pair.lead, money.loss_lead));
    let sentence = sentence.own("; ").name(&rival.target).own(side(rival, &pair.other, money.loss_alternative));
    let (lo, hi) = money.interval_90();
    let estimated = if pair.is_estimated { " (its cost or time is estimated from the lead's)" } else { "" };
    let text = format!(
        "{estimated}; saves {:.3} USD a task [{lo:.3}, {hi:.3}], P(more than {:.3}) {:.3}, excess regret {:.1} % of the loss, \
         detectable {:.1} points, at half and double the stake {} and {}",
        money.saving,
        money.epsilon,
        money.p_saving,
        money.excess_share() * 100.0,
        decision.mde * 100.0,
        decision.at_half.as_str(),
        decision.at_double.as_str(),
    );
    let reasons = match decision.reasons.join(", ") {
        reasons if reasons.is_empty() => reasons,
        reasons => format!("; {reasons}"),
    };
    let open = step
        .filter(|step| step.is_open || step.state == LookState::Withdrawn)
        .map_or_else(String::new, |step| format!("; proposal {}", step.state.as_str()));
    sentence.own(format!("{text}{reasons}{open}"))
}

/// The swap that a misaligned pair asks for, with what it claims.
fn swap(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    compared: &Compared<'_>,
    before: Option<PreviousLook>,
    settings: &Settings,
    found: &mut Finding,
) {
    let rival = compared.rival;
    found.todo = Sentence::new().own("lead with ").name(&rival.target);
    let claimed = claimed(evidence, compared);
    found.claim = Some(Box::new(swap_claim(evidence, lead, compared, before, settings, &claimed)));
    if !claimed.is_measurable() {
        let days =
            claimed.horizon_days.map_or_else(|| "no rows come".to_owned(), |days| format!("it takes {days} days"));
        test(evidence, lead, compared, settings, found);
        if found.intent.is_none() {
            found.held =
                Some(format!("its effect cannot be measured in {HORIZON_DAYS} days ({days}), and a test does not pay"));
        }
        return;
    }
    let Some(route) = &evidence.definition else { return };
    let members = evidence.ring_member(&lead.key).zip(evidence.ring_member(&rival.key));
    found.intent = members.and_then(|(lead, rival)| intents::swap(route, evidence.is_weighted, lead, rival));
    if found.intent.is_none() {
        found.held = Some("a member comes in through a nested pool or a pattern, or both share one weight".to_owned());
    }
}

/// The effect that a swap may claim, shrunk and widened by how the reviewer's last claims came true.
fn claimed(evidence: &PoolEvidence, compared: &Compared<'_>) -> ClaimedEffect {
    let money = &compared.decision.money;
    claim(&ClaimInput {
        saving: money.saving,
        sd: money.sd,
        stake: evidence.tier.stake_usd,
        rate_lead: compared.decision.rate_lead,
        rate_alternative: compared.decision.rate_alternative,
        rows_per_day: evidence.tasks_per_day(),
        slope: evidence.correction.slope,
        inflation: evidence.correction.inflation,
    })
}

/// Everything a swap claims.
fn swap_claim(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    compared: &Compared<'_>,
    before: Option<PreviousLook>,
    settings: &Settings,
    claimed: &ClaimedEffect,
) -> Claim {
    let (decision, rival) = (&compared.decision, compared.rival);
    let money = &decision.money;
    let horizon_days = claimed.horizon_days.unwrap_or(60);
    let loss = Estimate {
        metric: ("loss_per_task", "usd_micros", "decrease"),
        values: (claimed.point, claimed.lo90, claimed.hi90),
        scale: 1e6,
        horizon_days,
        min_rows: claimed.min_rows,
        probability: claimed.probability,
    };
    let gain = diff_interval(compared.pair.lead.rate, compared.pair.other.rate);
    let success = Estimate {
        metric: ("success_rate", "ppm", "increase"),
        values: (gain.mean, gain.lo90, gain.hi90),
        probability: p_diff(compared.pair.lead.rate, compared.pair.other.rate, 0.0),
        ..loss
    };
    let success = corrected(evidence, success);
    let looks = before.filter(|before| before.new_rows.is_finite()).map_or_else(
        || "at one look".to_owned(),
        |look| format!("and {:.4} at the look before, {:.1} weighted rows between", look.p_saving, look.new_rows),
    );
    let stake = evidence.tier.stake_usd;
    Claim {
        probability: money.p_saving,
        usd_per_day: money.saving * evidence.tasks_per_day(),
        effects: vec![effect(evidence, true, &Estimate { scale: 1e6, ..loss }), effect(evidence, false, &success)],
        bar: "swap-lead/1",
        terms: swap_terms(compared, before, settings, horizon_days),
        rows_said: rows_said(lead, rival),
        bar_said: format!("P(saving > {:.3} USD) {:.4} now {looks}", money.epsilon, money.p_saving),
        stake_said: Some(format!("misaligned at stakes of {}, {stake} and {} USD", stake / 2.0, stake * 2.0)),
        rows: claim_rows(evidence, &[lead, rival], settings),
        floor: evidence.tier.floor,
        test: None,
    }
}

/// The thresholds of a swap with their values.
fn swap_terms(
    compared: &Compared<'_>,
    before: Option<PreviousLook>,
    settings: &Settings,
    horizon_days: u64,
) -> Vec<BarTerm> {
    let (bars, decision, pair) = (&settings.thresholds.bars, &compared.decision, &compared.pair);
    let p = decision.money.p_saving;
    let mut terms = Vec::new();
    match before.filter(|look| look.new_rows.is_finite() && p < bars.once) {
        Some(look) => terms.extend([
            ppm_term("p_saving_ppm", p, ">=", bars.propose),
            ppm_term("p_saving_previous_look_ppm", look.p_saving, ">=", bars.propose),
            term("new_rows_since_previous_look_milli", look.new_rows * 1e3, ">=", bars.new_rows * 1e3),
        ]),
        None => terms.push(ppm_term("p_saving_ppm", p, ">=", if p >= bars.once { bars.once } else { bars.propose })),
    }
    if let Some(p) = decision.p_noninferior {
        terms.push(ppm_term("p_noninferior_ppm", p, ">=", bars.guard));
    }
    terms.extend([
        term("weighted_rows_lead_milli", pair.lead.n * 1e3, ">=", bars.rows * 1e3),
        term("weighted_rows_alternative_milli", pair.other.n * 1e3, ">=", bars.rows * 1e3),
        term("stakes_agreeing", 3.0, "==", 3.0),
    ]);
    #[expect(clippy::cast_precision_loss, reason = "a horizon of days is small")]
    let days = (horizon_days as f64, HORIZON_DAYS as f64);
    if days.0 <= days.1 {
        terms.push(term("horizon_days", days.0, "<=", days.1));
    }
    terms
}

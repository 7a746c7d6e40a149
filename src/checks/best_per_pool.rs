//! Is the lead the best choice? It is held against every member that may lead: on market values, on scorecards and on quota
//! windows (methods §12). Until the full estimator exists, a statistical claim stands only when it is decisive.

use super::{Judgement, intents, lacking, number, plain};
use crate::evidence::rates::{self, Comparison, RawRate, decisive};
use crate::evidence::windows::{
    MemberWindows, Standing, WindowJudgement, WindowOutcome, WindowRules, WindowSeverity, judge_windows,
};
use crate::evidence::{MemberEvidence, PoolEvidence, Readiness};
use crate::settings::Settings;
use crate::verdict::{Finding, Limit, LimitOp, Measured, Number, Sentence, Severity, Unit, Verdict};
use crate::vocabulary::{CheckId, SourceId};

/// Points of success a member may fall short and still take over work for the sake of a window.
const WINDOW_POINTS: f64 = 0.05;

/// Judges one pool.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Judgement {
    let Some(lead) = evidence.lead() else { return Judgement::default() };
    let mut judgement = Judgement::default();
    market(evidence, lead, settings, &mut judgement);
    sessions(evidence, lead, settings, &mut judgement);
    windows(evidence, lead, settings, &mut judgement);
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

/// The bars a raw rate must reach.
fn bars(settings: &Settings) -> rates::Bars {
    let bars = &settings.thresholds.bars;
    rates::Bars { rows: bars.rows, tasks: bars.tasks, days: bars.days }
}

/// Members that are another model (or another effort) than the lead and may lead.
fn rivals<'a>(evidence: &'a PoolEvidence, lead: &'a MemberEvidence) -> impl Iterator<Item = &'a MemberEvidence> {
    evidence.alternatives().filter(|member| member.model_effort != lead.model_effort)
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
        let rows = |member: &MemberEvidence| member.rate().scored();
        #[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
        let has_rows = [lead, rival].iter().any(|member| rows(member) as f64 >= settings.thresholds.bars.rows);
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
    found.limit = Some(Limit { op: LimitOp::Below, value: 1.0, setting: "methods §11 dominates" });
    found.why = Sentence::new()
        .name(&rival.target)
        .own(format!(" stands {gain:.1} points above the lead "))
        .name(&lead.target)
        .own(" at no higher bill and no lower speed; neither has enough rows of its own");
    found.todo = Sentence::from("compare them on your own tasks before changing anything");
    found
}

/// Scorecards: raw rates with Wilson intervals, pair by pair.
fn sessions(evidence: &PoolEvidence, lead: &MemberEvidence, settings: &Settings, judgement: &mut Judgement) {
    if rivals(evidence, lead).next().is_none() {
        return;
    }
    let open = lacking(evidence, &[SourceId::Sessions]);
    if !open.is_empty() {
        judgement.open.extend(open);
        return;
    }
    let bars = bars(settings);
    if let Some(short) = shortfall(&lead.rate(), &bars) {
        judgement.open.push((Verdict::InsufficientEvidence, format!("floor_lead:{short}")));
        return;
    }
    for rival in rivals(evidence, lead) {
        match shortfall(&rival.rate(), &bars) {
            Some(short) => {
                judgement.open.push((Verdict::Unresolved, format!("floor_alternative:{}:{short}", rival.key)));
            }
            None => judgement.findings.extend(pair(evidence, lead, rival, settings)),
        }
    }
}

/// What a rate lacks of the bars, as `n/m rows`.
fn shortfall(rate: &RawRate, bars: &rates::Bars) -> Option<String> {
    match decisive(rate, rate, bars) {
        Comparison::Thin { what, have, need } => Some(format!("{have}/{need:.0}_{what}")),
        _ => None,
    }
}

/// Lead against one alternative on their own rows. Both are over the floors.
fn pair(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    rival: &MemberEvidence,
    settings: &Settings,
) -> Option<Finding> {
    let (own, other) = (lead.rate(), rival.rate());
    let (own_rate, other_rate) = (own.success()?, other.success()?);
    let gain = other_rate.value - own_rate.value;
    let guard = settings.thresholds.bars.guard_points / 100.0;
    let is_decisive = decisive(&own, &other, &bars(settings)) == Comparison::AWorse;
    let verdict = match (is_decisive, gain > guard) {
        (true, true) if same_sign_in_every_class(lead, rival) => Verdict::Misaligned,
        (true, true) => Verdict::Watch,
        (false, true) => Verdict::Unresolved,
        _ => return None,
    };
    let mut found = finding(evidence, "lead_loses_on_sessions", lead, &rival.key, Some(verdict));
    found.sources = vec![SourceId::Pools, SourceId::Sessions];
    found.measured = Some(Measured {
        what: "success of the alternative above the lead",
        value: gain,
        unit: Unit::Share,
        n: Some(own.scored().min(other.scored())),
    });
    found.limit = Some(Limit { op: LimitOp::AtMost, value: guard, setting: "bars.guard_points" });
    let show = |rate: &rates::Share| {
        format!("{} of {} ({:.0} % to {:.0} %)", rate.hits, rate.n, rate.lo * 100.0, rate.hi * 100.0)
    };
    found.why = Sentence::new()
        .own("raw success: lead ")
        .name(&lead.target)
        .own(format!(" {}, ", show(&own_rate)))
        .name(&rival.target)
        .own(format!(" {}", show(&other_rate)));
    found.why = found.why.own(match verdict {
        Verdict::Misaligned => "; the 90 % intervals do not touch and no task class says otherwise",
        Verdict::Watch => "; the 90 % intervals do not touch, but a task class says otherwise",
        _ => "; the 90 % intervals overlap, so the rows do not settle it",
    });
    found.todo = Sentence::from(if verdict == Verdict::Misaligned {
        "consider the alternative as lead"
    } else {
        "nothing yet: more rows or a controlled test"
    });
    if verdict == Verdict::Misaligned {
        found.held = Some(
            "a swap on session evidence is proposed once its expected effect can be stated (methods §17)".to_owned(),
        );
    }
    Some(found)
}

/// Whether the alternative is at least as good in every task class both have rows in, so that the mix cannot explain it.
fn same_sign_in_every_class(lead: &MemberEvidence, rival: &MemberEvidence) -> bool {
    let shared =
        lead.rates.iter().filter_map(|(class, own)| Some((own.success()?, rival.rates.get(class)?.success()?)));
    let mut any = false;
    for (own, other) in shared {
        any = true;
        if other.value < own.value {
            return false;
        }
    }
    any
}

/// Windows: does the lead draw on a scarcer window than a member that could lead as well?
fn windows(evidence: &PoolEvidence, lead: &MemberEvidence, settings: &Settings, judgement: &mut Judgement) {
    let draws_on_plan = |member: &MemberEvidence| member.windows.standing != Standing::Metered;
    if !evidence.members.iter().any(draws_on_plan) {
        return;
    }
    let open = lacking(evidence, &[SourceId::Quotas]);
    if !open.is_empty() {
        judgement.open.extend(open);
        return;
    }
    for member in &evidence.members {
        judgement.open.extend(unreadable(member));
    }
    let equals: Vec<MemberWindows> = evidence
        .alternatives()
        .filter(|member| could_lead(lead, member, settings))
        .map(|m| m.windows.clone())
        .collect();
    let rules = rules(settings);
    let judged = judge_windows(&lead.windows, &equals, &rules);
    judgement.findings.extend(window_finding(evidence, lead, &judged, &rules));
    judgement.findings.extend(literal(evidence, lead, &judged));
    judgement.numbers.push(plain(
        "window price gap against the best equal",
        judged.gap.map(|gap| gap.high),
        Unit::WindowPrice,
    ));
}

/// The rules of the windows from the settings.
fn rules(settings: &Settings) -> WindowRules {
    let windows = &settings.thresholds.windows;
    WindowRules {
        gap: windows.gap,
        gap_high: windows.gap_high,
        cash_usd: windows.cash_usd,
        flag_literal_picture: windows.flag_literal_picture,
        ..WindowRules::default()
    }
}

/// A member on a plan home without a usable reading: `watch` when nothing is known, `blocked` when it is only too old.
fn unreadable(member: &MemberEvidence) -> Option<(Verdict, String)> {
    match &member.windows.standing {
        Standing::Unknown(reason) => Some((Verdict::Watch, format!("window_unknown:{}: {reason}", member.key))),
        Standing::Stale(reason) => Some((Verdict::Blocked, format!("stale:quotas:{}: {reason}", member.key))),
        Standing::Metered | Standing::Known(_) => None,
    }
}

/// Non-inferior for windows: the same model at the same effort, or rows on both sides whose lower bound stays within five
/// points of the lead's rate.
fn could_lead(lead: &MemberEvidence, member: &MemberEvidence, settings: &Settings) -> bool {
    if lead.model_effort == member.model_effort {
        return true;
    }
    let (own, other) = (lead.rate(), member.rate());
    let bars = bars(settings);
    if shortfall(&own, &bars).is_some() || shortfall(&other, &bars).is_some() {
        return false;
    }
    matches!((own.success(), other.success()), (Some(own), Some(other)) if other.lo >= own.value - WINDOW_POINTS)
}

/// The finding of a scarce window, or of readings that must be taken again.
fn window_finding(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    judged: &WindowJudgement,
    rules: &WindowRules,
) -> Option<Finding> {
    let against = judged.against.clone().unwrap_or_default();
    let verdict = match judged.outcome {
        WindowOutcome::Scarce => Verdict::Misaligned,
        WindowOutcome::NeedsRefresh => Verdict::Unresolved,
        _ => return None,
    };
    let mut found = finding(evidence, "lead_window_scarce", lead, &against, Some(verdict));
    found.sources = vec![SourceId::Pools, SourceId::Quotas];
    found.severity = judged.severity.map(|severity| match severity {
        WindowSeverity::Low => Severity::Low,
        WindowSeverity::Medium => Severity::Medium,
        WindowSeverity::High => Severity::High,
    });
    let gap = judged.gap.map_or(0.0, |gap| gap.low);
    found.measured = Some(Measured { what: "window price gap", value: gap, unit: Unit::WindowPrice, n: None });
    found.limit = Some(Limit { op: LimitOp::Below, value: rules.gap, setting: "windows.gap" });
    let label = judged.label.map_or_else(String::new, |label| format!("{}: ", label.as_str()));
    let hours = judged.scarce_lead_hours(rules).map_or(0.0, |hours| hours.low);
    found.why = window_line(Sentence::new().own(format!("{label}the lead draws on ")), &lead.windows);
    if let Some(equal) = evidence.members.iter().find(|member| member.key == against) {
        found.why = window_line(found.why.own(" while ").name(&equal.target).own(" has "), &equal.windows);
    }
    if verdict == Verdict::Unresolved {
        found.why = found.why.own("; the verdict lies inside the age of a reading");
        found.todo = Sentence::from("read the quota again");
        return Some(found);
    }
    if !judged.moves() {
        found.why = found.why.own("; raised by windows.flag_literal_picture, the prices alone say nothing");
        found.todo = Sentence::from("nothing by itself: look at the numbers");
        return Some(found);
    }
    found.why = found.why.own(format!("; {hours:.1} scarce lead-hours a review"));
    lead_elsewhere(
        evidence,
        &against,
        gap >= rules.gap_high || judged.label == Some(crate::evidence::windows::WindowLabel::Cash),
        &mut found,
    );
    Some(found)
}

/// The change a scarce window asks for.
fn lead_elsewhere(evidence: &PoolEvidence, against: &str, at_first_sight: bool, found: &mut Finding) {
    found.todo = Sentence::new().own("lead with ").name(against);
    let Some(route) = &evidence.definition else { return };
    if evidence.is_weighted {
        found.held = Some("the sustainable share of a weighted pool is computed by a later release".to_owned());
        return;
    }
    let member = evidence.ring_member(against);
    found.intent = member.and_then(|member| intents::to_front(route, member));
    if found.intent.is_none() {
        found.held = Some("the member comes in through a nested pool".to_owned());
    } else if !at_first_sight && !evidence.seen_before.contains(&("lead_window_scarce".to_owned(), against.to_owned()))
    {
        found.held = Some("waits for a second scheduled look on newer readings".to_owned());
    }
}

/// Adds a member's binding window with its numbers to a sentence.
fn window_line(sentence: Sentence, windows: &MemberWindows) -> Sentence {
    let Some((view, price)) = windows.binding() else { return sentence.own("no window (metered)") };
    let reset = view
        .resets_at
        .map_or_else(|| "no reset stated".to_owned(), |at| format!("resets {}", at.format("%Y-%m-%d %H:%MZ")));
    let left = price.hours_left.map_or_else(|| "not limiting".to_owned(), |hours| format!("{hours:.1} h of work left"));
    let slack = price.slack_h.map_or_else(|| "unlimited".to_owned(), |slack| format!("{slack:+.1} h"));
    let age = view.age_h.map_or_else(|| "age unknown".to_owned(), |age| format!("read {age:.1} h ago"));
    let assumed = if price.is_burn_assumed { ", burn assumed" } else { "" };
    sentence.name(&view.id).own(format!(
        " ({:.0} % left, {reset}, {left}, slack {slack}, projected use {:.0} %, price {:.3}, {age}{assumed})",
        price.remaining * 100.0,
        price.projected_use * 100.0,
        price.price
    ))
}

/// The literal picture: the lead's window about to reset, an equal on a fresh one. Always printed with its numbers.
fn literal(evidence: &PoolEvidence, lead: &MemberEvidence, judged: &WindowJudgement) -> Option<Finding> {
    let picture = judged.literal.as_ref()?;
    let mut found = finding(evidence, "literal_window_picture", lead, &picture.equal, None);
    found.sources = vec![SourceId::Pools, SourceId::Quotas];
    found.severity = Some(Severity::Low);
    let label = picture.label.map_or_else(String::new, |label| format!("{}: ", label.as_str()));
    found.why = Sentence::new()
        .own(format!("{label}the lead's window "))
        .name(&picture.lead_window)
        .own(format!(" resets in {:.1} h with {:.0} % left; ", picture.lead_tau_h, picture.lead_remaining * 100.0))
        .name(&picture.equal_window)
        .own(format!(
            " of an equal holds {:.0} % for {:.1} h; moving would forfeit {:.1} points ({:.1} lead-hours)",
            picture.equal_remaining * 100.0,
            picture.equal_tau_h,
            picture.fraction_lost * 100.0,
            picture.lead_hours_lost
        ));
    Some(found)
}

/// What each member shows on market, scorecards and windows, side by side; the lead first.
fn numbers(evidence: &PoolEvidence, lead: &MemberEvidence) -> Vec<Number> {
    let mut numbers = Vec::new();
    let others = evidence.members.iter().filter(|member| member.key != lead.key);
    for member in std::iter::once(lead).chain(others) {
        numbers.push(success(member));
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
        remark: format!("{} infra, {} unknown, {} immature left out", rate.infra, rate.unknown, rate.immature),
    }
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

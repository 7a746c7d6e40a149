//! Verified aligned (methods §23): a pool may say `aligned` only with the full set of numbers that shows it. The set is a
//! type without optional fields; a number that is missing turns the verdict into `watch` and is named.

use super::Bound;
use super::estimates::{Compared, compare, sizing_limits};
use crate::evidence::pairs::{alone, speed};
use crate::evidence::windows::Standing;
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{CheckReport, Sentence, Verdict};
use crate::vocabulary::CheckId;

/// A member as an aligned pool prints it.
struct Side {
    /// Target as the router calls it.
    target: String,
    /// Standardised rate, lower and upper 90 % bound.
    rate: (f64, f64, f64),
    /// Raw successes and rows.
    raw: (u64, u64),
    /// Weighted rows.
    n: f64,
    /// Distinct tasks and days.
    spread: (u64, u64),
    /// Cost of a task and its standard error, USD.
    cost: (f64, f64),
    /// Typical minutes.
    minutes: f64,
}

/// Lead against the best alternative.
struct Decision {
    /// The alternative.
    other: Side,
    /// Saving and its 90 % interval, USD a task.
    saving: (f64, f64, f64),
    /// Threshold, USD a task.
    epsilon: f64,
    /// P(saving > threshold).
    p: f64,
    /// Excess regret as share of the loss.
    excess: f64,
    /// Minimum detectable effect, points.
    mde: f64,
    /// Verdicts at half, one and double the stake.
    stakes: [&'static str; 3],
}

/// The alternative, or why there is none.
enum Best {
    /// There is one.
    Decided(Box<Decision>),
    /// No other member may lead.
    NoAlternative,
}

/// The full set.
struct Verified {
    /// The lead.
    lead: Side,
    /// The decision.
    best: Best,
    /// Windows, in words with their numbers.
    windows: String,
    /// Slowest over fastest, in words with its interval.
    spread: String,
    /// Smallest P(success ≥ floor) of a member with rows.
    floor: f64,
    /// Rows used and left out.
    rows: (u64, u64),
    /// Digests of config subtree and policy.
    digests: (String, String),
}

/// Holds an aligned pool to its numbers: prints them all in one sentence, or takes the verdict back and names what is missing.
/// What comes back is what an aligned pool could still gain, if it has an alternative.
pub(super) fn verify(evidence: &PoolEvidence, settings: &Settings, checks: &mut [CheckReport]) -> Option<Bound> {
    if checks.iter().any(|check| check.verdict != Verdict::Aligned) {
        return None;
    }
    let best = checks.iter_mut().find(|check| check.check == CheckId::BestPerPool)?;
    match gather(evidence, settings) {
        Ok(verified) => {
            best.summary = sentence(&verified);
            bound(evidence, settings)
        }
        Err(missing) => {
            best.verdict = Verdict::Watch;
            best.reasons.push(format!("missing_number:{missing}"));
            best.summary = Sentence::from(format!("a number that would show it is missing: {missing}"));
            None
        }
    }
}

/// The largest excess regret of an alternative.
fn bound(evidence: &PoolEvidence, settings: &Settings) -> Option<Bound> {
    let lead = evidence.lead()?;
    let others = evidence.alternatives().filter(|member| member.model_effort != lead.model_effort);
    let money = others.map(|rival| compare(evidence, lead, rival, settings, None).decision.money);
    let widest = money.max_by(|a, b| a.excess_regret.total_cmp(&b.excess_regret))?;
    Some(Bound { regret_usd: widest.excess_regret, threshold_usd: widest.epsilon })
}

/// Every number, or the name of the first that is missing.
fn gather(evidence: &PoolEvidence, settings: &Settings) -> Result<Verified, &'static str> {
    let lead = evidence.lead().ok_or("lead")?;
    let others: Vec<&MemberEvidence> =
        evidence.alternatives().filter(|member| member.model_effort != lead.model_effort).collect();
    let compared = others.into_iter().map(|rival| compare(evidence, lead, rival, settings, None));
    let best = compared.max_by(|a, b| {
        let by = a.decision.money.saving.total_cmp(&b.decision.money.saving);
        by.then_with(|| b.rival.key.cmp(&a.rival.key))
    });
    let limits = sizing_limits(settings);
    let with_rows = evidence.members.iter().filter(|member| member.own.n >= limits.rows);
    let floor = with_rows.map(|member| 1.0 - member.own.rate.cdf(evidence.tier.floor)).min_by(f64::total_cmp);
    let ring = evidence.ring.as_ref().map_err(|_| "ring")?;
    Ok(Verified {
        lead: side(evidence, lead)?,
        best: match best {
            Some(compared) => Best::Decided(Box::new(decision(evidence, &compared)?)),
            None => Best::NoAlternative,
        },
        windows: windows(evidence, lead)?,
        spread: spread(evidence),
        floor: floor.ok_or("success_against_the_floor")?,
        rows: (evidence.members.iter().map(|member| member.own.raw.scored()).sum(), evidence.excluded.values().sum()),
        digests: (ring.subtree_digest().to_string(), ring.policy_digest().to_string()),
    })
}

/// A member's numbers.
fn side(evidence: &PoolEvidence, member: &MemberEvidence) -> Result<Side, &'static str> {
    let own = &member.own;
    let alone = alone(own, &evidence.mix.shares);
    let (lo, hi) = own.rate.interval_90();
    let cost = alone.cost.ok_or("cost_of_a_task")?;
    Ok(Side {
        target: member.target.clone(),
        rate: (own.rate.mean(), lo, hi),
        raw: (own.raw.successes, own.raw.scored()),
        n: own.n,
        spread: (own.raw.tasks, own.raw.days),
        cost: (cost.usd, cost.se_usd),
        minutes: alone.minutes().ok_or("minutes_of_a_task")?,
    })
}

/// The decision against the best alternative. One without rows is shown by what is estimated of it.
fn decision(evidence: &PoolEvidence, compared: &Compared<'_>) -> Result<Decision, &'static str> {
    let (decision, pair) = (&compared.decision, &compared.pair);
    let money = &decision.money;
    let (lo, hi) = money.interval_90();
    let own = &compared.rival.own;
    let cost = pair.other.cost.ok_or("cost_of_the_alternative")?;
    let (rate_lo, rate_hi) = own.rate.interval_90();
    let other = side(evidence, compared.rival).unwrap_or(Side {
        target: compared.rival.target.clone(),
        rate: (own.rate.mean(), rate_lo, rate_hi),
        raw: (own.raw.successes, own.raw.scored()),
        n: own.n,
        spread: (own.raw.tasks, own.raw.days),
        cost: (cost.usd, cost.se_usd),
        minutes: pair.other.minutes().ok_or("minutes_of_the_alternative")?,
    });
    Ok(Decision {
        other,
        saving: (money.saving, lo, hi),
        epsilon: money.epsilon,
        p: money.p_saving,
        excess: money.excess_share(),
        mde: decision.mde * 100.0,
        stakes: [decision.at_half.as_str(), decision.at_stake.as_str(), decision.at_double.as_str()],
    })
}

/// The price of the lead's window and the smallest one among the alternatives.
fn windows(evidence: &PoolEvidence, lead: &MemberEvidence) -> Result<String, &'static str> {
    let said = |member: &MemberEvidence| match &member.windows.standing {
        Standing::Metered => Ok("metered".to_owned()),
        Standing::Unknown(_) | Standing::Stale(_) => Err("window_price"),
        Standing::Known(known) => Ok(match member.windows.binding() {
            Some((view, price)) => format!(
                "price {:.3} ({}, {:.0} % left, {:.1} h to the reset, {} left, slack {}, read {} ago)",
                known.price.high,
                view.id,
                price.remaining * 100.0,
                price.tau_h,
                price.hours_left.map_or_else(|| "not limiting".to_owned(), |hours| format!("{hours:.1} h")),
                price.slack_h.map_or_else(|| "unlimited".to_owned(), |slack| format!("{slack:+.1} h")),
                view.age_h.map_or_else(|| "?".to_owned(), |age| format!("{age:.1} h")),
            ),
            None => format!("price {:.3}", known.price.high),
        }),
    };
    let price = |member: &MemberEvidence| member.windows.price().map_or(f64::INFINITY, |price| price.low);
    let other = evidence.alternatives().min_by(|a, b| price(a).total_cmp(&price(b)).then_with(|| a.key.cmp(&b.key)));
    let lead = said(lead)?;
    Ok(match other {
        Some(other) => format!("windows: lead {lead}, best other {}", said(other)?),
        None => format!("windows: lead {lead}"),
    })
}

/// The widest ratio of task times on shared classes, or that there is none.
fn spread(evidence: &PoolEvidence) -> String {
    let members = &evidence.members;
    let pairs = members.iter().flat_map(|slow| members.iter().map(move |fast| (slow, fast)));
    let ratios = pairs.filter_map(|(slow, fast)| speed(&slow.own, &fast.own, &evidence.mix.shares));
    match ratios.max_by(|a, b| a.0.ratio.total_cmp(&b.0.ratio)) {
        Some((ratio, _)) => format!("slowest over fastest {:.2} [{:.2}, {:.2}]", ratio.ratio, ratio.lo90, ratio.hi90),
        None => format!("no shared class with times among {} members", members.len()),
    }
}

/// A member in words.
fn say(sentence: Sentence, side: &Side) -> Sentence {
    sentence.name(&side.target).own(format!(
        " R {:.1} % [{:.1}, {:.1}], raw {}/{}, {:.1} weighted rows, {} tasks, {} days, c {:.4} ± {:.4} USD, T {:.1} min",
        side.rate.0 * 100.0,
        side.rate.1 * 100.0,
        side.rate.2 * 100.0,
        side.raw.0,
        side.raw.1,
        side.n,
        side.spread.0,
        side.spread.1,
        side.cost.0,
        side.cost.1,
        side.minutes
    ))
}

/// The whole set in one sentence.
fn sentence(verified: &Verified) -> Sentence {
    let sentence = say(Sentence::new().own("lead "), &verified.lead);
    let sentence = match &verified.best {
        Best::NoAlternative => sentence.own("; no alternative"),
        Best::Decided(decision) => say(sentence.own("; best alternative "), &decision.other).own(format!(
            "; saves {:.4} USD [{:.4}, {:.4}], threshold {:.4}, P {:.3}, excess regret {:.2} % of the loss, detectable {:.1} points, {}",
            decision.saving.0,
            decision.saving.1,
            decision.saving.2,
            decision.epsilon,
            decision.p,
            decision.excess * 100.0,
            decision.mde,
            decision.stakes.join("/")
        )),
    };
    let short = |digest: &str| digest.chars().take(19).collect::<String>();
    sentence.own(format!(
        "; {}; {}; smallest P(success at least the floor) {:.3}; {} rows used, {} left out; config {}, policy {}",
        verified.windows,
        verified.spread,
        verified.floor,
        verified.rows.0,
        verified.rows.1,
        short(&verified.digests.0),
        short(&verified.digests.1)
    ))
}

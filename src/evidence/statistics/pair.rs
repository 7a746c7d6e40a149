//! Lead against one alternative: every decision quantity and the verdict of the pair (methods §7, §8.3).

use super::Beta;
use super::cost::{TaskCost, Worth, loss};
use super::difference::p_diff;
use super::normal::{Z_80, Z_95, chance_positive, expected_gain};

/// The bars of a pair; the defaults are those of methods §25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairBars {
    /// Weighted rows a side needs.
    pub rows: f64,
    /// Distinct tasks.
    pub tasks: f64,
    /// Days.
    pub days: f64,
    /// Claim probability at two counted looks.
    pub propose: f64,
    /// Claim probability at one look.
    pub once: f64,
    /// Claim probability that is watched.
    pub watch: f64,
    /// Weighted rows that make a look count.
    pub new_rows: f64,
    /// Points of success, as a fraction, that a swap may lose.
    pub guard_margin: f64,
    /// Chance that no more is lost.
    pub guard: f64,
    /// Practical threshold as share of the lead's loss.
    pub threshold_loss: f64,
    /// Practical threshold as share of the stake.
    pub threshold_stake: f64,
    /// Excess regret, as share of the lead's loss, up to which a pair is aligned.
    pub regret_share: f64,
}

impl Default for PairBars {
    fn default() -> Self {
        Self {
            rows: 8.0,
            tasks: 5.0,
            days: 2.0,
            propose: 0.95,
            once: 0.99,
            watch: 0.80,
            new_rows: 5.0,
            guard_margin: 0.03,
            guard: 0.90,
            threshold_loss: 0.05,
            threshold_stake: 0.03,
            regret_share: 0.03,
        }
    }
}

/// One side of a pair. Cost and time are those on the classes both sides have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairSide {
    /// Standardised rate on the pool's mix.
    pub rate: Beta,
    /// Weighted rows.
    pub n: f64,
    /// Distinct tasks.
    pub tasks: u64,
    /// Distinct days.
    pub days: u64,
    /// Cost of a task; `None` is unknown.
    pub cost: Option<TaskCost>,
    /// Mean ln minutes and its variance; `None` is unknown.
    pub log_minutes: Option<(f64, f64)>,
}

impl PairSide {
    /// Whether it has the rows, tasks and days that a comparison needs.
    #[expect(clippy::cast_precision_loss, reason = "counts of tasks and days stay far below 2^53")]
    pub fn reaches(&self, bars: &PairBars) -> bool {
        self.n >= bars.rows && self.tasks as f64 >= bars.tasks && self.days as f64 >= bars.days
    }

    /// T in minutes.
    pub fn minutes(&self) -> Option<f64> {
        self.log_minutes.map(|(mean, _)| mean.exp())
    }
}

/// The last counted look, and the weighted rows that came since.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreviousLook {
    /// P at that look.
    pub p_saving: f64,
    /// Weighted rows of both sides since.
    pub new_rows: f64,
}

/// The verdict of a pair; the check turns it into one of the six words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairVerdict {
    /// Nothing worth having is left.
    Aligned,
    /// The lead lacks rows.
    InsufficientEvidence,
    /// Likely, and not yet to be acted upon.
    Watch,
    /// The rows do not settle it.
    Unresolved,
    /// The alternative saves more than the threshold.
    Misaligned,
}

impl PairVerdict {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aligned => "aligned",
            Self::InsufficientEvidence => "insufficient_evidence",
            Self::Watch => "watch",
            Self::Unresolved => "unresolved",
            Self::Misaligned => "misaligned",
        }
    }
}

/// What money alone says of a pair: closed forms, no integral.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Money {
    /// L of the lead over the terms both sides know, $/task.
    pub loss_lead: f64,
    /// L of the alternative over the same terms.
    pub loss_alternative: f64,
    /// d: what the alternative saves, $/task.
    pub saving: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// ε: the practical threshold, $/task.
    pub epsilon: f64,
    /// P(d > ε).
    pub p_saving: f64,
    /// P(d > 0).
    pub p_positive: f64,
    /// E[max(0, d)], $/task.
    pub regret: f64,
    /// E[max(0, d − ε)], $/task.
    pub excess_regret: f64,
}

impl Money {
    /// Excess regret over the lead's loss.
    pub fn excess_share(&self) -> f64 {
        if self.loss_lead > 0.0 { self.excess_regret / self.loss_lead } else { 0.0 }
    }

    /// The 90 % interval of the saving.
    pub fn interval_90(&self) -> (f64, f64) {
        (self.saving - Z_95 * self.sd, self.saving + Z_95 * self.sd)
    }
}

/// Lead against alternative at one stake.
pub fn money(lead: &PairSide, other: &PairSide, worth: Worth, bars: &PairBars) -> Money {
    let costs = lead.cost.zip(other.cost);
    let times = lead.log_minutes.zip(other.log_minutes);
    let loss_of = |side: &PairSide| {
        let cost = costs.and(side.cost).map(|cost| cost.usd);
        loss(side.rate.mean(), cost, times.and(side.minutes()), worth).total
    };
    let (loss_lead, loss_alternative) = (loss_of(lead), loss_of(other));
    let saving = loss_lead - loss_alternative;
    let mut variance = worth.stake_usd.powi(2) * (lead.rate.variance() + other.rate.variance());
    if let Some((a, b)) = costs {
        variance += a.se_usd.powi(2) + b.se_usd.powi(2);
    }
    if let Some(((a, v_a), (b, v_b))) = times {
        variance += worth.minute_usd.powi(2) * (a.exp().powi(2) * v_a + b.exp().powi(2) * v_b);
    }
    let sd = variance.sqrt();
    let epsilon = (bars.threshold_loss * loss_lead).max(bars.threshold_stake * worth.stake_usd);
    let regret = regret(saving, sd, epsilon);
    Money {
        loss_lead,
        loss_alternative,
        saving,
        sd,
        epsilon,
        p_saving: regret.p_saving,
        p_positive: chance_positive(saving, sd),
        regret: regret.regret,
        excess_regret: regret.excess,
    }
}

/// What keeping the lead costs on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regret {
    /// E[max(0, d)], $/task.
    pub regret: f64,
    /// E[max(0, d − ε)], $/task.
    pub excess: f64,
    /// P(d > ε).
    pub p_saving: f64,
}

/// `[fn regret]`: expected regret, and what of it exceeds the practical threshold.
pub fn regret(saving: f64, sd: f64, epsilon: f64) -> Regret {
    Regret {
        regret: expected_gain(saving, sd),
        excess: expected_gain(saving - epsilon, sd),
        p_saving: chance_positive(saving - epsilon, sd),
    }
}

/// `[fn mde]`: the smallest true difference in success, as a fraction, that one look at these rows carries over the bar
/// with 80 % chance.
pub fn mde(epsilon: f64, stake: f64, variance_a: f64, variance_b: f64) -> f64 {
    epsilon / stake + (Z_95 + Z_80) * (variance_a + variance_b).sqrt()
}

/// `[fn rows_needed]`: rows per arm for one look to clear the bar with 80 % chance; `None` when the difference lies
/// inside the threshold. Planning only.
pub fn rows_needed(rate_a: f64, rate_b: f64, threshold: f64) -> Option<u64> {
    let gain = (rate_b - rate_a).abs() - threshold;
    if gain <= 1e-12 || gain.is_nan() {
        return None;
    }
    let variance = rate_a * (1.0 - rate_a) + rate_b * (1.0 - rate_b);
    let rows = ((Z_95 + Z_80) / gain).powi(2) * variance;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive count of rows")]
    (rows < 1e15).then(|| (rows - 1e-9).ceil().max(1.0) as u64)
}

/// Every decision quantity of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PairDecision {
    /// R of the lead.
    pub rate_lead: f64,
    /// R of the alternative.
    pub rate_alternative: f64,
    /// The money at the stake.
    pub money: Money,
    /// `P(R_B` − `R_A` > −3 points), exact; `None` when money and counts decided without it.
    pub p_noninferior: Option<f64>,
    /// Minimum detectable effect, as a fraction.
    pub mde: f64,
    /// Verdict at half the stake.
    pub at_half: PairVerdict,
    /// Verdict at the stake.
    pub at_stake: PairVerdict,
    /// Verdict at double the stake.
    pub at_double: PairVerdict,
    /// The final verdict.
    pub verdict: PairVerdict,
    /// Reason codes, sorted.
    pub reasons: Vec<&'static str>,
}

/// `[fn pair_decision]`: floors, then money and counts, then the stake guard, then the cap for what is unknown. The exact
/// integral of the guard is the only slow step: it is taken where it can change the verdict.
pub fn pair_decision(
    lead: &PairSide,
    other: &PairSide,
    worth: Worth,
    bars: &PairBars,
    previous: Option<PreviousLook>,
) -> PairDecision {
    let moneys = [0.5, 1.0, 2.0].map(|factor| money(lead, other, worth.scaled(factor), bars));
    let asks = lead.reaches(bars) && other.reaches(bars) && moneys.iter().any(|m| m.p_saving >= bars.propose);
    let p_noninferior = asks.then(|| p_noninferior(lead, other, bars));
    let judge = Judge { lead, other, bars, previous, is_guarded: p_noninferior.is_some_and(|p| p >= bars.guard) };
    let [at_half, at_stake, at_double] = moneys.map(|money| judge.verdict(&money));
    let [_, money, _] = moneys;
    let mut reasons = judge.reasons(&money);
    let mut verdict = at_stake;
    let is_robust = at_half == at_stake && at_double == at_stake;
    if matches!(at_stake, PairVerdict::Misaligned | PairVerdict::Aligned) && !is_robust {
        verdict = PairVerdict::Watch;
        reasons.push("stake_sensitive");
    }
    let unknown = unknown_terms(lead, other);
    if !unknown.is_empty() && verdict != PairVerdict::InsufficientEvidence && !survives(lead, other, verdict) {
        verdict = PairVerdict::Watch;
        reasons.extend(unknown);
    }
    reasons.sort_unstable();
    PairDecision {
        rate_lead: lead.rate.mean(),
        rate_alternative: other.rate.mean(),
        money,
        p_noninferior,
        mde: mde(money.epsilon, worth.stake_usd, lead.rate.variance(), other.rate.variance()),
        at_half,
        at_stake,
        at_double,
        verdict,
        reasons,
    }
}

/// `P(R_B` − `R_A` > −3 points), exact.
pub fn p_noninferior(lead: &PairSide, other: &PairSide, bars: &PairBars) -> f64 {
    p_diff(lead.rate, other.rate, -bars.guard_margin)
}

/// What a verdict at one stake is made of.
struct Judge<'a> {
    /// The lead.
    lead: &'a PairSide,
    /// The alternative.
    other: &'a PairSide,
    /// The bars.
    bars: &'a PairBars,
    /// The last counted look.
    previous: Option<PreviousLook>,
    /// Whether the alternative is surely not worse by more than the guard.
    is_guarded: bool,
}

impl Judge<'_> {
    /// The verdict at one stake, before the guards.
    fn verdict(&self, money: &Money) -> PairVerdict {
        let bars = self.bars;
        if !self.lead.reaches(bars) {
            return PairVerdict::InsufficientEvidence;
        }
        let is_over = money.p_saving >= bars.propose;
        if is_over && self.is_guarded && self.other.reaches(bars) && (self.is_second() || money.p_saving >= bars.once) {
            return PairVerdict::Misaligned;
        }
        if is_over || money.p_saving >= bars.watch {
            return PairVerdict::Watch;
        }
        if money.excess_share() <= bars.regret_share { PairVerdict::Aligned } else { PairVerdict::Unresolved }
    }

    /// Whether this look makes the second counted one in a row over the bar.
    fn is_second(&self) -> bool {
        self.previous.is_some_and(|look| look.p_saving >= self.bars.propose && look.new_rows >= self.bars.new_rows)
    }

    /// Who is under the floors, and what keeps a pair over the bar from being proposed.
    fn reasons(&self, money: &Money) -> Vec<&'static str> {
        let (lead, other) = (self.lead.reaches(self.bars), self.other.reaches(self.bars));
        let is_over = lead && other && money.p_saving >= self.bars.propose;
        let is_first = !self.is_second() && money.p_saving < self.bars.once;
        let all = [
            ("floor_lead", !lead),
            ("floor_alternative", !other),
            ("guard", is_over && !self.is_guarded),
            ("first_look", is_over && self.is_guarded && is_first),
        ];
        all.into_iter().filter_map(|(reason, holds)| holds.then_some(reason)).collect()
    }
}

/// The terms that one side does not know.
fn unknown_terms(lead: &PairSide, other: &PairSide) -> Vec<&'static str> {
    let mut unknown = Vec::new();
    if lead.cost.is_none() || other.cost.is_none() {
        unknown.push("cost_unknown");
    }
    if lead.log_minutes.is_none() || other.log_minutes.is_none() {
        unknown.push("time_unknown");
    }
    unknown
}

/// The one exception of methods §6: `misaligned` stands with exactly one unknown term, when the lead is worse on success
/// and on the term that is known.
fn survives(lead: &PairSide, other: &PairSide, verdict: PairVerdict) -> bool {
    if verdict != PairVerdict::Misaligned || lead.rate.mean() >= other.rate.mean() {
        return false;
    }
    match (lead.cost.zip(other.cost), lead.minutes().zip(other.minutes())) {
        (None, Some((own, other))) => own > other,
        (Some((own, other)), None) => own.usd > other.usd,
        _ => false,
    }
}

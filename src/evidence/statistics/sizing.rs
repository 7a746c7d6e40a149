//! Are members sized for the work (methods §13): spread of task time, over-powered, under-powered, interchangeable.

use super::Beta;
use super::cost::{TaskCost, Worth};
use super::difference::p_diff;
use super::duration::SpeedRatio;
use super::pair::{PairBars, PairSide, money};

/// What a check says of a member: nothing, worth a look, or found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sized {
    /// Nothing.
    None,
    /// Worth a look.
    Watch,
    /// Found.
    Found,
}

/// Limits of the sizing rules; the defaults are those of methods §25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizingLimits {
    /// Weighted rows either side needs.
    pub rows: f64,
    /// Slowest to fastest that is a spread.
    pub speed_ratio: f64,
    /// What its lower bound must reach.
    pub speed_lower: f64,
    /// Points, as a fraction, by which a slow member must be better to be exempt.
    pub exempt_margin: f64,
    /// Chance of that.
    pub exempt: f64,
    /// Points, as a fraction, that a move for the sake of cost may lose.
    pub cost_margin: f64,
    /// Chance that no more is lost.
    pub cost_guard: f64,
    /// Chance of that from which on it is worth a look.
    pub cost_watch: f64,
    /// Share of the cost a cheaper member must save.
    pub save_share: f64,
    /// Dollars a day it must save.
    pub save_usd_day: f64,
    /// Chance that the loss falls, at the stake and at double.
    pub positive: f64,
    /// Chance below the floor that is found.
    pub below: f64,
    /// Chance below the floor that is worth a look.
    pub below_watch: f64,
    /// Share of a class a member must carry to be held against the floor.
    pub carries: f64,
}

impl Default for SizingLimits {
    fn default() -> Self {
        Self {
            rows: 8.0,
            speed_ratio: 3.0,
            speed_lower: 2.0,
            exempt_margin: 0.03,
            exempt: 0.80,
            cost_margin: 0.05,
            cost_guard: 0.80,
            cost_watch: 0.60,
            save_share: 0.30,
            save_usd_day: 1.0,
            positive: 0.90,
            below: 0.90,
            below_watch: 0.75,
            carries: 0.05,
        }
    }
}

/// A spread of task time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedSpread {
    /// What it amounts to.
    pub finding: Sized,
    /// `P(R_slow` − `R_fast` > 3 points).
    pub p_slow_better: f64,
    /// Whether the slow one is clearly better.
    pub is_exempt: bool,
}

/// `[fn speed_spread]`: one member at least three times slower than another on the same work, and not clearly better.
/// `n` are the weighted timed rows of the slow and the fast one in the shared classes.
pub fn speed_spread(ratio: &SpeedRatio, n: (f64, f64), slow: Beta, fast: Beta, limits: &SizingLimits) -> SpeedSpread {
    let p_slow_better = p_diff(fast, slow, limits.exempt_margin);
    let is_exempt = p_slow_better >= limits.exempt;
    let is_wide = ratio.ratio >= limits.speed_ratio && n.0 >= limits.rows && n.1 >= limits.rows;
    let finding = match (is_wide && !is_exempt, ratio.lo90 >= limits.speed_lower) {
        (true, true) => Sized::Found,
        (true, false) => Sized::Watch,
        (false, _) => Sized::None,
    };
    SpeedSpread { finding, p_slow_better, is_exempt }
}

/// One member in one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassSide {
    /// Its rate in the class.
    pub rate: Beta,
    /// Weighted rows there.
    pub n: f64,
    /// Cost of a task there.
    pub cost: Option<TaskCost>,
    /// Mean ln minutes there and its variance.
    pub log_minutes: Option<(f64, f64)>,
}

impl ClassSide {
    /// As a side of a pair.
    fn side(&self) -> PairSide {
        PairSide { rate: self.rate, n: self.n, tasks: 0, days: 0, cost: self.cost, log_minutes: self.log_minutes }
    }
}

/// A dear member on work that a cheaper one does as well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverPowered {
    /// What it amounts to; nothing when a cost or a time is unknown.
    pub finding: Sized,
    /// `P(R_cheap` − `R_strong` > −5 points).
    pub p_noninferior: f64,
    /// P(the loss falls) at the stake.
    pub p_positive: f64,
    /// The same at double the stake.
    pub p_positive_double: f64,
    /// 1 − `c_cheap` / `c_strong`.
    pub saving_share: f64,
    /// Dollars a day.
    pub saving_usd_per_day: f64,
    /// `L_cheap` − `L_strong`, $/task.
    pub loss_change: f64,
    /// Its standard deviation.
    pub loss_sd: f64,
}

/// `[fn over_powered]` in one class. `tasks_per_day` of the pool, `share` of them that are of this class and go to the dear
/// member. `None` when a cost or a time is unknown.
pub fn over_powered(
    strong: &ClassSide,
    cheap: &ClassSide,
    worth: Worth,
    tasks_per_day: f64,
    share: f64,
    limits: &SizingLimits,
) -> Option<OverPowered> {
    let (c_strong, c_cheap) = (strong.cost?.usd, cheap.cost?.usd);
    strong.log_minutes.zip(cheap.log_minutes)?;
    let at = |factor: f64| money(&strong.side(), &cheap.side(), worth.scaled(factor), &PairBars::default());
    let (once, double) = (at(1.0), at(2.0));
    let saving_share = if c_strong > 0.0 { 1.0 - c_cheap / c_strong } else { 0.0 };
    let saving_usd_per_day = tasks_per_day * share * (c_strong - c_cheap);
    let has_rows = strong.n >= limits.rows && cheap.n >= limits.rows;
    let saves = saving_share >= limits.save_share && saving_usd_per_day >= limits.save_usd_day;
    // The integral only where money and counts leave something to decide.
    let is_asked = has_rows && saves && once.saving > 0.0;
    let p_noninferior = if is_asked { p_diff(strong.rate, cheap.rate, -limits.cost_margin) } else { f64::NAN };
    let is_sure = once.p_positive >= limits.positive && double.p_positive >= limits.positive;
    let finding = if !(has_rows && saves) {
        Sized::None
    } else if p_noninferior >= limits.cost_guard && is_sure {
        Sized::Found
    } else if p_noninferior >= limits.cost_watch && once.saving > 0.0 {
        Sized::Watch
    } else {
        Sized::None
    };
    Some(OverPowered {
        finding,
        p_noninferior,
        p_positive: once.p_positive,
        p_positive_double: double.p_positive,
        saving_share,
        saving_usd_per_day,
        loss_change: -once.saving,
        loss_sd: once.sd,
    })
}

/// A member against the floor of its tier, in one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnderPowered {
    /// What it amounts to.
    pub finding: Sized,
    /// P(θ < floor).
    pub p_below: f64,
}

/// `[fn under_powered]`: a member that fails the floor on work it carries.
pub fn under_powered(rate: Beta, n: f64, share: f64, floor: f64, limits: &SizingLimits) -> UnderPowered {
    let p_below = rate.cdf(floor);
    let finding = if n < limits.rows || share < limits.carries {
        Sized::None
    } else if p_below >= limits.below {
        Sized::Found
    } else if p_below >= limits.below_watch {
        Sized::Watch
    } else {
        Sized::None
    };
    UnderPowered { finding, p_below }
}

/// When two members may stand in for each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EqualLimits {
    /// Weighted rows either side needs.
    pub rows: f64,
    /// Largest difference of the rates, as a fraction.
    pub difference: f64,
    /// Points, as a fraction, that may be lost.
    pub margin: f64,
    /// Chance that no more is lost.
    pub guard: f64,
    /// How far the interval of the speed ratio may reach from 1.
    pub speed: f64,
}

impl Default for EqualLimits {
    fn default() -> Self {
        Self { rows: 20.0, difference: 0.05, margin: 0.05, guard: 0.75, speed: 1.5 }
    }
}

/// Whether one member may take over work of another without anybody noticing.
#[derive(Debug, Clone, PartialEq)]
pub struct Interchangeable {
    /// `R_B` − `R_A`.
    pub difference: f64,
    /// `P(R_B` − `R_A` > −5 points).
    pub p_noninferior: f64,
    /// Lower 90 % bound of `T_A` / `T_B`.
    pub speed_lo90: Option<f64>,
    /// Terms that failed, sorted; none: they are.
    pub failed: Vec<&'static str>,
}

impl Interchangeable {
    /// Whether every term holds.
    pub fn holds(&self) -> bool {
        self.failed.is_empty()
    }
}

/// `[fn interchangeable]`: may B take over work of A? `speed` is `T_A` / `T_B` on shared classes; unknown speed fails its term.
pub fn interchangeable(
    a: (Beta, f64),
    b: (Beta, f64),
    is_same_model: bool,
    speed: Option<&SpeedRatio>,
    limits: &EqualLimits,
) -> Interchangeable {
    let difference = b.0.mean() - a.0.mean();
    let p_noninferior = p_diff(a.0, b.0, -limits.margin);
    let is_fast_enough = speed
        .is_some_and(|speed| speed.ratio >= 1.0 || (speed.lo90 >= 1.0 / limits.speed && speed.hi90 <= limits.speed));
    let terms = [
        ("difference", difference.abs() <= limits.difference + 1e-12),
        ("noninferior", p_noninferior >= limits.guard),
        ("rows", a.1 >= limits.rows && b.1 >= limits.rows),
        ("speed", is_fast_enough),
    ];
    let failed = if is_same_model {
        Vec::new()
    } else {
        terms.into_iter().filter_map(|(name, holds)| (!holds).then_some(name)).collect()
    };
    Interchangeable { difference, p_noninferior, speed_lo90: speed.map(|speed| speed.lo90), failed }
}

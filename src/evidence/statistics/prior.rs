//! What is believed of a member before and after its own rows (methods §3).

use super::Beta;

/// How the prior is built; the defaults are those of methods §25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorRules {
    /// How far the market index is trusted, standard deviation of success.
    pub tau: f64,
    /// What ten index points are worth on the logit scale.
    pub slope_per_10_points: f64,
    /// Smallest strength, rows.
    pub kappa_min: f64,
    /// Largest strength, rows.
    pub kappa_max: f64,
    /// Most own rows that everything external counts for.
    pub external_rows: f64,
    /// Rows of the other members that a starting rate needs.
    pub base_rows: f64,
    /// The rate without any such rows.
    pub default_rate: f64,
    /// Rows that shared evidence needs.
    pub shared_rows: f64,
    /// Distinct sources it needs.
    pub shared_sources: u64,
}

impl Default for PriorRules {
    fn default() -> Self {
        Self {
            tau: 0.15,
            slope_per_10_points: 0.25,
            kappa_min: 2.0,
            kappa_max: 30.0,
            external_rows: 30.0,
            base_rows: 5.0,
            default_rate: 0.75,
            shared_rows: 8.0,
            shared_sources: 3,
        }
    }
}

/// Weighted successes and rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Σ w·y.
    pub s: f64,
    /// Σ w.
    pub n: f64,
}

/// Where a starting rate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// The other members in the class.
    Class,
    /// The other members in all classes.
    Pool,
    /// Nowhere.
    Default,
}

impl Basis {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Pool => "pool",
            Self::Default => "default",
        }
    }
}

/// Where a member's prior starts, `[fn prior_base]`: the success of the *other* members, smoothed by half a row each way.
pub fn prior_base(in_class: Tally, in_pool: Tally, rules: &PriorRules) -> (f64, Basis) {
    let smooth = |tally: Tally| (tally.s + 0.5) / (tally.n + 1.0);
    if in_class.n >= rules.base_rows {
        (smooth(in_class), Basis::Class)
    } else if in_pool.n >= rules.base_rows {
        (smooth(in_pool), Basis::Pool)
    } else {
        (rules.default_rate, Basis::Default)
    }
}

/// What a member's index says about it, against the members whose rows made the starting rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IndexView {
    /// The member's role-mix index, points.
    pub index: Option<f64>,
    /// The index that belongs to the starting rate, points.
    pub reference: Option<f64>,
    /// Whether the member's index was imputed.
    pub is_imputed: bool,
}

/// A prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Its mean.
    pub theta: f64,
    /// Its strength, rows.
    pub kappa: f64,
}

/// The prior of a member in a class, `[fn prior]`.
pub fn prior(p_ref: f64, view: &IndexView, rules: &PriorRules) -> Prior {
    let shift = view.index.zip(view.reference).map(|(own, other)| rules.slope_per_10_points * (own - other) / 10.0);
    let start = p_ref.clamp(1e-9, 1.0 - 1e-9);
    let logit = (start / (1.0 - start)).ln();
    let theta = shift.map_or(start, |shift| 1.0 / (1.0 + (-(logit + shift)).exp())).clamp(0.02, 0.98);
    let spread = theta * (1.0 - theta) / (rules.tau * rules.tau);
    let strength = spread.clamp(rules.kappa_min, rules.kappa_max.max(rules.kappa_min));
    let is_known = shift.is_some() && !view.is_imputed;
    let kappa = if is_known { strength } else { strength / 2.0 };
    Prior { theta, kappa: kappa.max(0.5 / theta.min(1.0 - theta)) }
}

/// Evidence of other fleets about the same member and class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// Successes and rows.
    pub tally: Tally,
    /// Distinct sources.
    pub sources: u64,
}

/// A posterior with what came from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Posterior {
    /// The distribution.
    pub rate: Beta,
    /// The prior before the cap.
    pub prior: Prior,
    /// Rows that everything external counts for.
    pub external_rows: f64,
}

/// The posterior of a member in a class, `[fn posterior]`: market and shared evidence together count for at most
/// `external_rows`, and half a success and half a failure always stand behind it.
pub fn posterior(prior: Prior, shared: Option<Shared>, own: Tally, rules: &PriorRules) -> Posterior {
    let cap = rules.external_rows;
    let shared = shared.filter(|s| s.sources >= rules.shared_sources && s.tally.n >= rules.shared_rows);
    let (n, rate) = shared.map_or((0.0, 0.0), |s| (s.tally.n * cap / (s.tally.n + cap), s.tally.s / s.tally.n));
    let scale = if prior.kappa + n > 0.0 { (cap / (prior.kappa + n)).min(1.0) } else { 1.0 };
    let alpha = (scale * (prior.kappa * prior.theta + n * rate)).max(0.5);
    let beta = (scale * (prior.kappa * (1.0 - prior.theta) + n * (1.0 - rate))).max(0.5);
    let rate = Beta::new(alpha + own.s, beta + (own.n - own.s).max(0.0));
    Posterior { rate, prior, external_rows: alpha + beta }
}

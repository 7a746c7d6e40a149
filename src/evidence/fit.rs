//! Check latest-model in numbers (methods §11): which candidates fit a pool, and whom they would displace. Pure: names,
//! numbers and thresholds in, codes out.

use super::front::{Point, front, market_loss, shuts_out};

/// Comparisons at a bar allow this much rounding noise.
const EPSILON: f64 = 1e-9;

/// Thresholds of the fit; the defaults are those of the methods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitParams {
    /// Share of the best member's q a candidate needs (`latest.belongs`).
    pub belongs: f64,
    /// Points above the lead that clear the quality bar (`latest.quality`).
    pub quality: f64,
    /// Share of the lead's bill that clears the price bar (`latest.price`).
    pub price: f64,
    /// Times the lead's speed that clears the speed bar (`latest.speed`).
    pub speed: f64,
    /// Points a candidate may lie below the lead on the price and speed bars.
    pub near: f64,
    /// Points above a member that dominance needs.
    pub dominates_q: f64,
    /// Largest share of the dominated member's bill.
    pub dominates_bill: f64,
    /// Smallest share of the dominated member's speed.
    pub dominates_speed: f64,
    /// Age in days a candidate needs (`latest.age_days`).
    pub age_days: f64,
}

impl Default for FitParams {
    fn default() -> Self {
        Self {
            belongs: 0.80,
            quality: 2.0,
            price: 0.70,
            speed: 1.5,
            near: 1.0,
            dominates_q: 1.0,
            dominates_bill: 1.05,
            dominates_speed: 0.9,
            age_days: 3.0,
        }
    }
}

/// Market values of one model; each may be unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct MarketValues {
    /// Unique id inside the set.
    pub id: String,
    /// USD per million task input tokens.
    pub bill: Option<f64>,
    /// Standing, 0 to 100.
    pub q: Option<f64>,
    /// Output speed, tokens per second.
    pub speed: Option<f64>,
    /// How many of its indices were imputed.
    pub imputed: usize,
}

impl MarketValues {
    /// As a point of the front, if rated.
    fn point(&self) -> Option<Point> {
        Some(Point { id: self.id.clone(), bill: self.bill?, q: self.q?, imputed: self.imputed })
    }
}

/// A model outside the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its market values.
    pub values: MarketValues,
    /// Days since its release, else since our review first saw it.
    pub age_days: f64,
    /// A home of the fleet offers it.
    pub has_home: bool,
    /// No policy rule names it.
    pub is_allowed: bool,
    /// It has the tools, context and modalities the pool needs.
    pub is_capable: bool,
}

/// A bar that a candidate clears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitBar {
    /// Better than the lead.
    Quality,
    /// Cheaper than the lead and about as good.
    Price,
    /// Faster than the lead and about as good.
    Speed,
    /// Better than a member at its price and speed.
    Dominates,
}

impl FitBar {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quality => "quality",
            Self::Price => "price",
            Self::Speed => "speed",
            Self::Dominates => "dominates",
        }
    }
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitCode {
    /// It fits and is held, allowed and old enough.
    Missing,
    /// It fits, but is too young.
    PendingReleaseAge,
    /// It fits, but no home offers it.
    NoHome,
    /// It fits, but policy excludes it.
    PolicyExcluded,
    /// It does not fit.
    NotAFit,
    /// It has no standing or no bill: counted, never "worse".
    Unrated,
}

impl FitCode {
    /// The code as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::PendingReleaseAge => "pending_release_age",
            Self::NoHome => "no_home",
            Self::PolicyExcluded => "policy_excluded",
            Self::NotAFit => "not_a_fit",
            Self::Unrated => "unrated",
        }
    }
}

/// How one candidate stands to the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateFit {
    /// The candidate.
    pub id: String,
    /// Capable, and good enough for the pool.
    pub belongs: bool,
    /// On the front of members and itself.
    pub on_front: bool,
    /// The bars it clears, in their order.
    pub bars: Vec<FitBar>,
    /// Members it dominates, in pool order.
    pub dominates: Vec<String>,
    /// The dominated member with the largest market loss; `None`: it joins.
    pub displaces: Option<String>,
    /// What became of it.
    pub code: FitCode,
}

/// The best candidate that belongs and does not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestMiss {
    /// The candidate.
    pub id: String,
    /// Points it lacks to the quality bar.
    pub q_short: f64,
    /// Its bill over the lead's.
    pub bill_ratio: Option<f64>,
    /// Its speed over the lead's.
    pub speed_ratio: Option<f64>,
}

/// What the candidates of a pool amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitOutcome {
    /// No candidate fits: `aligned` in the check's words, when its numbers are there.
    NothingFits,
    /// One fits and is too young: `watch`.
    Pending,
    /// One is missing from the pool: `misaligned`.
    Missing,
}

/// The latest-model view of one pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Candidates in the order given.
    pub candidates: Vec<CandidateFit>,
    /// Front of the rated members, cheapest first.
    pub front_now: Vec<String>,
    /// Members without standing or bill, in pool order: what was compared without them is not the whole pool, and with an
    /// unrated lead no bar but dominance can be cleared. Such a pool is not shown to be aligned.
    pub unrated_members: Vec<String>,
    /// Best candidate that belongs and does not fit; `None` without one, or without a rated lead.
    pub nearest_miss: Option<NearestMiss>,
    /// What the candidates amount to.
    pub outcome: FitOutcome,
}

/// A pool as the fit sees it.
struct Pool<'a> {
    /// Members; the first is the lead.
    members: &'a [MarketValues],
    /// The rated ones as points.
    points: Vec<Point>,
    /// Largest q of a member.
    best_q: Option<f64>,
    /// Tokens per task.
    tokens: f64,
    /// Dollars lost when a task fails.
    stake: f64,
    /// Thresholds.
    params: &'a FitParams,
}

/// Judges candidates against members, the first of which is the lead. Unrated members take no part in the comparison.
pub fn latest_model(
    members: &[MarketValues],
    candidates: &[Candidate],
    tokens: f64,
    stake: f64,
    params: &FitParams,
) -> Fit {
    let points: Vec<Point> = members.iter().filter_map(MarketValues::point).collect();
    let best_q = members.iter().filter_map(|member| member.q).max_by(f64::total_cmp);
    let front_now = front(&points).iter().map(|point| point.id.clone()).collect();
    let is_unrated = |member: &&MarketValues| member.point().is_none();
    let unrated_members = members.iter().filter(is_unrated).map(|member| member.id.clone()).collect();
    let pool = Pool { members, points, best_q, tokens, stake, params };
    let fits: Vec<CandidateFit> = candidates.iter().map(|candidate| pool.judge(candidate)).collect();
    let outcome_of = |fit: &CandidateFit| match fit.code {
        FitCode::Missing => FitOutcome::Missing,
        FitCode::PendingReleaseAge => FitOutcome::Pending,
        _ => FitOutcome::NothingFits,
    };
    let outcome = fits.iter().map(outcome_of).max().unwrap_or(FitOutcome::NothingFits);
    let nearest_miss = pool.nearest_miss(candidates, &fits);
    Fit { candidates: fits, front_now, unrated_members, nearest_miss, outcome }
}

impl Pool<'_> {
    /// One candidate: fit first, then policy, home and age.
    fn judge(&self, candidate: &Candidate) -> CandidateFit {
        let id = candidate.values.id.clone();
        let Some(point) = candidate.values.point() else {
            let (bars, dominates) = (Vec::new(), Vec::new());
            let code = FitCode::Unrated;
            return CandidateFit { id, belongs: false, on_front: false, bars, dominates, displaces: None, code };
        };
        let beaten: Vec<&MarketValues> =
            self.members.iter().filter(|member| self.dominates(&candidate.values, member)).collect();
        let belongs =
            candidate.is_capable && self.best_q.is_none_or(|best| point.q >= self.params.belongs * best - EPSILON);
        let on_front = self.is_on_front(&point);
        let bars = self.bars(&candidate.values, &point, !beaten.is_empty());
        let code = self.code(candidate, belongs && on_front && !bars.is_empty());
        let displaces = self.displaced(&beaten);
        let dominates = beaten.iter().map(|member| member.id.clone()).collect();
        CandidateFit { id, belongs, on_front, bars, dominates, displaces, code }
    }

    /// Whether a point is on the front of the members and itself: none that comes before it is as good.
    fn is_on_front(&self, point: &Point) -> bool {
        !self.points.iter().any(|other| shuts_out(other, point))
    }

    /// The bars a rated candidate clears. What is unknown on either side clears nothing.
    fn bars(&self, values: &MarketValues, point: &Point, dominates: bool) -> Vec<FitBar> {
        let lead = self.members.first();
        let lead_q = lead.and_then(|lead| lead.q);
        let is_near = lead_q.is_some_and(|lead_q| point.q >= lead_q - self.params.near - EPSILON);
        let is_better = lead_q.is_some_and(|lead_q| point.q >= lead_q + self.params.quality - EPSILON);
        let is_cheaper = lead
            .and_then(|lead| lead.bill)
            .is_some_and(|lead_bill| point.bill <= self.params.price * lead_bill + EPSILON);
        let is_faster = lead
            .and_then(|lead| lead.speed)
            .zip(values.speed)
            .is_some_and(|(lead_speed, speed)| speed >= self.params.speed * lead_speed - EPSILON);
        [
            (FitBar::Quality, is_better),
            (FitBar::Price, is_cheaper && is_near),
            (FitBar::Speed, is_faster && is_near),
            (FitBar::Dominates, dominates),
        ]
        .into_iter()
        .filter_map(|(bar, is_cleared)| is_cleared.then_some(bar))
        .collect()
    }

    /// Whether a candidate is better than a member at no more than its price and no less than its speed.
    fn dominates(&self, candidate: &MarketValues, member: &MarketValues) -> bool {
        let all = |own: Option<f64>, other: Option<f64>, holds: &dyn Fn(f64, f64) -> bool| {
            own.zip(other).is_some_and(|(own, other)| holds(own, other))
        };
        all(candidate.q, member.q, &|own, other| own >= other + self.params.dominates_q - EPSILON)
            && all(candidate.bill, member.bill, &|own, other| own <= self.params.dominates_bill * other + EPSILON)
            && all(candidate.speed, member.speed, &|own, other| own >= self.params.dominates_speed * other - EPSILON)
    }

    /// Among the dominated the member with the largest market loss, ties to the smaller id.
    fn displaced(&self, dominated: &[&MarketValues]) -> Option<String> {
        let loss = |member: &MarketValues| {
            member.bill.zip(member.q).map_or(0.0, |(bill, q)| market_loss(bill, q, self.tokens, self.stake))
        };
        dominated
            .iter()
            .max_by(|a, b| loss(a).total_cmp(&loss(b)).then_with(|| b.id.cmp(&a.id)))
            .map(|member| member.id.clone())
    }

    /// The code of a rated candidate: fit, then policy, then home, then age.
    fn code(&self, candidate: &Candidate, fits: bool) -> FitCode {
        if !fits {
            FitCode::NotAFit
        } else if !candidate.is_allowed {
            FitCode::PolicyExcluded
        } else if !candidate.has_home {
            FitCode::NoHome
        } else if candidate.age_days < self.params.age_days {
            FitCode::PendingReleaseAge
        } else {
            FitCode::Missing
        }
    }

    /// Among candidates that belong and do not fit the largest q, ties by bill, then id.
    fn nearest_miss(&self, candidates: &[Candidate], fits: &[CandidateFit]) -> Option<NearestMiss> {
        let lead = self.members.first()?;
        let lead_q = lead.q?;
        let (point, values) = candidates
            .iter()
            .zip(fits)
            .filter(|(_, fit)| fit.belongs && fit.code == FitCode::NotAFit)
            .filter_map(|(candidate, _)| Some((candidate.values.point()?, &candidate.values)))
            .min_by(|(a, _), (b, _)| {
                b.q.total_cmp(&a.q).then_with(|| a.bill.total_cmp(&b.bill)).then_with(|| a.id.cmp(&b.id))
            })?;
        Some(NearestMiss {
            id: point.id,
            q_short: lead_q + self.params.quality - point.q,
            bill_ratio: ratio(Some(point.bill), lead.bill),
            speed_ratio: ratio(values.speed, lead.speed),
        })
    }
}

/// One value over another; `None` when either is unknown or the divisor is 0.
fn ratio(own: Option<f64>, other: Option<f64>) -> Option<f64> {
    own.zip(other).filter(|(_, other)| *other > 0.0).map(|(own, other)| own / other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model with these market values.
    fn values(id: &str, bill: f64, q: f64, speed: Option<f64>) -> MarketValues {
        MarketValues { id: id.to_owned(), bill: Some(bill), q: Some(q), speed, imputed: 0 }
    }

    /// A held, allowed, capable candidate ten days old.
    fn candidate(values: MarketValues) -> Candidate {
        Candidate { values, age_days: 10.0, has_home: true, is_allowed: true, is_capable: true }
    }

    /// The fit of one candidate to a lead at bill 1, q 60, 50 tokens per second.
    fn fit_of(candidate: Candidate) -> Fit {
        latest_model(&[values("lead", 1.0, 60.0, Some(50.0))], &[candidate], 1e6, 10.0, &FitParams::default())
    }

    #[test]
    fn a_fit_is_judged_by_policy_then_home_then_age() {
        let better = candidate(values("new", 1.5, 70.0, None));
        let code = |candidate: Candidate| fit_of(candidate).candidates[0].code;
        let young = Candidate { age_days: 2.9, ..better.clone() };
        let homeless = Candidate { has_home: false, ..young.clone() };
        let excluded = Candidate { is_allowed: false, ..homeless.clone() };
        assert_eq!(code(excluded), FitCode::PolicyExcluded);
        assert_eq!(code(homeless), FitCode::NoHome);
        assert_eq!(code(young), FitCode::PendingReleaseAge);
        assert_eq!(code(Candidate { age_days: 3.0, ..better.clone() }), FitCode::Missing);
        assert_eq!(code(Candidate { is_capable: false, ..better }), FitCode::NotAFit);
    }

    #[test]
    fn unknown_speed_clears_neither_the_speed_bar_nor_dominance() {
        // 61.5 at 0.95 is under the quality bar (62) and over the price bar (0.70); only its speed could speak for it.
        let bars = |speed| fit_of(candidate(values("new", 0.95, 61.5, speed))).candidates[0].bars.clone();
        assert_eq!(bars(None), []);
        assert_eq!(bars(Some(75.0)), [FitBar::Speed, FitBar::Dominates]);
        assert_eq!(bars(Some(45.0)), [FitBar::Dominates]);
        assert_eq!(bars(Some(44.9)), []);
    }

    #[test]
    fn a_candidate_exactly_at_a_bar_clears_it() {
        let bars = |bill, q| fit_of(candidate(values("new", bill, q, None))).candidates[0].bars.clone();
        assert_eq!(bars(5.0, 62.0), [FitBar::Quality]);
        assert_eq!(bars(0.7, 59.0), [FitBar::Price]);
        assert_eq!(bars(0.7, 58.9), []);
    }

    #[test]
    fn an_unrated_candidate_is_counted_and_an_unrated_lead_is_named() {
        let unknown = MarketValues { q: None, ..values("new", 0.1, 0.0, None) };
        let fit = fit_of(candidate(unknown.clone()));
        assert_eq!((fit.candidates[0].code, fit.outcome), (FitCode::Unrated, FitOutcome::NothingFits));
        let fit = latest_model(&[unknown], &[], 1e6, 10.0, &FitParams::default());
        assert_eq!((fit.unrated_members, fit.nearest_miss), (vec!["new".to_owned()], None));
    }
}

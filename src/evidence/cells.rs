//! From a pool's own rows to what is believed of each member: the class mix, weighted cells, priors from the *other* members
//! and the market, posteriors, the standardised rate, cost at list price and durations (methods §2 to §6).

use std::collections::BTreeMap;

use super::own::{MemberRows, RowClock, Weighted, drift_classes, raw_rate, weighted};
use super::rates::RawRate;
use super::statistics::Beta;
use super::statistics::cost::{TaskCost, task_cost};
use super::statistics::drift::drift;
use super::statistics::duration::{DurationRules, LogDuration, TimedRow, log_duration, median};
use super::statistics::mix::{ClassMix, OTHER, class_mix, standardised_rate};
use super::statistics::prior::{Basis, IndexView, Posterior, PriorRules, Tally, posterior, prior, prior_base};
use crate::vocabulary::{Prices, TaskTokens, as_number};

/// Everything that turns rows into estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimateRules {
    /// When rows count and how much.
    pub clock: RowClock,
    /// Share of the pool's rows under which a class is merged into `other`.
    pub min_class_share: f64,
    /// How priors are built.
    pub prior: PriorRules,
    /// How durations are estimated.
    pub duration: DurationRules,
}

/// One member as the estimates need it. Members that are one model at one effort share their rows.
pub struct CellInput<'a> {
    /// `model@effort`.
    pub name: &'a str,
    /// Its rows by class.
    pub rows: MemberRows,
    /// Role-mix index, points.
    pub index: Option<f64>,
    /// Whether that was imputed.
    pub is_imputed: bool,
    /// List price; `None` is unknown.
    pub prices: Option<Prices>,
}

/// What a member's tasks of a class cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CostCell {
    /// No row states tokens.
    NoRows,
    /// Some token kind that was used has no price.
    NoPrice,
    /// Cost at list price.
    Known(TaskCost),
}

/// One member in one class of the mix.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassCell {
    /// Weighted successes and rows.
    pub tally: Tally,
    /// What is believed of it.
    pub posterior: Posterior,
    /// Where its prior starts.
    pub basis: Basis,
    /// Typical duration, if a row states one.
    pub duration: Option<LogDuration>,
    /// Cost.
    pub cost: CostCell,
    /// Mean tokens by kind (input, cache read, cache write, output) of the rows that state them.
    pub tokens: Option<[f64; 4]>,
}

/// What our own rows say of one member of a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnEvidence {
    /// Class of the mix → cell; every class of the mix is there.
    pub cells: BTreeMap<String, ClassCell>,
    /// Raw counts over all classes.
    pub raw: RawRate,
    /// Raw counts by class as the rows name it.
    pub raw_classes: BTreeMap<String, RawRate>,
    /// Weighted rows over all classes.
    pub n: f64,
    /// The standardised rate on the pool's mix.
    pub rate: Beta,
    /// Weighted raw rate over all classes, as it stands.
    pub unstandardised: Option<f64>,
    /// End (seconds of the epoch) and weight of every scored row, in order of time.
    pub arrivals: Vec<(i64, f64)>,
    /// z of the drift note.
    pub drift: Option<f64>,
    /// List price; `None` is unknown.
    pub prices: Option<Prices>,
}

impl OwnEvidence {
    /// Weight of the scored rows that came in after an instant: those that were too young or not there then.
    pub fn rows_since(&self, at_s: i64, mature_s: i64) -> f64 {
        self.arrivals.iter().filter(|(ended, _)| *ended > at_s - mature_s).map(|(_, weight)| weight).sum()
    }

    /// Whether any row states its tokens.
    pub fn has_cost_rows(&self) -> bool {
        self.cells.values().any(|cell| cell.tokens.is_some())
    }

    /// Whether any row states its duration.
    pub fn has_timed_rows(&self) -> bool {
        self.cells.values().any(|cell| cell.duration.is_some())
    }
}

/// Weighted rows of one member by class of the mix.
type MixedRows = BTreeMap<String, Vec<Weighted>>;

/// The mix of a pool and what is believed of each of its members, in the order given.
pub fn estimate(members: &[CellInput<'_>], rules: &EstimateRules) -> (ClassMix, Vec<OwnEvidence>) {
    let rows: Vec<MixedRows> = members.iter().map(|member| weighted(&member.rows, &rules.clock)).collect();
    let mix = mix_of(members, &rows, rules.min_class_share);
    let rows: Vec<MixedRows> = rows.into_iter().map(|rows| merged(rows, &mix)).collect();
    let tallies: Vec<BTreeMap<&str, Tally>> = rows.iter().map(tallies).collect();
    let pool = PoolTallies { members, tallies: &tallies };
    let evidence = members.iter().enumerate().map(|(i, member)| own(member, i, &rows[i], &pool, &mix, rules)).collect();
    (mix, evidence)
}

/// The class mix over the rows of every distinct member; without rows everything is `other`.
fn mix_of(members: &[CellInput<'_>], rows: &[MixedRows], min_share: f64) -> ClassMix {
    let mut weights: BTreeMap<String, f64> = BTreeMap::new();
    for (i, rows) in rows.iter().enumerate() {
        if members[..i].iter().any(|earlier| earlier.name == members[i].name) {
            continue;
        }
        for (class, rows) in rows {
            *weights.entry(class.clone()).or_default() += rows.iter().map(|row| row.weight).sum::<f64>();
        }
    }
    let mix = class_mix(&weights, min_share);
    if mix.shares.is_empty() {
        return ClassMix { shares: BTreeMap::from([(OTHER.to_owned(), 1.0)]), merged: Vec::new() };
    }
    mix
}

/// Rows under the classes of the mix.
fn merged(rows: MixedRows, mix: &ClassMix) -> MixedRows {
    let mut merged = MixedRows::new();
    for (class, rows) in rows {
        merged.entry(mix.class_of(&class).to_owned()).or_default().extend(rows);
    }
    merged
}

/// Weighted successes and rows by class.
fn tallies(rows: &MixedRows) -> BTreeMap<&str, Tally> {
    let tally = |rows: &[Weighted]| Tally {
        s: rows.iter().filter(|row| row.success).map(|row| row.weight).sum(),
        n: rows.iter().map(|row| row.weight).sum(),
    };
    rows.iter().map(|(class, rows)| (class.as_str(), tally(rows))).collect()
}

/// The tallies of a pool, for priors out of the other members.
struct PoolTallies<'a> {
    /// The members.
    members: &'a [CellInput<'a>],
    /// Their tallies by class.
    tallies: &'a [BTreeMap<&'a str, Tally>],
}

impl PoolTallies<'_> {
    /// Every other member once: members of one name share their rows, and a member's own rows never enter its prior.
    fn others(&self, own: usize) -> impl Iterator<Item = usize> + '_ {
        let name = self.members[own].name;
        (0..self.members.len()).filter(move |i| {
            let other = self.members[*i].name;
            other != name && !self.members[..*i].iter().any(|earlier| earlier.name == other)
        })
    }

    /// What the others did in a class, or in all of them.
    fn sum(&self, own: usize, class: Option<&str>) -> Tally {
        let of = |i: usize| {
            self.tallies[i].iter().filter(move |(name, _)| class.is_none_or(|class| **name == class)).map(|(_, t)| *t)
        };
        self.others(own).flat_map(of).fold(Tally::default(), |sum, t| Tally { s: sum.s + t.s, n: sum.n + t.n })
    }

    /// The index that belongs to a starting rate: the mean of the members whose rows made it, by their rows; the median of
    /// the pool when there are none.
    fn reference(&self, own: usize, class: &str, basis: Basis) -> Option<f64> {
        let rows = |i: usize| match basis {
            Basis::Class => self.tallies[i].get(class).map_or(0.0, |tally| tally.n),
            _ => self.tallies[i].values().map(|tally| tally.n).sum(),
        };
        if basis == Basis::Default {
            let mut all: Vec<f64> = self.members.iter().filter_map(|member| member.index).collect();
            return median(&mut all);
        }
        let (sum, n) = self
            .others(own)
            .filter_map(|i| Some((self.members[i].index?, rows(i))))
            .fold((0.0, 0.0), |(sum, total), (index, n)| (sum + index * n, total + n));
        (n > 0.0).then(|| sum / n)
    }
}

/// What is believed of one member.
fn own(
    member: &CellInput<'_>,
    i: usize,
    rows: &MixedRows,
    pool: &PoolTallies<'_>,
    mix: &ClassMix,
    rules: &EstimateRules,
) -> OwnEvidence {
    let cells: BTreeMap<String, ClassCell> =
        mix.shares.keys().map(|class| (class.clone(), cell(member, i, class, rows, pool, rules))).collect();
    let posteriors: BTreeMap<String, Beta> =
        cells.iter().map(|(class, cell)| (class.clone(), cell.posterior.rate)).collect();
    let total = cells.values().fold(Tally::default(), |sum, c| Tally { s: sum.s + c.tally.s, n: sum.n + c.tally.n });
    let raw_classes: BTreeMap<String, RawRate> =
        member.rows.iter().map(|(class, rows)| (class.clone(), raw_rate(rows, &rules.clock))).collect();
    let all: Vec<_> = member.rows.values().flatten().copied().collect();
    let mut arrivals: Vec<(i64, f64)> = rows.values().flatten().map(|row| (row.row.ended_s, row.weight)).collect();
    arrivals.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    OwnEvidence {
        rate: standardised_rate(&posteriors, &mix.shares).expect("the mix has a class, and every class a cell"),
        unstandardised: (total.n > 0.0).then(|| total.s / total.n),
        n: total.n,
        raw: raw_rate(&all, &rules.clock),
        raw_classes,
        arrivals,
        drift: drift(&drift_classes(&member.rows, &rules.clock)),
        prices: member.prices,
        cells,
    }
}

/// One member in one class.
fn cell(
    member: &CellInput<'_>,
    i: usize,
    class: &str,
    rows: &MixedRows,
    pool: &PoolTallies<'_>,
    rules: &EstimateRules,
) -> ClassCell {
    let rows = rows.get(class).map_or(&[][..], Vec::as_slice);
    let tally = pool.tallies[i].get(class).copied().unwrap_or_default();
    let (start, basis) = prior_base(pool.sum(i, Some(class)), pool.sum(i, None), &rules.prior);
    let view =
        IndexView { index: member.index, reference: pool.reference(i, class, basis), is_imputed: member.is_imputed };
    let timed: Vec<TimedRow> = rows
        .iter()
        .filter_map(|row| {
            Some(TimedRow { minutes: row.row.minutes?, weight: row.weight, is_censored: row.row.is_cut_off })
        })
        .collect();
    ClassCell {
        tally,
        posterior: posterior(prior(start, &view, &rules.prior), None, tally, &rules.prior),
        basis,
        duration: log_duration(&timed, &rules.duration),
        cost: cost_cell(rows, member.prices.as_ref()),
        tokens: mean_tokens(rows),
    }
}

/// Cost of a class at list price.
fn cost_cell(rows: &[Weighted], prices: Option<&Prices>) -> CostCell {
    let costs: Vec<(Option<f64>, f64)> = rows
        .iter()
        .filter_map(|row| Some((row.row.tokens?, row.weight)))
        .map(|(tokens, weight)| (prices.and_then(|prices| list_cost(&kinds(&tokens), prices)), weight))
        .collect();
    if costs.is_empty() {
        return CostCell::NoRows;
    }
    task_cost(&costs).map_or(CostCell::NoPrice, CostCell::Known)
}

/// Tokens by kind.
#[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
pub(super) fn kinds(tokens: &TaskTokens) -> [f64; 4] {
    [tokens.input, tokens.cache_read, tokens.cache_write, tokens.output].map(|count| count as f64)
}

/// Dollars of some tokens at list price; `None` as soon as a kind that was used has no price.
pub fn list_cost(tokens: &[f64; 4], prices: &Prices) -> Option<f64> {
    let price = [prices.input, prices.cache_read, prices.cache_write, prices.output].map(as_number);
    let parts = tokens.iter().zip(price).filter(|(count, _)| **count > 0.0);
    let usd: f64 = parts.map(|(count, price)| Some(count * price?)).sum::<Option<f64>>()?;
    Some(usd / 1e6)
}

/// Weighted mean tokens by kind.
fn mean_tokens(rows: &[Weighted]) -> Option<[f64; 4]> {
    let stated = || rows.iter().filter_map(|row| Some((row.row.tokens?, row.weight)));
    let n: f64 = stated().map(|(_, weight)| weight).sum();
    (n > 0.0).then(|| {
        let mut sums = [0.0; 4];
        for (tokens, weight) in stated() {
            for (sum, count) in sums.iter_mut().zip(kinds(&tokens)) {
                *sum += weight * count / n;
            }
        }
        sums
    })
}

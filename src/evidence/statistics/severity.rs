//! How severe each judge is: an additive fit of scores on (judge, item) cells (methods §21). Judge scores are shown beside
//! the success rate and never enter it.

use std::collections::{BTreeMap, BTreeSet};

/// Largest correction, points.
const BOUND: f64 = 10.0;
/// Items a judge must share with other judges.
const SHARED_ITEMS: usize = 2;
/// Movement below which the fit has converged.
const CONVERGED: f64 = 1e-12;
/// Sweeps after which it has converged or never will.
const MOST_SWEEPS: usize = 100_000;

/// The scores of one judge on one item.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeCell {
    /// The judge.
    pub judge: String,
    /// The item.
    pub item: String,
    /// Scores.
    pub n: f64,
    /// Their mean, 0 to 100.
    pub mean: f64,
}

/// Corrections and corrected means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Severities {
    /// Judge → β, points; 0 for an uncorrected one.
    pub severity: BTreeMap<String, f64>,
    /// Judges that share too few items, sorted.
    pub uncorrected: Vec<String>,
    /// Judges that share items, each component sorted, components sorted.
    pub components: Vec<Vec<String>>,
    /// Item → corrected mean over all judges.
    pub item_means: BTreeMap<String, f64>,
}

/// `[fn severity]`. The order of the cells changes nothing.
pub fn severity(cells: &[JudgeCell]) -> Severities {
    let mut cells: Vec<&JudgeCell> = cells.iter().filter(|cell| cell.n > 0.0 && cell.mean.is_finite()).collect();
    cells.sort_by(|a, b| (&a.judge, &a.item).cmp(&(&b.judge, &b.item)).then(a.mean.total_cmp(&b.mean)));
    let judges: BTreeSet<&str> = cells.iter().map(|cell| cell.judge.as_str()).collect();
    let corrected = corrected(&cells);
    let components = components(&cells, &corrected);
    let mut severity: BTreeMap<String, f64> = judges.iter().map(|judge| ((*judge).to_owned(), 0.0)).collect();
    for component in &components {
        let members: BTreeSet<&str> = component.iter().map(String::as_str).collect();
        let own: Vec<&JudgeCell> = cells.iter().copied().filter(|c| members.contains(c.judge.as_str())).collect();
        severity.extend(fit(&own));
    }
    Severities {
        item_means: item_means(&cells, &severity),
        uncorrected: judges.iter().filter(|judge| !corrected.contains(*judge)).map(|j| (*j).to_owned()).collect(),
        components,
        severity,
    }
}

/// The judges that share at least two items with other such judges.
fn corrected<'a>(cells: &[&'a JudgeCell]) -> BTreeSet<&'a str> {
    let mut kept: BTreeSet<&str> = cells.iter().map(|cell| cell.judge.as_str()).collect();
    loop {
        let mut judges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for cell in cells.iter().filter(|cell| kept.contains(cell.judge.as_str())) {
            judges.entry(&cell.item).or_default().insert(&cell.judge);
        }
        let shared = |judge: &str| judges.values().filter(|of| of.len() > 1 && of.contains(judge)).count();
        let next: BTreeSet<&str> = kept.iter().copied().filter(|judge| shared(judge) >= SHARED_ITEMS).collect();
        if next.len() == kept.len() {
            return kept;
        }
        kept = next;
    }
}

/// The connected components of judges that share items.
fn components(cells: &[&JudgeCell], corrected: &BTreeSet<&str>) -> Vec<Vec<String>> {
    let mut groups: Vec<BTreeSet<&str>> = Vec::new();
    let mut by_item: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| corrected.contains(cell.judge.as_str())) {
        by_item.entry(&cell.item).or_default().insert(&cell.judge);
    }
    for judges in by_item.into_values() {
        let (touched, mut rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| !group.is_disjoint(&judges));
        rest.push(touched.into_iter().flatten().chain(judges).collect());
        groups = rest;
    }
    let mut named: Vec<Vec<String>> =
        groups.into_iter().map(|group| group.into_iter().map(str::to_owned).collect()).collect();
    named.sort();
    named
}

/// The minimiser of `Σ n (y − μ_item − β_judge)²` with |β| ≤ 10 and `Σ n β = 0`, by alternation with a projection.
fn fit(cells: &[&JudgeCell]) -> BTreeMap<String, f64> {
    let mut rows: BTreeMap<&str, f64> = BTreeMap::new();
    for cell in cells {
        *rows.entry(&cell.judge).or_default() += cell.n;
    }
    let mut beta: BTreeMap<&str, f64> = rows.keys().map(|judge| (*judge, 0.0)).collect();
    for _ in 0..MOST_SWEEPS {
        let items = means(cells, |cell| cell.item.as_str(), |cell| cell.mean - beta[cell.judge.as_str()]);
        let raw = means(cells, |cell| cell.judge.as_str(), |cell| cell.mean - items[cell.item.as_str()]);
        let next = project(&raw, &rows);
        let moved = next.iter().map(|(judge, value)| (value - beta[judge]).abs()).fold(0.0, f64::max);
        beta = next;
        if moved <= CONVERGED {
            break;
        }
    }
    beta.into_iter().map(|(judge, value)| (judge.to_owned(), value)).collect()
}

/// Count-weighted means of some value by some key.
fn means<'a>(
    cells: &[&'a JudgeCell],
    key: impl Fn(&'a JudgeCell) -> &'a str,
    value: impl Fn(&JudgeCell) -> f64,
) -> BTreeMap<&'a str, f64> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for cell in cells {
        let sum = sums.entry(key(cell)).or_default();
        *sum = (sum.0 + cell.n * value(cell), sum.1 + cell.n);
    }
    sums.into_iter().map(|(key, (sum, n))| (key, sum / n)).collect()
}

/// The nearest point with |β| ≤ 10 and a weighted mean of zero: `clip(β − t)` for the t that makes it so.
fn project<'a>(raw: &BTreeMap<&'a str, f64>, rows: &BTreeMap<&str, f64>) -> BTreeMap<&'a str, f64> {
    let clip = |value: f64, t: f64| (value - t).clamp(-BOUND, BOUND);
    let excess = |t: f64| -> f64 { raw.iter().map(|(judge, value)| rows[judge] * clip(*value, t)).sum() };
    let least = raw.values().copied().fold(f64::INFINITY, f64::min) - BOUND;
    let most = raw.values().copied().fold(f64::NEG_INFINITY, f64::max) + BOUND;
    let (mut lo, mut hi) = (least, most);
    for _ in 0..200 {
        let middle = f64::midpoint(lo, hi);
        if excess(middle) > 0.0 { lo = middle } else { hi = middle }
    }
    let t = f64::midpoint(lo, hi);
    raw.iter().map(|(judge, value)| (*judge, clip(*value, t))).collect()
}

/// Corrected means of items over all judges.
fn item_means(cells: &[&JudgeCell], severity: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let corrected = |cell: &JudgeCell| (cell.mean - severity[&cell.judge]).clamp(0.0, 100.0);
    means(cells, |cell| cell.item.as_str(), corrected).into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

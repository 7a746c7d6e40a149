//! The reviewer, measured, as log, page, run file and `status --calibration` show it. What is not known is said to be unknown.

use serde::Serialize;

use super::text::{self, Place};
use super::view::NOTHING;
use crate::verdict::{Calibration, CheckedBound, MeasuredChange};

/// The name of the shape.
pub const SCHEMA: &str = "pool-review.calibration/1";

/// The heads of the table of landed changes.
pub(super) const HEADS: [&str; 8] = ["Landed", "Pool", "Metric", "Claimed", "Measured", "Rows", "Rule", "Status"];

/// A number with so many decimals, or that it is unknown.
fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or("unknown".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Everything in one line, with the number of changes behind it.
pub(super) fn line(calibration: &Calibration) -> String {
    let n = calibration.changes.len();
    let bar =
        if calibration.is_bar_raised { " (raised: the forecasts were worse than the constant hit rate)" } else { "" };
    let measured = if n == 0 {
        "no landed change has been measured yet, n 0; claims stand as they are".to_owned()
    } else {
        format!(
            "{} inside 90 %, slope {:.2} (used {:.2}), inflation {:.2}, Brier {} against {} of the constant, skill {}, n {n}",
            calibration.coverage_90.map_or("unknown".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            calibration.slope,
            calibration.slope_used,
            calibration.inflation,
            shown(calibration.brier, 3),
            shown(calibration.brier_constant, 3),
            shown(calibration.skill, 2),
        )
    };
    format!("{measured}; new claims at {:.3}{bar}", calibration.propose_bar)
}

/// What became of the bounds of aligned verdicts, in one line; `None` while nobody else changed an aligned pool.
pub(super) fn bounds_line(calibration: &Calibration) -> Option<String> {
    let count = |word: &str| calibration.bounds.iter().filter(|bound| bound.outcome == word).count();
    (!calibration.bounds.is_empty()).then(|| {
        format!(
            "of {} aligned verdicts that somebody else's change put to the test {} held, {} missed, {} open, {} pending",
            calibration.bounds.len(),
            count("held"),
            count("missed"),
            count("open"),
            count("pending")
        )
    })
}

/// Changes that the reader is to see now: those under way, and those that ended in this run.
pub(super) fn current(calibration: &Calibration) -> impl Iterator<Item = &MeasuredChange> {
    calibration.ended.iter().chain(&calibration.verifying)
}

/// The cells of a change under [`HEADS`].
pub(super) fn cells(change: &MeasuredChange, place: Place) -> Vec<String> {
    let short = change.fingerprint.get(..13).unwrap_or(&change.fingerprint);
    let measured = match (change.realised_point, change.realised_se) {
        (Some(point), Some(se)) => pair(point, se, &change.unit),
        _ => NOTHING.to_owned(),
    };
    vec![
        format!("{} {}", text::own(day(&change.landed_at), place), text::name(short, place)),
        text::name(&change.pool, place),
        text::own(&change.metric, place),
        pair(change.claimed_point, change.claimed_sd, &change.unit),
        measured,
        format!("{} → {}", change.rows.0, change.rows.1),
        text::own(&change.rule, place),
        change.status.to_owned(),
    ]
}

/// The day of an instant.
fn day(instant: &str) -> &str {
    instant.get(..10).unwrap_or(instant)
}

/// A value and its standard deviation in the unit people read.
pub(super) fn pair(point: i64, sd: i64, unit: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "numbers of a proposal stay far below 2^53")]
    let (point, sd) = (point as f64, sd as f64);
    match unit {
        "usd_micros" => format!("{:.3} ± {:.3} USD", point / 1e6, sd / 1e6),
        "ppm" => format!("{:.1} ± {:.1} points", point / 1e4, sd / 1e4),
        "seconds" => format!("{point:.0} ± {sd:.0} s"),
        _ => format!("{point:.0}"),
    }
}

/// The reviewer, measured, in its frozen `v1` shape.
#[derive(Debug, Serialize)]
pub struct CalibrationV1<'a> {
    /// Measured changes behind the numbers.
    n: usize,
    /// Share of them inside 90 %.
    coverage_90: Option<f64>,
    /// Slope of what was measured on what was claimed.
    slope: f64,
    /// The same as it multiplies the next points.
    slope_used: f64,
    /// Widens the next intervals.
    inflation: f64,
    /// Share of changes that did better than nothing.
    hit_rate: Option<f64>,
    /// Brier score of the forecasts.
    brier: Option<f64>,
    /// The same of the constant hit rate.
    brier_constant: Option<f64>,
    /// 1 − their ratio.
    skill: Option<f64>,
    /// The bar that new claims must clear.
    propose_bar: f64,
    /// Whether poor skill raised it.
    is_bar_raised: bool,
    /// The changes behind the numbers, oldest first.
    changes: Vec<ChangeV1<'a>>,
    /// Changes that are being measured.
    verifying: Vec<ChangeV1<'a>>,
    /// Changes whose measurement ended in the run.
    ended: Vec<ChangeV1<'a>>,
    /// Aligned pools whose bound is kept.
    bounds_kept: usize,
    /// Bounds that somebody else's change put to the test.
    bounds: Vec<BoundV1<'a>>,
}

/// One landed change.
#[derive(Debug, Serialize)]
struct ChangeV1<'a> {
    /// The proposal.
    fingerprint: &'a str,
    /// Its pool.
    pool: &'a str,
    /// Which revision landed.
    revision: u64,
    /// When a review first saw it.
    landed_at: &'a str,
    /// The rule in force.
    rule: &'a str,
    /// Where it stands.
    status: &'a str,
    /// The metric.
    metric: &'a str,
    /// Unit of the numbers.
    unit: &'a str,
    /// What was claimed.
    claimed_point: i64,
    /// Standard deviation of the claim.
    claimed_sd: i64,
    /// What was measured.
    realised_point: Option<i64>,
    /// Its standard error.
    realised_se: Option<i64>,
    /// Rows before and after.
    rows: (u64, u64),
    /// Pools it was held against.
    controls: &'a [String],
    /// Distance of measurement and claim in standard deviations.
    z: Option<f64>,
}

/// One checked bound.
#[derive(Debug, Serialize)]
struct BoundV1<'a> {
    /// The pool.
    pool: &'a str,
    /// The review that saw the change first.
    changed_at: &'a str,
    /// What it was held against.
    allowed_usd_micros: u64,
    /// What the change saved.
    realised_point: Option<i64>,
    /// Its standard error.
    realised_se: Option<i64>,
    /// Rows before and after.
    rows: (u64, u64),
    /// What became of it.
    outcome: &'a str,
}

/// The twin of the reviewer's numbers.
pub fn twin(calibration: &Calibration) -> CalibrationV1<'_> {
    CalibrationV1 {
        n: calibration.changes.len(),
        coverage_90: calibration.coverage_90,
        slope: calibration.slope,
        slope_used: calibration.slope_used,
        inflation: calibration.inflation,
        hit_rate: calibration.hit_rate,
        brier: calibration.brier,
        brier_constant: calibration.brier_constant,
        skill: calibration.skill,
        propose_bar: calibration.propose_bar,
        is_bar_raised: calibration.is_bar_raised,
        changes: calibration.changes.iter().map(change).collect(),
        verifying: calibration.verifying.iter().map(change).collect(),
        ended: calibration.ended.iter().map(change).collect(),
        bounds_kept: calibration.bounds_kept,
        bounds: calibration.bounds.iter().map(bound).collect(),
    }
}

/// The twin of a change.
fn change(change: &MeasuredChange) -> ChangeV1<'_> {
    ChangeV1 {
        fingerprint: &change.fingerprint,
        pool: &change.pool,
        revision: change.revision,
        landed_at: &change.landed_at,
        rule: &change.rule,
        status: change.status,
        metric: &change.metric,
        unit: &change.unit,
        claimed_point: change.claimed_point,
        claimed_sd: change.claimed_sd,
        realised_point: change.realised_point,
        realised_se: change.realised_se,
        rows: change.rows,
        controls: &change.controls,
        z: change.z.filter(|z| z.is_finite()),
    }
}

/// The twin of a checked bound.
fn bound(bound: &CheckedBound) -> BoundV1<'_> {
    BoundV1 {
        pool: &bound.pool,
        changed_at: &bound.changed_at,
        allowed_usd_micros: bound.allowed_usd_micros,
        realised_point: bound.realised_point,
        realised_se: bound.realised_se,
        rows: bound.rows,
        outcome: bound.outcome,
    }
}

/// A document of its own: the numbers under the name of the shape.
#[derive(Serialize)]
struct Document<'a> {
    /// Name of the shape.
    schema: &'static str,
    /// The numbers.
    calibration: CalibrationV1<'a>,
}

/// The answer of `status --calibration` as JSON, with a line end.
pub fn json(calibration: &Calibration) -> String {
    let document = Document { schema: SCHEMA, calibration: twin(calibration) };
    let mut text = serde_json::to_string_pretty(&document).expect("the twins hold text and finite numbers only");
    text.push('\n');
    text
}

/// The same for people.
pub fn human(calibration: &Calibration) -> String {
    let mut lines = vec![format!("calibration: {}", line(calibration))];
    lines.extend(bounds_line(calibration));
    let all: Vec<&MeasuredChange> = calibration.changes.iter().chain(&calibration.verifying).collect();
    if !all.is_empty() {
        let rows: Vec<Vec<String>> = all.into_iter().map(|change| cells(change, Place::Terminal)).collect();
        lines.push(String::new());
        lines.extend(columns(&HEADS.map(str::to_owned), &rows));
    }
    lines.join("\n") + "\n"
}

/// Rows under their heads, each column as wide as its widest cell.
fn columns(heads: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let all = || std::iter::once(heads).chain(rows.iter().map(Vec::as_slice));
    let width = |i: usize| all().map(|cells| cells[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    all().map(line).collect()
}

//! Group-bys on frames: the only place that knows polars.

use polars::prelude::{Column, DataFrame, PolarsResult, SortMultipleOptions};

use super::Sums;
use crate::vocabulary::{Outcome, Usd};

/// One attempt under a key of `K` parts.
pub(super) struct Attempt<'a, const K: usize> {
    /// What it is grouped by.
    pub(super) key: [&'a str; K],
    /// Its task.
    pub(super) task: &'a str,
    /// Its day.
    pub(super) day: i32,
    /// When it ended, in any unit.
    pub(super) at: i64,
    /// What became of it; `None` when it is immature.
    pub(super) outcome: Option<Outcome>,
    /// Wall time in seconds.
    pub(super) duration_s: Option<f64>,
    /// Whether its cost is known.
    pub(super) is_priced: bool,
}

/// The attempts under one key.
pub(super) struct Group<const K: usize> {
    /// The key.
    pub(super) key: [String; K],
    /// Smallest time.
    pub(super) first: i64,
    /// Largest time.
    pub(super) last: i64,
    /// Counts and sums, without cost.
    pub(super) sums: Sums,
}

/// Columns that are 0 or 1 in a row and summed in a group.
const COUNTS: [&str; 8] = ["attempts", "successes", "failures", "infra", "unknown", "immature", "n_duration", "n_cost"];
/// Numbers that are summed in a group.
const AMOUNTS: [&str; 2] = ["ln_duration", "ln_duration_sq"];
/// Columns whose distinct values are counted in a group. A null counts as one and is taken off again.
const DISTINCT: [&str; 3] = ["task", "scored_task", "scored_day"];
/// The column of times.
const AT: &str = "at";

impl<const K: usize> Attempt<'_, K> {
    /// Whether it has a verdict.
    fn is_scored(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Success | Outcome::Failure))
    }

    /// Its duration as ln seconds, if it counts and can be taken.
    fn ln_duration(&self) -> Option<f64> {
        self.duration_s.filter(|seconds| self.is_scored() && *seconds > 0.0).map(f64::ln)
    }

    /// Its entries in [`COUNTS`].
    fn counts(&self) -> [i64; COUNTS.len()] {
        let is = |outcome| self.outcome == Some(outcome);
        [
            true,
            is(Outcome::Success),
            is(Outcome::Failure),
            is(Outcome::Infra),
            is(Outcome::Unknown),
            self.outcome.is_none(),
            self.ln_duration().is_some(),
            self.is_priced && self.outcome.is_some(),
        ]
        .map(i64::from)
    }
}

/// Groups attempts by their key, sorted by key. Floats are summed in the order of their values, so that the order of rows
/// changes no bit.
pub(super) fn group<const K: usize>(names: [&str; K], attempts: &[Attempt<'_, K>]) -> Vec<Group<K>> {
    if attempts.is_empty() {
        return Vec::new();
    }
    let mut groups = frame(names, attempts)
        .and_then(|frame| aggregate(names, &frame))
        .expect("columns of one length and one type each can always be grouped");
    groups.sort_by(|a, b| a.key.cmp(&b.key));
    groups
}

/// The attempts as a frame: one row each, sorted by the numbers that are summed.
fn frame<const K: usize>(names: [&str; K], attempts: &[Attempt<'_, K>]) -> PolarsResult<DataFrame> {
    let mut columns = Vec::with_capacity(K + COUNTS.len() + AMOUNTS.len() + DISTINCT.len() + 1);
    for (part, name) in names.into_iter().enumerate() {
        columns.push(Column::new(name.into(), attempts.iter().map(|a| a.key[part]).collect::<Vec<_>>()));
    }
    let counts: Vec<_> = attempts.iter().map(Attempt::counts).collect();
    for (index, name) in COUNTS.into_iter().enumerate() {
        columns.push(Column::new(name.into(), counts.iter().map(|counts| counts[index]).collect::<Vec<_>>()));
    }
    let ln: Vec<_> = attempts.iter().map(Attempt::ln_duration).collect();
    let squares: Vec<_> = ln.iter().map(|ln| ln.map(|ln| ln * ln)).collect();
    for (name, amounts) in AMOUNTS.into_iter().zip([ln, squares]) {
        columns.push(Column::new(name.into(), amounts));
    }
    let [task, scored_task, scored_day] = DISTINCT;
    let scored = |a: &Attempt<'_, K>| a.is_scored();
    columns.push(Column::new(task.into(), attempts.iter().map(|a| a.task).collect::<Vec<_>>()));
    let tasks = attempts.iter().map(|a| scored(a).then_some(a.task)).collect::<Vec<_>>();
    columns.push(Column::new(scored_task.into(), tasks));
    let days = attempts.iter().map(|a| scored(a).then_some(a.day)).collect::<Vec<_>>();
    columns.push(Column::new(scored_day.into(), days));
    columns.push(Column::new(AT.into(), attempts.iter().map(|a| a.at).collect::<Vec<_>>()));
    let [ln, _] = AMOUNTS;
    DataFrame::new(attempts.len(), columns)?.sort([ln], SortMultipleOptions::default())
}

/// One group per distinct key, in no useful order.
#[expect(deprecated, reason = "the lazy engine would add five crates to the build for the same four aggregates")]
fn aggregate<const K: usize>(names: [&str; K], frame: &DataFrame) -> PolarsResult<Vec<Group<K>>> {
    let grouped = frame.group_by_stable(names)?;
    let sums = grouped.clone().select(COUNTS.into_iter().chain(AMOUNTS)).sum()?;
    let distinct = grouped.clone().select(DISTINCT).n_unique()?;
    let first = grouped.clone().select([AT]).min()?;
    let last = grouped.select([AT]).max()?;
    (0..sums.height())
        .map(|row| {
            let mut key = names.map(|_| String::new());
            for (part, name) in key.iter_mut().zip(names) {
                sums.column(name)?.str()?.get(row).unwrap_or_default().clone_into(part);
            }
            let first = whole(&first, "at_min", row)?;
            let last = whole(&last, "at_max", row)?;
            Ok(Group { key, first, last, sums: sums_of(&sums, &distinct, row)? })
        })
        .collect()
}

/// The counts and sums of one group.
fn sums_of(sums: &DataFrame, distinct: &DataFrame, row: usize) -> PolarsResult<Sums> {
    let count = |name: &str| whole(sums, &format!("{name}_sum"), row).map(i64::cast_unsigned);
    let amount = |name: &str| -> PolarsResult<f64> {
        Ok(sums.column(&format!("{name}_sum"))?.f64()?.get(row).unwrap_or_default() + 0.0)
    };
    let [task, scored_task, scored_day] = DISTINCT;
    let (attempts, successes, failures) = (count("attempts")?, count("successes")?, count("failures")?);
    let unscored = u64::from(successes + failures < attempts);
    let values = |name: &str| -> PolarsResult<u64> {
        Ok(distinct.column(&format!("{name}_n_unique"))?.idx()?.get(row).unwrap_or_default().into())
    };
    Ok(Sums {
        attempts,
        successes,
        failures,
        infra: count("infra")?,
        unknown: count("unknown")?,
        immature: count("immature")?,
        tasks: values(task)?,
        scored_tasks: values(scored_task)? - unscored,
        scored_days: values(scored_day)? - unscored,
        sum_ln_duration: amount("ln_duration")?,
        sum_ln_duration_sq: amount("ln_duration_sq")?,
        n_duration: count("n_duration")?,
        cost: Usd::default(),
        n_cost: count("n_cost")?,
    })
}

/// A whole number of one group.
fn whole(frame: &DataFrame, column: &str, row: usize) -> PolarsResult<i64> {
    Ok(frame.column(column)?.i64()?.get(row).expect("a group has at least one row, and its values are never null"))
}

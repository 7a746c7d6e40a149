//! Days that were read before and are not found any more: clients delete their transcripts, we keep the sums.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::table::RollupRow;

/// Responses per day and source.
fn responses(rows: &[RollupRow]) -> BTreeMap<(NaiveDate, String), (u64, u64)> {
    let mut days: BTreeMap<(NaiveDate, String), (u64, u64)> = BTreeMap::new();
    for row in rows {
        let sum = days.entry((row.key.day, row.key.source.clone())).or_default();
        *sum = (sum.0 + row.usage.responses, sum.1 + row.sums.attempts);
    }
    days
}

/// Which days of which source the kept rows know better than the fresh ones: they counted more responses, or more calls
/// of as many.
pub fn better_kept(fresh: &[RollupRow], kept: &[RollupRow]) -> Vec<(NaiveDate, String)> {
    let fresh = responses(fresh);
    let is_better = |(day, count): (&(NaiveDate, String), &(u64, u64))| count > fresh.get(day).unwrap_or(&(0, 0));
    responses(kept).iter().filter(|entry| is_better(*entry)).map(|(day, _)| day.clone()).collect()
}

/// The fresh rows, with those days taken from the kept ones; sorted by key.
pub fn with_kept(fresh: Vec<RollupRow>, kept: Vec<RollupRow>) -> Vec<RollupRow> {
    let better = better_kept(&fresh, &kept);
    let is_better =
        |row: &RollupRow| better.iter().any(|(day, source)| (*day, source) == (row.key.day, &row.key.source));
    let (kept, fresh) = (kept.into_iter().filter(&is_better), fresh.into_iter().filter(|row| !is_better(row)));
    let mut rows: Vec<RollupRow> = kept.chain(fresh).collect();
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    rows
}

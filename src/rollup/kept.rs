//! Days that were read before and are not found any more: clients delete their transcripts, we keep the sums.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::table::RollupRow;

/// Responses per day and source.
fn responses<'a>(rows: impl IntoIterator<Item = &'a RollupRow>) -> BTreeMap<(NaiveDate, &'a str), (u64, u64)> {
    let mut days: BTreeMap<(NaiveDate, &str), (u64, u64)> = BTreeMap::new();
    for row in rows {
        let sum = days.entry((row.key.day, row.key.source.as_str())).or_default();
        *sum = (sum.0 + row.usage.responses, sum.1 + row.sums.attempts);
    }
    days
}

/// Which days of which source the kept rows know better than the fresh ones: they counted more responses, or more calls
/// of as many.
pub fn better_kept<'a>(fresh: impl IntoIterator<Item = &'a RollupRow>, kept: &[RollupRow]) -> Vec<(NaiveDate, String)> {
    if kept.is_empty() {
        return Vec::new();
    }
    let fresh = responses(fresh);
    let kept = responses(kept);
    let better = kept.iter().filter(|(day, count)| *count > fresh.get(*day).unwrap_or(&(0, 0)));
    better.map(|((day, source), _)| (*day, (*source).to_owned())).collect()
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

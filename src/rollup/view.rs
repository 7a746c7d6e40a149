//! Rollup rows and calls seen by a few dimensions, for people.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use super::speed::{Rate, middle};
use super::table::{RollupKey, RollupRow, by_logarithms};
use crate::vocabulary::CallSums;

/// What a view can be by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// UTC day.
    Day,
    /// Pool.
    Pool,
    /// Provider and model.
    Model,
    /// Effort.
    Effort,
    /// Home.
    Home,
    /// Task class.
    Class,
}

impl Dimension {
    /// The columns it shows.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Day => &["day"],
            Self::Pool => &["pool"],
            Self::Model => &["provider", "model"],
            Self::Effort => &["effort"],
            Self::Home => &["home"],
            Self::Class => &["task_class"],
        }
    }

    /// Their values for a key.
    fn values(self, key: &RollupKey) -> Vec<String> {
        match self {
            Self::Day => vec![key.day.to_string()],
            Self::Pool => vec![key.pool.clone()],
            Self::Model => vec![key.provider.clone(), key.model.clone()],
            Self::Effort => vec![key.effort.clone()],
            Self::Home => vec![key.home.clone()],
            Self::Class => vec![key.task_class.clone()],
        }
    }
}

/// One source of a view: a rollup row, and the calls behind it where they are known one by one.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// The row.
    pub row: RollupRow,
    /// The calls.
    pub calls: Option<&'a CallSums>,
    /// Whether the router logged them.
    pub is_routed: bool,
}

/// One line of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Source, mode and the values of the dimensions.
    pub values: Vec<String>,
    /// Everything added up.
    pub row: RollupRow,
    /// Effective speed; `None` when not every timed response is known one by one.
    pub effective: Option<Rate>,
    /// Speed behind the first token.
    pub decode: Option<Rate>,
    /// Median seconds to the first token, and how many.
    pub first_token_s: Option<(f64, usize)>,
}

/// A view.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Names of the values of a line.
    pub columns: Vec<&'static str>,
    /// Lines, sorted by their values.
    pub lines: Vec<Line>,
}

/// What a line is made of.
#[derive(Default)]
struct Heap {
    /// The row so far.
    row: Option<RollupRow>,
    /// The calls so far.
    calls: CallSums,
}

/// The parts between two days, by some dimensions. Source and mode are never mixed.
pub fn view(parts: &[Part<'_>], by: &[Dimension], since: Option<NaiveDate>, until: Option<NaiveDate>) -> View {
    let dimensions: BTreeSet<Dimension> = by.iter().copied().collect();
    let columns = ["source"].into_iter().chain(dimensions.iter().flat_map(|by| by.columns()).copied());
    let columns = columns.chain(["mode"]).collect();
    let is_meant = |day: NaiveDate| since.is_none_or(|since| day >= since) && until.is_none_or(|until| day <= until);
    let mut heaps: BTreeMap<Vec<String>, Heap> = BTreeMap::new();
    let mut parts: Vec<&Part<'_>> = parts.iter().filter(|part| is_meant(part.row.key.day)).collect();
    parts.sort_by(|a, b| by_logarithms(&a.row, &b.row));
    for part in parts {
        let key = &part.row.key;
        let mut values = vec![key.source.clone()];
        values.extend(dimensions.iter().flat_map(|by| by.values(key)));
        values.push(key.mode.clone());
        let heap = heaps.entry(values).or_default();
        match &mut heap.row {
            Some(row) => row.add(&part.row),
            None => heap.row = Some(part.row.clone()),
        }
        if let Some(calls) = part.calls {
            heap.calls.add(calls);
        }
    }
    let lines = heaps.into_iter().filter_map(|(values, heap)| line(values, heap)).collect();
    View { columns, lines }
}

/// One line.
#[expect(clippy::cast_precision_loss, reason = "milliseconds fit an f64 exactly")]
fn line(values: Vec<String>, heap: Heap) -> Option<Line> {
    let row = heap.row?;
    let mut first: Vec<f64> = heap.calls.first_token_ms.iter().map(|ms| *ms as f64 / 1000.0).collect();
    first.sort_by(f64::total_cmp);
    let is_whole = heap.calls.timed.len() as u64 == row.usage.n_speed;
    Some(Line {
        values,
        effective: Rate::of(&heap.calls.timed).filter(|_| is_whole),
        decode: Rate::of(&heap.calls.decoded),
        first_token_s: (!first.is_empty()).then(|| (middle(&first), first.len())),
        row,
    })
}

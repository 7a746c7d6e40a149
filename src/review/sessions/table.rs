//! Session evidence put to its pools and priced: what the table, the history and the evidence of a review are made of.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::tariffs::{Tariffs, Unpriced};
use super::{Stated, Stores, UNRECORDED};
use crate::evidence::calls::{Holder, Pools, Way};
use crate::identity::Identity;
use crate::review::gather::Gathered;
use crate::review::pools;
use crate::ring::Catalogue;
use crate::rollup::{Part, Priced, RollupKey, RollupRow, better_kept, merge, of_call, with_kept, with_sitter};
use crate::settings::Settings;
use crate::vocabulary::{CallKey, CallRow, Charge, ScorecardRow, StatedPool, StoreKind};

/// What the pools of the fleet hold today.
pub fn holders(gathered: &Gathered, settings: &Settings, now: DateTime<Utc>) -> Vec<Holder> {
    let catalogue = Catalogue::of_offers(&gathered.offers);
    let planned = pools::plan(gathered, settings, Some(&catalogue), now.timestamp_millis());
    let rings = planned.iter().filter(|planned| !planned.is_single).filter_map(|planned| planned.ring.as_ref().ok());
    rings
        .flat_map(|ring| {
            ring.members().iter().map(|member| Holder {
                pool: ring.pool().to_string(),
                provider: member.target.provider.to_string(),
                model: member.key.model.clone(),
                effort: member.key.effort.clone(),
            })
        })
        .collect()
}

/// Session evidence put to its pools and priced: what the table and the history are made of.
pub struct Table<'a> {
    /// One part per call row, scorecard row, babysitter row and row of another engine; days the history knows better
    /// are taken from there.
    pub parts: Vec<Part<'a>>,
    /// Responses by the way their pool was found.
    pub ways: BTreeMap<Way, u64>,
    /// What to say.
    pub remarks: Vec<String>,
}

/// Everything a table is made from.
pub struct Ingredients<'a> {
    /// Names.
    pub identity: &'a Identity,
    /// Scorecards.
    pub cards: &'a [ScorecardRow],
    /// Scorecards whatever their age: they say what a session was about.
    pub all_cards: &'a [ScorecardRow],
    /// Stores, babysitter log, other engines.
    pub stores: &'a Stores,
    /// What the pools hold.
    pub holders: Vec<Holder>,
    /// List prices.
    pub prices: Tariffs,
    /// Days kept from earlier runs.
    pub kept: Vec<RollupRow>,
    /// The instant of the run.
    pub now: DateTime<Utc>,
    /// Attempts younger than this are immature.
    pub mature_hours: f64,
}

impl<'a> Ingredients<'a> {
    /// The table.
    pub fn table(self) -> Table<'a> {
        let stated = Stated::of(self.all_cards, &self.stores.sitter);
        let pools = Pools::new(self.identity, self.holders.iter().cloned(), &stated.pools);
        let mut parts: Vec<Part<'a>> = Vec::new();
        let mut unpriced: BTreeSet<String> = BTreeSet::new();
        let mut all = BTreeMap::new();
        for row in self.stores.calls() {
            let prices = self.prices.price(&pools, row, self.now);
            unpriced.extend(prices.as_ref().err().filter(|_| row.sums.responses > 0).and_then(|why| said(row, why)));
            let (pool, way) = pools.of(&row.key);
            *all.entry(way).or_default() += row.sums.responses;
            let mut whole = of_call(&Priced { row, pool, prices: prices.ok() }, self.now);
            stated.settle(&row.key.session, &mut whole);
            let is_routed = matches!(row.key.stated, StatedPool::Attempt(_));
            parts.push(Part { row: whole, calls: Some(&row.sums), is_routed });
        }
        for row in &self.stores.external {
            let (row, way) = settled(row, &pools);
            *all.entry(way).or_default() += row.usage.responses;
            parts.push(Part { row, calls: None, is_routed: false });
        }
        let mut remarks = self.stores.remarks();
        remarks.extend(twice(&parts));
        remarks.extend(stated.remarks());
        let better: BTreeSet<_> = better_kept(parts.iter().map(|part| &part.row), &self.kept).into_iter().collect();
        remarks.extend(oldest(&parts, &better));
        parts.retain(|part| !better.contains(&(part.row.key.day, part.row.key.source.clone())));
        let kept = self.kept.iter().filter(|row| better.contains(&(row.key.day, row.key.source.clone())));
        parts.extend(kept.map(|row| Part { row: row.clone(), calls: None, is_routed: false }));
        parts.extend(self.attempts().into_iter().map(|row| Part { row, calls: None, is_routed: false }));
        remarks.extend(
            (!unpriced.is_empty())
                .then(|| format!("no price for {}", unpriced.into_iter().collect::<Vec<_>>().join(", "))),
        );
        Table { parts, ways: all, remarks }
    }

    /// Rows of scorecards and the babysitter log.
    fn attempts(&self) -> Vec<RollupRow> {
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let mature = Duration::try_seconds((self.mature_hours * 3600.0) as i64).unwrap_or_default();
        with_sitter(self.cards, &self.stores.sitter, self.now - mature)
    }
}

/// The days of session stores to keep: those that were read for a table, also from the database of a gateway, and those that the
/// history knows better. What another engine summed up is in its own file.
pub fn days(table: &Table<'_>, settings: &Settings, kept: Vec<RollupRow>) -> Vec<RollupRow> {
    let of_database = |part: &Part<'_>| part.row.key.source == StoreKind::Litellm.as_str();
    let has_database = settings.data.spend_logs.is_some();
    let read = table.parts.iter().filter(|part| part.calls.is_some() || (has_database && of_database(part)));
    with_kept(merge(read.map(|part| part.row.clone())), kept)
}

/// The kept days of stores that the settings still name. Those of a store that was taken out stay in the history and count for nothing.
pub fn still_named(kept: Vec<RollupRow>, settings: &Settings) -> Vec<RollupRow> {
    let mut named: BTreeSet<&str> = settings.data.session_stores.iter().map(|store| store.kind.as_str()).collect();
    named.extend(settings.data.spend_logs.is_some().then_some(StoreKind::Litellm.as_str()));
    kept.into_iter().filter(|row| named.contains(row.key.source.as_str())).collect()
}

/// A row of another engine with its pool: the one it states, as a gateway names it, else the only one that holds the member.
fn settled(row: &RollupRow, pools: &Pools<'_>) -> (RollupRow, Way) {
    let RollupKey { pool, provider, model, effort, .. } = row.key.clone();
    let key = CallKey {
        source: StoreKind::Litellm,
        day: Some(row.key.day),
        session: String::new(),
        stated: if pool.is_empty() { StatedPool::Nothing } else { StatedPool::Session(pool) },
        provider,
        model,
        effort: Some(effort).filter(|effort| effort != UNRECORDED),
        is_fast: row.key.mode == "fast",
        home: row.key.home.clone(),
        task_class: row.key.task_class.clone(),
        charge: Charge::default(),
    };
    let (pool, way) = pools.of(&key);
    let key = RollupKey { pool: pool.unwrap_or_default(), ..row.key.clone() };
    (RollupRow { key, ..row.clone() }, way)
}

/// A model that has no price, by name, and what of it has none; nothing where the store's own remarks say it.
fn said(row: &CallRow, why: &Unpriced) -> Option<String> {
    let CallKey { source, provider, model, .. } = &row.key;
    let name =
        if provider.is_empty() { format!("{model} of an unknown provider") } else { format!("{provider}/{model}") };
    match why {
        Unpriced::NoPrice(None) => Some(name),
        Unpriced::NoPrice(Some(part)) => Some(format!("{name} ({part})")),
        Unpriced::WriteUnknown if *source != StoreKind::ClaudeCode => {
            Some(format!("{name} (written to cache for an unknown time)"))
        }
        Unpriced::WriteUnknown | Unpriced::Billed => None,
    }
}

/// Whether a rollup speaks of sources and days that a store holds, too: right for another machine, and double for this one.
fn twice(parts: &[Part<'_>]) -> Option<String> {
    let day = |part: &Part<'_>| (part.row.key.day, part.row.key.source.clone());
    let (read, given): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.calls.is_some());
    let read: BTreeSet<_> = read.into_iter().map(day).collect();
    let count = given.into_iter().filter(|part| read.contains(&day(part))).count();
    (count > 0).then(|| {
        format!(
            "{count} rollup rows are of sources and days that the stores hold, too: they add up, as is right for another machine; \
             a rollup of these very stores would count twice"
        )
    })
}

/// How far the stores reach back, and how many days come from the history.
fn oldest(fresh: &[Part<'_>], better: &BTreeSet<(chrono::NaiveDate, String)>) -> Vec<String> {
    let first = fresh.iter().map(|part| &part.row).filter(|row| row.usage.responses > 0).map(|row| row.key.day).min();
    let mut remarks: Vec<String> =
        first.map(|day| format!("the stores hold nothing older than {day}")).into_iter().collect();
    if !better.is_empty() {
        let days: BTreeSet<_> = better.iter().map(|(day, _)| day).collect();
        remarks.push(format!("{} days come from the history: the stores no longer hold all of them", days.len()));
    }
    remarks
}

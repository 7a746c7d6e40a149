//! Scorecards and the babysitter log as rows of the rollup table.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike as _, Utc};

use super::frame::{self, Attempt, Group};
use super::table::{RollupKey, RollupRow, Usage};
use crate::vocabulary::{Effort, ScorecardRow, SitterEvent, SitterRow, Usd};

/// The rollup table of scorecards, sorted by its key. Attempts that ended after `mature_until` are immature.
pub fn daily(rows: &[ScorecardRow], mature_until: DateTime<Utc>) -> Vec<RollupRow> {
    let days: Vec<_> = rows.iter().map(|row| row.finished_at.date_naive().to_string()).collect();
    let attempts: Vec<_> = rows.iter().zip(&days).map(|(row, day)| attempt(row, day, mature_until)).collect();
    let names = ["day", "pool", "provider", "model", "effort", "home", "task_class", "epoch"];
    let mut table: Vec<RollupRow> = frame::group(names, &attempts)
        .into_iter()
        .map(|Group { key, first, last, sums }| {
            let (first_at, last_at) = (instant(first), instant(last));
            let [_, pool, provider, model, effort, home, task_class, epoch] = key;
            let day = first_at.date_naive();
            let (mode, source) = ("standard".to_owned(), "scorecards".to_owned());
            let key = RollupKey { day, pool, provider, model, effort, mode, home, task_class, epoch, source };
            RollupRow { key, first_at, last_at, sums, usage: Usage::default() }
        })
        .collect();
    for row in rows {
        let key = key_of(row);
        let at = table.binary_search_by(|known| order(&known.key).cmp(&order(&key)));
        let RollupRow { sums, usage, .. } = &mut table[at.expect("every row is in a group")];
        if let Some(cost) = row.cost_usd.filter(|_| row.finished_at <= mature_until).map(Usd::of) {
            sums.cost.add(cost);
            usage.cost_squares.add(cost.squared());
        }
        for (sum, count) in [
            &mut usage.input_tokens,
            &mut usage.cache_read_tokens,
            &mut usage.cache_write_tokens,
            &mut usage.output_tokens,
        ]
        .into_iter()
        .zip(row.tokens)
        {
            *sum = sum.saturating_add(count.unwrap_or(0));
        }
    }
    table
}

/// The order of the groups.
fn order(key: &RollupKey) -> (String, [&str; 7]) {
    let rest = [&key.pool, &key.provider, &key.model, &key.effort, &key.home, &key.task_class, &key.epoch];
    (key.day.to_string(), rest.map(String::as_str))
}

/// The rollup table of scorecards and the babysitter log: events of a session with a scorecard stand in its row; a session
/// that was ended without one is a failed attempt of its own (reference sessions §6).
pub fn with_sitter(cards: &[ScorecardRow], events: &[SitterRow], mature_until: DateTime<Utc>) -> Vec<RollupRow> {
    let mut table = daily(cards, mature_until);
    let sessions: BTreeMap<&str, &ScorecardRow> =
        cards.iter().filter_map(|card| Some((card.session_id.as_deref()?, card))).collect();
    let mut own: BTreeMap<RollupKey, (RollupRow, BTreeSet<&str>)> = BTreeMap::new();
    let ended: BTreeMap<&str, &SitterRow> =
        events.iter().filter(|event| event.event.ends()).map(|event| (event.session_id.as_str(), event)).collect();
    for event in events {
        let usage = if let Some(card) = sessions.get(event.session_id.as_str()) {
            let key = key_of(card);
            let row = table.iter_mut().find(|row| row.key == key).expect("every row is in a group");
            &mut row.usage
        } else {
            let last = ended.get(event.session_id.as_str()).unwrap_or(&event);
            let key = sitter_key(last);
            let (row, tasks) =
                own.entry(key.clone()).or_insert_with(|| (RollupRow::empty(key, event.at), BTreeSet::new()));
            (row.first_at, row.last_at) = (row.first_at.min(event.at), row.last_at.max(event.at));
            if std::ptr::eq(*last, event) && event.event.ends() {
                ends(row, event.at > mature_until);
                tasks.insert(event.task_id.as_deref().unwrap_or(&event.session_id));
            }
            &mut row.usage
        };
        match event.event {
            SitterEvent::Stall => usage.stalls += 1,
            SitterEvent::Restart => usage.retries += 1,
            SitterEvent::Kill | SitterEvent::Timeout => usage.kills += 1,
            SitterEvent::Nudge | SitterEvent::Loop | SitterEvent::Recovered => {}
        }
    }
    table.extend(own.into_values().map(|(mut row, tasks)| {
        row.sums.tasks = tasks.len() as u64;
        row.sums.scored_tasks = if row.sums.failures > 0 { tasks.len() as u64 } else { 0 };
        row.sums.scored_days = u64::from(row.sums.failures > 0);
        row
    }));
    table.sort_by(|a, b| a.key.cmp(&b.key));
    table
}

/// Counts a session that was ended: a failure once it is mature.
fn ends(row: &mut RollupRow, is_immature: bool) {
    row.sums.attempts += 1;
    if is_immature {
        row.sums.immature += 1;
    } else {
        row.sums.failures += 1;
    }
}

/// The key of an event without a scorecard.
fn sitter_key(event: &SitterRow) -> RollupKey {
    RollupKey {
        day: event.at.date_naive(),
        pool: event.pool.as_ref().map_or_else(String::new, ToString::to_string),
        provider: event.provider.to_string(),
        model: event.model.clone(),
        effort: event.effort.as_ref().map_or("unrecorded", Effort::as_str).to_owned(),
        mode: "standard".to_owned(),
        home: String::new(),
        task_class: "unclassified".to_owned(),
        epoch: String::new(),
        source: "babysitter".to_owned(),
    }
}

/// The key of a scorecard row.
fn key_of(row: &ScorecardRow) -> RollupKey {
    RollupKey {
        day: row.finished_at.date_naive(),
        pool: row.pool.as_ref().map_or_else(String::new, ToString::to_string),
        provider: row.provider.to_string(),
        model: row.model.clone(),
        effort: row.effort.as_ref().map_or("unrecorded", Effort::as_str).to_owned(),
        mode: "standard".to_owned(),
        home: row.home.as_ref().map_or_else(String::new, ToString::to_string),
        task_class: row.task_class.clone(),
        epoch: row.epoch.clone(),
        source: "scorecards".to_owned(),
    }
}

/// An attempt from a scorecard row; its time is its end in microseconds.
fn attempt<'a>(row: &'a ScorecardRow, day: &'a str, mature_until: DateTime<Utc>) -> Attempt<'a, 8> {
    Attempt {
        key: [
            day,
            row.pool.as_ref().map_or("", |pool| pool.as_str()),
            row.provider.as_str(),
            &row.model,
            row.effort.as_ref().map_or("unrecorded", |effort| effort.as_str()),
            row.home.as_ref().map_or("", |home| home.as_str()),
            &row.task_class,
            &row.epoch,
        ],
        task: &row.task_id,
        day: row.finished_at.num_days_from_ce(),
        at: row.finished_at.timestamp_micros(),
        outcome: (row.finished_at <= mature_until).then_some(row.outcome),
        duration_s: row.duration_s,
        is_priced: row.cost_usd.is_some(),
    }
}

/// The instant of a count of microseconds.
fn instant(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros).expect("the number came from an instant")
}

//! Model calls of session evidence as the checks take them: what each source saw of each member on each day.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, NaiveDate, NaiveTime, Utc};

use super::{Stores, UNRECORDED};
use crate::rollup::{Part, RollupKey, RollupRow};
use crate::settings::Settings;
use crate::vocabulary::{
    CallCounts, CallRow, CallSource, Digest, Effort, HomeId, PoolId, ProviderId, RoutedCalls, SourceId, SourceNote,
    SourceState, StatedPool, StoreKind, UsageRow,
};

/// Sources whose rows are attempts at tasks, not calls.
const OF_TASKS: [&str; 2] = ["scorecards", "babysitter"];

/// The calls of some parts, one row per source, day, pool and member, sorted. Rows of task attempts give their stalls only:
/// attempts and calls are never added.
pub(super) fn usage(parts: &[Part<'_>]) -> Vec<UsageRow> {
    let of_tasks = task_sources(parts.iter().map(|part| &part.row));
    let mut sums: BTreeMap<(CallSource, NaiveDate, [&str; 5]), CallCounts> = BTreeMap::new();
    for part in parts {
        let key @ RollupKey { day, pool, provider, model, effort, home, .. } = &part.row.key;
        let is_calls = !of_tasks.contains(key.source.as_str());
        let counts = if is_calls { counts(&part.row) } else { stalls(&part.row) };
        if counts == CallCounts::default() {
            continue;
        }
        let source = if part.is_routed { CallSource::RouteAttempt } else { CallSource::named(&key.source) };
        sums.entry((source, *day, [pool, provider, model, effort, home].map(String::as_str))).or_default().add(&counts);
    }
    sums.into_iter().map(|((source, day, member), counts)| row(source, day, member, counts)).collect()
}

/// One row.
fn row(
    source: CallSource,
    day: NaiveDate,
    [pool, provider, model, effort, home]: [&str; 5],
    counts: CallCounts,
) -> UsageRow {
    UsageRow {
        source,
        day,
        pool: (!pool.is_empty()).then(|| PoolId::new(pool)),
        provider: ProviderId::new(provider),
        model: model.to_owned(),
        effort: (effort != UNRECORDED).then(|| Effort::new(effort.to_lowercase())),
        home: (!home.is_empty()).then(|| HomeId::new(home)),
        counts,
    }
}

/// The sources that speak of task attempts: our own tables of them, and engines that say what became of tasks.
fn task_sources<'a>(rows: impl Iterator<Item = &'a RollupRow>) -> BTreeSet<&'a str> {
    let is_of_tasks = |row: &&RollupRow| {
        let (source, sums) = (row.key.source.as_str(), &row.sums);
        let is_store = StoreKind::ALL.iter().any(|kind| kind.as_str() == source);
        OF_TASKS.contains(&source) || (!is_store && sums.successes + sums.failures + sums.immature + sums.tasks > 0)
    };
    rows.filter(is_of_tasks).map(|row| row.key.source.as_str()).collect()
}

/// The counts of a row of calls.
fn counts(row: &RollupRow) -> CallCounts {
    let (sums, usage) = (&row.sums, &row.usage);
    CallCounts {
        calls: sums.attempts,
        infra: sums.infra.min(sums.attempts),
        responses: usage.responses,
        incomplete: usage.output_incomplete,
        tokens: [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens],
        cost: sums.cost,
        n_cost: sums.n_cost.min(usage.responses),
        retries: usage.retries,
        quota_hits: usage.quota_hits,
        stalls: usage.stalls,
    }
}

/// The stalls of a row of task attempts.
fn stalls(row: &RollupRow) -> CallCounts {
    CallCounts { stalls: row.usage.stalls, ..CallCounts::default() }
}

/// The calls that the router logged for a pool.
pub(super) fn routed(stores: &Stores) -> Vec<RoutedCalls> {
    let of_row = |row: &CallRow| {
        let (StatedPool::Attempt(Some(pool)), Some(span)) = (&row.key.stated, row.sums.span) else { return None };
        let failed = row.sums.failures.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        Some(RoutedCalls {
            pool: PoolId::new(pool.as_str()),
            provider: ProviderId::new(row.key.provider.as_str()),
            model: row.key.model.clone(),
            effort: row.key.effort.as_ref().map(|effort| Effort::new(effort.to_lowercase())),
            span,
            calls: row.sums.calls,
            answered: row.sums.calls.saturating_sub(failed.saturating_add(row.sums.blameless)),
        })
    };
    stores.calls().filter_map(of_row).collect()
}

/// When the last call of a row was: a row that states no time was seen until its day ended, or until now.
pub(in crate::review) fn seen_at(row: &RollupRow, now: DateTime<Utc>) -> DateTime<Utc> {
    let midnight = row.key.day.and_time(NaiveTime::MIN).and_utc();
    if row.last_at == midnight { (midnight + Duration::days(1)).min(now) } else { row.last_at }
}

/// How many rows of another engine speak of task attempts: without the attempts themselves nothing can be estimated from them.
pub(super) fn of_tasks(rows: &[RollupRow]) -> Option<String> {
    let sources = task_sources(rows.iter());
    let count = rows.iter().filter(|row| sources.contains(row.key.source.as_str())).count();
    (count > 0).then(|| {
        format!("{count} rollup rows are of task attempts: estimates need the attempts, so they are only shown")
    })
}

/// How the reading of the stores went. One of which nothing could be read fails them all: it may hold what the others do not.
/// Stores without a call are fresh: nothing in them can be old.
pub(super) fn note(
    stores: &Stores,
    parts: &[Part<'_>],
    usage: &[UsageRow],
    settings: &Settings,
    now: DateTime<Utc>,
) -> SourceNote {
    let lost = stores.lost();
    let state = if lost.is_empty() { SourceState::Fresh } else { SourceState::Failed(lost.join("; ")) };
    let mut note = SourceNote::new(SourceId::SessionStores, state);
    let of_tasks = task_sources(parts.iter().map(|part| &part.row));
    let is_called = |part: &&Part<'_>| part.row.sums.attempts > 0 && !of_tasks.contains(part.row.key.source.as_str());
    let of_calls = parts.iter().filter(is_called);
    note.as_of = of_calls.map(|part| seen_at(&part.row, now)).filter(|at| *at <= now).max();
    note.rows = usage.iter().map(|row| row.counts.calls).sum();
    note.used = note.rows;
    note.max_age_hours = Some(settings.max_age_hours.sessions);
    if note.rows > 0 {
        note.settle_age(now, settings.max_age_hours.sessions);
        note.digest = Some(digest(usage));
    }
    if is_old(&note, now) {
        note.used = 0;
    }
    note
}

/// Whether the calls are too old to be used, whatever else is wrong.
pub(super) fn is_old(note: &SourceNote, now: DateTime<Utc>) -> bool {
    note.rows > 0 && note.age_hours(now).is_none_or(|age| note.max_age_hours.is_some_and(|most| age > most))
}

/// A digest of what was counted: the stores themselves are too large to be named by their bytes.
fn digest(usage: &[UsageRow]) -> Digest {
    let line = |row: &UsageRow| {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let of = [
            row.source.as_str().to_owned(),
            row.day.to_string(),
            text(row.pool.as_ref().map(PoolId::as_str)),
            row.provider.to_string(),
            row.model.clone(),
            text(row.effort.as_ref().map(Effort::as_str)),
            text(row.home.as_ref().map(HomeId::as_str)),
        ];
        let CallCounts { calls, infra, responses, incomplete, tokens, cost, n_cost, .. } = row.counts;
        let [input, read, write, output] = tokens;
        let counts = [calls, infra, responses, incomplete, input, read, write, output, cost.to_f64().to_bits(), n_cost];
        format!("{}\t{}", of.join("\t"), counts.map(|count| count.to_string()).join("\t"))
    };
    let rows: Vec<String> = usage.iter().map(line).collect();
    Digest::of(rows.join("\n").as_bytes())
}

//! What session evidence adds to a review.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, Utc};

use super::table::{Ingredients, days, holders, still_named};
use super::tariffs::Tariffs;
use super::{Stores, usage};
use crate::review::gather::Gathered;
use crate::review::limits::add_limits;
use crate::review::speeds::{meaning, speeds};
use crate::rollup::RollupRow;
use crate::settings::Settings;
use crate::vocabulary::{
    CallSource, ModelId, Outcome, ProviderId, Quantity, ScorecardRow, SitterEvent, SitterRow, SourceId, SourceNote,
    SourceState, SpeedRow, StoreKind, UsageRow,
};

/// What session evidence adds to a review: calls, measured speeds, tokens of attempts whose session is known, failures of
/// sessions that were ended without a scorecard, and limits. Returns the days to keep.
pub fn join(
    workspace: &Path,
    gathered: &mut Gathered,
    stores: &Stores,
    settings: &Settings,
    kept: Vec<RollupRow>,
    now: DateTime<Utc>,
) -> Vec<RollupRow> {
    let ingredients = Ingredients {
        identity: &gathered.identity,
        cards: &gathered.cards,
        all_cards: gathered.all_cards(),
        stores,
        holders: holders(gathered, settings, now),
        prices: Tariffs::of(gathered),
        kept: still_named(kept.clone(), settings),
        now,
        mature_hours: settings.thresholds.rows.mature_hours,
    };
    let table = ingredients.table();
    let (speeds, summed) = speeds(&table.parts, &gathered.identity, settings, now);
    let usage = usage::usage(&table.parts);
    let note = usage::note(stores, &table.parts, &usage, settings, now);
    let days = days(&table, settings, kept);
    let mut remarks = table.remarks;
    remarks.extend((!table.ways.is_empty()).then(|| {
        let ways: Vec<String> = table.ways.iter().map(|(way, count)| format!("{} {count}", way.as_str())).collect();
        format!("pools of responses found by: {}", ways.join(", "))
    }));
    remarks.extend((summed > 0).then(|| format!("{summed} speeds stand on rollup rows alone: they have no interval")));
    remarks.extend(usage::of_tasks(&stores.external));
    add_speeds(gathered, speeds, settings, now);
    remarks.extend(add_tokens(gathered, stores));
    add_kills(gathered, &stores.sitter);
    add_limits(workspace, gathered, stores, settings, now);
    let has_router_log = settings.data.session_stores.iter().any(|store| store.kind == StoreKind::Opencode);
    add_calls(gathered, (note, usage), (stores, has_router_log), remarks, now);
    days
}

/// Adds the calls with their note, and what there is to say of the stores. Without any store that is said of the scorecards,
/// whose company the babysitter log is.
fn add_calls(
    gathered: &mut Gathered,
    (mut note, usage): (SourceNote, Vec<UsageRow>),
    (stores, has_router_log): (&Stores, bool),
    mut remarks: Vec<String>,
    now: DateTime<Utc>,
) {
    let place = gathered.notes.iter().position(|note| note.source == SourceId::Sessions);
    if !usage::is_old(&note, now) {
        gathered.usage = usage;
    }
    if !stores.hold_calls() {
        if let Some(place) = place {
            gathered.notes[place].remarks.append(&mut remarks);
        }
        return;
    }
    gathered.routed = has_router_log.then(|| usage::routed(stores));
    note.remarks = remarks;
    gathered.notes.insert(place.map_or(gathered.notes.len(), |place| place + 1), note);
}

/// Adds measured speeds. Where our sessions know a member, the speeds file is not asked (reference sessions §7.7).
fn add_speeds(gathered: &mut Gathered, rows: Vec<SpeedRow>, settings: &Settings, now: DateTime<Utc>) {
    let Some(newest) = rows.iter().map(|row| row.measured_at).max() else { return };
    let identity = &gathered.identity;
    let meant = |row: &SpeedRow| meaning(identity, row.provider.as_str(), &row.model);
    let member = |row: &SpeedRow| (row.provider.clone(), meant(row), row.effort.clone());
    let known: BTreeSet<_> = rows.iter().map(member).collect();
    let before = gathered.speeds.len();
    gathered.speeds.retain(|row| !known.contains(&member(row)));
    let dropped = before - gathered.speeds.len();
    let count = rows.len() as u64;
    let Some(note) = gathered.notes.iter_mut().find(|note| note.source == SourceId::Speeds) else { return };
    note.remarks
        .push(format!("{count} speeds measured in session stores; {dropped} rows of the file give way to them"));
    if note.state == SourceState::NotConfigured {
        note.state = SourceState::Fresh;
        note.as_of = Some(newest);
        (note.rows, note.used) = (count, count);
        note.settle_age(now, settings.max_age_hours.speeds);
    }
    if note.is_usable() {
        gathered.speeds.extend(rows);
    }
}

/// The tokens of one session and model, by the first source that has them.
#[derive(Clone, Copy)]
struct SessionTokens {
    /// Place of the source.
    rank: u8,
    /// Uncached input, cache read, cache write, output.
    tokens: [u64; 4],
    /// Whether some output is a lower bound.
    is_incomplete: bool,
}

/// Gives attempts that state no tokens those of their session, as its store counted them: of the attempt's own model, where
/// the session is that of one attempt alone and every output is final. What a store does not know stays unknown.
fn add_tokens(gathered: &mut Gathered, stores: &Stores) -> Option<String> {
    let mut named: BTreeMap<&str, u64> = BTreeMap::new();
    for session in gathered.cards.iter().filter_map(|card| card.session_id.as_deref()) {
        *named.entry(session).or_default() += 1;
    }
    let mut known: BTreeMap<(String, ModelId), SessionTokens> = BTreeMap::new();
    for row in stores.calls().filter(|row| row.sums.responses > 0 && named.get(row.key.session.as_str()) == Some(&1)) {
        let provider = ProviderId::new(row.key.provider.as_str());
        let Some(model) = gathered.identity.offer(&provider, &row.key.model).model().cloned() else { continue };
        let (rank, sums) = (CallSource::of(row.key.source).rank(Quantity::Tokens), &row.sums);
        let none = SessionTokens { rank, tokens: [0; 4], is_incomplete: false };
        let found = known.entry((row.key.session.clone(), model)).or_insert(none);
        if rank < found.rank {
            *found = none;
        }
        if rank == found.rank {
            let more = [sums.input_tokens, sums.cache_read_tokens, sums.cache_write_tokens, sums.output_tokens];
            for (sum, more) in found.tokens.iter_mut().zip(more) {
                *sum = sum.saturating_add(more);
            }
            found.is_incomplete |= sums.output_incomplete > 0;
        }
    }
    let mut joined = 0;
    for card in gathered.cards.iter_mut().filter(|card| card.tokens.iter().all(Option::is_none)) {
        let model = gathered.identity.offer(&card.provider, &card.model).model().cloned();
        let Some(key) = card.session_id.clone().zip(model) else { continue };
        if let Some(found) = known.get(&key).filter(|found| !found.is_incomplete) {
            card.tokens = found.tokens.map(Some);
            joined += 1;
        }
    }
    (joined > 0).then(|| format!("{joined} attempts that state no tokens have those of their session"))
}

/// Adds a failure for every session that was ended without a scorecard. Without scorecards there is no rate to add to: kills
/// alone would say that nothing ever succeeds.
fn add_kills(gathered: &mut Gathered, sitter: &[SitterRow]) {
    if gathered.cards.is_empty() {
        return;
    }
    let scored: BTreeSet<&str> = gathered.cards.iter().filter_map(|card| card.session_id.as_deref()).collect();
    let ended: BTreeMap<&str, &SitterRow> = sitter
        .iter()
        .filter(|event| event.event.ends() && !scored.contains(event.session_id.as_str()))
        .map(|event| (event.session_id.as_str(), event))
        .collect();
    let failure = |event: &&SitterRow| ScorecardRow {
        is_cut_off: event.event == SitterEvent::Timeout,
        judged: None,
        task_id: event.task_id.clone().unwrap_or_else(|| format!("session {}", event.session_id)),
        attempt: 1,
        finished_at: event.at,
        pool: event.pool.clone(),
        provider: event.provider.clone(),
        model: event.model.clone(),
        effort: event.effort.clone(),
        home: None,
        task_class: "unclassified".to_owned(),
        outcome: Outcome::Failure,
        duration_s: None,
        cost_usd: None,
        session_id: Some(event.session_id.clone()),
        epoch: String::new(),
        tokens: [None; 4],
        place: event.place.clone(),
    };
    let failures: Vec<ScorecardRow> = ended.values().map(failure).collect();
    if failures.is_empty() {
        return;
    }
    if let Some(note) = gathered.notes.iter_mut().find(|note| note.source == SourceId::Sessions) {
        note.remarks.push(format!("{} sessions were ended without a scorecard: failures", failures.len()));
    }
    gathered.cards.extend(failures);
}

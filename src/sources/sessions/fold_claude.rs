//! All Claude Code files of a store together: every response once, whatever files repeat it.

use std::collections::HashSet;

use super::claude_code::{ClaudeFile, Failure, MarkKind, NO_TIME, Sighting};
use super::groups::{Call, Groups, timed};
use super::names::{Id, Names};
use super::{StoreNotes, StoreSpec};
use crate::vocabulary::{StoreEvents, used};

/// Numbers of a file's names in the groups.
pub(super) fn translate(file: &Names, groups: &mut Groups<'_>) -> Vec<u32> {
    file.iter().map(|name| if name.is_empty() { 0 } else { groups.names.number(name) }).collect()
}

/// Counts every response and event once. Files are in the order of the walk.
pub(super) fn fold(
    files: &[&ClaudeFile],
    spec: &StoreSpec,
    groups: &mut Groups<'_>,
    events: &mut StoreEvents,
    notes: &mut StoreNotes,
) {
    let maps: Vec<Vec<u32>> = files.iter().map(|file| translate(&file.names, groups)).collect();
    let provider = groups.names.optional(spec.provider.as_deref());
    let gateway = groups.names.optional(spec.gateway.as_deref());
    for run in responses(files).chunk_by(|a, b| a.0 == b.0) {
        respond(run, files, &maps, [provider, gateway], groups, notes);
    }
    let mut seen: HashSet<Id> = HashSet::new();
    for (file, map) in files.iter().zip(&maps) {
        for mark in &file.marks {
            if mark.uuid.is_some_and(|uuid| !seen.insert(uuid)) {
                continue;
            }
            let call = Call {
                at: mark.at,
                session: groups.joined_session(map[mark.session as usize]),
                provider,
                model: map[mark.model as usize],
                effort: map[mark.effort as usize],
                folder: map[mark.folder as usize],
                ..Call::default()
            };
            match mark.kind {
                MarkKind::Nothing => {}
                MarkKind::Task => events.tasks += 1,
                MarkKind::Retry => {
                    events.retries += 1;
                    groups.sums(&call).retries += 1;
                }
                MarkKind::Failed(failure) => failed(failure, &call, groups, events),
            }
        }
    }
}

/// Counts a call that failed for good.
pub(super) fn failed(failure: Failure, call: &Call, groups: &mut Groups<'_>, events: &mut StoreEvents) {
    let is_quota = failure == Failure::Quota;
    events.api_errors += 1;
    events.quota_hits += u64::from(is_quota);
    let sums = groups.sums(call);
    sums.calls += 1;
    sums.infra += u64::from(failure != Failure::Other);
    sums.quota_hits += u64::from(is_quota);
    *sums.failures.entry(failure.as_str()).or_default() += 1;
}

/// Every sighting by response; of one response main files go first, then the order of the walk.
fn responses(files: &[&ClaudeFile]) -> Vec<(Id, bool, u32, u32)> {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let mut all: Vec<_> = files
        .iter()
        .enumerate()
        .flat_map(|(file, state)| {
            state.sightings.iter().enumerate().map(move |(at, s)| (s.id, s.is_side, small(file), small(at)))
        })
        .collect();
    all.sort_unstable();
    all
}

/// Counts one response.
fn respond(
    run: &[(Id, bool, u32, u32)],
    files: &[&ClaudeFile],
    maps: &[Vec<u32>],
    [provider, gateway]: [u32; 2],
    groups: &mut Groups<'_>,
    notes: &mut StoreNotes,
) {
    let sighting = |place: &(Id, bool, u32, u32)| &files[place.2 as usize].sightings[place.3 as usize];
    let first = &run[0];
    let mut whole: Sighting = *sighting(first);
    for place in &run[1..] {
        whole.join(sighting(place));
    }
    let name = |number: fn(&Sighting) -> u32| {
        run.iter().map(|place| maps[place.2 as usize][number(sighting(place)) as usize]).find(|name| *name != 0)
    };
    let at = if whole.end == NO_TIME { files[first.2 as usize].dated } else { whole.end };
    notes.undated += u64::from(whole.end == NO_TIME);
    notes.extra_records += u64::from(whole.records - 1);
    let call = Call {
        at,
        session: groups.joined_session(name(|s| s.session).unwrap_or(0)),
        provider: if whole.is_direct || gateway == 0 { provider } else { gateway },
        model: name(|s| s.model).unwrap_or(0),
        effort: name(|s| s.effort).unwrap_or(0),
        folder: name(|s| s.folder).unwrap_or(0),
        is_fast: whole.is_fast,
        kinds: kinds(&whole),
        ..Call::default()
    };
    count(&whole, groups.sums(&call));
    notes.split_unknown += unknown_writes(&whole);
}

/// Adds one response to its group.
fn count(whole: &Sighting, sums: &mut crate::vocabulary::CallSums) {
    sums.calls += 1;
    sums.responses += 1;
    sums.output_incomplete += u64::from(!whole.is_final);
    sums.sidechain_responses += u64::from(whole.is_side);
    sums.input_tokens += u64::from(whole.input);
    sums.cache_read_tokens += u64::from(whole.cache_read);
    sums.cache_write_tokens += u64::from(whole.cache_write);
    sums.cache_write_1h_tokens += u64::from(whole.write_1h.unwrap_or(0));
    sums.cache_write_unknown_tokens += unknown_writes(whole);
    sums.output_tokens += u64::from(whole.output);
    let is_timed = whole.is_final && whole.start != NO_TIME && whole.end != NO_TIME;
    sums.timed.extend(timed(whole.output.into(), is_timed.then(|| whole.end - whole.start)));
}

/// Tokens written to cache for an unknown time.
fn unknown_writes(whole: &Sighting) -> u64 {
    if whole.write_1h.is_none() { whole.cache_write.into() } else { 0 }
}

/// Kinds of tokens of a response.
fn kinds(whole: &Sighting) -> u8 {
    let long = whole.write_1h.unwrap_or(0);
    let short = whole.write_1h.map_or(0, |long| whole.cache_write - long);
    [
        (u64::from(whole.input), used::INPUT),
        (whole.cache_read.into(), used::CACHE_READ),
        (short.into(), used::WRITE_5M),
        (long.into(), used::WRITE_1H),
        (unknown_writes(whole), used::WRITE_UNKNOWN),
        (whole.output.into(), used::OUTPUT),
    ]
    .iter()
    .filter(|(tokens, _)| *tokens > 0)
    .fold(0, |kinds, (_, kind)| kinds | kind)
}

//! All Claude Code files of a store together: every response once, whatever files repeat it. Of a file nothing stays but a row
//! per response and the ids of its marks.

use std::collections::{BTreeMap, HashSet};

use super::claude_code::{Claims, ClaudeFile, Failure, Mark, MarkKind, NO_TIME, Response};
use super::groups::{Call, Groups, timed};
use super::names::{Id, Names};
use super::{StoreNotes, StoreSpec};
use crate::vocabulary::{CallSums, Charge, StoreEvents};

/// Numbers of a file's names in the groups.
pub(super) fn translate(file: &Names, groups: &mut Groups<'_>) -> Vec<u32> {
    file.iter().map(|name| if name.is_empty() { 0 } else { groups.names.number(name) }).collect()
}

/// What one file says of one response: the response table of the store has one row for each.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// What its records say.
    response: Response,
    /// Number of the file in the order of the walk.
    file: u32,
    /// Number of its place.
    place: u32,
}

/// A session that nothing else names. It is one all the same: a copy of its response in a joined session stays its own.
const NOT_JOINED: u32 = u32::MAX;

/// Model, effort, session and folder by the numbers of the groups: many responses share one.
type Place = [u32; 4];

/// The files taken so far.
pub(super) struct Fold<'a, 'g> {
    /// Groups.
    groups: &'a mut Groups<'g>,
    /// Events.
    events: &'a mut StoreEvents,
    /// Notes.
    notes: &'a mut StoreNotes,
    /// Provider of direct calls and of those through a gateway.
    providers: [u32; 2],
    /// The response table.
    rows: Vec<Row>,
    /// Places by number, and back.
    places: (Vec<Place>, BTreeMap<Place, u32>),
    /// Marks that were seen.
    seen: HashSet<Id>,
    /// First dated record of files that hold undated responses.
    dated: BTreeMap<u32, i64>,
}

impl<'a, 'g> Fold<'a, 'g> {
    /// No files yet.
    pub(super) fn new(
        spec: &StoreSpec,
        groups: &'a mut Groups<'g>,
        events: &'a mut StoreEvents,
        notes: &'a mut StoreNotes,
    ) -> Self {
        let providers = [&spec.provider, &spec.gateway].map(|name| groups.names.optional(name.as_deref()));
        let (rows, places, seen, dated) = (Vec::new(), (Vec::new(), BTreeMap::new()), HashSet::new(), BTreeMap::new());
        Self { groups, events, notes, providers, rows, places, seen, dated }
    }

    /// Takes a file. Files come in the order of the walk.
    pub(super) fn take(&mut self, number: usize, file: &ClaudeFile) {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut numbers =
            FileNumbers { names: &file.names, known: vec![None; file.names.iter().count()], session: (0, 0) };
        for sighting in &file.sightings {
            let mut response = sighting.response;
            if response.claims.has(Claims::NAMELESS) {
                response.id = response.id.inside(number.into());
            }
            if response.end == NO_TIME {
                self.dated.insert(number, file.dated);
            }
            let names = [sighting.model, sighting.effort, sighting.session, sighting.folder];
            let place = numbers.place(names, self.groups);
            let place = self.place(place);
            self.rows.push(Row { response, file: number, place });
        }
        for mark in &file.marks {
            if mark.uuid.is_none_or(|uuid| self.seen.insert(uuid)) {
                let place = numbers.place([mark.model, mark.effort, mark.session, mark.folder], self.groups);
                self.mark(mark, file.dated, place);
            }
        }
    }

    /// The number of a place.
    fn place(&mut self, place: Place) -> u32 {
        let (list, numbers) = &mut self.places;
        if let Some(last) = self.rows.last().map(|row| row.place).filter(|last| list[*last as usize] == place) {
            return last;
        }
        *numbers.entry(place).or_insert_with(|| {
            list.push(place);
            u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Counts a prompt, retry or error. Without a time it is of the day of its file.
    fn mark(&mut self, mark: &Mark, dated: i64, [model, effort, session, folder]: Place) {
        let (session, provider) = (joined(session), self.providers[0]);
        let at = if mark.at == NO_TIME { dated } else { mark.at };
        let call = Call { at, session, provider, model, effort, folder, ..Call::default() };
        match mark.kind {
            MarkKind::Nothing => {}
            MarkKind::Task => self.events.tasks += 1,
            MarkKind::Retry => {
                self.events.retries += 1;
                self.groups.sums(&call).retries += 1;
            }
            MarkKind::Failed(failure) => failed(failure, &call, self.groups, self.events),
        }
    }

    /// Counts every response once. Of one response main files go first, then the order of the walk.
    pub(super) fn finish(mut self) {
        self.seen = HashSet::new();
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_unstable_by_key(|row| (row.response.id, row.response.claims.has(Claims::SIDE), row.file));
        for run in rows.chunk_by(|a, b| a.response.id == b.response.id) {
            self.respond(run);
        }
    }

    /// Counts one response.
    fn respond(&mut self, run: &[Row]) {
        let first = &run[0];
        let mut whole = first.response;
        for row in &run[1..] {
            whole.join(&row.response);
        }
        let name = |at: usize| {
            let names = run.iter().map(|row| self.places.0[row.place as usize][at]);
            names.into_iter().find(|name| *name != 0).unwrap_or(0)
        };
        let is_undated = whole.end == NO_TIME;
        let at = if is_undated { self.dated.get(&first.file).copied().unwrap_or(NO_TIME) } else { whole.end };
        let [provider, gateway] = self.providers;
        let call = Call {
            at,
            model: name(0),
            effort: name(1),
            session: joined(name(2)),
            folder: name(3),
            provider: if whole.claims.has(Claims::DIRECT) { provider } else { gateway },
            is_fast: whole.claims.has(Claims::FAST),
            charge: charge(&whole),
            ..Call::default()
        };
        count(&whole, self.groups.sums(&call));
        self.notes.undated += u64::from(is_undated);
        self.notes.capped += u64::from(whole.claims.has(Claims::CAPPED));
        self.notes.extra_records += u64::from(whole.records - 1);
        self.notes.split_unknown += unknown_writes(&whole);
    }
}

/// The names of a file by the numbers of the groups, asked for as they are met.
struct FileNumbers<'a> {
    /// The names.
    names: &'a Names,
    /// Of every name its number in the groups, once asked for.
    known: Vec<Option<u32>>,
    /// The last session, and its number in the groups.
    session: (u32, u32),
}

impl FileNumbers<'_> {
    /// A place by the numbers of the groups. Of sessions only those are named that other evidence joins: a store has as many
    /// as files.
    fn place(&mut self, [model, effort, session, folder]: Place, groups: &mut Groups<'_>) -> Place {
        let [model, effort, folder] = [model, effort, folder].map(|name| self.number(name, groups));
        if self.session.0 != session {
            let joined = groups.session(self.names.get(session));
            self.session = (session, if joined == 0 { NOT_JOINED } else { joined });
        }
        [model, effort, self.session.1, folder]
    }

    /// The number of a name in the groups.
    fn number(&mut self, name: u32, groups: &mut Groups<'_>) -> u32 {
        let Some(known) = self.known.get_mut(name as usize) else { return 0 };
        *known.get_or_insert_with(|| groups.names.optional(self.names.get(name)))
    }
}

/// The number of a session; 0 of one that nothing else names.
fn joined(session: u32) -> u32 {
    if session == NOT_JOINED { 0 } else { session }
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

/// Adds one response to its group.
fn count(whole: &Response, sums: &mut CallSums) {
    sums.calls += 1;
    sums.responses += 1;
    sums.output_incomplete += u64::from(!whole.claims.has(Claims::FINAL));
    sums.sidechain_responses += u64::from(whole.claims.has(Claims::SIDE));
    sums.input_tokens += u64::from(whole.input);
    sums.cache_read_tokens += u64::from(whole.cache_read);
    sums.cache_write_tokens += u64::from(whole.cache_write);
    sums.cache_write_1h_tokens += u64::from(whole.write_1h().unwrap_or(0));
    sums.cache_write_unknown_tokens += unknown_writes(whole);
    sums.output_tokens += u64::from(whole.output);
    let is_timed = whole.claims.has(Claims::FINAL) && whole.start != NO_TIME && whole.end != NO_TIME;
    sums.timed.extend(timed(whole.output.into(), is_timed.then(|| whole.end - whole.start)));
}

/// Tokens written to cache for an unknown time.
fn unknown_writes(whole: &Response) -> u64 {
    if whole.write_1h().is_none() { whole.cache_write.into() } else { 0 }
}

/// What the price of a response depends on.
fn charge(whole: &Response) -> Charge {
    let long = whole.write_1h().unwrap_or(0);
    let short = whole.write_1h().map_or(0, |long| whole.cache_write - long);
    let [input, read, output] = [whole.input, whole.cache_read, whole.output].map(u64::from);
    let charge = Charge::of([input, read, short.into(), long.into(), unknown_writes(whole), output]);
    Charge { tier: whole.claims.tier(), ..charge }
}

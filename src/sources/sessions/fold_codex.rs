//! All Codex rollouts of a store together: lineages joined by the threads they name, every advance once.

use std::collections::{BTreeMap, HashSet};

use super::claude_code::NO_TIME;
use super::codex::{Advance, CodexFile, Mark, MarkKind};
use super::fold_claude::{failed, translate};
use super::groups::{Call, Groups, MIN_BUSY_MS, MIN_OUTPUT, timed};
use super::limits::{LimitWindow, readings};
use super::names::Id;
use super::walk::Found;
use super::{StoreNotes, StoreSpec};
use crate::vocabulary::{CallSums, Charge, LimitReading, StoreEvents, Timed};

/// What a fold gathers.
pub(super) struct Ledger<'a, 'g> {
    /// Groups.
    pub(super) groups: &'a mut Groups<'g>,
    /// Events.
    pub(super) events: &'a mut StoreEvents,
    /// Notes.
    pub(super) notes: &'a mut StoreNotes,
    /// Windows per file name.
    pub(super) windows: &'a mut BTreeMap<String, Vec<LimitWindow>>,
    /// The same as readings of the seat's limits.
    pub(super) limits: &'a mut Vec<LimitReading>,
}

/// The rollouts taken so far, encoded: a lineage is counted when all of its files are known, and only one file at a time is
/// decoded.
#[derive(Default)]
pub(super) struct Fold {
    /// Threads by their ids.
    threads: BTreeMap<Id, u32>,
    /// Thread → one nearer the root of its lineage; a root is its own.
    up: Vec<u32>,
    /// The rollouts.
    rollouts: Vec<Rollout>,
}

/// A rollout.
struct Rollout {
    /// Its number in the order of the walk.
    number: usize,
    /// Its thread, later the thread that stands for its lineage.
    thread: u32,
    /// What was read.
    file: Box<[u8]>,
}

impl Rollout {
    /// What was read.
    fn decode(&self) -> CodexFile {
        postcard::from_bytes(&self.file).expect("it was encoded by this very reader")
    }
}

impl Fold {
    /// Takes a file.
    pub(super) fn take(&mut self, number: usize, name: &str, file: &CodexFile) {
        let thread = self.thread(thread_of(file, name));
        let named = [file.parent.as_deref(), file.spawner.as_deref()].into_iter().flatten();
        for other in named.chain(file.ancestors.iter().map(String::as_str)) {
            let other = self.thread(other);
            let (one, other) = (self.root(thread), self.root(other));
            self.up[one.max(other) as usize] = one.min(other);
        }
        let file = postcard::to_stdvec(file).expect("memory can be written").into_boxed_slice();
        self.rollouts.push(Rollout { number, thread, file });
    }

    /// The number of a thread.
    fn thread(&mut self, id: &str) -> u32 {
        let next = u32::try_from(self.up.len()).unwrap_or(u32::MAX);
        let number = *self.threads.entry(Id::of(b't', id.as_bytes())).or_insert(next);
        if number == next {
            self.up.push(next);
        }
        number
    }

    /// The thread that stands for a lineage.
    fn root(&mut self, mut thread: u32) -> u32 {
        while self.up[thread as usize] != thread {
            let above = self.up[thread as usize];
            self.up[thread as usize] = self.up[above as usize];
            thread = above;
        }
        thread
    }

    /// Counts every advance and event once, lineage by lineage.
    pub(super) fn finish(mut self, found: &Found, spec: &StoreSpec, ledger: &mut Ledger<'_, '_>) {
        self.threads = BTreeMap::new();
        let mut rollouts = std::mem::take(&mut self.rollouts);
        for rollout in &mut rollouts {
            rollout.thread = self.root(rollout.thread);
        }
        rollouts.sort_unstable_by_key(|rollout| (rollout.thread, rollout.number));
        for lineage in rollouts.chunk_by(|a, b| a.thread == b.thread) {
            let mut order: Vec<&Rollout> = lineage.iter().collect();
            if order.len() > 1 {
                order.sort_by_cached_key(|rollout| rank(&rollout.decode(), found.name(rollout.number)));
            }
            let mut seen = HashSet::new();
            let mut known: BTreeMap<String, HashSet<Id>> = BTreeMap::new();
            for rollout in order {
                let (file, name) = (rollout.decode(), found.name(rollout.number));
                let known = known.entry(thread_of(&file, &name).to_owned()).or_default();
                take(&name, &file, spec, [&mut seen, known], ledger);
            }
        }
    }
}

/// The thread of a rollout; its path when it names none.
fn thread_of<'a>(file: &'a CodexFile, name: &'a str) -> &'a str {
    file.id.as_deref().unwrap_or(name)
}

/// What orders the rollouts of a lineage: forks last, then by birth and thread, of one thread the active copy first.
fn rank(file: &CodexFile, name: String) -> (bool, i64, String, bool, String) {
    let born = if file.born == NO_TIME { 0 } else { file.born };
    let is_archived = name.starts_with("archived_sessions/");
    (file.is_forked(), born, thread_of(file, &name).to_owned(), is_archived, name)
}

/// Counts what one rollout adds.
fn take(
    name: &str,
    file: &CodexFile,
    spec: &StoreSpec,
    [seen, known]: [&mut HashSet<Id>; 2],
    ledger: &mut Ledger<'_, '_>,
) {
    let map = translate(&file.names, ledger.groups);
    let stated = ledger.groups.names.optional(spec.provider.as_deref());
    let base = Call {
        session: ledger.groups.session(Some(thread_of(file, name))),
        provider: Some(map[file.provider as usize]).filter(|own| *own != 0).unwrap_or(stated),
        folder: map[file.folder as usize],
        ..Call::default()
    };
    ledger.notes.codex_no_info += file.no_info;
    ledger.notes.codex_unchanged += file.unchanged;
    ledger.notes.codex_resets += file.resets;
    ledger.notes.codex_wobbles += file.wobbles;
    let windows: Vec<_> = file.windows.iter().filter(|window| is_own(file, window.is_live)).cloned().collect();
    if !windows.is_empty() {
        let provider = file.names.get(file.provider).or(spec.provider.as_deref());
        let shown = format!("{}/{name}", spec.display);
        ledger.limits.extend(readings(&windows, &shown, provider, spec.home.as_deref()));
        ledger.windows.insert(name.to_owned(), windows);
    }
    let own_from = file.own_from();
    let mut counted = vec![false; file.advances.len()];
    for (advance, counted) in file.advances.iter().zip(&mut counted) {
        if seen.contains(&advance.identity) {
            ledger.notes.codex_replayed += 1;
        } else if advance.place < own_from {
            ledger.notes.codex_orphan_replay_tokens += advance.input + advance.output;
        } else {
            seen.insert(advance.identity);
            *counted = true;
            ledger.notes.undated += u64::from(advance.at == NO_TIME);
            let call = call_of(&base, &map, advance.model, advance.effort, dated(advance.at, file));
            count(advance, file, &Call { charge: charge(advance), ..call }, ledger.groups);
        }
    }
    for mark in &file.marks {
        if known.insert(mark.identity) && mark.place >= own_from {
            take_mark(mark, file, &counted, &base, &map, ledger);
        }
    }
}

/// A call under a model and effort of the file.
fn call_of(base: &Call, map: &[u32], model: u32, effort: u32, at: i64) -> Call {
    Call { at, model: map[model as usize], effort: map[effort as usize], ..*base }
}

/// A time, or that of the first dated record of the file.
fn dated(at: i64, file: &CodexFile) -> i64 {
    if at == NO_TIME { file.dated } else { at }
}

/// Whether a fork had begun its own work.
fn is_own(file: &CodexFile, is_live: bool) -> bool {
    !file.is_forked() || is_live
}

/// Adds one response to its group.
fn count(advance: &Advance, file: &CodexFile, call: &Call, groups: &mut Groups<'_>) {
    let busy = advance.busy.filter(|_| is_own(file, advance.is_live));
    let sums: &mut CallSums = groups.sums(call);
    sums.calls += 1;
    sums.responses += 1;
    sums.sidechain_responses += u64::from(file.is_spawned);
    sums.input_tokens += advance.input - advance.cached;
    sums.cache_read_tokens += advance.cached;
    sums.output_tokens += advance.output;
    sums.reasoning_tokens += advance.reasoning;
    sums.timed.extend(timed(advance.output, busy));
}

/// What the price of a response depends on.
fn charge(advance: &Advance) -> Charge {
    Charge::of([advance.input - advance.cached, advance.cached, 0, 0, 0, advance.output])
}

/// Counts a task, an error or the end of a turn.
fn take_mark(mark: &Mark, file: &CodexFile, counted: &[bool], base: &Call, map: &[u32], ledger: &mut Ledger<'_, '_>) {
    let call = call_of(base, map, mark.model, mark.effort, dated(mark.at, file));
    match mark.kind {
        MarkKind::Task => ledger.events.tasks += u64::from(!file.is_spawned && is_own(file, mark.is_live)),
        MarkKind::Retry => {
            ledger.events.retries += 1;
            ledger.groups.sums(&call).retries += 1;
        }
        MarkKind::Interrupt => ledger.events.interrupts += 1,
        MarkKind::Failed(failure) => failed(failure, &call, ledger.groups, ledger.events),
        MarkKind::Complete(Some(first_ms), from, to) => {
            let turn: Vec<&Advance> = (from..to).filter(|at| counted[*at]).map(|at| &file.advances[at]).collect();
            if let (Some(last), Ok(first)) = (turn.last(), u64::try_from(first_ms)) {
                let call = call_of(base, map, last.model, last.effort, dated(last.at, file));
                let sums = ledger.groups.sums(&Call { charge: charge(last), ..call });
                sums.first_token_ms.push(first);
                let behind = last.busy.filter(|_| is_own(file, last.is_live)).map(|busy| busy - first_ms);
                if let (1, Some(behind)) = (turn.len(), behind)
                    && last.output >= MIN_OUTPUT
                    && behind >= MIN_BUSY_MS
                {
                    sums.decoded.push(Timed { output: last.output, ms: behind.unsigned_abs() });
                }
            }
        }
        MarkKind::Complete(None, ..) => {}
    }
}

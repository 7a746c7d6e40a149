//! All Codex rollouts of a store together: lineages joined by the threads they name, every advance once.

use std::collections::{BTreeMap, HashSet};

use super::claude_code::NO_TIME;
use super::codex::{Advance, CodexFile, Mark, MarkKind};
use super::fold_claude::{failed, translate};
use super::groups::{Call, Groups, MIN_BUSY_MS, MIN_OUTPUT, timed};
use super::limits::LimitWindow;
use super::names::Id;
use super::{StoreNotes, StoreSpec};
use crate::vocabulary::{CallSums, StoreEvents, Timed, used};

/// A rollout and where it lies.
pub(super) struct Rollout<'a> {
    /// Its path below the root.
    pub(super) name: &'a str,
    /// What was read.
    pub(super) file: &'a CodexFile,
}

impl Rollout<'_> {
    /// The thread; its path when it names none.
    fn thread(&self) -> &str {
        self.file.id.as_deref().unwrap_or(self.name)
    }

    /// Every thread it names.
    fn related(&self) -> impl Iterator<Item = &str> {
        let named = [self.file.parent.as_deref(), self.file.spawner.as_deref()].into_iter().flatten();
        named.chain(self.file.ancestors.iter().map(String::as_str))
    }
}

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
}

/// Counts every advance and event once.
pub(super) fn fold(rollouts: &[Rollout<'_>], spec: &StoreSpec, ledger: &mut Ledger<'_, '_>) {
    let mut lineages = Lineages::default();
    for rollout in rollouts {
        lineages.root(rollout.thread());
        for other in rollout.related() {
            lineages.join(rollout.thread(), other);
        }
    }
    let mut order: Vec<&Rollout<'_>> = rollouts.iter().collect();
    order.sort_by_key(|rollout| {
        let born = if rollout.file.born == NO_TIME { 0 } else { rollout.file.born };
        let is_archived = rollout.name.starts_with("archived_sessions/");
        (rollout.file.is_forked(), born, rollout.thread(), is_archived, rollout.name)
    });
    let mut seen: BTreeMap<String, HashSet<Id>> = BTreeMap::new();
    let mut known: BTreeMap<&str, HashSet<Id>> = BTreeMap::new();
    for rollout in order {
        let root = lineages.root(rollout.thread()).to_owned();
        let known = known.entry(rollout.thread()).or_default();
        take(rollout, spec, seen.entry(root).or_default(), known, ledger);
    }
}

/// Counts what one rollout adds.
fn take(
    rollout: &Rollout<'_>,
    spec: &StoreSpec,
    seen: &mut HashSet<Id>,
    known: &mut HashSet<Id>,
    ledger: &mut Ledger<'_, '_>,
) {
    let file = rollout.file;
    let map = translate(&file.names, ledger.groups);
    let stated = ledger.groups.names.optional(spec.provider.as_deref());
    let base = Call {
        session: ledger.groups.session(Some(rollout.thread())),
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
        ledger.windows.insert(rollout.name.to_owned(), windows);
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
            let call = call_of(&base, &map, advance.model, advance.effort, advance.at);
            count(advance, file, &Call { kinds: kinds(advance), ..call }, ledger.groups);
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

/// Kinds of tokens of a response.
fn kinds(advance: &Advance) -> u8 {
    let mut kinds = 0;
    for (tokens, kind) in [
        (advance.input - advance.cached, used::INPUT),
        (advance.cached, used::CACHE_READ),
        (advance.output, used::OUTPUT),
    ] {
        kinds |= if tokens > 0 { kind } else { 0 };
    }
    kinds
}

/// Counts a task, an error or the end of a turn.
fn take_mark(mark: &Mark, file: &CodexFile, counted: &[bool], base: &Call, map: &[u32], ledger: &mut Ledger<'_, '_>) {
    let call = call_of(base, map, mark.model, mark.effort, mark.at);
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
                let call = call_of(base, map, last.model, last.effort, last.at);
                let sums = ledger.groups.sums(&Call { kinds: kinds(last), ..call });
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

/// Threads that are of one lineage.
#[derive(Default)]
struct Lineages {
    /// Thread → one nearer the root; a root is its own.
    up: BTreeMap<String, String>,
}

impl Lineages {
    /// The thread that stands for a lineage.
    fn root(&mut self, thread: &str) -> &str {
        let mut at = thread.to_owned();
        while let Some(above) = self.up.get(&at).filter(|above| **above != at) {
            at.clone_from(above);
        }
        self.up.insert(thread.to_owned(), at.clone());
        if at != thread {
            self.up.insert(at.clone(), at);
        }
        &self.up[thread]
    }

    /// Makes two threads one lineage.
    fn join(&mut self, a: &str, b: &str) {
        let (a, b) = (self.root(a).to_owned(), self.root(b).to_owned());
        if a != b {
            let (small, large) = if a < b { (a, b) } else { (b, a) };
            self.up.insert(large, small);
        }
    }
}

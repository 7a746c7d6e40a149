//! Session evidence of a run: every store, the babysitter log and rollups of other engines, read once.

mod join;
mod stated;
mod table;
mod tariffs;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, Utc};

use crate::rollup::{RollupRow, read_file};
use crate::settings::{Home, SessionStore, Settings, TaskClassRule, glob};
use crate::sources::babysitter;
use crate::sources::sessions::{self, ClassRule, Shelf, StoreScan, StoreSpec, without_overlaps};
use crate::vocabulary::{CallRow, HomeId, ScorecardRow, SitterRow, SourceNote, SourceState, sha256_hex};
pub use join::join;
use stated::Stated;
pub use table::{Ingredients, Table, days, holders, still_named};
pub use tariffs::Tariffs;
pub(super) use usage::seen_at;

/// The word of rows whose effort nobody recorded.
pub(super) const UNRECORDED: &str = "unrecorded";

/// The shelf that holds the index of this name; `None` where nothing is to be kept.
pub type Shelves<'a> = &'a dyn Fn(&str) -> Option<Box<dyn Shelf + 'a>>;

/// Called now and then with the store's name, bytes done and bytes in all.
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);

/// What was read of sessions beside scorecards.
#[derive(Debug, Default)]
pub struct Stores {
    /// Every store with its name, in order of the settings.
    pub scans: Vec<(String, StoreScan)>,
    /// Stores that lie in another and are read once.
    pub overlaps: Vec<String>,
    /// The babysitter log.
    pub sitter: Vec<SitterRow>,
    /// How its reading went.
    pub sitter_note: Option<SourceNote>,
    /// Rows that another engine made.
    pub external: Vec<RollupRow>,
    /// What to say of them.
    pub external_remarks: Vec<String>,
    /// Files of them that could not be read, with the reason.
    pub external_faults: Vec<String>,
}

/// The stores of the settings, ready to read.
pub fn specs(workspace: &Path, settings: &Settings) -> Vec<StoreSpec> {
    let homes = homes(settings);
    let rule = |rule: &TaskClassRule| ClassRule {
        folder: rule.folder.as_deref().and_then(|pattern| glob(pattern).ok()),
        agent: rule.agent.as_deref().and_then(|pattern| glob(pattern).ok()),
        class: rule.class.clone(),
    };
    let classes: Vec<ClassRule> = settings.data.task_classes.iter().map(rule).collect();
    let spec = |store: &SessionStore| {
        let plain = StoreSpec::below(store.kind, workspace, &store.path);
        StoreSpec {
            provider: store.provider.clone().or(plain.provider),
            gateway: store.gateway.clone(),
            home: store.home.clone(),
            homes: homes.clone(),
            classes: classes.clone(),
            ..plain
        }
    };
    settings.data.session_stores.iter().map(spec).collect()
}

/// Provider → home.
fn homes(settings: &Settings) -> BTreeMap<String, String> {
    let of_home = |(home, facts): (&HomeId, &Home)| {
        let home = home.to_string();
        facts.providers.iter().map(|provider| (provider.to_string(), home.clone())).collect::<Vec<_>>()
    };
    settings.homes.iter().flat_map(of_home).collect()
}

/// The name of a store's index in the cache.
pub fn index_name(spec: &StoreSpec) -> String {
    let paths: Vec<_> = spec.tops().iter().map(|(path, _)| path.to_string_lossy()).collect();
    let digest = sha256_hex(paths.join(",").as_bytes());
    format!("sessions-{}-{}.idx", spec.kind, &digest[..16])
}

/// Reads stores; what two of them hold is read once, and that is said. `shelves` hold what an earlier run kept, and take what this
/// one keeps.
pub fn read_stores(
    specs: Vec<StoreSpec>,
    joined: &BTreeSet<String>,
    shelves: Shelves<'_>,
    progress: Progress<'_>,
) -> (Vec<(String, StoreScan)>, Vec<String>) {
    let (specs, overlaps) = without_overlaps(specs);
    let read = |spec: &StoreSpec| {
        let shelf = shelves(&index_name(spec));
        let tell = |done, total| progress(&spec.display, done, total);
        (spec.display.clone(), sessions::read_with(spec, joined, shelf.as_deref(), &tell))
    };
    (specs.iter().map(read).collect(), overlaps)
}

/// Reads everything the settings name beside scorecards.
pub fn read(
    workspace: &Path,
    settings: &Settings,
    cards: &[ScorecardRow],
    now: DateTime<Utc>,
    shelves: Shelves<'_>,
    progress: Progress<'_>,
) -> Stores {
    let mut stores = Stores::default();
    if let Some(path) = &settings.data.babysitter {
        let (rows, note) = babysitter::read(&workspace.join(path), &path.to_string_lossy(), now);
        stores.sitter = rows;
        stores.sitter_note = Some(note);
    }
    for path in [&settings.data.rollup, &settings.data.spend_logs].into_iter().flatten() {
        stores.read_rollup(&workspace.join(path), &path.to_string_lossy());
    }
    let homes = homes(settings);
    for row in stores.external.iter_mut().filter(|row| row.key.home.is_empty()) {
        row.key.home = homes.get(&row.key.provider).cloned().unwrap_or_default();
    }
    let mut joined: BTreeSet<String> = cards.iter().filter_map(|card| card.session_id.clone()).collect();
    joined.extend(stores.sitter.iter().map(|event| event.session_id.clone()));
    (stores.scans, stores.overlaps) = read_stores(specs(workspace, settings), &joined, shelves, progress);
    stores
}

impl Stores {
    /// Reads a rollup that another engine made.
    fn read_rollup(&mut self, path: &Path, shown: &str) {
        let bytes = match sessions::whole_file(path) {
            Ok(bytes) => bytes,
            Err(fault) => return self.external_faults.push(format!("{shown} {fault}")),
        };
        match read_file(&bytes) {
            Ok((rows, broken)) => {
                self.external_remarks.push(format!("{shown}: {} rollup rows", rows.len()));
                let first = broken.first().map(|(row, fault)| format!("{shown}:{row} {fault}"));
                let said = first.map(|first| format!("{} rows not used, the first: {first}", broken.len()));
                if rows.is_empty() {
                    self.external_faults.extend(said.iter().map(|said| format!("{shown} holds no usable row: {said}")));
                }
                self.external_remarks.extend(said);
                self.external.extend(rows);
            }
            Err(fault) => self.external_faults.push(format!("{shown} {fault}")),
        }
    }

    /// Every call of every store.
    pub fn calls(&self) -> impl Iterator<Item = &CallRow> {
        self.scans.iter().flat_map(|(_, scan)| &scan.rows)
    }

    /// Whether anything but the babysitter log is named.
    pub fn hold_calls(&self) -> bool {
        !self.scans.is_empty()
            || !self.external.is_empty()
            || !self.external_remarks.is_empty()
            || !self.external_faults.is_empty()
    }

    /// Stores and rollups of which nothing could be read, with the reason: what depends on them cannot be judged.
    pub fn lost(&self) -> Vec<String> {
        let is_lost = |scan: &StoreScan| scan.fault_count > 0 && scan.rows.is_empty();
        let scans = self.scans.iter().filter(|(_, scan)| is_lost(scan)).filter_map(|(_, scan)| scan.faults.first());
        scans.chain(&self.external_faults).cloned().collect()
    }

    /// What to warn of: stores that are read once though they are named twice, and indexes that could not be kept.
    pub fn warnings(&self) -> Vec<String> {
        let index_faults = self.scans.iter().filter_map(|(_, scan)| scan.index_fault.clone());
        self.overlaps.iter().cloned().chain(index_faults).collect()
    }

    /// What to say about the reading, one sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.scans.iter().flat_map(|(name, scan)| scan.remarks(name)).collect();
        remarks.extend(self.overlaps.iter().cloned());
        if let Some(note) = &self.sitter_note {
            if let SourceState::Failed(reason) = &note.state {
                remarks.push(format!("babysitter log not read: {reason}"));
            } else {
                remarks.push(format!("babysitter log: {} of {} events used", note.used, note.rows));
            }
            remarks.extend(note.rejects.iter().map(|reject| format!("{} {}", reject.place, reject.reason)));
        }
        remarks.extend(self.external_remarks.iter().chain(&self.external_faults).cloned());
        remarks
    }
}

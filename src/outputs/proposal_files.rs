//! What the proposals' files looked like when they were last written or read: with ten thousand open ones, files that are as they
//! were are neither read nor written. The list lies in the cache; losing it costs time only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::proposals::path;
use crate::history::{Settlement, Stamp, Untouched};
use crate::store::{Cache, Store, look_at};
use crate::verdict::{LandingRef, Outcome, Proposal, Suppressed};
use crate::vocabulary::{fnv1a_hex, sha256_hex};

/// The shape of the list; another version of the program may write other files.
const SHAPE: &str = concat!("pool-review.proposal-files/1 ", env!("CARGO_PKG_VERSION"));

/// Hex digits of the checksum in front.
const SUM: usize = 16;

/// Files from which the list pays.
const WORTH: usize = 500;

/// The files of one proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// The proposal's file.
    json: Stamp,
    /// The patch beside it, for a change of config.
    patch: Option<Stamp>,
    /// What the file says beside its content.
    says: Untouched,
    /// Where it says the proposal stands.
    stands: Stands,
}

/// Where a file says that its proposal stands.
type Stands = (String, Option<Suppressed>, Option<LandingRef>, Option<Outcome>);

/// Fingerprint → its files.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Files {
    /// [`SHAPE`].
    shape: String,
    /// The files.
    entries: BTreeMap<String, Entry>,
}

impl Files {
    /// The list of a reports folder; an empty one where there is none, or it was cut, edited or made by another version.
    pub fn read(store: &Store, cache: &Cache) -> Self {
        let decode = |bytes: Vec<u8>| -> Option<Self> {
            let (sum, body) = bytes.split_at_checked(SUM)?;
            let is_whole = fnv1a_hex(body).as_bytes() == sum;
            serde_json::from_slice(body).ok().filter(|files: &Self| is_whole && files.shape == SHAPE)
        };
        cache.read(&name(store)).and_then(decode).unwrap_or_default()
    }

    /// What a proposal's file says beside its content, if it is surely as it was.
    pub fn untouched(&self, store: &Store, fingerprint: &str) -> Option<Untouched> {
        let entry = self.entries.get(fingerprint)?;
        (stamp(store, fingerprint, "json")? == entry.json).then(|| entry.says.clone())
    }

    /// Whether both files of a proposal are surely there and say what it says.
    pub fn hold(&self, store: &Store, proposal: &Proposal) -> bool {
        let Some(entry) = self.entries.get(&proposal.fingerprint) else { return false };
        let has_patch = proposal.change.config().is_some();
        entry.says.says(proposal)
            && entry.stands == stands(proposal)
            && stamp(store, &proposal.fingerprint, "json") == Some(entry.json)
            && entry.patch.is_some() == has_patch
            && (!has_patch || stamp(store, &proposal.fingerprint, "patch") == entry.patch)
    }

    /// Keeps the list of what a delivered settlement left behind. A cache that cannot be written costs time only.
    pub fn keep(settlement: &Settlement, store: &Store, cache: &Cache) -> Option<String> {
        let all = settlement.open.iter().chain(&settlement.suppressed).chain(&settlement.landed);
        let entry = |proposal: &Proposal| {
            let of = |ending| stamp(store, &proposal.fingerprint, ending);
            let patch = proposal.change.config().map(|_| of("patch"));
            let entry = Entry {
                json: of("json")?,
                patch: patch.flatten(),
                says: Untouched::of(proposal),
                stands: stands(proposal),
            };
            (patch.is_none_or(|patch| patch.is_some())).then(|| (proposal.fingerprint.clone(), entry))
        };
        let entries: BTreeMap<String, Entry> = all.filter_map(entry).collect();
        if entries.len() < WORTH {
            return None;
        }
        let body = serde_json::to_vec(&Self { shape: SHAPE.to_owned(), entries }).expect("text and numbers only");
        let bytes = [fnv1a_hex(&body).as_bytes(), &body].concat();
        cache.replace(&name(store), &bytes).err().map(|error| format!("{error:#}"))
    }
}

/// The name of the list in the cache.
fn name(store: &Store) -> String {
    let folder = store.shown(&store.in_reports(super::proposals::FOLDER));
    format!("proposals-{}.files", &sha256_hex(folder.as_bytes())[..16])
}

/// What a file of a proposal looks like.
fn stamp(store: &Store, fingerprint: &str, ending: &str) -> Option<Stamp> {
    look_at(&path(store, fingerprint, ending).ok()?).map(Into::into)
}

/// Where a proposal stands.
fn stands(proposal: &Proposal) -> Stands {
    (proposal.status.clone(), proposal.suppressed.clone(), proposal.landing.clone(), proposal.outcome.clone())
}

//! A checkpoint spares the old part of the ledger: what it folds into, how many bytes that part has, and what those bytes looked
//! like. Losing it costs time only; one that does not fit the file is not used.

use serde::{Deserialize, Serialize};

use super::base::Base;
use super::ledger::Ledger;
use super::reading::Reading;
use crate::vocabulary::fnv1a_hex;

/// The shape of the file; another version of the program may fold otherwise.
const SHAPE: &str = concat!("pool-review.checkpoint/2 ", env!("CARGO_PKG_VERSION"));

/// Hex digits of the checksum in front.
const SUM: usize = 16;

/// Runs between two full verifications: a fortnight of two a day.
const USES: u32 = 28;

/// Bytes at each end of the spared part whose digest is kept.
pub const EDGE: u64 = 65_536;

/// What a file looks like from outside: any write to it changes the last of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes.
    pub length: u64,
    /// Which file it is.
    pub inode: u64,
    /// When its bytes were written last, nanoseconds.
    pub modified: i128,
    /// When anything of it changed last, nanoseconds; programs cannot set it.
    pub changed: i128,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// [`SHAPE`].
    shape: String,
    /// How often it was used since every line was verified.
    uses: u32,
    /// The file when the checkpoint was made.
    stamp: Stamp,
    /// Digest of both ends of the spared part.
    edges: String,
    /// What that part folds into.
    base: Base,
}

impl Checkpoint {
    /// A checkpoint of a ledger. `edges` is the digest of both ends of its old part.
    pub fn new(ledger: &Ledger, stamp: Stamp, edges: String, uses: u32) -> Self {
        Self { shape: SHAPE.to_owned(), uses, stamp, edges, base: ledger.base().clone() }
    }

    /// The checkpoint of a file; `None` for one that was cut, edited or made by another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (sum, body) = bytes.split_at_checked(SUM)?;
        let body = body.strip_prefix(b"\n")?;
        if fnv1a_hex(body).as_bytes() != sum {
            return None;
        }
        serde_json::from_slice(body).ok().filter(|checkpoint: &Self| checkpoint.shape == SHAPE)
    }

    /// The file of a checkpoint: the checksum of all that follows, and the checkpoint.
    pub fn encode(&self) -> Vec<u8> {
        let body = serde_json::to_vec(self).expect("a checkpoint holds text, numbers and instants");
        let mut bytes = fnv1a_hex(&body).into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(&body);
        bytes
    }

    /// How often it was used since every line was verified.
    pub fn uses(&self) -> u32 {
        self.uses
    }

    /// Bytes of the part that it spares.
    pub fn length(&self) -> u64 {
        self.base.length
    }

    /// Whether it stands for runs before this one only.
    pub fn serves(&self, run: &str) -> bool {
        self.base.run.as_str() < run
    }

    /// Whether it may be believed on a file that looks like this: the file as it was, or one that only grew and whose spared part
    /// has the same ends (`edges` computes their digest). Every so often none is.
    pub fn fits(&self, now: Stamp, edges: impl FnOnce() -> Option<String>) -> bool {
        let has_grown = now.length > self.stamp.length && now.inode == self.stamp.inode;
        self.uses < USES && (now == self.stamp || has_grown) && edges().is_some_and(|edges| edges == self.edges)
    }

    /// Whether the fold of verified lines is the one it holds.
    pub fn agrees(&self, ledger: &Ledger) -> bool {
        *ledger.base() == self.base
    }

    /// Whether another fold of the same bytes says something else: then one of the two is wrong.
    pub fn contradicts(&self, ledger: &Ledger) -> bool {
        let base = ledger.base();
        base.length == self.base.length && base.head == self.base.head && !self.agrees(ledger)
    }

    /// A reading of what stands behind the spared part.
    pub fn resume(self, path: &str, run: &str) -> Reading {
        Reading::behind(path, Some(run), self.base)
    }
}

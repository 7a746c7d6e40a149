//! Looks in the ledger: what the last counted look at each comparison left behind, and when it must start again.

use serde::{Deserialize, Serialize};

/// Looks that counted in a run, or whose state moved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LooksFact {
    /// By pool, code and sides.
    pub looks: Vec<LookFact>,
}

/// The memory of one comparison in one direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LookFact {
    /// The pool.
    pub pool: String,
    /// The finding's code.
    pub code: String,
    /// Whom it is about.
    pub subject: String,
    /// The other side, or empty.
    pub counterpart: String,
    /// Digest of definition, method and index version: another one starts the looks again.
    pub basis: String,
    /// When the last look counted.
    pub at: String,
    /// Claim probability then, in millionths, rounded down.
    pub p_ppm: u64,
    /// Counted looks in a row at the bar.
    pub streak: u32,
    /// Counted low looks in a row while open.
    pub low: u32,
    /// Whether a proposal is open.
    pub is_open: bool,
}

impl LookFact {
    /// What tells comparisons apart.
    pub fn key(&self) -> (String, String, String, String) {
        (self.pool.clone(), self.code.clone(), self.subject.clone(), self.counterpart.clone())
    }
}

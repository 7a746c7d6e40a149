//! What the last counted look at a comparison left behind (methods §8.2).

use chrono::{DateTime, Utc};

/// The memory of one comparison in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookMemory {
    /// When the last look counted.
    pub at: DateTime<Utc>,
    /// The claim probability at that look.
    pub p: f64,
    /// Counted looks in a row at or over the bar.
    pub streak: u32,
    /// Counted looks in a row below the withdrawal bar, while open.
    pub low: u32,
    /// Whether a proposal is open.
    pub is_open: bool,
}

/// A comparison in one direction: what is argued, about whom, against whom. The axis of the two sides and the direction
/// follow from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LookKey {
    /// The finding's code.
    pub code: String,
    /// Whom it is about.
    pub subject: String,
    /// The other side, or the class, or empty.
    pub counterpart: String,
}

impl LookKey {
    /// A key from its parts.
    pub fn new(code: &str, subject: &str, counterpart: &str) -> Self {
        Self { code: code.to_owned(), subject: subject.to_owned(), counterpart: counterpart.to_owned() }
    }
}

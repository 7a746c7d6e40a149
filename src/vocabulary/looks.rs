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

//! Where a proposal stands after a run, as every output shows it: its number, its status, who decided, what took its place.

use super::RollbackDue;

/// A steward's decision, as readers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// `accept`, `reject` or `defer`.
    pub decision: String,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Until when, if there is a date.
    pub until: Option<String>,
    /// What raises it again, of one that sleeps.
    pub unless: Option<String>,
}

/// Where a proposal stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// R1, R2 …: given once, for life.
    pub number: u64,
    /// What is argued.
    pub fingerprint: String,
    /// The pool.
    pub pool: String,
    /// What the change does.
    pub kind: String,
    /// Whom it is about.
    pub subject: String,
    /// The other side, or empty.
    pub counterpart: String,
    /// The status.
    pub status: String,
    /// The run, or the instant id of the decision, where the status began.
    pub since: String,
    /// Whether that is news to a reader of the section before.
    pub is_moved: bool,
    /// The run since which it has been carried.
    pub opened: String,
    /// Runs that carried it after that one, this one among them.
    pub carried: u64,
    /// The last decision on it.
    pub ruling: Option<Ruling>,
    /// The fingerprint that took the place of one that was superseded.
    pub heir: Option<String>,
    /// Who said that it landed or was taken back, while the config does not show it.
    pub unseen: Option<String>,
    /// That its way back is due, of one that has landed.
    pub due: Option<RollbackDue>,
}

impl Standing {
    /// `R3`.
    pub fn label(&self) -> String {
        format!("R{}", self.number)
    }
}

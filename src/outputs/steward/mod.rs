//! What a steward sees and says: the proposals with their lives, what may be applied now, and decisions with their reasons.
//! Everything a steward says becomes an event of the ledger; nothing here edits config.

mod answer;
mod card;
mod claim;
mod decide;
mod intake;
mod list;
mod patch;
mod show;

pub use answer::{Answered, answered, answered_json};
pub use card::{Card, FileState, Shelf};
pub use decide::{Refusal, Request, decision_fact, record, restand_file};
pub use intake::{is_waiting, take_in};
pub use list::{Hidden, list, list_json};
pub use patch::{ConfigState, Configs, Way, config_state, patch, patch_json};
pub use show::{show, show_json};

/// The instruction for a steward agent.
pub const KIT: &str = include_str!("../../../instructions/steward-kit.md");

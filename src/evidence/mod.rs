//! Joins: typed tables and one immutable view per pool, every value with its provenance. No files, no clock, no settings.

mod around;
pub mod assemble;
pub mod attribution;
pub mod book;
pub mod calls;
pub mod cells;
pub mod fit;
pub mod front;
pub mod measure;
mod members;
pub mod offers;
mod outside;
pub mod own;
pub mod pairs;
mod pool;
pub mod rates;
pub mod retire;
pub mod seats;
pub mod speed;
pub mod standing;
pub mod statistics;
mod unbilled;
pub mod usage;
pub mod weights;
pub mod windows;

pub use around::{CandidateEvidence, MarketView, Unbilled};
pub use outside::Surroundings;
pub use pool::{
    ClassConsumer, ConfigFacts, Ending, LeadAttempts, MemberEvidence, MemberMarket, PoolEvidence, Readiness,
    Requirements, Shadow, Successor, TierNumbers,
};

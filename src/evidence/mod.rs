//! Joins: typed tables and one immutable view per pool, every value with its provenance. No files, no clock, no settings.

pub mod assemble;
pub mod attribution;
pub mod book;
pub mod calls;
pub mod cells;
pub mod fit;
pub mod front;
pub mod measure;
pub mod offers;
mod outside;
pub mod own;
pub mod pairs;
mod pool;
pub mod rates;
pub mod retire;
pub mod speed;
pub mod standing;
pub mod statistics;
pub mod weights;
pub mod windows;

pub use outside::Surroundings;
pub use pool::{
    CandidateEvidence, ConfigFacts, Ending, MarketView, MemberEvidence, MemberMarket, PoolEvidence, Readiness,
    Requirements, Shadow, Successor, TierNumbers,
};

//! Readers: one per input, each returning rows and a note. Nothing here judges, joins or writes.

pub mod babysitter;
pub mod market;
pub mod pools;
pub mod quotas;
pub mod scorecards;
pub mod sessions;
pub mod speeds;
mod table;

//! The readers: one per input, each gives rows and a note. They read and never write, and know nothing of what follows.

pub mod scorecards;
pub mod speeds;
mod table;

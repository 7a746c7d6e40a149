//! One reader per input: rows and a note that says how the reading went. Nothing here writes or judges.

pub mod quotas;

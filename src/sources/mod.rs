//! Readers: one per input, each returning rows and a note. Nothing here judges, joins or writes.

pub mod pools;

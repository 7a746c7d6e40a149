//! Readers, one per input. They read and never write; each returns rows and a note that says how the reading went.

pub mod market;

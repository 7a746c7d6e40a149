//! Session evidence: exact totals of every handed case and of generated trees, the index, broken stores, the rollup.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]
#![expect(clippy::disallowed_methods, reason = "tests make and remove their own folders")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a plain reading rounds as the reader does"
)]
#![expect(clippy::cast_precision_loss, reason = "token counts of a test fit an f64 exactly")]

mod answers;
mod attempts;
mod bounds;
mod cases;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod database;
mod engines;
mod evidence;
mod faults;
mod index;
mod join;
mod limits;
mod mutated_litellm;
mod mutated_opencode;
mod mutated_tables;
mod mutations;
mod prices;
mod rollup;
mod spend_faults;
mod spend_logs;
mod spend_rows;
mod stores;
mod support;
mod tokens;
mod traps;
mod trees;
mod usage;
mod verb;

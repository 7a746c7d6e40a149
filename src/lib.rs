//! `pool-review`: the scheduled audit of an AI-agent fleet's model pools. It reads config, market, catalogues, speeds,
//! session evidence and quota windows, judges every pool, and writes a log, proposals and a ledger. It never edits config.

pub mod change;
pub mod checks;
pub mod cli;
pub mod evidence;
pub mod fetch;
pub mod github;
pub mod history;
pub mod identity;
pub mod outputs;
pub mod parquet;
pub mod review;
pub mod ring;
pub mod rollup;
pub mod run;
pub mod schedule;
pub mod settings;
pub mod sources;
pub mod store;
pub mod verdict;
pub mod vocabulary;

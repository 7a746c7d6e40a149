//! `pool-review`: the scheduled audit of an AI-agent fleet's model pools. It reads config, market, catalogues, speeds,
//! session evidence and quota windows, judges every pool, and writes a log, proposals and a ledger. It never edits config.

pub mod change;
pub mod settings;
pub mod verdict;
pub mod vocabulary;

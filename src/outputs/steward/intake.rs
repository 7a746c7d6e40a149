//! Decision files, `proposals/<fingerprint>.decision.json`: the way of a steward that is an agent. A good one becomes one event
//! of the ledger and is then removed; any other stays where it is, with a sentence that says what is wrong.

use std::path::Path;

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::decide::{Request, decision_fact, record, restand_file};
use super::patch::config_state;
use crate::history::{Decision, DecisionFact, Past, Unless};
use crate::outputs::{proposals, read_ledger};
use crate::store::{Store, look_into};

/// How a decision file's name ends.
const ENDING: &str = ".decision.json";
/// The name of its shape.
const SCHEMA: &str = "pool-review.decision/1";
/// Most bytes of one.
const MOST_BYTES: u64 = 16 * 1024;

/// The file (schema: `instructions/schemas/decision.v1.json`).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionFile {
    /// Its shape.
    schema: String,
    /// Which proposal.
    fingerprint: String,
    /// Which revision of it.
    #[serde(default)]
    revision: Option<u64>,
    /// What was decided.
    decision: Decision,
    /// Why.
    reason: String,
    /// Who.
    by: String,
    /// Until when.
    #[serde(default)]
    until: Option<String>,
    /// What raises it again.
    #[serde(default)]
    unless: Option<Unless>,
}

/// Whether decision files wait in a reports folder.
pub fn is_waiting(reports: &Path) -> Result<bool> {
    Ok(look_into(&reports.join(proposals::FOLDER))?.iter().any(|name| name.ends_with(ENDING)))
}

/// Takes every decision file in, in the order of names. What comes back are warnings.
pub fn take_in(store: &Store, workspace: &Path, now: DateTime<Utc>) -> Result<Vec<String>> {
    let mut names = store.names(proposals::FOLDER)?;
    names.retain(|name| name.ends_with(ENDING));
    let mut warnings = Vec::new();
    if names.is_empty() {
        return Ok(warnings);
    }
    let mut ledger = read_ledger(store)?.0;
    let mut past = ledger.present();
    for name in &names {
        let path = store.in_reports(&format!("{}/{name}", proposals::FOLDER));
        match read(store, &path, name).and_then(|file| checked(&file, &past, workspace, now)) {
            Ok(fact) => {
                let (is_new, torn) = record(store, &ledger, now, &fact)?;
                warnings.extend(torn);
                if is_new {
                    ledger = read_ledger(store)?.0;
                    past = ledger.present();
                }
                warnings.extend(restand_file(store, &past, &fact.fingerprint)?);
                store.remove(&path)?;
            }
            Err(reason) => {
                warnings.push(format!("{}: {reason}; the file was left where it is", store.shown(&path)));
            }
        }
    }
    Ok(warnings)
}

/// The file's request, or what is wrong with the file.
fn read(store: &Store, path: &Path, name: &str) -> Result<DecisionFile, String> {
    let bytes = store.read_at_most(path, MOST_BYTES).map_err(|error| format!("{error:#}"))?;
    let bytes = bytes.ok_or("is gone")?;
    let file: DecisionFile = serde_json::from_slice(&bytes).map_err(|error| {
        let error = shortened(&error.to_string());
        format!("is no decision: {error}")
    })?;
    if file.schema != SCHEMA {
        return Err(format!("its schema is {:?}, {SCHEMA:?} is read", shortened(&file.schema)));
    }
    if name.strip_suffix(ENDING) != Some(file.fingerprint.as_str()) {
        return Err(format!("it speaks of {:?}, which is not what its name says", shortened(&file.fingerprint)));
    }
    Ok(file)
}

/// The event of a file, or why it is refused.
fn checked(file: &DecisionFile, past: &Past, workspace: &Path, now: DateTime<Utc>) -> Result<DecisionFact, String> {
    let known = past.proposals.get(&file.fingerprint).zip(past.lives.get(&file.fingerprint));
    let (fact, life) = known.ok_or("no proposal has this fingerprint")?;
    let request = Request {
        decision: file.decision,
        revision: file.revision,
        reason: file.reason.clone(),
        by: file.by.clone(),
        until: file.until.clone(),
        unless: file.unless,
    };
    decision_fact(&request, fact, life, config_state(workspace, fact), now).map_err(|refusal| refusal.to_string())
}

/// Text of a stranger, short enough for a message.
fn shortened(text: &str) -> String {
    crate::outputs::view::shortened(text, 160)
}

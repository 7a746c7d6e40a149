//! What the definitions that proposals speak of look like now: the digest at a file's pointer.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::change::document;
use crate::history::{Past, ProposalFact};
use crate::verdict::ProposalKind;
use crate::vocabulary::{ConfigFile, Digest, subtree_digest};

/// The present digests of the definitions that the ledger's proposals speak of.
pub struct Definitions<'a> {
    /// File, pointer → its digest; `None` when the file cannot be read.
    digests: BTreeMap<(&'a str, &'a str), Option<String>>,
    /// Pool → digest of its definition, for proposals that name no file that is still there.
    subtrees: &'a BTreeMap<String, String>,
}

impl<'a> Definitions<'a> {
    /// Reads every definition once.
    pub fn new(files: &[ConfigFile], subtrees: &'a BTreeMap<String, String>, past: &'a Past) -> Self {
        let mut documents: BTreeMap<&str, Option<Value>> = BTreeMap::new();
        for file in files {
            documents.insert(&file.path, document(file).ok());
        }
        let mut digests = BTreeMap::new();
        for known in past.proposals.values().chain(past.again.values()) {
            let Some(document) = documents.get(known.path.as_str()) else { continue };
            digests
                .entry((known.path.as_str(), known.pointer.as_str()))
                .or_insert_with(|| document.as_ref().map(|document| digest_at(document, &known.pointer)));
        }
        Self { digests, subtrees }
    }

    /// The digest of the definition that a proposal speaks of. One that is gone has the digest of `null`; `None` when it
    /// cannot be told.
    pub fn digest(&self, known: &ProposalFact) -> Option<String> {
        match self.digests.get(&(known.path.as_str(), known.pointer.as_str())) {
            Some(digest) => digest.clone(),
            None => self.subtrees.get(&known.pool).cloned().or_else(|| is_retired(known).then(null_digest)),
        }
    }
}

/// Whether a proposal takes its pool out: a pool that no file holds any more is out.
fn is_retired(known: &ProposalFact) -> bool {
    known.change == ProposalKind::RetirePool.as_str()
}

/// The digest of what is not there.
fn null_digest() -> String {
    Digest::of_json(&Value::Null).to_string()
}

/// The digest at a pointer, of `null` when nothing is there.
fn digest_at(document: &Value, pointer: &str) -> String {
    subtree_digest(document, pointer).map_or_else(null_digest, |digest| digest.to_string())
}

//! The patch of a proposal for `git apply`, or why it is refused: what moved, and what to do about it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

use super::card::{Card, FileState};
use crate::change::{document, rebased};
use crate::history::ProposalFact;
use crate::store::look;
use crate::verdict::Patch;
use crate::vocabulary::{ConfigFile, Digest, subtree_digest};

/// The name of the shape.
const SCHEMA: &str = "pool-review.proposals-patch/1";

/// Which way a patch leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The change.
    Forward,
    /// The way back of a landed change.
    Back,
}

/// How the definition that a proposal speaks of stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigState {
    /// As it was reviewed.
    AsReviewed,
    /// As the change leaves it.
    AsPredicted,
    /// Different from both.
    Moved,
    /// The file is not there or cannot be read.
    Unreadable,
}

impl ConfigState {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AsReviewed => "as_reviewed",
            Self::AsPredicted => "as_predicted",
            Self::Moved => "moved",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The config files of a workspace, each read once.
pub struct Configs<'a> {
    /// The workspace.
    workspace: &'a Path,
    /// Path → its parsed form; `None` when it cannot be read.
    documents: BTreeMap<String, Option<Value>>,
}

impl<'a> Configs<'a> {
    /// Nothing is read yet.
    pub fn new(workspace: &'a Path) -> Self {
        Self { workspace, documents: BTreeMap::new() }
    }

    /// How the definition of a proposal stands now.
    pub fn state(&mut self, fact: &ProposalFact) -> ConfigState {
        let read = || config(self.workspace, &fact.path).and_then(|file| document(&file).ok());
        match self.documents.entry(fact.path.clone()).or_insert_with(read) {
            Some(document) => state(document, fact),
            None => ConfigState::Unreadable,
        }
    }
}

/// How the definition of a proposal stands in a workspace now.
pub fn config_state(workspace: &Path, fact: &ProposalFact) -> ConfigState {
    Configs::new(workspace).state(fact)
}

/// How the definition of a proposal stands in a parsed file.
fn state(document: &Value, fact: &ProposalFact) -> ConfigState {
    let digest = subtree_digest(document, &fact.pointer).unwrap_or_else(|| Digest::of_json(&Value::Null));
    if digest.as_str() == fact.subtree_digest {
        ConfigState::AsReviewed
    } else if fact.subtree_digest_after.as_deref() == Some(digest.as_str()) {
        ConfigState::AsPredicted
    } else {
        ConfigState::Moved
    }
}

/// A file of the config, if it is inside the workspace and text.
fn config(workspace: &Path, path: &str) -> Option<ConfigFile> {
    let is_inside = !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    let bytes = look(&workspace.join(path)).ok().flatten().filter(|_| is_inside)?;
    Some(ConfigFile { path: path.to_owned(), text: String::from_utf8(bytes).ok()? })
}

/// The patch of a proposal, carried over to the file as it stands when that changed elsewhere. Errors say what moved and what to do:
/// nothing is handed out that does not fit the config.
pub fn patch(workspace: &Path, card: &Card<'_>, way: Way) -> Result<Patch> {
    let label = card.label();
    if card.fact.is_test() {
        bail!(
            "{label} is a test plan: it changes no config, so there is no patch; `pool-review proposals show {label}` has the plan"
        );
    }
    ensure_status(card, way)?;
    let proposal = match (card.file, &card.proposal) {
        (_, Some(proposal)) => proposal,
        (FileState::Missing, None) => {
            bail!("{label}: its file is gone; run `pool-review review` to have it written again")
        }
        (_, None) => bail!(
            "{label}: its file {}, so its patch is not handed out; run `pool-review review` to have it written again",
            card.why_edited()
        ),
    };
    let patch = match way {
        Way::Forward => proposal.change.config().map(|change| (&change.patch, &change.ops)),
        Way::Back => proposal.rollback.patch.as_ref().map(|patch| (patch, &proposal.rollback.ops)),
    };
    let (patch, ops) =
        patch.ok_or_else(|| anyhow!("{label} is a test plan: it changes no config, so there is no patch"))?;
    fitting(workspace, card, (patch, ops), way)
}

/// Errors unless the status has something to apply.
fn ensure_status(card: &Card<'_>, way: Way) -> Result<()> {
    let (label, status) = (card.label(), card.life.status);
    match way {
        Way::Forward if status.is_open() || status.is_suppressed() => Ok(()),
        Way::Forward if status.is_landed() => {
            bail!("{label} has landed; `pool-review proposals patch {label} --rollback` prints the way back")
        }
        Way::Back if status.is_landed() => Ok(()),
        Way::Back => bail!("{label} is {}, it has not landed: there is nothing to take back", status.as_str()),
        Way::Forward => bail!("{label} is {}: it is argued no more, and its patch is not handed out", status.as_str()),
    }
}

/// The patch for the file as it stands: the one that was made, or the same change carried over.
fn fitting(workspace: &Path, card: &Card<'_>, (made, ops): (&Patch, &[Value]), way: Way) -> Result<Patch> {
    let (label, path) = (card.label(), &made.path);
    let file = config(workspace, path).ok_or_else(|| anyhow!("{label}: {path} is not there or cannot be read"))?;
    if file.blob() == made.blob {
        return Ok(made.clone());
    }
    let pointer = &card.fact.pointer;
    let state = config_state(workspace, card.fact);
    let again = "run `pool-review review` for a fresh one";
    match (state, way) {
        (ConfigState::Moved, Way::Forward) => {
            bail!("{label}: {pointer} in {path} has changed since it was reviewed, so the proposal is stale; {again}")
        }
        (ConfigState::Moved, Way::Back) => {
            bail!(
                "{label}: {pointer} in {path} has changed since the landing, so the way back no longer fits; edit it by hand"
            )
        }
        (ConfigState::AsPredicted, Way::Forward) => bail!(
            "{label}: {pointer} in {path} is already as the change leaves it; the next `pool-review review` records the landing"
        ),
        (ConfigState::AsReviewed, Way::Back) => bail!(
            "{label}: {pointer} in {path} is already as it was before; the next `pool-review review` records the rollback"
        ),
        (ConfigState::AsReviewed, Way::Forward) => rebased(&file, made, ops).ok_or_else(|| {
            anyhow!(
                "{label}: {path} has changed around {pointer} since the review, so the patch no longer applies; {again}"
            )
        }),
        (ConfigState::AsPredicted, Way::Back) => rebased(&file, made, ops).ok_or_else(|| {
            anyhow!("{label}: {path} has changed around {pointer} since the landing; take the change back by hand")
        }),
        (ConfigState::Unreadable, _) => bail!("{label}: {path} cannot be read as JSONC"),
    }
}

/// The answer as JSON.
pub fn patch_json(card: &Card<'_>, patch: &Patch, way: Way) -> String {
    let value = json!({
        "schema": SCHEMA,
        "fingerprint": card.fact.fingerprint,
        "number": card.life.number,
        "revision": card.fact.revision,
        "way": if way == Way::Forward { "forward" } else { "back" },
        "path": patch.path,
        "blob": patch.blob,
        "result_blob": patch.result_blob,
        "text": patch.text,
    });
    format!("{value:#}\n")
}

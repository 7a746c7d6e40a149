//! One proposal as a steward meets it: what the ledger knows, and what its file says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use crate::history::{Ledger, Life, Past, ProposalFact, stand};
use crate::outputs::LEDGER;
use crate::outputs::ledger::{damage, unlocked};
use crate::store::look;
use crate::verdict::{Proposal, content_digest};
use crate::vocabulary::Reject;

/// Most proposals that are named when a prefix fits several.
const MOST_NAMED: usize = 5;

/// The proposals of a reports folder, read without taking its lock.
pub struct Shelf {
    /// The folder.
    reports: PathBuf,
    /// What the ledger knows.
    pub past: Past,
    /// Lines of the ledger that are not part of its chain.
    pub problems: Vec<Reject>,
    /// The ledger.
    ledger: Ledger,
    /// How messages name it.
    shown: String,
}

/// What a proposal's file is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// It says what the ledger knows.
    Intact,
    /// There is none.
    Missing,
    /// It says something else.
    Edited,
}

impl FileState {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Missing => "missing",
            Self::Edited => "edited",
        }
    }
}

/// One proposal.
pub struct Card<'a> {
    /// What a run said of it last, with its present status.
    pub fact: &'a ProposalFact,
    /// Its life.
    pub life: &'a Life,
    /// Runs so far.
    runs: u64,
    /// Its file, if it is intact.
    pub proposal: Option<Proposal>,
    /// What its file is worth.
    pub file: FileState,
    /// Where the ledger is damaged, if that may be why the file says something else.
    pub damage: Option<String>,
}

impl Card<'_> {
    /// Why a file that is not intact says something else than the ledger.
    pub fn why_edited(&self) -> String {
        match &self.damage {
            Some(place) => format!(
                "says something else than what is left of the ledger, which is damaged at {place}: restore that line from version control"
            ),
            None => "was edited by hand".to_owned(),
        }
    }

    /// `R3`.
    pub fn label(&self) -> String {
        format!("R{}", self.life.number)
    }

    /// What it is called: its title, or its identity where the file is gone.
    pub fn title(&self) -> String {
        let of_fact = || {
            let other =
                if self.fact.counterpart.is_empty() { String::new() } else { format!(" / {}", self.fact.counterpart) };
            format!("{}: {} {}{other} ({})", self.fact.pool, self.fact.change, self.fact.subject, self.fact.code)
        };
        self.proposal.as_ref().map_or_else(of_fact, |proposal| proposal.title.clone())
    }

    /// Runs that carried it after the one that opened it.
    pub fn carried(&self) -> u64 {
        self.life.carried(self.runs)
    }
}

impl Shelf {
    /// Reads the ledger of a reports folder; `shown` is how messages name that folder.
    pub fn read(reports: &Path, shown: &Path) -> Result<Self> {
        let name = shown.join(LEDGER).display().to_string();
        let (ledger, problems) = unlocked(&reports.join(LEDGER), &name)?;
        Ok(Self { reports: reports.to_owned(), past: ledger.present(), problems, ledger, shown: name })
    }

    /// Every pool and category that the last review judged or that a proposal is about.
    pub fn pools(&self) -> BTreeSet<String> {
        let judged = self.past.outcomes.keys().map(|(pool, _)| pool.clone());
        judged.chain(self.past.proposals.values().map(|fact| fact.pool.clone())).collect()
    }

    /// The proposals that are wanted, by number, ties by fingerprint. Only their files are read.
    pub fn cards(&self, is_wanted: impl Fn(&ProposalFact) -> bool) -> Result<Vec<Card<'_>>> {
        let wanted = self.past.proposals.values().filter(|fact| is_wanted(fact));
        let mut cards = wanted.map(|fact| self.card(&fact.fingerprint)).collect::<Result<Vec<_>>>()?;
        cards.sort_by(|a, b| {
            a.life.number.cmp(&b.life.number).then_with(|| a.fact.fingerprint.cmp(&b.fact.fingerprint))
        });
        Ok(cards)
    }

    /// The proposal with this fingerprint.
    pub fn card(&self, fingerprint: &str) -> Result<Card<'_>> {
        let known = self.past.proposals.get(fingerprint).zip(self.past.lives.get(fingerprint));
        let (fact, life) = known.ok_or_else(|| anyhow!("no proposal has the fingerprint {fingerprint:?}"))?;
        let bytes = look(&self.reports.join("proposals").join(format!("{fingerprint}.json")))
            .with_context(|| format!("reading the file of {fingerprint}"))?;
        let proposal = bytes.as_deref().and_then(|bytes| intact(bytes, fact, life));
        let file = match (&bytes, &proposal) {
            (None, _) => FileState::Missing,
            (Some(_), Some(_)) => FileState::Intact,
            (Some(_), None) => FileState::Edited,
        };
        let damage = if file == FileState::Edited { damage(&self.ledger, &self.shown, fingerprint) } else { None };
        Ok(Card { fact, life, runs: self.past.lives.runs(), proposal, file, damage })
    }

    /// The proposal that an id names: a number (`R3`), a fingerprint, or the beginning of exactly one.
    ///
    /// Errors: an id that is neither, one that fits none, one that fits several (which are named).
    pub fn find(&self, id: &str) -> Result<Card<'_>> {
        if let Some(number) = id.strip_prefix(['R', 'r']).and_then(|digits| digits.parse::<u64>().ok()) {
            let named = self.past.lives.iter().find(|(_, life)| life.number == number);
            let (fingerprint, _) = named.ok_or_else(|| anyhow!("there is no R{number}; {}", self.hint()))?;
            return self.card(fingerprint);
        }
        let hex = id.strip_prefix("pcr1-").unwrap_or(id);
        if hex.is_empty() || hex.len() > 32 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("{id:?} is no id: give R and a number, a fingerprint, or how one begins");
        }
        let begins = format!("pcr1-{}", hex.to_ascii_lowercase());
        let fits: Vec<&String> = self.past.proposals.keys().filter(|one| one.starts_with(&begins)).collect();
        match fits.as_slice() {
            [] => bail!("no proposal begins with {id:?}; {}", self.hint()),
            [one] => self.card(one),
            several => bail!("{} proposals begin with {id:?}: {}; give more of it", several.len(), self.named(several)),
        }
    }

    /// The first few of several fingerprints, with their numbers.
    fn named(&self, several: &[&String]) -> String {
        let name = |one: &&String| {
            let number = self.past.lives.get(one).map_or(0, |life| life.number);
            format!("{one} (R{number})")
        };
        let mut names: Vec<String> = several.iter().take(MOST_NAMED).map(name).collect();
        if several.len() > MOST_NAMED {
            names.push("…".to_owned());
        }
        names.join(", ")
    }

    /// What to do about an id that fits none.
    fn hint(&self) -> &'static str {
        if self.past.proposals.is_empty() {
            "the ledger holds no proposal yet"
        } else {
            "`pool-review proposals list --all` shows every one"
        }
    }
}

/// The proposal of a file that says what the ledger knows, standing included.
fn intact(bytes: &[u8], fact: &ProposalFact, life: &Life) -> Option<Proposal> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let digest = content_digest(&value);
    let proposal: Proposal = serde_json::from_value(value).ok()?;
    let mut standing = proposal.clone();
    stand(&mut standing, life);
    let is_kept = digest.as_str() == fact.content_digest && proposal.content_digest == fact.content_digest;
    (is_kept && standing == proposal).then_some(proposal)
}

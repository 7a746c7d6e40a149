//! The report: one value per run that every output is a view of.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Basis, Calibration, Chart, Finding, Proposal, Sentence, Standing, Unit, Verdict};
use crate::vocabulary::{CheckId, PoolId, SourceNote, Tier};

/// How an outcome relates to the previous run (SARIF's words).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// Not there before.
    New,
    /// As before.
    Unchanged,
    /// There before, and different.
    Updated,
    /// There before, and gone.
    Absent,
}

impl Baseline {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Unchanged => "unchanged",
            Self::Updated => "updated",
            Self::Absent => "absent",
        }
    }
}

/// One number behind a verdict that is no finding of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// What it is ("standing of the lead").
    pub what: String,
    /// Whom it is about: a name from outside, or empty.
    pub of: String,
    /// The value; `None` is unknown.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: Unit,
    /// 90 % interval, where one exists.
    pub interval: Option<(f64, f64)>,
    /// Observations behind it.
    pub n: Option<u64>,
    /// What those are, where they are no attempts of our own rows.
    pub basis: Option<Basis>,
    /// Why it is unknown, or what it rests on ("1 index imputed").
    pub remark: String,
}

/// What a report row is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A pool of the config.
    Pool,
    /// A consumer that names a model directly: a pool of one.
    Single,
    /// A category: its own structural findings, and its pool's verdict by reference.
    Category {
        /// The pool it runs on, if that exists.
        pool: Option<PoolId>,
    },
}

/// One check of one pool.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckReport {
    /// The check.
    pub check: CheckId,
    /// Its verdict: the worst of its findings, or what it says without any.
    pub verdict: Verdict,
    /// Against the previous run; filled by history.
    pub state: Baseline,
    /// Run id where the present outcome began; filled by history.
    pub since: String,
    /// One sentence that carries the verdict with its numbers, for the folded table.
    pub summary: Sentence,
    /// What the verdict waits for or lacks, one code each (`stale:market`, `first_look`).
    pub reasons: Vec<String>,
    /// Facts, worst first.
    pub findings: Vec<Finding>,
    /// The numbers behind the verdict.
    pub numbers: Vec<Number>,
}

/// One pool or category.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolReport {
    /// Its id; `category/<id>` for a category.
    pub id: PoolId,
    /// What it is.
    pub subject: Subject,
    /// Tier, if one is set or assumed.
    pub tier: Option<Tier>,
    /// Owner, if one is named.
    pub owner: Option<String>,
    /// The worst of its checks.
    pub verdict: Verdict,
    /// Against the previous run; filled by history.
    pub state: Baseline,
    /// Run id where the present outcome began; filled by history.
    pub since: String,
    /// The members by target as the router spells them, lead first where there is one, with configured share.
    pub members: Vec<(String, f64)>,
    /// The lead's target, if there is a ring.
    pub lead: Option<String>,
    /// The checks, in registry order.
    pub checks: Vec<CheckReport>,
    /// The numbers behind its pictures; empty for a category.
    pub chart: Chart,
}

/// Outcomes by baseline state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Not there before.
    pub new: u64,
    /// As before.
    pub unchanged: u64,
    /// Different.
    pub updated: u64,
    /// Gone.
    pub absent: u64,
}

/// Everything one run has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// `now` in UTC as `20261129T120000Z`.
    pub run_id: String,
    /// The review instant.
    pub now: DateTime<Utc>,
    /// Whether `now` comes from `frozen_now` of the instruction file.
    pub is_frozen: bool,
    /// Path of the instruction file.
    pub settings_path: String,
    /// Settings key → line, for limits ("latest.quality" → 41); a key that stands at its default is absent.
    pub setting_lines: BTreeMap<String, usize>,
    /// The run before, if the ledger knows one.
    pub previous_run: Option<String>,
    /// How each source was read, in print order.
    pub sources: Vec<SourceNote>,
    /// Pools in config order, then pools of one, then categories.
    pub pools: Vec<PoolReport>,
    /// Proposals open after this run, by fingerprint.
    pub proposals: Vec<Proposal>,
    /// Where proposals stand, by fingerprint: open ones, sleeping ones, landed ones that are not measured yet, and those that
    /// ended since the run before.
    pub standings: BTreeMap<String, Standing>,
    /// Ids that could not be matched: source, id, suggestion (never used).
    pub unmatched: Vec<(String, String, Option<String>)>,
    /// The market's index version, if one was read; its presence obliges to credit.
    pub index_version: Option<String>,
    /// Further remarks on the whole run.
    pub remarks: Vec<Sentence>,
    /// Digest of the policy.
    pub policy_digest: String,
    /// The next due instant of the schedule.
    pub next_due: Option<DateTime<Utc>>,
    /// Outcomes by baseline state.
    pub counts: Counts,
    /// The reviewer, measured.
    pub calibration: Calibration,
}

impl Report {
    /// The number of a proposal, `R3`; empty where none is known.
    pub fn label(&self, fingerprint: &str) -> String {
        self.standings.get(fingerprint).map(Standing::label).unwrap_or_default()
    }

    /// What is worth a word beside the open proposals, those whose way back is due first, then by number: those that sleep, that landed or ended, that were accepted
    /// since the run before, and those of which a steward said what the config does not show.
    pub fn other_standings(&self) -> Vec<&Standing> {
        let is_told = |standing: &&Standing| {
            standing.unseen.is_some()
                || standing.due.is_some()
                || match standing.status.as_str() {
                    "proposed" => false,
                    "accepted" => standing.is_moved,
                    _ => true,
                }
        };
        let mut told: Vec<&Standing> = self.standings.values().filter(is_told).collect();
        told.sort_by_key(|standing| (standing.due.is_none(), standing.number));
        told
    }

    /// Pools and categories by verdict.
    pub fn tally(&self) -> BTreeMap<Verdict, usize> {
        let mut tally = BTreeMap::new();
        for pool in &self.pools {
            *tally.entry(pool.verdict).or_insert(0) += 1;
        }
        tally
    }

    /// Whether some pool could not be judged (exit code 3).
    pub fn has_blocked(&self) -> bool {
        self.pools.iter().any(|pool| pool.verdict == Verdict::Blocked)
    }
}

//! What stands between a finding that asks for a change and a proposal (methods §8.4): nothing new without new evidence, the
//! cooldown of an axis, the run's mean error, and how many statistical changes there may be. Facts pass all of them.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::change::{Identity, identity};
use crate::evidence::statistics::discovery::fdr_prefix;
use crate::history::{Past, ProposalFact};
use crate::settings::Settings;
use crate::verdict::{Finding, PoolReport, ProposalKind};
use crate::vocabulary::{CheckId, SourceId, SourceNote};

/// Days an axis rests after a landing.
const COOLDOWN_DAYS: f64 = 7.0;
/// Hours it rests at least when windows are argued about.
const WINDOW_COOLDOWN_HOURS: f64 = 24.0;
/// Codes whose findings are estimates.
const STATISTICAL: [&str; 6] =
    ["lead_loses_on_sessions", "speed_spread", "over_powered", "under_powered", "share_mismatch", "dominated"];

/// What the gates of a run know.
pub(super) struct Gates<'a> {
    /// The past.
    pub(super) past: &'a Past,
    /// Settings.
    pub(super) settings: &'a Settings,
    /// The review instant.
    pub(super) now: DateTime<Utc>,
    /// How the sources were read.
    pub(super) notes: &'a [SourceNote],
    /// Pool → digest of its definition.
    pub(super) subtrees: &'a BTreeMap<String, String>,
}

/// What the gates decided.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Fingerprint → why it is held.
    pub(super) held: BTreeMap<String, String>,
    /// Mean error of the run's new statistical claims that may be made.
    pub(super) mean_error: Option<f64>,
}

/// A finding that asks for a change.
struct Asking<'a> {
    /// The finding.
    finding: &'a Finding,
    /// What is argued.
    identity: Identity,
    /// Whether the ledger holds it open.
    is_open: bool,
}

impl Asking<'_> {
    /// Whether it is an estimate.
    fn is_statistical(&self) -> bool {
        self.finding.claim.is_some()
    }

    /// Whether it asks for a test.
    fn is_test(&self) -> bool {
        self.finding.intent.as_ref().is_some_and(|intent| intent.kind == ProposalKind::ControlledTest)
    }

    /// Its claim probability.
    fn p(&self) -> f64 {
        self.finding.claim.as_ref().map_or(0.0, |claim| claim.probability)
    }

    /// Dollars a day it is worth.
    fn worth(&self) -> f64 {
        self.finding.claim.as_ref().map_or(0.0, |claim| claim.usd_per_day)
    }
}

impl Gates<'_> {
    /// Which findings wait, and why.
    pub(super) fn pass(&self, pools: &[PoolReport]) -> Passed {
        let findings = pools.iter().flat_map(|pool| &pool.checks).flat_map(|check| &check.findings);
        let asking: Vec<Asking<'_>> = findings
            .filter(|finding| finding.held.is_none())
            .filter_map(|finding| {
                let identity = identity(finding)?;
                let known = self.past.proposals.get(&identity.fingerprint);
                let is_open = known.is_some_and(ProposalFact::is_open);
                // One that a steward put to sleep asks for nothing, and takes nobody's place.
                let sleeps = known.is_some_and(|known| known.status.is_suppressed());
                (!sleeps).then_some(Asking { finding, identity, is_open })
            })
            .collect();
        let mut passed = Passed::default();
        for asked in asking.iter().filter(|asked| !asked.is_open && !is_fact(asked.finding)) {
            if let Some(reason) = self.rests(asked) {
                passed.held.insert(asked.identity.fingerprint.clone(), reason);
            }
        }
        self.discoveries(&asking, &mut passed);
        self.traffic(&asking, &mut passed);
        passed
    }

    /// Why a new finding waits although its bar is cleared: nothing new was read since the pool changed, or its axis rests.
    fn rests(&self, asked: &Asking<'_>) -> Option<String> {
        let known = self.past.proposals.get(&asked.identity.fingerprint);
        if known.is_some_and(|known| known.status.is_measured()) {
            let what = if asked.is_test() { "its test is under way" } else { "its change has landed" };
            return Some(format!("{what} and is being measured"));
        }
        let pool = asked.finding.pool.as_str();
        if let Some(before) = self.subtrees.get(pool).and_then(|now| self.past.sources_before_change(pool, now)) {
            let has_moved = |source: &SourceId| before.get(source.as_str()) != self.digest(*source).as_ref();
            let cited = asked.finding.sources.iter().filter(|s| !matches!(s, SourceId::Pools | SourceId::Categories));
            if !cited.into_iter().any(has_moved) {
                return Some("the pool has just changed, and nothing new was read since".to_owned());
            }
        }
        let landed = self.past.landed(pool).find(|(axis, _)| *axis == asked.identity.axis)?.1;
        #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
        let hours = (self.now - landed).num_seconds() as f64 / 3600.0;
        let is_window = matches!(asked.finding.code, "lead_window_scarce" | "scarcer_window");
        let rest = if is_window { WINDOW_COOLDOWN_HOURS } else { COOLDOWN_DAYS * 24.0 };
        (hours < rest).then(|| format!("a change between the same two landed {hours:.0} h ago, {rest:.0} h are kept"))
    }

    /// The digest of a source, or how its reading ended, as the ledger keeps it.
    fn digest(&self, source: SourceId) -> Option<String> {
        let note = self.notes.iter().find(|note| note.source == source)?;
        note.digest.as_ref().map(ToString::to_string)
    }

    /// The false-discovery prefix over the run's new claims.
    fn discoveries(&self, asking: &[Asking<'_>], passed: &mut Passed) {
        let is_new = |asked: &&Asking<'_>| {
            asked.is_statistical()
                && !asked.is_test()
                && !asked.is_open
                && !passed.held.contains_key(&asked.identity.fingerprint)
        };
        let claims: Vec<(&str, f64)> =
            asking.iter().filter(is_new).map(|asked| (asked.identity.fingerprint.as_str(), asked.p())).collect();
        let prefix = fdr_prefix(&claims, self.settings.thresholds.bars.false_discovery);
        passed.mean_error = prefix.kept.checked_sub(1).and_then(|last| prefix.running_error.get(last).copied());
        for (id, error) in prefix.order.iter().zip(&prefix.running_error).skip(prefix.kept) {
            let reason = format!(
                "with it the run's claims would err by {:.1} % on average, at most {:.0} % are accepted",
                error * 100.0,
                self.settings.thresholds.bars.false_discovery * 100.0
            );
            passed.held.insert((*id).to_owned(), reason);
        }
    }

    /// Open statistical changes per pool, and new ones per run: largest saving per day first, ties by fingerprint.
    fn traffic(&self, asking: &[Asking<'_>], passed: &mut Passed) {
        let limits = &self.settings.thresholds.traffic;
        let mut open: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for known in self.past.proposals.values().filter(|known| known.is_open()) {
            if STATISTICAL.contains(&known.code.as_str()) {
                open.entry(&known.pool).or_default().insert(&known.fingerprint);
            }
        }
        let mut fresh: Vec<&Asking<'_>> = asking
            .iter()
            .filter(|a| a.is_statistical() && !a.is_open && !passed.held.contains_key(&a.identity.fingerprint))
            .collect();
        fresh.sort_by(|a, b| {
            let by_kind = a.is_test().cmp(&b.is_test());
            let by_worth = b.worth().total_cmp(&a.worth());
            by_kind.then(by_worth).then_with(|| a.identity.fingerprint.cmp(&b.identity.fingerprint))
        });
        let mut made = 0;
        for asked in fresh {
            let in_pool = open.entry(asked.finding.pool.as_str()).or_default();
            let reason = if in_pool.len() >= limits.open_per_pool as usize {
                Some(format!("{} statistical change of this pool is open already", in_pool.len()))
            } else if made >= limits.new_per_run {
                Some(format!("{} new statistical proposals of this run go first", limits.new_per_run))
            } else {
                None
            };
            if let Some(reason) = reason {
                passed.held.insert(asked.identity.fingerprint.clone(), reason);
            } else {
                in_pool.insert(&asked.identity.fingerprint);
                made += 1;
            }
        }
    }
}

/// Whether a finding is a fact that waits for nothing.
fn is_fact(finding: &Finding) -> bool {
    let is_end = matches!(finding.code, "retired" | "retirement_due" | "successor");
    finding.check == CheckId::Structure || (finding.check == CheckId::LatestModel && is_end)
}

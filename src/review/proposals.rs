//! From findings that ask for a change to proposals: the edits are worked out, the result is parsed and rebuilt through the
//! ring constructor, and only then may it be said. A finding whose change does not pass keeps its place and says why.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};

use super::gates::{Gates, Passed};
use super::gather::Gathered;
use super::results::Rules;
use crate::change::{Answer, Draft, ProposeContext, Question, identity, propose, propose_test};
use crate::history::Past;
use crate::settings::Settings;
use crate::verdict::{BarTerm, Finding, Intent, PoolReport, Proposal, ProposalKind, Subject};

/// What making proposals needs.
pub(super) struct Maker<'a> {
    /// Everything read.
    pub(super) gathered: &'a Gathered,
    /// Settings.
    pub(super) settings: &'a Settings,
    /// The past.
    pub(super) past: &'a Past,
    /// The review instant.
    pub(super) now: DateTime<Utc>,
    /// Pool → digest of its definition.
    pub(super) subtrees: &'a BTreeMap<String, String>,
    /// What a change must keep to.
    pub(super) rules: Rules<'a>,
}

impl Maker<'_> {
    /// The proposals of all findings, by fingerprint; findings whose change does not pass are marked with the reason.
    pub(super) fn make(&self, pools: &mut [PoolReport]) -> Vec<Proposal> {
        let gates = Gates {
            past: self.past,
            settings: self.settings,
            now: self.now,
            notes: &self.gathered.notes,
            subtrees: self.subtrees,
        };
        let passed = gates.pass(pools);
        let controls = untouched(pools);
        let mut proposals: BTreeMap<String, Proposal> = BTreeMap::new();
        let mut drafts = Drafts::new();
        for finding in pools.iter_mut().flat_map(|pool| &mut pool.checks).flat_map(|check| &mut check.findings) {
            if finding.intent.is_none() || finding.held.is_some() {
                continue;
            }
            let fingerprint = identity(finding).map(|identity| identity.fingerprint).unwrap_or_default();
            if let Some(reason) = passed.held.get(&fingerprint) {
                finding.held = Some(reason.clone());
                continue;
            }
            match self.proposal(finding, &passed, &controls, &mut drafts) {
                Ok(proposal) => {
                    proposals.insert(proposal.fingerprint.clone(), proposal);
                }
                Err(reason) => finding.held = Some(reason),
            }
        }
        proposals.into_values().collect()
    }

    /// One proposal, or why there is none.
    fn proposal(
        &self,
        finding: &Finding,
        passed: &Passed,
        controls: &[String],
        drafts: &mut Drafts,
    ) -> Result<Proposal, String> {
        let intent = finding.intent.as_ref().ok_or("asks for no change")?;
        let file = self.file(&intent.path, drafts)?;
        let known =
            crate::change::identity(finding).and_then(|identity| self.past.proposals.get(&identity.fingerprint));
        let first_seen = known.and_then(|known| DateTime::parse_from_rfc3339(&known.first_seen).ok());
        let context = ProposeContext {
            now: self.now,
            first_seen: first_seen.map_or(self.now, |at| at.to_utc()),
            revision: known.map_or(1, |known| known.revision),
            expires: self.expires(intent),
            reviewer_version: env!("CARGO_PKG_VERSION"),
            policy_digest: self.settings.policy.digest.as_str(),
            commit: None,
            notes: &self.gathered.notes,
            terms: &run_terms(finding, passed, self.settings),
            answers: run_answers(finding, passed, self.settings),
            controls,
        };
        if intent.kind == ProposalKind::ControlledTest {
            return propose_test(finding, file, &context).map_err(|error| error.to_string());
        }
        let applied = file.apply(&intent.edits, &intent.pointer).map_err(|error| error.to_string())?;
        self.rules.check_result(&finding.pool, intent, &applied)?;
        propose(finding, &applied, &context).map_err(|error| error.to_string())
    }

    /// When a proposal lapses: after its days, or at the reset of the window that caused it.
    fn expires(&self, intent: &Intent) -> DateTime<Utc> {
        let days = match intent.kind {
            ProposalKind::ControlledTest => self.settings.thresholds.test_expiry_days,
            _ => self.settings.thresholds.expiry_days,
        };
        let lapses = self.now + expiry(days);
        intent.expires.filter(|reset| *reset > self.now).map_or(lapses, |reset| reset.min(lapses))
    }

    /// The file a change is made in, as far as it may be changed.
    fn file<'d>(&self, path: &str, drafts: &'d mut Drafts) -> Result<&'d Draft, String> {
        self.rules.may_change(path)?;
        let config = &self.gathered.config;
        let read = || {
            let file = config.files.iter().find(|file| file.path == path).ok_or("its file was not read")?;
            Draft::read(file).map_err(|error| error.to_string())
        };
        drafts.entry(path.to_owned()).or_insert_with(read).as_ref().map_err(Clone::clone)
    }
}

/// Path → the file as it was read, once for all changes of it.
type Drafts = BTreeMap<String, Result<Draft, String>>;

/// How long a change stays open.
#[expect(clippy::cast_possible_truncation, reason = "settings keep day counts small and finite")]
fn expiry(days: f64) -> Duration {
    Duration::seconds((days * 86_400.0) as i64)
}

/// Pools that this run asks nothing of: a measured change may be compared with them.
fn untouched(pools: &[PoolReport]) -> Vec<String> {
    let asks = |pool: &PoolReport| pool.checks.iter().flat_map(|check| &check.findings).any(|f| f.intent.is_some());
    let mut ids: Vec<String> = pools
        .iter()
        .filter(|pool| pool.subject == Subject::Pool && !asks(pool))
        .map(|pool| pool.id.to_string())
        .collect();
    ids.sort();
    ids
}

/// The thresholds that the run as a whole sets for a claim.
fn run_terms(finding: &Finding, passed: &Passed, settings: &Settings) -> Vec<BarTerm> {
    let is_claim = finding.claim.as_ref().is_some_and(|claim| claim.test.is_none());
    let Some(error) = passed.mean_error.filter(|_| is_claim) else { return Vec::new() };
    #[expect(clippy::cast_possible_truncation, reason = "millionths of 1")]
    let ppm = |share: f64| (share * 1e6).round() as i64;
    let (value, needed) = (ppm(error), ppm(settings.thresholds.bars.false_discovery));
    vec![BarTerm {
        name: "mean_error_of_run_ppm".to_owned(),
        value,
        needed,
        op: "<=".to_owned(),
        pass: value <= needed,
    }]
}

/// What the gates answer for a claim.
fn run_answers(finding: &Finding, passed: &Passed, settings: &Settings) -> BTreeMap<Question, Answer> {
    if finding.claim.is_none() {
        return BTreeMap::new();
    }
    let bound = settings.thresholds.bars.false_discovery;
    let error = match passed.mean_error {
        Some(error) => Answer::new(
            Some(true),
            "WithinTheBound",
            format!("mean error of this run's claims {error:.3}, at most {bound:.2}"),
        ),
        None => Answer::new(None, "NotApplicable", "this run makes no new claim of this kind"),
    };
    BTreeMap::from([
        (Question::FalseDiscoveryClear, error),
        (
            Question::CooldownClear,
            Answer::new(Some(true), "NoRecentLanding", "no change on this axis landed in the last 7 days"),
        ),
        (
            Question::NoConflict,
            Answer::new(Some(true), "OneOpenChange", "no other statistical change of this pool is open"),
        ),
    ])
}

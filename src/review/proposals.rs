//! From findings that ask for a change to proposals: the edits are worked out, the result is parsed and rebuilt through the
//! ring constructor, and only then may it be said. A finding whose change does not pass keeps its place and says why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};

use super::gates::{Gates, Passed};
use super::gather::Gathered;
use crate::change::{Answer, Applied, ProposeContext, Question, apply, document, identity, propose, propose_test};
use crate::history::Past;
use crate::ring::{Catalogue, ResolvedRing, RingError, RingInput, Rule};
use crate::settings::Settings;
use crate::sources::pools::{openchamber, opencode};
use crate::verdict::{BarTerm, Finding, Intent, PoolReport, Proposal, ProposalKind, Subject};
use crate::vocabulary::{ConfigFile, FleetConfig, ModelId, PoolFormat, PoolId, TargetKind, TargetRef};

/// What making proposals needs.
pub(super) struct Maker<'a> {
    /// Everything read.
    pub(super) gathered: &'a Gathered,
    /// Settings.
    pub(super) settings: &'a Settings,
    /// The catalogue, if it may be used.
    pub(super) catalogue: Option<&'a Catalogue>,
    /// The past.
    pub(super) past: &'a Past,
    /// The review instant.
    pub(super) now: DateTime<Utc>,
    /// Pool → digest of its definition.
    pub(super) subtrees: &'a BTreeMap<String, String>,
    /// Canonical model → vendor, for the rules on vendors.
    pub(super) vendors: Arc<BTreeMap<ModelId, String>>,
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
        for finding in pools.iter_mut().flat_map(|pool| &mut pool.checks).flat_map(|check| &mut check.findings) {
            if finding.intent.is_none() || finding.held.is_some() {
                continue;
            }
            let fingerprint = identity(finding).map(|identity| identity.fingerprint).unwrap_or_default();
            if let Some(reason) = passed.held.get(&fingerprint) {
                finding.held = Some(reason.clone());
                continue;
            }
            match self.proposal(finding, &passed, &controls) {
                Ok(proposal) => {
                    proposals.insert(proposal.fingerprint.clone(), proposal);
                }
                Err(reason) => finding.held = Some(reason),
            }
        }
        proposals.into_values().collect()
    }

    /// One proposal, or why there is none.
    fn proposal(&self, finding: &Finding, passed: &Passed, controls: &[String]) -> Result<Proposal, String> {
        let intent = finding.intent.as_ref().ok_or("asks for no change")?;
        let file = self.file(&intent.path)?;
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
            let document = document(file).map_err(|error| error.to_string())?;
            return propose_test(finding, file, &document, &context).map_err(|error| error.to_string());
        }
        let applied = apply(file, &intent.edits).map_err(|error| error.to_string())?;
        self.check_result(&finding.pool, intent, &applied)?;
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

    /// The file a change is made in. One outside the workspace cannot be patched from it, and only opencode and `OpenChamber`
    /// files are patched at all.
    fn file(&self, path: &str) -> Result<&ConfigFile, String> {
        let config = &self.gathered.config;
        let other = config.routes.iter().find(|route| route.path == path && route.format != PoolFormat::OpenCode);
        if let Some(route) = other {
            return Err(format!("files of {} are changed by hand", route.format.as_str()));
        }
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err("outside_workspace".to_owned());
        }
        config.files.iter().find(|file| file.path == path).ok_or_else(|| "its file was not read".to_owned())
    }

    /// Rebuilds what the change would leave behind: the file must parse, the pool must still have a ring, and no pool may
    /// break a rule that it keeps today.
    fn check_result(&self, pool: &PoolId, intent: &Intent, applied: &Applied) -> Result<(), String> {
        let file = ConfigFile { path: intent.path.clone(), text: applied.text.clone() };
        let is_routes = self.gathered.config.routes.iter().any(|route| route.path == intent.path);
        if !is_routes {
            return openchamber::parse(&file).map(|_| ());
        }
        let after = self.with_file(opencode::parse(&file)?, &intent.path);
        let reached = reached_by(pool, &self.gathered.config);
        let before = self.rings(&self.gathered.config, &reached);
        let rings = self.rings(&after, &reached);
        if let Some((pool, _, rule)) = broken_rules(&rings).difference(&broken_rules(&before)).next() {
            return Err(format!("its result would break \"{}\" in {pool}", rule.as_str()));
        }
        match rings.get(pool) {
            _ if intent.kind == ProposalKind::RetirePool => Ok(()),
            Some(Ok(_)) => Ok(()),
            _ => Err("its result would leave the pool without a member".to_owned()),
        }
    }

    /// The config with one file's definitions replaced, every layer in its place.
    fn with_file(&self, changed: FleetConfig, path: &str) -> FleetConfig {
        let mut config = self.gathered.config.clone();
        let at = config.routes.iter().position(|route| route.path == path).unwrap_or(config.routes.len());
        config.routes.retain(|route| route.path != path);
        config.routes.splice(at..at, changed.routes);
        config
    }

    /// The rings of some pools under some config.
    fn rings(&self, config: &FleetConfig, pools: &BTreeSet<PoolId>) -> Rings {
        let model_of =
            |target: &TargetRef| self.gathered.identity.offer(&target.provider, &target.model).model().cloned();
        let now_ms = self.now.timestamp_millis();
        let input =
            RingInput::new(config, self.catalogue, self.settings, &model_of, now_ms).with_vendors(self.vendors.clone());
        let routes = config.effective();
        let built =
            pools.iter().filter_map(|pool| Some((pool.clone(), ResolvedRing::build(&input, routes.get(pool)?))));
        built.collect()
    }
}

/// Pool → its ring, or why there is none.
type Rings = BTreeMap<PoolId, Result<ResolvedRing, RingError>>;

/// A pool and every pool that nests it, at any depth.
fn reached_by(pool: &PoolId, config: &FleetConfig) -> BTreeSet<PoolId> {
    let mut parents: BTreeMap<&PoolId, BTreeSet<&PoolId>> = BTreeMap::new();
    for route in &config.routes {
        for target in &route.targets {
            if let TargetKind::Pool { id, .. } = &target.kind {
                parents.entry(id).or_default().insert(&route.id);
            }
        }
    }
    let mut reached = BTreeSet::from([pool.clone()]);
    let mut open = vec![pool.clone()];
    while let Some(next) = open.pop() {
        for parent in parents.get(&next).into_iter().flatten() {
            if reached.insert((*parent).clone()) {
                open.push((*parent).clone());
            }
        }
    }
    reached
}

/// Pool, target and rule of everything that breaks a rule.
fn broken_rules(rings: &Rings) -> BTreeSet<(PoolId, String, Rule)> {
    let of = |(pool, ring): (&PoolId, &Result<ResolvedRing, RingError>)| {
        let violations = ring.as_ref().map_or_else(RingError::violations, ResolvedRing::violations);
        let broken = violations.iter().map(|v| (pool.clone(), v.member.target.to_string(), v.rule.clone()));
        broken.collect::<Vec<_>>()
    };
    rings.iter().flat_map(of).collect()
}

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

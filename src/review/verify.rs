//! Closing the loop: what landed changes did, from the rows before and after them (methods §20). An estimate is measured, a
//! fact is looked at. Nothing here says more than the ledger does not know already.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use serde_json::Value;

use super::spans::{Spans, span, untouched, windows_of};
use super::told::{count, given_up, number, scale, sign, status, told, whole};
use crate::evidence::measure::{Asked, Measurement, Meter, Metric, Mix};
use crate::evidence::statistics::cost::Worth;
use crate::evidence::statistics::normal::Z_95;
use crate::evidence::statistics::verification::{
    ChangeOutcome, MeasuredChange, VerificationFacts, VerificationRule, verify,
};
use crate::history::{
    self, BoundCheckFact, Life, MixesFact, Past, ProposalFact, Status, Touches, TriggerFact, VerificationFact, stand,
};
use crate::settings::Settings;
use crate::verdict::{Change, Effect, PoolReport, Proposal, Verdict, content_digest};
use crate::vocabulary::{PoolId, Tier};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Days until a change whose file is lost is given up.
const DEADLINE_DAYS: f64 = 14.0;

/// What closing the loop needs.
pub(super) struct Loop<'a> {
    /// The past.
    pub(super) past: &'a Past,
    /// Settings.
    pub(super) settings: &'a Settings,
    /// The review instant.
    pub(super) now: DateTime<Utc>,
    /// Changes of definitions, those of this run among them.
    pub(super) touches: &'a Touches,
    /// Rows and how they are read.
    pub(super) meter: Meter<'a>,
    /// Every pool of the config.
    pub(super) pools: &'a [String],
    /// Reads the file of a proposal.
    pub(super) stored: &'a dyn Fn(&str) -> Option<Value>,
}

/// A change that is to be measured or looked at.
pub(super) struct Landed<'a> {
    /// What the ledger says of it.
    pub(super) fact: &'a ProposalFact,
    /// Its life.
    pub(super) life: &'a Life,
    /// Its file.
    pub(super) proposal: Proposal,
    /// What it claims first of all.
    pub(super) primary: Effect,
    /// The rule.
    pub(super) rule: VerificationRule,
    /// When it was in force: the review that saw it first, or the start of a test.
    pub(super) since: DateTime<Utc>,
}

/// What a run measured that the ledger does not hold yet.
#[derive(Default)]
pub(super) struct Verified {
    /// Landed changes, by fingerprint.
    pub(super) facts: Vec<VerificationFact>,
    /// Ways back that became due, or are due no longer.
    pub(super) triggers: Vec<TriggerFact>,
    /// Bounds of aligned verdicts.
    pub(super) checks: Vec<BoundCheckFact>,
    /// Files that are missing or were edited, one sentence each.
    pub(super) warnings: Vec<String>,
}

impl Verified {
    /// Writes what was measured into the files of proposals.
    pub(super) fn restate<'a>(
        &self,
        proposals: impl Iterator<Item = &'a mut Proposal>,
        past: &Past,
        now: DateTime<Utc>,
    ) {
        for proposal in proposals {
            let Some(fact) = self.facts.iter().find(|fact| fact.fingerprint == proposal.fingerprint) else { continue };
            let Some(mut life) = past.lives.get(&proposal.fingerprint).cloned() else { continue };
            let at = now.to_rfc3339_opts(SecondsFormat::Secs, true);
            life.status = fact.status;
            life.verification = Some(history::Measurement { at, fact: fact.clone() });
            stand(proposal, &life);
        }
    }
}

/// The mixes that open claims are frozen on and that the ledger does not hold yet.
pub(super) fn frozen_mixes(reports: &[PoolReport], open: &[Proposal], past: &Past) -> MixesFact {
    let named: BTreeSet<&String> =
        open.iter().flat_map(|proposal| &proposal.expected).filter_map(|effect| effect.mix_digest.as_ref()).collect();
    let findings = reports.iter().flat_map(|pool| &pool.checks).flat_map(|check| &check.findings);
    let claims = findings.filter_map(|finding| finding.claim.as_ref());
    let mixes = claims.filter_map(|claim| {
        let digest = claim.effects.iter().find_map(|effect| effect.mix_digest.clone())?;
        let is_new = named.contains(&digest) && past.measures.mix(&digest).is_none();
        is_new.then(|| (digest, claim.rows.mix.clone()))
    });
    MixesFact { mixes: mixes.collect() }
}

impl Loop<'_> {
    /// Landed estimates, tests under way, and bounds that somebody else's change puts to the test.
    pub(super) fn measured(&self) -> Verified {
        let mut verified = Verified { checks: self.checked_bounds(), ..Verified::default() };
        for landed in self.landed(&mut verified) {
            if landed.rule != VerificationRule::Structural {
                verified.facts.extend(self.measure(&landed));
            }
        }
        verified
    }

    /// Landed facts, held against what this run found, by fingerprint.
    pub(super) fn looked_at(&self, reports: &[PoolReport]) -> Vec<VerificationFact> {
        let landed = self.landed(&mut Verified::default());
        let facts = landed.iter().filter(|landed| landed.rule == VerificationRule::Structural);
        facts.filter_map(|landed| self.look(landed, reports)).collect()
    }

    /// The proposal of a file that says what the ledger knows.
    pub(super) fn intact(&self, fact: &ProposalFact) -> Option<Proposal> {
        let value = (self.stored)(&fact.fingerprint).filter(|value| {
            value["content_digest"].as_str() == Some(&fact.content_digest)
                && content_digest(value).as_str() == fact.content_digest
        });
        serde_json::from_value(value?).ok()
    }

    /// Every change whose measurement has not ended, with its intact file. One without is said, and given up at its deadline.
    fn landed(&self, verified: &mut Verified) -> Vec<Landed<'_>> {
        let mut all = Vec::new();
        for (fingerprint, life) in self.past.lives.iter() {
            let Some(fact) = self.past.proposals.get(fingerprint) else { continue };
            let Some(since) = in_force_since(life, fact) else { continue };
            let Some((proposal, primary)) = self.intact(fact).and_then(with_primary) else {
                let why = "its file is missing or was edited: it cannot be measured";
                match life.status {
                    Status::Inconclusive => {}
                    _ if self.days_since(since) >= DEADLINE_DAYS => verified.facts.push(given_up(fact, life, since)),
                    _ => verified.warnings.push(format!("proposal {fingerprint}: {why}")),
                }
                continue;
            };
            let rule = rule_of(&proposal, &primary);
            all.push(Landed { fact, life, proposal, primary, rule, since });
        }
        all
    }

    /// What an estimate did so far; `None` when the ledger says it already.
    fn measure(&self, landed: &Landed<'_>) -> Option<VerificationFact> {
        let metric = Metric::parse(&landed.primary.metric)?;
        let spans = self.spans(landed);
        if self.is_too_old(spans.pre_from) {
            let is_under_way = landed.life.status != Status::Inconclusive;
            return is_under_way.then(|| given_up(landed.fact, landed.life, landed.since));
        }
        let (measurement, rule) = self.measurement(landed, metric, &spans);
        let last = landed.life.verification.as_ref().map(|known| &known.fact);
        let is_ended = landed.life.status == Status::Inconclusive;
        if is_ended && last.is_some_and(|last| measurement.rows.1 <= last.rows.1) {
            return None;
        }
        let scale = scale(&landed.primary.unit);
        let realised = measurement.effect.map(|(effect, se)| (effect * scale * sign(landed, metric), se * scale));
        let outcome = verify(&VerificationFacts {
            rule,
            point: number(landed.primary.point),
            lo90: number(landed.primary.lo90),
            measured: realised
                .map(|(point, se)| MeasuredChange::Interval { lo90: point - Z_95 * se, hi90: point + Z_95 * se }),
            rows: count(measurement.rows.1),
            min_rows: count(landed.proposal.verification.min_rows),
            days: self.days_since(landed.since),
            deadline_days: count(landed.proposal.verification.deadline_days),
        });
        let fact = VerificationFact {
            realised_point: realised.map(|(point, _)| whole(point)),
            realised_se: realised.map(|(_, se)| whole(se)),
            rows: measurement.rows,
            controls: measurement.controls,
            ..told(landed, rule, status(outcome))
        };
        let is_news = last != Some(&fact) && !(is_ended && fact.status == Status::Verifying);
        is_news.then_some(fact)
    }

    /// The measurement, and the rule in force: without an untouched control that has rows there is before and after only.
    fn measurement(&self, landed: &Landed<'_>, metric: Metric, spans: &Spans) -> (Measurement, VerificationRule) {
        let worth = self.worth(&landed.fact.pool);
        let post = span(spans.post_from, spans.post_until);
        if let (VerificationRule::PairedStandard, Change::Test(plan)) = (landed.rule, &landed.proposal.change) {
            let arm = |i: usize| plan.arms.get(i).map_or("", |key| key.split('#').next().unwrap_or_default());
            let measured = self.meter.paired(&landed.fact.pool, (arm(0), arm(1)), metric, worth, post);
            return (measured, landed.rule);
        }
        let controls = match landed.rule {
            VerificationRule::DidStandard => {
                untouched(&landed.proposal.verification.controls, self.touches, spans.pre_from, spans.post_until)
            }
            _ => Vec::new(),
        };
        let mix = self.frozen_mix(landed);
        let measured = self.meter.measure(&Asked {
            pool: &landed.fact.pool,
            controls: &controls,
            metric,
            worth,
            mix: mix.as_ref(),
            pre: span(spans.pre_from, spans.pre_until),
            post,
        });
        let is_alone = controls.is_empty() || (measured.effect.is_some() && measured.controls.is_empty());
        let rule = if is_alone { VerificationRule::BeforeAfter } else { landed.rule };
        (measured, rule)
    }

    /// The mix that the claim was frozen on: of the ledger, else the classes of the rows behind the claim.
    fn frozen_mix(&self, landed: &Landed<'_>) -> Option<Mix> {
        let kept = landed.primary.mix_digest.as_ref().and_then(|digest| self.past.measures.mix(digest));
        let own = || landed.proposal.evidence.iter().find(|one| one.source == "sessions").map(|one| &one.classes);
        let shares = kept.or_else(own)?;
        let mix: Mix = shares.iter().filter(|(_, n)| **n > 0).map(|(class, n)| (class.clone(), count(*n))).collect();
        (!mix.is_empty()).then_some(mix)
    }

    /// Before and after: as many days before the last review that saw the old definition as the deadline has, no further back
    /// than the change before; and from the first review that saw the new one until the deadline, the next change, or now.
    fn spans(&self, landed: &Landed<'_>) -> Spans {
        let touches = self.touches.get(&landed.fact.pool).map_or(&[][..], Vec::as_slice);
        let deadline =
            Duration::days(i64::try_from(landed.proposal.verification.deadline_days).unwrap_or(60).clamp(1, 60));
        let is_open_end = landed.life.status == Status::Inconclusive;
        windows_of(
            touches,
            landed.since,
            deadline,
            if is_open_end { self.now } else { landed.since + deadline },
            self.now,
        )
    }

    /// Whether the predicted state is there: shares as they were proposed, or nothing left of the finding that asked.
    fn look(&self, landed: &Landed<'_>, reports: &[PoolReport]) -> Option<VerificationFact> {
        let days = self.days_since(landed.since);
        let deadline_days = count(landed.proposal.verification.deadline_days);
        let state = match landed.primary.metric.as_str() {
            "share_of_pool" => self.is_still_in_force(landed),
            _ => is_gone(landed.fact, reports),
        };
        let outcome = match state {
            None if days >= deadline_days => ChangeOutcome::Inconclusive,
            None => ChangeOutcome::Pending,
            Some(is_there) => verify(&VerificationFacts {
                rule: VerificationRule::Structural,
                point: number(landed.primary.point),
                lo90: number(landed.primary.lo90),
                measured: Some(MeasuredChange::State(is_there)),
                rows: 0.0,
                min_rows: 0.0,
                days,
                deadline_days,
            }),
        };
        let settled = state.filter(|_| outcome != ChangeOutcome::Pending);
        let fact = VerificationFact {
            realised_point: settled.map(|is_there| if is_there { landed.primary.point } else { 0 }),
            realised_se: settled.map(|_| 0),
            ..told(landed, VerificationRule::Structural, status(outcome))
        };
        let last = landed.life.verification.as_ref().map(|known| &known.fact);
        (last != Some(&fact)).then_some(fact)
    }

    /// Whether the definition is the one that landed; unknown once it was changed again.
    fn is_still_in_force(&self, landed: &Landed<'_>) -> Option<bool> {
        let touches = self.touches.get(&landed.fact.pool);
        let is_touched = touches.into_iter().flatten().any(|touch| touch.after > landed.since);
        (!is_touched).then_some(true)
    }

    /// Whether rows from an instant on may be too old to be read.
    #[expect(clippy::cast_possible_truncation, reason = "settings keep day counts small and finite")]
    pub(super) fn is_too_old(&self, from: DateTime<Utc>) -> bool {
        from < self.now - Duration::seconds((self.settings.thresholds.rows.max_age_days * DAY_S) as i64)
    }

    /// Days from an instant to the review.
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    fn days_since(&self, at: DateTime<Utc>) -> f64 {
        (self.now - at).num_seconds() as f64 / DAY_S
    }

    /// What a failed task and a minute are worth in a pool.
    fn worth(&self, pool: &str) -> Worth {
        worth(self.settings, pool)
    }
}

/// What a failed task and a minute are worth in a pool.
pub(super) fn worth(settings: &Settings, pool: &str) -> Worth {
    let tier: Tier = settings.tier_of(&PoolId::new(pool)).0;
    let numbers = settings.tiers.get(&tier).expect("the settings hold every tier");
    Worth { stake_usd: numbers.stake_usd, minute_usd: numbers.minute_usd }
}

/// Since when a change is in force and waits for its measurement; `None` of one that is not, or no longer.
fn in_force_since(life: &Life, fact: &ProposalFact) -> Option<DateTime<Utc>> {
    let is_waiting = matches!(life.status, Status::Landed | Status::Verifying | Status::Inconclusive);
    let is_test = fact.change == "controlled_test" && (is_waiting || life.status == Status::Accepted);
    let at = match &life.landing {
        Some(landing) if is_waiting => &landing.detected_at,
        None if is_test => &life.decision.as_ref()?.at,
        _ => return None,
    };
    DateTime::parse_from_rfc3339(at).ok().map(|at| at.to_utc())
}

/// A proposal with its primary effect.
fn with_primary(proposal: Proposal) -> Option<(Proposal, Effect)> {
    let primary = proposal.expected.iter().find(|effect| effect.primary)?.clone();
    Some((proposal, primary))
}

/// The rule by which a proposal is verified: what cannot be measured is looked at, whatever its file asks for.
fn rule_of(proposal: &Proposal, primary: &Effect) -> VerificationRule {
    match Metric::parse(&primary.metric) {
        None => VerificationRule::Structural,
        Some(_) => VerificationRule::parse(&proposal.verification.rule).unwrap_or(VerificationRule::BeforeAfter),
    }
}

/// Whether the finding behind a change is gone; `None` while its check cannot be judged.
fn is_gone(fact: &ProposalFact, reports: &[PoolReport]) -> Option<bool> {
    let checks: BTreeMap<&str, _> = reports
        .iter()
        .filter(|pool| pool.id.as_str() == fact.pool)
        .flat_map(|pool| &pool.checks)
        .map(|check| (check.check.as_str(), check))
        .collect();
    let Some(check) = checks.get(fact.check.as_str()) else { return Some(true) };
    let is_there = check.findings.iter().any(|finding| {
        finding.verdict == Some(Verdict::Misaligned)
            && finding.code == fact.code
            && fact.subject == if finding.subject.is_empty() { fact.pool.as_str() } else { &finding.subject }
            && finding.counterpart == fact.counterpart
    });
    match (is_there, check.verdict) {
        (true, _) => Some(false),
        (false, Verdict::Blocked) => None,
        (false, _) => Some(true),
    }
}

//! THE FLOW. Read this first: gather → assemble → judge → compare. It reads sources and the past, decides, and gives a
//! report; it writes nothing.

mod bounds;
pub mod calibration;
mod chart;
mod consumers;
mod definitions;
mod gates;
pub mod gather;
pub mod inspect;
mod limits;
mod links;
mod looks;
mod market;
mod memory;
pub mod names;
mod parallel;
mod pools;
mod proposals;
mod remarks;
mod results;
mod rules;
pub mod sessions;
mod spans;
mod speeds;
mod told;
mod triggers;
mod verify;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::change::identity;
use crate::checks::{Bound, Look, PoolJudgement, judge_pool};
use crate::evidence::assemble::{World, assemble};
use crate::evidence::attribution::Attribution;
use crate::evidence::book::Book;
use crate::evidence::cells::EstimateRules;
use crate::evidence::measure::Meter;
use crate::evidence::statistics::calibration::Correction;
use crate::evidence::usage::Usage;
use crate::evidence::{PoolEvidence, Surroundings};
use crate::history::{
    Asks, DigestNow, Dues, Fate, MarketEvent, MarketMemory, MeasuredNow, Past, ProposalFact, ProposalFiles, SeenNow,
    Settlement, compare, settle_proposals,
};
use crate::ring::Catalogue;
use crate::settings::Settings;
use crate::verdict::{Calibration, Counts, PoolReport, Proposal, Report, Subject, Verdict};
use crate::vocabulary::{Digest, PoolId, SourceId, SourceState};
pub use definitions::Definitions;
use gather::{Gathered, readiness};
use links::Links;
use looks::PoolLooks;
pub use memory::Memory;
use pools::Planned;
use rules::{agreed_prices, as_of, catalogue, estimate_rules, homes, row_limits, statements, usage_days, window_rules};
use triggers::{LeadNow, Triggered, triggered};
use verify::{Loop, Verified};

/// The instant of a run and what follows from it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// The review instant.
    pub now: DateTime<Utc>,
    /// Whether it comes from `frozen_now`.
    pub is_frozen: bool,
    /// The next due instant of the schedule.
    pub next_due: Option<DateTime<Utc>>,
}

impl Clock {
    /// The run id: `now` in UTC as `20261129T120000Z`.
    pub fn run_id(&self) -> String {
        self.now.format("%Y%m%dT%H%M%SZ").to_string()
    }
}

/// What one review has to say, compared with the past and settled.
pub struct Reviewed {
    /// The report.
    pub report: Report,
    /// What became of every proposal.
    pub settlement: Settlement,
    /// Every model this run saw, for the first-seen memory.
    pub models: BTreeSet<String>,
    /// What the next run must know of the market.
    pub market: MarketMemory,
}

/// What a review goes by once everything is gathered.
struct Scene<'a> {
    /// Everything read.
    gathered: &'a Gathered,
    /// The past.
    past: &'a Past,
    /// The same as judging needs it.
    memory: Memory<'a>,
    /// The instant.
    clock: Clock,
    /// The catalogue, if it may be used.
    catalogue: Option<&'a Catalogue>,
    /// The pools.
    planned: &'a [Planned],
    /// The market.
    book: &'a Book,
    /// Our own evidence.
    attribution: &'a Attribution,
    /// Model calls of session stores.
    usage: &'a Usage,
    /// How rows become estimates.
    rules: EstimateRules,
    /// Pool → digest of its definition.
    subtrees: &'a BTreeMap<String, String>,
}

/// What a run keeps of judging its pools.
struct Judged {
    /// The looks at comparisons.
    looks: PoolLooks,
    /// What aligned pools could still gain, in the order of the plan.
    gains: Vec<Option<Bound>>,
    /// Pool → its lead.
    leads: BTreeMap<String, LeadNow>,
}

/// Judges everything that was gathered. `files` are those of open proposals. What landed before is measured first: how the last
/// claims came true tells how the next ones are made.
pub fn review(
    gathered: &Gathered,
    settings: &Settings,
    past: &Past,
    clock: Clock,
    files: &ProposalFiles<'_>,
) -> Reviewed {
    let (catalogue, limits) = (catalogue(gathered), row_limits(settings));
    let planned = pools::plan(gathered, settings, catalogue.as_ref(), clock.now.timestamp_millis());
    let book = Book::build(&gathered.identity, &statements(gathered, clock.now));
    let attribution = Attribution::build(&gathered.identity, &gathered.cards, &gathered.speeds, limits, clock.now);
    let usage = Usage::build(&gathered.identity, &gathered.usage, usage_days(settings, clock.now));
    let (memory, rules) = (Memory::new(past, clock.now), estimate_rules(settings, clock.now));
    let subtrees = subtrees(&planned);
    let scene = Scene {
        gathered,
        past,
        memory,
        clock,
        catalogue: catalogue.as_ref(),
        planned: &planned,
        book: &book,
        attribution: &attribution,
        usage: &usage,
        rules,
        subtrees: &subtrees,
    };
    let prices = |model: &str| agreed_prices(&book, model);
    let meter = Meter { attribution: &attribution, clock: rules.clock, duration: rules.duration, prices: &prices };
    let touches = spans::with_nested(past.touches(&subtrees, clock.now), &planned);
    let pools: Vec<String> = subtrees.keys().cloned().collect();
    let closing =
        Loop { past, settings, now: clock.now, touches: &touches, meter, pools: &pools, stored: files.stored };
    let mut verified = closing.measured();
    let (told, raised) = calibration::told(past, settings, &verified.facts, &verified.checks);
    let (mut reports, judged) = scene.judge(&raised, &told);
    let looks = &judged.looks;
    let fresh = scene.propose(&raised, &mut reports);
    let definitions = Definitions::new(&gathered.config.files, &subtrees, past);
    let digest = |known: &ProposalFact| definitions.digest(known);
    let Triggered { dues, facts } = triggered(&closing, &verified, &judged.leads, &clock.run_id(), &digest);
    let mut settlement = scene.settle(fresh, &reports, looks, (files, &digest, &dues));
    verified.triggers = facts;
    verified.facts.extend(closing.looked_at(&reports));
    verified.restate(settlement.landed.iter_mut().chain(&mut settlement.open), past, clock.now);
    settlement.warnings.append(&mut verified.warnings);
    let (calibration, _) = calibration::told(past, settings, &verified.facts, &verified.checks);
    settlement.seen = scene.seen(looks, &bounds::by_pool(&reports, judged.gains), verified, &reports, &settlement.open);
    say_who_sleeps(&mut reports, &settlement);
    scene.reviewed(&raised, reports, settlement, calibration)
}

impl Scene<'_> {
    /// Every pool and every consumer judged, and what the run keeps of judging.
    fn judge(&self, settings: &Settings, told: &Calibration) -> (Vec<PoolReport>, Judged) {
        let (homes, readiness) = (homes(settings), readiness(&self.gathered.notes));
        let first_seen = |model: &_| self.memory.first_seen(model);
        let world = World {
            now: self.clock.now,
            identity: &self.gathered.identity,
            book: self.book,
            market: (self.gathered.index_version.clone(), as_of(self.gathered, SourceId::Market)),
            catalogue: self.catalogue,
            attribution: self.attribution,
            usage: self.usage,
            quotas: &self.gathered.quotas,
            homes: &homes,
            readiness: &readiness,
            blacklisted: &self.gathered.blacklisted,
            first_seen: &first_seen,
            window_rules: window_rules(settings),
            around: Surroundings::default(),
            estimates: self.rules,
            idle_days: settings.thresholds.sizing.idle_days,
            correction: Correction { slope: told.slope_used, inflation: told.inflation },
        };
        let links = Links::new(self.planned, &self.gathered.config, &self.gathered.cards);
        let judge = |pool: &Planned| {
            let evidence = assemble(&world, pools::input(pool, &links, self.gathered, settings, &self.memory));
            (pool_report(pool, &evidence, settings), LeadNow::of(&evidence))
        };
        let mut reports = Vec::new();
        let (mut looks, mut gains, mut leads) = (Vec::new(), Vec::new(), BTreeMap::new());
        for ((report, of_pool, gain), lead) in parallel::map(self.planned, judge) {
            leads.extend(lead.map(|lead| (report.id.to_string(), lead)));
            reports.push(report);
            looks.push(of_pool);
            gains.push(gain);
        }
        reports.extend(consumer_rows(self.gathered, self.planned, &reports));
        (reports, Judged { looks: PoolLooks::new(self.planned, looks), gains, leads })
    }

    /// The proposals of all findings; findings whose change does not pass are marked with the reason.
    fn propose(&self, settings: &Settings, reports: &mut [PoolReport]) -> Vec<Proposal> {
        let (gathered, now) = (self.gathered, self.clock.now);
        let model_of = pools::names_of(gathered);
        let input = pools::ring_input(gathered, settings, self.catalogue, &model_of, now.timestamp_millis());
        let rules = results::Rules::new(gathered, self.planned, &input);
        let maker = proposals::Maker { gathered, settings, past: self.past, now, subtrees: self.subtrees, rules };
        maker.make(reports)
    }

    /// What becomes of the proposals of this run and of the ledger.
    fn settle(
        &self,
        fresh: Vec<Proposal>,
        reports: &[PoolReport],
        looks: &PoolLooks,
        (files, digest, dues): (&ProposalFiles<'_>, DigestNow<'_>, &Dues),
    ) -> Settlement {
        let blocked = blocked_checks(reports);
        let fate = |known: &ProposalFact| {
            let is_blocked = blocked.contains(&(known.pool.clone(), known.check.clone()));
            if is_blocked { Fate::Blocked } else { looks.fate(known) }
        };
        let run = self.clock.run_id();
        let asks = Asks { run: &run, now: self.clock.now, files, fate: &fate, digest, dues };
        settle_proposals(fresh, self.past, &asks)
    }

    /// What the ledger has to learn beside report and proposals.
    fn seen(
        &self,
        looks: &PoolLooks,
        bounds: &[(String, Option<Bound>)],
        verified: Verified,
        reports: &[PoolReport],
        open: &[Proposal],
    ) -> SeenNow {
        let measured = MeasuredNow {
            mixes: verify::frozen_mixes(reports, open, self.past),
            bounds: bounds::moved(bounds, self.past),
            verifications: verified.facts,
            triggers: verified.triggers,
            checks: verified.checks,
        };
        let looks = looks.facts(self.gathered, self.planned, &self.memory, self.clock.now);
        SeenNow { looks, subtrees: self.subtrees.clone(), measured }
    }

    /// The review, compared with the past.
    fn reviewed(
        &self,
        settings: &Settings,
        reports: Vec<PoolReport>,
        settlement: Settlement,
        calibration: Calibration,
    ) -> Reviewed {
        let mut report = report(self.gathered, settings, self.clock, reports, &settlement);
        report.calibration = calibration;
        report.unmatched = unmatched(self.book, self.attribution, self.usage);
        report.remarks = remarks::remarks(settings, self.planned);
        report.remarks.extend(self.gathered.market_events.iter().map(MarketEvent::sentence));
        report.remarks.extend(remarks::price_remarks(self.book));
        report.remarks.extend(remarks::index_remark(self.book));
        let listing = remarks::listing(self.gathered, self.planned);
        report.remarks.extend(remarks::listing_remarks(&self.gathered.memory.listing, &listing, self.book));
        compare(&mut report, self.past);
        let models = self.book.models().iter().map(ToString::to_string).collect();
        let memory = self.gathered.memory.clone();
        let market = MarketMemory { prices: self.book.remembered_prices().clone(), listing, ..memory };
        Reviewed { report, settlement, models, market }
    }
}

/// A finding whose proposal a steward put to sleep says so in the place of the proposal.
fn say_who_sleeps(reports: &mut [PoolReport], settlement: &Settlement) {
    let findings = reports.iter_mut().flat_map(|pool| &mut pool.checks).flat_map(|check| &mut check.findings);
    for finding in findings.filter(|finding| finding.intent.is_some() && finding.held.is_none()) {
        let Some(identity) = identity(finding) else { continue };
        let standing = settlement.standings.get(&identity.fingerprint);
        let asleep = standing.filter(|standing| matches!(standing.status.as_str(), "rejected" | "deferred"));
        finding.held = asleep.map(|standing| format!("{} was {} by a steward", standing.label(), standing.status));
    }
}

/// Pool → digest of its definition.
fn subtrees(planned: &[Planned]) -> BTreeMap<String, String> {
    let pools = planned.iter().filter(|pool| !pool.is_single);
    pools.map(|pool| (pool.route.id.to_string(), Digest::of_json(&pool.route.raw).to_string())).collect()
}

/// One judged pool.
fn pool_report(
    planned: &Planned,
    evidence: &PoolEvidence,
    settings: &Settings,
) -> (PoolReport, Vec<Look>, Option<Bound>) {
    let PoolJudgement { checks, looks, bound } = judge_pool(evidence, settings);
    let rule = settings.pool_rule(&planned.route.id);
    let ring = planned.ring.as_ref().ok();
    let report = PoolReport {
        id: planned.route.id.clone(),
        subject: if planned.is_single { Subject::Single } else { Subject::Pool },
        tier: Some(planned.tier.0),
        owner: rule.and_then(|rule| rule.owner.clone()),
        verdict: Verdict::worst(checks.iter().map(|check| check.verdict)).expect("every pool is judged by every check"),
        state: crate::verdict::Baseline::New,
        since: String::new(),
        members: ring.map_or_else(Vec::new, |ring| {
            ring.members().iter().map(|member| (member.target.to_string(), member.share)).collect()
        }),
        lead: ring.map(|ring| ring.lead().target.to_string()),
        checks,
        chart: chart::chart(evidence),
    };
    (report, looks, bound)
}

/// Rows of categories and of consumers with a finding.
fn consumer_rows(gathered: &Gathered, planned: &[Planned], reports: &[PoolReport]) -> Vec<PoolReport> {
    let failed = gathered.notes.iter().find_map(|note| match &note.state {
        SourceState::Failed(reason) if note.source == SourceId::Categories => Some(reason),
        _ => None,
    });
    let by_id: BTreeMap<&PoolId, &PoolReport> = reports.iter().map(|report| (&report.id, report)).collect();
    let offers: BTreeMap<PoolId, Vec<String>> = planned
        .iter()
        .filter_map(|pool| Some((pool.route.id.clone(), pool.ring.as_ref().ok()?.offers_variants().to_vec())))
        .collect();
    let facts = consumers::PoolFacts { reports: &by_id, offers: &offers };
    let mut rows = consumers::rows(&gathered.config, &facts);
    rows.extend(failed.map(|reason| consumers::unreadable_categories(reason)));
    rows
}

/// Pool and check of everything that could not be judged.
fn blocked_checks(reports: &[PoolReport]) -> BTreeSet<(String, String)> {
    let of = |pool: &PoolReport| {
        let id = pool.id.to_string();
        let blocked = pool.checks.iter().filter(|check| check.verdict == Verdict::Blocked);
        blocked.map(|check| (id.clone(), check.check.as_str().to_owned())).collect::<Vec<_>>()
    };
    reports.iter().flat_map(of).collect()
}

/// The report before it is compared.
fn report(
    gathered: &Gathered,
    settings: &Settings,
    clock: Clock,
    pools: Vec<PoolReport>,
    settlement: &Settlement,
) -> Report {
    Report {
        run_id: clock.run_id(),
        now: clock.now,
        is_frozen: clock.is_frozen,
        settings_path: settings.path.clone(),
        setting_lines: settings.lines.clone(),
        previous_run: None,
        sources: gathered.notes.clone(),
        pools,
        proposals: settlement.open.clone(),
        standings: settlement.standings.clone(),
        unmatched: Vec::new(),
        index_version: gathered.index_version.clone(),
        remarks: Vec::new(),
        policy_digest: settings.policy.digest.to_string(),
        next_due: clock.next_due,
        counts: Counts::default(),
        calibration: Calibration::default(),
    }
}

/// Names that could not be matched: source, name, suggestion.
fn unmatched(book: &Book, attribution: &Attribution, usage: &Usage) -> Vec<(String, String, Option<String>)> {
    let market = book.unmatched().iter().map(|(source, id, near)| (source.to_string(), id.clone(), near.clone()));
    let own: BTreeSet<&String> = attribution.unmatched().iter().chain(usage.unmatched()).collect();
    market.chain(own.into_iter().map(|id| ("sessions".to_owned(), id.clone(), None))).collect()
}

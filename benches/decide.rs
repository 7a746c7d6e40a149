//! What a large fleet costs: weighted pools of 20 members, 100 scored rows each, from rows to verdicts on two threads. Prints
//! time, time per pool and peak memory for a quarter of the pools, for half the members, for half the rows and for all: cost
//! is linear in pairs and rows when the time per pool stays over pools and never grows faster than what it is made of.
//! `cargo bench --bench decide`; it fails nothing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot read the demo has failed, and prints"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::checks::judge_pool;
use pool_review::evidence::assemble::{HomeFacts, PoolInput, World, assemble};

use pool_review::evidence::attribution::{Attribution, RowLimits};
use pool_review::evidence::book::{Book, Statements};
use pool_review::evidence::cells::EstimateRules;
use pool_review::evidence::own::RowClock;
use pool_review::evidence::statistics::calibration::Correction;
use pool_review::evidence::statistics::duration::DurationRules;
use pool_review::evidence::statistics::prior::PriorRules;
use pool_review::evidence::statistics::weight::RowWeights;
use pool_review::evidence::usage::Usage;
use pool_review::evidence::windows::WindowRules;
use pool_review::evidence::{ConfigFacts, Readiness, Requirements, Surroundings, TierNumbers};
use pool_review::history::MarketMemory;
use pool_review::review::gather::{Gathered, canonical, gather};
use pool_review::ring::{PoolPolicy, ResolvedRing, RingInput};
use pool_review::settings::Settings;
use pool_review::sources::pools::opencode;
use pool_review::verdict::Verdict;
use pool_review::vocabulary::{
    ConfigFile, FleetConfig, Outcome, Place, PoolId, ProviderId, RouteDef, ScorecardRow, SourceId, TargetRef, Tier,
};

/// A fleet to decide.
#[derive(Clone, Copy)]
struct Size {
    /// Pools.
    pools: usize,
    /// Members of a pool.
    members: usize,
    /// Rows of a member.
    rows: usize,
}

/// The whole fleet.
const WHOLE: Size = Size { pools: 1000, members: 20, rows: 100 };
/// Threads that decide.
const THREADS: usize = 2;
/// Task classes.
const CLASSES: [&str; 3] = ["implementation", "mechanical", "review"];

/// Offers of the demo on held homes, one for each model.
fn members(sources: &Gathered, settings: &Settings, wanted: usize) -> Vec<(ProviderId, String)> {
    let mut models = BTreeSet::new();
    let held = |provider: &ProviderId| settings.homes.values().any(|home| home.providers.contains(provider));
    let mut offers: Vec<_> = sources.offers.iter().filter(|offer| held(&offer.provider)).collect();
    offers.sort_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id)));
    let fresh = offers.into_iter().filter(|offer| {
        sources.identity.offer(&offer.provider, &offer.id).model().is_some_and(|model| models.insert(model.clone()))
    });
    let members: Vec<_> = fresh.take(wanted).map(|offer| (offer.provider.clone(), offer.id.clone())).collect();
    assert_eq!(members.len(), wanted, "the demo offers enough models on held homes");
    members
}

/// A config of weighted pools with the same members.
fn config(pools: usize, members: &[(ProviderId, String)]) -> FleetConfig {
    let targets: Vec<String> = members.iter().map(|(provider, id)| format!("\"{provider}/{id}\"")).collect();
    let targets = targets.join(", ");
    let mut text = String::from("{ \"experimental\": { \"model_routes\": {\n");
    for pool in 0..pools {
        writeln!(text, "  \"p{pool}\": {{ \"selection\": \"weighted\", \"targets\": [{targets}] }},").unwrap();
    }
    text.push_str("} } }\n");
    opencode::parse(&ConfigFile { path: "opencode.jsonc".to_owned(), text }).unwrap()
}

/// The rows of one member of one pool, one by one.
fn rows(
    (pool, member): (usize, usize),
    rows: usize,
    (provider, id): &(ProviderId, String),
    now: DateTime<Utc>,
) -> impl Iterator<Item = ScorecardRow> {
    (0..rows).map(move |i| {
        let spread = i64::try_from((pool * 7 + member * 13 + i * 61) % 1900).unwrap();
        // Success from 60 % to 95 %, by member and pool, in no order that the rows would show.
        let chance = 60 + (member * 5 + pool * 3) % 36;
        let is_success = (i * 37 + member * 11 + pool * 17) % 100 < chance;
        ScorecardRow {
            task_id: format!("t{pool}-{member}-{i}"),
            attempt: 1,
            finished_at: now - TimeDelta::minutes(1441 + spread * 30),
            pool: Some(PoolId::new(format!("p{pool}"))),
            provider: provider.clone(),
            model: id.clone(),
            effort: None,
            home: None,
            task_class: CLASSES[i % CLASSES.len()].to_owned(),
            outcome: if is_success { Outcome::Success } else { Outcome::Failure },
            duration_s: Some(f64::from(u32::try_from(200 + (i * 53 + member * 29) % 900).unwrap())),
            is_cut_off: false,
            tokens: [Some(8_000), Some(24_000), Some(0), Some(2_000 + 10 * i as u64)],
            session_id: None,
            cost_usd: None,
            epoch: String::new(),
            judged: None,
            place: Place::new("bench.csv", 1),
        }
    })
}

/// The input of one pool.
fn input<'a>(route: &'a RouteDef, ring: ResolvedRing, policy: PoolPolicy, settings: &Settings) -> PoolInput<'a> {
    let numbers = settings.tiers.get(&Tier::Workhorse).unwrap();
    PoolInput {
        pool: route.id.clone(),
        is_single: false,
        ring: Ok(ring),
        definition: Some(route),
        policy,
        consumers: vec!["category/work".to_owned()],
        consumer_files: Vec::new(),
        facts: ConfigFacts::default(),
        faults_of_nested: BTreeSet::new(),
        seen_before: BTreeSet::new(),
        missing_before: BTreeSet::new(),
        looks: BTreeMap::new(),
        landed: BTreeMap::new(),
        tier: TierNumbers {
            tier: Tier::Workhorse,
            is_assumed: false,
            stake_usd: numbers.stake_usd,
            minute_usd: numbers.minute_usd,
            floor: numbers.floor,
            index_mix: numbers.index_mix.clone(),
            cache_share: numbers.cache_share,
            input_per_output: numbers.input_per_output,
            tokens_per_task: settings.tokens_per_task,
        },
        requirements: Requirements::default(),
    }
}

/// Peak memory of this process, MB; `None` where the system does not say.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// One fleet, from rows to verdicts.
fn fleet(size: Size, sources: &Gathered, settings: &Settings, now: DateTime<Utc>) {
    let pools = size.pools;
    let members = members(sources, settings, size.members);
    let config = config(pools, &members);
    let start = Instant::now();
    let limits = RowLimits { max_age_days: 60.0 };
    let mut attribution = Attribution::default();
    for pool in 0..pools {
        for (member, offer) in members.iter().enumerate() {
            for row in rows((pool, member), size.rows, offer, now) {
                attribution.add(&sources.identity, &row, limits, now);
            }
        }
    }
    attribution.settle();
    let attributed = start.elapsed();
    let statements = Statements {
        market: &sources.market,
        offers: &sources.offers,
        own_lists: &sources.own_lists,
        retirements: &sources.retirements,
        prices: &sources.prices,
        listed_ends: &sources.listed_ends,
        earlier_prices: None,
        at: Some(now),
    };
    let book = Book::build(&sources.identity, &statements);
    let homes: BTreeMap<ProviderId, HomeFacts> = settings
        .homes
        .iter()
        .flat_map(|(id, home)| {
            let facts = HomeFacts { home: id.clone(), is_flat: false, cash_usd_per_lead_hour: None, term: None };
            home.providers.iter().map(move |provider| (provider.clone(), facts.clone()))
        })
        .collect();
    let readiness: BTreeMap<SourceId, Readiness> =
        [SourceId::Market, SourceId::Catalogues, SourceId::Sessions, SourceId::Retirements]
            .map(|source| (source, Readiness::Ready))
            .into();
    let first_seen = |_: &_| None;
    let world = World {
        correction: Correction::default(),
        now,
        identity: &sources.identity,
        book: &book,
        market: (sources.index_version.clone(), Some(now)),
        catalogue: None,
        attribution: &attribution,
        usage: &Usage::default(),
        quotas: &BTreeMap::new(),
        homes: &homes,
        readiness: &readiness,
        blacklisted: &BTreeSet::new(),
        first_seen: &first_seen,
        window_rules: WindowRules::default(),
        around: Surroundings::default(),
        estimates: EstimateRules {
            clock: RowClock::new(now, 24.0, RowWeights::default()),
            min_class_share: 0.05,
            prior: PriorRules::default(),
            duration: DurationRules::default(),
        },
        idle_days: 14.0,
    };
    let model_of = |target: &TargetRef| sources.identity.offer(&target.provider, &target.model).model().cloned();
    let rings = RingInput::new(&config, None, settings, &model_of, now.timestamp_millis());
    let planned: Vec<(&RouteDef, ResolvedRing, PoolPolicy)> = config
        .routes
        .iter()
        .map(|route| (route, ResolvedRing::build(&rings, route).unwrap(), rings.policy(&route.id)))
        .collect();
    let judge = |(route, ring, policy): &(&RouteDef, ResolvedRing, PoolPolicy)| {
        let evidence = assemble(&world, input(route, ring.clone(), policy.clone(), settings));
        let judged = judge_pool(&evidence, settings);
        Verdict::worst(judged.checks.iter().map(|check| check.verdict)).unwrap()
    };
    let mut tally: BTreeMap<Verdict, usize> = BTreeMap::new();
    thread::scope(|scope| {
        let judge = &judge;
        let size = planned.len().div_ceil(THREADS);
        let parts: Vec<_> = planned
            .chunks(size)
            .map(|part| scope.spawn(move || part.iter().map(judge).collect::<Vec<Verdict>>()))
            .collect();
        for verdict in parts.into_iter().flat_map(|part| part.join().unwrap()) {
            *tally.entry(verdict).or_default() += 1;
        }
    });
    let whole = start.elapsed();
    println!(
        "{pools} pools x {} members, {} rows: attributed {:.2} s, decided {:.2} s, together {:.2} s, {:.2} ms a pool, peak {} MB, {tally:?}",
        size.members,
        pools * size.members * size.rows,
        attributed.as_secs_f64(),
        whole.saturating_sub(attributed).as_secs_f64(),
        whole.as_secs_f64(),
        whole.as_secs_f64() * 1e3 / f64::from(u32::try_from(pools).unwrap()),
        peak_mb().map_or_else(|| "?".to_owned(), |mb| mb.to_string()),
    );
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let settings = Settings::load(root, Path::new("instructions/pool-composition-review.md")).unwrap();
    let now = settings.frozen_now.unwrap();
    let sources = gather(root, &settings, canonical(root, &settings, now).unwrap(), &MarketMemory::default(), now);
    let parts = [
        Size { pools: WHOLE.pools / 4, ..WHOLE },
        Size { members: WHOLE.members / 2, ..WHOLE },
        Size { rows: WHOLE.rows / 2, ..WHOLE },
        WHOLE,
    ];
    for size in parts {
        fleet(size, &sources, &settings, now);
    }
}

//! Rows for categories and other consumers: their own structural findings, and their pool's verdict by reference.

use std::collections::BTreeMap;

use crate::verdict::{Baseline, CheckReport, Finding, PoolReport, Sentence, Subject, Verdict};
use crate::vocabulary::{CheckId, Consumer, ConsumerTarget, FleetConfig, PoolId, SourceId};

/// What a consumer row needs to know of the pools.
pub(super) struct PoolFacts<'a> {
    /// Judged pools by id.
    pub(super) reports: &'a BTreeMap<&'a PoolId, &'a PoolReport>,
    /// Pool → variants it offers; absent when the pool has no ring.
    pub(super) offers: &'a BTreeMap<PoolId, Vec<String>>,
}

/// One row per category that can receive work; of the other consumers only those with a finding. In the order of the files,
/// which for categories is shipped order, then id.
pub(super) fn rows(config: &FleetConfig, pools: &PoolFacts<'_>) -> Vec<PoolReport> {
    let fallback = config.consumers.iter().find(|consumer| consumer.id.starts_with("fallback/"));
    let mut others: Vec<&Consumer> = config.consumers.iter().filter(|consumer| !is_category(consumer)).collect();
    others.sort_by(|a, b| a.id.cmp(&b.id));
    let categories = config.consumers.iter().filter(|consumer| is_category(consumer));
    categories
        .chain(others)
        .filter(|consumer| consumer.is_enabled && !matches!(consumer.target, ConsumerTarget::Model(_)))
        .map(|consumer| (consumer, row(consumer, fallback, pools)))
        .filter(|(consumer, row)| is_category(consumer) || row.checks.iter().any(|check| !check.findings.is_empty()))
        .map(|(_, row)| row)
        .collect()
}

/// Whether a consumer is a category.
fn is_category(consumer: &Consumer) -> bool {
    consumer.id.starts_with("category/")
}

/// One consumer.
fn row(consumer: &Consumer, fallback: Option<&Consumer>, pools: &PoolFacts<'_>) -> PoolReport {
    let id = PoolId::new(consumer.id.clone());
    let on_fallback = consumer.target == ConsumerTarget::Fallback;
    let effective = if on_fallback { fallback } else { Some(consumer) };
    let pool = effective.and_then(|consumer| match &consumer.target {
        ConsumerTarget::Pool(pool) => Some(pool.clone()),
        ConsumerTarget::Model(_) => Some(super::pools::single_id(consumer)),
        _ => None,
    });
    let judged = pool.as_ref().and_then(|pool| pools.reports.get(pool)).copied();
    let mut findings: Vec<Finding> = Vec::new();
    if on_fallback {
        findings.push(on_fallback_note(&id, consumer, pool.as_ref()));
    }
    findings.extend(dangling(&id, consumer, effective, pool.as_ref(), pools));
    findings.extend(dropped_variant(&id, consumer, pool.as_ref(), pools));
    let checks = checks(judged, &findings);
    PoolReport {
        verdict: Verdict::worst(checks.iter().map(|check| check.verdict)).expect("a row has a verdict per check"),
        id,
        subject: Subject::Category { pool: pool.filter(|_| judged.is_some()) },
        tier: judged.and_then(|judged| judged.tier),
        owner: judged.and_then(|judged| judged.owner.clone()),
        state: Baseline::New,
        since: String::new(),
        members: Vec::new(),
        lead: judged.and_then(|judged| judged.lead.clone()),
        checks,
        chart: crate::verdict::Chart::default(),
    }
}

/// A finding about a consumer.
fn finding(id: &PoolId, consumer: &Consumer, code: &'static str, verdict: Option<Verdict>) -> Finding {
    Finding {
        place: Some(consumer.place.clone()),
        sources: vec![SourceId::Categories, SourceId::Pools],
        ..Finding::new(CheckId::Structure, id.clone(), code, consumer.id.clone(), verdict)
    }
}

/// A category without a pool of its own runs on the fallback.
fn on_fallback_note(id: &PoolId, consumer: &Consumer, pool: Option<&PoolId>) -> Finding {
    let mut found = finding(id, consumer, "fallback_consumer", None);
    found.why = match pool {
        Some(pool) => Sentence::new().own("no pool of its own: it runs on the fallback ").name(pool),
        None => Sentence::from("no pool of its own, and no fallback is set"),
    };
    found
}

/// A consumer that names a pool which does not exist or never registers, text that is no reference, or a fallback that is
/// not set.
fn dangling(
    id: &PoolId,
    consumer: &Consumer,
    effective: Option<&Consumer>,
    pool: Option<&PoolId>,
    pools: &PoolFacts<'_>,
) -> Option<Finding> {
    let why = match (effective.map(|effective| &effective.target), pool) {
        (None | Some(ConsumerTarget::Fallback), _) => Sentence::from("it runs on the fallback, and no fallback is set"),
        (Some(ConsumerTarget::Unreadable(text)), _) => {
            Sentence::new().name(text).own(" is no reference that can be read without resolving it")
        }
        (_, Some(pool)) if !pools.reports.contains_key(pool) => {
            Sentence::new().own("it names the pool ").name(pool).own(", which does not exist")
        }
        (Some(ConsumerTarget::Pool(_)), Some(pool)) if !pools.offers.contains_key(pool) => Sentence::new()
            .own("it names the pool ")
            .name(pool)
            .own(", which resolves to no model and is never registered"),
        _ => return None,
    };
    let mut found = finding(id, consumer, "dangling_consumer", Some(Verdict::Misaligned));
    found.why = why;
    found.todo = Sentence::from("point it to a pool that exists");
    found.held = Some("which pool it should use is the owner's choice".to_owned());
    Some(found)
}

/// An effort set where it never arrives: a pool with a pinned member offers no variants.
fn dropped_variant(id: &PoolId, consumer: &Consumer, pool: Option<&PoolId>, pools: &PoolFacts<'_>) -> Option<Finding> {
    let (variant, pool) = (consumer.variant.as_ref()?, pool?);
    let offered = pools.offers.get(pool).filter(|_| matches!(consumer.target, ConsumerTarget::Pool(_)))?;
    if offered.contains(variant) {
        return None;
    }
    let mut found = finding(id, consumer, "dropped_variant", Some(Verdict::Watch));
    found.why = Sentence::new().own("it asks ").name(pool).own(" for the effort ").name(variant);
    found.why = if offered.is_empty() {
        found
            .why
            .own(", but the pool offers none (a member is pinned, or they share none), so it is dropped at send time")
    } else {
        found.why.own(", but the pool offers only ").names(offered).own(", so it is dropped at send time")
    };
    found.todo = Sentence::from("delete the effort, or pin it on the pool's members");
    Some(found)
}

/// The four checks of a consumer: by reference to its pool, with its own findings under `structure`.
fn checks(judged: Option<&PoolReport>, findings: &[Finding]) -> Vec<CheckReport> {
    let ids = [CheckId::LatestModel, CheckId::BestPerPool, CheckId::RightSizing, CheckId::Structure];
    ids.into_iter()
        .map(|check| {
            let of_pool = judged.and_then(|judged| judged.checks.iter().find(|report| report.check == check));
            let own = if check == CheckId::Structure { findings } else { &[] };
            by_reference(check, judged, of_pool, own)
        })
        .collect()
}

/// One check of a consumer.
fn by_reference(
    check: CheckId,
    judged: Option<&PoolReport>,
    of_pool: Option<&CheckReport>,
    findings: &[Finding],
) -> CheckReport {
    let own = Verdict::worst(findings.iter().filter_map(|finding| finding.verdict));
    let verdict = Verdict::worst(own.into_iter().chain(of_pool.map(|report| report.verdict)));
    let summary = match judged {
        Some(judged) => Sentence::new().own("as its pool ").name(&judged.id),
        None => Sentence::from("no pool to judge"),
    };
    let own_why =
        findings.iter().find(|finding| finding.verdict.is_some() && finding.verdict == own).map(|f| f.why.clone());
    CheckReport {
        check,
        verdict: verdict.unwrap_or(Verdict::InsufficientEvidence),
        state: Baseline::New,
        since: String::new(),
        summary: own_why.unwrap_or(summary),
        reasons: if judged.is_none() { vec!["no_pool".to_owned()] } else { Vec::new() },
        findings: findings.to_vec(),
        numbers: Vec::new(),
    }
}

/// The row that stands for all categories when their file could not be read.
pub(super) fn unreadable_categories(reason: &str) -> PoolReport {
    let check = |check| CheckReport {
        check,
        verdict: Verdict::Blocked,
        state: Baseline::New,
        since: String::new(),
        summary: Sentence::new().own("the categories could not be read: ").name(reason),
        reasons: vec!["failed:categories".to_owned()],
        findings: Vec::new(),
        numbers: Vec::new(),
    };
    let ids = [CheckId::LatestModel, CheckId::BestPerPool, CheckId::RightSizing, CheckId::Structure];
    PoolReport {
        id: PoolId::new("category/all"),
        subject: Subject::Category { pool: None },
        tier: None,
        owner: None,
        verdict: Verdict::Blocked,
        state: Baseline::New,
        since: String::new(),
        members: Vec::new(),
        lead: None,
        checks: ids.into_iter().map(check).collect(),
        chart: crate::verdict::Chart::default(),
    }
}

//! Structural facts about a pool's definition and who names it (methods §14). No estimate, no probability: each is seen at
//! first sight. A fault of a nested pool is reported on the pool that holds the line.

use std::collections::BTreeSet;

use chrono::DateTime;

use super::intents;
use crate::evidence::{PoolEvidence, Readiness};
use crate::ring::{DropReason, Dropped, ResolvedRing, RingError, RingMember, Rule, Violation};
use crate::settings::Settings;
use crate::verdict::{Edit, Finding, Limit, LimitOp, Measured, Number, ProposalKind, Seat, Sentence, Unit, Verdict};
use crate::vocabulary::{CheckId, RouteDef, SourceId};

use super::{Judgement, lacking};

/// Judges one pool.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Judgement {
    let mut findings = Vec::new();
    findings.extend(empty_pool(evidence));
    findings.extend(violations(evidence));
    findings.extend(dropped_targets(evidence));
    findings.extend(expiring(evidence, settings.thresholds.structure.expiring_days));
    if let Some(route) = &evidence.definition {
        findings.extend(duplicates(evidence, route));
        findings.extend(dead_keys(evidence, route));
        findings.extend(near_misses(evidence, route));
    }
    let mut open = if evidence.ring.is_ok() { lacking(evidence, &[SourceId::Catalogues]) } else { Vec::new() };
    if let Some(unused) = no_consumer(evidence) {
        match evidence.readiness(SourceId::Categories) {
            Readiness::Blocked(reason) => open.push((Verdict::Blocked, reason.clone())),
            _ => findings.push(unused),
        }
    }
    findings.extend(single_home(evidence));
    Judgement { numbers: numbers(evidence), aligned: aligned(evidence), open, findings }
}

/// A finding of this check.
fn finding(evidence: &PoolEvidence, code: &'static str, subject: &str, verdict: Option<Verdict>) -> Finding {
    Finding {
        sources: vec![SourceId::Pools],
        ..Finding::new(CheckId::Structure, evidence.pool.clone(), code, subject, verdict)
    }
}

/// The sentence of an aligned pool.
fn aligned(evidence: &PoolEvidence) -> Sentence {
    let Ok(ring) = &evidence.ring else { return Sentence::new() };
    let homes = homes(ring).len();
    Sentence::new().own(format!(
        "{} members on {homes} homes, {} consumers, nothing dead or forbidden",
        ring.members().len(),
        evidence.consumers.len()
    ))
}

/// The numbers this check rests on.
fn numbers(evidence: &PoolEvidence) -> Vec<Number> {
    let count = |what: &str, value: usize| Number {
        what: what.to_owned(),
        of: String::new(),
        #[expect(clippy::cast_precision_loss, reason = "counts of config entries")]
        value: Some(value as f64),
        unit: Unit::Count,
        interval: None,
        n: None,
        remark: String::new(),
    };
    let Ok(ring) = &evidence.ring else {
        return vec![count("members", 0), count("consumers", evidence.consumers.len())];
    };
    vec![
        count("members", ring.members().len()),
        count("homes", homes(ring).len()),
        count("consumers", evidence.consumers.len()),
        count("targets the router drops", ring.dropped().len()),
        count("members that break policy", ring.violations().len()),
    ]
}

/// The distinct homes of a ring.
fn homes(ring: &ResolvedRing) -> BTreeSet<&str> {
    ring.members().iter().map(|member| member.key.home.as_str()).collect()
}

/// Nothing resolves: the router never registers the pool.
fn empty_pool(evidence: &PoolEvidence) -> Option<Finding> {
    let error = evidence.ring.as_ref().err()?;
    let mut found = finding(evidence, "empty_pool", evidence.pool.as_str(), Some(Verdict::Misaligned));
    found.todo = Sentence::from("give the pool a member that resolves, or retire it");
    match error {
        RingError::Invalid { place, reason } => {
            found.why = Sentence::new().own("the router drops the whole route: ").name(reason);
            found.place = Some(place.clone());
        }
        RingError::Empty { dropped, violations } => {
            found.why = Sentence::from(format!(
                "no member is left: {} targets dropped, {} against policy",
                dropped.len(),
                violations.len()
            ));
            found.place = evidence.definition.as_ref().map(|route| route.place.clone());
        }
    }
    Some(found)
}

/// What breaks policy, from a ring or from the attempt to build one.
fn all_violations(evidence: &PoolEvidence) -> &[Violation] {
    match &evidence.ring {
        Ok(ring) => ring.violations(),
        Err(RingError::Empty { violations, .. }) => violations,
        Err(RingError::Invalid { .. }) => &[],
    }
}

/// Configured members that break a rule. One that a nested pool reports itself is not reported again.
fn violations(evidence: &PoolEvidence) -> Vec<Finding> {
    let is_reported_elsewhere = |violation: &Violation| {
        violation.member.listed_in != evidence.pool
            && evidence.faults_of_nested.contains(&(violation.member.pointer.clone(), violation.rule.clone()))
    };
    all_violations(evidence)
        .iter()
        .filter(|violation| !is_reported_elsewhere(violation))
        .map(|v| violation(evidence, v))
        .collect()
}

/// One member that breaks a rule.
fn violation(evidence: &PoolEvidence, violation: &Violation) -> Finding {
    let member = &violation.member;
    let mut found = finding(evidence, "policy_violation", &member.key.to_string(), Some(Verdict::Misaligned));
    found.why = Sentence::new()
        .name(&member.target.to_string())
        .own(format!(" breaks the rule \"{}\" ({}): ", violation.rule.as_str(), violation.setting))
        .name(&violation.detail);
    if member.listed_in != evidence.pool {
        found.why = found.why.own("; it comes in through ").name(&format!("opencode-route/{}", member.listed_in));
    }
    found.place = Some(member.place.clone());
    if violation.rule == Rule::NeverLead {
        found.todo = Sentence::from("let another member lead");
        return found;
    }
    found.todo = Sentence::from("take it out of the pool");
    found.intent = evidence
        .definition
        .as_ref()
        .filter(|_| !member.by_pattern)
        .and_then(|route| intents::retire(route, &member.pointer));
    if found.intent.is_none() {
        found.held = Some("the line that brings it in stands in another pool or is a pattern".to_owned());
    }
    found
}

/// Targets the router drops without a message, where this pool holds the line.
fn dropped_targets(evidence: &PoolEvidence) -> Vec<Finding> {
    let dropped = match &evidence.ring {
        Ok(ring) => ring.dropped(),
        Err(RingError::Empty { dropped, .. }) => dropped,
        Err(RingError::Invalid { .. }) => &[],
    };
    dropped.iter().filter(|dropped| dropped.listed_in == evidence.pool).map(|d| dropped_target(evidence, d)).collect()
}

/// One target the router drops.
fn dropped_target(evidence: &PoolEvidence, dropped: &Dropped) -> Finding {
    let (code, verdict) = match dropped.reason {
        DropReason::UntilPassed => ("expired_member", Verdict::Misaligned),
        DropReason::AlreadyInTree | DropReason::Cycle => ("duplicate_member", Verdict::Misaligned),
        DropReason::NoSuchRoute => ("dangling_consumer", Verdict::Misaligned),
        DropReason::NotInCatalogue | DropReason::Disabled | DropReason::UnknownVariant | DropReason::NothingMatches => {
            let verdict =
                if evidence.missing_before.contains(&dropped.target) { Verdict::Misaligned } else { Verdict::Watch };
            ("unknown_member", verdict)
        }
    };
    let mut found = finding(evidence, code, &dropped.target, Some(verdict));
    found.why = Sentence::new().name(&dropped.target).own(format!(" is no member: {}", dropped.reason.as_str()));
    if dropped.reason == DropReason::UnknownVariant {
        found.why = found.why.own(" (it takes ").names(evidence.variants_of(&dropped.target)).own(")");
    }
    if let Some(key) = orphaned_budget(evidence, dropped) {
        found.why = found.why.own("; the budget of ").name(&key).own(" is dead with it");
    }
    found.place = Some(dropped.place.clone());
    if code == "unknown_member" {
        found.sources.push(SourceId::Catalogues);
    }
    found.todo = match verdict {
        Verdict::Watch => Sentence::from("nothing yet: a second accepted catalogue snapshot must agree"),
        _ => Sentence::from("delete the line"),
    };
    if verdict == Verdict::Misaligned {
        found.intent = evidence.definition.as_ref().and_then(|route| intents::retire(route, &dropped.pointer));
    }
    found
}

/// The budget key of a dropped target that no other target uses.
fn orphaned_budget(evidence: &PoolEvidence, dropped: &Dropped) -> Option<String> {
    let route = evidence.definition.as_ref()?;
    let target = route.targets.iter().find(|target| target.pointer == dropped.pointer)?;
    let key = intents::weight_key(target);
    let others = route.targets.iter().filter(|other| intents::weight_key(other) == key).count();
    (others == 1 && route.budgets.contains_key(&key)).then_some(key)
}

/// Members whose `until` is near: `misaligned` when the pool would then be empty or on one home.
fn expiring(evidence: &PoolEvidence, days: f64) -> Vec<Finding> {
    let Ok(ring) = &evidence.ring else { return Vec::new() };
    let leaves_at = |member: &RingMember| member.until_ms.map(|until| days_between(evidence, until));
    let is_near = |member: &RingMember| leaves_at(member).is_some_and(|left| left <= days);
    let staying: BTreeSet<_> =
        ring.members().iter().filter(|m| !is_near(m)).map(|member| member.key.home.as_str()).collect();
    let thin = staying.len() < 2 && homes(ring).len() > staying.len();
    let near = ring.members().iter().filter(|member| member.listed_in == evidence.pool && is_near(member));
    near.map(|member| {
        let verdict = if thin { Verdict::Misaligned } else { Verdict::Watch };
        let mut found = finding(evidence, "expiring_member", &member.key.to_string(), Some(verdict));
        let left = leaves_at(member).unwrap_or_default();
        found.measured = Some(Measured { what: "days to its end", value: left, unit: Unit::Days, n: None });
        found.limit = Some(Limit { op: LimitOp::AtLeast, value: days, setting: "structure.expiring_days" });
        found.why = Sentence::new()
            .name(&member.target.to_string())
            .own(format!(" leaves in {left:.1} days; {} homes stay", staying.len()));
        found.todo = Sentence::from("set a later end or add a member on another home");
        found.place = Some(member.place.clone());
        if verdict == Verdict::Misaligned {
            found.held = Some("which member should stay is the owner's choice".to_owned());
        }
        found
    })
    .collect()
}

/// Days from the review to an epoch in milliseconds.
fn days_between(evidence: &PoolEvidence, until_ms: i64) -> f64 {
    let until = DateTime::from_timestamp_millis(until_ms).unwrap_or(DateTime::<chrono::Utc>::MAX_UTC);
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let days = (until - evidence.now).num_seconds() as f64 / 86_400.0;
    days
}

/// One member key twice: two targets that are the same model at the same effort on the same home.
fn duplicates(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let Ok(ring) = &evidence.ring else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for member in ring.members() {
        if seen.insert(&member.key) || member.listed_in != evidence.pool {
            continue;
        }
        let mut duplicate = finding(evidence, "duplicate_member", &member.key.to_string(), Some(Verdict::Misaligned));
        duplicate.why = Sentence::new()
            .name(&member.target.to_string())
            .own(" is the same model, effort and home as a member before it");
        duplicate.todo = Sentence::from("delete the line");
        duplicate.place = Some(member.place.clone());
        duplicate.intent = intents::retire(route, &member.pointer).filter(|_| !member.by_pattern);
        found.push(duplicate);
    }
    found
}

/// Weight and budget keys that have no effect.
fn dead_keys(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let mut found: Vec<Finding> = ignored_settings(evidence, route).into_iter().collect();
    let used: BTreeSet<String> = route.targets.iter().map(intents::weight_key).collect();
    let ignored = !found.is_empty();
    for (map, key, place) in route
        .weights
        .iter()
        .map(|(key, def)| ("weights", key, &def.place))
        .filter(|_| !ignored)
        .chain(route.budgets.iter().map(|(key, def)| ("budgets", key, &def.place)).filter(|_| !route.is_fixed))
    {
        if used.contains(key) {
            continue;
        }
        let mut dead = finding(evidence, "dead_weight", &format!("{map}:{key}"), Some(Verdict::Misaligned));
        dead.place = Some(place.clone());
        dead.why = Sentence::new().own("the key ").name(key).own(format!(" of `{map}` matches no target"));
        fix_dead_key(&mut dead, route, map, key, &used);
        found.push(dead);
    }
    found
}

/// What would mend a dead key: the same key without its variant where that is meant, else its removal.
fn fix_dead_key(dead: &mut Finding, route: &RouteDef, map: &str, key: &str, used: &BTreeSet<String>) {
    let pointer = format!("{}/{map}/{}", route.pointer, intents::token(key));
    let value = route.raw.get(map).and_then(|values| values.get(key)).cloned().unwrap_or_default();
    let meant = key.split_once('#').map(|(bare, _)| bare).filter(|bare| used.contains(*bare));
    let is_free = |bare: &&str| route.raw.get(map).and_then(|values| values.get(*bare)).is_none();
    if let Some(bare) = meant.filter(is_free) {
        dead.why = dead.why.clone().own(": keys carry no variant, so the effective value is the default");
        dead.todo = Sentence::new().own("rename the key to ").name(bare);
        let edits = vec![
            Edit::Remove { pointer },
            Edit::Insert { object: format!("{}/{map}", route.pointer), key: bare.to_owned(), value },
        ];
        let human =
            format!("In {} rename the key {key} of `{map}` to {bare}, so that its value takes effect.", route.id);
        dead.intent = Some(intents::intent(route, ProposalKind::FixKey, Seat::Weights, edits, human));
        return;
    }
    dead.todo = Sentence::from("delete the key");
    let human = format!("In {} delete the key {key} of `{map}`: it matches no target.", route.id);
    dead.intent =
        Some(intents::intent(route, ProposalKind::FixKey, Seat::Weights, vec![Edit::Remove { pointer }], human));
}

/// `weights` (and `selection`, `budgets`) where the router ignores them: under `fixed` autonomy, or in an ordered pool.
fn ignored_settings(evidence: &PoolEvidence, route: &RouteDef) -> Option<Finding> {
    let is_ordered = route.selection == crate::vocabulary::Selection::Ordered;
    let mut dead: Vec<&str> = Vec::new();
    if (route.is_fixed || is_ordered) && !route.weights.is_empty() {
        dead.push("weights");
    }
    if route.is_fixed && route.selection_written && !is_ordered {
        dead.push("selection");
    }
    if route.is_fixed && !route.budgets.is_empty() {
        dead.push("budgets");
    }
    if dead.is_empty() {
        return None;
    }
    let cause = if route.is_fixed { "`autonomy` is fixed" } else { "the pool is ordered" };
    let mut found = finding(evidence, "dead_weight", &dead.join(" and "), Some(Verdict::Misaligned));
    found.why = Sentence::from(format!("{cause}, so the router ignores {}", dead.join(" and ")));
    found.todo = Sentence::from(format!("delete {}, or change what makes them dead", dead.join(" and ")));
    found.place =
        Some(route.weights.values().map(|def| def.place.clone()).min().unwrap_or_else(|| route.place.clone()));
    let edits = dead.iter().map(|key| Edit::Remove { pointer: format!("{}/{key}", route.pointer) }).collect();
    let human = format!("In {} delete {}: {cause}, so they are dead text.", route.id, dead.join(" and "));
    found.intent = Some(intents::intent(route, ProposalKind::FixKey, Seat::Weights, edits, human));
    Some(found)
}

/// Unknown keys within one edit of a known one.
fn near_misses(evidence: &PoolEvidence, route: &RouteDef) -> Vec<Finding> {
    let near = route.unknown_keys.iter().filter_map(|unknown| Some((unknown, unknown.near.as_ref()?)));
    near.map(|(unknown, meant)| {
        let mut found = finding(evidence, "near_miss_key", &unknown.pointer, Some(Verdict::Misaligned));
        found.why = Sentence::new()
            .own("the router ignores the key ")
            .name(&unknown.key)
            .own(format!("; `{meant}` is the known one"));
        found.todo = Sentence::from(format!("rename it to `{meant}`"));
        found.place = Some(unknown.place.clone());
        found.intent = rename(route, &unknown.pointer, meant);
        found
    })
    .collect()
}

/// The edits that rename a key of a route or of one of its targets; `None` when the known key is there already.
fn rename(route: &RouteDef, pointer: &str, meant: &str) -> Option<crate::verdict::Intent> {
    let (object, _) = pointer.rsplit_once('/')?;
    let inside = |pointer: &str| pointer.strip_prefix(route.pointer.as_str()).and_then(|rest| route.raw.pointer(rest));
    if inside(&format!("{object}/{meant}")).is_some() {
        return None;
    }
    let value = inside(pointer)?.clone();
    let edits = vec![
        Edit::Remove { pointer: pointer.to_owned() },
        Edit::Insert { object: object.to_owned(), key: meant.to_owned(), value },
    ];
    let human = format!("In {} rename the misspelt key to `{meant}`.", route.id);
    Some(intents::intent(route, ProposalKind::FixKey, Seat::Pool, edits, human))
}

/// Nothing names the pool.
fn no_consumer(evidence: &PoolEvidence) -> Option<Finding> {
    let route = evidence.definition.as_ref().filter(|_| evidence.consumers.is_empty() && !evidence.is_single)?;
    let mut found = finding(evidence, "no_consumer", evidence.pool.as_str(), Some(Verdict::Misaligned));
    found.why = Sentence::new()
        .own("no category, agent, command, default model or other pool names it; inputs read: ")
        .names(&evidence.consumer_files);
    found.todo = Sentence::from("give it a category, or retire it if nothing outside these inputs names it");
    found.place = Some(route.place.clone());
    let edits = vec![Edit::Remove { pointer: route.pointer.clone() }];
    let human = format!(
        "Delete the pool {} if nothing outside the inputs read ({}) names it.",
        route.id,
        evidence.consumer_files.join(", ")
    );
    found.intent = Some(intents::intent(route, ProposalKind::RetirePool, Seat::Pool, edits, human));
    Some(found)
}

/// All members draw on one home.
fn single_home(evidence: &PoolEvidence) -> Option<Finding> {
    let ring = evidence.ring.as_ref().ok()?;
    let homes = homes(ring);
    let home = homes.first().filter(|_| homes.len() == 1)?;
    let mut found = finding(evidence, "single_home", home, Some(Verdict::Watch));
    found.measured = Some(Measured { what: "homes", value: 1.0, unit: Unit::Count, n: None });
    found.why = Sentence::new().own("every member draws on the home ").name(home);
    found.todo = Sentence::from("add a member on another home");
    found.place = ring.members().first().map(|member| member.place.clone());
    Some(found)
}

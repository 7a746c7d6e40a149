//! How calls of several sources become the numbers of one member: one source per quantity and day, in any order of rows.

use chrono::{DateTime, NaiveDate, Utc};
use pool_review::evidence::attribution::SpeedMember;
use pool_review::evidence::usage::{MemberCalls, Usage, UsageDays};
use pool_review::identity::Identity;
use pool_review::vocabulary::{
    CallCounts, CallSource, Effort, HomeId, ModelId, PoolId, ProviderId, Quantity, UsageRow, Usd,
};
use proptest::prelude::*;

/// The review instant of the properties.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// A row of the member of the properties.
fn usage_row(source: &str, day: u32, has_effort: bool, pool: Option<&str>, calls: u64, priced: bool) -> UsageRow {
    UsageRow {
        source: CallSource::named(source),
        day: NaiveDate::from_ymd_opt(2026, 11, day).unwrap(),
        pool: pool.map(PoolId::new),
        provider: ProviderId::new("openai"),
        model: "gpt-6-luna".to_owned(),
        effort: has_effort.then(|| Effort::new("low")),
        home: None,
        counts: CallCounts {
            calls,
            infra: calls / 3,
            responses: calls - calls / 3,
            tokens: [calls, 2 * calls, 0, 3 * calls],
            cost: Usd::of(if priced { calls as f64 } else { 0.0 }),
            n_cost: if priced { calls - calls / 3 } else { 0 },
            ..CallCounts::default()
        },
    }
}

/// What the pool `scout` sees of that member.
fn seen(rows: &[UsageRow]) -> MemberCalls {
    let identity = Identity::default();
    let model = identity.offer(&ProviderId::new("openai"), "gpt-6-luna").model().cloned();
    let model = model.unwrap_or_else(|| ModelId::new("gpt-6-luna"));
    let days = UsageDays { now: now(), max_age_days: 60.0, recent_days: 14.0 };
    let (effort, home) = (Effort::new("low"), HomeId::new("openai-api"));
    let member = SpeedMember {
        key: "gpt-6-luna@low#openai-api".to_owned(),
        model: &model,
        effort: &effort,
        home: home.as_str(),
        provider: "openai",
        is_only_effort: true,
    };
    Usage::build(&identity, rows, days).of(&PoolId::new("scout"), &member)
}

/// Sources of the properties, two of one place among them.
pub(crate) const SOURCES: [&str; 6] = ["route_attempt", "litellm", "opencode", "claude-code", "codex", "warehouse"];

/// Some rows.
fn some_rows() -> impl Strategy<Value = Vec<UsageRow>> {
    let pool = prop_oneof![Just(Some("scout")), Just(Some("summit")), Just(None)];
    let row = (0..SOURCES.len(), 20_u32..=29, any::<bool>(), pool, 1_u64..50, any::<bool>());
    let row = row.prop_map(|(source, day, effort, pool, calls, priced)| {
        usage_row(SOURCES[source], day, effort, pool, calls, priced)
    });
    proptest::collection::vec(row, 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of every day one place among the sources speaks, whatever the others saw, and rows may stand in any order.
    #[test]
    fn a_day_that_several_stores_saw_counts_once(rows in some_rows(), turn in 0_usize..24) {
        let found = seen(&rows);
        let mut wanted = 0;
        for day in 20..=29 {
            let day = NaiveDate::from_ymd_opt(2026, 11, day).unwrap();
            let of_day: Vec<&UsageRow> = rows.iter().filter(|row| row.day == day).collect();
            let Some(first) = of_day.iter().map(|row| row.source.rank(Quantity::Calls)).min() else { continue };
            let here = of_day.iter().filter(|row| row.source.rank(Quantity::Calls) == first);
            let here = here.filter(|row| row.pool.as_ref().is_none_or(|pool| pool.as_str() == "scout"));
            wanted += here.map(|row| row.counts.calls).sum::<u64>();
        }
        prop_assert_eq!(found.reach.counts.calls, wanted);
        let mut turned = rows.clone();
        turned.rotate_left(turn.min(rows.len()));
        turned.reverse();
        prop_assert_eq!(seen(&turned), found);
    }

    /// Calls that no pool can claim count for the member and never for the traffic of a pool; no row prices another's tokens.
    #[test]
    fn shares_are_of_the_own_pool_and_the_priced_share_is_one(rows in some_rows()) {
        let found = seen(&rows);
        let own: u64 = rows.iter().filter(|row| row.pool == Some(PoolId::new("scout"))).map(|row| row.counts.calls).sum();
        prop_assert!(found.recent.counts.calls <= own);
        prop_assert!(found.recent.counts.calls <= found.reach.counts.calls);
        prop_assert!(found.priced_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
        prop_assert!(found.availability().is_none_or(|share| share.lo <= share.value && share.value <= share.hi));
    }
}

#[test]
fn dollars_come_from_the_gateway_that_billed_them_and_tokens_from_the_client() {
    let mut gateway = usage_row("litellm", 28, false, Some("scout"), 30, true);
    gateway.counts.cost = Usd::of(7.0);
    let client = usage_row("codex", 28, true, Some("scout"), 60, true);
    let found = seen(&[client.clone(), gateway.clone()]);
    assert_eq!((found.cost.counts.cost.to_f64(), found.cost.said()), (7.0, "litellm".to_owned()));
    assert_eq!((found.tokens.counts.responses, found.tokens.said()), (40, "codex".to_owned()));
    assert_eq!((found.reach.counts.calls, found.reach.said()), (30, "litellm".to_owned()));
    let unbilled = UsageRow { counts: CallCounts { n_cost: 0, cost: Usd::default(), ..gateway.counts }, ..gateway };
    let found = seen(&[client, unbilled]);
    assert_eq!(
        (found.cost.counts.cost.to_f64(), found.cost.said()),
        (60.0, "codex".to_owned()),
        "no bill is no price of 0"
    );
    assert_eq!(found.priced_share(), Some(1.0));
}

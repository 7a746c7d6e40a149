//! What must hold for every window, whatever the numbers (quota §6): shifts, swaps, monotony, unknowns, finite outputs;
//! and for every set of shares that is made into integer weights.

#![expect(clippy::unwrap_used, reason = "a test whose input cannot be read has failed")]

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::evidence::weights::integer_weights;
use pool_review::evidence::windows::{
    BurnOverride, BurnRate, MemberOf, MemberWindows, Phase, Standing, WindowInput, WindowOutcome, WindowPrice,
    WindowRules, WindowView, judge_windows, run_dry_chance, window_price,
};
use pool_review::vocabulary::{HomeId, Place, QuotaHome, QuotaWindow, REVIEW_HOURS, WindowStatus};
use proptest::prelude::*;

/// The review instant.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// A sound input: a window of 5 hours to 31 days somewhere in its cycle.
fn sound_input() -> impl Strategy<Value = WindowInput> {
    let length = prop_oneof![Just(5.0), Just(24.0), Just(168.0), Just(744.0)];
    (length, 0.0..1.5_f64, 0.001..1.0_f64, proptest::option::of(0.0..0.4_f64), any::<bool>()).prop_map(
        |(length_h, used, part, burn_per_h, is_rejected)| WindowInput {
            used: Some(used),
            is_rejected,
            phase: Phase::ResetsIn(part * length_h),
            length_h,
            burn_per_h,
        },
    )
}

/// Any input at all, not finite ones included.
fn any_input() -> impl Strategy<Value = WindowInput> {
    let number =
        || prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(0.0), Just(5e-324), -1.0..1e6_f64];
    let phase = prop_oneof![number().prop_map(Phase::ResetsIn), Just(Phase::NoDeadline)];
    let maybe = || proptest::option::of(number());
    (maybe(), any::<bool>(), phase, number(), maybe()).prop_map(|(used, is_rejected, phase, length_h, burn_per_h)| {
        WindowInput { used, is_rejected, phase, length_h, burn_per_h }
    })
}

/// Every number of a price.
fn numbers(price: &WindowPrice) -> Vec<f64> {
    let mut all = vec![
        price.used,
        price.remaining,
        price.tau_h,
        price.burn_per_h,
        price.shortfall_h,
        price.projected_use,
        price.expiring,
        price.load,
        price.price,
    ];
    all.extend([price.hours_left, price.slack_h, price.pressure].into_iter().flatten());
    all
}

/// A member of priced windows; an input without a price makes it unknown.
fn member(key: &str, cash: Option<f64>, inputs: &[WindowInput]) -> MemberWindows {
    let view = |(index, input): (usize, &WindowInput)| {
        let price = window_price(input, REVIEW_HOURS);
        WindowView::from_price(format!("{key}/{index}"), index % 2 == 1, input.length_h, price)
    };
    MemberWindows::from_windows(key, cash, inputs.iter().enumerate().map(view).collect())
}

/// Some members named a, b, c, …
fn some_members(at_least: usize) -> impl Strategy<Value = Vec<MemberWindows>> {
    let one = (proptest::collection::vec(sound_input(), 0..4), proptest::option::of(0.0..20.0_f64));
    proptest::collection::vec(one, at_least..6).prop_map(|members| {
        let named = members.iter().zip("abcdef".chars());
        named.map(|((inputs, cash), key)| member(&key.to_string(), *cash, inputs)).collect()
    })
}

/// A raw reading around the review instant, of any kind but calendar months, whose boundaries a shift would move.
fn raw_window() -> impl Strategy<Value = QuotaWindow> {
    let kind = prop_oneof![Just("first_use"), Just("fixed"), Just("sliding"), Just("unknown"), Just("balance")];
    let length = prop_oneof![Just(None), Just(Some(18_000)), Just(Some(86_400)), Just(Some(604_800))];
    let status = prop_oneof![Just(WindowStatus::Ok), Just(WindowStatus::Rejected), Just(WindowStatus::Unknown)];
    let minutes = || proptest::option::of(-20_000..20_000_i64);
    let used = proptest::option::of(prop_oneof![Just(0.0), 0.0..1.4_f64]);
    let started = proptest::option::of(any::<bool>());
    (kind, length, status, minutes(), proptest::option::of(-3_000..10_i64), used, started, any::<bool>()).prop_map(
        |(kind, window_seconds, status, resets, observed, used, started, is_scoped)| QuotaWindow {
            window_id: format!("{kind}-{window_seconds:?}"),
            kind: kind.to_owned(),
            scope: vec![if is_scoped { "claude-*" } else { "*" }.to_owned()],
            used,
            is_unlimited: false,
            status,
            window_seconds,
            resets_at: resets.map(|minutes| now() + TimeDelta::minutes(minutes)),
            started,
            observed_at: observed.map(|minutes| now() + TimeDelta::minutes(minutes)),
            invalid: None,
            remarks: Vec::new(),
            recent_burn: None,
            place: Place::new("q.json", 1),
        },
    )
}

/// The same reading with every instant moved.
fn shifted(window: &QuotaWindow, by: TimeDelta) -> QuotaWindow {
    let mut moved = window.clone();
    moved.resets_at = window.resets_at.map(|at| at + by);
    moved.observed_at = window.observed_at.map(|at| at + by);
    moved
}

/// A flat member of a home with these readings.
fn flat(key: &str, windows: Vec<QuotaWindow>, at: DateTime<Utc>) -> MemberWindows {
    let home = QuotaHome { home: HomeId::new(key), windows };
    let of = MemberOf {
        key: key.to_owned(),
        home: Some(&home),
        is_flat: true,
        cash_usd_per_lead_hour: None,
        models: &["claude-opus-5-5"],
        burns: BTreeMap::new(),
    };
    MemberWindows::read(&of, &WindowRules::default(), at)
}

/// A member without its instants, for comparing readings that differ only in time.
fn timeless(mut member: MemberWindows) -> MemberWindows {
    member.windows.iter_mut().for_each(|view| view.resets_at = None);
    member
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_price_lies_between_0_and_1_and_every_number_is_finite(input in any_input(), hours in 0.1..100.0_f64) {
        if let Some(price) = window_price(&input, hours) {
            prop_assert!((0.0..=1.0).contains(&price.price));
            prop_assert!(numbers(&price).iter().all(|number| number.is_finite()), "{price:?}");
        }
    }

    #[test]
    fn more_used_never_lowers_the_price(input in sound_input(), more in 0.0..1.0_f64) {
        let used = input.used.map(|used| used + more);
        let before = window_price(&input, REVIEW_HOURS).unwrap().price;
        let after = window_price(&WindowInput { used, ..input }, REVIEW_HOURS).unwrap().price;
        prop_assert!(after >= before, "{after} < {before}");
    }

    #[test]
    fn without_burn_a_window_that_holds_something_is_free(input in sound_input(), used in 0.0..0.999_f64) {
        let idle = WindowInput { burn_per_h: Some(0.0), used: Some(used), is_rejected: false, ..input };
        let price = window_price(&idle, REVIEW_HOURS).unwrap();
        prop_assert!(price.price.abs() < 1e-12 && price.hours_left.is_none() && price.pressure == Some(0.0));
    }

    #[test]
    fn an_empty_window_costs_at_least_the_wait_for_its_reset(input in sound_input(), used in 1.0..9.0_f64) {
        let Phase::ResetsIn(tau) = input.phase else { unreachable!("sound inputs have a reset") };
        let price = window_price(&WindowInput { used: Some(used), ..input }, REVIEW_HOURS).unwrap();
        prop_assert!(price.price >= tau.min(REVIEW_HOURS) / REVIEW_HOURS - 1e-12);
        prop_assert_eq!(price.hours_left, Some(0.0));
        prop_assert!(price.pressure.is_none());
    }

    #[test]
    fn another_window_never_lowers_a_members_price(inputs in proptest::collection::vec(sound_input(), 1..5)) {
        let (with, without) = (member("m", None, &inputs), member("m", None, &inputs[1..]));
        prop_assert!(with.price().unwrap().high >= without.price().unwrap().high);
    }

    #[test]
    fn another_reading_never_lowers_a_members_price_or_makes_it_known(
        windows in proptest::collection::vec(raw_window(), 1..4), next in raw_window(),
    ) {
        let without = flat("m", windows.clone(), now());
        let with = flat("m", [windows, vec![next]].concat(), now());
        match (&without.standing, with.price()) {
            (Standing::Known(known), Some(price)) => {
                prop_assert!(price.low >= known.price.low && price.high >= known.price.high);
            }
            // A plan home whose readings bind nothing is unknown; the first that binds may make it known.
            (_, Some(_)) => prop_assert!(without.windows.is_empty()),
            (_, None) => {}
        }
    }

    #[test]
    fn swapping_lead_and_equal_negates_the_gap(pair in some_members(2)) {
        let rules = WindowRules { cash_usd: f64::INFINITY, ..WindowRules::default() };
        let there = judge_windows(&pair[0], &pair[1..2], &rules).gap.unwrap();
        let back = judge_windows(&pair[1], &pair[..1], &rules).gap.unwrap();
        prop_assert!((there.low + back.high).abs() < 1e-12 && (there.high + back.low).abs() < 1e-12);
    }

    #[test]
    fn the_order_of_the_equals_changes_nothing(members in some_members(3), seed in any::<u64>()) {
        let rules = WindowRules::default();
        let mut other = members[1..].to_vec();
        other.rotate_left(usize::try_from(seed % 7).unwrap() % (members.len() - 1));
        other.reverse();
        prop_assert_eq!(judge_windows(&members[0], &members[1..], &rules), judge_windows(&members[0], &other, &rules));
    }

    #[test]
    fn an_unknown_reading_never_makes_an_aligned_lead_misaligned(
        members in some_members(2), hidden in any::<prop::sample::Index>(), is_flagged in any::<bool>(),
    ) {
        let rules = WindowRules { flag_literal_picture: is_flagged, ..WindowRules::default() };
        let before = judge_windows(&members[0], &members[1..], &rules);
        let mut after = members.clone();
        after[hidden.index(members.len())].standing = Standing::Unknown("hidden".to_owned());
        let after = judge_windows(&after[0], &after[1..], &rules);
        if before.outcome == WindowOutcome::Aligned {
            prop_assert!(after.outcome != WindowOutcome::Scarce, "{after:?}");
        }
        if hidden.index(members.len()) == 0 {
            prop_assert_eq!(after.outcome, WindowOutcome::NoEvidence("hidden".to_owned()));
        }
    }

    #[test]
    fn moving_every_instant_alike_changes_no_number(
        x in proptest::collection::vec(raw_window(), 1..4), y in proptest::collection::vec(raw_window(), 1..4),
        minutes in -500_000..500_000_i64,
    ) {
        let by = TimeDelta::minutes(minutes);
        let rules = WindowRules::default();
        let moved = |windows: &[QuotaWindow]| windows.iter().map(|window| shifted(window, by)).collect::<Vec<_>>();
        let (there_x, there_y) = (flat("x", moved(&x), now() + by), flat("y", moved(&y), now() + by));
        let (here_x, here_y) = (flat("x", x, now()), flat("y", y, now()));
        prop_assert_eq!(judge_windows(&here_x, std::slice::from_ref(&here_y), &rules), judge_windows(&there_x, &[there_y], &rules));
        prop_assert_eq!(timeless(here_x), timeless(there_x));
    }

    #[test]
    fn a_reading_is_never_both_priced_and_unknown_and_its_ends_are_in_order(window in raw_window()) {
        let view = WindowView::read(&HomeId::new("h"), &window, None, REVIEW_HOURS, now());
        if let Some((low, high)) = &view.ends {
            prop_assert!(low.price <= high.price && low.used <= high.used);
            prop_assert!(numbers(low).iter().chain(&numbers(high)).all(|number| number.is_finite()));
        } else {
            prop_assert!(!view.flags.is_empty(), "a reading without a price says why");
        }
    }

    #[test]
    fn a_wild_burn_never_panics_and_never_leaves_the_finite(window in raw_window(), burn in any::<f64>(), most in any::<f64>()) {
        let stated = BurnOverride { rate: BurnRate::PerHour(burn), max_per_h: Some(most) };
        let view = WindowView::read(&HomeId::new("h"), &window, Some(&stated), REVIEW_HOURS, now());
        if let Some((low, high)) = &view.ends {
            prop_assert!(numbers(low).iter().chain(&numbers(high)).all(|number| number.is_finite()));
        }
    }

    #[test]
    fn weights_are_small_coprime_and_the_closest_found(
        shares in proptest::collection::vec(0.0..1.0_f64, 1..21), tolerance in 0.0..0.2_f64,
    ) {
        let shares: BTreeMap<String, f64> =
            shares.into_iter().enumerate().map(|(index, share)| (format!("m{index:02}"), share)).collect();
        let sum: f64 = shares.values().sum();
        prop_assume!(sum > 0.0);
        let found = integer_weights(&shares, 20, tolerance).unwrap();
        prop_assert!(found.weights.keys().eq(shares.keys()));
        prop_assert!(found.weights.values().all(|weight| *weight >= 1));
        prop_assert!(found.denominator <= 20 && found.denominator == found.weights.values().sum::<u32>());
        let is_common = |divisor: u32| found.weights.values().all(|weight| weight % divisor == 0);
        prop_assert!(!(2..=20).any(is_common), "no common divisor");
        let error = shares.iter().map(|(key, share)| {
            (f64::from(found.weights[key]) / f64::from(found.denominator) - share / sum).abs()
        });
        prop_assert!((error.fold(0.0, f64::max) - found.max_error).abs() < 1e-9);
        if found.max_error > tolerance + 1e-9 {
            let finer = integer_weights(&shares, 20, 0.0).unwrap();
            prop_assert!(found.max_error <= finer.max_error + 1e-9, "nothing within reach is closer");
        }
    }
}

#[test]
fn the_chance_to_run_dry_is_that_of_the_reference() {
    // Reference quota §3.2 prints these to two decimals: 1 / (1 + rho^-4).
    let printed =
        [(0.5, 0.06), (0.75, 0.24), (0.9, 0.40), (1.0, 0.50), (1.1, 0.59), (1.25, 0.71), (1.5, 0.84), (2.0, 0.94)];
    for (pressure, chance) in printed {
        assert!((run_dry_chance(pressure) - chance).abs() < 0.005, "{pressure}");
    }
    assert!(run_dry_chance(0.0).abs() < 1e-15 && (run_dry_chance(f64::INFINITY) - 1.0).abs() < 1e-15);
}

#[test]
fn shares_that_cannot_be_weights_give_none() {
    let shares = |values: &[f64]| {
        values.iter().enumerate().map(|(index, share)| (format!("{index:02}"), *share)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(integer_weights(&shares(&[]), 20, 0.05), None, "nobody");
    assert_eq!(integer_weights(&shares(&[0.0, 0.0]), 20, 0.05), None, "no traffic");
    assert_eq!(integer_weights(&shares(&[0.5, f64::NAN]), 20, 0.05), None, "not a number");
    assert_eq!(integer_weights(&shares(&[0.5, -0.1]), 20, 0.05), None, "negative");
    assert_eq!(integer_weights(&shares(&[1.0; 21]), 20, 0.05), None, "more members than slots");
    // One percent can only be rounded up: at least 1 of 20, 0.04 away from 0.01.
    let lopsided = integer_weights(&shares(&[0.01, 0.99]), 20, 0.0).unwrap();
    assert_eq!(lopsided.weights.values().copied().collect::<Vec<_>>(), [1, 19]);
}

//! What holds of the estimators for every input (methods §24): symmetric, monotone, finite, and indifferent to order.

use std::collections::BTreeMap;

use pool_review::evidence::statistics::Beta;
use pool_review::evidence::statistics::cost::{TaskCost, Worth};
use pool_review::evidence::statistics::difference::{diff_interval, p_diff};
use pool_review::evidence::statistics::duration::{DurationRules, TimedRow, log_duration};
use pool_review::evidence::statistics::looks::{LookRules, LookState, look};
use pool_review::evidence::statistics::mix::standardised_rate;
use pool_review::evidence::statistics::pair::{PairBars, PairSide, PairVerdict, pair_decision};
use pool_review::evidence::statistics::prior::{IndexView, Prior, PriorRules, Shared, Tally, posterior, prior};
use pool_review::evidence::statistics::severity::{JudgeCell, severity};
use pool_review::evidence::statistics::shares::{ShareLimits, ShareSide, SharedWindow, sustainable_share};
use pool_review::evidence::windows::Phase;
use pool_review::vocabulary::LookMemory;
use proptest::prelude::*;

/// Parameters of a beta from half a row to ten million rows.
fn beta() -> impl Strategy<Value = Beta> {
    let part = prop_oneof![0.5..3.0, 3.0..200.0, 200.0..1e7];
    (part.clone(), part).prop_map(|(alpha, beta)| Beta::new(alpha, beta))
}

/// A side of a pair with known cost and time.
fn side(rate: Beta, cost: f64, log_minutes: f64) -> PairSide {
    let cost = Some(TaskCost { usd: cost, se_usd: 0.1 * cost });
    PairSide { rate, n: 50.0, tasks: 40, days: 10, cost, log_minutes: Some((log_minutes, 0.01)) }
}

/// A stake of ten dollars and two cents a minute.
const WORTH: Worth = Worth { stake_usd: 10.0, minute_usd: 0.02 };

/// The prior of a member in the middle of the market.
fn middle() -> Prior {
    let view = IndexView { index: Some(60.0), reference: Some(60.0), is_imputed: false };
    prior(0.8, &view, &PriorRules::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_two_directions_of_a_difference_add_to_one(a in beta(), b in beta(), delta in -0.5..0.5) {
        let both = p_diff(a, b, delta) + p_diff(b, a, -delta);
        prop_assert!((both - 1.0).abs() < 1e-7, "{a:?} {b:?} {delta}: {both}");
    }

    #[test]
    fn one_more_success_of_b_or_failure_of_a_never_lowers_its_chance(a in beta(), b in beta(), delta in -0.2..0.2) {
        let before = p_diff(a, b, delta);
        let better = Beta::new(b.alpha + 1.0, b.beta);
        let worse = Beta::new(a.alpha, a.beta + 1.0);
        prop_assert!(p_diff(a, better, delta) >= before - 1e-8);
        prop_assert!(p_diff(worse, b, delta) >= before - 1e-8);
    }

    #[test]
    fn swapping_the_sides_negates_the_saving_and_mirrors_the_interval(a in beta(), b in beta(), cost in 0.01..3.0) {
        let bars = PairBars::default();
        let (x, y) = (side(a, cost, 2.0), side(b, 0.4, 2.3));
        let (forth, back) = (pair_decision(&x, &y, WORTH, &bars, None), pair_decision(&y, &x, WORTH, &bars, None));
        prop_assert!((forth.money.saving + back.money.saving).abs() < 1e-9);
        let ((lo, hi), (lo_back, hi_back)) = (forth.money.interval_90(), back.money.interval_90());
        prop_assert!((lo + hi_back).abs() < 1e-9 && (hi + lo_back).abs() < 1e-9);
    }

    #[test]
    fn one_more_success_of_the_alternative_or_failure_of_the_lead_never_lowers_the_saving(a in beta(), b in beta()) {
        let bars = PairBars::default();
        let saving = |a, b| pair_decision(&side(a, 0.5, 2.0), &side(b, 0.5, 2.0), WORTH, &bars, None).money.saving;
        prop_assert!(saving(a, Beta::new(b.alpha + 1.0, b.beta)) >= saving(a, b) - 1e-12);
        prop_assert!(saving(Beta::new(a.alpha, a.beta + 1.0), b) >= saving(a, b) - 1e-12);
    }

    #[test]
    fn doubling_all_rows_at_the_prior_never_weakens_a_bar_that_was_passed(
        rates in (0.05..0.95, 0.05..0.95), kappa in (2.0..30.0, 2.0..30.0), rows in 8.0..400.0,
    ) {
        let bars = PairBars::default();
        let at = |rows: f64| {
            let rate = |rate: f64, kappa: f64| Beta::new(rate * (kappa + rows), (1.0 - rate) * (kappa + rows));
            let (lead, other) = (rate(rates.0, kappa.0), rate(rates.1, kappa.1));
            let decision = pair_decision(&side(lead, 0.5, 2.0), &side(other, 0.5, 2.0), WORTH, &bars, None);
            (decision.money.p_saving, p_diff(lead, other, -bars.guard_margin))
        };
        let (once, twice) = (at(rows), at(2.0 * rows));
        for (before, after, bar) in [(once.0, twice.0, bars.propose), (once.1, twice.1, bars.guard)] {
            prop_assert!(before < bar || after >= before - 1e-9, "{before} {after}");
        }
    }

    #[test]
    fn every_probability_lies_between_0_and_1_and_every_bound_in_order(a in beta(), b in beta(), x in 0.0..1.0) {
        let interval = diff_interval(a, b);
        prop_assert!(-1.0 <= interval.lo90 && interval.lo90 <= interval.hi90 && interval.hi90 <= 1.0);
        let (lo, hi) = a.interval_90();
        prop_assert!(0.0 <= lo && lo <= hi && hi <= 1.0);
        prop_assert!((0.0..=1.0).contains(&a.cdf(x)));
        let decision = pair_decision(&side(a, 0.5, 2.0), &side(b, 0.5, 2.0), WORTH, &PairBars::default(), None);
        prop_assert!((0.0..=1.0).contains(&decision.money.p_saving) && decision.money.excess_regret >= 0.0);
    }

    #[test]
    fn a_quantile_is_where_its_probability_lies(beta in beta(), p in 0.001..0.999) {
        let x = beta.quantile(p);
        // At the far ends of a beta with half a row the density is infinite, and the last digit of x moves p.
        let step = 1e-12 * (1.0 + x);
        prop_assert!(beta.cdf(x - step) <= p + 1e-6 && beta.cdf(x + step) >= p - 1e-6, "{beta:?} {p} {x}");
    }

    #[test]
    fn external_rows_never_exceed_the_cap_by_more_than_the_half_counts(s in 0.0..1.0, n in 8.0..1e6, sources in 3_u64..50) {
        let shared = Shared { tally: Tally { s: s * n, n }, sources };
        let got = posterior(middle(), Some(shared), Tally::default(), &PriorRules::default());
        prop_assert!(got.external_rows <= 30.0 + 1.0);
    }

    #[test]
    fn the_order_of_rows_changes_no_typical_duration(mut minutes in prop::collection::vec(0.1..500.0, 1..30), turn in 0_usize..30) {
        let rows = |minutes: &[f64]| -> Vec<TimedRow> {
            minutes.iter().map(|minutes| TimedRow { minutes: *minutes, weight: 0.5, is_censored: *minutes > 400.0 }).collect()
        };
        let before = log_duration(&rows(&minutes), &DurationRules::default()).unwrap();
        let shift = turn % minutes.len();
        minutes.rotate_left(shift);
        let after = log_duration(&rows(&minutes), &DurationRules::default()).unwrap();
        prop_assert!((before.log_mean - after.log_mean).abs() < 1e-12 && (before.log_var - after.log_var).abs() < 1e-12);
    }

    #[test]
    fn after_a_move_no_window_of_the_taker_is_above_its_pressure(
        used in 0.0..0.99, tau in 13.0..160.0, g in 0.001..0.02, share in 0.2..0.9,
        used_to in 0.0..0.9, tau_to in 13.0..160.0, g_to in 0.001..0.02,
    ) {
        let window = |id: &str, used: f64, tau: f64, g: f64| SharedWindow {
            id: id.to_owned(), used: Some(used), is_rejected: false, phase: Phase::ResetsIn(tau), length_h: 168.0,
            rest_per_h: 0.0, per_share_per_h: g,
        };
        let from = ShareSide { key: "x".to_owned(), share, windows: vec![window("a", used, tau, g)] };
        let to = ShareSide { key: "y".to_owned(), share: 1.0 - share, windows: vec![window("b", used_to, tau_to, g_to)] };
        let limits = ShareLimits::default();
        let got = sustainable_share(&from, &to, &BTreeMap::new(), &limits);
        if got.reason.is_none() {
            let after = got.shares["y"];
            prop_assert!(g_to * after * tau_to / (1.0 - used_to) <= limits.pressure + 1e-9);
            let weights = got.weights.unwrap();
            prop_assert!(weights.weights.values().all(|weight| *weight >= 1) && weights.denominator <= 20);
        }
    }

    #[test]
    fn corrections_of_judges_average_to_nothing_and_stay_in_their_bounds(scores in prop::collection::vec(0.0..100.0, 6), n in prop::collection::vec(1_u32..40, 6)) {
        let cells: Vec<JudgeCell> = scores.iter().zip(&n).enumerate().map(|(i, (mean, n))| JudgeCell {
            judge: format!("j{}", i % 2), item: format!("i{}", i / 2), n: f64::from(*n), mean: *mean,
        }).collect();
        let got = severity(&cells);
        let rows = |judge: &str| -> f64 { cells.iter().filter(|cell| cell.judge == judge).map(|cell| cell.n).sum() };
        let leak: f64 = got.severity.iter().map(|(judge, beta)| beta * rows(judge)).sum();
        prop_assert!(leak.abs() < 1e-6 && got.severity.values().all(|beta| beta.abs() <= 10.0));
    }
}

#[test]
fn no_rows_one_row_all_success_all_failure_and_ten_million_rows_are_finite() {
    let rules = PriorRules::default();
    for (s, n) in [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (300.0, 300.0), (0.0, 300.0), (8e6, 1e7), (1e7, 1e7)] {
        let rate = posterior(middle(), None, Tally { s, n }, &rules).rate;
        let (lo, hi) = rate.interval_90();
        assert!(0.0 <= lo && lo < rate.mean() && rate.mean() < hi && hi <= 1.0, "{s} of {n}: {lo} {hi}");
        let p = p_diff(rate, posterior(middle(), None, Tally { s: 40.0, n: 50.0 }, &rules).rate, -0.03);
        assert!((0.0..=1.0).contains(&p), "{s} of {n}: {p}");
    }
}

#[test]
fn one_class_standardised_is_its_posterior() {
    let cell = Beta::new(41.5, 9.25);
    let (cells, mix) = (BTreeMap::from([("all".to_owned(), cell)]), BTreeMap::from([("all".to_owned(), 1.0)]));
    assert_eq!(standardised_rate(&cells, &mix), Some(cell));
}

#[test]
fn a_look_without_new_rows_never_advances_a_streak() {
    let at = chrono::DateTime::UNIX_EPOCH;
    let memory = LookMemory { at, p: 0.96, streak: 1, low: 0, is_open: false };
    let step = look(Some(&memory), 0.97, 4.9, false, &LookRules::default());
    assert_eq!((step.is_counted, step.streak, step.state), (false, 1, LookState::Watch));
    assert_eq!(look(Some(&memory), 0.97, 5.0, false, &LookRules::default()).state, LookState::Open);
}

#[test]
fn a_landed_change_is_not_argued_against_at_one_look() {
    let step = look(None, 0.999, 0.0, true, &LookRules::default());
    assert_eq!(step.state, LookState::Watch, "one look opens at 0.99, but never in reverse");
    assert_eq!(look(None, 0.999, 0.0, false, &LookRules::default()).state, LookState::Open);
}

#[test]
fn making_something_unknown_never_makes_a_pair_aligned() {
    let (lead, other) = (side(Beta::new(80.0, 20.0), 0.5, 2.0), side(Beta::new(70.0, 12.0), 0.4, 2.0));
    let bars = PairBars::default();
    for unknown in [PairSide { cost: None, ..other }, PairSide { log_minutes: None, ..other }] {
        assert_ne!(pair_decision(&lead, &unknown, WORTH, &bars, None).verdict, PairVerdict::Aligned);
    }
}

#[test]
fn the_member_that_gets_the_hard_work_is_not_called_the_loser() {
    // Golden E03: raw 107/120 against 86/120, -17.5 points; on a mix of half and half the second is 3.8 points better.
    let cells = |easy: (f64, f64), hard: (f64, f64)| {
        BTreeMap::from([
            ("mechanical".to_owned(), Beta::new(easy.0, easy.1)),
            ("implementation".to_owned(), Beta::new(hard.0, hard.1)),
        ])
    };
    let mix = BTreeMap::from([("mechanical".to_owned(), 0.5), ("implementation".to_owned(), 0.5)]);
    let easy_worker = standardised_rate(&cells((102.833_333, 5.5), (18.572_222, 11.538_889)), &mix).unwrap();
    let hard_worker = standardised_rate(&cells((27.833_333, 0.5), (72.572_222, 37.538_889)), &mix).unwrap();
    assert!(hard_worker.mean() - easy_worker.mean() > 0.03);
    let bars = PairBars::default();
    let decision = pair_decision(&side(hard_worker, 0.5, 2.0), &side(easy_worker, 0.5, 2.0), WORTH, &bars, None);
    assert!(decision.money.saving < 0.0 && decision.verdict != PairVerdict::Misaligned);
}

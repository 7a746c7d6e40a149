//! What a landed change did, measured on rows made by hand: mixes, controls, money, pairs, and what cannot be said.
#![expect(clippy::unwrap_used, reason = "an instant of the test that does not parse is a failed test")]

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::evidence::attribution::{Attribution, RowLimits};
use pool_review::evidence::measure::{Asked, Measurement, Meter, Metric, Mix, Span};
use pool_review::evidence::own::RowClock;
use pool_review::evidence::statistics::cost::Worth;
use pool_review::evidence::statistics::duration::DurationRules;
use pool_review::evidence::statistics::weight::RowWeights;
use pool_review::identity::Identity;
use pool_review::vocabulary::{Outcome, Place, PoolId, Prices, ProviderId, ScorecardRow};
use rust_decimal::Decimal;

/// The review.
fn now() -> DateTime<Utc> {
    "2026-12-20T12:00:00Z".parse().unwrap()
}

/// Days before the review that the change landed.
const LANDED: i64 = 10;

/// Rows of one window of a pool: class, successes, rows, minutes, output tokens.
type Rows<'a> = (&'a str, u64, u64, f64, Option<u64>);

/// Our rows in the making.
struct Table {
    /// The rows.
    rows: Vec<ScorecardRow>,
}

impl Table {
    /// No rows.
    fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Rows of a model that ended so many days before the review.
    fn add(&mut self, pool: &str, model: &str, days_ago: i64, (class, successes, n, minutes, output): Rows<'_>) {
        for i in 0..n {
            self.rows.push(ScorecardRow {
                task_id: format!("{pool}-{class}-{days_ago}-{i}"),
                attempt: 1,
                finished_at: now() - TimeDelta::days(days_ago),
                pool: Some(PoolId::new(pool)),
                provider: ProviderId::new("openai"),
                model: model.to_owned(),
                effort: None,
                home: None,
                task_class: class.to_owned(),
                outcome: if i < successes { Outcome::Success } else { Outcome::Failure },
                duration_s: Some(minutes * 60.0),
                is_cut_off: false,
                cost_usd: None,
                judged: None,
                session_id: None,
                epoch: String::new(),
                tokens: [None, None, None, output],
                place: Place::new("rows.csv", 2),
            });
        }
    }

    /// The same pool before and after, without tokens.
    fn before_after(&mut self, pool: &str, class: &str, pre: (u64, u64), post: (u64, u64)) {
        self.add(pool, "gpt-6-sol", LANDED + 5, (class, pre.0, pre.1, 8.0, None));
        self.add(pool, "gpt-6-sol", LANDED - 5, (class, post.0, post.1, 8.0, None));
    }

    /// Measures.
    fn measure(&self, metric: Metric, worth: Worth, mix: Option<&Mix>, controls: &[&str]) -> Measurement {
        let controls: Vec<String> = controls.iter().map(|&pool| pool.to_owned()).collect();
        let spans = spans();
        self.with_meter(|meter| {
            meter.measure(&Asked { pool: "pool", controls: &controls, metric, worth, mix, pre: spans.0, post: spans.1 })
        })
    }

    /// Asks a meter about these rows.
    fn with_meter(&self, ask: impl Fn(&Meter<'_>) -> Measurement) -> Measurement {
        let limits = RowLimits { max_age_days: 60.0 };
        let attribution = Attribution::build(&Identity::default(), &self.rows, &[], limits, now());
        let weights =
            RowWeights { half_life_days: 14.0, max_age_days: 60.0, cluster_correlation: 0.5, epoch_factor: 0.25 };
        let prices = |model: &str| {
            let per_mtok = if model == "gpt-6-sol" { Decimal::from(100) } else { Decimal::from(50) };
            (model != "gpt-6-unpriced").then(|| Prices { output: Some(per_mtok), ..Prices::default() })
        };
        let (clock, duration) = (RowClock::new(now(), 24.0, weights), DurationRules::default());
        ask(&Meter { attribution: &attribution, clock, duration, prices: &prices })
    }
}

/// Fourteen days before the landing, and the days since.
fn spans() -> (Span, Span) {
    let landed = now() - TimeDelta::days(LANDED);
    let span =
        |from: DateTime<Utc>, until: DateTime<Utc>| Span { from_s: from.timestamp(), until_s: until.timestamp() };
    (span(landed - TimeDelta::days(14), landed), span(landed, now()))
}

/// Ten dollars a failure, waiting costs nothing.
const STAKE: Worth = Worth { stake_usd: 10.0, minute_usd: 0.0 };

/// Whether two numbers are the same to a millionth.
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn a_rate_is_held_against_pools_that_were_left_alone() {
    // Golden case E12b: 91.2/120 → 77.4/90 and 324/400 → 319.2/380 in whole rows, 91/120 → 77/90 and 324/400 → 319/380.
    // 0.855556 − 0.758333 − (0.839474 − 0.81) = 0.067749; se² = v(91,120) + v(77,90) + v(324,400) + v(319,380) with
    // v(S, n) = p̃(1−p̃)/(n+2): 0.001511 + 0.001373 + 0.000384 + 0.000354 = 0.003623.
    let mut table = Table::new();
    table.before_after("pool", "code", (91, 120), (77, 90));
    table.before_after("calm", "code", (324, 400), (319, 380));
    let measured = table.measure(Metric::Success, STAKE, None, &["calm", "pool", "silent"]);
    let (point, se) = measured.effect.unwrap();
    assert!((point - 0.067_749).abs() < 1e-5, "{point}");
    assert!((se - 0.060_190).abs() < 1e-5, "{se}");
    assert_eq!((measured.rows, measured.controls), ((120, 90), vec!["calm".to_owned()]));
}

#[test]
fn other_work_after_a_change_is_no_effect_of_it() {
    // 90 % on easy and 50 % on hard work before and after, and mostly hard work after: raw 80 % → 58 %, and no effect.
    let mut table = Table::new();
    table.before_after("pool", "easy", (54, 60), (18, 20));
    table.before_after("pool", "hard", (10, 20), (40, 80));
    let mix = Mix::from([("easy".to_owned(), 0.75), ("hard".to_owned(), 0.25)]);
    let (point, _) = table.measure(Metric::Success, STAKE, Some(&mix), &[]).effect.unwrap();
    assert!(is_near(point, 0.0), "{point}");
    let (own, _) = table.measure(Metric::Success, STAKE, None, &[]).effect.unwrap();
    assert!(is_near(own, 0.0), "without a frozen mix that of the rows before holds: {own}");
}

#[test]
fn a_class_that_the_frozen_mix_does_not_have_counts_as_other_or_not_at_all() {
    let mut table = Table::new();
    table.before_after("pool", "easy", (54, 60), (54, 60));
    table.before_after("pool", "new", (0, 20), (20, 20));
    let without = Mix::from([("easy".to_owned(), 1.0)]);
    let measured = table.measure(Metric::Success, STAKE, Some(&without), &[]);
    assert!(is_near(measured.effect.unwrap().0, 0.0));
    assert_eq!(measured.rows, (60, 60), "rows of work that the claim is not about are not counted");
    let with = Mix::from([("easy".to_owned(), 0.5), ("other".to_owned(), 0.5)]);
    assert!(is_near(table.measure(Metric::Success, STAKE, Some(&with), &[]).effect.unwrap().0, 0.5));
}

#[test]
fn a_loss_counts_failures_tokens_and_waiting_together() {
    // Success 0.5 → 0.75 at 10 USD is 2.5; 10,000 output tokens at 100 USD a million → at 50 are 1.0 → 0.5; 8 → 4 minutes at
    // 0.1 USD are 0.4. Together 3.4 USD a task.
    let mut table = Table::new();
    table.add("pool", "gpt-6-sol", LANDED + 5, ("code", 20, 40, 8.0, Some(10_000)));
    table.add("pool", "gpt-6-luna", LANDED - 5, ("code", 30, 40, 4.0, Some(10_000)));
    let worth = Worth { stake_usd: 10.0, minute_usd: 0.1 };
    let (point, se) = table.measure(Metric::Loss, worth, None, &[]).effect.unwrap();
    assert!(is_near(point, 3.4), "{point}");
    assert!(se > 0.0);
    let (cost, _) = table.measure(Metric::Cost, worth, None, &[]).effect.unwrap();
    let (minutes, _) = table.measure(Metric::Minutes, worth, None, &[]).effect.unwrap();
    assert!(is_near(cost, 0.5) && is_near(minutes, 4.0), "{cost} {minutes}");
}

#[test]
fn a_price_that_is_unknown_leaves_the_loss_unknown_and_tokens_that_nobody_states_are_left_out() {
    let mut unpriced = Table::new();
    unpriced.add("pool", "gpt-6-sol", LANDED + 5, ("code", 20, 40, 8.0, Some(10_000)));
    unpriced.add("pool", "gpt-6-unpriced", LANDED - 5, ("code", 30, 40, 8.0, Some(10_000)));
    assert_eq!(unpriced.measure(Metric::Loss, STAKE, None, &[]).effect, None);
    let mut unstated = Table::new();
    unstated.before_after("pool", "code", (20, 40), (30, 40));
    assert!(is_near(unstated.measure(Metric::Loss, STAKE, None, &[]).effect.unwrap().0, 2.5));
}

#[test]
fn without_rows_on_a_side_nothing_is_said() {
    let mut table = Table::new();
    table.add("pool", "gpt-6-sol", LANDED + 5, ("code", 20, 40, 8.0, None));
    let measured = table.measure(Metric::Loss, STAKE, None, &["calm"]);
    assert_eq!(measured, Measurement { effect: None, rows: (40, 0), controls: Vec::new() });
    // A row of today is too young to be scored.
    table.add("pool", "gpt-6-sol", 0, ("code", 20, 40, 8.0, None));
    assert_eq!(table.measure(Metric::Loss, STAKE, None, &[]).rows, (40, 0));
}

#[test]
fn a_test_compares_the_same_tasks_and_pairs_that_all_agree_claim_no_certainty() {
    // 30 tasks on both arms: 10 only the second did, 2 only the first. (10 − 2)/30·10 USD = 2.6667.
    let mut table = Table::new();
    table.add("pool", "gpt-6-sol", 3, ("code", 20, 30, 8.0, None));
    table.add("pool", "gpt-6-luna", 3, ("code", 30, 30, 8.0, None));
    for row in &mut table.rows[30..32] {
        row.outcome = Outcome::Failure;
    }
    let arms = ("gpt-6-sol@default", "gpt-6-luna@default");
    let ask = |table: &Table| table.with_meter(|meter| meter.paired("pool", arms, Metric::Loss, STAKE, spans().1));
    let measured = ask(&table);
    let (point, se) = measured.effect.unwrap();
    assert!(is_near(point, 80.0 / 30.0), "{point}");
    assert!(se > 0.5 && se < 1.5, "{se}");
    assert_eq!(measured.rows, (30, 30));
    let mut alike = Table::new();
    alike.add("pool", "gpt-6-sol", 3, ("code", 30, 30, 8.0, None));
    alike.add("pool", "gpt-6-luna", 3, ("code", 30, 30, 8.0, None));
    let (point, se) = ask(&alike).effect.unwrap();
    assert!(is_near(point, 0.0) && se > 0.3, "{point} {se}");
    assert_eq!(ask(&Table::new()).effect, None, "no pair, no answer");
}

#[test]
fn the_order_of_rows_changes_no_bit() {
    let mut table = Table::new();
    table.before_after("pool", "code", (41, 60), (55, 70));
    table.before_after("pool", "docs", (13, 17), (11, 19));
    table.before_after("calm", "docs", (13, 17), (11, 19));
    let asked = |table: &Table| table.measure(Metric::Loss, STAKE, None, &["calm"]);
    let first = asked(&table);
    table.rows.reverse();
    assert_eq!(asked(&table), first);
}

//! What one reading is worth at the review instant: the limits of its classes, the interval an old value becomes, the
//! burn that is used without a measured one, and what several windows of a member say together. Worked by hand.

#![expect(clippy::unwrap_used, reason = "a test whose input cannot be read has failed")]

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::evidence::windows::{
    BurnSource, MemberOf, MemberWindows, Phase, Range, Standing, WindowClass, WindowInput, WindowLabel, WindowOutcome,
    WindowRules, WindowSeverity, WindowView, judge_windows, window_price,
};
use pool_review::vocabulary::{HomeId, Place, QuotaHome, QuotaWindow, REVIEW_HOURS, WindowRemark, WindowStatus};

/// The review instant.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// An instant some minutes from the review.
fn at(minutes: i64) -> DateTime<Utc> {
    now() + TimeDelta::minutes(minutes)
}

/// A weekly window, 40 % used, 72 h to its reset, read some minutes ago.
fn weekly(minutes_ago: i64) -> QuotaWindow {
    QuotaWindow {
        window_id: "weekly".to_owned(),
        kind: "fixed".to_owned(),
        scope: vec!["*".to_owned()],
        used: Some(0.4),
        is_unlimited: false,
        status: WindowStatus::Ok,
        window_seconds: Some(604_800),
        resets_at: Some(at(72 * 60)),
        started: None,
        observed_at: Some(at(-minutes_ago)),
        invalid: None,
        remarks: Vec::new(),
        recent_burn: None,
        place: Place::new("q.json", 1),
    }
}

/// A five-hour window, 40 % used, 3 h to its reset, read some minutes ago.
fn session(minutes_ago: i64) -> QuotaWindow {
    QuotaWindow {
        window_id: "session".to_owned(),
        kind: "first_use".to_owned(),
        window_seconds: Some(18_000),
        resets_at: Some(at(180)),
        ..weekly(minutes_ago)
    }
}

/// A reading as it stands at the review.
fn view(window: &QuotaWindow) -> WindowView {
    WindowView::read(&HomeId::new("h"), window, None, REVIEW_HOURS, now())
}

/// The class of a reading.
fn class(window: &QuotaWindow) -> WindowClass {
    view(window).class
}

/// Used at both ends.
fn used(view: &WindowView) -> (f64, f64) {
    let (low, high) = view.ends.unwrap();
    (low.used, high.used)
}

/// Asserts that two numbers are equal for all purposes.
fn assert_near(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-9, "{got} instead of {wanted}");
}

/// A flat member with these readings.
fn member(key: &str, windows: Vec<QuotaWindow>) -> MemberWindows {
    let home = QuotaHome { home: HomeId::new(key), windows };
    let models: &[&str] = &["anthropic/Claude-Opus-5-5", "claude-opus-5-5"];
    let burns = BTreeMap::new();
    let of =
        MemberOf { key: key.to_owned(), home: Some(&home), is_flat: true, cash_usd_per_lead_hour: None, models, burns };
    MemberWindows::read(&of, &WindowRules::default(), now())
}

#[test]
fn a_reading_ages_at_2_and_at_10_percent_of_its_length() {
    // 168 h: fresh up to 3.36 h = 201.6 min, aging up to 16.8 h = 1008 min. 5 h: 6 min and 30 min.
    let classes = [201, 202, 1008, 1009].map(|minutes| class(&weekly(minutes)));
    assert_eq!(classes, [WindowClass::Fresh, WindowClass::Aging, WindowClass::Aging, WindowClass::Stale]);
    let classes = [6, 7, 30, 31].map(|minutes| class(&session(minutes)));
    assert_eq!(classes, [WindowClass::Fresh, WindowClass::Aging, WindowClass::Aging, WindowClass::Stale]);
    let hour =
        |minutes| class(&QuotaWindow { window_seconds: Some(3_600), resets_at: Some(at(30)), ..weekly(minutes) });
    assert_eq!(
        [hour(5), hour(6), hour(7)],
        [WindowClass::Fresh, WindowClass::Aging, WindowClass::Stale],
        "never under 5 min"
    );
    assert_eq!(class(&QuotaWindow { observed_at: None, ..weekly(0) }), WindowClass::Stale, "unknown age is stale");
}

#[test]
fn an_aging_value_is_an_interval_of_twice_its_burn() {
    // Read 10 h ago: elapsed then 168 - 82 = 86 h, so 0.4 / 86 per hour; twice that for 10 h on top.
    let view = view(&weekly(600));
    let (low, high) = used(&view);
    assert_near(low, 0.4);
    assert_near(high, 0.4 + 2.0 * (0.4 / 86.0) * 10.0);
    assert_eq!(view.burn_source, BurnSource::CycleAverage);
    assert_near(view.age_h.unwrap(), 10.0);
    let over = used(&self::view(&QuotaWindow { used: Some(1.2), ..weekly(600) }));
    assert_eq!(over, (1.2, 1.2), "what is over the limit stays what it is");
}

#[test]
fn the_burn_is_the_cycle_average_once_a_tenth_of_the_cycle_has_passed() {
    // Read now: elapsed 96 of 168 h.
    assert_near(view(&weekly(0)).ends.unwrap().0.burn_per_h, 0.4 / 96.0);
    let young = view(&QuotaWindow { resets_at: Some(at(160 * 60)), ..weekly(0) });
    assert_eq!(young.burn_source, BurnSource::EvenPace, "8 h are less than a tenth of 168");
    assert_near(young.ends.unwrap().0.burn_per_h, 1.0 / 168.0);
    assert!(young.ends.unwrap().0.is_burn_assumed && young.flags.contains(&"burn assumed (even pace)".to_owned()));
    let dropped = view(&QuotaWindow { remarks: vec![WindowRemark::NewCycleSuspected], ..weekly(0) });
    assert_eq!(dropped.burn_source, BurnSource::EvenPace, "what was used since an unseen reset tells no burn");
}

#[test]
fn a_rolled_window_starts_a_new_cycle_and_its_old_value_is_void() {
    // Reset 2 h ago, read 3 h ago, all but full then: elapsed 167 h, 0.99 / 167 per hour; twice that for 2 h.
    let rolled = view(&QuotaWindow { used: Some(0.99), resets_at: Some(at(-120)), ..weekly(180) });
    assert_eq!(rolled.class, WindowClass::Rolled);
    let (low, high) = used(&rolled);
    assert_near(low, 0.0);
    assert_near(high, 2.0 * (0.99 / 167.0) * 2.0);
    assert_near(rolled.ends.unwrap().0.tau_h, 166.0);
    assert_eq!(rolled.resets_at, Some(at(166 * 60)));
    let first_use = view(&QuotaWindow { resets_at: Some(at(-1)), ..session(5) });
    assert_eq!((first_use.class, used(&first_use)), (WindowClass::Rolled, (0.0, 0.0)));
    assert!(first_use.flags.contains(&"assumed unopened (low confidence)".to_owned()));
    let unknown = view(&QuotaWindow { kind: "unknown".to_owned(), resets_at: Some(at(-1)), ..weekly(5) });
    assert!(unknown.ends.is_none(), "without a kind nobody knows the next reset");
    let old = view(&QuotaWindow { resets_at: Some(at(-120)), ..weekly(2000) });
    assert_eq!(old.class, WindowClass::Stale, "a reading of two days ago is no basis for a new cycle");
}

#[test]
fn a_calendar_month_has_the_length_of_its_real_month() {
    let month = QuotaWindow {
        kind: "calendar".to_owned(),
        window_seconds: Some(30 * 86_400),
        resets_at: Some("2027-01-01T00:00:00Z".parse().unwrap()),
        ..weekly(0)
    };
    assert_eq!(month.length_hours(), Some(31.0 * 24.0), "December");
    let rolled = view(&QuotaWindow { resets_at: Some("2026-11-29T00:00:00Z".parse().unwrap()), ..month });
    assert_eq!(rolled.resets_at, Some("2026-12-29T00:00:00Z".parse().unwrap()));
    assert_eq!(rolled.length_h, Some(30.0 * 24.0), "29 November to 29 December");
}

#[test]
fn an_unopened_window_is_full_and_has_no_deadline() {
    let unopened = [
        QuotaWindow { used: Some(0.0), resets_at: None, started: Some(false), ..session(2) },
        QuotaWindow { used: None, resets_at: None, started: Some(false), ..session(2) },
        QuotaWindow { used: Some(0.0), resets_at: None, ..session(2) },
        QuotaWindow { used: Some(0.0), resets_at: Some(at(298)), ..session(2) },
    ];
    for window in &unopened {
        let view = view(window);
        assert_eq!((view.class, used(&view), view.resets_at), (WindowClass::Unstarted, (0.0, 0.0), None));
        assert_near(view.ends.unwrap().0.tau_h, 5.0);
    }
    assert_eq!(
        class(&QuotaWindow { used: Some(0.3), resets_at: None, started: Some(false), ..session(2) }),
        WindowClass::Unknown
    );
    let refused = QuotaWindow { status: WindowStatus::Rejected, ..unopened[0].clone() };
    assert_eq!(view(&refused).flags, ["dry now, reset unknown"], "a refusal is no untouched window");
    let aging = view(&QuotaWindow { observed_at: Some(at(-20)), ..unopened[0].clone() });
    assert_eq!((aging.class, used(&aging).0), (WindowClass::Aging, 0.0), "it may have been opened since");
    assert!(used(&aging).1 > 0.0);
}

#[test]
fn a_stale_short_window_counts_by_its_load_for_a_day_and_a_long_one_not_at_all() {
    // Read 2 h ago: elapsed 5 - 5 = 0 h, so even pace: load 1, price 1/2.
    let stale = view(&session(120));
    assert_eq!(stale.class, WindowClass::Stale);
    assert!(stale.is_load_only());
    assert_near(stale.ends.unwrap().0.price, 0.5);
    let of_a_day_ago = |minutes: i64| QuotaWindow { resets_at: Some(at(180 - minutes)), ..session(minutes) };
    assert!(view(&of_a_day_ago(24 * 60)).ends.is_some());
    assert!(view(&of_a_day_ago(24 * 60 + 1)).ends.is_none(), "older than a day");
    assert!(view(&weekly(2000)).ends.is_none());
}

#[test]
fn what_cannot_be_priced_says_why() {
    let reasons = [
        (QuotaWindow { used: None, ..weekly(0) }, WindowClass::Unknown, "usage unknown, reset known"),
        (QuotaWindow { used: None, resets_at: None, ..weekly(0) }, WindowClass::Unknown, "usage unknown"),
        (QuotaWindow { resets_at: None, ..weekly(0) }, WindowClass::Unknown, "reset unknown"),
        (QuotaWindow { used: Some(1.0), resets_at: None, ..weekly(0) }, WindowClass::Unknown, "dry now, reset unknown"),
        (QuotaWindow { window_seconds: None, ..weekly(0) }, WindowClass::Unknown, "length of the window unknown"),
        (
            QuotaWindow { invalid: Some("alternating anchors".to_owned()), ..weekly(0) },
            WindowClass::Invalid,
            "alternating anchors",
        ),
        (
            QuotaWindow { resets_at: Some(at(171 * 60)), ..weekly(0) },
            WindowClass::Invalid,
            "reset further away than the window is long",
        ),
        (weekly(-6), WindowClass::Invalid, "observed after the review instant"),
        (weekly(2000), WindowClass::Stale, "too old"),
    ];
    for (window, class, reason) in reasons {
        let view = view(&window);
        assert_eq!((view.class, view.flags, view.ends), (class, vec![reason.to_owned()], None));
    }
    assert!(
        view(&QuotaWindow { resets_at: Some(at(169 * 60)), ..weekly(0) }).ends.is_some(),
        "1 % of 168 h is tolerated"
    );
}

#[test]
fn a_refusal_without_a_percentage_is_dry() {
    let refused = view(&QuotaWindow { used: None, status: WindowStatus::Rejected, ..weekly(0) });
    assert_near(refused.ends.unwrap().0.remaining, 0.0);
    assert!(refused.flags.contains(&"rejected, use not stated".to_owned()));
}

#[test]
fn the_dearest_window_that_binds_the_model_is_the_price() {
    let opus = QuotaWindow {
        window_id: "opus".to_owned(),
        scope: vec!["claude-opus-*".to_owned()],
        used: Some(0.97),
        ..weekly(0)
    };
    let gpt = QuotaWindow { window_id: "gpt".to_owned(), scope: vec!["gpt-*".to_owned()], used: None, ..weekly(0) };
    let member = member("m", vec![weekly(0), opus, gpt]);
    let (binding, price) = member.binding().unwrap();
    assert_eq!(binding.id, "m/opus");
    assert!(binding.is_scoped);
    assert_eq!(member.windows.len(), 2, "a window of other models binds nothing here");
    assert_eq!(member.price(), Some(Range { low: price.price, high: price.price }));
}

#[test]
fn one_unknown_window_makes_a_member_unknown_and_a_stale_one_makes_it_stale() {
    let unknown = QuotaWindow { window_id: "x".to_owned(), used: None, ..weekly(0) };
    let stale = QuotaWindow { window_id: "y".to_owned(), ..weekly(2000) };
    let standing = |windows| member("m", windows).standing;
    assert_eq!(standing(vec![weekly(0), unknown.clone()]), Standing::Unknown("usage unknown, reset known".to_owned()));
    assert_eq!(standing(vec![weekly(0), unknown, stale]), Standing::Stale("too old".to_owned()));
    assert_eq!(standing(Vec::new()), Standing::Unknown("no window of its home binds it".to_owned()));
    let unlimited = QuotaWindow { is_unlimited: true, ..weekly(0) };
    assert_eq!(member("m", vec![unlimited]).price(), Some(Range { low: 0.0, high: 0.0 }));
    let inactive = QuotaWindow { status: WindowStatus::Inactive, used: None, ..weekly(0) };
    assert!(matches!(standing(vec![weekly(0), inactive]), Standing::Known(_)), "a window not in force limits nothing");
}

#[test]
fn a_spent_balance_is_not_free_and_one_that_holds_something_does_not_limit() {
    let balance = |used| QuotaWindow {
        window_id: "credits".to_owned(),
        kind: "balance".to_owned(),
        used,
        resets_at: None,
        ..weekly(0)
    };
    assert!(matches!(member("m", vec![weekly(0), balance(Some(0.3))]).standing, Standing::Known(_)));
    assert!(matches!(member("m", vec![weekly(0), balance(Some(1.0))]).standing, Standing::Unknown(_)));
}

#[test]
fn a_stale_lead_has_no_verdict_and_a_stale_equal_is_skipped() {
    let rules = WindowRules::default();
    let judged = judge_windows(&member("x", vec![weekly(2000)]), &[member("y", vec![weekly(0)])], &rules);
    assert_eq!(judged.outcome, WindowOutcome::Stale("too old".to_owned()));
    assert_eq!((judged.gap, judged.against, judged.pool_short), (None, None, None));
    let spent = QuotaWindow { used: Some(1.0), ..weekly(0) };
    let judged = judge_windows(&member("x", vec![spent]), &[member("y", vec![weekly(2000)])], &rules);
    assert_eq!(judged.outcome, WindowOutcome::Aligned, "there is no alternative to compare with");
    assert_eq!((judged.against, judged.skipped), (None, vec![("y".to_owned(), "too old".to_owned())]));
}

#[test]
fn the_literal_picture_is_printed_whatever_the_verdict() {
    // The lead is dry with 10 h of 168 to go: gap above 0.3, and the picture is there beside it.
    let lead = member("x", vec![QuotaWindow { used: Some(1.0), resets_at: Some(at(600)), ..weekly(0) }]);
    let equal = member("y", vec![QuotaWindow { used: Some(0.02), resets_at: Some(at(160 * 60)), ..weekly(0) }]);
    let judged = judge_windows(&lead, &[equal], &WindowRules::default());
    assert_eq!(judged.outcome, WindowOutcome::Scarce);
    assert_eq!(judged.label, Some(WindowLabel::Depletion));
    let picture = judged.literal.unwrap();
    assert_eq!((picture.equal.as_str(), picture.lead_window.as_str()), ("y", "x/weekly"));
    assert_near(picture.lead_shortfall_h, 10.0);
    assert_near(picture.equal_remaining, 0.98);
}

#[test]
fn cash_goes_to_the_equal_that_saves_most_and_unknown_cash_claims_nothing() {
    let metered = |key: &str, cash| MemberWindows::from_windows(key, cash, Vec::new());
    let flat = member("flat", vec![QuotaWindow { used: Some(0.01), resets_at: Some(at(100 * 60)), ..weekly(0) }]);
    let lead = metered("lead", Some(6.0));
    let judged = judge_windows(&lead, &[metered("cheaper", Some(5.0)), flat.clone()], &WindowRules::default());
    assert_eq!((judged.label, judged.against.as_deref()), (Some(WindowLabel::Cash), Some("flat")));
    assert_near(judged.cash_saved_usd.unwrap(), 72.0);
    let unknown = judge_windows(&metered("lead", None), &[flat], &WindowRules::default());
    assert_eq!((unknown.outcome, unknown.cash_saved_usd), (WindowOutcome::Aligned, None));
}

/// A member of one window of some hours, `used`, with hours to its reset, and a load in windows per window.
fn plain(key: &str, length_h: f64, used: f64, tau_h: f64, load: f64) -> MemberWindows {
    let burn_per_h = Some(load / length_h);
    let input =
        WindowInput { used: Some(used), is_rejected: false, phase: Phase::ResetsIn(tau_h), length_h, burn_per_h };
    let price = window_price(&input, REVIEW_HOURS);
    MemberWindows::from_windows(
        key,
        Some(0.0),
        vec![WindowView::from_price(format!("{key}/w"), false, length_h, price)],
    )
}

#[test]
fn a_lead_that_is_dry_for_an_hour_is_severe_at_any_gap() {
    // Dry for 1.5 h of 12, then a load of 0.8: (1.5 + 10.5 * 0.2906) / 12 = 0.379 against about 0.
    let idle = [plain("y", 5.0, 0.0, 4.0, 0.1)];
    let severity = |tau_h| judge_windows(&plain("x", 5.0, 1.0, tau_h, 0.8), &idle, &WindowRules::default()).severity;
    assert_eq!(severity(1.5), Some(WindowSeverity::High));
    assert_eq!(severity(0.9), Some(WindowSeverity::Medium), "less than an hour to wait");
}

#[test]
fn cash_is_saved_only_on_an_equal_with_room() {
    let lead = MemberWindows::from_windows("x", Some(6.0), Vec::new());
    let label = |equal: MemberWindows| judge_windows(&lead, &[equal], &WindowRules::default()).label;
    // On pace (load 1) the price is exactly one half, which is short.
    assert_eq!(label(plain("y", 168.0, 0.5, 84.0, 1.0)), None);
    assert_eq!(label(plain("y", 168.0, 0.5, 84.0, 0.99)), Some(WindowLabel::Cash));
}

#[test]
fn a_reset_within_a_quarter_of_an_hour_is_near_however_short_the_window() {
    let rules = WindowRules::default();
    let equal = [plain("y", 1.0, 0.1, 0.9, 0.5)];
    let picture = |tau_h| judge_windows(&plain("x", 1.0, 0.5, tau_h, 0.5), &equal, &rules).literal;
    assert!(picture(0.25).is_some());
    assert!(picture(0.26).is_none(), "a tenth of one hour is less than a quarter");
    let late = [plain("y", 1.0, 0.1, 0.79, 0.5)];
    assert!(judge_windows(&plain("x", 1.0, 0.5, 0.25, 0.5), &late, &rules).literal.is_none(), "no fresh window");
}

#[test]
fn of_two_windows_as_dear_the_one_with_the_smaller_slack_binds() {
    // Both dry for longer than a review: Π is 1 twice, and the longer wait binds.
    let windows = vec![
        QuotaWindow { window_id: "a".to_owned(), used: Some(1.0), resets_at: Some(at(40 * 60)), ..weekly(0) },
        QuotaWindow { window_id: "b".to_owned(), used: Some(1.0), resets_at: Some(at(80 * 60)), ..weekly(0) },
    ];
    assert_eq!(member("m", windows).binding().unwrap().0.id, "m/b");
}

#[test]
fn a_remark_that_holds_at_one_end_of_the_reading_only_is_not_made() {
    // 10 h to the reset. Half used: 40 h of surplus. 98 % used: dry for 6 h. Aligned both times, for opposite reasons.
    let price = |used| {
        let phase = Phase::ResetsIn(10.0);
        let input =
            WindowInput { used: Some(used), is_rejected: false, phase, length_h: 168.0, burn_per_h: Some(0.005) };
        window_price(&input, REVIEW_HOURS).unwrap()
    };
    let lead = |low, high| {
        let mut view = WindowView::from_price("x/w", false, 168.0, Some(price(low)));
        view.ends = Some((price(low), price(high)));
        MemberWindows::from_windows("x", Some(0.0), vec![view])
    };
    let equal = [plain("y", 168.0, 0.1, 150.0, 1.2)];
    let label = |low, high| {
        let judged = judge_windows(&lead(low, high), &equal, &WindowRules::default());
        (judged.outcome, judged.label)
    };
    assert_eq!(label(0.5, 0.5), (WindowOutcome::Aligned, Some(WindowLabel::UseItOrLoseIt)));
    assert_eq!(label(0.98, 0.98), (WindowOutcome::Aligned, Some(WindowLabel::Tail)));
    assert_eq!(label(0.5, 0.98), (WindowOutcome::Aligned, None));
}

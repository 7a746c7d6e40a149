//! Due times: every tick of two years against a minute-by-minute walk that shares no code, and what is refused.
#![expect(clippy::unwrap_used, reason = "a helper of a test that cannot go on may panic")]

use chrono::{DateTime, Datelike as _, Duration, NaiveDateTime, TimeZone as _, Timelike as _, Utc};
use chrono_tz::Tz;
use pool_review::schedule::Schedule;

/// A due time of the wall clock, written by hand for one expression.
type Rule = fn(&NaiveDateTime) -> bool;

/// Expressions and, independently, what they mean.
const RULES: [(&str, Rule); 12] = [
    ("0 */12 * * *", |t| t.minute() == 0 && t.hour() % 12 == 0),
    ("30 2 * * *", |t| (t.hour(), t.minute()) == (2, 30)),
    ("*/20 1-3 * * *", |t| t.minute() % 20 == 0 && (1..=3).contains(&t.hour())),
    ("5 6 13 * 5", |t| (t.hour(), t.minute()) == (6, 5) && (t.day() == 13 || weekday(t) == 5)),
    ("5 6 */2 * 5", |t| (t.hour(), t.minute()) == (6, 5) && t.day() % 2 == 1 && weekday(t) == 5),
    ("0 9 * * 7", |t| (t.hour(), t.minute()) == (9, 0) && weekday(t) == 0),
    ("0 9 * * 0,Wed", |t| (t.hour(), t.minute()) == (9, 0) && [0, 3].contains(&weekday(t))),
    ("0 9 * * fri-sun", |t| (t.hour(), t.minute()) == (9, 0) && [5, 6, 0].contains(&weekday(t))),
    ("15 10 1,15 feb,AUG *", |t| {
        (t.hour(), t.minute()) == (10, 15) && [1, 15].contains(&t.day()) && [2, 8].contains(&t.month())
    }),
    ("7-59/26 22 * * *", |t| t.hour() == 22 && [7, 33, 59].contains(&t.minute())),
    ("@weekly", |t| (t.hour(), t.minute()) == (0, 0) && weekday(t) == 0),
    ("0 3 29 2 *", |t| (t.hour(), t.minute()) == (3, 0) && (t.day(), t.month()) == (29, 2)),
];

/// Days since Sunday.
fn weekday(time: &NaiveDateTime) -> u32 {
    time.weekday().num_days_from_sunday()
}

/// The schedule of an expression that is fine.
fn schedule(expression: &str, zone: Tz) -> Schedule {
    Schedule::parse(expression, zone).unwrap_or_else(|error| panic!("{expression}: {error:#}"))
}

/// An instant in UTC.
fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// Due instants after `from` and before `to`.
fn due(schedule: &Schedule, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let next = |now: &DateTime<Utc>| schedule.next_after(*now).filter(|due| *due < to);
    std::iter::successors(next(&from), next).collect()
}

/// Every due instant between two, per rule, by walking the minutes of UTC: a wall-clock minute counts the first time it is
/// shown, and one the clock jumps over counts at the first minute after the jump.
fn walk(zone: Tz, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Vec<DateTime<Utc>>> {
    let minute = Duration::minutes(1);
    let mut found = vec![Vec::new(); RULES.len()];
    // The latest wall-clock minute shown so far.
    let mut shown = zone.from_utc_datetime(&from.naive_utc()).naive_local();
    let mut now = from + minute;
    while now < to {
        let local = zone.from_utc_datetime(&now.naive_utc()).naive_local();
        while shown < local {
            shown += minute;
            for (rule, due) in RULES.iter().zip(&mut found) {
                if (rule.1)(&shown) && due.last() != Some(&now) {
                    due.push(now);
                }
            }
        }
        now += minute;
    }
    found
}

/// Asserts two years of every rule in one zone.
fn two_years_agree(zone: Tz) {
    let (from, to) = (at("2027-01-01T00:00:00Z"), at("2029-01-01T00:00:00Z"));
    let walked = walk(zone, from, to);
    for ((expression, _), walked) in RULES.iter().zip(&walked) {
        let due = due(&schedule(expression, zone), from, to);
        assert!(!due.is_empty(), "{expression}: 2028 has a 29 February, and every other rule is due more often");
        assert_eq!(&due, walked, "{expression} in {zone}");
    }
    let nightly = walked[1].len();
    assert_eq!(nightly, 731, "half past two comes once a day, in leap year 2028 too");
}

#[test]
fn two_years_in_berlin_are_due_once_each() {
    two_years_agree(Tz::Europe__Berlin);
}

#[test]
fn two_years_in_new_york_are_due_once_each() {
    two_years_agree(Tz::America__New_York);
}

#[test]
fn two_years_in_kolkata_are_due_once_each() {
    two_years_agree(Tz::Asia__Kolkata);
}

#[test]
fn two_years_in_utc_are_due_once_each() {
    two_years_agree(Tz::UTC);
}

#[test]
fn a_tick_inside_the_gap_is_due_right_after_it() {
    // Berlin jumps from 02:00 to 03:00 on 2027-03-28, which is 01:00 UTC.
    let nightly = schedule("30 2 * * *", Tz::Europe__Berlin);
    assert_eq!(nightly.next_after(at("2027-03-27T12:00:00Z")), Some(at("2027-03-28T01:00:00Z")));
    assert_eq!(nightly.next_after(at("2027-03-28T01:00:00Z")), Some(at("2027-03-29T00:30:00Z")));
}

#[test]
fn a_tick_the_clock_shows_twice_is_due_the_first_time_only() {
    // Berlin shows 02:30 at 00:30 and at 01:30 UTC on 2027-10-31.
    let nightly = schedule("30 2 * * *", Tz::Europe__Berlin);
    assert_eq!(nightly.next_after(at("2027-10-30T12:00:00Z")), Some(at("2027-10-31T00:30:00Z")));
    for now in ["2027-10-31T00:30:00Z", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z", "2027-10-31T01:59:59Z"] {
        assert_eq!(nightly.next_after(at(now)), Some(at("2027-11-01T01:30:00Z")), "after {now}");
    }
}

#[test]
fn a_day_that_never_was_is_due_at_its_end() {
    // Samoa had no 30 December 2011: the 29th ended at 10:00 UTC on the 30th, and the 31st began.
    let daily = schedule("0 6 * * *", Tz::Pacific__Apia);
    assert_eq!(daily.next_after(at("2011-12-29T20:00:00Z")), Some(at("2011-12-30T10:00:00Z")));
    assert_eq!(daily.next_after(at("2011-12-30T10:00:00Z")), Some(at("2011-12-30T16:00:00Z")));
}

#[test]
fn a_due_instant_is_after_now_to_the_fraction_of_a_second() {
    let hourly = schedule("@hourly", Tz::UTC);
    assert_eq!(hourly.next_after(at("2027-01-01T10:59:59.999Z")), Some(at("2027-01-01T11:00:00Z")));
    assert_eq!(hourly.next_after(at("2027-01-01T11:00:00Z")), Some(at("2027-01-01T12:00:00Z")));
    assert_eq!(hourly.next_after(at("2027-01-01T11:00:00.001Z")), Some(at("2027-01-01T12:00:00Z")));
}

#[test]
fn short_forms_mean_what_they_stand_for() {
    let (from, to) = (at("2027-01-01T00:30:00Z"), at("2028-02-02T00:00:00Z"));
    for (short, full) in [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * sun"),
        ("@monthly", "0 0 1 * *"),
        ("@Yearly", "0 0 1 jan *"),
    ] {
        let expected = due(&schedule(full, Tz::UTC), from, to);
        assert!(!expected.is_empty(), "{full} is due within thirteen months");
        assert_eq!(due(&schedule(short, Tz::UTC), from, to), expected, "{short}");
    }
}

#[test]
fn what_is_no_five_field_schedule_is_refused_in_plain_words() {
    for (expression, words) in [
        ("@reboot", "has no time of day"),
        ("@fortnightly", "is no short form"),
        ("0 0 */12 * * *", "6 fields: it takes five, minute hour day month weekday, and neither seconds nor years"),
        ("0 0 12 1 1 ? 2027", "7 fields"),
        ("0 12 * *", "4 fields"),
        ("", "0 fields"),
        ("60 * * * *", "minute \"60\" is not between 0 and 59"),
        ("0 24 * * *", "hour \"24\" is not between 0 and 23"),
        ("0 0 0 * *", "day of month \"0\" is not between 1 and 31"),
        ("0 0 * 13 *", "month \"13\" is not between 1 and 12"),
        ("0 0 * * 8", "weekday \"8\" is not between 0 and 7"),
        ("0 0 * * noday", "weekday \"noday\""),
        ("0 0 L * *", "day of month \"L\""),
        ("0 0 ? * 1", "day of month \"?\""),
        ("0 0 * * 1#2", "weekday \"1#2\""),
        ("+5 * * * *", "minute \"+5\""),
        ("5, * * * *", "minute \"\""),
        ("*/0 * * * *", "minute step \"0\" is not a whole number of at least 1"),
        ("*/x * * * *", "minute step \"x\""),
        ("5/15 * * * *", "write 5-59/"),
        ("0 18-6 * * *", "hour 18-6 runs backwards"),
        ("0 0 31 2 *", "is never due"),
        ("99999999999 * * * *", "is not between 0 and 59"),
    ] {
        let error = Schedule::parse(expression, Tz::UTC).err().map(|error| format!("{error:#}"));
        let error = error.unwrap_or_else(|| panic!("{expression:?} was accepted"));
        assert!(error.contains(words), "{expression:?} says {error:?}, expected {words:?}");
        assert!(error.contains(&format!("{expression:?}")), "{error:?} quotes the expression");
    }
}

#[test]
fn a_step_that_does_not_come_round_is_a_warning_and_others_are_none() {
    for (expression, count) in [
        ("0 */12 * * *", 0),
        ("*/15 */6 * */3 *", 0),
        ("0 8-18/4 * * *", 0),
        ("0 */25 * * *", 1),
        ("*/7 */5 * * *", 2),
        ("0 0 */2 * *", 1),
        ("0 0 * * */1", 0),
    ] {
        assert_eq!(schedule(expression, Tz::UTC).warnings().len(), count, "{expression}");
    }
    let warning = schedule("0 */5 * * *", Tz::UTC).warnings().join("");
    assert!(warning.starts_with("hour step */5 does not come round evenly"), "{warning}");
}

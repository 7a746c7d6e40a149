//! The handed quota examples, read from their snapshot files and judged: every case, every expected number.
//! Without the handed folder it says so and passes. Cases of kind `weighted` are those of the sustainable share.

#![expect(clippy::unwrap_used, reason = "a test whose input cannot be read has failed")]
#![expect(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use pool_review::evidence::statistics::shares::{ShareLimits, ShareSide, SharedWindow, sustainable_share};
use pool_review::evidence::windows::{
    BurnOverride, BurnRate, MemberOf, MemberWindows, Phase, Range, Standing, WindowJudgement, WindowLabel,
    WindowOutcome, WindowPrice, WindowRules, WindowSeverity, WindowView, judge_windows,
};
use pool_review::sources::quotas;
use pool_review::vocabulary::{QuotaHome, SourceState};
use serde_json::Value;

/// The handed examples, if they are there.
fn examples() -> Option<PathBuf> {
    let root = std::env::var_os("POOL_REVIEW_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = root.join("examples/quota");
    folder.is_dir().then_some(folder)
}

/// A folder with copies of some snapshots, so that they are read together as history. Names are reversed: order of
/// files must not matter.
fn folder_of(case: &str, examples: &Path, names: &[&str], shift: TimeDelta) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("quota_examples-{}-{case}", shift.num_minutes()));
    write_copies(&folder, examples, names, shift);
    folder
}

/// A document with every instant moved.
fn moved(value: &mut Value, shift: TimeDelta) {
    match value {
        Value::String(text) => {
            if let Ok(at) = DateTime::parse_from_rfc3339(text) {
                *text = (at + shift).to_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| moved(item, shift)),
        Value::Object(entries) => entries.values_mut().for_each(|value| moved(value, shift)),
        _ => {}
    }
}

/// Writes the copies.
#[expect(clippy::disallowed_methods, reason = "tests write their own inputs")]
fn write_copies(folder: &Path, examples: &Path, names: &[&str], shift: TimeDelta) {
    std::fs::create_dir_all(folder).unwrap();
    for (index, name) in names.iter().enumerate() {
        let target = folder.join(format!("{:02}.json", names.len() - index));
        let bytes = std::fs::read(examples.join(name)).unwrap();
        if shift.is_zero() {
            std::fs::write(target, bytes).unwrap();
        } else {
            let mut document: Value = serde_json::from_slice(&bytes).unwrap();
            moved(&mut document, shift);
            std::fs::write(target, document.to_string()).unwrap();
        }
    }
}

/// What went wrong in one case.
struct Check<'a> {
    /// The case.
    id: &'a str,
    /// Differences so far.
    wrong: &'a mut Vec<String>,
    /// Numbers compared.
    numbers: &'a mut usize,
}

impl Check<'_> {
    /// Notes a difference.
    fn differs(&mut self, what: &str, got: &str, wanted: &str) {
        self.wrong.push(format!("{} {what}: {got} instead of {wanted}", self.id));
    }

    /// Compares a value with an expected number, word or null.
    fn is(&mut self, what: &str, got: Option<f64>, wanted: &Value) {
        *self.numbers += 1;
        let same = match (got, wanted) {
            (Some(got), Value::Number(wanted)) => (got - wanted.as_f64().unwrap()).abs() <= 1e-6,
            (None, Value::Null | Value::String(_)) => true,
            _ => false,
        };
        if !same {
            self.differs(what, &format!("{got:?}"), &wanted.to_string());
        }
    }

    /// Compares both ends with an expected number or pair.
    fn ends(&mut self, what: &str, got: Option<(Option<f64>, Option<f64>)>, wanted: &Value) {
        let (low, high) = got.unwrap_or_default();
        if let Some(pair) = wanted.as_array() {
            self.is(&format!("{what} low"), low, &pair[0]);
            self.is(&format!("{what} high"), high, &pair[1]);
        } else {
            self.is(what, low, wanted);
            self.is(what, high, wanted);
        }
    }

    /// Compares a range.
    fn range(&mut self, what: &str, got: Option<Range>, wanted: &Value) {
        self.ends(what, got.map(|range| (Some(range.low), Some(range.high))), wanted);
    }

    /// Compares a word.
    fn word(&mut self, what: &str, got: Option<&str>, wanted: &Value) {
        if got != wanted.as_str() {
            self.differs(what, &format!("{got:?}"), &wanted.to_string());
        }
    }
}

/// The members of a case, priced.
fn members(case: &Value, homes: &[QuotaHome], rules: &WindowRules, now: DateTime<Utc>) -> Vec<MemberWindows> {
    let read = |member: &Value| {
        let burns = member["burn_per_hour"].as_object().unwrap();
        let most = |window: &str| member["burn_max_per_hour"][window].as_f64().map(|points| points / 100.0);
        let burn = |window: &str, value: &Value| BurnOverride {
            rate: value.as_f64().map_or(BurnRate::EvenPace, |points| BurnRate::PerHour(points / 100.0)),
            max_per_h: most(window),
        };
        let dollars = member["cash_per_lead_hour"].as_f64();
        let model = member["model"].as_str().unwrap();
        let of = MemberOf {
            key: member["id"].as_str().unwrap().to_owned(),
            home: homes.iter().find(|home| home.home.as_str() == member["home_id"]),
            is_flat: dollars.is_none(),
            cash_usd_per_lead_hour: dollars,
            models: &[model],
            burns: burns.iter().map(|(window, value)| (window.clone(), burn(window, value))).collect(),
        };
        MemberWindows::read(&of, rules, now)
    };
    case["inputs"]["members"].as_array().unwrap().iter().map(read).collect()
}

/// Both ends of a number of a window.
fn both(view: &WindowView, f: impl Fn(&WindowPrice) -> Option<f64>) -> Option<(Option<f64>, Option<f64>)> {
    view.ends.as_ref().map(|(low, high)| (f(low), f(high)))
}

/// Compares one window with what is expected of it.
fn check_window(check: &mut Check<'_>, name: &str, view: &WindowView, wanted: &Value) {
    check.word(&format!("{name} class"), Some(view.class.as_str()), &wanted["class"]);
    let mut flags: Vec<&str> = view.flags.iter().map(String::as_str).filter(|flag| *flag != "overage in use").collect();
    let mut wanted_flags: Vec<&str> =
        wanted["flags"].as_array().into_iter().flatten().map(|flag| flag.as_str().unwrap()).collect();
    flags.sort_unstable();
    wanted_flags.sort_unstable();
    if flags != wanted_flags {
        check.differs(&format!("{name} flags"), &format!("{flags:?}"), &format!("{wanted_flags:?}"));
    }
    for (key, value) in wanted.as_object().unwrap() {
        let got = match key.as_str() {
            "class" | "flags" => continue,
            "used_pt" => both(view, |price| Some(price.used * 100.0)),
            "remaining_pt" => both(view, |price| Some(price.remaining * 100.0)),
            "tau_h" => both(view, |price| Some(price.tau_h)),
            "h_h" => both(view, |price| price.hours_left),
            "slack_h" => both(view, |price| price.slack_h),
            "shortfall_h" => both(view, |price| Some(price.shortfall_h)),
            "projected_pct" => both(view, |price| Some(price.projected_use * 100.0)),
            "expiring_pt" => both(view, |price| Some(price.expiring * 100.0)),
            "rho" => both(view, |price| price.pressure),
            "load_pct" => both(view, |price| Some(price.load * 100.0)),
            "Pi" => both(view, |price| Some(price.price)),
            other => panic!("{}: nobody compares the number {other:?}", check.id),
        };
        check.ends(&format!("{name} {key}"), got, value);
    }
}

/// Compares the members with what is expected of them.
fn check_members(check: &mut Check<'_>, members: &[MemberWindows], expected: &Value) {
    for (key, wanted) in expected["members"].as_object().unwrap() {
        let member = members.iter().find(|member| member.key == *key).unwrap();
        check.range(&format!("{key} Pi"), member.price(), &wanted["Pi"]);
        let window_of = |view: &WindowView| view.id.split_once('/').unwrap().1.to_owned();
        let binding = member.binding().map(|(view, _)| window_of(view));
        check.word(&format!("{key} binding window"), binding.as_deref(), &wanted["binding_window"]);
        let windows = wanted["windows"].as_object().unwrap();
        let names: Vec<String> = member.windows.iter().map(window_of).collect();
        if !names.iter().eq(windows.keys()) {
            check.differs(&format!("{key} windows"), &format!("{names:?}"), &format!("{:?}", windows.keys()));
        }
        for view in &member.windows {
            let name = window_of(view);
            if let Some(wanted) = windows.get(&name) {
                check_window(check, &format!("{key} {name}"), view, wanted);
            }
        }
    }
}

/// The outcome in the words of the examples.
fn verdict(judged: &WindowJudgement) -> &'static str {
    match judged.outcome {
        WindowOutcome::Aligned => "aligned",
        WindowOutcome::Scarce => "misaligned",
        WindowOutcome::NeedsRefresh => "no-verdict",
        WindowOutcome::NoEvidence(_) => "no-evidence",
        WindowOutcome::Stale(_) => "blocked",
    }
}

/// The lead and its equals, in the order given.
fn sides(case: &Value, members: &[MemberWindows]) -> (MemberWindows, Vec<MemberWindows>) {
    let find = |key: &Value| members.iter().find(|member| member.key == *key).unwrap().clone();
    (find(&case["inputs"]["lead"]), case["inputs"]["equals"].as_array().unwrap().iter().map(find).collect())
}

/// Compares the judgement of a lead with what is expected of it.
fn check_lead(check: &mut Check<'_>, case: &Value, members: &[MemberWindows], rules: &WindowRules) {
    let (lead, equals) = sides(case, members);
    let judged = judge_windows(&lead, &equals, rules);
    let flagged = judge_windows(&lead, &equals, &WindowRules { flag_literal_picture: true, ..*rules });
    let expected = &case["expected"];
    let label = match judged.outcome {
        WindowOutcome::NeedsRefresh => Some("refresh"),
        _ => judged.label.map(WindowLabel::as_str),
    };
    let proposal = judged.moves().then(|| format!("put {} before {}", judged.against.clone().unwrap(), lead.key));
    let short = judged.pool_short;
    let literal = judged.literal.as_ref().filter(|_| label == Some("use-it-or-lose-it"));
    let note = judged.is_shared.then_some("lead and equal share the binding window: not an alternative");
    check.word("verdict", Some(verdict(&judged)), &expected["verdict"]);
    check.word("label", label, &expected["label"]);
    check.word("severity", judged.severity.map(WindowSeverity::as_str), &expected["severity"]);
    check.word("against", judged.against.as_deref(), &expected["against"]);
    check.word("drain first", judged.drain_first.as_deref(), &expected["drain_first"]);
    check.word("proposal", proposal.as_deref(), &expected["proposal_ordered"]);
    check.word("note", note, &expected["note"]);
    let wanted_flagged = expected.get("verdict_if_flag_literal_window_picture").unwrap_or(&expected["verdict"]);
    check.word("verdict with the literal picture", Some(verdict(&flagged)), wanted_flagged);
    check.range("gap", judged.gap, &expected["gap"]);
    check.range("gap in lead hours", judged.scarce_lead_hours(rules), &expected["gap_lead_hours"]);
    check.is("cash", judged.cash_saved_usd, &expected["cash_per_review"]);
    check.is("points lost", literal.map(|picture| picture.fraction_lost * 100.0), &expected["points_lost"]);
    check.is("lead hours lost", literal.map(|picture| picture.lead_hours_lost), &expected["lead_hours_lost"]);
    let lapsing = judged.expiring.as_ref();
    check.is("equal unused", lapsing.map(|equal| equal.unused * 100.0), &expected["equal_unused_pt"]);
    check.is("needed until reset", lapsing.map(|equal| equal.needed * 100.0), &expected["needed_pt_until_reset"]);
    let wanted_short = &expected["pool_short"];
    check.is("runway", short.map(|short| short.runway_h), &wanted_short["runway_h"]);
    check.is("first reset", short.map(|short| short.first_reset_h), &wanted_short["first_reset_h"]);
    check.is("latest reset", short.map(|short| short.latest_reset_h), &wanted_short["latest_reset_h"]);
}

/// A member of a weighted case with its windows; its burn is that of the whole pool's work.
fn share_side(case: &Value, members: &[MemberWindows], key: &str) -> ShareSide {
    let member = case["inputs"]["members"].as_array().unwrap().iter().find(|member| member["id"] == key).unwrap();
    let read = members.iter().find(|member| member.key == key).unwrap();
    let windows = read.windows.iter().map(|view| {
        let price = view.ends.unwrap().0;
        SharedWindow {
            id: view.id.clone(),
            used: Some(price.used),
            is_rejected: price.remaining <= 0.0,
            phase: Phase::ResetsIn(price.tau_h),
            length_h: view.length_h.unwrap(),
            rest_per_h: 0.0,
            per_share_per_h: price.burn_per_h,
        }
    });
    ShareSide { key: key.to_owned(), share: member["share"].as_f64().unwrap(), windows: windows.collect() }
}

/// A case of the sustainable share: shares, prices, the move and the weights.
fn check_weighted(check: &mut Check<'_>, case: &Value, members: &[MemberWindows]) {
    let side = |role: &str| share_side(case, members, case["inputs"][role].as_str().unwrap());
    let (from, to) = (side("from"), side("to"));
    let limits = ShareLimits::default();
    let got = sustainable_share(&from, &to, &BTreeMap::new(), &limits);
    let expected = &case["expected"];
    let severity = got.is_high.map(|is_high| if is_high { "high" } else { "medium" });
    check.word("finding", got.reason.is_none().then_some("misaligned"), &expected["finding"]);
    let same = (got.reason == Some("same_window")).then_some("both draw on the same window");
    check.word("reason", same, &expected["reason"]);
    check.word("severity", severity, &expected["severity"]);
    check.is("move", got.moved, &expected["move"]);
    check.is("price of the giver", got.price_from, &expected["members"][&from.key]["Pi"]);
    check.is("price of the taker after", got.price_to_after, &expected["Pi_after"][&to.key]);
    check.is("gap", got.gap(), &expected["gap"]);
    check.is("moved lead hours", got.moved_lead_hours(&limits), &expected["moved_lead_hours"]);
    if let Some(weights) = &got.weights {
        for (member, weight) in &weights.weights {
            check.is("weight", Some(f64::from(*weight)), &expected["weights"][member]);
        }
        check.is("share of the giver", got.shares.get(&from.key).copied(), &expected["shares_after"][&from.key]);
    }
}

/// The rules as the examples state them.
fn rules(parameters: &Value) -> WindowRules {
    let number = |key: &str| parameters[key].as_f64().unwrap();
    WindowRules {
        gap: number("gap_misaligned"),
        gap_high: number("gap_high"),
        cash_usd: number("cash_threshold"),
        review_hours: number("review_hours"),
        tail_minutes: number("tail_minutes"),
        flag_literal_picture: parameters["flag_literal_window_picture"].as_bool().unwrap(),
    }
}

/// The files of every expectation in the folder.
fn expectations(examples: &Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let documents = files.iter().map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap());
    documents.filter(|document| document["cases"].is_array()).collect()
}

/// The snapshots of a case, old to new.
fn snapshots(case: &Value) -> Vec<&str> {
    match case["snapshot"].as_str() {
        Some(one) => vec![one],
        None => case["snapshots"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect(),
    }
}

/// A case of the examples with the rules of its document, its members read and priced.
struct Read {
    /// The case.
    case: Value,
    /// The rules.
    rules: WindowRules,
    /// The members.
    members: Vec<MemberWindows>,
    /// Whether a window follows the calendar, whose months differ in length.
    has_calendar: bool,
}

/// Every case, with every instant moved.
fn cases(examples: &Path, shift: TimeDelta) -> Vec<Read> {
    let mut cases = Vec::new();
    for document in expectations(examples) {
        let rules = rules(&document["parameters"]);
        for case in document["cases"].as_array().unwrap() {
            let id = case["id"].as_str().unwrap();
            let now: DateTime<Utc> = case["now"].as_str().unwrap().parse().unwrap();
            let folder = folder_of(id, examples, &snapshots(case), shift);
            let (homes, note) = quotas::read(&folder, "quotas", now + shift);
            assert_eq!(note.state, SourceState::Fresh, "{id}: a snapshot of the review instant is fresh");
            let members = members(case, &homes, &rules, now + shift);
            let texts = snapshots(case).into_iter().map(|name| std::fs::read_to_string(examples.join(name)).unwrap());
            let has_calendar = texts.into_iter().any(|text| text.contains("\"calendar\""));
            cases.push(Read { case: case.clone(), rules, members, has_calendar });
        }
    }
    cases
}

/// Compares cases with what is expected of them: numbers compared by kind, and the differences.
fn compare(cases: &[Read]) -> (BTreeMap<String, usize>, usize, Vec<String>) {
    let (mut wrong, mut numbers) = (Vec::new(), 0);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for Read { case, rules, members, .. } in cases {
        let (id, kind) = (case["id"].as_str().unwrap(), case["kind"].as_str().unwrap());
        *kinds.entry(kind.to_owned()).or_default() += 1;
        let mut check = Check { id, wrong: &mut wrong, numbers: &mut numbers };
        match kind {
            "windows" => check_members(&mut check, members, &case["expected"]),
            "lead" => {
                check_members(&mut check, members, &case["expected"]);
                check_lead(&mut check, case, members, rules);
            }
            "weighted" => check_weighted(&mut check, case, members),
            other => panic!("{id}: nobody judges the kind {other:?}"),
        }
    }
    (kinds, numbers, wrong)
}

#[test]
fn every_handed_example_comes_out_with_its_numbers_and_its_verdict() {
    let Some(examples) = examples() else {
        eprintln!("skipped: ../shared not present");
        return;
    };
    let (kinds, numbers, wrong) = compare(&cases(&examples, TimeDelta::zero()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    eprintln!("cases: {kinds:?}, numbers compared: {numbers}");
}

#[test]
fn moving_every_instant_of_an_example_changes_no_number_and_no_verdict() {
    let Some(examples) = examples() else {
        eprintln!("skipped: ../shared not present");
        return;
    };
    // The calendar repeats after 400 years; by less, only windows that do not follow it stay as they are.
    let (kinds, _, wrong) = compare(&cases(&examples, TimeDelta::days(146_097)));
    assert!(wrong.is_empty() && kinds.values().sum::<usize>() > 0, "{}", wrong.join("\n"));
    for shift in [TimeDelta::minutes(25_051), TimeDelta::minutes(-1_000_001)] {
        let mut cases = cases(&examples, shift);
        cases.retain(|case| !case.has_calendar);
        let (kinds, _, wrong) = compare(&cases);
        assert!(wrong.is_empty() && kinds.values().sum::<usize>() > 0, "{}", wrong.join("\n"));
    }
}

#[test]
fn swapping_the_lead_and_an_equal_of_an_example_negates_the_gap() {
    let Some(examples) = examples() else {
        eprintln!("skipped: ../shared not present");
        return;
    };
    let mut pairs = 0;
    for Read { case, rules, members, .. } in cases(&examples, TimeDelta::zero()) {
        if case["kind"] != "lead" {
            continue;
        }
        let (lead, equals) = sides(&case, &members);
        for equal in equals {
            let gap = |lead: &MemberWindows, equal: &MemberWindows| {
                judge_windows(lead, std::slice::from_ref(equal), &rules).gap
            };
            match (gap(&lead, &equal), gap(&equal, &lead)) {
                (Some(forth), Some(back)) => {
                    pairs += 1;
                    let sums = [forth.low + back.high, forth.high + back.low];
                    assert!(sums.iter().all(|sum| sum.abs() < 1e-12), "{}: {forth:?} {back:?}", case["id"]);
                }
                (forth, back) => assert!(forth.is_none() || back.is_none(), "{}", case["id"]),
            }
        }
    }
    assert!(pairs >= 10, "{pairs} pairs have prices on both sides");
}

#[test]
fn a_member_of_a_home_nobody_read_is_unknown_and_a_metered_one_is_metered() {
    let of = |is_flat: bool| MemberOf {
        key: "m".to_owned(),
        home: None,
        is_flat,
        cash_usd_per_lead_hour: Some(3.0),
        models: &["glm-5.3"],
        burns: BTreeMap::new(),
    };
    let now = "2026-11-29T12:00:00Z".parse().unwrap();
    let read = |is_flat: bool| MemberWindows::read(&of(is_flat), &WindowRules::default(), now);
    assert_eq!(read(true).standing, Standing::Unknown("its home has no reading".to_owned()));
    assert_eq!(read(true).cash_usd_per_lead_hour, Some(0.0), "a subscription costs no cash per hour");
    assert_eq!(read(false).standing, Standing::Metered);
    assert_eq!(read(false).cash_usd_per_lead_hour, Some(3.0));
}

//! Promises of a whole review, in process: no order shows, no name breaks a table, and nothing that goes missing makes a
//! verdict better. The fleet is the demo's; what a property changes, it changes in files or in what was gathered.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

mod review_support;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use pool_review::review::gather::Gathered;
use pool_review::verdict::{PoolReport, Report, Verdict};
use pool_review::vocabulary::{
    ConsumerTarget, Effort, HomeId, ModelId, Outcome, Place, PoolId, Prices, ProviderId, QuotaHome, QuotaWindow,
    ScorecardRow, TargetKind, TargetRef,
};
use proptest::prelude::*;
use review_support::{Desk, comments_and_blocks, settings_of, shuffled};
use scene::Scene;
use serde_json::Value;

/// Verdict of every pool and check, consumers included.
type Verdicts = BTreeMap<(String, String), Verdict>;

/// The verdicts of a report.
fn verdicts(report: &Report) -> Verdicts {
    let of_pool = |pool: &PoolReport| {
        let id = pool.id.to_string();
        let whole = ((id.clone(), "pool".to_owned()), pool.verdict);
        let checks = pool.checks.iter().map(|check| ((id.clone(), check.check.as_str().to_owned()), check.verdict));
        std::iter::once(whole).chain(checks).collect::<Vec<_>>()
    };
    report.pools.iter().flat_map(of_pool).collect()
}

/// The review of the demo as it is.
static BASE: LazyLock<Report> = LazyLock::new(|| {
    let desk = Desk::of_demo();
    desk.review(&desk.gather())
});

/// The section of the demo at every level of detail, with plain names where the outside world gives names.
static PLAIN: LazyLock<Vec<String>> = LazyLock::new(|| {
    let desk = Desk::of_demo();
    levels(&desk.review(&named(&desk, "<plain")))
});

/// The section of a report at every level of detail: which one is shown depends on how long names are.
fn levels(report: &Report) -> Vec<String> {
    pool_review::outputs::log::levels(report, "reports", pool_review::outputs::log::Since::default())
}

/// The skeleton of a section. Where words are cut, which names stand before the cut depends on how long they are; all else does not.
fn skeleton(section: &str, is_cut: bool) -> Vec<String> {
    let nodes = comments_and_blocks(&split_off_unmatched(section).0);
    nodes.into_iter().filter(|node| !is_cut || node != "code").collect()
}

/// Pools and checks that became aligned although they were not.
fn brightened(before: &Verdicts, after: &Verdicts) -> Vec<(String, String)> {
    let is_new = |key: &(String, String)| before.get(key).is_some_and(|verdict| *verdict != Verdict::Aligned);
    after
        .iter()
        .filter(|(key, verdict)| **verdict == Verdict::Aligned && is_new(key))
        .map(|(key, _)| key.clone())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// Rows may arrive in any order: not a byte of run file, section or terminal changes.
    #[test]
    fn the_order_of_rows_never_changes_a_byte(seed in any::<u64>()) {
        let desk = Desk::of_demo();
        let mut gathered = desk.gather();
        shuffled(&mut gathered.market, seed);
        shuffled(&mut gathered.offers, seed ^ 1);
        shuffled(&mut gathered.retirements, seed ^ 2);
        shuffled(&mut gathered.cards, seed ^ 3);
        shuffled(&mut gathered.speeds, seed ^ 4);
        for home in gathered.quotas.values_mut() {
            shuffled(&mut home.windows, seed ^ 5);
        }
        let after = desk.review(&gathered);
        for (a, b) in desk.render(&BASE).iter().zip(desk.render(&after)) {
            prop_assert_eq!(a, &b);
        }
    }

    /// Fewer rows of our own never settle what was too thin to judge.
    #[test]
    fn fewer_observations_never_settle_what_was_too_thin(seed in any::<u64>(), kept in 0.0_f64..1.0) {
        let desk = Desk::of_demo();
        let before = verdicts(&BASE);
        let mut gathered = desk.gather();
        let keep = |count: usize| {
            #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a few hundred rows")]
            let keep = (count as f64 * kept) as usize;
            keep
        };
        shuffled(&mut gathered.cards, seed);
        gathered.cards.truncate(keep(gathered.cards.len()));
        shuffled(&mut gathered.speeds, seed);
        gathered.speeds.truncate(keep(gathered.speeds.len()));
        let after = verdicts(&desk.review(&gathered));
        for (key, verdict) in before.iter().filter(|(_, verdict)| **verdict == Verdict::InsufficientEvidence) {
            prop_assert_eq!(after.get(key), Some(verdict), "{:?} with {} cards, {} speeds", key, gathered.cards.len(), gathered.speeds.len());
        }
    }

    /// What makes a member or candidate cheaper and better never makes the verdict that names it aligned.
    #[test]
    fn cheaper_and_better_never_becomes_aligned(points in 0.0_f64..8.0, price in 0.05_f64..1.0, which in any::<prop::sample::Index>()) {
        let desk = Desk::of_demo();
        let latest = |pool: &'static PoolReport| pool.checks.iter().flat_map(move |check| check.findings.iter().map(move |f| (&pool.id, f)));
        let missing: Vec<_> = BASE.pools.iter().flat_map(latest).filter(|(_, finding)| finding.code == "missing").collect();
        let (pool, challenger) = missing[which.index(missing.len())];
        let mut gathered = desk.gather();
        improve(&mut gathered, &ModelId::new(challenger.subject.split('@').next().unwrap()), points, price);
        let after = verdicts(&desk.review(&gathered));
        prop_assert_eq!(after[&(pool.to_string(), "latest-model".to_owned())], Verdict::Misaligned, "{} {}", pool, challenger.subject);
    }
}

/// Raises every index of a model and lowers every price of it.
fn improve(gathered: &mut Gathered, model: &ModelId, points: f64, price: f64) {
    let slug = model.as_str().replace('.', "-");
    for row in gathered.market.iter_mut().filter(|row| row.slug.starts_with(&slug)) {
        row.indices.values_mut().for_each(|index| *index += points);
        row.prices = cheaper(row.prices, price);
    }
    for row in &mut gathered.retirements {
        if gathered.identity.offer(&row.provider, &row.model).model() == Some(model) {
            row.prices = cheaper(row.prices, price);
        }
    }
    for offer in &mut gathered.offers {
        if gathered.identity.offer(&offer.provider, &offer.id).model() == Some(model) {
            offer.prices = cheaper(offer.prices, price);
        }
    }
}

/// Prices times a factor.
fn cheaper(prices: Prices, factor: f64) -> Prices {
    let factor = rust_decimal::Decimal::try_from(factor).unwrap();
    let times = |price: Option<rust_decimal::Decimal>| price.map(|price| price * factor);
    Prices {
        input: times(prices.input),
        output: times(prices.output),
        cache_read: times(prices.cache_read),
        cache_write: times(prices.cache_write),
    }
}

/// Files may have other names, and rows and keys in them stand in another order: nothing that is said changes. Digests and
/// lines, which speak of the bytes themselves, do.
#[test]
fn the_order_of_files_rows_and_keys_changes_nothing_that_is_said() {
    let scene = Scene::demo("order");
    let data = scene.root.join("data");
    for name in ["evidence/scorecards.csv", "evidence/speeds.csv", "aliases.csv"] {
        rewrite(&data.join(name), |text| {
            let (head, rows) = text.split_once('\n').unwrap();
            let rows: Vec<&str> = rows.lines().rev().collect();
            format!("{head}\n{}\n", rows.join("\n"))
        });
    }
    for name in
        ["models-dev.json", "litellm.json", "artificial-analysis/page-1.json", "artificial-analysis/page-2.json"]
    {
        rewrite(&data.join("market").join(name), |text| backwards(&serde_json::from_str(text).unwrap()));
    }
    rewrite(&data.join("fleet/openchamber/routing.json"), |text| backwards(&serde_json::from_str(text).unwrap()));
    for (from, to) in [
        ("market/artificial-analysis/page-1.json", "market/artificial-analysis/z.json"),
        ("evidence/quotas/2026-11-28T1155Z.json", "evidence/quotas/z.json"),
    ] {
        scene.copy(data.join(from).to_str().unwrap(), &format!("data/{to}"));
        take(&data.join(from));
    }
    let desk = Desk::with(&scene.root, &settings_of(&scene.root));
    let said = |desk: &Desk, report: &Report| {
        let mut run: Value = serde_json::from_str(&desk.render(report)[0]).unwrap();
        scrub(&mut run);
        run
    };
    let (before, after) = (said(&desk, &BASE), said(&desk, &desk.review(&desk.gather())));
    for key in ["tally", "unmatched", "sources", "pools", "proposals", "remarks"] {
        assert!(before[key] == after[key], "{key}: {:#}\n{:#}", before[key], after[key]);
    }
}

/// Takes out what speaks of bytes and lines.
fn scrub(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(scrub),
        Value::Object(entries) => {
            entries.retain(|key, _| !["digest", "content_digest", "line"].contains(&key.as_str()));
            entries.values_mut().for_each(scrub);
        }
        _ => {}
    }
}

/// A JSON text with the keys of every object, and the rows of every list of objects, in reverse.
fn backwards(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries =
                entries.iter().rev().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), backwards(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(",\n"))
        }
        Value::Array(items) if items.iter().all(Value::is_object) => {
            format!("[{}]", items.iter().rev().map(backwards).collect::<Vec<_>>().join(",\n"))
        }
        other => other.to_string(),
    }
}

/// Rewrites a file of a workspace.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn rewrite(path: &Path, change: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, change(&text)).unwrap();
}

/// Takes a file of a workspace away.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn take(path: &Path) {
    std::fs::remove_file(path).unwrap();
}

/// A challenger that wins on more rows still wins.
#[test]
fn more_successes_of_the_better_member_never_become_aligned() {
    let desk = Desk::of_demo();
    let mut before = 0.8; // the bar of `watch`, which the pair of the demo clears
    for extra in [0, 1, 5, 40] {
        let mut gathered = desk.gather();
        let wins = |card: &&ScorecardRow| {
            card.model == "gpt-6-luna"
                && card.pool.as_ref().is_some_and(|pool| pool.as_str() == "scout-plan")
                && card.outcome == Outcome::Success
        };
        let win = gathered.cards.iter().find(wins).unwrap().clone();
        for n in 0..extra {
            let mut card = win.clone();
            card.task_id = format!("more-{n}");
            gathered.cards.push(card);
        }
        let report = desk.review(&gathered);
        let pool = report.pools.iter().find(|pool| pool.id.as_str() == "scout-plan").unwrap();
        let findings = pool.checks.iter().flat_map(|check| &check.findings);
        let is_pair = |finding: &&pool_review::verdict::Finding| {
            finding.code == "lead_loses_on_sessions" && finding.counterpart.starts_with("gpt-6-luna@")
        };
        let pair = findings.filter(is_pair).collect::<Vec<_>>();
        let [pair] = pair[..] else { panic!("{extra}: one finding about the pair, not {}", pair.len()) };
        let claimed = pair.measured.as_ref().unwrap().value;
        assert!(matches!(pair.verdict, Some(Verdict::Watch | Verdict::Misaligned)), "{extra}: {:?}", pair.verdict);
        assert!(claimed >= before, "{extra} more successes lowered the claim from {before} to {claimed}");
        before = claimed;
        // Another pair of the pool stays unresolved, so that the check is; it never gets better than that.
        let after = verdicts(&report);
        assert!(after[&("scout-plan".to_owned(), "best-per-pool".to_owned())] >= Verdict::Unresolved, "{extra}");
    }
}

/// A source that is taken out of the settings, whose file is gone, or whose file is empty brightens nothing.
#[test]
fn a_source_that_goes_missing_aligns_nothing() {
    let scene = Scene::demo("sources");
    let before = verdicts(&BASE);
    let text = settings_of(&scene.root);
    for key in ["market", "catalogues", "retirements", "speeds", "sessions", "quotas", "openchamber"] {
        let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{key}: data/"))).unwrap();
        let elsewhere = |path: &str| text.replace(line, &format!("  {key}: {path}"));
        scene.copy("tests/golden/market-empty/in/data/market.json", "data/elsewhere/empty.json");
        for (what, changed) in [
            ("not configured", text.replace(line, "")),
            ("gone", elsewhere("data/no-such-thing")),
            ("another thing", elsewhere("data/aliases.csv")),
            ("empty", elsewhere("data/elsewhere/empty.json")),
        ] {
            let desk = Desk::with(&scene.root, &changed);
            let after = verdicts(&desk.review(&desk.gather()));
            assert_eq!(brightened(&before, &after), vec![], "{key} {what}");
            let is_same = after.len() == before.len() || key == "openchamber";
            assert!(is_same, "{key} {what}: every pool and category still has its verdicts");
        }
    }
}

/// What the review knows of one member is made unknown, thing by thing; no verdict of its pools gets better for it.
#[test]
fn making_something_of_a_member_unknown_aligns_nothing() {
    let desk = Desk::of_demo();
    let before = verdicts(&BASE);
    let sampled = BASE.pools.iter().filter(|pool| ["scout", "scout-plan", "workhorse"].contains(&pool.id.as_str()));
    let members: BTreeSet<String> =
        sampled.flat_map(|pool| pool.members.iter().map(|(target, _)| target.clone())).collect();
    for target in members {
        for (what, forget) in FORGET {
            let mut gathered = desk.gather();
            let (provider, model) = target.split('#').next().unwrap().split_once('/').unwrap();
            forget(&mut gathered, provider, model);
            let after = verdicts(&desk.review(&gathered));
            assert_eq!(brightened(&before, &after), vec![], "{what} of {target}");
        }
    }
}

/// What is made unknown of a member: name, and how.
type Forget = (&'static str, fn(&mut Gathered, &str, &str));

/// Each thing that can go unknown.
const FORGET: [Forget; 4] = [
    ("own rows", |gathered, provider, model| {
        gathered.cards.retain(|card| (card.provider.as_str(), card.model.as_str()) != (provider, model));
    }),
    ("measured speed", |gathered, provider, model| {
        gathered.speeds.retain(|row| (row.provider.as_str(), row.model.as_str()) != (provider, model));
    }),
    ("prices", |gathered, provider, model| {
        for row in market_of(gathered, provider, model) {
            gathered.market[row].prices = Prices::default();
        }
        for offer in gathered.offers.iter_mut().filter(|offer| offer.id == model) {
            offer.prices = Prices::default();
        }
    }),
    ("market rows", |gathered, provider, model| {
        for row in market_of(gathered, provider, model) {
            gathered.market[row].indices.clear();
            gathered.market[row].output_tps = None;
        }
    }),
];

/// Indices of the market rows of a target's model.
fn market_of(gathered: &Gathered, provider: &str, model: &str) -> Vec<usize> {
    let known = gathered.identity.offer(&ProviderId::new(provider), model);
    let name = known.model().map(|model| model.as_str().replace('.', "-"));
    let is_of = |slug: &str| name.as_ref().is_some_and(|name| slug.starts_with(name.as_str()));
    (0..gathered.market.len()).filter(|row| is_of(&gathered.market[*row].slug)).collect()
}

/// A home whose readings are gone altogether brightens nothing either.
#[test]
fn a_home_without_readings_aligns_nothing() {
    let desk = Desk::of_demo();
    let before = verdicts(&BASE);
    let homes: Vec<HomeId> = desk.gather().quotas.keys().cloned().collect();
    for home in homes {
        let mut gathered = desk.gather();
        gathered.quotas.remove(&home);
        assert_eq!(brightened(&before, &verdicts(&desk.review(&gathered))), vec![], "no readings of {home}");
        for window in desk.gather().quotas.remove(&home).into_iter().flat_map(|home| home.windows) {
            let unread = QuotaHome { home: home.clone(), windows: vec![QuotaWindow { used: None, ..window }] };
            gathered.quotas.insert(home.clone(), unread);
            let after = verdicts(&desk.review(&gathered));
            assert_eq!(brightened(&before, &after), vec![], "one window of {home}, not read");
        }
        gathered.quotas.insert(home.clone(), QuotaHome { home: home.clone(), windows: Vec::new() });
        assert_eq!(brightened(&before, &verdicts(&desk.review(&gathered))), vec![], "no windows of {home}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text as name of a model, a provider, a pool of a row or an effort: the section is built as with plain names, and
    /// nothing but text reaches the terminal.
    #[test]
    fn no_name_breaks_a_table_or_reaches_the_terminal(name in "\\PC*|.*|(<!--|-->|`|\\||\u{1b}\\[2J|\u{202e}|\r\n|@all|\\]\\(|#){1,6}") {
        let desk = Desk::of_demo();
        let report = desk.review(&named(&desk, &format!("<{name}")));
        let hostile = desk.render(&report);
        for (level, (plain, section)) in PLAIN.iter().zip(levels(&report)).enumerate() {
            let (wanted, found) = (skeleton(plain, level > 0), skeleton(&section, level > 0));
            let first = wanted.iter().zip(&found).position(|(a, b)| a != b);
            prop_assert!(first.is_none() && wanted.len() == found.len(), "{:?} at level {}: node {:?} of {} and {}", name, level, first, wanted.len(), found.len());
            for line in split_off_unmatched(&section).1.lines() {
                prop_assert!(line.starts_with("- ") && line.matches('`').count() % 2 == 0, "{:?}", line);
            }
        }
        for (what, text) in [("section", &hostile[1]), ("terminal", &hostile[2])] {
            let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c) || ('\u{2066}'..='\u{2069}').contains(c));
            prop_assert_eq!(bad, None, "{} with {:?}", what, name);
        }
        let run: Value = serde_json::from_str(&hostile[0]).unwrap();
        let exact = format!("<{name}");
        let remarks = run["sources"][2]["remarks"].as_array().unwrap();
        prop_assert_eq!(remarks.last().and_then(|remark| remark.as_str()), Some(exact.as_str()), "the run file has the exact name");
    }
}

/// The demo with one name put wherever the outside world gives names: a target, a category and the pool it asks for, rows
/// of every source, a reject and a remark.
fn named(desk: &Desk, name: &str) -> Gathered {
    let mut gathered = desk.gather();
    let route = gathered.config.routes.iter_mut().find(|route| route.id.as_str() == "scout").unwrap();
    let mut target = route.targets[0].clone();
    target.kind = TargetKind::Model(TargetRef {
        provider: ProviderId::new("openai"),
        model: name.replace('*', ""),
        variant: None,
    });
    route.targets.push(target);
    let mut category = gathered.config.consumers.iter().find(|it| it.id == "category/hard").unwrap().clone();
    category.id = format!("category/{name}");
    category.target = ConsumerTarget::Pool(PoolId::new(name));
    gathered.config.consumers.push(category);

    let mut card = gathered.cards[0].clone();
    (card.model, card.task_class, card.effort) = (name.to_owned(), name.to_owned(), Some(Effort::new(name)));
    (card.provider, card.pool) = (ProviderId::new(name), Some(PoolId::new(name)));
    gathered.cards.push(card);
    let mut speed = gathered.speeds[0].clone();
    (speed.model, speed.provider) = (name.to_owned(), ProviderId::new(name));
    gathered.speeds.push(speed);
    let mut row = gathered.market[0].clone();
    (row.id, row.name, row.slug) = (name.to_owned(), name.to_owned(), name.to_owned());
    row.indices.clear();
    gathered.market.push(row);
    let note = &mut gathered.notes[2];
    note.reject(Place::new("data/market.json", 1), format!("unknown row {name}"));
    note.remarks.push(name.to_owned());
    gathered
}

/// A section without its list of unmatched names, whose length depends on what the rules make of a name, and that list.
fn split_off_unmatched(section: &str) -> (String, String) {
    let Some((before, rest)) = section.split_once("<details>\n<summary>Names that matched") else {
        return (section.to_owned(), String::new());
    };
    let (list, after) = rest.split_once("\n</details>\n").unwrap();
    (format!("{before}{}", after.trim_start()), list.split_once("\n\n").unwrap().1.to_owned())
}

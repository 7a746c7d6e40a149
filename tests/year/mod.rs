//! A fleet of twelve pools over many runs: most of them as before, some that move, proposals that come and go.

use chrono::{DateTime, TimeDelta, Utc};
use pool_review::store::Store;
use pool_review::verdict::{PoolReport, Proposal, Report};
use pool_review::vocabulary::CheckId;

use crate::reports::{at, blocked, pool, proposal, report_at, retirement, run, with_finding};

/// The instant of a run: two a day from the first of December 2025.
pub(crate) fn instant(number: usize) -> DateTime<Utc> {
    at("2025-12-01T00:00:00Z") + TimeDelta::hours(12) * i32::try_from(number).expect("a few hundred runs")
}

/// A number that looks like chance and is none.
fn chance(number: usize, pool: usize) -> usize {
    let mixed = (number / (20 + 3 * pool)).wrapping_mul(2_654_435_761).wrapping_add(pool.wrapping_mul(40_503));
    (mixed >> 7) % 100
}

/// One pool at one run: mostly aligned for weeks, at times blocked or with a member on its way out.
fn one(number: usize, i: usize) -> (PoolReport, Option<Proposal>) {
    let id = format!("pool-{i:02}");
    let member = format!("acme/old-{i}@default#seat");
    match chance(number, i) {
        0..20 => {
            let proposal = proposal(&id, &member, instant(number), (1, 1, 1));
            (with_finding(pool(&id), retirement(&id, &member)), Some(proposal))
        }
        20..25 => (blocked(&id, CheckId::BestPerPool), None),
        _ => (pool(&id), None),
    }
}

/// The report of a run and what it proposes.
pub(crate) fn of_run(number: usize) -> (Report, Vec<Proposal>) {
    let (pools, proposals): (Vec<_>, Vec<_>) = (0..12).map(|i| one(number, i)).unzip();
    let now = instant(number).format("%Y-%m-%dT%H:%M:%SZ").to_string();
    (report_at(&now, pools), proposals.into_iter().flatten().collect())
}

/// Delivers so many runs; the last report comes back.
pub(crate) fn deliver(runs: usize, store: &Store) -> Report {
    let all = (0..runs).map(|number| {
        let (report, proposals) = of_run(number);
        run(report, proposals, store).0
    });
    all.reduce(|_, last| last).expect("at least one run")
}

/// Asserts that the index lists the last runs, each by a link to the file that holds its section, and every month.
pub(crate) fn assert_index(store: &Store, runs: usize) {
    let read =
        |path: &std::path::Path| String::from_utf8(store.read(path).expect("readable").expect("there")).expect("text");
    let index = read(&store.in_reports("README.md"));
    for number in runs.saturating_sub(20)..runs {
        let run = instant(number).format("%Y%m%dT%H%M%SZ").to_string();
        let link = index.split(&format!("- [{run}](/")).nth(1).and_then(|rest| rest.split(')').next());
        let (file, anchor) = link.and_then(|link| link.split_once('#')).expect("a link for each of the last runs");
        let text = read(std::path::Path::new(file));
        assert_eq!(text.matches(&format!("<a id=\"{anchor}\"></a>")).count(), 1, "{run} in {file}");
    }
    let listed = index.matches("\n- [20").count() - runs.min(20);
    assert_eq!(listed, store.months().expect("months").len() + 1, "each month once, and the running one");
}

/// Sizes of the log and its months, largest first, by name.
pub(crate) fn months(store: &Store) -> Vec<(usize, String)> {
    let size = |path: &std::path::Path| store.read(path).expect("readable").map_or(0, |bytes| bytes.len());
    let months = store.months().expect("months");
    let mut sizes: Vec<_> = months.into_iter().map(|month| (size(&store.month_path(&month)), month)).collect();
    sizes.push((size(store.log_path()), "running".to_owned()));
    sizes.sort();
    sizes.reverse();
    sizes
}

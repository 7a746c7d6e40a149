//! The page: self-contained and escaped, the same bytes twice, small for a large fleet, and whole in a real browser.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests write into scratch folders of their own and say what they could not run"
)]

mod reports;
mod year;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use pool_review::outputs::page;
use pool_review::verdict::{Chart, ChartPoint, ChartSpeed, ChartWindow, PointRole, PoolReport, Report, Verdict};
use pool_review::vocabulary::CheckId;
use reports::{at, blocked, pool, proposal, report, retirement, with_finding, workspace};

/// A model on price and quality.
fn point(id: &str, role: PointRole, bill: Option<f64>, q: Option<f64>, on_front: bool) -> ChartPoint {
    let remark = if bill.is_none() { "no price in any source" } else { "" };
    ChartPoint { id: id.to_owned(), role, bill, q, index: q, on_front, remark: remark.to_owned() }
}

/// Pictures of a pool: `name` stands for one of its members.
fn chart(name: &str) -> Chart {
    let window = |id: &str, length: f64, resets: &str, used: Option<(f64, f64)>| ChartWindow {
        id: id.to_owned(),
        members: vec![name.to_owned()],
        class: "fresh".to_owned(),
        length_h: Some(length),
        resets_at: Some(at(resets)),
        used,
        price: used,
        age_h: Some(0.1),
        remarks: Vec::new(),
    };
    Chart {
        points: vec![
            point("acme/mid@default#seat", PointRole::Lead, Some(3.0), Some(61.0), false),
            point(name, PointRole::Member, Some(1.0), Some(55.0), true),
            point("acme/unpriced@default#seat", PointRole::Member, None, Some(50.0), false),
            point("zeta/new@high", PointRole::Candidate, Some(2.0), Some(70.0), true),
            point("zeta/newer@high", PointRole::Candidate, Some(2.1), Some(71.0), true),
        ],
        more_candidates: 2,
        speeds: vec![
            ChartSpeed {
                member: name.to_owned(),
                measured: Some(40.0),
                interval: Some((35.0, 48.0)),
                n: 12,
                market: Some(52.0),
            },
            ChartSpeed { member: "acme/mid".to_owned(), measured: None, interval: None, n: 0, market: Some(30.0) },
        ],
        speed_floor: Some(35.0),
        bill_ceiling: Some(2.5),
        windows: vec![
            window("seat/five_hour", 5.0, "2026-11-29T14:00:00Z", Some((0.3, 0.4))),
            window("seat/weekly", 168.0, "2026-12-02T00:00:00Z", Some((0.9, 0.9))),
            window("seat/unknown", 168.0, "2026-12-02T00:00:00Z", None),
        ],
    }
}

/// A report of several pools with every kind of row.
fn several(pools: usize, name: &str) -> Report {
    let one = |i: usize| -> PoolReport {
        let id = format!("pool-{i:02}");
        let pool = match i % 3 {
            0 => with_finding(pool(&id), retirement(&id, name)),
            1 => blocked(&id, CheckId::BestPerPool),
            _ => pool(&id),
        };
        PoolReport { chart: chart(name), ..pool }
    };
    let mut report = report(29, (0..pools).map(one).collect());
    report.proposals = vec![proposal("pool-00", name, report.now, (1, 1, 1))];
    report
}

/// Names that try to be something else.
const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</title></svg><a href=javascript:alert(1)>",
    "' onmouseover='x",
    "\u{202e}gnp.evil\u{2069}",
    "&lt;b&gt; @import url(http://evil)",
];

#[test]
fn the_same_report_gives_the_same_bytes_and_nothing_comes_from_elsewhere() {
    let html = page::render(&several(9, "acme/old@default#seat"), &[]);
    assert_eq!(html, page::render(&several(9, "acme/old@default#seat"), &[]));
    for forbidden in ["src=", "url(http", "@import", "<script", "<link", "<iframe", "javascript:", "onload", "onerror"]
    {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert!(html.contains("default-src 'none'; style-src 'unsafe-inline'"));
    assert_eq!(html.matches("<article id=\"pool-").count(), 9);
    assert_eq!(html.matches("<svg ").count(), 27, "three pictures for each pool");
}

#[test]
fn a_hostile_name_stays_text_everywhere() {
    let tags = |html: &str| html.matches('<').count();
    let plain = page::render(&several(3, "acme/old"), &[]);
    for hostile in HOSTILE {
        let html = page::render(&several(3, hostile), &[]);
        assert_eq!(tags(&html), tags(&plain), "{hostile:?} makes no element");
        assert!(!html.contains('\u{202e}'), "{hostile:?}");
        for quote in ["onmouseover='", "src=x onerror=alert(1)>"] {
            assert!(!html.contains(quote), "{hostile:?}");
        }
    }
}

#[test]
fn every_id_of_the_page_is_unique_and_every_inner_link_leads_somewhere() {
    let html = page::render(&several(12, "acme/old"), &[]);
    let ids: Vec<&str> = html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len());
    let links: Vec<&str> = html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() > 12);
    assert!(links.iter().all(|link| unique.contains(link)), "{links:?}");
    for named in html.split("aria-labelledby=\"").skip(1) {
        assert!(named.split('"').next().unwrap().split(' ').all(|id| unique.contains(id)));
    }
}

#[test]
fn fifty_pools_fit_into_one_megabyte_with_every_verdict() {
    let mut report = several(50, "openrouter/moonshotai/kimi-k3-with-a-long-name@default#openrouter");
    for pool in &mut report.pools {
        for check in &mut pool.checks {
            check.numbers = vec![
                check
                    .numbers
                    .first()
                    .cloned()
                    .unwrap_or_else(|| reports::aligned(CheckId::Structure).numbers[0].clone());
                15
            ];
        }
    }
    let html = page::render(&report, &[]);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert_eq!(html.matches("<article id=\"pool-").count(), 50);
    eprintln!("50 pools: {} bytes, {} pictures", html.len(), html.matches("<svg ").count());
}

#[test]
fn the_history_of_a_pool_is_a_strip_in_colours_and_in_words() {
    let verdicts = |verdict: Verdict| {
        let one = pool_review::history::PoolVerdicts { verdict, checks: BTreeMap::new() };
        pool_review::history::RunFact {
            sources: BTreeMap::new(),
            settings: String::new(),
            policy: String::new(),
            verdicts: [("pool-00".to_owned(), one)].into(),
            counts: pool_review::verdict::Counts::default(),
            subtrees: BTreeMap::new(),
        }
    };
    let facts: Vec<_> =
        [Verdict::Aligned, Verdict::Aligned, Verdict::Watch, Verdict::Misaligned].map(verdicts).to_vec();
    let ids = ["20261127T000000Z", "20261127T120000Z", "20261128T000000Z", "20261129T120000Z"];
    let runs: Vec<(&str, _)> = ids.into_iter().zip(&facts).collect();
    let html = page::render(&several(1, "acme/old"), &runs);
    let strip = "<i class=\"aligned\" style=\"flex:2\"></i><i class=\"watch\" style=\"flex:1\"></i><i class=\"misaligned\" style=\"flex:1\"></i>";
    assert!(html.contains(strip));
    assert!(html.contains("aria-label=\"pool-00: aligned 2, watch 1, misaligned 1\""));
}

/// A program of this machine.
fn found(names: &[&str]) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let all = std::env::split_paths(&folders)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>());
    all.into_iter().find(|path| path.is_file())
}

/// The browser, node, and the packages of the test. Where one is missing a check in continuous integration fails.
fn tools() -> Option<(PathBuf, PathBuf)> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/node_modules");
    let tools = found(&["chromium", "google-chrome"]).zip(found(&["node"]));
    let tools = tools.filter(|_| packages.join("playwright-core").is_dir() && packages.join("axe-core").is_dir());
    if tools.is_none() {
        eprintln!("skipped: no browser; tests/browser/install.sh brings it");
        let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!is_ci, "continuous integration must bring the browser");
    }
    tools
}

#[test]
fn a_real_browser_shows_the_page_whole_without_errors_requests_or_barriers() {
    let Some((browser, node)) = tools() else { return };
    let folder = workspace("page-browser");
    let html = folder.join("index.html");
    std::fs::write(&html, page::render(&several(12, "acme/old@default#seat"), &[])).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.cjs");
    let ran = Command::new(node).arg(script).args([&html, &folder, &browser]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let seen: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(seen["errors"], serde_json::json!([]));
    assert_eq!(seen["requests"], serde_json::json!([]));
    assert_eq!(seen["violations"], serde_json::json!([]), "axe-core finds nothing, serious or not");
    assert_eq!(seen["styled"], "0px", "the page's own policy lets its style through");
    for view in seen["views"].as_array().unwrap() {
        assert!(view["overflow"].as_i64().unwrap() <= 0, "{view}");
        let picture = format!("{}.png", view["name"].as_str().unwrap());
        assert!(reports::files(&folder).contains_key(&picture), "{view}");
    }
    let charts = seen["charts"].as_array().unwrap();
    assert_eq!(charts.len(), 36, "three pictures for each of 12 pools");
    for chart in charts {
        assert_eq!(chart["marks"], chart["expected"], "{chart}");
        let marks = match chart["kind"].as_str().unwrap() {
            "scatter" => 4, // five models, one without a price
            "speeds" => 3,  // one measured, two of the market
            _ => 2,         // three windows, one without a reading
        };
        assert_eq!(chart["marks"], marks, "{chart}");
        assert!(!chart["alternative"].as_str().unwrap().is_empty());
    }
    assert_eq!(seen["keyboard"]["wanted"], seen["keyboard"]["reached"], "{}", seen["keyboard"]);
}

#[test]
fn a_month_of_two_runs_a_day_stays_small_and_its_index_leads_to_every_section() {
    let folder = workspace("page-month");
    let store = reports::store(&folder);
    year::deliver(66, &store);
    year::assert_index(&store, 66);
    let months = year::months(&store);
    assert_eq!(months.len(), 2, "{months:?}");
    assert!(months[0].0 < 200_000, "{months:?}");
    eprintln!("a month of 12 pools: {} bytes", months[0].0);
}

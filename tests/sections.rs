//! Sections of fleets of any size: what the demo's review says, for so many pools. A section stays small, loses no verdict, and
//! says what it leaves to the run file; what it shows is read back as it was.
#![expect(clippy::unwrap_used, reason = "a section that cannot be read is a failed test")]

#[expect(dead_code, reason = "other tests use more of it")]
mod review_support;

use std::collections::BTreeMap;

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use pool_review::outputs::log;
use pool_review::verdict::{Baseline, CheckReport, Counts, PoolReport, Report, Subject, Verdict};
use pool_review::vocabulary::PoolId;
use review_support::Desk;

/// Most bytes and lines of a section.
const MOST: (usize, usize) = (20_000, 400);

/// The demo's report with its pools repeated under other names until there are so many; proposals follow them.
fn fleet_of(pools: usize) -> Report {
    let desk = Desk::of_demo();
    let mut report = desk.review(&desk.gather());
    let (own, categories): (Vec<PoolReport>, Vec<PoolReport>) =
        report.pools.drain(..).partition(|pool| !matches!(pool.subject, Subject::Category { .. }));
    let proposals = std::mem::take(&mut report.proposals);
    for i in 0..pools {
        let mut pool = own[i % own.len()].clone();
        let old = pool.id.to_string();
        let id = if i < own.len() { old.clone() } else { format!("{old}-{i}") };
        pool.id = PoolId::new(&id);
        for finding in pool.checks.iter_mut().flat_map(|check| &mut check.findings) {
            finding.pool = pool.id.clone();
        }
        report.pools.push(pool);
        let mine = proposals.iter().filter(|proposal| proposal.pool == old);
        for (nth, proposal) in mine.enumerate() {
            let mut proposal = proposal.clone();
            proposal.pool.clone_from(&id);
            proposal.fingerprint = format!("pcr1-{i:016x}{nth:016x}");
            report.proposals.push(proposal);
        }
    }
    report.pools.extend(categories);
    report
}

/// The section of a report.
fn section(report: &Report) -> String {
    log::render_section(report, "reports", log::Since::default())
}

/// Text of a node without its markup.
fn flat<'a>(node: &'a AstNode<'a>) -> String {
    let one = |node: &'a AstNode<'a>| match &node.data.borrow().value {
        NodeValue::Text(text) => text.to_string(),
        NodeValue::Code(code) => code.literal.clone(),
        _ => String::new(),
    };
    node.descendants().map(one).collect()
}

/// Cells of every row that shows a check of a pool, from `Check` on: by pool and check, as a reader of the log gets them back.
fn read_back(section: &str) -> BTreeMap<(String, String), Vec<String>> {
    let mut options = Options::default();
    options.extension.table = true;
    let arena = Arena::new();
    let (mut heading, mut rows) = (String::new(), BTreeMap::new());
    for node in parse_document(&arena, section, &options).children() {
        match &node.data.borrow().value {
            NodeValue::Heading(_) => heading = flat(node),
            NodeValue::Table(_) => {
                let mut lines = node.children().map(|row| row.children().map(flat).collect::<Vec<String>>());
                let heads = lines.next().unwrap();
                let Some(at) =
                    heads.iter().position(|head| head == "Check").filter(|_| heads.iter().any(|h| h == "Limit"))
                else {
                    continue;
                };
                for cells in lines {
                    let pool =
                        if at == 0 { heading.split(" · ").next().unwrap().to_owned() } else { cells[0].clone() };
                    let mut cells: BTreeMap<&str, String> = heads.iter().map(String::as_str).zip(cells).collect();
                    let mut take = |name: &str| cells.remove(name).unwrap();
                    let check = take("Check");
                    let row = ["Verdict", "Now → proposed", "Measured", "Limit", "n", "Since"].map(&mut take).to_vec();
                    assert!(rows.insert((pool, check), row).is_none(), "a check has one row");
                }
            }
            _ => {}
        }
    }
    rows
}

/// Measured value, limit and n of the finding that carries a check, as the log shows them.
fn numbers(check: &CheckReport) -> Option<[String; 3]> {
    let finding = check.findings.iter().find(|finding| finding.verdict == Some(check.verdict))?;
    let nothing = || "–".to_owned();
    let measured = finding.measured.as_ref();
    let limit = finding.limit.as_ref().zip(measured);
    Some([
        measured.map_or_else(nothing, |one| format!("{} {}", one.what, one.unit.show(one.value))),
        limit.map_or_else(nothing, |(limit, one)| format!("{} {}", limit.op.as_str(), one.unit.show(limit.value))),
        measured.and_then(|one| one.n).map_or_else(nothing, |n| n.to_string()),
    ])
}

/// Every check of a pool that is not aligned, with its pool.
fn needing(report: &Report) -> Vec<(&PoolReport, &CheckReport)> {
    let pools = report.pools.iter().filter(|pool| !matches!(pool.subject, Subject::Category { .. }));
    let all = pools.flat_map(|pool| pool.checks.iter().map(move |check| (pool, check)));
    all.filter(|(_, check)| check.verdict != Verdict::Aligned).collect()
}

/// Asserts that rows say what the report says; returns for how many checks there is a row.
fn assert_read_back(report: &Report, section: &str) -> usize {
    let rows = read_back(section);
    let mut seen = 0;
    for (pool, check) in needing(report) {
        let Some(row) = rows.get(&(pool.id.to_string(), check.check.to_string())) else { continue };
        seen += 1;
        assert_eq!((row[0].as_str(), row[5].as_str()), (check.verdict.as_str(), check.since.as_str()), "{}", pool.id);
        if let Some(numbers) = numbers(check) {
            assert_eq!(row[2..5], numbers, "{} {}", pool.id, check.check);
        }
    }
    seen
}

#[test]
fn up_to_twelve_pools_that_all_moved_every_check_has_its_row_with_all_its_numbers() {
    for pools in 1..=12 {
        let report = fleet_of(pools);
        let section = section(&report);
        assert!(section.len() <= MOST.0 && section.lines().count() <= MOST.1, "{pools}: {} bytes", section.len());
        assert_eq!(assert_read_back(&report, &section), needing(&report).len(), "{pools}: no row is cut");
        assert!(!section.contains("every table is cut"), "{pools}");
        for proposal in &report.proposals {
            assert!(section.contains(&format!("](/reports/proposals/{}.json)", proposal.fingerprint)), "{pools}");
        }
        for pool in &report.pools[..pools] {
            let anchor = format!("<a id=\"run-{}-{}\"></a>", report.run_id, pool.id);
            assert_eq!(section.matches(&anchor).count(), 1, "{anchor}");
        }
    }
}

#[test]
fn a_fleet_of_any_size_has_a_small_section_that_says_what_it_leaves_out() {
    for pools in [13, 20, 60, 400] {
        let report = fleet_of(pools);
        let section = section(&report);
        assert!(section.len() <= MOST.0 && section.lines().count() <= MOST.1, "{pools}: {} bytes", section.len());
        assert!(
            log::holds_run(&section, &report.run_id) && section.contains(&format!("{pools} pools and 10 categories"))
        );
        let said = format!(
            "Shortened to 20 KB: the words of each finding and the numbers behind each verdict are in the [run file](/reports/runs/{}.json)",
            report.run_id
        );
        assert!(section.contains(&said), "{pools}");
        let shown = assert_read_back(&report, &section);
        let table = section.split("### Moved or in need of someone").nth(1).unwrap().split("\n\n###").next().unwrap();
        let more = table.split("\n\nAnd ").nth(1).map_or(0, |rest| rest.split(' ').next().unwrap().parse().unwrap());
        assert_eq!(shown + more, needing(&report).len(), "{pools}: every row is there or counted");
        assert_eq!(section.contains("every table is cut after"), more > 0, "{pools}");
        let open = format!("### Proposals open after this run: {} (", report.proposals.len());
        assert!(section.contains(&open), "{pools}");
    }
}

#[test]
fn a_section_in_which_nothing_moved_is_short_and_its_numbers_are_read_back() {
    let mut report = fleet_of(12);
    for pool in &mut report.pools {
        pool.state = Baseline::Unchanged;
        pool.checks.iter_mut().for_each(|check| check.state = Baseline::Unchanged);
    }
    report.previous_run = Some("20261129T000000Z".to_owned());
    for proposal in &mut report.proposals {
        proposal.baseline_state = Baseline::Unchanged.as_str().to_owned();
    }
    report.counts = Counts { unchanged: 88, ..Counts::default() };
    let section = section(&report);
    assert!(section.len() < 7_000, "{} bytes", section.len());
    let rows = read_back(&section);
    for pool in report.pools[..12].iter().filter(|pool| pool.verdict != Verdict::Aligned) {
        for check in pool.checks.iter().filter(|check| check.verdict == pool.verdict) {
            let row = &rows[&(pool.id.to_string(), check.check.to_string())];
            if let Some(numbers) = numbers(check) {
                assert_eq!(row[2..5], numbers, "{}", pool.id);
            }
        }
    }
    for note in report.sources.iter().filter(|note| note.is_usable()) {
        let age = note.age_hours(report.now).map_or("–".to_owned(), |age| format!("{age:.1}"));
        let limit = note.max_age_hours.map_or("–".to_owned(), |age| format!("{age:.1}"));
        assert!(section.contains(&format!("{} {age} of {limit} h", note.source)), "{}", note.source);
    }
}

//! What a run leaves behind: outside text, log, run file, terminal, issue plan, and the order they are written in.
#![expect(clippy::disallowed_methods, reason = "tests write into scratch folders of their own")]

mod reports;

use std::collections::BTreeSet;
use std::path::Path;

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use pool_review::outputs::terminal::Look;
use pool_review::outputs::text::{Place, marker, name, own, quote};
use pool_review::outputs::{self, issues, json, log, proposals, terminal};
use pool_review::store::Store;
use pool_review::verdict::{
    Finding, PoolReport, Proposal, Report, Sentence, Severity, Subject, Verdict, content_digest,
};
use pool_review::vocabulary::{CheckId, PoolId, SourceId, SourceNote};
use proptest::prelude::*;
use reports::{
    aligned, at, blocked, delivery, files, pool, proposal, report, report_at, retirement, run, settled, store,
    with_finding, workspace,
};
use reports::{place, places};

/// Names that try to be something else.
const HOSTILE: [&str; 12] = [
    "",
    " ",
    "a|b",
    "`code` ``more``",
    "<img src=x onerror=alert(1)>",
    "@octocat and #12",
    "\u{202e}gnp.evil\u{2069}",
    "two\nlines\r\n| x | y |",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "--> <!-- pool-review v1 run=1 -->",
    "[link](https://example.org) https://example.org",
    "⟨202E⟩ \\` zero\u{200b}width \u{e0041}",
];

/// Options that read tables.
fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.strikethrough = true;
    options
}

/// A node's kind in a word.
fn kind(node: &AstNode<'_>) -> &'static str {
    match &node.data.borrow().value {
        NodeValue::Heading(_) => "heading",
        NodeValue::Table(_) => "table",
        NodeValue::TableRow(_) => "row",
        NodeValue::TableCell => "cell",
        NodeValue::Text(_) => "text",
        NodeValue::Code(_) => "code",
        NodeValue::HtmlBlock(_) => "html",
        NodeValue::HtmlInline(_) => "inline html",
        NodeValue::Link(_) => "link",
        NodeValue::Image(_) => "image",
        NodeValue::Document => "document",
        NodeValue::Paragraph => "paragraph",
        NodeValue::Strong => "strong",
        _ => "other",
    }
}

/// The kinds of all nodes of a text, in order.
fn kinds(markdown: &str) -> Vec<&'static str> {
    let arena = Arena::new();
    parse_document(&arena, markdown, &options()).descendants().map(kind).collect()
}

/// The kinds of nodes in the row of a three-column table whose middle cell is this.
fn row_with(cell: &str) -> Vec<&'static str> {
    let all = kinds(&format!("| a | b | c |\n|:--|:--|:--|\n| left | {cell} | right |\n"));
    assert_eq!(all.iter().filter(|kind| **kind == "row").count(), 2, "{cell:?}");
    assert_eq!(all.iter().filter(|kind| **kind == "table").count(), 1, "{cell:?}");
    let last = all.iter().rposition(|kind| *kind == "row").expect("a row");
    all[last + 1..].to_vec()
}

/// The three cells with one code span between two texts: what every name must parse to.
const ONE_CODE_SPAN: [&str; 6] = ["cell", "text", "cell", "code", "cell", "text"];

/// Whether a character could act on a terminal or hide.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_string_in_a_row_is_three_cells_and_one_code_span(text in any::<String>()) {
        prop_assert_eq!(row_with(&name(&text, Place::Markdown)), ONE_CODE_SPAN);
        prop_assert_eq!(row_with(&quote(&text, Place::Markdown)), ONE_CODE_SPAN);
    }

    #[test]
    fn any_string_of_markup_in_a_row_is_three_cells_and_one_code_span(text in "[`|\\\\<>@#*_~\\[\\]()!\n\r\t a&;:/.-]{0,90}") {
        prop_assert_eq!(row_with(&name(&text, Place::Markdown)), ONE_CODE_SPAN);
    }

    #[test]
    fn our_own_words_never_leave_their_cell_nor_start_markup(text in "[`|\\\\<>@#*_~\\[\\]()!\n\r\t a&;:/.-]{1,60}") {
        let inline = row_with(&own(&format!("x{text}x"), Place::Markdown));
        prop_assert_eq!(inline.iter().filter(|kind| **kind == "cell").count(), 3);
        prop_assert!(inline.iter().all(|kind| matches!(*kind, "cell" | "text")), "{:?}", inline);
    }

    #[test]
    fn no_place_lets_a_character_act(text in any::<String>()) {
        for place in [Place::Terminal, Place::Title, Place::Markdown, Place::Html] {
            let shown = name(&text, place);
            prop_assert!(!shown.chars().any(is_active), "{}", shown);
            prop_assert!(!shown.is_empty());
        }
        let html = name(&text, Place::Html);
        prop_assert!(!html.contains(['<', '>', '"', '\'']));
        prop_assert!(html.split('&').skip(1).all(|rest| ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|e| rest.starts_with(e))));
        prop_assert!(name(&text, Place::Terminal).chars().count() <= 80);
    }

    #[test]
    fn a_marker_holds_only_its_alphabet_and_no_double_hyphen(text in any::<String>()) {
        let marker = marker(&text);
        prop_assert!(marker.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._/-%".contains(&b)));
        prop_assert!(!marker.contains("--"));
    }
}

#[test]
fn hidden_characters_become_their_code_point_and_long_names_are_cut() {
    assert_eq!(name("a\u{202e}b", Place::Terminal), "a⟨202E⟩b");
    assert_eq!(name("", Place::Markdown), "`⟨empty⟩`");
    assert_eq!(name("⟨empty⟩", Place::Title), "⟨27E8⟩empty⟨27E9⟩", "nobody can pose as an empty name");
    assert_eq!(name(" a b ", Place::Terminal), "⟨0020⟩a b⟨0020⟩", "a code span would swallow the outer spaces");
    assert_eq!(name(&"x".repeat(80), Place::Title), "x".repeat(80));
    assert_eq!(name(&"x".repeat(81), Place::Title), format!("{}…", "x".repeat(79)));
    assert_eq!(name(&"\n".repeat(81), Place::Title), format!("{}…", "⟨000A⟩".repeat(13)), "13 × 6 + 1 ≤ 80");
    assert_eq!(name("a<b>&\"'", Place::Html), "a&lt;b&gt;&amp;&quot;&#39;");
    assert_eq!(marker("acme/Old--F"), "acme/%4fld-%2d%46");
}

/// A category that runs on a pool.
fn category(id: &str, on: &str, verdict: Verdict) -> PoolReport {
    PoolReport {
        subject: Subject::Category { pool: Some(PoolId::new(on)) },
        verdict,
        members: Vec::new(),
        lead: None,
        checks: vec![aligned(CheckId::Structure)],
        ..pool(&format!("category/{id}"))
    }
}

/// A report with every kind of row, compared against an empty ledger, with a proposal.
fn mixed(name: &str, store: &Store) -> Report {
    let mut pools = vec![pool("scout"), pool("summit")];
    pools.push(with_finding(pool("specialist"), retirement("specialist", name)));
    pools.push(blocked("workhorse", CheckId::BestPerPool));
    pools.push(category("quick", "scout", Verdict::Aligned));
    pools.push(category("deep", "specialist", Verdict::Misaligned));
    let report = report(29, pools);
    let fresh = proposal("specialist", name, report.now, (1, 1, 1));
    settled(report, vec![fresh], store).0
}

#[test]
fn a_small_section_reads_like_this() {
    let ws = workspace("outputs-section");
    let mut report =
        report(29, vec![with_finding(pool("specialist"), retirement("specialist", "acme/old@default#seat"))]);
    report.sources = vec![SourceNote::failed(SourceId::Market, "data/market.json is missing")];
    report.unmatched.clear();
    for check in &mut report.pools[0].checks {
        check.numbers.clear();
    }
    let (report, _) = settled(report, Vec::new(), &store(&ws));
    let expected = r#"<a id="run-20261129T120000Z"></a>

## 2026-11-29 12:00Z · run 20261129T120000Z
<!-- pool-review v1 run=20261129T120000Z -->

**1 misaligned.** 1 pool, 4 checks, 4 outcomes. First run in this ledger.

| Source | State | As of | Age h | Max age h | Rows | Used | Rejected | Digest |
|:--|:--|:--|--:|--:|--:|--:|--:|:--|
| market | **failed**: `data/market.json is missing` | – | – | – | 0 | 0 | 0 | – |

<a id="run-20261129T120000Z-specialist"></a>

### `specialist` · misaligned
<!-- pool-review v1 run=20261129T120000Z pool=specialist verdict=misaligned -->

tier workhorse · lead `acme/mid` · 2 members: `acme/mid` 75.0 %, `zeta/low#high` 25.0 %

| Check | Verdict | Now → proposed | Measured | Limit | n | Since |
|:--|:--|:--|--:|--:|--:|:--|
| latest-model | **misaligned** | `acme/old@default#seat`: retire member | days to the end 12.0 d | >= 30.0 d | – | 20261129T120000Z |
| best-per-pool | aligned | `acme/mid` | – | – | – | 20261129T120000Z |
| right-sizing | aligned | `acme/mid` | – | – | – | 20261129T120000Z |
| structure | aligned | `acme/mid` | – | – | – | 20261129T120000Z |

- Why: latest-model `retirement_due`: `acme/old@default#seat` ends on 2026-12-11 (`.opencode/opencode.jsonc:42`). Limit `latest.retire_days` set at `instructions/pool-composition-review.md:33`
- What to do: take it out of the pool

Calibration of our own claims: no landed change has been measured yet, n 0; claims stand as they are; new claims at 0.950.

Every number of this run: [`runs/20261129T120000Z.json`](/reports/runs/20261129T120000Z.json). Policy `823412d1`. Next review due 2026-11-30 00:00Z.

What this does not show: cause (routers and people choose who gets which task), what a plan costs in cash (prices are list prices), how a market index would rank on this fleet's own work.
"#;
    assert_eq!(log::render_section(&report, "reports", log::Since::default()), expected);
}

/// How often each kind of node that shapes a section occurs.
fn shape(markdown: &str) -> Vec<(&'static str, usize)> {
    let kinds = kinds(markdown);
    let shaping =
        ["heading", "table", "row", "cell", "html", "inline html", "link", "image", "strong", "code", "other"];
    shaping.map(|kind| (kind, kinds.iter().filter(|one| **one == kind).count())).to_vec()
}

#[test]
fn hostile_names_leave_every_heading_table_row_and_cell_where_it_was() {
    let ws = workspace("outputs-hostile");
    let store = store(&ws);
    let plain = shape(&log::render_section(&mixed("acme/old", &store), "reports", log::Since::default()));
    for hostile in HOSTILE {
        let mut report = mixed(hostile, &store);
        report.pools[2].owner = Some(hostile.to_owned());
        report.pools[2].checks[0].findings[0].held = Some(hostile.to_owned());
        report.pools[2].members[1].0 = hostile.to_owned();
        report.pools[2].checks[0].numbers[0].of = format!("x{hostile}");
        report.unmatched[0].1 = hostile.to_owned();
        let section = log::render_section(&report, "reports", log::Since::default());
        let mut expected = plain.clone();
        expected[9].1 += 2; // the owner and the reason are two code spans more
        assert_eq!(shape(&section), expected, "{hostile:?}");
        assert!(!terminal::render(&report, Look::PLAIN).contains(['\u{1b}', '\u{202e}', '\u{7}', '\r']), "{hostile:?}");
    }
}

#[test]
fn a_section_parses_into_its_pools_checks_and_sources() {
    let ws = workspace("outputs-parse");
    let section = log::render_section(&mixed("acme/old", &store(&ws)), "reports", log::Since::default());
    let shape = shape(&section);
    // Headings: run, two open pools, categories, proposals. Tables: sources, two of checks, two of numbers, aligned,
    // categories, proposals. Rows with heads: 3 + 2 × 5 + 5 + 4 + 3 + 3 + 2.
    assert_eq!(shape[0], ("heading", 5));
    assert_eq!(shape[1], ("table", 8));
    assert_eq!(shape[2], ("row", 30));
    for number in ["12.0 d", ">= 30.0 d", "61.2 points", "6.0", "48.0"] {
        assert!(section.contains(number), "{number}");
    }
    let markers = section.matches("<!-- pool-review v1 run=20261129T120000Z pool=").count();
    assert_eq!(markers, 2, "one per open block");
    assert!(section.contains("pool=workhorse verdict=blocked"));
}

#[test]
fn credit_and_frozen_clock_are_said_exactly_when_they_hold() {
    let ws = workspace("outputs-credit");
    let mut report = mixed("acme/old", &store(&ws));
    let plain = log::render_section(&report, "reports", log::Since::default());
    assert!(!plain.contains("Artificial Analysis") && !plain.contains("Frozen clock"));
    report.index_version = Some("4.1".to_owned());
    report.is_frozen = true;
    let said = log::render_section(&report, "reports", log::Since::default());
    let credit = "Source: Artificial Analysis, https://artificialanalysis.ai (Intelligence Index v`4.1`)";
    assert!(said.contains(credit) && said.contains("**Frozen clock.**"));
    assert!(terminal::render(&report, Look::PLAIN).contains("FROZEN CLOCK"));
}

/// The text of a node and everything below it.
fn flat<'a>(node: &'a AstNode<'a>) -> String {
    let one = |node: &'a AstNode<'a>| match &node.data.borrow().value {
        NodeValue::Text(text) => text.to_string(),
        NodeValue::Code(code) => code.literal.clone(),
        _ => String::new(),
    };
    node.descendants().map(one).collect()
}

/// The rows of checks that a section holds: pool, then the cells of each row, as a reader of the log gets them back.
fn read_back(section: &str) -> Vec<(String, Vec<String>)> {
    let arena = Arena::new();
    let (mut pool, mut rows) = (String::new(), Vec::new());
    for node in parse_document(&arena, section, &options()).children() {
        match &node.data.borrow().value {
            NodeValue::Heading(_) => pool = flat(node),
            NodeValue::Table(_) if node.first_child().is_some_and(|head| flat(head).starts_with("CheckVerdict")) => {
                rows.extend(node.children().skip(1).map(|row| (pool.clone(), row.children().map(flat).collect())));
            }
            _ => {}
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_of_a_section_is_read_back_as_it_was(
        values in proptest::collection::vec((-500.0f64..5000.0, 0.0f64..90.0, proptest::option::of(0u64..100_000), any::<String>()), 1..5)
    ) {
        let one = |(i, (value, bound, n, member)): (usize, &(f64, f64, Option<u64>, String))| {
            let id = format!("pool-{i}");
            let mut finding = retirement(&id, member);
            if let Some(measured) = &mut finding.measured {
                (measured.value, measured.n) = (*value, *n);
            }
            if let Some(limit) = &mut finding.limit {
                limit.value = *bound;
            }
            with_finding(pool(&id), finding)
        };
        let mut report = report(29, values.iter().enumerate().map(one).collect());
        for check in report.pools.iter_mut().flat_map(|pool| &mut pool.checks) {
            check.since = "20261128T120000Z".to_owned();
        }
        let read = read_back(&log::render_section(&report, "reports", log::Since::default()));
        prop_assert_eq!(read.len(), 4 * values.len());
        for (i, (value, bound, n, member)) in values.iter().enumerate() {
            let (heading, cells) = &read[4 * i];
            prop_assert_eq!(heading, &format!("pool-{i} · misaligned"));
            let shown = name(member, Place::Terminal);
            let expected = [
                "latest-model".to_owned(),
                "misaligned".to_owned(),
                format!("{shown}: retire member"),
                format!("days to the end {value:.1} d"),
                format!(">= {bound:.1} d"),
                n.map_or("–".to_owned(), |n| n.to_string()),
                "20261128T120000Z".to_owned(),
            ];
            prop_assert_eq!(cells.as_slice(), expected.as_slice());
        }
    }
}

/// A report of many open pools with many numbers each.
fn large(pools: usize) -> Report {
    let one = |i: usize| {
        let mut pool =
            with_finding(pool(&format!("pool-{i}")), retirement(&format!("pool-{i}"), "acme/old@default#seat"));
        for check in &mut pool.checks {
            check.numbers = vec![aligned(CheckId::Structure).numbers[0].clone(); 9];
            let note = Finding::new(check.check, PoolId::new("p"), "nearest_miss", "acme/near", None);
            check.findings.extend(vec![Finding { why: Sentence::from("it is 1.0 points short"), ..note }; 3]);
        }
        pool
    };
    report(29, (0..pools).map(one).collect())
}

#[test]
fn a_section_of_ten_open_pools_gives_up_detail_and_no_verdict() {
    let ws = workspace("outputs-large");
    let (report, _) = settled(large(10), Vec::new(), &store(&ws));
    let section = log::render_section(&report, "reports", log::Since::default());
    assert!(section.lines().count() <= 400, "{} lines", section.lines().count());
    assert!(section.len() <= 20_000, "{} bytes", section.len());
    assert_eq!(section.matches("| latest-model | **misaligned** |").count(), 10);
    assert!(section.contains("in the run file"));
    let few = log::render_section(
        &settled(large(2), Vec::new(), &store_of("outputs-large-2")).0,
        "reports",
        log::Since::default(),
    );
    assert!(few.contains("Numbers behind the verdict (36)"));
}

/// A store of a fresh workspace.
fn store_of(name: &str) -> Store {
    store(&workspace(name))
}

/// The log after a report is appended to an old one.
fn appended(report: &Report, old: Option<&str>) -> Option<String> {
    let section = log::render_section(report, "reports", log::Since::default());
    let bytes = log::append(&section, &report.run_id, "2026-11", old.map(str::as_bytes)).expect("a log that can go on");
    bytes.map(|bytes| String::from_utf8(bytes).expect("text"))
}

#[test]
fn a_log_only_grows_at_its_end_and_a_run_is_in_it_once() {
    let (first, second) = (report(28, vec![pool("scout")]), report(29, vec![pool("scout")]));
    let one = appended(&first, None).expect("a new log");
    assert!(one.starts_with("# Pool composition log · 2026-11\n"));
    let two = appended(&second, Some(&one)).expect("a longer log");
    assert!(two.starts_with(&one));
    assert_eq!(two.matches("# Pool composition log").count(), 1);
    assert_eq!(appended(&first, Some(&two)), None);
    assert_eq!(appended(&second, Some(&two)), None);
}

#[test]
fn a_run_named_in_a_fence_a_table_or_a_longer_id_is_not_in_the_log() {
    let report = report(29, vec![pool("scout")]);
    let run = &report.run_id;
    let anchor = format!("<a id=\"run-{run}\"></a>");
    for text in [
        format!("# Log\n\n```\n{anchor}\n```\n"),
        format!("# Log\n\n| {anchor} |\n|:--|\n"),
        format!("# Log\n\nsee `{anchor}`\n"),
        format!("# Log\n\n<a id=\"run-{run}-scout\"></a>\n"),
    ] {
        assert!(!log::holds_run(&text, run), "{text}");
        assert!(appended(&report, Some(&text)).is_some());
    }
    assert!(log::holds_run(&format!("# Log\n\n{anchor}\n"), run));
    assert!(log::holds_run(&format!("# Log\n\n## x\n<!-- pool-review v1 run={run} -->\n"), run));
}

#[test]
fn a_log_that_somebody_left_torn_or_open_still_takes_a_readable_section_once() {
    let report = report(29, vec![pool("scout")]);
    for old in
        ["# mine", "# mine\n\n```text\nleft open", "# mine\n\n~~~~\nx\n", "# mine\n\n<!-- left open\n", "<pre>\nx"]
    {
        let new = appended(&report, Some(old)).expect("a section");
        assert!(new.starts_with(old), "the old bytes stay");
        assert!(log::holds_run(&new, &report.run_id), "{old:?}");
        assert_eq!(appended(&report, Some(&new)), None, "{old:?}");
    }
    let section = log::render_section(&report, "reports", log::Since::default());
    let bytes =
        log::append(&section, &report.run_id, "2026-11", Some(b"\xff\xfe broken")).expect("a log").expect("new");
    assert!(bytes.starts_with(b"\xff\xfe broken\n"), "bytes that are no text stay as they are");
}

#[test]
fn runs_are_found_in_a_long_log_at_its_end_and_at_its_start() {
    let mut text = appended(&report(1, vec![pool("scout")]), None).expect("a log");
    let filler = log::render_section(
        &report(2, vec![with_finding(pool("p"), retirement("p", "x"))]),
        "reports",
        log::Since::default(),
    );
    for hour in 0..120 {
        text.push('\n');
        text += &filler.replace("20261102T120000Z", &format!("20261102T{hour:03}00Z"));
    }
    let last = report(29, vec![pool("scout")]);
    let text = appended(&last, Some(&text)).expect("a longer log");
    assert!(text.len() > 250_000, "{}", text.len());
    assert!(log::holds_run(&text, "20261129T120000Z"));
    assert!(log::holds_run(&text, "20261101T120000Z"), "before the part that is parsed first");
    assert!(!log::holds_run(&text, "20261130T120000Z"));
}

#[test]
fn a_new_month_moves_the_finished_log_beside_it_and_starts_a_new_one() {
    let ws = workspace("outputs-months");
    let store = store(&ws);
    let path = ws.join("reports/pool-composition-log.md");
    let (november, _) = run(report(29, vec![pool("scout")]), Vec::new(), &store);
    let old = std::fs::read(&path).expect("a log");
    run(report_at("2026-12-01T00:00:00Z", vec![pool("scout")]), Vec::new(), &store);
    assert_eq!(std::fs::read(ws.join("reports/log/2026-11.md")).expect("a month"), old);
    let new = std::fs::read_to_string(&path).expect("a log");
    assert!(new.starts_with("# Pool composition log · 2026-12\n"));
    assert!(!log::holds_run(&new, &november.run_id));
    let before = files(&ws.join("reports"));
    let models = BTreeSet::new();
    let settlement = pool_review::history::Settlement::default();
    outputs::append_log(delivery(&november, &settlement, &models), &store).expect("a retry in the new month");
    assert_eq!(files(&ws.join("reports")), before, "it looks in the finished month too");
}

#[test]
fn a_rotation_that_was_killed_half_way_is_finished_and_a_strange_month_is_never_overwritten() {
    let ws = workspace("outputs-half-month");
    let store = store(&ws);
    run(report(29, vec![pool("scout")]), Vec::new(), &store);
    let log = std::fs::read(ws.join("reports/pool-composition-log.md")).expect("a log");
    std::fs::create_dir_all(ws.join("reports/log")).expect("a folder");
    let month = ws.join("reports/log/2026-11.md");
    std::fs::write(&month, b"something else\n").expect("a month");
    let december = report_at("2026-12-01T00:00:00Z", vec![pool("scout")]);
    let (december, settlement) = settled(december, Vec::new(), &store);
    let models = BTreeSet::new();
    let refused = outputs::append_log(delivery(&december, &settlement, &models), &store).expect_err("another text");
    assert!(refused.to_string().contains("reports/log/2026-11.md holds another text"), "{refused}");
    std::fs::write(&month, &log).expect("as the killed run left it");
    outputs::append_log(delivery(&december, &settlement, &models), &store).expect("the second step");
    assert_eq!(std::fs::read(&month).expect("a month"), log);
}

#[test]
fn the_run_file_fits_its_schema_and_keeps_what_it_was_given() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas/run.v1.json");
    let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(path).expect("a schema")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let ws = workspace("outputs-json");
    let store = store(&ws);
    for hostile in HOSTILE {
        let mut report = mixed(hostile, &store);
        report.previous_run = Some("20261128T120000Z".to_owned());
        report.index_version = Some("4.1".to_owned());
        report.remarks.push(Sentence::from("one remark"));
        report.pools[2].checks[0].findings[0].severity = Some(Severity::High);
        report.pools[0].checks[0].numbers[0].value = None;
        report.pools[0].checks[1].numbers[0].value = Some(f64::NAN);
        let text = json::run_json(&report);
        assert!(text.ends_with("}\n"));
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| format!("{error} at {}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let finding = &value["pools"][2]["checks"][0]["findings"][0];
        assert_eq!(finding["subject"], hostile, "the exact original");
        assert_eq!(finding["limit"]["set_at"], "instructions/pool-composition-review.md:33");
        assert_eq!(finding["fingerprint"], value["proposals"][0]["fingerprint"]);
        for check in [0, 1] {
            let number = &value["pools"][0]["checks"][check]["numbers"][0];
            assert!(number["value"].is_null(), "unknown is null, never 0");
            assert_ne!(number["remark"], "", "and says why");
        }
    }
}

#[test]
fn a_run_file_without_a_reason_for_an_unknown_number_does_not_fit_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/schemas/run.v1.json");
    let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(path).expect("a schema")).expect("JSON");
    let mut value: serde_json::Value =
        serde_json::from_str(&json::run_json(&mixed("a", &store_of("outputs-json-2")))).expect("JSON");
    assert!(jsonschema::is_valid(&schema, &value));
    value["pools"][0]["checks"][0]["numbers"][0]["value"] = serde_json::Value::Null;
    value["pools"][0]["checks"][0]["numbers"][0]["remark"] = "".into();
    assert!(!jsonschema::is_valid(&schema, &value));
}

#[test]
fn the_terminal_reads_like_this() {
    let ws = workspace("outputs-terminal");
    let mut report = mixed("acme/old@default#seat", &store(&ws));
    report.pools[1].verdict = Verdict::InsufficientEvidence;
    let expected = "\
pool-review run 20261129T120000Z (2026-11-29 12:00Z)
all of it: reports/index.html in a browser, reports/README.md as text

specialist     misaligned             latest-model   retirement_due  acme/old@default#seat: retire member  days to the end 12.0 d  (limit >= 30.0 d)
                                                     [R1 pcr1-fb778628]
workhorse      blocked                best-per-pool  the market is 90.0 h old, at most 48.0 h
pools          insufficient_evidence  summit
by their pool  misaligned             deep

4 pools: 1 blocked, 1 misaligned, 1 insufficient_evidence, 1 aligned. 2 categories: 1 misaligned, 1 aligned
first run in this ledger; 1 open proposal; 1 name not matched
latest-model 1 misaligned, best-per-pool 1 blocked, right-sizing ok, structure ok
";
    assert_eq!(terminal::render(&report, Look::PLAIN), expected);
    let painted = terminal::render(&report, Look { colour: true, ..Look::PLAIN });
    assert!(painted.contains("\u{1b}[31mmisaligned"));
    let bare =
        ["31", "32", "33", "36", "0"].iter().fold(painted, |text, code| text.replace(&format!("\u{1b}[{code}m"), ""));
    assert_eq!(bare, expected, "colour adds nothing");
}

#[test]
fn twelve_pools_that_need_someone_and_nine_categories_fit_a_screen() {
    let words = [Verdict::Misaligned, Verdict::Watch, Verdict::Blocked];
    let mut report = large(12);
    report.pools.extend((0..9).map(|i| category(&format!("kind-{i}"), "pool-1", words[i % 3])));
    let text = terminal::render(&report, Look::PLAIN);
    assert!(text.lines().count() <= 36, "{} lines", text.lines().count());
    assert!(text.lines().last().expect("a line").starts_with("latest-model 12 misaligned"));
}

#[test]
fn a_second_store_is_refused_in_one_line_and_a_dropped_one_frees_the_lock() {
    let ws = workspace("store-lock");
    let first = store(&ws);
    let open = || Store::open(&ws, Path::new("reports"), Path::new("reports/log.md"));
    let error = format!("{:#}", open().expect_err("it is held"));
    let held = format!("another run holds {}", ws.join("reports/.lock").canonicalize().expect("a lock").display());
    assert!(error.starts_with(&format!("{held} (pid {}, for ", std::process::id())), "{error}");
    drop(first);
    assert_eq!(std::fs::read(ws.join("reports/.lock")).expect("never deleted"), b"", "a free lock is empty");
    open().expect("it is free");
}

#[test]
fn a_store_writes_nowhere_but_in_its_reports_and_its_log() {
    let ws = workspace("store-allow");
    let config = ws.join("opencode.jsonc");
    std::fs::write(&config, "{}").expect("a config");
    std::fs::create_dir_all(ws.join("reports")).expect("a folder");
    std::fs::create_dir_all(ws.join("elsewhere")).expect("a folder");
    std::os::unix::fs::symlink(&config, ws.join("reports/link.json")).expect("a link");
    std::os::unix::fs::symlink(ws.join("elsewhere"), ws.join("reports/runs")).expect("a link");
    let store = Store::open(&ws, Path::new("reports"), Path::new("hidden_files/log.md")).expect("a store");
    for path in [
        "opencode.jsonc",
        "reports/../opencode.jsonc",
        "reports/link.json",
        "reports/runs/1.json",
        "hidden_files/x.md",
        "hidden_files/log/x.md",
        "hidden_files/log/2026-1.md",
        "/etc/pool-review",
        "reports/.lock",
    ] {
        let error = format!("{:#}", store.replace(Path::new(path), b"x").expect_err(path));
        assert!(error.starts_with("refusing to write "), "{error}");
        store.append_line(Path::new(path), "x").expect_err(path);
        assert!(store.remove(Path::new(path)).is_err() || path == "hidden_files/log.md", "{path}");
    }
    for path in ["reports/a/b.json", "hidden_files/log.md", "hidden_files/log/2026-11.md"] {
        assert!(store.replace(Path::new(path), b"x").expect(path));
    }
    assert_eq!(std::fs::read(&config).expect("a config"), b"{}");
    assert!(files(&ws.join("elsewhere")).is_empty());
}

#[test]
fn equal_bytes_are_not_written_again() {
    use std::os::unix::fs::MetadataExt as _;
    let ws = workspace("store-equal");
    let store = store(&ws);
    let path = store.in_reports("runs/1.json");
    assert!(store.replace(&path, b"one").expect("a write"));
    let inode = std::fs::metadata(&path).expect("a file").ino();
    assert!(!store.replace(&path, b"one").expect("no write"));
    assert_eq!(std::fs::metadata(&path).expect("a file").ino(), inode);
    assert!(store.replace(&path, b"two").expect("a write"));
    assert_eq!(files(&ws.join("reports/runs")).len(), 1, "no temporary file stays");
}

#[test]
fn a_linked_log_is_written_at_its_target_and_stays_a_link() {
    let ws = workspace("store-link");
    std::fs::create_dir_all(ws.join("notes")).expect("a folder");
    std::fs::write(ws.join("notes/real.md"), "# mine\n").expect("a log");
    std::os::unix::fs::symlink(ws.join("notes/real.md"), ws.join("log.md")).expect("a link");
    let store = Store::open(&ws, Path::new("reports"), Path::new("log.md")).expect("a store");
    store.replace(store.log_path(), b"new\n").expect("a write");
    assert_eq!(std::fs::read(ws.join("notes/real.md")).expect("the target"), b"new\n");
    assert!(ws.join("log.md").symlink_metadata().expect("a link").is_symlink());
}

#[test]
fn folders_pipes_and_files_in_the_way_are_named() {
    let ws = workspace("store-kinds");
    let store = store(&ws);
    std::fs::create_dir_all(ws.join("reports/ledger.jsonl")).expect("a folder");
    let made = std::process::Command::new("mkfifo").arg(ws.join("reports/pipe")).status().expect("mkfifo");
    assert!(made.success());
    for (path, reason) in [("reports/ledger.jsonl", "not a regular file"), ("reports/pipe", "not a regular file")] {
        for error in [store.replace(Path::new(path), b"x").err(), store.append_line(Path::new(path), "x").err()] {
            assert_eq!(format!("{:#}", error.expect("refused")), format!("reading {path}: {reason}"));
        }
    }
    std::fs::write(ws.join("reports/runs"), "in the way").expect("a file");
    let error =
        format!("{:#}", store.replace(Path::new("reports/runs/1.json"), b"x").expect_err("a file is in the way"));
    assert!(error.contains("reports/runs"), "{error}");
    drop(store);
    std::fs::write(ws.join("file"), "in the way").expect("a file");
    let error = Store::open(&ws, Path::new("file/reports"), Path::new("log.md")).expect_err("a file is in the way");
    assert!(format!("{error:#}").contains("file/reports"), "{error:#}");
    let error = Store::open(&ws, Path::new("reports"), Path::new("opencode.jsonc")).expect_err("no markdown");
    assert_eq!(
        format!("{error:#}"),
        format!(
            "the log path {} does not end in .md",
            ws.canonicalize().expect("it is there").join("opencode.jsonc").display()
        )
    );
}

#[test]
fn a_torn_tail_is_moved_aside_and_said_never_merged() {
    let ws = workspace("store-torn");
    let store = store(&ws);
    let path = Path::new("reports/ledger.jsonl");
    assert_eq!(store.append_line(path, "one").expect("a line"), None);
    std::fs::write(ws.join(path), b"one\nha\xfflf").expect("a torn file");
    let said = store.append_lines(path, &["two".to_owned(), "three".to_owned()]).expect("lines").expect("a sentence");
    assert_eq!(said, "reports/ledger.jsonl: an unfinished last line of 5 bytes was moved to reports/ledger.jsonl.torn");
    assert_eq!(std::fs::read(ws.join(path)).expect("a file"), b"one\ntwo\nthree\n");
    assert_eq!(std::fs::read(ws.join("reports/ledger.jsonl.torn")).expect("a file"), b"ha\xfflf\n");
    assert_eq!(store.append_lines(path, &[]).expect("nothing"), None);
}

/// Everything in the reports folder but the lock.
fn written(ws: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut files = files(&ws.join("reports"));
    files.remove(".lock");
    files
}

/// The reports of the 28th and 29th, with a proposal each, another on the second day.
fn two_days(day: u32) -> (Report, Vec<Proposal>) {
    let name = if day == 28 { "acme/old@default#seat" } else { "acme/older@default#seat" };
    let report = report(day, vec![with_finding(pool("scout"), retirement("scout", name)), pool("summit")]);
    let fresh = vec![proposal("scout", name, report.now, (1, 1, 1))];
    (report, fresh)
}

/// A workspace in which the 28th was delivered.
fn with_one_day(name: &str) -> (std::path::PathBuf, Store) {
    let ws = workspace(name);
    let store = store(&ws);
    let (report, fresh) = two_days(28);
    run(report, fresh, &store);
    (ws, store)
}

/// Does the first steps of the delivery of a report, as a run that is killed after them.
fn killed_after(steps: usize, (report, fresh): (Report, Vec<Proposal>), store: &Store) {
    let (report, settlement) = settled(report, fresh, store);
    let models = BTreeSet::from(["acme/mid".to_owned()]);
    let (ledger, _) = outputs::read_ledger(store).expect("a readable ledger");
    let past = ledger.before(&report.run_id);
    let desk = issues::Desk::new(&report, &settlement, &past, &ledger, place(), places());
    let delivery = outputs::Delivery { issues: Some(&desk), ..delivery(&report, &settlement, &models) };
    let all: [&dyn Fn(); 8] = [
        &|| outputs::write_run(delivery, store).expect("a run file"),
        &|| drop(proposals::write(store, &report.proposals).expect("proposals")),
        &|| outputs::write_pending(delivery, &ledger, store).expect("what is about to be added"),
        &|| drop(outputs::append_events(delivery, &ledger, store).expect("events")),
        &|| {
            let known = outputs::read_ledger(store).expect("a ledger").0;
            drop(proposals::remove_others(store, &settlement.keep, &known.proposals()).expect("removals"));
        },
        &|| outputs::write_plan(delivery, None, store).expect("a plan"),
        &|| outputs::append_log(delivery, store).expect("a section"),
        &|| {
            outputs::write_views(delivery, &outputs::read_ledger(store).expect("a ledger").0, store)
                .expect("index and page");
        },
    ];
    for step in all.iter().take(steps) {
        step();
    }
}

#[test]
fn delivering_twice_changes_no_byte() {
    let (ws, store) = with_one_day("deliver-twice");
    let before = written(&ws);
    let names: Vec<&String> = before.keys().collect();
    assert_eq!(names.len(), 8, "run, two of the proposal, ledger, plan, log, index, page: {names:?}");
    let (report, fresh) = two_days(28);
    let (_, warnings) = run(report, fresh, &store);
    assert_eq!(written(&ws), before);
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn a_run_killed_after_any_step_and_delivered_again_ends_in_the_same_bytes() {
    let (ws, store) = with_one_day("deliver-undisturbed");
    let (report, fresh) = two_days(29);
    run(report, fresh, &store);
    let undisturbed = written(&ws);
    for steps in 0..=8 {
        let (ws, store) = with_one_day(&format!("deliver-killed-{steps}"));
        killed_after(steps, two_days(29), &store);
        let (report, fresh) = two_days(29);
        run(report, fresh, &store);
        assert_eq!(written(&ws), undisturbed, "killed after {steps} steps");
    }
}

#[test]
fn a_ledger_torn_at_any_byte_of_a_run_is_completed_to_the_same_bytes() {
    let (ws, store) = with_one_day("deliver-torn");
    let path = ws.join("reports/ledger.jsonl");
    let start = std::fs::read(&path).expect("a ledger").len();
    killed_after(4, two_days(29), &store);
    let whole = std::fs::read(&path).expect("a ledger");
    for cut in (start..=whole.len()).step_by(97).chain([whole.len() - 1]) {
        std::fs::write(&path, &whole[..cut]).expect("a torn ledger");
        let (report, fresh) = two_days(29);
        run(report, fresh, &store);
        assert_eq!(std::fs::read(&path).expect("a ledger"), whole, "cut at {cut}");
    }
}

#[test]
fn a_run_killed_once_it_said_what_it_adds_is_completed_by_the_next_run() {
    for steps in 0..=8 {
        let (ws, store) = with_one_day(&format!("deliver-next-{steps}"));
        killed_after(steps, two_days(29), &store);
        run(report(30, vec![pool("scout"), pool("summit")]), Vec::new(), &store);
        let text = std::fs::read_to_string(ws.join("reports/pool-composition-log.md")).expect("a log");
        let anchors: Vec<usize> = [28, 29, 30]
            .map(|day| text.matches(&format!("\n<a id=\"run-202611{day}T120000Z\"></a>\n")).count())
            .to_vec();
        let intended = usize::from(steps >= 3);
        assert_eq!(anchors, [1, intended, 1], "killed after {steps} steps; the third says what is about to be added");
        assert!(!ws.join("reports/pending.json").exists());
        let ledger = std::fs::read_to_string(ws.join("reports/ledger.jsonl")).expect("a ledger");
        assert_eq!(ledger.contains("20261129T120000Z"), steps >= 3, "log and ledger agree");
    }
}

#[test]
fn what_no_run_wrote_is_never_removed_and_is_named_where_it_looks_like_a_proposal() {
    let (ws, store) = with_one_day("deliver-foreign");
    let folder = ws.join("reports/proposals");
    let strange = |digit: &str, ending: &str| format!("pcr1-{}.{ending}", digit.repeat(32));
    // A whole proposal of another fleet, made at an instant at which no run was here; something that is none; a patch alone.
    let mut of_another = proposal("scout", "acme/far@default#seat", at("2026-11-27T12:00:00Z"), (1, 1, 1)).to_json();
    of_another["fingerprint"] = format!("pcr1-{}", "1".repeat(32)).into();
    of_another["content_digest"] = content_digest(&of_another).as_str().into();
    let foreign = [
        (strange("0", "json"), "{}".to_owned()),
        (strange("1", "json"), of_another.to_string()),
        (strange("2", "patch"), "--- a\n".to_owned()),
        ("README.md".to_owned(), "mine".to_owned()),
    ];
    for (name, text) in &foreign {
        std::fs::write(folder.join(name), text).expect("a file of somebody");
    }
    let (report, fresh) = two_days(29);
    let (_, warnings) = run(report, fresh, &store);
    for (name, text) in &foreign {
        assert_eq!(&std::fs::read_to_string(folder.join(name)).expect("still there"), text);
        let said = format!(
            "reports/proposals/{name}: no run of this ledger wrote it, so it was left alone and does not count"
        );
        let is_said = warnings.iter().any(|warning| warning.starts_with(&said));
        assert_eq!(is_said, name != "README.md", "{name}: {warnings:?}");
    }
    let (report, _) = two_days(30);
    run(report, Vec::new(), &store);
    let own = files(&folder).into_keys().filter(|name| !foreign.iter().any(|(one, _)| one == name));
    assert_eq!(own.count(), 2, "of our own the one that was missed twice went, the one that was missed once stands");
}

#[test]
fn what_a_killed_run_wrote_before_it_counted_is_removed_by_the_next_that_does_not_make_it() {
    let (ws, store) = with_one_day("deliver-orphan");
    killed_after(2, two_days(29), &store);
    let folder = ws.join("reports/proposals");
    assert_eq!(files(&folder).len(), 4, "two of each proposal");
    let (report, _) = two_days(28);
    let later = Report { now: at("2026-11-30T12:00:00Z"), run_id: "20261130T120000Z".to_owned(), ..report };
    let (_, fresh) = two_days(28);
    let (_, warnings) = run(later, fresh, &store);
    assert_eq!(files(&folder).len(), 2, "the ledger never heard of the other");
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn the_same_run_on_other_inputs_replaces_its_file_and_adds_no_second_section() {
    let (ws, store) = with_one_day("deliver-rerun");
    let log = std::fs::read(ws.join("reports/pool-composition-log.md")).expect("a log");
    let file = std::fs::read(ws.join("reports/runs/20261128T120000Z.json")).expect("a run file");
    run(report(28, vec![pool("scout")]), Vec::new(), &store);
    assert_eq!(std::fs::read(ws.join("reports/pool-composition-log.md")).expect("a log"), log);
    assert_ne!(std::fs::read(ws.join("reports/runs/20261128T120000Z.json")).expect("a run file"), file);
    assert_eq!(files(&ws.join("reports/proposals")).len(), 0, "the run makes none now, and none was open before it");
}

#[test]
fn a_run_older_than_the_newest_never_touches_what_is_open() {
    let (ws, store) = with_one_day("deliver-older");
    let (report, fresh) = two_days(29);
    run(report, fresh, &store);
    let before = written(&ws);
    let (known, fresh) = two_days(28);
    let (_, warnings) = run(known, fresh, &store);
    assert_eq!(written(&ws), before);
    assert_eq!(warnings, ["run 20261128T120000Z is older than run 20261129T120000Z and known: nothing was written"]);
    let (_, warnings) = run(reports::report(27, vec![pool("scout")]), Vec::new(), &store);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let after = written(&ws);
    let differing: Vec<&String> = after.keys().filter(|name| after.get(*name) != before.get(*name)).collect();
    assert_eq!(
        differing,
        ["ledger.jsonl", "pool-composition-log.md", "runs/20261127T120000Z.json"],
        "index and page stay"
    );
    let (next, _) = run(reports::report(30, vec![pool("scout")]), Vec::new(), &store);
    let previous = next.previous_run.as_deref();
    assert_eq!(previous, Some("20261129T120000Z"), "the newest run by its id, not by its line");
}

#[test]
fn without_a_tracker_there_is_no_issue_plan() {
    let ws = workspace("deliver-no-plan");
    let store = store(&ws);
    let (report, fresh) = two_days(28);
    let (report, settlement) = settled(report, fresh, &store);
    let models = BTreeSet::new();
    let delivered = outputs::deliver(delivery(&report, &settlement, &models), &store).expect("a delivery");
    assert!(!ws.join("reports/issues").exists());
    let words =
        "- none: `issues.repository` is not set; 1 add or retire flag of this run stand in their proposals only";
    assert!(delivered.section.contains(words), "{}", delivered.section);
}

#[test]
fn a_run_id_or_fingerprint_that_is_none_never_becomes_a_path() {
    let ws = workspace("deliver-paths");
    let store = store(&ws);
    let (mut report, fresh) = two_days(28);
    report.run_id = "../../escape".to_owned();
    let (report, settlement) = settled(report, fresh, &store);
    let models = BTreeSet::new();
    assert!(outputs::deliver(delivery(&report, &settlement, &models), &store).is_err());
    let mut evil = proposal("scout", "a", report.now, (1, 1, 1));
    evil.fingerprint = "pcr1-../../../../etc/cron.d/aaaaaaaaaaaa".to_owned();
    assert!(proposals::write(&store, &[evil]).is_err());
    assert!(written(&ws).is_empty());
}

#[test]
fn cadence_is_noted_line_by_line() {
    let ws = workspace("deliver-cadence");
    let store = store(&ws);
    let start = pool_review::history::Cadence::start("r", at("2026-11-29T12:00:01Z"));
    outputs::note_cadence(&start, &store).expect("a line");
    outputs::note_cadence(&start, &store).expect("a line");
    let text = std::fs::read_to_string(ws.join("reports/cadence.jsonl")).expect("a file");
    assert_eq!(text.lines().count(), 2);
    assert!(text.ends_with('\n'));
}

//! What a log already holds, found by parsing: text that only looks like a section, in a fence or a table, is none.

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};

/// A log longer than this is parsed from a section start in its last part, if the run is named there.
const TAIL_BYTES: usize = 100_000;

/// How the anchor of a run, and of each of its pools, begins.
const ANCHOR: &str = "<a id=\"run-";

/// How the last part of every section begins.
pub(super) const LAST_PART: &str = "Every number of this run: ";

/// The anchor that stands before a run's heading.
pub(super) fn run_anchor(run: &str) -> String {
    format!("{ANCHOR}{run}\">")
}

/// The comment under a run's heading.
pub(super) fn run_marker(run: &str) -> String {
    format!("<!-- pool-review v1 run={run} -->")
}

/// Whether a log holds the section of a run: its marker as an HTML block, or its anchor as inline HTML at the start of a
/// paragraph, both at the top level.
pub fn holds_run(log: &str, run: &str) -> bool {
    let needle = format!("run-{run}\"");
    let marker = run_marker(run);
    let Some(last) = log.rfind(&needle).into_iter().chain(log.rfind(&marker)).max() else { return false };
    let start = tail_start(log);
    if start <= last && parses_run(&log[start..], run) {
        return true;
    }
    start > 0 && parses_run(log, run)
}

/// The newest run that has a section in a log, by its anchor at the start of a line.
pub fn newest_run(log: &str) -> Option<String> {
    sections(log).into_iter().map(|(run, _)| run.to_owned()).max()
}

/// The runs that have a section in a log, by their anchors at the start of a line, in the order of the log, and whether each section
/// has its marker and goes to its last part.
pub(in crate::outputs) fn sections(log: &str) -> Vec<(&str, bool)> {
    let is_at_start = |at: usize| at == 0 || log.as_bytes()[at - 1] == b'\n';
    let anchors = log.match_indices(ANCHOR).filter(|(at, _)| is_at_start(*at)).filter_map(|(at, _)| {
        let (run, rest) = log[at + ANCHOR.len()..].split_once('"')?;
        let is_of_run = run.bytes().all(|byte| byte.is_ascii_alphanumeric()) && rest.starts_with("></a>");
        is_of_run.then_some((at, run))
    });
    let anchors: Vec<(usize, &str)> = anchors.collect();
    let ends = anchors.iter().skip(1).map(|(at, _)| *at).chain([log.len()]);
    let is_whole = |section: &str, run: &str| {
        let has_end = section.lines().any(|line| line.starts_with(LAST_PART) && line.contains(" Policy "));
        has_end && section.contains(&run_marker(run))
    };
    anchors.iter().zip(ends).map(|((at, run), end)| (*run, is_whole(&log[*at..end], run))).collect()
}

/// Where to begin to parse: at a section start in the last part of a long log.
fn tail_start(log: &str) -> usize {
    let Some(mut from) = log.len().checked_sub(TAIL_BYTES) else { return 0 };
    while !log.is_char_boundary(from) {
        from += 1;
    }
    log[from..].find("\n\n<a id=\"run-").map_or(0, |at| from + at + 2)
}

/// Whether a run's marker or anchor is a node of the parsed text.
fn parses_run(log: &str, run: &str) -> bool {
    let arena = Arena::new();
    let mut options = Options::default();
    options.extension.table = true;
    let (anchor, marker) = (run_anchor(run), run_marker(run));
    parse_document(&arena, log, &options).children().any(|node| match &node.data.borrow().value {
        NodeValue::HtmlBlock(block) => block.literal.lines().any(|line| line.trim() == marker),
        NodeValue::Paragraph => starts_with_html(node, &anchor),
        _ => false,
    })
}

/// Whether a paragraph starts with this piece of HTML.
fn starts_with_html<'a>(paragraph: &'a AstNode<'a>, html: &str) -> bool {
    let first = paragraph.first_child();
    first.is_some_and(|node| matches!(&node.data.borrow().value, NodeValue::HtmlInline(text) if text == html))
}

/// The run id in the anchor that a section begins with.
pub fn run_of(section: &str) -> Option<&str> {
    let (run, _) = section.strip_prefix("<a id=\"run-")?.split_once('"')?;
    run.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(run)
}

/// The month in a log's head, `YYYY-MM`; `None` when its first line is no head of ours.
pub fn month_of(log: &str) -> Option<&str> {
    let month = log.lines().next()?.strip_prefix("# Pool composition log · ")?.trim();
    let is_month =
        month.len() == 7 && month.bytes().enumerate().all(|(i, b)| if i == 4 { b == b'-' } else { b.is_ascii_digit() });
    is_month.then_some(month)
}

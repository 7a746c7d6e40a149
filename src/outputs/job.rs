//! What a job of GitHub Actions shows: the section as its summary, and annotations for what could not be judged or read.

use super::text::{self, Place};
use super::view::counted;
use crate::verdict::{Report, Verdict};
use crate::vocabulary::SourceState;

/// Most annotations; GitHub shows ten of a step.
const MOST_ANNOTATIONS: usize = 10;

/// A section as a summary: its headings one level down, its anchors left out.
pub fn summary(section: &str) -> String {
    let lines = section.lines().filter(|line| !(line.starts_with("<a id=\"") && line.ends_with("</a>")));
    let lower = |line: &str| {
        if line.starts_with("## ") || line.starts_with("### ") { format!("#{line}") } else { line.to_owned() }
    };
    lines.map(lower).collect::<Vec<_>>().join("\n").trim_start().to_owned() + "\n"
}

/// A line for every pool that is blocked, every source that failed and every source with rows that were not used.
pub fn annotations(report: &Report) -> String {
    let show = |words: &str| escape(&text::quote(words, Place::Terminal));
    let blocked = report.pools.iter().filter(|pool| pool.verdict == Verdict::Blocked).map(|pool| {
        let reasons: Vec<String> =
            pool.checks.iter().flat_map(|check| &check.reasons).map(|reason| show(reason)).collect();
        format!("::warning title=pool blocked::{} is not judged: {}", show(pool.id.as_str()), reasons.join(", "))
    });
    let failed = report.sources.iter().filter_map(|note| match &note.state {
        SourceState::Failed(reason) => {
            Some(format!("::warning title=source failed::{}: {}", note.source, show(reason)))
        }
        _ => None,
    });
    let rejected = report.sources.iter().filter(|note| note.rejected > 0).map(|note| {
        let first = note.rejects.first().map(|reject| show(&format!("{} {}", reject.place, reject.reason)));
        let rows = counted(usize::try_from(note.rejected).unwrap_or(usize::MAX), "row", "rows");
        let first = first.map_or(String::new(), |first| format!(", first {first}"));
        format!("::notice title=rows not used::{}: {rows}{first}", note.source)
    });
    let mut lines: Vec<String> = blocked.chain(failed).chain(rejected).collect();
    lines.truncate(MOST_ANNOTATIONS);
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Text of a workflow command: its own signs are percent-encoded.
fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

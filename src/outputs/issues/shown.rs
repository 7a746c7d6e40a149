//! What a run says of its issues: in its section, and on the terminal in the words of the plan.

use super::carry::Filed;
use super::flags::flags;
use super::plan::{Entry, Plan};
use super::{Desk, TrackerPlace};
use crate::outputs::text::{self, Place};
use crate::outputs::view::counted;
use crate::verdict::Report;

/// What the last line begins with when nothing was sent.
pub(in crate::outputs) const PLANNED: &str = "this is a plan made from the ledger, nothing was sent";

/// Most steps that a section lists; the plan file has them all.
const MOST_LINES: usize = 20;

/// What a section says while nobody knows yet how filing ends; it stays only when the run is killed on the way.
pub(in crate::outputs) const KILLED: &str =
    "issues not updated: the run was killed while it filed them; the next one looks before it writes";

/// What a section says: the outcome of filing, or the plan and that it was not sent.
pub fn section_lines(desk: &Desk<'_>, filed: Option<&Filed>) -> Vec<String> {
    let plan = &filed.map_or_else(|| desk.plan(), |filed| filed.plan.clone());
    let place = desk.place();
    let mut lines: Vec<String> =
        filed.and_then(|filed| filed.failure.as_ref()).map(|reason| not_updated(reason)).into_iter().collect();
    let reached = filed.map_or(plan.entries.len(), |filed| filed.reached);
    let told: Vec<&Entry> = plan.entries.iter().filter(|entry| is_told(entry)).collect();
    let shown = told.iter().take(MOST_LINES).map(|entry| {
        let is_done = filed.is_some() && plan.entries.iter().take(reached).any(|one| std::ptr::eq(one, *entry));
        markdown(entry, place, is_done)
    });
    lines.extend(shown);
    if told.len() > MOST_LINES {
        lines.push(format!("and {} more, listed in the plan file", counted(told.len() - MOST_LINES, "step", "steps")));
    }
    lines.extend(still(plan, place));
    if lines.is_empty() {
        lines.push("none: no open proposal asks to add or to retire a model".to_owned());
    } else if filed.is_none() {
        lines.push(format!("{PLANNED}: `review --file-issues` looks at the tracker and carries it out"));
    }
    lines
}

/// What a section says without a tracker, when there is something that could be filed.
pub(in crate::outputs) fn without_tracker(report: &Report) -> Vec<String> {
    let count = flags(&report.proposals, &|_| None).len();
    let line = || {
        let flags = counted(count, "add or retire flag", "add or retire flags");
        format!("none: `issues.repository` is not set; {flags} of this run stand in their proposals only")
    };
    (count > 0).then(line).into_iter().collect()
}

/// What the terminal says: one line per step that is not `label`, and why it ended early.
pub fn lines(desk: &Desk<'_>, filed: Option<&Filed>) -> Vec<String> {
    let line = |entry: &Entry| text::own(&entry.line(), Place::Terminal);
    match filed {
        None => {
            let plan = desk.plan();
            let told = plan.entries.iter().filter(|entry| is_told(entry)).map(|entry| format!("  {}", line(entry)));
            let told: Vec<String> = told.collect();
            let head = (!told.is_empty()).then(|| "issue plan from the ledger, nothing sent:".to_owned());
            head.into_iter().chain(told).collect()
        }
        Some(filed) => {
            let done = filed.plan.entries.iter().take(filed.reached).filter(|entry| is_told(entry));
            let failure = filed
                .failure
                .as_ref()
                .map(|reason| format!("issues not updated: {}", text::own(reason, Place::Terminal)));
            done.map(|entry| format!("issues: {}", line(entry))).chain(failure).collect()
        }
    }
}

/// Whether an entry is worth a line of its own: labels and issues that stay as they are are not.
fn is_told(entry: &Entry) -> bool {
    entry.step != "label" && (entry.step != "nothing" || !entry.reason.starts_with("open"))
}

/// The line of a run whose filing ended early.
fn not_updated(reason: &str) -> String {
    format!("**issues not updated:** {}", text::quote(reason, Place::Markdown))
}

/// One entry with its issue as a full link, because files of a repository get no automatic ones.
fn markdown(entry: &Entry, place: &TrackerPlace, is_done: bool) -> String {
    let number = entry.number.map_or(String::new(), |number| format!(" {}", link(number, place)));
    let word = match (entry.step, is_done) {
        ("create", true) => "created",
        ("patch", true) => "updated",
        ("comment", true) => "commented",
        ("close" | "duplicate", true) => "closed",
        ("reopen", true) => "reopened",
        ("duplicate", false) => "close",
        ("wait", _) => "waiting:",
        (step, _) => step,
    };
    let (id, reason) = (text::name(&entry.id, Place::Markdown), text::own(&entry.reason, Place::Markdown));
    match entry.step {
        "wait" => format!("{word} {reason}, {id}"),
        "nothing" => format!("{} {id}: {reason}", number.trim_start()),
        _ => format!("{word}{number} {id}: {reason}"),
    }
}

/// Issues that are open and stay as they are, in one line.
fn still(plan: &Plan, place: &TrackerPlace) -> Option<String> {
    let open = plan.entries.iter().filter(|entry| entry.step == "nothing" && entry.reason.starts_with("open"));
    let links: Vec<String> = open.filter_map(|entry| Some(link(entry.number?, place))).collect();
    (!links.is_empty()).then(|| format!("open and unchanged: {}", links.join(", ")))
}

/// An issue.
fn link(number: u64, place: &TrackerPlace) -> String {
    format!("[#{number}]({})", place.issue_url(number))
}

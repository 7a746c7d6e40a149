//! The composition log: one section per run, bytes only ever added at the end, finished months beside it.
//! Nothing here writes; it says what the file must hold.

mod parse;
mod pools;
mod section;
mod tables;

pub use parse::{holds_run, month_of};
pub use section::render_section;

pub(super) use pools::answers;

use anyhow::{Result, bail};

use crate::verdict::Report;

/// What ends an element that an outside hand left open: nothing, a fence of either kind, a comment, a raw block.
/// A fence of this length closes every shorter one.
const ENDINGS: [&str; 6] =
    ["", "````````````````````````````````\n", "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n", "-->\n", "</pre>\n", "?>\n"];

/// The head of a file: once, at its top.
pub fn head(month: &str) -> String {
    format!(
        "# Pool composition log · {month}\n\n\
         Oldest first; sections are only ever added at the end. `–` nothing to show · `0` judged, and zero · n = observations\n\
         behind the measurement (the smaller side of a comparison) · Limit = the bound it was held against · Since = run\n\
         where this outcome began. Verdicts: `aligned`, `misaligned`, `watch`, `unresolved`, `insufficient_evidence`, `blocked`.\n"
    )
}

/// `2026-11`.
pub fn month(report: &Report) -> String {
    report.now.format("%Y-%m").to_string()
}

/// The log with this run's section at its end. The old bytes come first, unchanged; `None` means that the run is in
/// there already. A last line without an end gets one; a fence or comment that somebody left open is ended. Errors: a log
/// after which a section could not be read.
pub fn append(report: &Report, reports: &str, old: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
    let old = old.unwrap_or_default();
    if holds_run(&String::from_utf8_lossy(old), &report.run_id) {
        return Ok(None);
    }
    let mut bytes = old.to_vec();
    if bytes.is_empty() {
        bytes.extend_from_slice(head(&month(report)).as_bytes());
    } else if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    let section = render_section(report, reports);
    for ending in ENDINGS {
        let tail = format!("{ending}\n{section}");
        let mut whole = bytes.clone();
        whole.extend_from_slice(tail.as_bytes());
        if holds_run(&String::from_utf8_lossy(&whole), &report.run_id) {
            return Ok(Some(whole));
        }
    }
    bail!("the log ends inside an element that swallows what follows; end it by hand")
}

//! The composition log: one section per run, bytes only ever added at the end, finished months beside it.
//! Nothing here writes; it says what the file must hold.

mod brief;
mod parse;
mod pools;
mod section;
mod tables;

pub(super) use parse::sections;
pub use parse::{holds_run, month_of, newest_run, run_of};
pub(super) use section::{LOST, lost_note};
pub use section::{Since, levels, render_section};

pub(super) use pools::answers;

use anyhow::{Result, bail};

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

/// The month of a run id: `2026-11` of `20261129T120000Z`; `None` of what is no run id.
pub fn month_of_run(run: &str) -> Option<String> {
    let (year, month) = (run.get(..4)?, run.get(4..6)?);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(year) && is_number(month)).then(|| format!("{year}-{month}"))
}

/// The log with a run's section at its end. The old bytes come first, unchanged; `None` means that the run is in there
/// already. An empty log gets its head for the month; a last line without an end gets one; a fence or comment that somebody
/// left open is ended. Errors: a log after which a section could not be read.
pub fn append(section: &str, run: &str, month: &str, old: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
    let old = old.unwrap_or_default();
    if holds_run(&String::from_utf8_lossy(old), run) {
        return Ok(None);
    }
    let mut bytes = old.to_vec();
    if bytes.is_empty() {
        bytes.extend_from_slice(head(month).as_bytes());
    } else if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    for ending in ENDINGS {
        let mut whole = bytes.clone();
        whole.extend_from_slice(format!("{ending}\n{section}").as_bytes());
        if holds_run(&String::from_utf8_lossy(&whole), run) {
            return Ok(Some(whole));
        }
    }
    bail!("the log ends inside an element that swallows what follows; end it by hand")
}

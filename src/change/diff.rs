//! A change of text as a unified diff that `git apply` takes: full blob ids in the index line, three lines of context.

use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use super::ChangeError;
use crate::verdict::Patch;
use crate::vocabulary::git_blob;

/// Lines of context around a change, as git shows them.
const CONTEXT_LINES: usize = 3;
/// The longest path the proposal's schema takes, in characters.
const MAX_PATH_CHARS: usize = 300;

/// The patch from one text to another.
pub(super) fn patch(path: &str, before: &str, after: &str) -> Result<Patch, ChangeError> {
    fit_path(path)?;
    let (blob, result_blob) = (git_blob(before), git_blob(after));
    // git ends the name on `---` and `+++` lines with a tab when it holds a space.
    let end = if path.contains(' ') { "\t" } else { "" };
    let text = format!(
        "diff --git a/{path} b/{path}\nindex {blob}..{result_blob} 100644\n--- a/{path}{end}\n+++ b/{path}{end}\n{}",
        hunks(before, after)
    );
    Ok(Patch { format: "git-unified-diff".to_owned(), path: path.to_owned(), blob, result_blob, text })
}

/// Refuses paths that git would write in quotes or that leave the workspace.
fn fit_path(path: &str) -> Result<(), ChangeError> {
    let refuse = |reason| Err(ChangeError::Path { path: path.to_owned(), reason });
    let has_drive = path.as_bytes().get(1) == Some(&b':');
    if path.is_empty() || path.chars().count() > MAX_PATH_CHARS {
        return refuse("is empty or too long for a patch");
    }
    if path.starts_with('/') || has_drive || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refuse("is not plainly relative to the workspace");
    }
    if path.chars().any(|c| c.is_control() || matches!(c, '"' | '\\' | '\u{2028}' | '\u{2029}')) {
        return refuse("holds characters that git writes in quotes");
    }
    if path.starts_with(' ') || path.ends_with(' ') || path.contains(" b/") {
        return refuse("holds spaces that a patch cannot tell from its own");
    }
    Ok(())
}

/// The hunks from one text to another.
fn hunks(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    group_diff_ops(ops, CONTEXT_LINES).iter().map(|group| hunk(group, &old, &new)).collect()
}

/// One hunk with its header.
fn hunk(group: &[DiffOp], old: &[&str], new: &[&str]) -> String {
    let whole = |ranges: fn(&DiffOp) -> Range<usize>| match (group.first(), group.last()) {
        (Some(first), Some(last)) => ranges(first).start..ranges(last).end,
        _ => 0..0,
    };
    let mut out = format!("@@ -{} +{} @@\n", span(&whole(DiffOp::old_range)), span(&whole(DiffOp::new_range)));
    for op in group {
        if op.tag() == DiffTag::Equal {
            push(&mut out, ' ', &old[op.old_range()]);
        } else {
            push(&mut out, '-', &old[op.old_range()]);
            push(&mut out, '+', &new[op.new_range()]);
        }
    }
    out
}

/// A range of lines as a hunk header states it: first line and count, the count left out when it is 1.
fn span(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Lines with their sign; a last line without an end is marked as git marks it.
fn push(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

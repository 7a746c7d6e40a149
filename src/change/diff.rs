//! A change of text as a unified diff that `git apply` takes: full blob ids in the index line, three lines of context.

use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use super::ChangeError;
use crate::verdict::Patch;

/// Lines of context around a change, as git shows them.
const CONTEXT_LINES: usize = 3;
/// The longest path the proposal's schema takes, in characters.
const MAX_PATH_CHARS: usize = 300;

/// The patches from one text to another and back; each text comes with its git object id.
pub(super) fn patches(
    path: &str,
    (before, blob): (&str, &str),
    (after, result_blob): (&str, &str),
) -> Result<(Patch, Patch), ChangeError> {
    fit_path(path)?;
    let forth = patch(path, (before, blob), (after, result_blob));
    Ok((forth, patch(path, (after, result_blob), (before, blob))))
}

/// The patch from one text to another.
fn patch(path: &str, (before, blob): (&str, &str), (after, result_blob): (&str, &str)) -> Patch {
    // git ends the name on `---` and `+++` lines with a tab when it holds a space.
    let end = if path.contains(' ') { "\t" } else { "" };
    let text = format!(
        "diff --git a/{path} b/{path}\nindex {blob}..{result_blob} 100644\n--- a/{path}{end}\n+++ b/{path}{end}\n{}",
        hunks(before, after)
    );
    Patch {
        format: "git-unified-diff".to_owned(),
        path: path.to_owned(),
        blob: blob.to_owned(),
        result_blob: result_blob.to_owned(),
        text,
    }
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

/// The hunks from one text to another. Only the lines that differ, and those around them, are compared.
fn hunks(before: &str, after: &str) -> String {
    let (start, tail) = alike(before, after);
    let first_line = before[..start].bytes().filter(|&byte| byte == b'\n').count();
    let old: Vec<&str> = before[start..before.len() - tail].split_inclusive('\n').collect();
    let new: Vec<&str> = after[start..after.len() - tail].split_inclusive('\n').collect();
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    group_diff_ops(ops, CONTEXT_LINES).iter().map(|group| hunk(group, &old, &new, first_line)).collect()
}

/// Bytes at the start and at the end in which two texts are alike: whole lines, and not the last or first few of them.
fn alike(before: &str, after: &str) -> (usize, usize) {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let start = line_starts_back(&old[..head], CONTEXT_LINES);
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let mut lines =
        old[old.len() - tail..].iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    (start, lines.nth(CONTEXT_LINES).map_or(0, |at| tail - at))
}

/// The start of the line that lies so many whole lines before the last line start of some bytes.
fn line_starts_back(bytes: &[u8], lines: usize) -> usize {
    let mut ends = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    ends.nth(lines).unwrap_or(0)
}

/// One hunk with its header; `first_line` lines come before those compared.
fn hunk(group: &[DiffOp], old: &[&str], new: &[&str], first_line: usize) -> String {
    let whole = |ranges: fn(&DiffOp) -> Range<usize>| match (group.first(), group.last()) {
        (Some(first), Some(last)) => first_line + ranges(first).start..first_line + ranges(last).end,
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

//! A patch carried over to a file that has changed elsewhere since: each hunk is found again by its old lines, with as much of its
//! context as still stands there, and the result counts only if it says what the operations lead to.

use serde_json::Value;

use super::{apply_ops, diff, document};
use crate::verdict::Patch;
use crate::vocabulary::{ConfigFile, git_blob};

/// Most lines of context that are left out at each end of a hunk.
const MOST_FUZZ: usize = 3;

/// One line of a hunk: whether the old text has it, whether the new one has it, and the line with its end.
type Line<'a> = (bool, bool, &'a str);

/// One hunk.
#[derive(Debug, Default)]
struct Hunk<'a> {
    /// Line of the old text where it begins, from 0.
    start: usize,
    /// Its lines.
    lines: Vec<Line<'a>>,
}

/// The patch for the file as it stands now. `None` when a hunk is not found, or when the result would not be what `ops` make of the
/// file: then nothing may be handed out.
pub fn rebased(file: &ConfigFile, patch: &Patch, ops: &[Value]) -> Option<Patch> {
    let hunks = hunks(&patch.text)?;
    let wanted = apply_ops(&document(file).ok()?, ops).ok()?;
    let says_it = |text: &String| {
        let result = document(&ConfigFile { path: file.path.clone(), text: text.clone() });
        result.is_ok_and(|result| result == wanted)
    };
    let text = (0..=MOST_FUZZ).filter_map(|fuzz| applied(&file.text, &hunks, fuzz)).find(says_it)?;
    let (before, after) = ((file.text.as_str(), file.blob()), (text.as_str(), git_blob(&text)));
    diff::patches(&file.path, (before.0, &before.1), (after.0, &after.1)).ok().map(|(forth, _)| forth)
}

/// The hunks of a unified diff; `None` when it has a line that is none of one.
fn hunks(diff: &str) -> Option<Vec<Hunk<'_>>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    for line in diff.split_inclusive('\n').skip_while(|line| !line.starts_with("@@ ")) {
        if let Some(range) = line.strip_prefix("@@ -") {
            let start: usize = range.split([',', ' ']).next()?.parse().ok()?;
            hunks.push(Hunk { start: start.saturating_sub(1), lines: Vec::new() });
            continue;
        }
        let (sign, rest) = line.split_at_checked(1)?;
        // "\ No newline at end of file" speaks of a last line that a file which moved may no longer have: not carried over.
        let (is_old, is_new) = match sign {
            " " => (true, true),
            "-" => (true, false),
            "+" => (false, true),
            _ => return None,
        };
        hunks.last_mut()?.lines.push((is_old, is_new, rest));
    }
    (!hunks.is_empty()).then_some(hunks)
}

/// A text with all hunks in it, in order, each where its old lines stand nearest to where they stood.
fn applied(text: &str, hunks: &[Hunk<'_>], fuzz: usize) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for hunk in hunks {
        let (start, kept) = hunk.narrowed(fuzz);
        let old: Vec<&str> = kept.iter().filter(|line| line.0).map(|line| line.2).collect();
        let at = nearest(&lines, &old, start, done)?;
        out.extend(lines[done..at].iter().copied());
        out.extend(kept.iter().filter(|line| line.1).map(|line| line.2));
        done = at + old.len();
    }
    out.extend(lines[done..].iter().copied());
    Some(out)
}

impl<'a> Hunk<'a> {
    /// Where it begins and its lines, with up to so many lines of context left out at each end.
    fn narrowed(&self, fuzz: usize) -> (usize, &[Line<'a>]) {
        let is_context = |line: &&Line<'_>| line.0 && line.1;
        let first = self.lines.iter().take_while(is_context).count().min(fuzz);
        let last = self.lines.iter().rev().take_while(is_context).count().min(fuzz).min(self.lines.len() - first);
        (self.start + first, &self.lines[first..self.lines.len() - last])
    }
}

/// Where some lines stand in others, at or behind `from`, nearest to `hint`.
fn nearest(lines: &[&str], wanted: &[&str], hint: usize, from: usize) -> Option<usize> {
    let places = (from..=lines.len().checked_sub(wanted.len())?).filter(|at| lines[*at..].starts_with(wanted));
    places.min_by_key(|at| at.abs_diff(hint))
}

//! A patch carried over to a file that has changed elsewhere since: each hunk is found again by its old lines, and the result
//! counts only if the definition then reads as the change predicted.

use super::diff;
use super::document;
use crate::verdict::Patch;
use crate::vocabulary::{ConfigFile, Digest, git_blob, subtree_digest};

/// The lines that one hunk takes away and those it puts there, context included in both.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk<'a> {
    /// Line of the old file where it begins, from 0.
    start: usize,
    /// The old lines.
    old: Vec<&'a str>,
    /// The new ones.
    new: Vec<&'a str>,
}

/// The patch for the file as it stands now. `None` when a hunk is not found, or when the definition at `pointer` would not have the
/// digest `after`: then nothing may be handed out. A definition that is gone has the digest of null.
pub fn rebased(file: &ConfigFile, patch: &Patch, pointer: &str, after: &str) -> Option<Patch> {
    let text = applied(&file.text, &hunks(&patch.text)?)?;
    let result = document(&ConfigFile { path: file.path.clone(), text: text.clone() }).ok()?;
    let digest = subtree_digest(&result, pointer).unwrap_or_else(|| Digest::of_json(&serde_json::Value::Null));
    if digest.as_str() != after {
        return None;
    }
    let (before, result) = ((file.text.as_str(), file.blob()), (text.as_str(), git_blob(&text)));
    diff::patches(&file.path, (before.0, &before.1), (result.0, &result.1)).ok().map(|(forth, _)| forth)
}

/// The hunks of a unified diff; `None` when it has a line that is none of one.
fn hunks(diff: &str) -> Option<Vec<Hunk<'_>>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let body = diff.split_inclusive('\n').skip_while(|line| !line.starts_with("@@ "));
    for line in body {
        if let Some(range) = line.strip_prefix("@@ -") {
            let start: usize = range.split([',', ' ']).next()?.parse().ok()?;
            hunks.push(Hunk { start: start.saturating_sub(1), ..Hunk::default() });
            continue;
        }
        let hunk = hunks.last_mut()?;
        match line.split_at_checked(1)? {
            (" ", rest) => {
                hunk.old.push(rest);
                hunk.new.push(rest);
            }
            ("-", rest) => hunk.old.push(rest),
            ("+", rest) => hunk.new.push(rest),
            // "\ No newline at end of file" speaks of a last line, which a file that moved may no longer have: not carried over.
            _ => return None,
        }
    }
    (!hunks.is_empty()).then_some(hunks)
}

/// A text with all hunks in it, each where its old lines stand nearest to where they stood, in order.
fn applied(text: &str, hunks: &[Hunk<'_>]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for hunk in hunks {
        let at = nearest(&lines, &hunk.old, hunk.start, done)?;
        out.extend(lines[done..at].iter().copied());
        out.extend(hunk.new.iter().copied());
        done = at + hunk.old.len();
    }
    out.extend(lines[done..].iter().copied());
    Some(out)
}

/// Where some lines stand in others, at or behind `from`, nearest to `hint`.
fn nearest(lines: &[&str], wanted: &[&str], hint: usize, from: usize) -> Option<usize> {
    let places = (from..=lines.len().checked_sub(wanted.len())?).filter(|at| lines[*at..].starts_with(wanted));
    places.min_by_key(|at| at.abs_diff(hint))
}

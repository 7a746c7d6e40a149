//! The verdicts of a pool over the last runs, as a strip of stretches and in words.

use super::html::esc;
use crate::history::RunFact;
use crate::verdict::{PoolReport, Verdict};

/// Most runs that are shown: thirty days of two a day.
const MOST_RUNS: usize = 60;

/// Most stretches in words.
const MOST_WORDS: usize = 4;

/// The strip of a pool.
pub(super) fn strip(runs: &[(&str, &RunFact)], pool: &PoolReport) -> String {
    let from = runs.len().saturating_sub(MOST_RUNS);
    let verdicts = runs[from..].iter().map(|(_, fact)| fact.verdicts.get(pool.id.as_str()).map(|one| one.verdict));
    let stretches = stretches(verdicts);
    let cell = |(verdict, runs): &(Option<Verdict>, usize)| match verdict {
        Some(verdict) => format!("<i class=\"{verdict}\" style=\"flex:{runs}\"></i>"),
        None => format!("<i style=\"flex:{runs};background:none\"></i>"),
    };
    let cells: String = stretches.iter().map(cell).collect();
    let words = words(&stretches);
    let name = format!("{}: {words}", esc(pool.id.as_str()));
    format!("<div class=\"strip\" role=\"img\" aria-label=\"{name}\">{cells}</div><span class=\"soft\">{words}</span>")
}

/// Equal verdicts in a row, with their number; `None` where the pool was not judged.
fn stretches(verdicts: impl Iterator<Item = Option<Verdict>>) -> Vec<(Option<Verdict>, usize)> {
    let mut stretches: Vec<(Option<Verdict>, usize)> = Vec::new();
    for verdict in verdicts {
        match stretches.last_mut() {
            Some((last, count)) if *last == verdict => *count += 1,
            _ => stretches.push((verdict, 1)),
        }
    }
    stretches
}

/// `aligned 40, misaligned 2`, the last few stretches.
fn words(stretches: &[(Option<Verdict>, usize)]) -> String {
    let from = stretches.len().saturating_sub(MOST_WORDS);
    let one =
        |(verdict, runs): &(Option<Verdict>, usize)| format!("{} {runs}", verdict.map_or("not there", Verdict::as_str));
    let mut words: Vec<String> = stretches[from..].iter().map(one).collect();
    if from > 0 {
        words.insert(0, "…".to_owned());
    }
    if words.is_empty() { "first run".to_owned() } else { words.join(", ") }
}

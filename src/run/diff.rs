//! `diff`: two run files, only the outcomes that moved.

use std::path::Path;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use super::stored::run_file;
use super::{Answer, settings};
use crate::cli::{Cli, ExitCode, Failure, FileArgs, Format};
use crate::outputs::text::{self, Place};
use crate::outputs::verbs::document;
use crate::outputs::wrap;
use crate::store::look_into;

/// One outcome on both sides; `None` where there is none.
struct Moved {
    /// The pool.
    pool: String,
    /// The check.
    check: String,
    /// Before.
    before: Option<Outcome>,
    /// After.
    after: Option<Outcome>,
}

/// What a check of a pool said.
#[derive(Clone, PartialEq)]
struct Outcome {
    /// Its verdict.
    verdict: String,
    /// Code and sides of the finding that carries it.
    about: String,
    /// The numbers of that finding.
    numbers: String,
}

/// Compares two runs.
pub(super) fn run(
    cli: &Cli,
    file: &FileArgs,
    (before, after): (&str, &str),
    columns: usize,
) -> Result<Answer, Failure> {
    let settings = settings(cli, &file.instructions)?;
    let runs = cli.workspace.join(&settings.reports).join("runs");
    let known = known(&runs).map_err(Failure::Failed)?;
    let load = |name: &str| {
        let id = named(&runs, &known, name).map_err(Failure::Unusable)?;
        let file = run_file(&cli.workspace.join(&settings.reports), &settings.reports, &id).map_err(Failure::Failed)?;
        Ok((id, file.unwrap_or_default()))
    };
    let ((before_id, before), (after_id, after)) = (load(before)?, load(after)?);
    let (moved, unchanged) = compare(&before, &after);
    let text = match cli.format {
        Format::Human | Format::Csv => human(&moved, unchanged, columns),
        Format::Json => as_json(&before_id, &after_id, &moved, unchanged),
    };
    Ok(Answer { text, warnings: Vec::new(), code: ExitCode::Finished })
}

/// The ids of all run files, oldest first.
fn known(runs: &Path) -> Result<Vec<String>> {
    let names = look_into(runs)?.into_iter();
    let mut ids: Vec<String> = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
    ids.retain(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    Ok(ids)
}

/// The id of a run by its id, by the beginning of its id, or as `last` or `previous`.
fn named(runs: &Path, known: &[String], name: &str) -> Result<String> {
    let id = match name {
        "last" => known.last(),
        "previous" => known.len().checked_sub(2).and_then(|at| known.get(at)),
        _ => {
            let mut fitting = known.iter().filter(|id| id.starts_with(name));
            let first = fitting.next();
            if fitting.next().is_some() && first.is_none_or(|first| first != name) {
                return Err(anyhow!("{name:?} begins several run ids; write more of it"));
            }
            first
        }
    };
    let id = id.ok_or_else(|| match known {
        [] => anyhow!("no run is known in {}; `pool-review review` makes one", runs.display()),
        [only] => anyhow!("no run file for {name:?}: the only run is {only}, and a diff needs two"),
        [.., newest] => {
            anyhow!("no run file for {name:?} among {} in {}; the newest is {newest}", known.len(), runs.display())
        }
    })?;
    Ok(id.clone())
}

/// Every outcome of a run: pool, check, what it said.
fn outcomes(run: &Value) -> Vec<(String, String, Outcome)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for pool in run["pools"].as_array().into_iter().flatten() {
        for check in pool["checks"].as_array().into_iter().flatten() {
            let verdict = word(&check["verdict"]);
            let findings = check["findings"].as_array().into_iter().flatten();
            let carrying = findings.clone().find(|finding| finding["verdict"] == check["verdict"]);
            let (about, numbers) = carrying.map_or_else(Default::default, |finding| (about(finding), numbers(finding)));
            found.push((word(&pool["id"]), word(&check["check"]), Outcome { verdict, about, numbers }));
        }
    }
    found
}

/// Code and sides of a finding.
fn about(finding: &Value) -> String {
    let show = |value: &Value| text::name(value.as_str().unwrap_or_default(), Place::Terminal);
    let code = finding["code"].as_str().unwrap_or_default();
    match finding["counterpart"].as_str() {
        None | Some("") => format!("{code} {}", show(&finding["subject"])),
        Some(_) => format!("{code} {} → {}", show(&finding["subject"]), show(&finding["counterpart"])),
    }
}

/// Measured value, limit and n of a finding.
fn numbers(finding: &Value) -> String {
    let (measured, limit) = (&finding["measured"], &finding["limit"]);
    let mut words = Vec::new();
    if let Some(value) = measured["value"].as_f64() {
        words.push(format!("{value} {}", measured["unit"].as_str().unwrap_or_default()));
    }
    if let (Some(op), Some(value)) = (limit["op"].as_str(), limit["value"].as_f64()) {
        words.push(format!("limit {op} {value}"));
    }
    if let Some(n) = measured["n"].as_u64() {
        words.push(format!("(n {n})"));
    }
    words.join("  ")
}

/// Outcomes that moved, in the order of the later run, then those that are gone; and how many stayed.
fn compare(before: &Value, after: &Value) -> (Vec<Moved>, usize) {
    let (old, new) = (outcomes(before), outcomes(after));
    let find = |list: &[(String, String, Outcome)], pool: &str, check: &str| {
        list.iter().find(|(p, c, _)| p == pool && c == check).map(|(_, _, outcome)| outcome.clone())
    };
    let mut moved = Vec::new();
    for (pool, check, outcome) in &new {
        let was = find(&old, pool, check);
        let is_same = was.as_ref().is_some_and(|was| was.verdict == outcome.verdict && was.about == outcome.about);
        if !is_same {
            moved.push(Moved { pool: pool.clone(), check: check.clone(), before: was, after: Some(outcome.clone()) });
        }
    }
    let unchanged = new.len() - moved.len();
    for (pool, check, outcome) in old {
        if find(&new, &pool, &check).is_none() {
            moved.push(Moved { pool, check, before: Some(outcome), after: None });
        }
    }
    (moved, unchanged)
}

/// One line per outcome that moved, and the tally.
fn human(moved: &[Moved], unchanged: usize, columns: usize) -> String {
    let word =
        |outcome: &Option<Outcome>| outcome.as_ref().map_or("absent".to_owned(), |outcome| outcome.verdict.clone());
    let mut lines: Vec<String> = moved
        .iter()
        .flat_map(|one| {
            let last = one.after.as_ref().or(one.before.as_ref());
            let (about, numbers) = last.map_or(("", ""), |last| (&last.about, &last.numbers));
            let pool = text::name(&one.pool, Place::Terminal);
            let line =
                format!("{pool}  {}  {} → {}  {about}  {numbers}", one.check, word(&one.before), word(&one.after));
            wrap::line(line.trim_end(), columns)
        })
        .collect();
    lines.push(format!("{} moved, {unchanged} unchanged", moved.len()));
    lines.join("\n") + "\n"
}

/// The same as JSON.
fn as_json(before: &str, after: &str, moved: &[Moved], unchanged: usize) -> String {
    let outcome = |outcome: &Option<Outcome>| {
        outcome.as_ref().map_or(
            Value::Null,
            |outcome| json!({"verdict": outcome.verdict, "about": outcome.about, "numbers": outcome.numbers}),
        )
    };
    let all: Vec<Value> = moved
        .iter()
        .map(|one| json!({"pool": one.pool, "check": one.check, "before": outcome(&one.before), "after": outcome(&one.after)}))
        .collect();
    document("diff", json!({"before": before, "after": after, "moved": all, "unchanged": unchanged}))
}

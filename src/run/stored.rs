//! Files of the reports folder that a verb reads again. One that was damaged is named with its place and what to do about it.

use std::path::Path;

use anyhow::{Result, anyhow};
use serde_json::Value;

use crate::store::look;

/// The shape of a run file.
const RUN: &str = "pool-review.run/1";

/// A run file; `None` when there is none. `shown` is how messages name the reports folder. Errors: a file that is no JSON, or no run.
pub(super) fn run_file(reports: &Path, shown: &Path, id: &str) -> Result<Option<Value>> {
    let name = format!("runs/{id}.json");
    let again = chrono::NaiveDateTime::parse_from_str(id, "%Y%m%dT%H%M%SZ").map_or(String::new(), |at| {
        let now = at.format("%Y-%m-%dT%H:%M:%SZ");
        format!("; if it is the newest run, `pool-review review --now {now}` writes it again")
    });
    let todo = format!("restore it from version control{again}");
    let Some(value) = json(&reports.join(&name), &shown.join(&name), &todo)? else { return Ok(None) };
    if value["schema"] != RUN || value["run_id"] != id {
        let shown = shown.join(&name);
        return Err(anyhow!("{}:1: it is not the run file of {id} ({RUN}); {todo}", shown.display()));
    }
    Ok(Some(value))
}

/// The issue plan of the last run that made one; `None` when there is none.
pub(super) fn plan(reports: &Path, shown: &Path) -> Result<Option<Value>> {
    let name = "issues/plan.json";
    json(&reports.join(name), &shown.join(name), "delete it: the next review writes it again")
}

/// A JSON file; `None` when there is none. An error names file, line and column, and what to do.
fn json(path: &Path, shown: &Path, todo: &str) -> Result<Option<Value>> {
    let Some(bytes) = look(path)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        let (line, column, words) = (error.line().max(1), error.column(), error.to_string());
        let words = words.split(" at line ").next().unwrap_or_default().to_owned();
        anyhow!("{}:{line}:{column}: {words}: the file was cut or edited; {todo}", shown.display())
    })
}

//! Jobs of opencode-scheduler as consumers (reference `pools` §6). What runs is the frozen invocation; editing `run` alone
//! changes nothing, and where the two differ that is worth a remark.

use std::path::{Path, PathBuf};

use super::jsonc::{Cursor, Document};
use super::opencode::target_of_text;
use crate::vocabulary::{ConfigFile, Consumer, FleetConfig, Reject};

/// Most folders that are searched for jobs: a job folder is shallow, and a loop of links is not.
const MAX_FOLDERS: usize = 1_000;

/// The job of one file; a file that is no job gives nothing. An error is `path:line: reason`.
pub fn parse(file: &ConfigFile) -> Result<FleetConfig, String> {
    let document = Document::parse(file)?;
    let root = document.root();
    let mut config = FleetConfig::default();
    let Some(slug) = root.get("slug").and_then(|slug| slug.text().map(str::to_owned)) else { return Ok(config) };
    let run = root.get("run");
    let wanted = run.as_ref().and_then(|run| run.get("model"));
    let frozen = root.get("invocation").and_then(|invocation| invocation.get("args"));
    let frozen_model = frozen.as_ref().and_then(|args| model_argument(args));
    if let (Some(wanted), Some(frozen)) = (&wanted, &frozen_model)
        && wanted.text() != frozen.text()
    {
        let reason = format!("job {slug}: run.model was edited, but the frozen invocation still names another model");
        config.problems.push(Reject { place: wanted.place(), reason });
    }
    let named = if frozen.is_some() { frozen_model } else { wanted };
    let Some((at, text)) = named.as_ref().and_then(|at| Some((at, at.text()?))) else { return Ok(config) };
    let (target, own) = target_of_text(text);
    let variant = own.or_else(|| run.and_then(|run| run.get("variant")).and_then(|v| v.text().map(str::to_owned)));
    config.consumers.push(Consumer {
        id: format!("scheduler/{slug}"),
        target,
        variant,
        is_enabled: true,
        path: file.path.clone(),
        pointer: at.pointer().to_owned(),
        place: at.place(),
    });
    Ok(config)
}

/// What stands behind `--model` in a list of arguments.
fn model_argument<'d>(args: &Cursor<'d>) -> Option<Cursor<'d>> {
    let args = args.elements()?;
    let at = args.iter().position(|arg| matches!(arg.text(), Some("--model" | "-m")))?;
    args.into_iter().nth(at + 1)
}

/// The job files below a folder, sorted: `jobs/*.json`, or every `*.json` of a folder that has none. A file stands for itself.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let (mut own, mut jobs) = (Vec::new(), Vec::new());
    let mut folders = vec![path.to_owned()];
    for _ in 0..MAX_FOLDERS {
        let Some(folder) = folders.pop() else { break };
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let found = entry.path();
            let kind = entry.file_type().ok();
            if kind.is_some_and(|kind| kind.is_dir()) {
                folders.push(found);
            } else if found.extension().is_some_and(|extension| extension == "json") {
                let is_job = folder.file_name().is_some_and(|name| name == "jobs");
                if is_job {
                    jobs.push(found);
                } else if folder == path {
                    own.push(found);
                }
            }
        }
    }
    let mut files = if jobs.is_empty() { own } else { jobs };
    files.sort();
    files
}

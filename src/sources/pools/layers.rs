//! Every config file of the fleet, in layer order: what the router stacks, and the other files that name pools (reference `pools`
//! §1.8). Only the canonical file is fatal; of every other one that cannot be read the reason is kept.

use std::path::{Path, PathBuf};

use super::{ccr, litellm, omo, openchamber, opencode, overrides, read_config, scheduler};
use crate::settings::ConfigPaths;
use crate::vocabulary::{ConfigFile, FleetConfig, Layer, LayerState};

/// What a file is read as.
type Parse<'a> = &'a dyn Fn(&ConfigFile) -> Result<FleetConfig, String>;

/// The opencode layers, lowest first. The error is one line that names the canonical file, and the line where there is one.
pub fn opencode_layers(workspace: &Path, paths: &ConfigPaths) -> Result<FleetConfig, String> {
    let mut config = FleetConfig::default();
    for path in order(workspace, paths) {
        if path == paths.opencode {
            let file = read_config(&workspace.join(&path), &shown(&path))?;
            let parsed = opencode::parse(&file)?;
            config.stack(with_layer(&file, "canonical opencode config", parsed));
        } else {
            config.stack(optional(workspace, &path, "opencode layer", &opencode::parse));
        }
    }
    if let Some(path) = &paths.content {
        config.stack(optional(workspace, path, "content variable", &opencode::parse));
    }
    Ok(config)
}

/// The opencode files in layer order: what is listed, with the canonical file where it stands among them or above them; of every
/// file the twin in the other spelling as well, `.json` below `.jsonc`.
fn order(workspace: &Path, paths: &ConfigPaths) -> Vec<PathBuf> {
    let mut listed = paths.layers.clone();
    let holds_canonical = |path: &PathBuf| {
        *path == paths.opencode
            || workspace.join(path).is_dir() && paths.opencode.parent().is_some_and(|folder| folder == path)
    };
    if !listed.iter().any(holds_canonical) {
        listed.push(paths.opencode.clone());
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for path in &listed {
        for file in spellings(workspace, path, &paths.opencode) {
            let is_named = file == *path || file == paths.opencode;
            let exists = || workspace.join(&file).symlink_metadata().is_ok();
            if !files.contains(&file) && (is_named || exists() && !listed.contains(&file)) {
                files.push(file);
            }
        }
    }
    files
}

/// The files that a listed path stands for: both spellings of a folder's config, or of the file itself.
fn spellings(workspace: &Path, path: &Path, canonical: &Path) -> Vec<PathBuf> {
    if path != canonical && workspace.join(path).is_dir() {
        return vec![path.join("opencode.json"), path.join("opencode.jsonc")];
    }
    let is_json = path.extension().is_some_and(|extension| extension == "json" || extension == "jsonc");
    if is_json { vec![path.with_extension("json"), path.with_extension("jsonc")] } else { vec![path.to_owned()] }
}

/// Everything else that names pools. Categories are read apart: what needs them is blocked when they cannot be read.
pub fn other_files(workspace: &Path, paths: &ConfigPaths) -> FleetConfig {
    let mut config = FleetConfig::default();
    if let Some(path) = &paths.overrides {
        config.stack(optional(workspace, path, "route overrides", &overrides::parse));
    }
    for path in &paths.omo {
        config.stack(optional(workspace, path, "oh-my-openagent", &omo::parse));
    }
    if let Some(path) = &paths.litellm {
        config.stack(optional(workspace, path, "LiteLLM", &litellm::parse));
    }
    if let Some(path) = &paths.ccr {
        let has_store = workspace.join(path).with_file_name("config.sqlite").is_file();
        config.stack(optional(workspace, path, "claude-code-router", &|file| ccr::parse(file, has_store)));
    }
    if let Some(path) = &paths.scheduler {
        config.stack(jobs(workspace, path));
    }
    config
}

/// The jobs of the scheduler.
fn jobs(workspace: &Path, path: &Path) -> FleetConfig {
    let files = scheduler::files(&workspace.join(path));
    if files.is_empty() {
        return failed(&shown(path), "scheduler job", LayerState::Unreadable("no job file".to_owned()));
    }
    let mut config = FleetConfig::default();
    for file in files {
        let path = file.strip_prefix(workspace).unwrap_or(&file).to_owned();
        config.stack(optional(workspace, &path, "scheduler job", &scheduler::parse));
    }
    config
}

/// The categories. The error is one line; a file that is no `routing.json` is an error as well.
pub fn categories(workspace: &Path, path: &Path) -> Result<(ConfigFile, FleetConfig), String> {
    let file = read_config(&workspace.join(path), &shown(path))?;
    let parsed = openchamber::parse(&file)?;
    let config = with_layer(&file, "OpenChamber categories", parsed);
    Ok((file, config))
}

/// A file that may be missing or broken. One that cannot be read leaves what it says unknown; one that is no config is left out
/// by its own program as well.
fn optional(workspace: &Path, path: &Path, kind: &'static str, parse: Parse<'_>) -> FleetConfig {
    let display = shown(path);
    match read_config(&workspace.join(path), &display) {
        Err(reason) => failed(&display, kind, LayerState::Unreadable(reason)),
        Ok(file) => match parse(&file) {
            Err(reason) => failed(&display, kind, LayerState::Dropped(reason)),
            Ok(parsed) => with_layer(&file, kind, parsed),
        },
    }
}

/// A config that consists of a layer that gave nothing.
fn failed(path: &str, kind: &'static str, state: LayerState) -> FleetConfig {
    FleetConfig { layers: vec![Layer { path: path.to_owned(), kind, state }], ..FleetConfig::default() }
}

/// A config with its layer noted.
fn with_layer(file: &ConfigFile, kind: &'static str, mut config: FleetConfig) -> FleetConfig {
    config.layers = vec![Layer::read(&file.path, kind, file.digest(), &config)];
    config
}

/// A path as the operator wrote it, with `/` between parts.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

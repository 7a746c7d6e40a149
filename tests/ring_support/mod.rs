//! What the tests of rings share: settings, names and scratch folders.

#![expect(clippy::unwrap_used, reason = "a test that cannot build its input has failed")]

use std::path::{Path, PathBuf};

use pool_review::settings::Settings;
use pool_review::vocabulary::{ModelId, TargetRef};

/// The review instant of these tests: 2026-10-20, as in the handed examples.
pub(crate) const NOW_MS: i64 = 1_792_454_400_000;

/// Settings of some front matter. Without one of its own, `-plan` means nothing, so that the expansion alone is under test.
pub(crate) fn settings(front_matter: &str) -> Settings {
    let text = if front_matter.is_empty() { "policy: {plan_meaning: none}" } else { front_matter };
    Settings::parse(&format!("---\n{text}\n---\nOur policy.\n"), "settings.md").unwrap()
}

/// A canonical name: the last part in lower case, dots as dashes, as hosts of one model spell it.
#[expect(clippy::unnecessary_wraps, reason = "the shape that the ring's input asks for")]
pub(crate) fn canonical(target: &TargetRef) -> Option<ModelId> {
    let tail = target.model.rsplit('/').next().unwrap();
    Some(ModelId::new(tail.to_lowercase().replace('.', "-")))
}

/// An empty folder of this test run.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a file with its folders.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

//! A workspace of a test: a folder below the target folder, filled by the test.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a scratch folder of the test run; what cannot be made is a failed test"
)]

use std::path::{Path, PathBuf};

/// A workspace.
pub(crate) struct Scene {
    /// Its folder.
    pub(crate) root: PathBuf,
}

impl Scene {
    /// An empty workspace with a name of its own in this test file.
    pub(crate) fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(name);
        if root.exists() {
            std::fs::remove_dir_all(&root).unwrap();
        }
        std::fs::create_dir_all(&root).unwrap();
        Self { root: root.canonicalize().unwrap() }
    }

    /// The shipped demo.
    pub(crate) fn demo(name: &str) -> Self {
        let scene = Self::new(name);
        scene.copy("data", "data");
        scene.copy("instructions/pool-composition-review.md", "instructions/pool-composition-review.md");
        scene
    }

    /// Copies a file or folder of this repository (or an absolute path) into the workspace.
    pub(crate) fn copy(&self, from: &str, to: &str) {
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(from), &self.root.join(to));
    }
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
}

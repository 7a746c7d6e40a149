//! A scratch repository for the real `git apply`.

use std::path::{Path, PathBuf};
use std::process::Command;

use pool_review::vocabulary::ConfigFile;

/// A repository of its own that real git works in.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty repository with a name of its own.
    #[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let scratch = Self(folder);
        scratch.git(&["init", "--quiet"]);
        scratch
    }

    /// The text of the file after `git apply --check` and `git apply` of a diff, and its blob as git names it.
    #[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
    pub(crate) fn apply(&self, before: &ConfigFile, diff: &str) -> String {
        let target = self.0.join(&before.path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(&target, &before.text).unwrap();
        std::fs::write(self.0.join("change.patch"), diff).unwrap();
        assert_eq!(
            self.git(&["hash-object", "--no-filters", &before.path]).trim(),
            before.blob(),
            "git names the blob so"
        );
        self.git(&["apply", "--check", "change.patch"]);
        self.git(&["apply", "change.patch"]);
        std::fs::read_to_string(&target).unwrap()
    }

    /// Runs git and returns what it prints; a failure fails the test with git's words.
    fn git(&self, args: &[&str]) -> String {
        let ran = Command::new("git")
            .current_dir(&self.0)
            .args(["-c", "core.autocrlf=false", "-c", "apply.whitespace=nowarn"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }
}

//! Why a change cannot be written. Each text is a fragment that can follow "held: ".

use std::fmt;

/// Why a change or its proposal cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeError {
    /// The file is not JSONC, or not YAML.
    Unparsable {
        /// Path of the file.
        path: String,
        /// What is wrong, with line and column.
        reason: String,
    },
    /// A path that a patch cannot name.
    Path {
        /// The path.
        path: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A pointer that leads nowhere, or not to what the edit needs.
    Pointer {
        /// The pointer.
        pointer: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The edits leave the document as it is.
    NoEffect,
    /// An operation does not apply.
    Operation {
        /// Its path.
        path: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The text edit went wrong: its result is not what the operations say. Nothing may be proposed.
    Mismatch(String),
    /// The change, or what stands around it, holds what looks like a secret.
    Secret,
    /// The finding cannot be a proposal in the frozen shape.
    Unfit(String),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unparsable { path, reason } => write!(f, "{path}: {reason}"),
            Self::Path { path, reason } => write!(f, "path {path:?} {reason}"),
            Self::Pointer { pointer, reason } => write!(f, "pointer {pointer:?} {reason}"),
            Self::NoEffect => f.write_str("the edits leave the document as it is"),
            Self::Operation { path, reason } => write!(f, "operation on {path:?} {reason}"),
            Self::Mismatch(why) => write!(f, "patch and operations disagree: {why}"),
            Self::Secret => f.write_str(
                "a patch would show what looks like a secret: take it from the environment, or make the change by hand",
            ),
            Self::Unfit(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ChangeError {}

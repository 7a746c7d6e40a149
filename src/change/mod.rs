//! A change as RFC 6902 operations and as a comment-keeping patch, and the proposal that carries both.
//! Nothing here opens a file: text comes in, text goes out. Every result is parsed again before it is handed on.

mod conditions;
mod diff;
mod draft;
mod edits;
mod error;
mod evidence;
mod layout;
mod ops;
mod propose;
mod rebase;
mod secrets;
mod terms;
mod text;
mod tree;
mod trivia;
mod yaml;

pub use conditions::{Answer, Question};
pub use draft::Draft;
pub use error::ChangeError;
pub use ops::apply_ops;
pub use propose::{Identity, METHODS, ProposeContext, identity, propose, propose_test};
pub use rebase::rebased;

use serde_json::Value;

use crate::verdict::{Edit, Patch};
use crate::vocabulary::{ConfigFile, Digest};

/// A change of one file, worked out and checked: the operations and the patch lead to the same document.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// SHA-256 of the file before the change.
    pub digest_before: Digest,
    /// The file after the change.
    pub text: String,
    /// The parsed file before it, as far as the change reaches.
    pub document_before: Value,
    /// The parsed file after it, as far as the change reaches.
    pub document_after: Value,
    /// `test` operations on every value relied on, then the edits, in sequence.
    pub ops: Vec<Value>,
    /// The way back, in the same form, for the document after the change.
    pub rollback_ops: Vec<Value>,
    /// The change as git takes it.
    pub patch: Patch,
    /// The way back as git takes it.
    pub rollback_patch: Patch,
}

/// Works a change out: what `edits` make of `file`. Their pointers all speak of the file as it stands, whatever the
/// edits before them did. Whoever changes one file often reads it once, as a [`Draft`].
///
/// The text keeps every comment, blank line, indent, line end and trailing comma it need not touch. A comment on the line
/// of a member goes where the member goes; a comment on a line of its own stays where it stands.
///
/// A file named `.yaml` or `.yml` is YAML, any other JSONC.
///
/// Errors: a file that is neither, a path git could not take unquoted, a pointer that leads nowhere or to one of two
/// equal keys, an edit of something that an earlier one took away or that YAML shares with another place, a change without
/// effect, a secret on a line that the patch would show.
pub fn apply(file: &ConfigFile, edits: &[Edit]) -> Result<Applied, ChangeError> {
    Draft::read(file)?.apply(edits, "")
}

/// The parsed form of a file, comments and layout left out.
pub fn document(file: &ConfigFile) -> Result<Value, ChangeError> {
    Ok(parse(&file.path, &file.text)?.to_value())
}

/// Whether a file is YAML, by its name.
fn is_yaml(path: &str) -> bool {
    let ending = std::path::Path::new(path).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("yaml") || ending.eq_ignore_ascii_case("yml"))
}

/// The tree of a file in its language.
fn parse(path: &str, text: &str) -> Result<tree::Node, ChangeError> {
    if is_yaml(path) { yaml::parse(path, text) } else { tree::parse(path, text) }
}

//! A change as RFC 6902 operations and as a comment-keeping patch, and the proposal that carries both.
//! Nothing here opens a file: text comes in, text goes out. Every result is parsed again before it is handed on.

mod conditions;
mod diff;
mod edits;
mod error;
mod evidence;
mod layout;
mod ops;
mod propose;
mod terms;
mod text;
mod tree;
mod trivia;

pub use conditions::{Answer, Question};
pub use error::ChangeError;
pub use ops::apply_ops;
pub use propose::{Identity, METHODS, ProposeContext, identity, propose, propose_test};

use serde_json::Value;

use crate::verdict::{Edit, Patch};
use crate::vocabulary::ConfigFile;

/// A change of one file, worked out and checked: the operations and the patch lead to the same document.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The file before the change.
    pub text_before: String,
    /// The file after the change.
    pub text: String,
    /// The parsed file before it.
    pub document_before: Value,
    /// The parsed file after it.
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
/// edits before them did.
///
/// The text keeps every comment, blank line, indent, line end and trailing comma it need not touch. A comment on the line
/// of a member goes where the member goes; a comment on a line of its own stays where it stands.
///
/// Errors: a file that is not JSONC, a path git could not take unquoted, a pointer that leads nowhere or to one of two
/// equal keys, an edit of something that an earlier one took away, a change without effect.
pub fn apply(file: &ConfigFile, edits: &[Edit]) -> Result<Applied, ChangeError> {
    let mut tree = tree::parse(&file.path, &file.text)?;
    let document_before = tree.to_value();
    let script = edits::run(&mut tree, &document_before, edits)?;
    let text = layout::render(&file.text, &tree);
    let document_after = tree::parse(&file.path, &text)?.to_value();
    let ops = script.ops();
    let rollback_ops = script.rollback(&document_before, &tree)?;
    leads_to(&document_before, &ops, &document_after)?;
    leads_to(&document_after, &rollback_ops, &document_before)?;
    if document_before == document_after {
        return Err(ChangeError::NoEffect);
    }
    let patch = diff::patch(&file.path, &file.text, &text)?;
    let rollback_patch = diff::patch(&file.path, &text, &file.text)?;
    let text_before = file.text.clone();
    Ok(Applied { text_before, text, document_before, document_after, ops, rollback_ops, patch, rollback_patch })
}

/// The parsed form of a file, comments and layout left out.
pub fn document(file: &ConfigFile) -> Result<Value, ChangeError> {
    Ok(tree::parse(&file.path, &file.text)?.to_value())
}

/// Holds the operations against the text: both must lead to one document.
fn leads_to(from: &Value, ops: &[Value], to: &Value) -> Result<(), ChangeError> {
    match apply_ops(from, ops) {
        Ok(reached) if reached == *to => Ok(()),
        Ok(_) => Err(ChangeError::Mismatch("operations and patch lead to different documents".to_owned())),
        Err(why) => Err(ChangeError::Mismatch(why.to_string())),
    }
}

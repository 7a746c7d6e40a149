//! YAML files: the tree of their text, and the changed tree as text again. Comments, blank lines, anchors and quotes stay; only
//! lines that the change is about are touched, and what cannot be changed so is refused with the reason.

mod fresh;
mod layout;
mod parse;
mod scalar;

pub(super) use layout::{on_one_line, render};
pub(super) use parse::parse;

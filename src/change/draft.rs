//! A file that is read once and changed many times, each change by itself: what a change reaches is copied, everything else
//! stands in for itself by its bytes. So a change costs what it touches, not what the file holds.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::edits::{self, Script, head};
use super::ops::{apply_ops, escape, tokens};
use super::tree::Node;
use super::{Applied, ChangeError, diff, is_yaml, layout, parse, secrets, yaml};
use crate::verdict::Edit;
use crate::vocabulary::{ConfigFile, Digest, git_blob};

/// A parsed file with what every change of it needs.
#[derive(Debug)]
pub struct Draft {
    /// Path for messages and patches.
    pub(super) path: String,
    /// The text as it stands.
    text: String,
    /// Its tree.
    tree: Node,
    /// Its parsed form.
    document: Value,
    /// Its git object id.
    pub(super) blob: String,
    /// SHA-256 of the text.
    pub(super) digest: Digest,
}

/// The part of a file that a change reaches.
struct Reach {
    /// Tokens of the container that holds every change.
    tokens: Vec<String>,
    /// When the change only takes members out of that container, above what has to be shown whole: which. The others need not
    /// be copied.
    taken: Option<BTreeSet<String>>,
}

impl Draft {
    /// Reads a file. Errors: it is neither JSONC nor, by its name, YAML.
    pub fn read(file: &ConfigFile) -> Result<Self, ChangeError> {
        let tree = parse(&file.path, &file.text)?;
        let document = tree.to_value();
        let digest = Digest::of(file.text.as_bytes());
        Ok(Self { path: file.path.clone(), text: file.text.clone(), tree, document, blob: file.blob(), digest })
    }

    /// The parsed form of the file, comments and layout left out.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Works a change out, as [`super::apply`] does. The documents of the result hold what the change reaches and the subtree at
    /// the pointer `within`, in their places; all of the file when `within` is empty.
    pub fn apply(&self, edits: &[Edit], within: &str) -> Result<Applied, ChangeError> {
        let reach = self.reach(edits, within);
        let mut part = self.tree.reached(&reach.tokens, reach.taken.as_ref());
        let document_before = part.to_value();
        let script = edits::run(&mut part, &self.document, edits)?;
        let changed = part.below(&reach.tokens).expect("the copy holds the way to what is reached");
        let text = self.rendered(changed, &reach)?;
        let document_after = part.to_value();
        let (ops, rollback_ops) = both_ways(&script, &document_before, &document_after, &part)?;
        let (patch, rollback_patch) = diff::patches(&self.path, (&self.text, &self.blob), (&text, &git_blob(&text)))?;
        secrets::ensure_none(&patch.text, &ops)?;
        secrets::ensure_none(&rollback_patch.text, &rollback_ops)?;
        let digest_before = self.digest.clone();
        Ok(Applied { digest_before, text, document_before, document_after, ops, rollback_ops, patch, rollback_patch })
    }

    /// The file with a change in it, parsed again as far as it was written anew.
    fn rendered(&self, changed: &Node, reach: &Reach) -> Result<String, ChangeError> {
        if !is_yaml(&self.path) {
            let text = layout::render(&self.text, changed);
            self.ensure_sound(&text, changed, reach)?;
            return Ok(text);
        }
        let text = yaml::render(&self.text, changed)?;
        let read = parse(&self.path, &text).map_err(|why| mismatch(&format!("the result does not read: {why}")))?;
        if read.to_value() == changed.to_value() {
            Ok(text)
        } else {
            Err(mismatch("the text does not say what the change leads to"))
        }
    }

    /// The part that a change reaches: all of the file where that cannot be told, and of YAML, where one place may stand in another.
    fn reach(&self, edits: &[Edit], within: &str) -> Reach {
        let whole = || Reach { tokens: Vec::new(), taken: None };
        let Some(within) = tokens(within).filter(|_| !is_yaml(&self.path)) else { return whole() };
        let mut common = within.clone();
        for edit in edits {
            let Some(reached) = path_of(container_of(edit)) else { return whole() };
            let shared = common.iter().zip(&reached).take_while(|(a, b)| a == b).count();
            common.truncate(shared);
        }
        let Some(node) = self.tree.below(&common) else { return whole() };
        if node.slots().is_empty() {
            return whole();
        }
        let is_above = common.len() < within.len();
        let taken = taken_out(edits, &common).filter(|_| is_above && node.has_unique_keys());
        Reach { tokens: common, taken }
    }

    /// Holds the new text against the tree that it was written from: what was written anew is parsed again, what was not has
    /// not moved.
    fn ensure_sound(&self, text: &str, changed: &Node, reach: &Reach) -> Result<(), ChangeError> {
        let span = changed.span.clone().expect("what is reached stands in the text");
        let (window, expected) = match &reach.taken {
            None => (span, changed.to_value()),
            Some(taken) => self.junction(changed, &span, taken, &reach.tokens),
        };
        let is_kept = text.starts_with(&self.text[..window.start]) && text.ends_with(&self.text[window.end..]);
        let end = (text.len() + window.end).checked_sub(self.text.len()).filter(|end| is_kept && *end >= window.start);
        let end = end.ok_or_else(|| mismatch("the change moved text that it does not reach"))?;
        let written = &text[window.start..end];
        let found = if reach.taken.is_some() {
            parse(&self.path, &format!("{{{written}\n}}"))?.to_value()
        } else {
            parse(&self.path, written)?.to_value()
        };
        if found == expected { Ok(()) } else { Err(mismatch("the text does not say what the change leads to")) }
    }

    /// The stretch of a container around the members that are taken out of it, from the last member before to the first one
    /// behind, and the members that stay there.
    fn junction(
        &self,
        changed: &Node,
        span: &Range<usize>,
        taken: &BTreeSet<String>,
        path: &[String],
    ) -> (Range<usize>, Value) {
        let before = self.tree.below(path).expect("what is reached stands in the file");
        let gone = before.slots().iter().enumerate().filter(|(_, slot)| taken.contains(&slot.key)).map(|(at, _)| at);
        let (first, last) = (gone.clone().min().unwrap_or(0), gone.max().unwrap_or(0));
        let previous = first.checked_sub(1).map_or(span.start + 1, |at| before.members[at].start);
        let next = before.members.get(last + 1).map_or(span.end - 1, |member| member.end);
        let stays = |at: &usize| first.saturating_sub(1) <= *at && *at <= last + 1;
        let kept = changed.slots().iter().filter(|slot| slot.origin.as_ref().is_some_and(stays));
        let values = kept.filter_map(|slot| {
            let origin = before.slots().get(slot.origin?)?;
            Some((slot.key.clone(), origin.node.to_value()))
        });
        (previous..next, Value::Object(values.collect::<Map<_, _>>()))
    }
}

/// The operations of a change and those of the way back, each held against the documents.
fn both_ways(
    script: &Script,
    before: &Value,
    after: &Value,
    part: &Node,
) -> Result<(Vec<Value>, Vec<Value>), ChangeError> {
    let ops = script.ops();
    let rollback = script.rollback(before, part)?;
    leads_to(before, &ops, after)?;
    leads_to(after, &rollback, before)?;
    if before == after { Err(ChangeError::NoEffect) } else { Ok((ops, rollback)) }
}

/// Holds operations against a text's parsed form: both must lead to one document.
fn leads_to(from: &Value, ops: &[Value], to: &Value) -> Result<(), ChangeError> {
    match apply_ops(from, ops) {
        Ok(reached) if reached == *to => Ok(()),
        Ok(_) => Err(mismatch("operations and patch lead to different documents")),
        Err(why) => Err(ChangeError::Mismatch(why.to_string())),
    }
}

/// An error about a change that does not hold together.
fn mismatch(why: &str) -> ChangeError {
    ChangeError::Mismatch(why.to_owned())
}

/// The pointer of the container whose members an edit looks at or changes.
fn container_of(edit: &Edit) -> &str {
    match edit {
        Edit::Expect { pointer }
        | Edit::Remove { pointer }
        | Edit::Replace { pointer, .. }
        | Edit::ToFront { pointer }
        | Edit::Move { pointer, .. } => head(pointer),
        Edit::Append { array, .. } => array,
        Edit::Insert { object, .. } => object,
    }
}

/// The tokens of a pointer; none of the whole document.
fn path_of(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() { Some(Vec::new()) } else { tokens(pointer) }
}

/// The keys that edits take out of a container when they do nothing else.
fn taken_out(edits: &[Edit], container: &[String]) -> Option<BTreeSet<String>> {
    let pointer: String = container.iter().flat_map(|token| ["/".to_owned(), escape(token)]).collect();
    let key = |edit: &Edit| match edit {
        Edit::Remove { pointer: taken } if head(taken) == pointer => tokens(taken)?.pop(),
        _ => None,
    };
    edits.iter().map(key).collect()
}

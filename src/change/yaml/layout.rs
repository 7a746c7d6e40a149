//! The changed tree as YAML text. A block's members are whole lines: they go, come and move as such, while blank lines and comments
//! on lines of their own stay where they stand. A flow is written by the rules of JSONC, which it shares.

use std::ops::Range;

use serde_json::Value;

use super::fresh;
use super::scalar::{inline, property, written};
use crate::change::ChangeError;
use crate::change::layout::{flow, line_end, staying};
use crate::change::ops::escape;
use crate::change::tree::{Body, Form, MERGE, Node, Slot};

/// A stretch of the text and what takes its place.
type Splice = (Range<usize>, String);

/// The text of a tree, where `text` is what the untouched tree was read from. Refuses what no line-wise edit can say safely.
pub(in crate::change) fn render(text: &str, tree: &Node) -> Result<String, ChangeError> {
    let writer = Writer { text, line_end: line_end(text) };
    writer.ensure_free(tree, "")?;
    let mut splices = Vec::new();
    writer.node(tree, None, "", &mut splices)?;
    Ok(writer.spliced(0..text.len(), splices))
}

/// Writes nodes.
struct Writer<'a> {
    /// The original text.
    text: &'a str,
    /// How the file ends its lines.
    line_end: &'static str,
}

/// An error about a pointer.
fn refuse<T>(pointer: &str, reason: &'static str) -> Result<T, ChangeError> {
    Err(ChangeError::Pointer { pointer: pointer.to_owned(), reason })
}

/// The pointer of a member, as of its original place.
fn below(pointer: &str, slot: &Slot) -> String {
    match slot.origin {
        Some(index) if slot.key.is_empty() => format!("{pointer}/{index}"),
        _ => format!("{pointer}/{}", escape(&slot.key)),
    }
}

impl Writer<'_> {
    /// An error when something that changes stands for text elsewhere, or in a flow with more in it than values.
    fn ensure_free(&self, node: &Node, pointer: &str) -> Result<(), ChangeError> {
        if node.is_clean() || node.span.is_none() {
            return Ok(());
        }
        if let Some(reason) = node.fixed {
            return refuse(pointer, reason);
        }
        if node.form == Form::Flow && node.is_touched && !self.has_plain_gaps(node) {
            return refuse(pointer, "is a flow with comments or anchors in it");
        }
        let is_lost = |slot: &Slot| slot.key == MERGE && slot.node.is_touched;
        if node.slots().iter().any(is_lost) {
            return refuse(pointer, "takes keys from elsewhere, which a change of them would cut off");
        }
        node.slots().iter().try_for_each(|slot| self.ensure_free(&slot.node, &below(pointer, slot)))
    }

    /// Whether nothing but commas and white space stands between the members of a flow.
    fn has_plain_gaps(&self, node: &Node) -> bool {
        let Some(span) = &node.span else { return false };
        let mut from = span.start + 1;
        let ends = node.members.iter().map(|member| (member.start, member.end)).chain([(span.end - 1, span.end)]);
        for (start, end) in ends {
            let is_plain = self.text[from..start.max(from)].chars().all(|c| c == ',' || c.is_whitespace());
            if !is_plain || start < from {
                return false;
            }
            from = end;
        }
        true
    }

    /// What changes in a node. `owner` is where a value may stand that takes the place of an emptied block.
    fn node(&self, node: &Node, owner: Option<usize>, pointer: &str, out: &mut Vec<Splice>) -> Result<(), ChangeError> {
        let Some(span) = node.span.clone().filter(|_| !node.is_clean()) else { return Ok(()) };
        match (node.form, &node.body) {
            (Form::Block, Body::Whole(_)) => refuse(pointer, "is a block that one value cannot take the place of"),
            (Form::Block, _) if node.slots().is_empty() => self.emptied(node, owner, pointer, out),
            (Form::Block, _) if node.is_touched => self.block(node, pointer, out),
            (Form::Block, _) => self.members(node, pointer, out),
            (Form::Flow, _) => {
                out.push((span, flow(self.text, node)));
                Ok(())
            }
            (form, body) => {
                let value = match body {
                    Body::Whole(value) if !value.is_array() && !value.is_object() => written(value, form),
                    _ => inline(&node.to_value()),
                };
                match owner.filter(|_| span.is_empty()) {
                    Some(at) => out.push((at..at, format!(" {value}"))),
                    None if span.is_empty() => return refuse(pointer, "has no value to put another in the place of"),
                    None => out.push((span, value)),
                }
                Ok(())
            }
        }
    }

    /// What changes in the members of a block that keeps them all in their places.
    fn members(&self, block: &Node, pointer: &str, out: &mut Vec<Splice>) -> Result<(), ChangeError> {
        block.slots().iter().try_for_each(|slot| self.member(block, slot, pointer, out))
    }

    /// What changes in one member that stays.
    fn member(&self, block: &Node, slot: &Slot, pointer: &str, out: &mut Vec<Splice>) -> Result<(), ChangeError> {
        let Some(origin) = slot.origin else { return Ok(()) };
        let owner = self.owner(&block.members[origin], slot, matches!(block.body, Body::Array(_)));
        self.node(&slot.node, owner, &below(pointer, slot), out)
    }

    /// Right behind the dash or colon of a member whose value stands on later lines or nowhere.
    fn owner(&self, member: &Range<usize>, slot: &Slot, is_item: bool) -> Option<usize> {
        if is_item {
            return (member.end == member.start + 1).then_some(member.end);
        }
        let until = slot.node.span.as_ref().map_or(member.end, |span| span.start.max(member.end.min(span.start)));
        let first = self.text[member.start..until.max(member.start)].split(['\n', '\r']).next().unwrap_or_default();
        if slot.node.span.as_ref().is_some_and(Range::is_empty) {
            return Some(member.end);
        }
        let colons = first.match_indices(':').map(|(at, _)| at + 1);
        let is_last = |at: &usize| first[*at..].trim_start().is_empty() || first[*at..].trim_start().starts_with('#');
        colons.into_iter().find(is_last).map(|at| member.start + at)
    }

    /// A block that loses its last member: an empty flow takes its place on the line of its key.
    fn emptied(
        &self,
        block: &Node,
        owner: Option<usize>,
        pointer: &str,
        out: &mut Vec<Splice>,
    ) -> Result<(), ChangeError> {
        let Some(at) = owner else { return refuse(pointer, "would leave nothing where a value must stand") };
        let empty = if matches!(block.body, Body::Array(_)) { " []" } else { " {}" };
        out.push((at..at, empty.to_owned()));
        for index in 0..block.members.len() {
            out.push((self.own_lines(block, index, pointer)?, String::new()));
        }
        Ok(())
    }

    /// A block whose members go, come or move.
    fn block(&self, block: &Node, pointer: &str, out: &mut Vec<Splice>) -> Result<(), ChangeError> {
        let slots = block.slots();
        let stays = staying(slots);
        let kept = |index: usize| slots.iter().zip(&stays).any(|(slot, stays)| *stays && slot.origin == Some(index));
        let is_inline = self.shares_line(block, 0);
        let drops_head = is_inline && !kept(0);
        if drops_head {
            self.drop_head(block, &stays, pointer, out)?;
        }
        let is_dropped = |index: usize| drops_head && index == 0;
        for index in (0..block.members.len()).filter(|index| !kept(*index) && !is_dropped(*index)) {
            out.push((self.own_lines(block, index, pointer)?, String::new()));
        }
        let mut at = (!is_inline).then(|| self.line_start(block.members[0].start));
        for (slot, stays) in slots.iter().zip(&stays) {
            if let Some(origin) = slot.origin.filter(|_| *stays) {
                self.member(block, slot, pointer, out)?;
                at = Some(self.line_after(block.members[origin].end));
            } else {
                let Some(at) = at else { return refuse(pointer, "begins on a line that it shares") };
                let text = self.newcomer(block, slot, pointer)?;
                out.push((at..at, self.on_lines_of_its_own(at, &text)));
            }
        }
        Ok(())
    }

    /// Takes out the first member of a block that begins behind a dash: the next one that stays moves up to the dash.
    fn drop_head(&self, block: &Node, stays: &[bool], pointer: &str, out: &mut Vec<Splice>) -> Result<(), ChangeError> {
        let next = block.slots().first().zip(stays.first()).and_then(|(slot, stays)| slot.origin.filter(|_| *stays));
        let is_gone = |index| block.slots().iter().all(|slot| slot.origin != Some(index));
        match next {
            Some(1) if is_gone(0) => {
                let (head, next) = (block.members[0].clone(), block.members[1].start);
                let between = &self.text[head.end..next];
                if between.trim_start_matches([' ', '\t']).trim_start_matches(['\r', '\n']).contains('#') {
                    return refuse(pointer, "has comments between its first line and the next");
                }
                out.push((head.start..next, String::new()));
                Ok(())
            }
            _ => refuse(pointer, "begins on a line that it shares"),
        }
    }

    /// The text of a member that is new or moved here, without the line end behind it.
    fn newcomer(&self, block: &Node, slot: &Slot, pointer: &str) -> Result<String, ChangeError> {
        if let Some(origin) = slot.origin {
            let mut inner = Vec::new();
            self.member(block, slot, pointer, &mut inner)?;
            let lines = self.own_lines(block, origin, pointer)?;
            return Ok(self.spliced(lines, inner).trim_end_matches(['\r', '\n']).to_owned());
        }
        let indent = " ".repeat(fresh::column(self.text, block));
        let value = slot.node.to_value();
        let lines = match &block.body {
            Body::Array(_) => fresh::item(self.text, &value, block),
            _ => vec![property(&slot.key, &value)],
        };
        Ok(lines.iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join(self.line_end))
    }

    /// Text for a place at the start of a line, or at the end of a file whose last line has no end.
    fn on_lines_of_its_own(&self, at: usize, text: &str) -> String {
        let ends_line = at == 0 || self.text[..at].ends_with('\n');
        if ends_line { format!("{text}{}", self.line_end) } else { format!("{}{text}", self.line_end) }
    }

    /// The lines of a member. An error when it shares them with what is not its own.
    fn own_lines(&self, block: &Node, index: usize, pointer: &str) -> Result<Range<usize>, ChangeError> {
        if self.shares_line(block, index) {
            return refuse(pointer, "begins on a line that it shares");
        }
        let member = &block.members[index];
        Ok(self.line_start(member.start)..self.line_after(member.end))
    }

    /// Whether something else stands before a member on its line.
    fn shares_line(&self, block: &Node, index: usize) -> bool {
        let start = block.members[index].start;
        !self.text[self.line_start(start)..start].trim_start_matches('\u{feff}').trim().is_empty()
    }

    /// Where the line of a byte begins; a byte order mark stands before the first.
    fn line_start(&self, at: usize) -> usize {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        if self.text[start..].starts_with('\u{feff}') { start + '\u{feff}'.len_utf8() } else { start }
    }

    /// Where the line after that of a byte begins.
    fn line_after(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |end| at + end + 1)
    }

    /// A stretch of the text with its changes.
    fn spliced(&self, range: Range<usize>, mut splices: Vec<Splice>) -> String {
        splices.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::new();
        let mut at = range.start;
        for (place, new) in splices {
            out.push_str(&self.text[at..place.start.max(at)]);
            out.push_str(&new);
            at = place.end.max(at);
        }
        out.push_str(&self.text[at..range.end]);
        out
    }
}

/// A value on one line, for flows.
pub(in crate::change) fn on_one_line(value: &Value, form: Form) -> String {
    if value.is_array() || value.is_object() { inline(value) } else { written(value, form) }
}

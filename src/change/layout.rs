//! The changed tree as text. Between the members of a container stand gaps: line ends, indents and comments on lines of
//! their own, which belong to the place; comments on the line of a member belong to the member. Members move, gaps stay.

use std::ops::Range;

use serde_json::Value;

use super::tree::{Body, Form, Node, Slot};
use super::trivia::{Gap, Piece, ends_in_line_comment, own_lines, split_after, split_before};
use super::yaml::on_one_line;

/// The text of a tree, where `text` is what the untouched tree was read from.
pub(super) fn render(text: &str, tree: &Node) -> String {
    let Some(span) = tree.span.clone() else { return inline(&tree.to_value()) };
    let writer = Writer { text, line_end: line_end(text), unit: indent_unit(text) };
    format!("{}{}{}", &text[..span.start], writer.node(tree), &text[span.end..])
}

/// The text of a YAML flow that was changed.
pub(super) fn flow(text: &str, node: &Node) -> String {
    Writer { text, line_end: line_end(text), unit: indent_unit(text) }.node(node)
}

/// How the file ends its lines: as it ends the first.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// One step of indent: that of the first indented line, two spaces if there is none.
fn indent_unit(text: &str) -> String {
    let indents = text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    indents.into_iter().find(|indent| !indent.is_empty()).unwrap_or("  ").to_owned()
}

/// A value on one line: spaces inside braces, none inside brackets.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let members: Vec<String> = members.iter().map(|(key, value)| property(key, value)).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", ")),
        _ => value.to_string(),
    }
}

/// A property on one line.
fn property(key: &str, value: &Value) -> String {
    format!("{}: {}", Value::from(key), inline(value))
}

/// A new member of a container, as the file's language writes it.
fn fresh(container: &Node, slot: &Slot) -> String {
    let value = slot.node.to_value();
    match (matches!(container.body, Body::Object(_)), container.form) {
        (true, Form::Json) => property(&slot.key, &value),
        (false, Form::Json) => inline(&value),
        (true, _) => format!(
            "{}: {}",
            on_one_line(&Value::from(slot.key.as_str()), Form::Plain),
            on_one_line(&value, Form::Plain)
        ),
        (false, _) => on_one_line(&value, Form::Plain),
    }
}

/// What stands around the members of a container.
struct Layout {
    /// Before each member and before the closing bracket: one more than there are members.
    gaps: Vec<Gap>,
    /// Around each member.
    pieces: Vec<Piece>,
}

/// A position in a container that is being rearranged.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// The original member of this index stays.
    Stays(usize),
    /// A new member, or one that moved here.
    New,
    /// The member went or moved away; comments on lines of their own that it leaves behind.
    Left(String),
}

/// Writes nodes, taking from the original text what still holds.
struct Writer<'a> {
    /// The original text.
    text: &'a str,
    /// How the file ends its lines.
    line_end: &'static str,
    /// One step of indent.
    unit: String,
}

impl Writer<'_> {
    /// The text of a value.
    fn node(&self, node: &Node) -> String {
        match (&node.span, &node.body) {
            (Some(span), _) if node.is_clean() => self.text[span.clone()].to_owned(),
            (Some(span), Body::Array(slots) | Body::Object(slots)) => self.container(node, span, slots),
            _ if node.form == Form::Json => inline(&node.to_value()),
            _ => on_one_line(&node.to_value(), node.form),
        }
    }

    /// The text of a changed container.
    fn container(&self, node: &Node, span: &Range<usize>, slots: &[Slot]) -> String {
        let Layout { gaps, pieces } = self.layout(span, &node.members);
        let base = self.indent_at(span.start);
        let gaps = self.arranged(gaps, &pieces, slots, base, matches!(node.body, Body::Object(_)));
        let mut out = format!("{}{}", &self.text[span.start..=span.start], gaps[0].text());
        let ends_with_comma = pieces.last().is_some_and(|last| last.has_comma);
        for (at, slot) in slots.iter().enumerate() {
            let piece = slot.origin.map(|index| pieces[index].clone()).unwrap_or_default();
            let has_comma = at + 1 < slots.len() || ends_with_comma;
            let gap = &gaps[at + 1];
            let (before, after) = piece.around(has_comma, gap.has_line_end());
            out.push_str(before);
            out.push_str(&self.member(node, slot));
            out.push_str(&after);
            if ends_in_line_comment(&after) && !gap.has_line_end() {
                out.push_str(self.line_end);
                out.push_str(base);
            }
            out.push_str(&gap.text());
        }
        out.push_str(&self.text[span.end - 1..span.end]);
        out
    }

    /// The text of a member, without what stands around it.
    fn member(&self, container: &Node, slot: &Slot) -> String {
        match (slot.origin, &slot.node.span) {
            (Some(index), Some(value)) => {
                format!("{}{}", &self.text[container.members[index].start..value.start], self.node(&slot.node))
            }
            _ => fresh(container, slot),
        }
    }

    /// Reads what stands around the members of a container.
    fn layout(&self, span: &Range<usize>, members: &[Range<usize>]) -> Layout {
        let (open, close) = (span.start + 1, span.end - 1);
        let Some(first) = members.first() else {
            return Layout { gaps: vec![Gap::all(&self.text[open..close])], pieces: Vec::new() };
        };
        let (gap, mut lead) = split_before(&self.text[open..first.start]);
        let (mut gaps, mut pieces) = (vec![gap], Vec::with_capacity(members.len()));
        for (index, member) in members.iter().enumerate() {
            let next = members.get(index + 1);
            let after = &self.text[member.end..next.map_or(close, |next| next.start)];
            let (piece, gap, next_lead) = split_after(lead, after, next.is_none());
            pieces.push(piece);
            gaps.push(gap);
            lead = next_lead;
        }
        Layout { gaps, pieces }
    }

    /// The indent of the line that a byte stands on.
    fn indent_at(&self, at: usize) -> &str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let rest = &self.text[line..at];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }

    /// The gaps of the container as it is to be: room made for members that are new or move, closed up behind those that
    /// went or moved. A newcomer stands right behind its predecessor, before any comment on a line of its own.
    fn arranged(&self, mut gaps: Vec<Gap>, pieces: &[Piece], slots: &[Slot], base: &str, is_object: bool) -> Vec<Gap> {
        let stays = staying(slots);
        let mut row = row(pieces, slots, &stays);
        let mut models = self.models(&gaps);
        let mut at = 0;
        for (slot, stays) in slots.iter().zip(&stays) {
            if let Some(origin) = slot.origin.filter(|_| *stays) {
                let place = row[at..].iter().position(|place| *place == Place::Stays(origin));
                at = place.map_or(at, |place| at + place + 1);
                continue;
            }
            if gaps.len() == 1 {
                gaps = self.opened(&gaps[0], base, is_object);
                models = self.models(&gaps);
            } else {
                self.make_room(&mut gaps, at, &models);
            }
            row.insert(at, Place::New);
            at += 1;
        }
        for (index, place) in row.iter().enumerate().rev() {
            if let Place::Left(stranded) = place {
                self.close_up(&mut gaps, index, stranded, base);
            }
        }
        gaps
    }

    /// What separates a newcomer from the first member, and from the last.
    fn models(&self, gaps: &[Gap]) -> (Gap, Gap) {
        let like = |gap: &Gap| match (gap.has_line_end(), gaps.len()) {
            (true, _) => Gap::line(self.line_end, &gap.indent),
            (false, 0..=2) => Gap::space(" "),
            (false, _) => Gap::space(&gap.open),
        };
        (like(&gaps[usize::from(gaps.len() > 2)]), like(&gaps[gaps.len().saturating_sub(2)]))
    }

    /// Makes room before the member that stands at a position now.
    fn make_room(&self, gaps: &mut Vec<Gap>, at: usize, models: &(Gap, Gap)) {
        let gap = gaps[at].clone();
        if at + 1 == gaps.len() {
            gaps.insert(at, models.1.clone());
        } else if gap.has_line_end() {
            let next = Gap { open: self.line_end.to_owned(), ..gap.clone() };
            gaps[at] = Gap { lines: String::new(), ..gap };
            gaps.insert(at + 1, next);
        } else {
            gaps.insert(at + 1, if at == 0 { models.0.clone() } else { gap });
        }
    }

    /// The gaps around the first member of a container that was empty.
    fn opened(&self, only: &Gap, base: &str, is_object: bool) -> Vec<Gap> {
        let pad = Gap::space(if is_object { " " } else { "" });
        if only.has_line_end() {
            let first = Gap { indent: format!("{base}{}", self.unit), ..only.clone() };
            vec![first, Gap::line(self.line_end, &only.indent)]
        } else if only.is_blank() {
            vec![pad.clone(), pad]
        } else {
            vec![Gap::space(&format!("{} ", only.open.trim_end())), pad]
        }
    }

    /// Joins the gaps on both sides of a member that went away. Comments on lines of their own stay, `stranded` ones too.
    fn close_up(&self, gaps: &mut Vec<Gap>, index: usize, stranded: &str, base: &str) {
        let (is_first, is_last) = (index == 0, index + 2 == gaps.len());
        let (left, right) = (gaps[index].clone(), gaps.remove(index + 1));
        let lines = format!("{}{stranded}{}", left.lines, right.lines);
        gaps[index] = match (left.has_line_end(), right.has_line_end()) {
            _ if is_first && is_last && left.is_blank() && right.is_blank() && lines.is_empty() => Gap::space(""),
            (true, true) => Gap { lines, indent: right.indent, ..left },
            (true, false) if is_last && lines.is_empty() && !is_first => right,
            (true, false) if is_last => Gap { lines, indent: base.to_owned(), ..left },
            (true, false) => Gap { lines, ..left },
            (false, true) if is_first && lines.is_empty() => left,
            (false, true) => Gap { lines, ..right },
            (false, false) if !lines.is_empty() => Gap { open: self.line_end.to_owned(), lines, indent: right.open },
            (false, false) if is_last => right,
            (false, false) => left,
        };
    }
}

/// The original members of a container, each staying or leaving its place.
fn row(pieces: &[Piece], slots: &[Slot], stays: &[bool]) -> Vec<Place> {
    let mut places: Vec<Option<usize>> = vec![None; pieces.len()];
    for (at, slot) in slots.iter().enumerate() {
        if let Some(place) = slot.origin.and_then(|origin| places.get_mut(origin)) {
            place.get_or_insert(at);
        }
    }
    let place = |(index, piece): (usize, &Piece)| match places[index] {
        Some(at) if stays[at] => Place::Stays(index),
        Some(_) => Place::Left(String::new()),
        None => Place::Left(own_lines(&piece.pre)),
    };
    pieces.iter().enumerate().map(place).collect()
}

/// Which members stay while the others move: as many as possible, the earlier originals where there is a choice.
pub(super) fn staying(slots: &[Slot]) -> Vec<bool> {
    let origins: Vec<Option<usize>> = slots.iter().map(|slot| slot.origin).collect();
    if origins.iter().flatten().is_sorted_by(|a, b| a < b) {
        return origins.iter().map(Option::is_some).collect();
    }
    let mut runs = vec![0; origins.len()];
    for at in (0..origins.len()).rev() {
        let later = (at + 1..origins.len()).filter(|&next| origins[next] > origins[at]);
        runs[at] = if origins[at].is_some() { 1 + later.map(|next| runs[next]).max().unwrap_or(0) } else { 0 };
    }
    let mut stays = vec![false; origins.len()];
    let (mut from, mut wanted, mut above) = (0, runs.iter().copied().max().unwrap_or(0), None);
    while wanted > 0 {
        let fits = (from..origins.len()).filter(|&at| runs[at] == wanted && origins[at] > above);
        let Some(at) = fits.min_by_key(|&at| origins[at]) else { break };
        stays[at] = true;
        (from, wanted, above) = (at + 1, wanted - 1, origins[at]);
    }
    stays
}

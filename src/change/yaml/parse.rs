//! YAML text to the tree that edits work on. Every part keeps its bytes; what stands for something elsewhere (an anchor that is
//! used, an alias, a tag) is marked, so that no edit reaches through it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, Tag};

use super::scalar::meaning;
use crate::change::ChangeError;
use crate::change::tree::{Body, Form, Node, Slot};

/// Most values that a document may hold once its aliases are written out.
const MAX_NODES: usize = 200_000;

/// Why a part may not be changed: an alias stands for text elsewhere.
const ALIAS: &str = "stands behind an alias";
/// Why a part may not be changed: other places take their value from it.
const ANCHOR: &str = "is an anchor that other places use";
/// Why a part may not be changed: its tag says how it is to be read.
const TAG: &str = "has a tag";

/// The tree of a file. A byte order mark is stepped over. Errors name the path and, where the parser tells it, the line.
pub(in crate::change) fn parse(path: &str, text: &str) -> Result<Node, ChangeError> {
    let offset = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let unparsable = |reason: String| ChangeError::Unparsable { path: path.to_owned(), reason };
    let mut events = Vec::new();
    for event in Parser::new_from_str(&text[offset..]) {
        let (event, span) = event.map_err(|error| unparsable(error.to_string()))?;
        if !matches!(event, Event::Comment(..)) {
            events.push((event, bytes(span, offset)));
        }
    }
    if events.iter().filter(|(event, _)| matches!(event, Event::DocumentStart(..))).count() != 1 {
        return Err(unparsable("holds no document, or more than one".to_owned()));
    }
    let used = events.iter().filter_map(|(event, _)| event.alias_id()).collect();
    let mut reader =
        Reader { text, events: events.into_iter(), used, anchors: BTreeMap::new(), nodes: 0, behind: None };
    reader.skip_to_document();
    reader.node().map_err(unparsable)
}

/// Bytes of a span in the whole text.
fn bytes(span: Span, offset: usize) -> Range<usize> {
    span.byte_range().map_or(offset..offset, |range| range.start + offset..range.end + offset)
}

/// Reads events into nodes.
struct Reader<'a> {
    /// The text.
    text: &'a str,
    /// Events without comments.
    events: std::vec::IntoIter<(Event<'a>, Range<usize>)>,
    /// Anchors that an alias names.
    used: Vec<usize>,
    /// Anchor → its node.
    anchors: BTreeMap<usize, Node>,
    /// Nodes made so far.
    nodes: usize,
    /// Right behind the colon or dash that the next value belongs to.
    behind: Option<usize>,
}

impl<'a> Reader<'a> {
    /// Steps over the beginning of stream and document.
    fn skip_to_document(&mut self) {
        for (event, _) in self.events.by_ref() {
            if matches!(event, Event::DocumentStart(..)) {
                return;
            }
        }
    }

    /// The next event.
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), String> {
        self.events.next().ok_or_else(|| "ends in the middle of a value".to_owned())
    }

    /// The next value.
    fn node(&mut self) -> Result<Node, String> {
        let (event, span) = self.next()?;
        self.node_of(event, span)
    }

    /// The value that an event begins.
    fn node_of(&mut self, event: Event<'a>, span: Range<usize>) -> Result<Node, String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err("holds too many values once its aliases are written out".to_owned());
        }
        let (node, anchor, tag) = match event {
            Event::Alias(id) => return self.alias(id, span),
            Event::Scalar(text, style, anchor, tag) => {
                (scalar(self.text, &text, style, span, tag.is_some()), anchor, tag)
            }
            Event::SequenceStart(style, anchor, tag) => (self.sequence(style, span)?, anchor, tag),
            Event::MappingStart(style, anchor, tag) => (self.mapping(style, span)?, anchor, tag),
            _ => return Err("holds no value where one is due".to_owned()),
        };
        Ok(self.marked(node, anchor, tag))
    }

    /// A node with what its properties forbid.
    fn marked(&mut self, mut node: Node, anchor: usize, tag: Option<Cow<'_, Tag>>) -> Node {
        node.fixed = node.fixed.or(tag.map(|_| TAG));
        if anchor > 0 && self.used.contains(&anchor) {
            node.fixed = Some(ANCHOR);
            self.anchors.insert(anchor, node.clone());
        }
        node
    }

    /// What an alias stands for, at the alias's own place.
    fn alias(&mut self, id: usize, span: Range<usize>) -> Result<Node, String> {
        let known = self.anchors.get(&id).ok_or("has an alias inside of what it stands for")?;
        self.nodes += count(known);
        if self.nodes > MAX_NODES {
            return Err("holds too many values once its aliases are written out".to_owned());
        }
        Ok(Node { span: Some(span), members: known.members.clone(), fixed: Some(ALIAS), ..known.clone() })
    }

    /// A list.
    fn sequence(&mut self, style: StructureStyle, start: Range<usize>) -> Result<Node, String> {
        let is_flow = style == StructureStyle::Flow;
        let (mut slots, mut members) = (Vec::new(), Vec::new());
        // The parser tells where a list begins, unless its dashes stand no deeper than the key above.
        let mut end = self.behind.take().map_or(start.start, |behind| after_properties(self.text, behind));
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(container(Body::Array(slots), is_flow, start, span, members));
            }
            let dash = if is_flow { None } else { Some(self.dash(end)?) };
            self.behind = dash.map(|dash| dash + 1);
            let node = self.node_of(event, span.clone())?;
            let value = node.span.clone().unwrap_or(span);
            let member = match dash {
                Some(dash) => dash..value.end.max(dash + 1),
                None => value,
            };
            end = member.end;
            slots.push(Slot { origin: Some(slots.len()), key: String::new(), node });
            members.push(member);
        }
    }

    /// Where the dash of the next item stands.
    fn dash(&self, from: usize) -> Result<usize, String> {
        let at = after_trivia(self.text, from);
        if self.text[at..].starts_with('-') {
            Ok(at)
        } else {
            Err("has a list whose items cannot be told apart".to_owned())
        }
    }

    /// A group of keys.
    fn mapping(&mut self, style: StructureStyle, start: Range<usize>) -> Result<Node, String> {
        let is_flow = style == StructureStyle::Flow;
        self.behind = None;
        let (mut slots, mut members) = (Vec::new(), Vec::new());
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(container(Body::Object(slots), is_flow, start, span, members));
            }
            let Event::Scalar(key, ..) = event else { return Err("has a key that is no plain text".to_owned()) };
            let colon = self.colon(span.end);
            self.behind = Some(colon);
            let node = self.node()?;
            let end = node.span.clone().map_or(colon, |value| if value.is_empty() { colon } else { value.end });
            members.push(span.start..end);
            slots.push(Slot { origin: Some(slots.len()), key: key.into_owned(), node });
        }
    }

    /// Right behind the colon of a key, or the key's end where there is none.
    fn colon(&self, key_end: usize) -> usize {
        let rest = &self.text[key_end..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if rest[blank..].starts_with(':') { key_end + blank + 1 } else { key_end }
    }
}

/// The values a node holds, itself included.
fn count(node: &Node) -> usize {
    1 + node.slots().iter().map(|slot| count(&slot.node)).sum::<usize>()
}

/// A single value. One that is written over several lines keeps its end without the line ends that follow it.
fn scalar(text: &str, value: &str, style: ScalarStyle, span: Range<usize>, has_tag: bool) -> Node {
    let form = match style {
        ScalarStyle::Plain => Form::Plain,
        ScalarStyle::SingleQuoted => Form::Single,
        ScalarStyle::DoubleQuoted => Form::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => Form::Lines,
    };
    let is_read = form == Form::Plain && !has_tag;
    let value = if is_read && span.is_empty() {
        serde_json::Value::Null
    } else if is_read {
        meaning(value)
    } else {
        value.into()
    };
    let end = if form == Form::Lines { span.start + text[span.clone()].trim_end().len() } else { span.end };
    let fixed = (form == Form::Lines).then_some("is a block of text");
    Node { form, fixed, ..Node::read(Body::Whole(value), span.start..end, Vec::new()) }
}

/// A container.
fn container(body: Body, is_flow: bool, start: Range<usize>, end: Range<usize>, members: Vec<Range<usize>>) -> Node {
    let (span, form) = if is_flow {
        (start.start..end.end, Form::Flow)
    } else {
        let first = members.first().map_or(start.start, |first| first.start);
        (first..members.last().map_or(first, |last| last.end), Form::Block)
    };
    Node { form, ..Node::read(body, span, members) }
}

/// The first byte behind the anchor and the tag of a value.
fn after_properties(text: &str, from: usize) -> usize {
    let mut at = after_trivia(text, from);
    while text[at..].starts_with(['&', '!']) {
        let end = text[at..].find(char::is_whitespace).unwrap_or(text.len() - at);
        at = after_trivia(text, at + end);
    }
    at
}

/// The first byte that is neither white space nor comment.
fn after_trivia(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        at += rest.len() - trimmed.len();
        if !trimmed.starts_with('#') {
            return at;
        }
        at += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}

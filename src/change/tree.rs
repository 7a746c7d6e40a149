//! A document as a tree that remembers where each part stood in the text, so that edits can be told from what they leave
//! alone. JSONC is read here, YAML in its own module.

use std::collections::BTreeSet;
use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::ChangeError;

/// A value of the document.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Bytes of the value in the original text; `None` for a new value.
    pub(super) span: Option<Range<usize>>,
    /// Bytes of each original member of a container, key included, in text order.
    pub(super) members: Vec<Range<usize>>,
    /// What it holds now.
    pub(super) body: Body,
    /// Whether its own scalar or its list of members differs from the original.
    pub(super) is_touched: bool,
    /// How it is written.
    pub(super) form: Form,
    /// Why it may not be changed, if it may not.
    pub(super) fixed: Option<&'static str>,
}

/// The key under which YAML takes the keys of another group in.
pub(super) const MERGE: &str = "<<";

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As JSONC.
    Json,
    /// YAML between brackets or braces.
    Flow,
    /// YAML on lines of its own.
    Block,
    /// YAML without quotes.
    Plain,
    /// YAML in single quotes.
    Single,
    /// YAML in double quotes.
    Double,
    /// YAML text over several lines, behind `|` or `>`.
    Lines,
}

/// What a value holds.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// A scalar, or a new value of any kind.
    Whole(Value),
    /// Elements.
    Array(Vec<Slot>),
    /// Properties.
    Object(Vec<Slot>),
    /// A value of the text that no edit reaches and that was not copied.
    Elsewhere,
}

/// A member of a container.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// Its index among the original members; `None` for a new member.
    pub(super) origin: Option<usize>,
    /// Its key; empty in an array.
    pub(super) key: String,
    /// Its value.
    pub(super) node: Node,
}

impl Node {
    /// A value that is not in the text yet.
    pub(super) fn fresh(value: Value) -> Self {
        Self { span: None, is_touched: true, ..Self::read(Body::Whole(value), 0..0, Vec::new()) }
    }

    /// A value as the text has it, in the form of JSONC.
    pub(super) fn read(body: Body, span: Range<usize>, members: Vec<Range<usize>>) -> Self {
        Self { span: Some(span), members, body, is_touched: false, form: Form::Json, fixed: None }
    }

    /// Whether the original text of the value still says what it holds.
    pub(super) fn is_clean(&self) -> bool {
        !self.is_touched && self.slots().iter().all(|slot| slot.node.is_clean())
    }

    /// The members of a container; none of anything else.
    pub(super) fn slots(&self) -> &[Slot] {
        match &self.body {
            Body::Whole(_) | Body::Elsewhere => &[],
            Body::Array(slots) | Body::Object(slots) => slots,
        }
    }

    /// The members of a container, to be changed.
    pub(super) fn slots_mut(&mut self) -> Option<&mut Vec<Slot>> {
        match &mut self.body {
            Body::Whole(_) | Body::Elsewhere => None,
            Body::Array(slots) | Body::Object(slots) => Some(slots),
        }
    }

    /// The value as plain JSON. Of two equal keys the last one counts, as for the router. Keys that YAML takes in from another
    /// group stand behind its own. Members that were not copied are left out of an object and stand as null in an array.
    pub(super) fn to_value(&self) -> Value {
        match &self.body {
            Body::Whole(value) => value.clone(),
            Body::Elsewhere => Value::Null,
            Body::Array(slots) => slots.iter().map(|slot| slot.node.to_value()).collect(),
            Body::Object(slots) => {
                let is_own = |slot: &&Slot| self.form == Form::Json || slot.taken_in().is_empty();
                let copied = || slots.iter().filter(|slot| !matches!(slot.node.body, Body::Elsewhere));
                let own = copied().filter(is_own).map(|slot| (slot.key.clone(), slot.node.to_value()));
                let mut members: Map<String, Value> = own.collect();
                for (key, value) in copied().filter(|slot| !is_own(slot)).flat_map(Slot::taken_in).flatten() {
                    members.entry(key).or_insert(value);
                }
                Value::Object(members)
            }
        }
    }

    /// Whether no key stands twice.
    pub(super) fn has_unique_keys(&self) -> bool {
        let keys: BTreeSet<&str> = self.slots().iter().map(|slot| slot.key.as_str()).collect();
        matches!(self.body, Body::Object(_)) && keys.len() == self.slots().len()
    }

    /// The value at the end of a path of keys and indices; `None` where it leads nowhere or to one of two equal keys.
    pub(super) fn below(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |node, token| {
            let mut found = node.on_path(token);
            found.next().filter(|_| found.next().is_none())
        })
    }

    /// The members that a token of a pointer may mean.
    fn on_path<'a, 't>(&'a self, token: &'t str) -> impl Iterator<Item = &'a Self> + use<'a, 't> {
        let is_array = matches!(self.body, Body::Array(_));
        let index = token.parse::<usize>().ok().filter(|index| is_array && index.to_string() == token);
        let is_it =
            move |slot: &&Slot| if is_array { index.is_some() && slot.origin == index } else { slot.key == token };
        self.slots().iter().filter(is_it).map(|slot| &slot.node)
    }

    /// A copy of the way to the container at the end of a path, and of that container: whole, or only those of its members that
    /// are taken out. What is not copied stands in as [`Body::Elsewhere`].
    pub(super) fn reached(&self, path: &[String], taken: Option<&BTreeSet<String>>) -> Self {
        let Some((first, rest)) = path.split_first() else {
            let Some(taken) = taken else { return self.clone() };
            return self.copied(|slot| taken.contains(&slot.key).then(|| slot.node.clone()));
        };
        let index = first.parse::<usize>().ok();
        let is_array = matches!(self.body, Body::Array(_));
        let is_it = |slot: &Slot| if is_array { slot.origin == index } else { slot.key == *first };
        let mut copy = self.copied(|slot| is_it(slot).then(|| slot.node.reached(rest, taken)));
        if let Body::Object(slots) = &mut copy.body {
            slots.retain(is_it);
        }
        copy
    }

    /// A copy that holds those members which are given back, each other one standing in for itself.
    fn copied(&self, member: impl Fn(&Slot) -> Option<Self>) -> Self {
        let slot = |slot: &Slot| {
            let node = member(slot).unwrap_or_else(|| Self {
                span: slot.node.span.clone(),
                members: Vec::new(),
                body: Body::Elsewhere,
                is_touched: false,
                form: slot.node.form,
                fixed: slot.node.fixed,
            });
            Slot { origin: slot.origin, key: slot.key.clone(), node }
        };
        let body = match &self.body {
            Body::Array(slots) => Body::Array(slots.iter().map(slot).collect()),
            Body::Object(slots) => Body::Object(slots.iter().map(slot).collect()),
            other => other.clone(),
        };
        Self {
            span: self.span.clone(),
            members: self.members.clone(),
            body,
            is_touched: false,
            form: self.form,
            fixed: self.fixed,
        }
    }
}

impl Slot {
    /// The groups whose keys a merge key takes in, the first with precedence; none for any other member.
    fn taken_in(&self) -> Vec<Map<String, Value>> {
        if self.key != MERGE {
            return Vec::new();
        }
        match self.node.to_value() {
            Value::Object(group) => vec![group],
            Value::Array(groups) => groups.into_iter().filter_map(|group| group.as_object().cloned()).collect(),
            _ => Vec::new(),
        }
    }
}

/// JSON with both comment styles and trailing commas, and nothing else.
fn jsonc() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The tree of a file. A byte order mark is stepped over. Errors name path, line and column.
pub(super) fn parse(path: &str, text: &str) -> Result<Node, ChangeError> {
    let unparsable = |reason: String| ChangeError::Unparsable { path: path.to_owned(), reason };
    let offset = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let parsed = parse_to_ast(&text[offset..], &CollectOptions::default(), &jsonc())
        .map_err(|error| unparsable(error.to_string()))?;
    let value = parsed.value.ok_or_else(|| unparsable("holds no value".to_owned()))?;
    node(&value, offset).map_err(unparsable)
}

/// The node of a parsed value.
fn node(value: &ast::Value<'_>, offset: usize) -> Result<Node, String> {
    let body = match value {
        ast::Value::StringLit(lit) => Body::Whole(Value::String(lit.value.to_string())),
        ast::Value::BooleanLit(lit) => Body::Whole(Value::Bool(lit.value)),
        ast::Value::NullKeyword(_) => Body::Whole(Value::Null),
        ast::Value::NumberLit(lit) => {
            Body::Whole(serde_json::from_str(lit.value).map_err(|_| format!("number {} is out of range", lit.value))?)
        }
        ast::Value::Array(array) => Body::Array(
            array
                .elements
                .iter()
                .enumerate()
                .map(|(index, element)| slot(index, String::new(), element, offset))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => Body::Object(
            object
                .properties
                .iter()
                .enumerate()
                .map(|(index, prop)| slot(index, prop.name.as_str().to_owned(), &prop.value, offset))
                .collect::<Result<_, _>>()?,
        ),
    };
    Ok(Node::read(body, bytes(value, offset), members(value, offset)))
}

/// The member at an index.
fn slot(index: usize, key: String, value: &ast::Value<'_>, offset: usize) -> Result<Slot, String> {
    Ok(Slot { origin: Some(index), key, node: node(value, offset)? })
}

/// Bytes of each member of a container.
fn members(value: &ast::Value<'_>, offset: usize) -> Vec<Range<usize>> {
    match value {
        ast::Value::Array(array) => array.elements.iter().map(|element| bytes(element, offset)).collect(),
        ast::Value::Object(object) => object.properties.iter().map(|prop| bytes(prop, offset)).collect(),
        _ => Vec::new(),
    }
}

/// Bytes of a part in the whole text.
fn bytes(part: &impl Ranged, offset: usize) -> Range<usize> {
    part.start() + offset..part.end() + offset
}

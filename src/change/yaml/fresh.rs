//! New values as lines of block style, in the manner of a neighbour: its order of keys, its indents, its flows.

use serde_json::Value;

use super::scalar::{inline, property, written};
use crate::change::tree::{Body, Form, Node};

/// One step of indent where no neighbour shows another.
const STEP: usize = 2;

/// The lines of a value, the first without its indent, written as `like` is.
pub(super) fn lines(text: &str, value: &Value, like: Option<&Node>) -> Vec<String> {
    let like = like.filter(|like| like.form == Form::Block);
    match (value, like.map(|like| (&like.body, like))) {
        (Value::Object(members), Some((Body::Object(_), like))) if !members.is_empty() => {
            in_order(members, like).into_iter().flat_map(|(key, value)| entry(text, key, value, like)).collect()
        }
        (Value::Array(elements), Some((Body::Array(_), like))) if !elements.is_empty() => {
            elements.iter().flat_map(|value| item(text, value, like)).collect()
        }
        _ => vec![inline(value)],
    }
}

/// The lines of an item of a list, dash included.
pub(super) fn item(text: &str, value: &Value, list: &Node) -> Vec<String> {
    let neighbour = list.slots().iter().rev().find(|slot| slot.origin.is_some()).map(|slot| &slot.node);
    let pad = dash_pad(text, list);
    let own = lines(text, value, neighbour).into_iter().enumerate();
    own.map(|(at, line)| if at == 0 { format!("-{}{line}", " ".repeat(pad)) } else { indented(1 + pad, &line) })
        .collect()
}

/// Keys in the order of a neighbour, those it lacks behind them.
fn in_order<'a>(members: &'a serde_json::Map<String, Value>, like: &Node) -> Vec<(&'a String, &'a Value)> {
    let rank = |key: &str| like.slots().iter().position(|slot| slot.key == key).unwrap_or(usize::MAX);
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(key, _)| rank(key));
    members
}

/// A key and its value; a block below the key where the neighbour has one.
fn entry(text: &str, key: &str, value: &Value, like: &Node) -> Vec<String> {
    let neighbour = like.slots().iter().find(|slot| slot.key == key).map(|slot| &slot.node);
    let below = lines(text, value, neighbour);
    let is_container =
        value.as_object().is_some_and(|v| !v.is_empty()) || value.as_array().is_some_and(|v| !v.is_empty());
    match neighbour.filter(|neighbour| neighbour.form == Form::Block && is_container) {
        Some(neighbour) if below != [inline(value)] => {
            let step = column(text, neighbour).checked_sub(column(text, like)).unwrap_or(STEP);
            let below = below.iter().map(|line| indented(step, line));
            std::iter::once(format!("{}:", written(&Value::from(key), Form::Plain))).chain(below).collect()
        }
        _ => vec![property(key, value)],
    }
}

/// A line behind so many spaces.
fn indented(spaces: usize, line: &str) -> String {
    format!("{}{line}", " ".repeat(spaces))
}

/// The column a block begins at.
pub(super) fn column(text: &str, node: &Node) -> usize {
    let start = node.span.as_ref().map_or(0, |span| span.start);
    start - text[..start].rfind('\n').map_or(0, |end| end + 1)
}

/// Spaces between a list's dash and what follows it.
fn dash_pad(text: &str, list: &Node) -> usize {
    let first = list.members.first().zip(list.slots().iter().find(|slot| slot.origin == Some(0)));
    let gap = first.and_then(|(member, slot)| Some(&text[member.start + 1..slot.node.span.as_ref()?.start]));
    gap.filter(|gap| !gap.is_empty() && gap.bytes().all(|byte| byte == b' ')).map_or(1, str::len)
}

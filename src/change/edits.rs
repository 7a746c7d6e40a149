//! Edits carried out on the tree, and the operations that say the same. Pointers of edits speak of the document before the
//! change; the tree knows where each original member stands by now.

use serde_json::{Value, json};

use super::ChangeError;
use super::ops::{escape, invert, test, tokens};
use super::tree::{Body, Node, Slot};
use crate::verdict::Edit;

/// The operations of a change as they come about.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Pointers relied on and their values, each once.
    tests: Vec<(String, Value)>,
    /// Edits in sequence, each with paths as of its turn.
    edits: Vec<Value>,
    /// Original pointers of what the way back relies on.
    back: Vec<String>,
}

/// Carries the edits out on the tree and returns their operations. `before` is the document of the untouched tree.
pub(super) fn run(tree: &mut Node, before: &Value, edits: &[Edit]) -> Result<Script, ChangeError> {
    let mut script = Script::default();
    for edit in edits {
        script.carry_out(tree, before, edit)?;
    }
    if script.edits.is_empty() { Err(ChangeError::NoEffect) } else { Ok(script) }
}

impl Script {
    /// Every test, then every edit.
    pub(super) fn ops(&self) -> Vec<Value> {
        self.tests.iter().map(|(path, value)| test(path, value)).chain(self.edits.iter().cloned()).collect()
    }

    /// The way back from the changed tree. A key that has to come back cannot be tested: RFC 6902 has no test for absence.
    pub(super) fn rollback(&self, before: &Value, tree: &Node) -> Result<Vec<Value>, ChangeError> {
        let after = tree.to_value();
        let mut ops: Vec<Value> = Vec::new();
        for pointer in &self.back {
            let Ok(path) = locate(tree, pointer) else { continue };
            let now = pointer_to(tree, &path);
            if let Some(value) = after.pointer(&now) {
                ops.push(test(&now, value));
            }
        }
        ops.extend(invert(before, &self.edits)?);
        Ok(ops)
    }

    /// One edit.
    fn carry_out(&mut self, tree: &mut Node, before: &Value, edit: &Edit) -> Result<(), ChangeError> {
        match edit {
            Edit::Expect { pointer } => self.rely_on(before, pointer),
            Edit::Remove { pointer } => self.remove(tree, before, pointer),
            Edit::Replace { pointer, value } => self.replace(tree, before, pointer, value),
            Edit::Append { array, value } => self.append(tree, before, array, value),
            Edit::Insert { object, key, value } => self.insert(tree, before, object, key, value),
            Edit::ToFront { pointer } => self.shift(tree, before, pointer, 0),
            Edit::Move { pointer, to } => self.shift(tree, before, pointer, *to),
        }
    }

    /// Tests a value of the original document.
    fn rely_on(&mut self, before: &Value, pointer: &str) -> Result<(), ChangeError> {
        let value = before.pointer(pointer).ok_or_else(|| fault(pointer, "leads nowhere"))?;
        if !self.tests.iter().any(|(path, _)| path == pointer) {
            self.tests.push((pointer.to_owned(), value.clone()));
        }
        Ok(())
    }

    /// Has the way back test a value.
    fn look_back_at(&mut self, pointer: &str) {
        if !self.back.iter().any(|known| known == pointer) {
            self.back.push(pointer.to_owned());
        }
    }

    /// Takes a member out.
    fn remove(&mut self, tree: &mut Node, before: &Value, pointer: &str) -> Result<(), ChangeError> {
        let path = locate(tree, pointer)?;
        self.rely_on(before, pointer)?;
        self.edits.push(json!({ "op": "remove", "path": pointer_to(tree, &path) }));
        let (container, index) = parent(tree, &path);
        if matches!(container.body, Body::Array(_)) {
            self.look_back_at(head(pointer));
        }
        members(container).remove(index);
        Ok(())
    }

    /// Puts another value in a value's place.
    fn replace(&mut self, tree: &mut Node, before: &Value, pointer: &str, value: &Value) -> Result<(), ChangeError> {
        let path = locate(tree, pointer)?;
        self.rely_on(before, pointer)?;
        self.look_back_at(pointer);
        self.edits.push(json!({ "op": "replace", "path": pointer_to(tree, &path), "value": value }));
        become_value(at(tree, &path), value);
        Ok(())
    }

    /// Adds an element at the end.
    fn append(&mut self, tree: &mut Node, before: &Value, array: &str, value: &Value) -> Result<(), ChangeError> {
        let path = locate(tree, array)?;
        self.rely_on(before, array)?;
        self.look_back_at(array);
        let here = pointer_to(tree, &path);
        let container = at(tree, &path);
        if !matches!(container.body, Body::Array(_)) {
            return Err(fault(array, "is not an array"));
        }
        let end = container.slots().len();
        self.edits.push(json!({ "op": "add", "path": format!("{here}/{end}"), "value": value }));
        members(container).push(Slot { origin: None, key: String::new(), node: Node::fresh(value.clone()) });
        Ok(())
    }

    /// Adds a key at the end.
    fn insert(
        &mut self,
        tree: &mut Node,
        before: &Value,
        object: &str,
        key: &str,
        value: &Value,
    ) -> Result<(), ChangeError> {
        let path = locate(tree, object)?;
        self.rely_on(before, object)?;
        let here = pointer_to(tree, &path);
        let container = at(tree, &path);
        if !matches!(container.body, Body::Object(_)) {
            return Err(fault(object, "is not an object"));
        }
        if container.slots().iter().any(|slot| slot.key == key) {
            return Err(fault(object, "has the key already"));
        }
        self.look_back_at(object);
        self.edits.push(json!({ "op": "add", "path": format!("{here}/{}", escape(key)), "value": value }));
        members(container).push(Slot { origin: None, key: key.to_owned(), node: Node::fresh(value.clone()) });
        Ok(())
    }

    /// Moves an element; tests it and the one whose place it takes.
    fn shift(&mut self, tree: &mut Node, before: &Value, pointer: &str, to: usize) -> Result<(), ChangeError> {
        let path = locate(tree, pointer)?;
        let from = pointer_to(tree, &path);
        let (container, index) = parent(tree, &path);
        if !matches!(container.body, Body::Array(_)) {
            return Err(fault(pointer, "is not an element of an array"));
        }
        if to >= container.slots().len() {
            return Err(fault(pointer, "would move off the end"));
        }
        let displaced = format!("{}/{to}", head(pointer));
        if before.pointer(&displaced).is_some() {
            self.rely_on(before, &displaced)?;
        }
        self.rely_on(before, pointer)?;
        self.look_back_at(head(pointer));
        if index != to {
            self.edits.push(json!({ "op": "move", "from": from, "path": format!("{}/{to}", head(&from)) }));
            let slots = members(container);
            let slot = slots.remove(index);
            slots.insert(to, slot);
        }
        Ok(())
    }
}

/// An error about a pointer.
fn fault(pointer: &str, reason: &'static str) -> ChangeError {
    ChangeError::Pointer { pointer: pointer.to_owned(), reason }
}

/// The pointer of the container.
pub(super) fn head(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(head, _)| head)
}

/// The present positions on the way to what stood at a pointer originally; at least one.
fn locate(tree: &Node, pointer: &str) -> Result<Vec<usize>, ChangeError> {
    let tokens = tokens(pointer).ok_or_else(|| fault(pointer, "names no member of the document"))?;
    let mut node = tree;
    let mut path = Vec::with_capacity(tokens.len());
    for token in &tokens {
        let index = position(node, token).map_err(|reason| fault(pointer, reason))?;
        node = &node.slots()[index].node;
        path.push(index);
    }
    Ok(path)
}

/// The present position of an original member.
fn position(node: &Node, token: &str) -> Result<usize, &'static str> {
    let is_array = matches!(node.body, Body::Array(_));
    let index = token.parse::<usize>().ok().filter(|index| index.to_string() == token);
    let is_it = |slot: &Slot| {
        if is_array { index.is_some() && slot.origin == index } else { slot.origin.is_some() && slot.key == token }
    };
    let mut found = node.slots().iter().enumerate().filter(|(_, slot)| is_it(slot)).map(|(at, _)| at);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err("leads to one of two equal keys"),
        (None, _) if index.is_some_and(|index| is_array && index < node.members.len()) => {
            Err("leads to what an earlier edit took away")
        }
        (None, _) => Err("leads nowhere"),
    }
}

/// The present pointer of a path.
fn pointer_to(tree: &Node, path: &[usize]) -> String {
    let mut node = tree;
    let mut pointer = String::new();
    for &index in path {
        let slot = &node.slots()[index];
        pointer.push('/');
        pointer.push_str(&if matches!(node.body, Body::Array(_)) { index.to_string() } else { escape(&slot.key) });
        node = &slot.node;
    }
    pointer
}

/// The node at a path that [`locate`] gave.
fn at<'a>(tree: &'a mut Node, path: &[usize]) -> &'a mut Node {
    path.iter()
        .fold(tree, |node, &index| &mut node.slots_mut().expect("a located path runs through containers")[index].node)
}

/// The container at the end of a path, and the position in it.
fn parent<'a>(tree: &'a mut Node, path: &[usize]) -> (&'a mut Node, usize) {
    let (index, head) = path.split_last().expect("a located path has at least one step");
    (at(tree, head), *index)
}

/// The members of a container that is about to change.
fn members(container: &mut Node) -> &mut Vec<Slot> {
    container.is_touched = true;
    container.slots_mut().expect("only containers have members")
}

/// Makes a node hold a value and keeps as much of its text as says the same: equal members stay where they are, with
/// their comments.
fn become_value(node: &mut Node, value: &Value) {
    if node.to_value() == *value {
        return;
    }
    node.is_touched = true;
    match (&mut node.body, value) {
        (Body::Object(slots), Value::Object(wanted)) if has_unique_keys(slots) => {
            slots.retain(|slot| wanted.contains_key(&slot.key));
            for (key, value) in wanted {
                match slots.iter_mut().find(|slot| slot.key == *key) {
                    Some(slot) => become_value(&mut slot.node, value),
                    None => slots.push(Slot { origin: None, key: key.clone(), node: Node::fresh(value.clone()) }),
                }
            }
        }
        (Body::Array(slots), Value::Array(wanted)) => *slots = align(std::mem::take(slots), wanted),
        (body, value) => {
            *body = Body::Whole(value.clone());
            node.members.clear();
        }
    }
}

/// Whether no key stands twice.
fn has_unique_keys(slots: &[Slot]) -> bool {
    slots.iter().enumerate().all(|(at, slot)| slots[..at].iter().all(|other| other.key != slot.key))
}

/// The elements of an array that is to hold `wanted`: equal ones are reused, first in their own place, then from anywhere;
/// what is left over in a place turns into what is wanted there.
fn align(old: Vec<Slot>, wanted: &[Value]) -> Vec<Slot> {
    let mut old: Vec<Option<Slot>> = old.into_iter().map(Some).collect();
    let mut new: Vec<Option<Slot>> = wanted.iter().map(|_| None).collect();
    let is = |slot: &Option<Slot>, value: &Value| slot.as_ref().is_some_and(|slot| slot.node.to_value() == *value);
    for (at, value) in wanted.iter().enumerate() {
        if old.get(at).is_some_and(|slot| is(slot, value)) {
            new[at] = old[at].take();
        }
    }
    for (at, value) in wanted.iter().enumerate().filter(|(at, _)| new[*at].is_none()).collect::<Vec<_>>() {
        new[at] = old.iter_mut().find(|slot| is(slot, value)).and_then(Option::take);
    }
    let in_place = |(at, (slot, value)): (usize, (Option<Slot>, &Value))| {
        slot.unwrap_or_else(|| match old.get_mut(at).and_then(Option::take) {
            Some(mut slot) => {
                become_value(&mut slot.node, value);
                slot
            }
            None => Slot { origin: None, key: String::new(), node: Node::fresh(value.clone()) },
        })
    };
    new.into_iter().zip(wanted).enumerate().map(in_place).collect()
}

//! JSON Patch (RFC 6902): carrying operations out on a parsed document, and turning them round. JSON Pointer is RFC 6901.

use serde_json::{Value, json};

use super::ChangeError;

/// The tokens of a JSON pointer, unescaped. `None` when it is not one.
pub(super) fn tokens(pointer: &str) -> Option<Vec<String>> {
    let rest = pointer.strip_prefix('/')?;
    Some(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

/// A key or index as a token of a pointer.
pub(super) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// A `test` operation.
pub(super) fn test(path: &str, value: &Value) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

/// The document after the operations, carried out one by one. The first that does not apply is the error, and a `test`
/// that does not hold is one. `copy` is not taken: the proposal's schema has no use for it.
pub fn apply_ops(document: &Value, ops: &[Value]) -> Result<Value, ChangeError> {
    let mut document = document.clone();
    for op in ops {
        step(&mut document, op)?;
    }
    Ok(document)
}

/// An error about an operation.
fn fault(path: &str, reason: &'static str) -> ChangeError {
    ChangeError::Operation { path: path.to_owned(), reason }
}

/// A text field of an operation.
fn field<'a>(op: &'a Value, name: &str) -> Result<&'a str, ChangeError> {
    op.get(name).and_then(Value::as_str).ok_or_else(|| fault(&op.to_string(), "lacks a field"))
}

/// The value of an operation.
fn value_of(op: &Value) -> Result<&Value, ChangeError> {
    op.get("value").ok_or_else(|| fault(&op.to_string(), "lacks a value"))
}

/// Carries one operation out.
fn step(document: &mut Value, op: &Value) -> Result<(), ChangeError> {
    let path = field(op, "path")?;
    match field(op, "op")? {
        "test" if document.pointer(path) == Some(value_of(op)?) => Ok(()),
        "test" => Err(fault(path, "tests a value that is not there")),
        "add" => add(document, path, value_of(op)?.clone()),
        "remove" => remove(document, path).map(|_| ()),
        "replace" => {
            let place = document.pointer_mut(path).ok_or_else(|| fault(path, "finds nothing to replace"))?;
            *place = value_of(op)?.clone();
            Ok(())
        }
        "move" => {
            let value = remove(document, field(op, "from")?)?;
            add(document, path, value)
        }
        _ => Err(fault(path, "is of no known kind")),
    }
}

/// The container a path ends in, and the last token.
fn parent<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), ChangeError> {
    let (head, last) = path.rsplit_once('/').ok_or_else(|| fault(path, "names no member"))?;
    let container = document.pointer_mut(head).ok_or_else(|| fault(path, "has no parent"))?;
    Ok((container, last.replace("~1", "/").replace("~0", "~")))
}

/// Puts a value in: before an element, at the end (`-`), or under a key.
fn add(document: &mut Value, path: &str, value: Value) -> Result<(), ChangeError> {
    match parent(document, path)? {
        (Value::Array(elements), token) => {
            let index = if token == "-" { Some(elements.len()) } else { token.parse().ok() };
            let index = index.filter(|&index| index <= elements.len()).ok_or_else(|| fault(path, "is off the end"))?;
            elements.insert(index, value);
            Ok(())
        }
        (Value::Object(members), key) => {
            members.insert(key, value);
            Ok(())
        }
        _ => Err(fault(path, "adds to a scalar")),
    }
}

/// Takes a value out.
fn remove(document: &mut Value, path: &str) -> Result<Value, ChangeError> {
    let gone = || fault(path, "finds nothing to take out");
    match parent(document, path)? {
        (Value::Array(elements), token) => {
            let index = token.parse::<usize>().ok().filter(|&index| index < elements.len()).ok_or_else(gone)?;
            Ok(elements.remove(index))
        }
        (Value::Object(members), key) => members.remove(&key).ok_or_else(gone),
        _ => Err(gone()),
    }
}

/// The edits that undo `edits` on the document they lead to, last first. `test` operations have no inverse and are left out.
pub(super) fn invert(document: &Value, edits: &[Value]) -> Result<Vec<Value>, ChangeError> {
    let mut document = document.clone();
    let mut back = Vec::with_capacity(edits.len());
    for op in edits {
        let path = field(op, "path")?;
        let old = document.pointer(path).cloned();
        let had = || old.clone().ok_or_else(|| fault(path, "finds nothing to put back"));
        back.push(match field(op, "op")? {
            "add" => json!({ "op": "remove", "path": path }),
            "remove" => json!({ "op": "add", "path": path, "value": had()? }),
            "replace" => json!({ "op": "replace", "path": path, "value": had()? }),
            "move" => json!({ "op": "move", "from": path, "path": field(op, "from")? }),
            _ => return Err(fault(path, "has no inverse")),
        });
        step(&mut document, op)?;
    }
    back.reverse();
    Ok(back)
}

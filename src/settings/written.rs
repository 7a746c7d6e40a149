//! The written settings, checked key by key against the reference: unknown and repeated keys, wrong kinds.

use std::collections::BTreeMap;

use crate::vocabulary::Tier;

use super::kind::{Kind, is_id_text, is_path, nearest};
use super::reference::{self, Key};
use super::yaml::{Fault, Node, Value, quoted};

/// Most items of a list; a longer one is a mistake, and comparing its items would take long.
const MAX_ITEMS: usize = 1000;

/// What the file says: every value under its dotted key, each of the kind the reference demands.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Dotted key → value.
    pub(super) values: BTreeMap<String, Value>,
    /// Dotted key → line, groups and items included.
    pub(super) lines: BTreeMap<String, usize>,
    /// Dotted key of a list of groups, or of a group with free names → the names of its parts, in file order.
    pub(super) parts: BTreeMap<String, Vec<String>>,
}

impl Written {
    /// Checks a tree against the reference: unknown and repeated keys, wrong kinds. The first fault in file order ends it.
    pub(super) fn from_tree(root: &Node) -> Result<Self, Fault> {
        let mut written = Self::default();
        written.take_group("", "", root)?;
        Ok(written)
    }

    /// The line of the first of these keys that is written; 1 when none is.
    pub(super) fn line(&self, keys: &[&str]) -> usize {
        keys.iter().find_map(|key| self.lines.get(*key)).copied().unwrap_or(1)
    }

    /// Takes the keys of a group. `pattern` is its name in the reference, `shown` its name in the file.
    fn take_group(&mut self, pattern: &str, shown: &str, node: &Node) -> Result<(), Fault> {
        let entries = match &node.value {
            Value::Group(entries) => entries,
            Value::Nothing if !shown.ends_with(']') => return Ok(()),
            other => return Err(Fault::new(node.line, not_a_group(shown, other))),
        };
        let names = reference::names_under(pattern);
        for (name, line, value) in entries {
            let key = join(shown, name);
            if let Some(first) = self.lines.insert(key.clone(), *line) {
                return Err(Fault::new(*line, format!("duplicate key {} (first on line {first})", quoted(&key))));
            }
            let known = known_name(&names, name).ok_or_else(|| unknown_key(&names, shown, name, *line))?;
            if known.starts_with('<') {
                self.parts.entry(shown.to_owned()).or_default().push(name.clone());
            }
            self.take(&join(pattern, known), &key, &Node { line: *line, value: value.value.clone() })?;
        }
        Ok(())
    }

    /// Takes what stands behind a key: a list of groups, a value or a group.
    fn take(&mut self, pattern: &str, shown: &str, node: &Node) -> Result<(), Fault> {
        if pattern.ends_with("[]") {
            self.take_list(pattern, shown, node)
        } else if let Some(key) = reference::key(pattern) {
            self.take_value(key, shown, node)
        } else {
            self.take_group(pattern, shown, node)
        }
    }

    /// Takes a list of groups.
    fn take_list(&mut self, pattern: &str, shown: &str, node: &Node) -> Result<(), Fault> {
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            Value::Nothing => &[],
            other => return Err(Fault::new(node.line, format!("{} must be a list, not {other}", quoted(shown)))),
        };
        check_length(shown, node.line, items)?;
        for (index, item) in items.iter().enumerate() {
            self.lines.insert(format!("{shown}[{index}]"), item.line);
            self.parts.entry(shown.to_owned()).or_default().push(format!("[{index}]"));
            self.take_group(pattern, &format!("{shown}[{index}]"), item)?;
        }
        Ok(())
    }

    /// Takes a value of the kind the reference demands.
    fn take_value(&mut self, key: &Key, shown: &str, node: &Node) -> Result<(), Fault> {
        let complaint = |why: String| Fault::new(node.line, format!("{} {why}", quoted(shown)));
        if let (Value::List(items), Kind::Ids | Kind::Paths) = (&node.value, key.kind) {
            check_length(shown, node.line, items)?;
            self.take_items(shown, key.kind, items)?;
        }
        key.kind.accept(&node.value).map_err(complaint)?;
        self.values.insert(shown.to_owned(), node.value.clone());
        Ok(())
    }

    /// Notes the lines of a list of ids or paths; each must be one and stand there once.
    fn take_items(&mut self, shown: &str, kind: Kind, items: &[Node]) -> Result<(), Fault> {
        let wanted = match kind {
            Kind::Paths => "a path",
            _ => "an id without blanks, \"/\" and \"#\"",
        };
        for (index, item) in items.iter().enumerate() {
            let name = format!("{shown}[{index}]");
            let fits = match &item.value {
                Value::Text(text) if kind == Kind::Ids => is_id_text(text),
                _ => kind == Kind::Paths && is_path(item),
            };
            if !fits {
                let message = format!("{} must be {wanted}, not {}", quoted(&name), item.value);
                return Err(Fault::new(item.line, message));
            }
            if items[..index].iter().any(|other| other.value == item.value) {
                return Err(Fault::new(item.line, format!("{} names {} a second time", quoted(&name), item.value)));
            }
            self.lines.insert(name, item.line);
        }
        Ok(())
    }
}

/// Refuses a list that is too long.
fn check_length(shown: &str, line: usize, items: &[Node]) -> Result<(), Fault> {
    if items.len() > MAX_ITEMS {
        return Err(Fault::new(line, format!("{} has more than {MAX_ITEMS} items", quoted(shown))));
    }
    Ok(())
}

/// A key below another.
pub(super) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// The name of the reference that a written name stands for: itself, the list of that name, a tier, or any id.
fn known_name(names: &[&'static str], name: &str) -> Option<&'static str> {
    names.iter().copied().find(|known| match *known {
        "<tier>" => Tier::ALL.iter().any(|tier| tier.as_str() == name),
        "<id>" => is_id_text(name),
        known => known.strip_suffix("[]").unwrap_or(known) == name,
    })
}

/// The complaint about a group that is something else.
fn not_a_group(shown: &str, found: &Value) -> String {
    if shown.is_empty() {
        format!("the front matter must be a group of settings, not {found}")
    } else {
        format!("{} must be a group of keys, not {found}", quoted(shown))
    }
}

/// The complaint about an unknown key, with the nearest name of its level, else the same name of another level.
fn unknown_key(names: &[&str], shown: &str, name: &str, line: usize) -> Fault {
    let key = quoted(&join(shown, name));
    if names == ["<id>"] {
        return Fault::new(line, format!("{key} must be an id without blanks, \"/\" and \"#\""));
    }
    let tiers = Tier::ALL.map(Tier::as_str);
    let siblings = if names == ["<tier>"] { &tiers[..] } else { names };
    let near = nearest(name, siblings.iter().map(|known| known.trim_end_matches("[]"))).map(|near| join(shown, near));
    let elsewhere = || {
        let mut same = reference::reference().iter().filter(|row| row.key.rsplit('.').next() == Some(name));
        same.next().filter(|_| same.next().is_none()).map(|row| row.key.to_owned())
    };
    let hint = near.or_else(elsewhere).map(|near| format!(" (did you mean {}?)", quoted(&near)));
    Fault::new(line, format!("unknown key {key}{}", hint.unwrap_or_default()))
}

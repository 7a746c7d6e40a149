//! Random YAML documents in random layouts. Every key, value and comment carries a label of its own, so that a test can say
//! afterwards what became of it.

use std::fmt::Write as _;

use crate::random::Dice;

/// A container of the document.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    /// Its pointer.
    pub(crate) pointer: String,
    /// Whether it is a list.
    pub(crate) is_list: bool,
    /// Tokens of its members.
    pub(crate) members: Vec<String>,
}

/// A document.
#[derive(Default)]
pub(crate) struct Document {
    /// Its text.
    pub(crate) text: String,
    /// Containers, outer ones first.
    pub(crate) containers: Vec<Container>,
    /// Label of a comment → the member whose lines it stands on, or the container between whose members it stands.
    pub(crate) comments: Vec<(String, String)>,
}

/// Writes a document.
struct Writer<'a> {
    /// Chance.
    dice: &'a mut Dice,
    /// What came about so far.
    document: Document,
    /// Line end of the file.
    line_end: &'static str,
    /// Labels given so far.
    labels: usize,
    /// Anchors that may be named.
    anchors: Vec<String>,
}

/// A random document: keys with single values, flows, blocks, anchors and aliases, up to four deep.
pub(crate) fn document(dice: &mut Dice) -> Document {
    let line_end = if dice.one_in(6) { "\r\n" } else { "\n" };
    let mut writer = Writer { dice, document: Document::default(), line_end, labels: 0, anchors: Vec::new() };
    if writer.dice.one_in(4) {
        writer.put("---");
        writer.turn();
    }
    writer.group("", 0, 0, false);
    if writer.dice.one_in(4) {
        writer.own_line("", 0);
    }
    if writer.dice.one_in(6) {
        let length = writer.document.text.trim_end_matches(['\r', '\n']).len();
        writer.document.text.truncate(length);
    }
    writer.document
}

impl Writer<'_> {
    /// The next label with a prefix.
    fn label(&mut self, prefix: &str) -> String {
        self.labels += 1;
        format!("{prefix}{}x", self.labels)
    }

    /// Writes text.
    fn put(&mut self, text: &str) {
        self.document.text.push_str(text);
    }

    /// Ends the line.
    fn turn(&mut self) {
        self.put(self.line_end);
    }

    /// Ends the line, with a comment of its owner on it at times.
    fn end_line(&mut self, owner: &str) {
        if self.dice.one_in(3) {
            let label = self.label("c");
            write!(self.document.text, " # {label}: - [ ' \" ] {{").unwrap();
            self.document.comments.push((label, owner.to_owned()));
        }
        self.turn();
    }

    /// A comment on a line of its own, or a blank line.
    fn own_line(&mut self, container: &str, indent: usize) {
        if self.dice.one_in(2) {
            let label = self.label("c");
            write!(self.document.text, "{}# {label}: - x", " ".repeat(indent)).unwrap();
            self.document.comments.push((label, container.to_owned()));
        }
        self.turn();
    }

    /// Notes a container and gives its place.
    fn note(&mut self, pointer: &str, is_list: bool) -> usize {
        let container = Container { pointer: pointer.to_owned(), is_list, members: Vec::new() };
        self.document.containers.push(container);
        self.document.containers.len() - 1
    }

    /// A block of keys. `begun` says that the first key stands behind a dash.
    fn group(&mut self, pointer: &str, indent: usize, depth: usize, begun: bool) {
        let at = self.note(pointer, false);
        let count = if depth == 0 { 3 + self.dice.below(3) } else { 1 + self.dice.below(3) };
        for index in 0..count {
            let key = self.label("k");
            self.document.containers[at].members.push(key.clone());
            if !(begun && index == 0) {
                while self.dice.one_in(5) {
                    self.own_line(pointer, indent);
                }
                self.put(&" ".repeat(indent));
            }
            let shown = match self.dice.below(8) {
                0 => format!("\"{key}\""),
                1 => format!("'{key}'"),
                _ => key.clone(),
            };
            self.put(&shown);
            self.put(":");
            self.value(&format!("{pointer}/{key}"), indent, depth, false);
        }
    }

    /// A block of items.
    fn list(&mut self, pointer: &str, indent: usize, depth: usize) {
        let at = self.note(pointer, true);
        for index in 0..=self.dice.below(4) {
            self.document.containers[at].members.push(index.to_string());
            while self.dice.one_in(6) {
                self.own_line(pointer, indent);
            }
            self.put(&" ".repeat(indent));
            self.put("-");
            let member = format!("{pointer}/{index}");
            if depth < 3 && self.dice.one_in(3) {
                let pad = 1 + self.dice.below(3);
                self.put(&" ".repeat(pad));
                self.group(&member, indent + 1 + pad, depth + 1, true);
            } else {
                self.value(&member, indent, depth, true);
            }
        }
    }

    /// What stands behind a colon or a dash, to the end of its lines.
    fn value(&mut self, pointer: &str, indent: usize, depth: usize, is_item: bool) {
        match self.dice.below(if depth < 3 && !is_item { 12 } else { 8 }) {
            0 => self.end_line(pointer),
            1 => self.flow(pointer),
            2 if !self.anchors.is_empty() && self.dice.one_in(2) => {
                let name = self.dice.pick(&self.anchors).clone();
                write!(self.document.text, " *{name}").unwrap();
                self.end_line(pointer);
            }
            3 if self.dice.one_in(3) => {
                let (name, value) = (self.label("a"), self.label("v"));
                write!(self.document.text, " &{name} {value}").unwrap();
                self.anchors.push(name);
                self.end_line(pointer);
            }
            4 if self.dice.one_in(3) => {
                let label = self.label("v");
                write!(self.document.text, " |{0}{1}  {label}{0}{1}  # no comment", self.line_end, " ".repeat(indent))
                    .unwrap();
                self.turn();
            }
            8..=9 => {
                self.end_line(pointer);
                let step = 1 + self.dice.below(4);
                self.group(pointer, indent + step, depth + 1, false);
            }
            10..=11 => {
                self.end_line(pointer);
                let step = self.dice.below(3);
                self.list(pointer, indent + step, depth + 1);
            }
            _ => {
                let label = self.label("v");
                let text = match self.dice.below(5) {
                    0 => format!("'{label} it''s # no'"),
                    1 => format!("\"{label} \\\" # no\""),
                    2 => format!("{label}/a#b"),
                    3 => "17".to_owned(),
                    _ => label,
                };
                self.put(" ");
                self.put(&text);
                self.end_line(pointer);
            }
        }
    }

    /// A flow of single values.
    fn flow(&mut self, pointer: &str) {
        let is_list = self.dice.one_in(2);
        let at = self.note(pointer, is_list);
        let (count, pad) = (self.dice.below(4), if self.dice.one_in(2) { " " } else { "" });
        self.put(if is_list { " [" } else { " {" });
        for index in 0..count {
            self.put(if index > 0 { ", " } else { pad });
            let token = if is_list { index.to_string() } else { self.label("k") };
            self.document.containers[at].members.push(token.clone());
            let value = self.label("v");
            if is_list { self.put(&value) } else { self.put(&format!("{token}: {value}")) }
        }
        if count > 0 {
            self.put(pad);
        }
        self.put(if is_list { "]" } else { "}" });
        self.end_line(pointer);
    }
}

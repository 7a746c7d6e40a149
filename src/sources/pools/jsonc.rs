//! Walking a JSONC document with the line and JSON pointer of every value. Comments and trailing commas are legal,
//! nothing else beyond JSON is. Of a key that stands twice the last one counts, as in the router.

use std::collections::BTreeMap;

use jsonc_parser::ast::{ObjectProp, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use crate::vocabulary::{ConfigFile, Place};

/// What the router's parser accepts: comments and trailing commas.
const DIALECT: ParseOptions = ParseOptions {
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
};

/// Brackets deeper than this are refused before parsing: no config needs them and a parser's stack is finite.
const MAX_DEPTH: usize = 128;

/// A parsed document that knows its file.
pub(crate) struct Document<'a> {
    /// Path for places.
    path: &'a str,
    /// Byte offset of the start of every line.
    line_starts: Vec<usize>,
    /// The root value.
    root: Ast<'a>,
}

impl<'a> Document<'a> {
    /// Parses a file. The error is one line, `path:line: reason`.
    pub(crate) fn parse(file: &'a ConfigFile) -> Result<Self, String> {
        let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
        if let Some(offset) = too_deep(text) {
            let line = 1 + text[..offset].matches('\n').count();
            return Err(format!("{}:{line}: brackets nest deeper than {MAX_DEPTH}", file.path));
        }
        let parsed = parse_to_ast(text, &CollectOptions::default(), &DIALECT).map_err(|error| {
            format!("{}:{}: {}", file.path, error.line_display(), lower_first(&error.kind().to_string()))
        })?;
        let root = parsed.value.ok_or_else(|| format!("{}:1: the file holds no value", file.path))?;
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Ok(Self { path: &file.path, line_starts, root })
    }

    /// The root value.
    pub(crate) fn root(&self) -> Cursor<'_> {
        Cursor { document: self, value: &self.root, pointer: String::new(), offset: self.root.range().start }
    }

    /// The line of a byte offset, from 1.
    fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }
}

/// The offset at which brackets nest too deep, if they do. Strings and comments are skipped.
fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => at += until(&bytes[at..], b"\n"),
            b'/' if bytes.get(at + 1) == Some(&b'*') => at += 2 + until(&bytes[at + 2..], b"*/") + 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The offset of the quote that closes the string opened at `start`, or the end of the text.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// The distance to the first occurrence of a needle, or to the end.
fn until(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).position(|window| window == needle).unwrap_or(bytes.len())
}

/// The text with its first letter in lower case: error text is a fragment.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// A value in its document.
#[derive(Clone)]
pub(crate) struct Cursor<'d> {
    /// The document.
    document: &'d Document<'d>,
    /// The value.
    value: &'d Ast<'d>,
    /// Its JSON pointer.
    pointer: String,
    /// Byte offset of its key, or of itself inside an array.
    offset: usize,
}

impl<'d> Cursor<'d> {
    /// The JSON pointer of the value.
    pub(crate) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Where the value stands: the line of its key, or its own inside an array.
    pub(crate) fn place(&self) -> Place {
        Place::new(self.document.path, self.document.line(self.offset))
    }

    /// The member of an object, of a doubled key the last; `None` when this is no object or has no such key.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let Ast::Object(object) = self.value else { return None };
        let property = object.properties.iter().rev().find(|property| property.name.as_str() == key)?;
        Some(self.child(property))
    }

    /// The members of an object in file order, of a doubled key the last; empty when this is no object.
    pub(crate) fn entries(&self) -> Vec<(String, Self)> {
        let Ast::Object(object) = self.value else { return Vec::new() };
        let last: BTreeMap<&str, usize> =
            object.properties.iter().enumerate().map(|(i, property)| (property.name.as_str(), i)).collect();
        let properties = object.properties.iter().enumerate();
        properties
            .filter(|(i, property)| last.get(property.name.as_str()) == Some(i))
            .map(|(_, property)| (property.name.as_str().to_owned(), self.child(property)))
            .collect()
    }

    /// A member of this object.
    fn child(&self, property: &'d ObjectProp<'d>) -> Self {
        Self {
            document: self.document,
            value: &property.value,
            pointer: format!("{}/{}", self.pointer, escape_pointer(property.name.as_str())),
            offset: property.range.start,
        }
    }

    /// The elements of an array; `None` when this is no array.
    pub(crate) fn elements(&self) -> Option<Vec<Self>> {
        let Ast::Array(array) = self.value else { return None };
        let element = |(i, value): (usize, &'d Ast<'d>)| Self {
            document: self.document,
            value,
            pointer: format!("{}/{i}", self.pointer),
            offset: value.range().start,
        };
        Some(array.elements.iter().enumerate().map(element).collect())
    }

    /// Whether this is an object.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.value, Ast::Object(_))
    }

    /// The text, if this is a string.
    pub(crate) fn text(&self) -> Option<&'d str> {
        match self.value {
            Ast::StringLit(text) => Some(text.value.as_ref()),
            _ => None,
        }
    }

    /// The truth value, if this is one.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.value {
            Ast::BooleanLit(truth) => Some(truth.value),
            _ => None,
        }
    }

    /// The number, if this is a finite one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self.value {
            Ast::NumberLit(number) => number.value.parse::<f64>().ok().filter(|number| number.is_finite()),
            _ => None,
        }
    }

    /// The integer, if this is a number without a fraction.
    pub(crate) fn integer(&self) -> Option<i64> {
        let number = self.number()?;
        #[expect(clippy::cast_possible_truncation, reason = "the guard keeps whole numbers below 2^53 only")]
        (number.fract().abs() < f64::EPSILON && number.abs() < 9.0e15).then_some(number as i64)
    }

    /// The value as JSON.
    pub(crate) fn json(&self) -> Value {
        to_json(self.value)
    }
}

/// A key as one reference token of a JSON pointer.
fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A parsed value as JSON; a number that JSON cannot hold becomes null.
fn to_json(value: &Ast<'_>) -> Value {
    match value {
        Ast::StringLit(text) => Value::String(text.value.clone().into_owned()),
        Ast::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Value::Null),
        Ast::BooleanLit(truth) => Value::Bool(truth.value),
        Ast::NullKeyword(_) => Value::Null,
        Ast::Array(array) => Value::Array(array.elements.iter().map(to_json).collect()),
        Ast::Object(object) => Value::Object(
            object
                .properties
                .iter()
                .map(|property| (property.name.as_str().to_owned(), to_json(&property.value)))
                .collect(),
        ),
    }
}

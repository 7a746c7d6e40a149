//! On which line of a JSON text the homes and windows stand; `serde_json` values do not say.

use jsonc_parser::ast::{Array, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// Line of every home and of every window in it, counted from 1, in the order of the text.
pub(super) type Lines = Vec<(usize, Vec<usize>)>;

/// The lines of a text that parses as JSON; empty when it has no homes.
pub(super) fn of(text: &str) -> Lines {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let value = parsed.ok().and_then(|parsed| parsed.value);
    let Some(homes) = value.as_ref().and_then(|value| array_in(value, "homes")) else { return Vec::new() };
    let starts: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let line = |value: &Value<'_>| starts.partition_point(|newline| *newline < value.start()) + 1;
    let windows = |home: &Value<'_>| {
        array_in(home, "windows").map_or_else(Vec::new, |list| list.elements.iter().map(line).collect())
    };
    homes.elements.iter().map(|home| (line(home), windows(home))).collect()
}

/// The array under a key of an object.
fn array_in<'a, 'b>(value: &'b Value<'a>, key: &str) -> Option<&'b Array<'a>> {
    value.as_object()?.get_array(key)
}

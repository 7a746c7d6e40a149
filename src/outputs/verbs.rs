//! The JSON form of verbs: one document that names its shape, `pool-review.<shape>/1`. The schema of each shape is
//! `instructions/schemas/<shape>.v1.json`; a field is only ever added.

use serde_json::Value;

/// A document of some fields, for people's eyes too, with its line end.
pub fn document(shape: &str, fields: Value) -> String {
    format!("{:#}\n", named(shape, fields))
}

/// The same in one line, for a verb that goes on and prints several.
pub fn line(shape: &str, fields: Value) -> String {
    format!("{}\n", named(shape, fields))
}

/// Fields with the name of their shape.
fn named(shape: &str, mut fields: Value) -> Value {
    fields["schema"] = format!("pool-review.{shape}/1").into();
    fields
}

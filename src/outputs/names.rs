//! The match table for people and programs: one line per name, unmatched ones with a suggestion that is never used.

use serde_json::json;

use super::text::{Place, name};
use super::verbs::document;
use crate::verdict::NameRow;

/// The table: source, name, model, effort, by what; then how many stayed unmatched and how to match one.
pub fn names(rows: &[NameRow]) -> String {
    let show = |text: &str| name(text, Place::Terminal);
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let meaning = match (&row.model, &row.suggestion) {
                (Some(model), _) => show(model),
                (None, Some(near)) => format!("unmatched (near {}, not used)", show(near)),
                (None, None) => "unmatched".to_owned(),
            };
            let effort = row.effort.as_deref().map_or_else(|| "-".to_owned(), show);
            format!("{}  {}  {meaning}  {effort}  {}", row.source, show(&row.id), row.via.unwrap_or("-"))
        })
        .collect();
    let unmatched = rows.iter().filter(|row| row.model.is_none()).count();
    lines.push(format!(
        "{} names, {unmatched} unmatched; one line in data.aliases (source,id,model,effort,note) matches one",
        rows.len()
    ));
    lines.join("\n") + "\n"
}

/// The table as JSON.
pub fn names_json(rows: &[NameRow]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({ "source": row.source.as_str(), "id": row.id, "model": row.model, "effort": row.effort, "via": row.via,
                "suggestion": row.suggestion })
        })
        .collect();
    document("names", json!({ "names": rows }))
}

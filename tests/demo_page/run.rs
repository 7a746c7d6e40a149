//! A run file as the tests read it.

use serde_json::Value;

/// A text of a JSON value.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key:?} in {value}"))
}

/// A list of a JSON value.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key:?} in {value}"))
}

/// Every finding with the pool and the check it stands in.
pub(crate) fn findings(run: &Value) -> Vec<(&str, &str, &Value)> {
    let of_pool = |pool| list(pool, "checks").iter().map(move |check| (text(pool, "id"), check));
    let checks = list(run, "pools").iter().flat_map(of_pool);
    checks.flat_map(|(id, check)| list(check, "findings").iter().map(move |f| (id, text(check, "check"), f))).collect()
}

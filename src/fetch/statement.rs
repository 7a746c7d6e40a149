//! The statement that sums spend logs up, for the columns that a table has and the types they are of.

use std::collections::{BTreeMap, BTreeSet};

/// The statement.
const STATEMENT: &str = include_str!("spend.sql");
/// The columns that are read, what each must hold, and whether a table without it is a spend log.
const COLUMNS: [(&str, Holds, bool); 14] = [
    ("call_type", Holds::Text, true),
    ("model", Holds::Text, true),
    ("startTime", Holds::Time, true),
    ("endTime", Holds::Time, true),
    ("prompt_tokens", Holds::Count, true),
    ("completion_tokens", Holds::Count, true),
    ("spend", Holds::Dollars, true),
    ("cache_hit", Holds::Text, true),
    ("model_group", Holds::Text, false),
    ("custom_llm_provider", Holds::Text, false),
    ("status", Holds::Text, false),
    ("metadata", Holds::Json, false),
    ("request_id", Holds::Text, false),
    ("total_tokens", Holds::Text, false),
];
/// What tells one call from another: its id, else when it ran, what it called and how much it used. Rows that are no calls
/// are no copies of calls.
const IDENTITY: &str = "part IN ('no_time', 'no_model'), COALESCE(request_id, ''), \
    CASE WHEN COALESCE(request_id, '') = '' AND started IS NOT NULL THEN began END, \
    CASE WHEN COALESCE(request_id, '') = '' THEN over END, \
    CASE WHEN COALESCE(request_id, '') = '' THEN model END, \
    CASE WHEN COALESCE(request_id, '') = '' THEN COALESCE(total_tokens, '') END";
/// Which of differing rows of one call counts: the first of these, in the order of the fields of the reader's entry.
const GREATEST: &str = "ended DESC, started DESC NULLS LAST, input DESC, cached DESC, written DESC, output DESC, retries DESC, \
    spend DESC, ok DESC, infra DESC, model DESC, pool DESC, provider DESC, effort DESC, part COLLATE \"C\" DESC";

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Text, or what is read as text.
    Text,
    /// A time.
    Time,
    /// A count.
    Count,
    /// A number of dollars.
    Dollars,
    /// JSON.
    Json,
}

impl Holds {
    /// The word for it.
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Time => "a time",
            Self::Count | Self::Dollars => "a number",
            Self::Json => "jsonb",
        }
    }

    /// A column of a type as the statement reads it; `None` if the type does not hold this. A number that is no float goes by way of
    /// its text, as an export does.
    fn read(self, name: &str, kind: &str) -> Option<String> {
        let column = quoted(name);
        let is_whole = ["smallint", "integer", "bigint"].contains(&kind);
        let is_number = is_whole || ["numeric", "real", "double precision"].contains(&kind);
        Some(match self {
            Self::Text => format!("{column}::text COLLATE \"C\""),
            Self::Time if kind.starts_with("timestamp") || kind == "date" => format!("{column}::timestamp"),
            Self::Count if is_whole => {
                format!("CASE WHEN {column} BETWEEN 0 AND 999999999999 THEN {column}::bigint ELSE 0 END")
            }
            Self::Count if is_number => {
                format!("COALESCE(substring({column}::text FROM '^([0-9]{{1,12}})(?:\\.0+)?$')::bigint, 0)")
            }
            Self::Dollars if kind == "double precision" => {
                format!("CASE WHEN {column} > 0 AND {column} < 1e15 THEN {column} ELSE 0 END")
            }
            Self::Dollars if is_number => {
                format!("CASE WHEN {column} > 0 AND {column} < 1e15 THEN {column}::text::float8 ELSE 0 END")
            }
            Self::Json if ["json", "jsonb"].contains(&kind) => format!("{column}::jsonb"),
            Self::Time | Self::Count | Self::Dollars | Self::Json => return None,
        })
    }
}

/// Schema, if one is named, and name of a table.
pub(super) type Place<'a> = (Option<&'a str>, &'a str);

/// A table as it stands in a statement.
pub(super) fn written((schema, table): &Place<'_>) -> String {
    schema.map_or_else(|| quoted(table), |schema| format!("{}.{}", quoted(schema), quoted(table)))
}

/// The columns of a table, with their types, as the statement reads them, and those that it has to do without. `shown` is the table in
/// messages.
pub(super) fn list(shown: &str, columns: &BTreeMap<String, String>) -> Result<(String, Vec<&'static str>), String> {
    if columns.is_empty() {
        return Err(format!("there is no table {shown} that this user may read (fetch.spend_logs.table)"));
    }
    let is_absent = |name: &str| !columns.contains_key(name);
    let absent = |wanted: bool| {
        let names = COLUMNS.iter().filter(move |(name, _, is_needed)| *is_needed == wanted && is_absent(name));
        names.map(|(name, _, _)| *name)
    };
    let lacks: BTreeSet<&str> = absent(true).collect();
    if !lacks.is_empty() {
        let lacks: Vec<&str> = lacks.into_iter().collect();
        return Err(format!("the table {shown} is no spend log: it has no column {}", lacks.join(", ")));
    }
    let column = |(name, holds, _): &(&str, Holds, bool)| {
        let Some(kind) = columns.get(*name) else {
            let kind = if *holds == Holds::Json { "jsonb" } else { "text" };
            return Ok(format!("NULL::{kind} AS {}", quoted(name)));
        };
        let read = holds.read(name, kind).map(|read| format!("{read} AS {}", quoted(name)));
        read.ok_or_else(|| format!("the column {name} of {shown} is {kind}, not {}", holds.word()))
    };
    let list: Vec<String> = COLUMNS.iter().map(column).collect::<Result<_, String>>()?;
    Ok((list.join(", "), absent(false).collect()))
}

/// The statement for some columns of a table.
pub(super) fn statement(columns: &str, table: &str, is_unique: bool) -> String {
    let (once, order) = if is_unique {
        ("*, 0 AS copies".to_owned(), String::new())
    } else {
        let once = format!("DISTINCT ON ({IDENTITY}) *, count(*) OVER (PARTITION BY {IDENTITY}) - 1 AS copies");
        (once, format!("ORDER BY {IDENTITY}, {GREATEST}"))
    };
    let statement = STATEMENT.replace("{columns}", columns).replace("{table}", table);
    statement.replace("{once}", &once).replace("{order}", &order)
}

/// A name of the database.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

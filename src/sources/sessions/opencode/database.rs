//! The tables of `opencode.db`, probed column by column. Whatever is missing is not read; nothing is ever written.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;

use super::limits::Asked;
use super::message::{Message, instant, tokens};
use super::routes::{Attempt, AttemptFailure};
use super::{Found, Session, StoreScan};
use crate::sources::sessions::names::Id;
use crate::vocabulary::Place;

/// How long a locked database is waited for.
const WAIT: Duration = Duration::from_millis(1500);

/// Longest answer that is believed, in milliseconds: thirty days.
const MOST_MS: i64 = 2_592_000_000;

/// Reads one database, called `shown` in places. The error is a fragment without the path.
pub(super) fn read(path: &Path, shown: &str, found: &mut Found, scan: &mut StoreScan) -> Result<(), String> {
    let database = open(path, scan)?;
    let mut reading = || {
        // All tables as they stood at one instant, whoever writes meanwhile.
        database.execute_batch("BEGIN")?;
        sessions(&database, "session", found)?;
        sessions(&database, "session_v2", found)?;
        attempts(&database, shown, found)?;
        messages_v2(&database, shown, found, scan)?;
        messages_v1(&database, shown, found, scan)?;
        router_words(&database, scan)
    };
    reading_result(reading())
}

/// An error of the database as a fragment.
fn reading_result(result: rusqlite::Result<()>) -> Result<(), String> {
    result.map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            "is locked by another program; the next run reads it".to_owned()
        }
        Some(rusqlite::ErrorCode::NotADatabase) => "is no SQLite database".to_owned(),
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => "is damaged".to_owned(),
        Some(rusqlite::ErrorCode::CannotOpen) => "cannot be opened".to_owned(),
        code => format!("cannot be read: {code:?}"),
    })
}

/// Opens a database so that no file is made beside it. In write-ahead mode without a write-ahead file nobody has it open,
/// and nothing need be locked.
fn open(path: &Path, scan: &mut StoreScan) -> Result<Connection, String> {
    let mut header = [0; 100];
    let mut file = File::open(path).map_err(|error| crate::sources::sessions::fault(&error))?;
    file.read_exact(&mut header).map_err(|_| "is no SQLite database".to_owned())?;
    if !header.starts_with(b"SQLite format 3\0") {
        return Err("is no SQLite database".to_owned());
    }
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        std::fs::metadata(name).map_or(0, |meta| meta.len())
    };
    let is_write_ahead = header[18] == 2;
    let has_log = beside("-wal") > 0;
    let is_still = is_write_ahead && (!has_log || beside("-shm") == 0);
    if is_still && has_log {
        scan.fault(
            &path.file_name().unwrap_or_default().to_string_lossy(),
            "has a write-ahead file without its index (-shm): its newest rows are not read",
        );
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?mode=ro{}", escaped(path), if is_still { "&immutable=1" } else { "" });
    let opened = Connection::open_with_flags(uri, flags).and_then(|database| {
        database.busy_timeout(WAIT)?;
        database.execute_batch("PRAGMA query_only = 1")?;
        Ok(database)
    });
    opened.map_err(|error| reading_result(Err(error)).expect_err("an error stays one"))
}

/// A path in a URI.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => out.push(byte.into()),
            _ => write!(out, "%{byte:02X}").expect("writing to a String cannot fail"),
        }
        out
    })
}

/// The columns of a table; none when there is no such table.
fn columns(database: &Connection, table: &str) -> rusqlite::Result<HashSet<String>> {
    let mut statement = database.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// A query of the columns that exist, in the order of those of `order` that do; missing ones are NULL. `None` when a needed
/// one is missing.
fn query(
    database: &Connection,
    table: &str,
    needed: &[&str],
    optional: &[&str],
    order: &[&str],
) -> rusqlite::Result<Option<String>> {
    let known = columns(database, table)?;
    if !needed.iter().all(|column| known.contains(*column)) {
        return Ok(None);
    }
    let wanted: Vec<String> = needed
        .iter()
        .map(|column| format!("\"{column}\""))
        .chain(
            optional.iter().map(|column| if known.contains(*column) { format!("\"{column}\"") } else { "NULL".into() }),
        )
        .collect();
    let order: Vec<String> =
        order.iter().filter(|column| known.contains(**column)).map(|column| format!("\"{column}\"")).collect();
    Ok(Some(format!("SELECT {} FROM \"{table}\" ORDER BY {}", wanted.join(", "), order.join(", "))))
}

/// The text of a column.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(_) | ValueRef::Null => None,
    })
}

/// The number of a column.
#[expect(clippy::cast_precision_loss, reason = "milliseconds and token counts fit an f64 exactly")]
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<f64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) if number.is_finite() => Some(number),
        _ => None,
    })
}

/// A number as a whole one.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
fn rounded(number: f64) -> i64 {
    number.round() as i64
}

/// Sessions: their pool, their parent and their folder.
fn sessions(database: &Connection, table: &str, found: &mut Found) -> rusqlite::Result<()> {
    let Some(sql) = query(database, table, &["id"], &["model", "parent_id", "directory"], &["id"])? else {
        return Ok(());
    };
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(id) = text(row, 0)? else { continue };
        let model = json(row, 1)?.unwrap_or_default();
        let is_route = model["providerID"] == "opencode-route";
        let pool = model["id"].as_str().filter(|_| is_route).map(str::to_owned);
        let session = Session {
            pool,
            is_side: text(row, 2)?.is_some_and(|parent| !parent.is_empty()),
            folder: found.names.optional(text(row, 3)?.as_deref()),
        };
        let id = found.names.number(&id);
        found.sessions.insert(id, session);
    }
    Ok(())
}

/// Messages of the second generation, and compactions: billed work of the model that was active.
fn messages_v2(database: &Connection, shown: &str, found: &mut Found, scan: &mut StoreScan) -> rusqlite::Result<()> {
    let needed = ["id", "session_id", "type", "data"];
    let order = ["session_id", "seq", "id"];
    let Some(sql) = query(database, "session_message", &needed, &[], &order)? else { return Ok(()) };
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut active: Option<(u32, [u32; 3])> = None;
    while let Some(row) = rows.next()? {
        scan.input.lines += 1;
        let (Some(id), Some(session), Some(kind)) = (text(row, 0)?, text(row, 1)?, text(row, 2)?) else {
            damaged(shown, scan);
            continue;
        };
        *scan.kinds.entry(format!("session_message:{kind}")).or_default() += 1;
        if !matches!(kind.as_str(), "assistant" | "compaction") {
            continue;
        }
        let Some(data) = json(row, 3)? else {
            damaged(shown, scan);
            continue;
        };
        let mut message = Message::of_v2(&id, &session, &data, &mut found.names);
        if kind == "compaction" {
            message.is_compaction = true;
            if let Some((_, [provider, model, effort])) = active.filter(|(of, _)| *of == message.session) {
                (message.provider, message.model, message.effort) = (provider, model, effort);
            }
        } else {
            active = Some((message.session, [message.provider, message.model, message.effort]));
        }
        found.add(message);
    }
    Ok(())
}

/// Messages of the first generation, and the tool intervals of their parts.
fn messages_v1(database: &Connection, shown: &str, found: &mut Found, scan: &mut StoreScan) -> rusqlite::Result<()> {
    let Some(sql) = query(database, "message", &["id", "session_id", "data"], &[], &["id"])? else { return Ok(()) };
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        scan.input.lines += 1;
        match (text(row, 0)?, text(row, 1)?, json(row, 2)?) {
            (Some(id), Some(session), Some(data)) => {
                if let Some(message) = Message::of_v1(&id, &session, &data, &mut found.names) {
                    found.add(message);
                }
            }
            _ => damaged(shown, scan),
        }
    }
    parts(database, found)
}

/// Tool intervals by message.
fn parts(database: &Connection, found: &mut Found) -> rusqlite::Result<()> {
    let order = ["message_id", "id"];
    let Some(sql) = query(database, "part", &["message_id", "data"], &[], &order)? else { return Ok(()) };
    // A letter spelled by its number may hide the word.
    let maybe = r#"WHERE instr("data", '"tool"') > 0 OR instr("data", '\u00') > 0 ORDER"#;
    let mut statement = database.prepare(&sql.replacen("ORDER", maybe, 1))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (Some(message), Some(data)) = (text(row, 0)?, json(row, 1)?) else { continue };
        let time = &data["state"]["time"];
        if let (true, Some(start), Some(end)) = (data["type"] == "tool", instant(&time["start"]), instant(&time["end"]))
        {
            found.tools.entry(Id::of(b'o', message.as_bytes())).or_default().push((start, end));
        }
    }
    Ok(())
}

/// The JSON object of a column, if it is one. Broken UTF-8 in a text is replaced.
fn json(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Value>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => super::object(bytes).ok(),
        _ => None,
    })
}

/// Counts a row that holds no record, by its number in the order of reading.
fn damaged(shown: &str, scan: &mut StoreScan) {
    scan.input.malformed_lines += 1;
    let row = usize::try_from(scan.input.lines).unwrap_or(usize::MAX);
    scan.add_damaged(|| Place::new(shown, row));
}

/// What the router logged of every attempt.
fn attempts(database: &Connection, shown: &str, found: &mut Found) -> rusqlite::Result<()> {
    let needed = ["id", "time_started", "time_ended", "route_id", "provider_id", "model_id", "outcome"];
    let optional = [
        "session_id",
        "assistant_message_id",
        "variant",
        "error_tag",
        "first_token_ms",
        "response_ms",
        "tokens_estimated",
        "tokens_output",
        "tokens_reasoning",
        "quota",
    ];
    let Some(sql) = query(database, "route_attempt", &needed, &optional, &["id"])? else { return Ok(()) };
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut number = 0;
    while let Some(row) = rows.next()? {
        number += 1;
        let attempt = attempt(row, found)?;
        if let (Some(quota), Some(provider), Some(model)) = (json(row, 16)?, text(row, 4)?, text(row, 5)?) {
            let asked = Asked { provider: &provider, model: &model, ended: attempt.at, shown, row: number };
            found.limits.take(&quota, asked);
        }
        found.attempts.add(attempt);
    }
    Ok(())
}

/// One attempt, columns as [`attempts`] asks for them.
fn attempt(row: &Row<'_>, found: &mut Found) -> rusqlite::Result<Attempt> {
    let outcome = text(row, 6)?.unwrap_or_default();
    let is_success = outcome == "success";
    let is_blameless = matches!(outcome.as_str(), "interrupted" | "hedged-out");
    let is_estimated = number(row, 13)?.is_some_and(|flag| flag > 0.0);
    let tag = text(row, 10)?.unwrap_or_default();
    let tokens = |column| -> rusqlite::Result<u64> { Ok(number(row, column)?.map_or(0, tokens)) };
    let ms = |column| -> rusqlite::Result<_> {
        Ok(number(row, column)?.map(rounded).filter(|ms| (0..=MOST_MS).contains(ms)))
    };
    Ok(Attempt {
        message: text(row, 8)?.map(|message| Id::of(b'o', message.as_bytes())),
        pool: text(row, 3)?.filter(|pool| !pool.is_empty()),
        provider: found.names.optional(text(row, 4)?.as_deref()),
        model: found.names.optional(text(row, 5)?.as_deref()),
        effort: found.names.optional(text(row, 9)?.as_deref()),
        session: found.names.optional(text(row, 7)?.as_deref()),
        at: number(row, 2)?.map_or(0, rounded),
        is_success,
        is_timed: is_success && !is_estimated,
        is_blameless,
        failure: (!is_success && !is_blameless).then(|| AttemptFailure::of(&outcome, &tag)),
        response_ms: ms(12)?,
        first_token_ms: ms(11)?,
        output: tokens(14)? + tokens(15)?,
    })
}

/// How often the router decided and stepped aside, by reason: shown as kinds of records.
fn router_words(database: &Connection, scan: &mut StoreScan) -> rusqlite::Result<()> {
    for (table, column) in [("route_decision", "reason"), ("route_health", "kind")] {
        if !columns(database, table)?.contains(column) {
            continue;
        }
        let sql = format!("SELECT \"{column}\", count(*) FROM \"{table}\" GROUP BY 1 ORDER BY 1");
        let mut statement = database.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let word = text(row, 0)?.unwrap_or_else(|| "?".to_owned());
            let count = number(row, 1)?.map_or(0, rounded).unsigned_abs();
            *scan.kinds.entry(format!("{table}:{word}")).or_default() += count;
        }
    }
    Ok(())
}

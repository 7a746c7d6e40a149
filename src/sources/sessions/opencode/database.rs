//! The tables of `opencode.db`, probed column by column. Whatever is missing is not read; nothing is ever written.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row};

use super::columns::{Asks, columns, json, number, rounded, text};
use super::limits::Asked;
use super::message::{MOST_MS, Message, member, tokens, tool_interval};
use super::routes::{Attempt, End};
use super::{Found, Session, StoreScan};
use crate::sources::sessions::claude_code::NO_TIME;
use crate::sources::sessions::names::Id;
use crate::vocabulary::{Place, StatedPool};

/// How long a locked database is waited for.
const WAIT: Duration = Duration::from_millis(1500);

/// Longest answer that is believed, in milliseconds: thirty days.
const LONGEST_MS: f64 = 2_592_000_000.0;

/// Reads one database, called `shown` in places. The error is a fragment without the path.
pub(super) fn read(path: &Path, shown: &str, found: &mut Found, scan: &mut StoreScan) -> Result<(), String> {
    let database = open(path, scan)?;
    let mut reading = || {
        // All tables as they stood at one instant, whoever writes meanwhile.
        database.execute_batch("BEGIN")?;
        sessions(&database, "session", shown, found, scan)?;
        sessions(&database, "session_v2", shown, found, scan)?;
        attempts(&database, shown, found, scan)?;
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
        _ => format!("cannot be read: {error}"),
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

/// Sessions: what they are on, their parent, their folder and their agent.
fn sessions(
    database: &Connection,
    table: &'static str,
    shown: &str,
    found: &mut Found,
    scan: &mut StoreScan,
) -> rusqlite::Result<()> {
    let optional = &[("model", ""), ("parent_id", ""), ("directory", ""), ("agent", "")];
    let asks = Asks { table, needed: &["id"], optional, order: &["id"] };
    let Some(sql) = asks.query(database, "", shown, scan)? else { return Ok(()) };
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(id) = text(row, "id")? else { continue };
        let model = json(row, "model")?.unwrap_or_default();
        let session = Session {
            is_side: text(row, "parent_id")?.is_some_and(|parent| !parent.is_empty()),
            folder: found.names.optional(text(row, "directory")?.as_deref()),
            agent: found.names.optional(text(row, "agent")?.as_deref()),
            ..Session::on(&model, &mut found.names)
        };
        let id = found.names.number(&id);
        found.sessions.insert(id, session);
    }
    Ok(())
}

/// What is lost without the session of a message.
const NO_SESSION: &str = "the pool, folder and agent of its sessions are not known";

/// Messages of the second generation, and compactions: billed work of the model that was active.
fn messages_v2(database: &Connection, shown: &str, found: &mut Found, scan: &mut StoreScan) -> rusqlite::Result<()> {
    let asks = Asks {
        table: "session_message",
        needed: &["id", "type", "data"],
        optional: &[("session_id", NO_SESSION), ("seq", ""), ("time_created", "")],
        order: &["session_id", "seq", "time_created", "id"],
    };
    let Some(sql) = asks.query(database, "", shown, scan)? else { return Ok(()) };
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut active: Option<(u32, [u32; 3])> = None;
    while let Some(row) = rows.next()? {
        scan.input.lines += 1;
        let (Some(id), Some(kind)) = (text(row, "id")?, text(row, "type")?) else {
            damaged(shown, scan);
            continue;
        };
        *scan.kinds.entry(format!("session_message:{kind}")).or_default() += 1;
        if !matches!(kind.as_str(), "assistant" | "compaction" | "model-switched") {
            continue;
        }
        let Some(data) = json(row, "data")? else {
            damaged(shown, scan);
            continue;
        };
        let session = text(row, "session_id")?.unwrap_or_default();
        let number = found.names.number(&session);
        let member_now = || found.sessions.get(&number).map_or([0; 3], |session| session.member);
        let before =
            active.filter(|(of, _)| *of == number && number != 0).map_or_else(member_now, |(_, member)| member);
        if kind == "model-switched" {
            active = Some((number, member(&data["model"], &mut found.names)));
            continue;
        }
        let mut message = Message::of_v2(&id, &session, &data, &mut found.names);
        if kind == "compaction" {
            message.is_compaction = true;
            if message.model == 0 {
                message.set_member(before);
            }
        }
        active = Some((number, [message.provider, message.model, message.effort]));
        found.add(message);
    }
    Ok(())
}

/// Messages of the first generation, and the tool intervals of their parts.
fn messages_v1(database: &Connection, shown: &str, found: &mut Found, scan: &mut StoreScan) -> rusqlite::Result<()> {
    let asks =
        Asks { table: "message", needed: &["id", "data"], optional: &[("session_id", NO_SESSION)], order: &["id"] };
    if let Some(sql) = asks.query(database, "", shown, scan)? {
        let mut statement = database.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            scan.input.lines += 1;
            let session = text(row, "session_id")?.unwrap_or_default();
            let (Some(id), Some(data)) = (text(row, "id")?, json(row, "data")?) else {
                damaged(shown, scan);
                continue;
            };
            if let Some(message) = Message::of_v1(&id, &session, &data, &mut found.names) {
                found.add(message);
            }
        }
    }
    parts(database, shown, found, scan)
}

/// Tool intervals by message.
fn parts(database: &Connection, shown: &str, found: &mut Found, scan: &mut StoreScan) -> rusqlite::Result<()> {
    let asks =
        Asks { table: "part", needed: &["message_id", "data"], optional: &[("id", "")], order: &["message_id", "id"] };
    // A letter spelled by its number may hide the word.
    let maybe = r#"WHERE instr("data", '"tool"') > 0 OR instr("data", '\u00') > 0"#;
    let Some(sql) = asks.query(database, maybe, shown, scan)? else { return Ok(()) };
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (Some(message), Some(data)) = (text(row, "message_id")?, json(row, "data")?) else { continue };
        if let Some(interval) = tool_interval(&data) {
            found.tools.entry(Id::of(b'o', message.as_bytes())).or_default().push(interval);
        }
    }
    Ok(())
}

/// Counts a row that holds no record, by its number in the order of reading.
fn damaged(shown: &str, scan: &mut StoreScan) {
    scan.input.malformed_lines += 1;
    let row = usize::try_from(scan.input.lines).unwrap_or(usize::MAX);
    scan.add_damaged(|| Place::new(shown, row));
}

/// What is asked of the router's log.
const ATTEMPTS: Asks = Asks {
    table: "route_attempt",
    needed: &["outcome"],
    optional: &[
        ("id", ""),
        ("time_started", ""),
        ("time_ended", "its calls are put to the time they began"),
        ("session_id", ""),
        ("assistant_message_id", "calls are joined to messages by session, member and time"),
        ("route_id", "the pool of its calls is that of their session"),
        ("provider_id", "the provider of calls without a message is not known"),
        ("model_id", "the model of calls without a message is not known"),
        ("variant", ""),
        ("error_tag", "calls lost to limits cannot be told from others"),
        ("first_token_ms", "no time to the first token"),
        ("response_ms", "no speed of its calls"),
        ("tokens_estimated", ""),
        ("tokens_output", ""),
        ("tokens_reasoning", ""),
        ("quota", ""),
    ],
    order: &["id", "time_started"],
};

/// What the router logged of every attempt.
fn attempts(database: &Connection, shown: &str, found: &mut Found, scan: &mut StoreScan) -> rusqlite::Result<()> {
    let Some(sql) = ATTEMPTS.query(database, "", shown, scan)? else { return Ok(()) };
    let is_unnamed = !columns(database, ATTEMPTS.table)?.contains("assistant_message_id");
    let mut statement = database.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let attempt = Attempt { is_unnamed, ..attempt(row, count, found)? };
        if let (Some(quota), Some(provider), Some(model)) =
            (json(row, "quota")?, text(row, "provider_id")?, text(row, "model_id")?)
        {
            let asked = Asked { provider: &provider, model: &model, ended: attempt.at, shown, row: count };
            found.limits.take(&quota, asked);
        }
        found.attempts.add(attempt);
    }
    Ok(())
}

/// One attempt, the `place`-th of its table.
fn attempt(row: &Row<'_>, place: usize, found: &mut Found) -> rusqlite::Result<Attempt> {
    let word = |column: &str| text(row, column);
    let (outcome, tag) = (word("outcome")?.unwrap_or_default(), word("error_tag")?.unwrap_or_default());
    let time = |column: &str| -> rusqlite::Result<_> {
        Ok(number(row, column)?.filter(|ms| (0.0..=MOST_MS).contains(ms)).map(rounded))
    };
    let ms =
        |column: &str| -> rusqlite::Result<_> { Ok(number(row, column)?.filter(|ms| (0.0..=LONGEST_MS).contains(ms))) };
    let count = |column: &str| -> rusqlite::Result<u64> { Ok(number(row, column)?.map_or(0, tokens)) };
    let mut name = |column: &str| -> rusqlite::Result<u32> { Ok(found.names.optional(word(column)?.as_deref())) };
    let (provider, model, session) = (name("provider_id")?, name("model_id")?, name("session_id")?);
    let (started, ended, response_ms) = (time("time_started")?, time("time_ended")?, ms("response_ms")?);
    let reckoned = started.map(|started| started + response_ms.map_or(0, rounded));
    let message = word("assistant_message_id")?.filter(|message| !message.is_empty());
    let own = word("id")?.unwrap_or_else(|| place.to_string());
    let parts = [own.as_str(), message.as_deref().unwrap_or_default(), &outcome];
    let numbers = [started.unwrap_or(NO_TIME), ended.unwrap_or(NO_TIME), provider.into(), model.into(), session.into()];
    let numbers = numbers.map(i64::to_le_bytes);
    let told: Vec<&[u8]> =
        parts.iter().map(|part| part.as_bytes()).chain(numbers.iter().map(<[u8; 8]>::as_slice)).collect();
    Ok(Attempt {
        id: Id::of_parts(&told),
        message: message.map(|message| Id::of(b'o', message.as_bytes())),
        is_unnamed: false,
        stated: word("route_id")?
            .map_or(StatedPool::Nothing, |pool| StatedPool::Attempt(Some(pool).filter(|pool| !pool.is_empty()))),
        provider,
        model,
        effort: name("variant")?,
        session,
        started: started.or(ended).unwrap_or(NO_TIME),
        at: ended.or(reckoned).unwrap_or(NO_TIME),
        end: End::of(&outcome, &tag),
        is_estimated: number(row, "tokens_estimated")?.is_some_and(|flag| flag > 0.0),
        response_ms,
        first_token_ms: ms("first_token_ms")?,
        output: count("tokens_output")? + count("tokens_reasoning")?,
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

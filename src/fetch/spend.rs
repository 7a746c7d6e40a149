//! `LiteLLM`'s spend logs in `PostgreSQL`: one statement sums them up in the database, and only rows of the session rollup cross
//! the wire. Nothing is written there, and no message holds the connection string.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, Utc};
use postgres::error::SqlState;
use postgres::{Client, Config, Error, NoTls, Row, Transaction};

use crate::rollup::{RollupKey, RollupRow, merge};
use crate::settings::SpendLogs;

/// The statement.
const STATEMENT: &str = include_str!("spend.sql");
/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// How much longer than its own limit the database may stay silent.
const GRACE: Duration = Duration::from_secs(3);
/// Columns without which a table is no spend log.
const NEEDED: [&str; 8] =
    ["call_type", "model", "startTime", "endTime", "prompt_tokens", "completion_tokens", "spend", "cache_hit"];
/// Columns that came later, and what stands for one that is not there.
const LATER: [(&str, &str); 4] = [
    ("model_group", "NULL::text"),
    ("custom_llm_provider", "NULL::text"),
    ("status", "NULL::text"),
    ("metadata", "NULL::jsonb"),
];
/// What is said of rows that are no calls of a model, by the word of the statement.
const LEFT_OUT: [(&str, &str); 3] = [
    ("cache_hit", "answers from a cache: left out"),
    ("no_model", "rows without a model: left out"),
    ("not_generation", "calls that generate nothing: left out"),
];

/// The spend logs, summed up.
#[derive(Debug, Default)]
pub(super) struct Summed {
    /// Rows of the session rollup, sorted by key.
    pub(super) rows: Vec<RollupRow>,
    /// What to say, one sentence each.
    pub(super) notes: Vec<String>,
}

/// Where the spend logs are, and from which day on they are read.
#[derive(Debug, Clone)]
struct Question {
    /// Connection string. It is never shown.
    connection: String,
    /// Settings.
    spend: SpendLogs,
    /// First UTC day.
    since: NaiveDate,
}

/// Sums up the last days. The error is one line. A thread asks, so that a server that falls silent holds nobody up.
pub(super) fn sum_up(connection: &str, spend: &SpendLogs, now: DateTime<Utc>) -> Result<Summed, String> {
    let since = now.date_naive().checked_sub_days(Days::new(spend.days.into())).unwrap_or(NaiveDate::MIN);
    let question = Question { connection: connection.to_owned(), spend: spend.clone(), since };
    let limit = limit(spend).min(CONNECT) + limit(spend) + GRACE;
    let (answer, answered) = sync_channel(1);
    // A receiver that waits no more is no fault of the sender.
    let ask = move || drop(answer.send(question.ask()));
    std::thread::Builder::new().spawn(ask).map_err(|error| format!("no thread to ask with: {}", error.kind()))?;
    match answered.recv_timeout(limit) {
        Ok(summed) => summed,
        Err(RecvTimeoutError::Timeout) => Err(format!("the database fell silent: no answer in {} s", limit.as_secs())),
        Err(RecvTimeoutError::Disconnected) => Err("the database's answer could not be read".to_owned()),
    }
}

/// Longest time of the statement.
fn limit(spend: &SpendLogs) -> Duration {
    Duration::from_secs_f64(spend.timeout_s.min(86_400.0))
}

impl Question {
    /// Asks.
    fn ask(&self) -> Result<Summed, String> {
        let fault = |error: Error| self.fault(&error);
        let mut client = self.connect()?;
        let mut reading = client.build_transaction().read_only(true).start().map_err(fault)?;
        // Local to the transaction, so that a pool of connections keeps nothing of it.
        let limit = limit(&self.spend).as_millis().max(1);
        let set = format!("SET LOCAL TimeZone = 'UTC'; SET LOCAL statement_timeout = {limit}");
        reading.batch_execute(&set).map_err(fault)?;
        let columns = self.columns(&mut reading)?;
        let (statement, missing) = self.statement(&columns)?;
        let rows = reading.query(&statement, &[&self.since.to_string()]).map_err(fault)?;
        reading.rollback().map_err(fault)?;
        let mut summed = summed(&rows).map_err(fault)?;
        let absent = missing.join(", ");
        summed.notes.extend((!missing.is_empty()).then(|| format!("the table has no column {absent}: not known")));
        Ok(summed)
    }

    /// A connection.
    fn connect(&self) -> Result<Client, String> {
        let variable = &self.spend.variable;
        let mut config: Config = self.connection.trim().parse().map_err(|_| {
            format!("the variable {variable} holds no connection string: postgres://user:password@host:5432/database")
        })?;
        config.application_name("pool-review").connect_timeout(CONNECT).keepalives_idle(Duration::from_secs(30));
        config.connect(NoTls).map_err(|error| self.fault(&error))
    }

    /// Schema, if one is named, and name of the table.
    fn table(&self) -> (Option<&str>, &str) {
        self.spend.table.split_once('.').map_or((None, &self.spend.table), |(schema, table)| (Some(schema), table))
    }

    /// The columns that may be read, with their types.
    fn columns(&self, reading: &mut Transaction<'_>) -> Result<BTreeMap<String, String>, String> {
        let (schema, table) = self.table();
        let found = reading.query(
            "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_name = $1 AND \
             CASE WHEN $2::text IS NULL THEN table_schema = ANY (current_schemas(false)) ELSE table_schema = $2 END",
            &[&table, &schema],
        );
        let rows = found.map_err(|error| self.fault(&error))?;
        let pair = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
        rows.iter().map(pair).collect::<Result<_, Error>>().map_err(|error| self.fault(&error))
    }

    /// The statement for a table with these columns, and the columns it has to do without.
    fn statement(&self, columns: &BTreeMap<String, String>) -> Result<(String, Vec<&'static str>), String> {
        let shown = &self.spend.table;
        if columns.is_empty() {
            return Err(format!("there is no table {shown} that this user may read (fetch.spend_logs.table)"));
        }
        let lacks: BTreeSet<&str> = NEEDED.into_iter().filter(|name| !columns.contains_key(*name)).collect();
        if !lacks.is_empty() {
            let lacks: Vec<&str> = lacks.into_iter().collect();
            return Err(format!("the table {shown} is no spend log: it has no column {}", lacks.join(", ")));
        }
        if let Some(kind) = columns.get("metadata").filter(|kind| !["json", "jsonb"].contains(&kind.as_str())) {
            return Err(format!("the column metadata of {shown} is {kind}, not jsonb"));
        }
        let needed = NEEDED.into_iter().map(quoted);
        let later = LATER.into_iter().map(|(name, absent)| match (columns.contains_key(name), name) {
            (true, "metadata") => "metadata::jsonb AS metadata".to_owned(),
            (true, _) => quoted(name),
            (false, _) => format!("{absent} AS {name}"),
        });
        let list: Vec<String> = needed.chain(later).collect();
        let (schema, table) = self.table();
        let place = schema.map_or_else(|| quoted(table), |schema| format!("{}.{}", quoted(schema), quoted(table)));
        let missing = LATER.into_iter().map(|(name, _)| name).filter(|name| !columns.contains_key(*name)).collect();
        Ok((STATEMENT.replace("{columns}", &list.join(", ")).replace("{table}", &place), missing))
    }

    /// What went wrong, in one line of our own words; of the server's only the code and a short piece.
    fn fault(&self, error: &Error) -> String {
        let (variable, table) = (&self.spend.variable, &self.spend.table);
        let Some(said) = error.as_db_error() else { return outage(error) };
        match *said.code() {
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                format!("the database does not accept user or password (variable: {variable})")
            }
            SqlState::INVALID_CATALOG_NAME => format!("there is no such database (variable: {variable})"),
            SqlState::INSUFFICIENT_PRIVILEGE => format!("the user may not read the table {table}"),
            SqlState::QUERY_CANCELED => {
                format!("the statement took longer than {} s (fetch.spend_logs.timeout_s)", self.spend.timeout_s)
            }
            SqlState::TOO_MANY_CONNECTIONS => "the database takes no more connections".to_owned(),
            ref code => {
                let words = said.message().chars().map(|c| if c.is_control() { ' ' } else { c });
                format!("the database says {}: {}", code.code(), words.take(120).collect::<String>())
            }
        }
    }
}

/// What went wrong on the way to the database.
fn outage(error: &Error) -> String {
    let cause = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    match cause {
        Some(cause) => format!("no connection to the database: {}", cause.kind()),
        None if error.to_string().contains("TLS") => {
            "the database demands TLS, which is not spoken here: use a tunnel, or an export as a session store"
                .to_owned()
        }
        None => "the database broke off".to_owned(),
    }
}

/// A name of the database.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The rows of the answer.
fn summed(rows: &[Row]) -> Result<Summed, Error> {
    let mut calls = Vec::new();
    let mut left_out: BTreeMap<String, u64> = BTreeMap::new();
    let mut unread = 0;
    for row in rows {
        let part: String = row.try_get("part")?;
        if part == "call" {
            unread += count(row, "unread")?;
            calls.extend(rollup_row(row)?);
        } else {
            *left_out.entry(part).or_default() += count(row, "attempts")?;
        }
    }
    let mut notes: Vec<String> =
        LEFT_OUT.into_iter().filter_map(|(part, words)| Some(format!("{} {words}", left_out.get(part)?))).collect();
    notes.extend((unread > 0).then(|| {
        format!("{unread} calls with metadata that is no object: their cached tokens, retries and errors are not known")
    }));
    Ok(Summed { rows: merge(calls), notes })
}

/// A count; a negative one is none.
fn count(row: &Row, column: &str) -> Result<u64, Error> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
}

/// One row of the rollup; `None` for a day that no calendar has.
fn rollup_row(row: &Row) -> Result<Option<RollupRow>, Error> {
    let text = |column: &str| row.try_get::<_, String>(column);
    let time = |column: &str| Ok::<_, Error>(DateTime::from_timestamp_millis(row.try_get(column)?));
    let (Ok(day), Some(first_at), Some(last_at)) = (text("day")?.parse(), time("first_ms")?, time("last_ms")?) else {
        return Ok(None);
    };
    let effort = text("effort")?;
    let key = RollupKey {
        day,
        pool: text("pool")?,
        provider: text("provider")?,
        model: text("model")?,
        effort: if effort.is_empty() { "unrecorded".to_owned() } else { effort },
        mode: "standard".to_owned(),
        task_class: "unclassified".to_owned(),
        source: "litellm".to_owned(),
        ..RollupKey::default()
    };
    let mut summed = RollupRow { last_at, ..RollupRow::empty(key, first_at) };
    let (sums, usage) = (&mut summed.sums, &mut summed.usage);
    sums.attempts = count(row, "attempts")?;
    sums.infra = count(row, "infra")?;
    sums.unknown = sums.attempts - sums.infra;
    sums.cost_usd = row.try_get("cost_usd")?;
    sums.n_cost = count(row, "n_cost")?;
    usage.responses = count(row, "responses")?;
    usage.input_tokens = count(row, "input_tokens")?;
    usage.cache_read_tokens = count(row, "cache_read_tokens")?;
    usage.cache_write_tokens = count(row, "cache_write_tokens")?;
    usage.output_tokens = count(row, "output_tokens")?;
    usage.speed_output_tokens = count(row, "speed_output_tokens")?;
    usage.busy_ms = count(row, "busy_ms")?;
    usage.n_speed = count(row, "n_speed")?;
    usage.sum_cost_sq = row.try_get("sum_cost_sq")?;
    usage.retries = count(row, "retries")?;
    Ok(Some(summed))
}

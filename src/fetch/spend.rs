//! `LiteLLM`'s spend logs in `PostgreSQL`: one statement sums them up in the database, and only rows of the session rollup cross
//! the wire. Nothing is written there, and no message holds the connection string.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, Utc};
use postgres::config::{SslMode, SslNegotiation};
use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Client, Error, NoTls, Row, Transaction};

use super::address::Address;
use super::statement::{Place, list, statement, written};
use super::tls;
use crate::rollup::{RollupKey, RollupRow, merge};
use crate::settings::SpendLogs;
use crate::vocabulary::{Usd, UsdSquared};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// How much longer than its own limit the database may stay silent.
const GRACE: Duration = Duration::from_secs(3);
/// Whether an index makes sure that no request id occurs twice; $1 names the table.
const IS_UNIQUE: &str = "SELECT EXISTS (SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] \
    WHERE indrelid = to_regclass($1) AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL AND indnatts = 1 \
    AND attname = 'request_id' AND attnotnull)";
/// What is said of rows that are no calls of a model, by the word of the statement.
const LEFT_OUT: [(&str, &str); 4] = [
    ("cache_hit", "answers from a cache: left out"),
    ("no_model", "rows without a model: left out"),
    ("not_generation", "calls that generate nothing: left out"),
    ("no_time", "calls that ended at no time: left out"),
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
    /// Where the files of the connection string are found from.
    workspace: PathBuf,
}

/// Sums up the last days. The error is one line. A thread asks, so that a server that falls silent holds nobody up.
pub(super) fn sum_up(
    connection: &str,
    spend: &SpendLogs,
    workspace: &Path,
    now: DateTime<Utc>,
) -> Result<Summed, String> {
    let since = now.date_naive().checked_sub_days(Days::new(spend.days.into())).unwrap_or(NaiveDate::MIN);
    let (connection, workspace) = (connection.to_owned(), workspace.to_path_buf());
    let question = Question { connection, spend: spend.clone(), since, workspace };
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
    /// Asks. Statements carry the types of their parameters, so that none is prepared under a name: a pool of connections between us and
    /// the database keeps nothing of us.
    fn ask(&self) -> Result<Summed, String> {
        let fault = |error: Error| self.fault(&error);
        let (mut client, schema) = self.connect()?;
        let mut reading = client.build_transaction().read_only(true).start().map_err(fault)?;
        let limit = limit(&self.spend).as_millis().max(1);
        let set = format!("SET LOCAL TimeZone = 'UTC'; SET LOCAL statement_timeout = {limit}");
        reading.batch_execute(&set).map_err(fault)?;
        let place = self.place(schema.as_deref());
        let columns = columns(&mut reading, &place).map_err(fault)?;
        let (list, missing) = list(&self.spend.table, &columns)?;
        let (is_unique, written) = (is_unique(&mut reading, &place).map_err(fault)?, written(&place));
        let statement = statement(&list, &written, is_unique);
        let rows = reading.query_typed(&statement, &[(&self.since.to_string(), Type::TEXT)]).map_err(fault)?;
        reading.rollback().map_err(fault)?;
        let mut summed = summed(&rows).map_err(fault)?;
        let absent = missing.join(", ");
        summed.notes.extend((!missing.is_empty()).then(|| format!("the table has no column {absent}: not known")));
        Ok(summed)
    }

    /// A connection, and the schema that its string names.
    fn connect(&self) -> Result<(Client, Option<String>), String> {
        let in_variable = |fault: String| format!("the variable {} {fault}", self.spend.variable);
        let Address { mut config, proof, roots, schema } = Address::parse(&self.connection).map_err(in_variable)?;
        config.application_name("pool-review").connect_timeout(CONNECT).keepalives_idle(Duration::from_secs(30));
        let client = if config.get_ssl_mode() == SslMode::Disable {
            config.connect(NoTls)
        } else {
            let is_direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
            config.connect(tls::connector(proof, &roots, &self.workspace, is_direct)?)
        };
        Ok((client.map_err(|error| self.fault(&error))?, schema))
    }

    /// Schema, if one is named, and name of the table. The settings speak before the connection string.
    fn place<'a>(&'a self, schema: Option<&'a str>) -> Place<'a> {
        self.spend.table.split_once('.').map_or((schema, &self.spend.table), |(schema, table)| (Some(schema), table))
    }

    /// What went wrong, in one line of our own words; of the server's only the code and a short piece.
    fn fault(&self, error: &Error) -> String {
        let (variable, table) = (&self.spend.variable, &self.spend.table);
        let Some(said) = error.as_db_error() else { return tls::fault(error).unwrap_or_else(|| outage(error)) };
        match *said.code() {
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                if ["no encryption", "SSL off"].iter().any(|words| said.message().contains(words)) =>
            {
                "the database demands TLS from this user and address: sslmode=require in the connection string"
                    .to_owned()
            }
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                format!("the database does not accept user or password (variable: {variable})")
            }
            SqlState::INVALID_CATALOG_NAME => format!("there is no such database (variable: {variable})"),
            SqlState::INSUFFICIENT_PRIVILEGE => format!("the user may not read the table {table}"),
            SqlState::QUERY_CANCELED => {
                format!(
                    "the statement was cancelled, or took longer than {} s (fetch.spend_logs.timeout_s)",
                    self.spend.timeout_s
                )
            }
            SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN => {
                "the database was shut down in the middle".to_owned()
            }
            SqlState::CANNOT_CONNECT_NOW => "the database is starting up or shutting down".to_owned(),
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
        None => "the database broke off".to_owned(),
    }
}

/// The columns that may be read, with their types.
fn columns(reading: &mut Transaction<'_>, (schema, table): &Place<'_>) -> Result<BTreeMap<String, String>, Error> {
    let rows = reading.query_typed(
        "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_name = $1 AND \
         CASE WHEN $2 IS NULL THEN table_schema = ANY (current_schemas(false)) ELSE table_schema = $2 END",
        &[(table, Type::TEXT), (schema, Type::TEXT)],
    )?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Whether the table itself makes sure that no call stands in it twice.
fn is_unique(reading: &mut Transaction<'_>, place: &Place<'_>) -> Result<bool, Error> {
    reading.query_typed_one(IS_UNIQUE, &[(&written(place), Type::TEXT)])?.try_get(0)
}

/// The rows of the answer.
fn summed(rows: &[Row]) -> Result<Summed, Error> {
    let mut calls = Vec::new();
    let mut left_out: BTreeMap<String, u64> = BTreeMap::new();
    let (mut unread, mut copies, mut odd) = (0, 0, 0);
    for row in rows {
        let part: String = row.try_get("part")?;
        copies += count(row, "copies")?;
        if part == "call" {
            unread += count(row, "unread")?;
            let read = rollup_row(row)?;
            odd += u64::from(read.is_none());
            calls.extend(read);
        } else {
            *left_out.entry(part).or_default() += count(row, "attempts")?;
        }
    }
    let mut notes: Vec<String> =
        LEFT_OUT.into_iter().filter_map(|(part, words)| Some(format!("{} {words}", left_out.get(part)?))).collect();
    notes.extend((odd > 0).then(|| format!("{odd} sums of the database that are none: left out")));
    notes.extend((copies > 0).then(|| format!("{copies} further rows of the same calls: counted once")));
    notes.extend((unread > 0).then(|| {
        format!("{unread} calls with metadata that is no object: their cached tokens, retries and errors are not known")
    }));
    Ok(Summed { rows: merge(calls), notes })
}

/// A count; a negative one is none.
fn count(row: &Row, column: &str) -> Result<u64, Error> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
}

/// One row of the rollup; `None` for a day that no calendar has, and for sums that are no numbers.
fn rollup_row(row: &Row) -> Result<Option<RollupRow>, Error> {
    let text = |column: &str| row.try_get::<_, String>(column);
    let time = |column: &str| Ok::<_, Error>(DateTime::from_timestamp_millis(row.try_get(column)?));
    let (Ok(day), Some(first_at), Some(last_at)) = (text("day")?.parse(), time("first_ms")?, time("last_ms")?) else {
        return Ok(None);
    };
    let (cost, squares) = (Usd::of_units(&text("cost_units")?), UsdSquared::of_units(&text("square_units")?));
    let Some((cost, squares)) = cost.zip(squares) else { return Ok(None) };
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
    (sums.cost, usage.cost_squares) = (cost, squares);
    sums.n_cost = count(row, "n_cost")?;
    usage.responses = count(row, "responses")?;
    usage.input_tokens = count(row, "input_tokens")?;
    usage.cache_read_tokens = count(row, "cache_read_tokens")?;
    usage.cache_write_tokens = count(row, "cache_write_tokens")?;
    usage.output_tokens = count(row, "output_tokens")?;
    usage.speed_output_tokens = count(row, "speed_output_tokens")?;
    usage.busy_ms = count(row, "busy_ms")?;
    usage.n_speed = count(row, "n_speed")?;
    usage.retries = count(row, "retries")?;
    Ok(Some(summed))
}

//! Brings each configured body of market and catalogues, and the rollup of a database, into the data folder. The only room beside issue filing that opens a
//! socket; it writes the bodies of the settings and their sidecars, nothing else. A source that fails leaves its last good body.

mod address;
mod http;
mod keep;
mod pages;
mod plan;
mod proxy;
mod spend;
mod statement;
mod tls;

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::rollup::write_csv;
use crate::settings::{Auth, Settings};
use crate::sources::market::{BodyKind, count_rows};
use http::{Answer, Client, Trouble};
use keep::{Kept, Sidecar};
pub use plan::{Job, JobKind, plan};
pub use proxy::proxy_for;

/// What fetching needs of the world outside.
pub struct Surroundings<'a> {
    /// The wall clock.
    pub clock: &'a dyn Fn() -> DateTime<Utc>,
    /// Waits.
    pub sleep: &'a dyn Fn(Duration),
    /// A variable of the environment: keys and proxies, by name.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Told what is being done; a no-op where there is no terminal.
    pub progress: &'a dyn Fn(&str),
}

/// What became of one source.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A new body is in its place.
    Fetched {
        /// Usable rows.
        rows: u64,
        /// Bytes written.
        bytes: usize,
        /// What else to say, one sentence each.
        notes: Vec<String>,
    },
    /// The server says that the body is unchanged.
    Unchanged,
    /// The body is young enough; nobody was asked.
    Fresh {
        /// Its age in hours.
        hours: f64,
    },
    /// It failed; the last good body, if there is one, is still there.
    Failed {
        /// Why, in one line without any secret.
        reason: String,
        /// When the body that is left was fetched.
        left: Option<DateTime<Utc>>,
    },
}

/// One source and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetched {
    /// The source: `market`, `catalogues`, …, or `provider_catalogue:<provider>`.
    pub source: String,
    /// Where its body lies, as the settings write it.
    pub target: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// Fetches every job in order. `force` asks even for fresh bodies; `accept_fewer` takes a body that lost rows.
pub fn run(
    workspace: &Path,
    settings: &Settings,
    jobs: &[Job],
    (force, accept_fewer): (bool, bool),
    around: &Surroundings<'_>,
) -> Vec<Fetched> {
    let one = |(at, job): (usize, &Job)| {
        (around.progress)(&format!("fetching {} ({} of {})", job.source, at + 1, jobs.len()));
        let run = Run { workspace, settings, job, around, accept_fewer };
        Fetched { source: job.source.clone(), target: job.shown(), outcome: run.outcome(force) }
    };
    jobs.iter().enumerate().map(one).collect()
}

/// One job under way.
struct Run<'a> {
    /// Where paths start.
    workspace: &'a Path,
    /// Settings.
    settings: &'a Settings,
    /// The job.
    job: &'a Job,
    /// The world outside.
    around: &'a Surroundings<'a>,
    /// Whether a body that lost rows is taken.
    accept_fewer: bool,
}

impl Run<'_> {
    /// What becomes of the job.
    fn outcome(&self, force: bool) -> Outcome {
        let path = self.workspace.join(&self.job.target);
        let kept = keep::read(&path);
        let now = (self.around.clock)();
        if let Some(hours) = kept.as_ref().and_then(|kept| kept.hours(now)).filter(|_| !force)
            && (0.0..self.settings.fetch.fresh_hours).contains(&hours)
        {
            return Outcome::Fresh { hours };
        }
        let brought = self.key().and_then(|key| match self.job.kind {
            JobKind::Body(kind) => self.bring(kind, key, &path, kept.as_ref(), now),
            JobKind::SpendLogs => self.sum_up(key, &path, kept.as_ref(), now),
        });
        match brought {
            Ok(outcome) => outcome,
            Err(reason) => Outcome::Failed { reason, left: kept.and_then(|kept| kept.sidecar.fetched_at) },
        }
    }

    /// The key of the job, and how it is sent.
    fn key(&self) -> Result<Option<(Auth, String)>, String> {
        let Some((name, auth)) = &self.job.key else { return Ok(None) };
        match (self.around.variable)(name).filter(|key| !key.trim().is_empty()) {
            Some(key) => Ok(Some((*auth, key))),
            None if self.job.kind == JobKind::SpendLogs => {
                Err(format!("the variable {name} holds no connection string"))
            }
            None if self.job.needs_key => Err(format!("the variable {name} holds no key")),
            None => Ok(None),
        }
    }

    /// Sums the spend logs up in their database and puts the rollup in its place. A database that has lost every call is not
    /// believed.
    fn sum_up(
        &self,
        key: Option<(Auth, String)>,
        path: &Path,
        kept: Option<&Kept>,
        now: DateTime<Utc>,
    ) -> Result<Outcome, String> {
        let (_, connection) = key.expect("a job of spend logs needs its key");
        let spend = &self.settings.addresses.spend_logs;
        let spend::Summed { rows, notes } = spend::sum_up(&connection, spend, self.workspace, now)?;
        let had_rows = kept.and_then(|kept| kept.sidecar.rows).is_some_and(|rows| rows > 0);
        if rows.is_empty() && had_rows && !self.accept_fewer {
            let days = spend.days;
            return Err(format!("not accepted: no call in the last {days} days (--accept-fewer takes it)"));
        }
        let (count, body) = (rows.len() as u64, write_csv(&rows, now).into_bytes());
        let answer = Answer { body, ..Answer::default() };
        keep::write(path, &answer.body, &Sidecar::of(&answer, now, count, (count, false)))?;
        Ok(Outcome::Fetched { rows: count, bytes: answer.body.len(), notes })
    }

    /// Asks for the body, checks it and puts it in its place.
    fn bring(
        &self,
        kind: BodyKind,
        key: Option<(Auth, String)>,
        path: &Path,
        kept: Option<&Kept>,
        now: DateTime<Utc>,
    ) -> Result<Outcome, String> {
        let client = Client::new(&self.settings.fetch, self.job, key, self.around)?;
        let validators = kept.filter(|_| !self.job.pages.is_paged()).map(|kept| &kept.sidecar);
        let answer = match pages::get(&client, self.job, &self.settings.fetch, validators) {
            Ok(answer) => answer,
            Err(Trouble::NotModified) => {
                let sidecar = kept.map(|kept| kept.sidecar.clone()).ok_or("304 without a body of ours")?;
                keep::write_sidecar(path, &Sidecar { fetched_at: Some(now), ..sidecar })?;
                return Ok(Outcome::Unchanged);
            }
            Err(trouble) => return Err(trouble.reason()),
        };
        let rows = count_rows(kind, answer.body.clone()).map_err(|reason| format!("not accepted: {reason}"))?;
        let most = kept.and_then(|kept| kept.sidecar.high_water.or(kept.sidecar.rows)).unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^53")]
        let is_short = (rows as f64) < self.settings.market.coverage * most as f64;
        if is_short && !self.accept_fewer {
            let share = self.settings.market.coverage * 100.0;
            return Err(format!("not accepted: {rows} of {most} rows, below {share:.0} % (--accept-fewer takes it)"));
        }
        let is_taken_on_purpose = self.accept_fewer && is_short;
        let was_taken = kept.is_some_and(|kept| kept.sidecar.accepted_fewer);
        let high_water = if is_taken_on_purpose { rows } else { rows.max(most) };
        let sidecar = Sidecar::of(&answer, now, rows, (high_water, is_taken_on_purpose || was_taken));
        keep::write(path, &answer.body, &sidecar)?;
        Ok(Outcome::Fetched { rows, bytes: answer.body.len(), notes: Vec::new() })
    }
}

impl Fetched {
    /// One line for people.
    pub fn line(&self) -> String {
        let Self { source, target, outcome } = self;
        match outcome {
            Outcome::Fetched { rows, bytes, notes } => {
                let said = format!("{source}: fetched, {rows} rows, {bytes} bytes -> {target}");
                [vec![said], notes.clone()].concat().join("; ")
            }
            Outcome::Unchanged => format!("{source}: unchanged (304), {target} is current"),
            Outcome::Fresh { hours } => format!("{source}: fresh, {hours:.1} h old, not asked"),
            Outcome::Failed { reason, left: Some(at) } => {
                format!("{source}: failed, the body of {} is left: {reason}", at.format("%Y-%m-%d %H:%M UTC"))
            }
            Outcome::Failed { reason, left: None } => format!("{source}: failed, there is no body: {reason}"),
        }
    }

    /// As JSON; what does not apply is null.
    pub fn json(&self) -> Value {
        let mut fields = json!({ "source": self.source, "target": self.target, "rows": null, "bytes": null,
            "notes": [], "age_hours": null, "reason": null, "kept_body_of": null });
        fields["state"] = match &self.outcome {
            Outcome::Fetched { rows, bytes, notes } => {
                (fields["rows"], fields["bytes"], fields["notes"]) = (json!(rows), json!(bytes), json!(notes));
                "fetched"
            }
            Outcome::Unchanged => "unchanged",
            Outcome::Fresh { hours } => {
                fields["age_hours"] = json!(hours);
                "fresh"
            }
            Outcome::Failed { reason, left } => {
                (fields["reason"], fields["kept_body_of"]) = (json!(reason), json!(left));
                "failed"
            }
        }
        .into();
        fields
    }

    /// Whether it failed.
    pub fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }
}

//! How the job lives: its last runs, what was missed, what is due, why it was silent, and what to do when it stalls. For
//! people, as JSON (schema: `instructions/schemas/status.v1.json`) and as Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::text::{self, Place};
use super::view::{counted, minute};

/// The name of the shape.
pub const SCHEMA: &str = "pool-review.status/1";

/// Everything `status` says.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Name of the shape.
    pub schema: &'static str,
    /// The instant it speaks of.
    pub now: DateTime<Utc>,
    /// The cron expression.
    pub schedule: String,
    /// Its zone.
    pub timezone: String,
    /// Whether a run is under way.
    pub is_running: bool,
    /// The last runs, oldest first.
    pub runs: Vec<RunLine>,
    /// Latest runs that failed or were killed, one after the other.
    pub failures_in_a_row: usize,
    /// Due instants of the last days that nobody served.
    pub missed: Vec<DateTime<Utc>>,
    /// Due instants of the last days that were served late.
    pub late: Vec<DateTime<Utc>>,
    /// The next due instant.
    pub next_due: Option<DateTime<Utc>>,
    /// What the last run that did its work said.
    pub last: Option<LastRun>,
    /// What became of issues, or why none was filed.
    pub issues: String,
    /// Landed changes whose way back is due, by the last run.
    pub rollbacks_due: Vec<DueLine>,
    /// Sources by the age they have now.
    pub sources: Vec<SourceAge>,
    /// What is wrong; empty when the job is healthy.
    pub problems: Vec<String>,
    /// What to do about it.
    pub remedies: Vec<String>,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// Run id.
    pub run: String,
    /// When it began.
    pub started: DateTime<Utc>,
    /// How long it took; `None` of a run that did not end.
    pub duration_ms: Option<u64>,
    /// Its exit code; `None` of a run that did not end.
    pub exit: Option<u8>,
    /// Why it failed, if it did and that is known.
    pub reason: Option<String>,
}

/// What a run said.
#[derive(Debug, Clone, Serialize)]
pub struct LastRun {
    /// Run id.
    pub run: String,
    /// Its review instant.
    pub now: DateTime<Utc>,
    /// Pools and categories by verdict.
    pub tally: BTreeMap<String, u64>,
    /// Open proposals.
    pub open_proposals: usize,
    /// Why there is nothing to do, or what there is.
    pub outcome: String,
}

/// A landed change whose way back is due.
#[derive(Debug, Clone, Serialize)]
pub struct DueLine {
    /// Its number.
    pub number: u64,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its pool.
    pub pool: String,
    /// The run since which it is due.
    pub since: String,
    /// The numbers in words.
    pub words: String,
}

/// How old a source is.
#[derive(Debug, Clone, Serialize)]
pub struct SourceAge {
    /// The source.
    pub source: String,
    /// Its state in the last run.
    pub state: String,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Hours since its as-of time; `None` is unknown.
    pub age_hours: Option<f64>,
    /// The age from which on it is stale; `None` when it has none.
    pub max_age_hours: Option<f64>,
}

impl SourceAge {
    /// Whether nothing of it could be used in the last run.
    pub fn has_failed(&self) -> bool {
        self.state == "failed"
    }

    /// Whether it is too old now, or was when it was read.
    pub fn is_stale(&self) -> bool {
        self.state == "stale" || self.age_hours.zip(self.max_age_hours).is_some_and(|(age, most)| age > most)
    }

    /// Whether it has used up most of its age.
    fn is_getting_stale(&self) -> bool {
        self.age_hours.zip(self.max_age_hours).is_some_and(|(age, most)| age > 0.75 * most)
    }
}

impl LastRun {
    /// Why a run has nothing to do for anyone, or what it has.
    pub fn outcome(tally: &BTreeMap<String, u64>, open_proposals: usize) -> String {
        if open_proposals > 0 {
            return format!("{} in the reports folder", counted(open_proposals, "open proposal", "open proposals"));
        }
        let reasons = [
            ("aligned", "aligned verdicts file nothing"),
            ("watch", "waiting for another look"),
            ("unresolved", "the evidence does not settle it"),
            ("insufficient_evidence", "too few observations"),
            ("misaligned", "no change passes policy and bar, the log says why"),
            ("blocked", "a source they need is missing or stale"),
        ];
        let said = reasons.iter().filter_map(|(word, why)| {
            let count = tally.get(*word).copied().filter(|count| *count > 0)?;
            Some(format!("{count} {word} ({why})"))
        });
        let said: Vec<String> = said.collect();
        if said.is_empty() {
            "nothing was judged".to_owned()
        } else {
            format!("nothing was filed: {}", said.join(", "))
        }
    }
}

/// What became of issues, by the plan of the last run, or why none was filed.
pub fn issues(plan: Option<&Value>, repository: Option<&str>) -> String {
    let Some(repository) = repository else {
        return "no issue is filed: issues.repository is not set".to_owned();
    };
    let Some(plan) = plan else { return "no issue was filed: no run has made a plan yet".to_owned() };
    let mut steps: BTreeMap<&str, usize> = BTreeMap::new();
    for step in plan["entries"].as_array().into_iter().flatten().filter_map(|entry| entry["step"].as_str()) {
        *steps.entry(step).or_default() += 1;
    }
    let steps: Vec<String> = steps.into_iter().map(|(step, count)| format!("{step} {count}")).collect();
    let steps = if steps.is_empty() { "nothing to do".to_owned() } else { steps.join(", ") };
    let sent = if plan["source"] == "server" { "" } else { "; nothing was sent, because that takes --file-issues" };
    format!("issues of {repository}: {steps}{sent}")
}

/// The answer as JSON, with a line end.
pub fn json(status: &Status) -> String {
    let mut text = serde_json::to_string_pretty(status).expect("a status holds text and finite numbers only");
    text.push('\n');
    text
}

/// The answer for people.
pub fn human(status: &Status) -> String {
    let mut lines = vec![format!(
        "schedule {:?} in {}; next due {}",
        status.schedule,
        status.timezone,
        status.next_due.map_or("never".to_owned(), minute)
    )];
    if status.is_running {
        lines.push("a run is under way".to_owned());
    }
    lines.push(String::new());
    lines.extend(status.runs.iter().rev().map(|run| {
        let end = match (run.exit, run.duration_ms) {
            (Some(exit), duration) => format!("exit {exit:<2}  {:>7} ms", duration.unwrap_or(0)),
            _ => "did not end".to_owned(),
        };
        let why = run.reason.as_ref().map_or(String::new(), |why| format!("  {}", text::quote(why, Place::Terminal)));
        format!("{}  {}  {end}{why}", minute(run.started), text::name(&run.run, Place::Terminal))
    }));
    if status.runs.is_empty() {
        lines.push("no run yet".to_owned());
    }
    lines.push(String::new());
    if let Some(last) = &status.last {
        lines.push(format!("run {}: {}", text::name(&last.run, Place::Terminal), last.outcome));
        lines.push(text::own(&status.issues, Place::Terminal));
    }
    lines.extend(status.rollbacks_due.iter().map(|due| {
        let (pool, words) = (text::name(&due.pool, Place::Terminal), text::quote(&due.words, Place::Terminal));
        let since = text::name(&due.since, Place::Terminal);
        let number = due.number;
        format!(
            "rollback of R{number} ({pool}) is due since run {since}: {words}; `pool-review proposals patch R{number} --rollback` prints \
             the way back"
        )
    }));
    let instants = |what: &str, all: &[DateTime<Utc>]| {
        let shown: Vec<String> = all.iter().rev().take(5).rev().copied().map(minute).collect();
        (!all.is_empty()).then(|| format!("{} {what}, the last: {}", all.len(), shown.join(", ")))
    };
    lines.extend(instants("missed", &status.missed));
    lines.extend(instants("late", &status.late));
    if status.failures_in_a_row > 0 {
        lines.push(format!("{} in a row", counted(status.failures_in_a_row, "failure", "failures")));
    }
    for source in status.sources.iter().filter(|source| source.is_stale() || source.is_getting_stale()) {
        let word = if source.is_stale() { "stale" } else { "getting stale" };
        let hours = |hours: Option<f64>| hours.map_or("unknown".to_owned(), |hours| format!("{hours:.1} h"));
        lines.push(format!(
            "{word}: {}, {} old of at most {}",
            source.source,
            hours(source.age_hours),
            hours(source.max_age_hours)
        ));
    }
    lines.push(String::new());
    if status.problems.is_empty() {
        lines.push("healthy".to_owned());
    }
    lines.extend(status.problems.iter().map(|problem| format!("problem: {}", text::own(problem, Place::Terminal))));
    lines.extend(status.remedies.iter().map(|remedy| format!("to do: {}", text::own(remedy, Place::Terminal))));
    let mut text = lines.join("\n").replace("\n\n\n", "\n\n");
    text.push('\n');
    text
}

/// The numbers in the text format of Prometheus.
pub fn prometheus(status: &Status) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, samples: &[(String, f64)]| {
        if samples.is_empty() {
            return;
        }
        writeln!(text, "# HELP pool_review_{name} {help}\n# TYPE pool_review_{name} gauge")
            .expect("a String takes all");
        for (labels, value) in samples {
            writeln!(text, "pool_review_{name}{labels} {value}").expect("a String takes all");
        }
    };
    let plain = |value: f64| vec![(String::new(), value)];
    #[expect(clippy::cast_precision_loss, reason = "seconds and counts of this century fit an f64 exactly")]
    let seconds = |at: DateTime<Utc>| at.timestamp() as f64;
    #[expect(clippy::cast_precision_loss, reason = "counts that a person could make")]
    let count = |count: usize| count as f64;
    gauge("healthy", "1 when nothing is wrong.", &plain(if status.problems.is_empty() { 1.0 } else { 0.0 }));
    gauge("failures_in_a_row", "Latest runs that failed or were killed.", &plain(count(status.failures_in_a_row)));
    gauge("missed_reviews", "Due reviews of the last 7 days that did not run.", &plain(count(status.missed.len())));
    if let Some(due) = status.next_due {
        gauge("next_due_timestamp_seconds", "When the next review is due.", &plain(seconds(due)));
    }
    if let Some(run) = status.runs.last() {
        gauge("last_start_timestamp_seconds", "When the last run began.", &plain(seconds(run.started)));
        if let (Some(exit), Some(duration)) = (run.exit, run.duration_ms) {
            gauge("last_exit_code", "How the last run ended.", &plain(f64::from(exit)));
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
            gauge("last_duration_seconds", "How long the last run took.", &plain(duration as f64 / 1e3));
        }
    }
    if let Some(last) = &status.last {
        gauge("open_proposals", "Proposals open after the last run.", &plain(count(last.open_proposals)));
        #[expect(clippy::cast_precision_loss, reason = "counts that a person could make")]
        let by_word: Vec<(String, f64)> =
            last.tally.iter().map(|(word, n)| (format!("{{verdict=\"{}\"}}", text::marker(word)), *n as f64)).collect();
        gauge("pools", "Pools and categories by verdict.", &by_word);
    }
    let aged = |age: fn(&SourceAge) -> Option<f64>| -> Vec<(String, f64)> {
        let one = |source: &SourceAge| Some((format!("{{source=\"{}\"}}", text::marker(&source.source)), age(source)?));
        status.sources.iter().filter_map(one).collect()
    };
    gauge("source_age_hours", "How old a source is.", &aged(|source| source.age_hours));
    gauge("source_max_age_hours", "The age from which on a source is stale.", &aged(|source| source.max_age_hours));
    text
}

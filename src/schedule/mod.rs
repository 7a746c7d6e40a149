//! When a review is due: a five-field cron expression, as Vixie cron reads it, in a named time zone. The only user of cron.
//!
//! The expression is evaluated in local wall-clock time without a zone, and each tick is then mapped to an instant: a tick
//! inside the spring gap is due at the first instant after it, a tick that the clock shows twice is due the first time only.

pub mod watch;

use anyhow::{Context as _, bail, ensure};
use chrono::{DateTime, Duration, NaiveDateTime, TimeZone as _, Timelike as _, Utc};
use chrono_tz::Tz;

/// A schedule in a time zone.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The zone of the wall clock.
    zone: Tz,
    /// One expression, or two of which either may be due.
    ticks: Vec<cron::Schedule>,
    /// The five fields: as written when they begin with a star, else as lists of numbers.
    written: [String; 5],
    /// The values of the five fields.
    values: [Vec<u32>; 5],
    /// What is odd about the expression.
    warnings: Vec<String>,
}

/// What one field of the expression may hold.
struct FieldKind {
    /// Its name in messages.
    name: &'static str,
    /// Smallest value.
    min: u32,
    /// Largest value.
    max: u32,
    /// Names of values, from `min` on.
    names: &'static [&'static str],
    /// What a step over the whole field must divide to come round evenly; 0 when no step can.
    cycle: u32,
}

/// The five fields in their order.
const FIELDS: [FieldKind; 5] = [
    FieldKind { name: "minute", min: 0, max: 59, names: &[], cycle: 60 },
    FieldKind { name: "hour", min: 0, max: 23, names: &[], cycle: 24 },
    FieldKind { name: "day of month", min: 1, max: 31, names: &[], cycle: 0 },
    FieldKind { name: "month", min: 1, max: 12, names: &MONTHS, cycle: 12 },
    FieldKind { name: "weekday", min: 0, max: 7, names: &WEEKDAYS, cycle: 7 },
];
/// Names of months, from 1.
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// Names of weekdays, from 0.
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Short forms and what they stand for.
const NICKNAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// One field as read.
#[derive(Debug)]
struct Field {
    /// Every value it allows.
    values: Vec<u32>,
    /// Whether it begins with `*`: then Vixie cron joins day of month and weekday by AND.
    is_star: bool,
    /// The text, where it is `*` or a step over everything.
    written: Option<String>,
}

impl Schedule {
    /// Reads five fields or one of `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`.
    /// Errors are one plain sentence fragment that says what to write instead.
    pub fn parse(expression: &str, zone: Tz) -> anyhow::Result<Self> {
        let mut warnings = Vec::new();
        let fields = read_fields(expression.trim(), &mut warnings)?;
        let [minute, hour, day, month, weekday] = &fields;
        let any = "*".to_owned();
        let days_of = |field: &Field| if field.values.len() == 31 { any.clone() } else { list(&field.values) };
        let weekdays = if weekday.values.len() == 7 { any.clone() } else { crate_weekdays(&weekday.values) };
        let joined: Vec<(String, String)> = if day.is_star || weekday.is_star {
            vec![(days_of(day), weekdays)]
        } else {
            vec![(days_of(day), any.clone()), (any.clone(), weekdays)]
        };
        let ticks = joined
            .into_iter()
            .map(|(day, weekday)| {
                let text = format!(
                    "0 {} {} {day} {} {weekday}",
                    list(&minute.values),
                    list(&hour.values),
                    list(&month.values)
                );
                text.parse().with_context(|| format!("schedule {expression:?}"))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let written = fields.each_ref().map(|field| field.written.clone().unwrap_or_else(|| list(&field.values)));
        let values = fields.map(|field| field.values);
        let schedule = Self { zone, ticks, written, values, warnings };
        ensure!(schedule.next_tick(DateTime::UNIX_EPOCH.naive_utc()).is_some(), "schedule {expression:?} is never due");
        Ok(schedule)
    }

    /// The five fields for another reader of cron expressions: no names, no ranges, Sunday is 0.
    pub fn fields(&self) -> [String; 5] {
        self.written.clone()
    }

    /// The values of the five fields: minutes, hours, days of the month, months, weekdays from Sunday 0.
    pub fn values(&self) -> [&[u32]; 5] {
        self.values.each_ref().map(Vec::as_slice)
    }

    /// Whether day of month and weekday are both restricted, so that either may be due.
    pub fn is_either_day(&self) -> bool {
        self.ticks.len() > 1
    }

    /// What is odd about the expression, each a sentence; empty when nothing is.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The first due instant after `now`; `None` beyond the year 2100.
    pub fn next_after(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut local = now.with_timezone(&self.zone).naive_local();
        loop {
            local = self.next_tick(local)?;
            let due = self.instant(local)?;
            if due > now {
                return Some(due);
            }
        }
    }

    /// The next tick of the wall clock, zone or not.
    fn next_tick(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        let whole = local.with_nanosecond(0)?.and_utc();
        self.ticks.iter().filter_map(|ticks| ticks.after(&whole).next()).min().map(|tick| tick.naive_utc())
    }

    /// The instant at which the wall clock first shows a time, or has first passed it.
    fn instant(&self, tick: NaiveDateTime) -> Option<DateTime<Utc>> {
        let minutes_of_two_days = 2 * 24 * 60;
        (0..minutes_of_two_days)
            .filter_map(|minutes| tick.checked_add_signed(Duration::minutes(minutes)))
            .find_map(|local| self.zone.from_local_datetime(&local).earliest())
            .map(|due| due.to_utc())
    }
}

/// The fields of an expression; oddities go to `warnings`.
fn read_fields(expression: &str, warnings: &mut Vec<String>) -> anyhow::Result<[Field; 5]> {
    let full = match NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(expression)) {
        Some((_, full)) => full,
        None if expression.eq_ignore_ascii_case("@reboot") => {
            bail!("schedule \"@reboot\" has no time of day: write when to run, for example \"0 */12 * * *\"")
        }
        None if expression.starts_with('@') => {
            bail!(
                "schedule {expression:?} is no short form: use @hourly, @daily, @midnight, @weekly, @monthly or @yearly"
            )
        }
        None => expression,
    };
    let texts: Vec<&str> = full.split_ascii_whitespace().collect();
    match texts.len() {
        5 => {}
        6 | 7 => bail!(
            "schedule {expression:?} has {} fields: it takes five, minute hour day month weekday, and neither seconds nor years",
            texts.len()
        ),
        count => bail!("schedule {expression:?} has {count} fields: it takes five, minute hour day month weekday"),
    }
    let mut fields = Vec::with_capacity(FIELDS.len());
    for (kind, text) in FIELDS.iter().zip(texts) {
        let field = kind.read(text, warnings).with_context(|| format!("schedule {expression:?}"))?;
        fields.push(field);
    }
    Ok(fields.try_into().expect("five texts gave five fields"))
}

impl FieldKind {
    /// Reads a comma-separated list of values, ranges and steps.
    fn read(&self, text: &str, warnings: &mut Vec<String>) -> anyhow::Result<Field> {
        let mut values = Vec::new();
        for part in text.split(',') {
            values.extend(self.part(part, warnings)?);
        }
        if self.max == 7 {
            for value in &mut values {
                *value %= 7;
            }
        }
        values.sort_unstable();
        values.dedup();
        let is_step = text == "*" || text.strip_prefix("*/").is_some_and(|step| !step.contains(','));
        Ok(Field { values, is_star: text.starts_with('*'), written: is_step.then(|| text.to_owned()) })
    }

    /// The values of one value, range or step.
    fn part(&self, part: &str, warnings: &mut Vec<String>) -> anyhow::Result<Vec<u32>> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(self.step(range, step, warnings)?)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.min, if self.max == 7 { 6 } else { self.max }),
            Some((first, last)) => self.range(first, last)?,
            None if step.is_some() => {
                bail!("{} {part:?} steps from a single value: write {range}-{}/…", self.name, self.max)
            }
            None => {
                let value = self.value(range)?;
                (value, value)
            }
        };
        let step = step.unwrap_or(1);
        Ok((first..=last).step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect())
    }

    /// Both ends of a range. Sunday closes a week that begins on another day.
    fn range(&self, first: &str, last: &str) -> anyhow::Result<(u32, u32)> {
        let (from, to) = (self.value(first)?, self.value(last)?);
        let to = if self.max == 7 && to == 0 && from > 0 && last.eq_ignore_ascii_case("sun") { 7 } else { to };
        ensure!(from <= to, "{} {first}-{last} runs backwards: write two ranges, separated by a comma", self.name);
        Ok((from, to))
    }

    /// A step, which must be at least 1; one that does not come round evenly is a warning.
    fn step(&self, range: &str, step: &str, warnings: &mut Vec<String>) -> anyhow::Result<u32> {
        let value: u32 = match step.parse() {
            Ok(value) if step.bytes().all(|byte| byte.is_ascii_digit()) && value > 0 => value,
            _ => bail!("{} step {step:?} is not a whole number of at least 1", self.name),
        };
        if range == "*" && value > 1 && (self.cycle == 0 || !self.cycle.is_multiple_of(value)) {
            warnings.push(format!(
                "{} step */{value} does not come round evenly: the last interval before it starts again is shorter",
                self.name
            ));
        }
        Ok(value)
    }

    /// A number or a name.
    fn value(&self, text: &str) -> anyhow::Result<u32> {
        if let Some(index) = self.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            return Ok(self.min + u32::try_from(index).expect("a dozen names"));
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u32>() {
            Ok(value) if is_number && (self.min..=self.max).contains(&value) => Ok(value),
            _ => bail!("{} {text:?} is not between {} and {}", self.name, self.min, self.max),
        }
    }
}

/// Values as a list.
fn list(values: &[u32]) -> String {
    values.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Weekdays counted from Sunday 0 as the cron crate counts them: from Sunday 1.
fn crate_weekdays(values: &[u32]) -> String {
    list(&values.iter().map(|value| value + 1).collect::<Vec<_>>())
}

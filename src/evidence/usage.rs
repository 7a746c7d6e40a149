//! Model calls of session stores, put to the members of a pool. Every quantity of a member and day is taken from the first
//! source that has it (reference sessions §7.7), so that a call that two stores saw counts once. A call is no task.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::attribution::SpeedMember;
use super::rates::Share;
use crate::identity::Identity;
use crate::vocabulary::{CallCounts, CallSource, ModelId, PoolId, Quantity, UsageRow};

/// Counts, and who saw them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The counts.
    pub counts: CallCounts,
    /// Names of the sources, sorted.
    pub sources: BTreeSet<String>,
}

impl Seen {
    /// The sum of some rows.
    fn of<'a>(rows: impl IntoIterator<Item = &'a UsageRow>) -> Self {
        let mut seen = Self::default();
        for row in rows {
            seen.counts.add(&row.counts);
            seen.sources.insert(row.source.as_str().to_owned());
        }
        seen
    }

    /// The sources in words.
    pub fn said(&self) -> String {
        self.sources.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// What session stores saw of one member of a pool. Calls that fit several pools count for the member, and for no pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemberCalls {
    /// Calls, those lost to availability, retries and quota hits.
    pub reach: Seen,
    /// Tokens.
    pub tokens: Seen,
    /// Dollars and how many responses they are of.
    pub cost: Seen,
    /// Stalls.
    pub stalls: Seen,
    /// Calls of this very pool in the last days of the idle rule.
    pub recent: Seen,
}

impl MemberCalls {
    /// Calls that were not lost to the infrastructure among all; `None` without any.
    pub fn availability(&self) -> Option<Share> {
        let counts = &self.reach.counts;
        Share::of(counts.calls.saturating_sub(counts.infra), counts.calls)
    }

    /// The share of responses whose cost is known; `None` without any.
    #[expect(clippy::cast_precision_loss, reason = "counts of responses stay far below 2^53")]
    pub fn priced_share(&self) -> Option<f64> {
        let counts = &self.cost.counts;
        (counts.responses > 0).then(|| counts.n_cost as f64 / counts.responses as f64)
    }
}

/// Which days count, at one review.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsageDays {
    /// The review instant.
    pub now: DateTime<Utc>,
    /// Older days are left out, days.
    pub max_age_days: f64,
    /// Days of the idle rule.
    pub recent_days: f64,
}

impl UsageDays {
    /// The first day of a span that ends now.
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
    fn since(&self, days: f64) -> NaiveDate {
        Duration::try_days(days as i64).map_or(NaiveDate::MIN, |span| (self.now - span).date_naive())
    }
}

/// Every call row by the model it means.
#[derive(Debug, Default)]
pub struct Usage {
    /// Canonical model → its rows.
    rows: BTreeMap<ModelId, Vec<UsageRow>>,
    /// First day of the last ones.
    recent: NaiveDate,
    /// Names that could not be matched.
    unmatched: BTreeSet<String>,
}

/// The model of calls whose record names none.
const NAMELESS: &str = "unknown";

/// Whether a row has a quantity.
type Has = fn(&CallCounts) -> bool;

impl Usage {
    /// Puts rows under the models they mean. The order of rows changes nothing.
    pub fn build(identity: &Identity, rows: &[UsageRow], days: UsageDays) -> Self {
        let mut usage = Self { recent: days.since(days.recent_days), ..Self::default() };
        let (first, last) = (days.since(days.max_age_days), days.now.date_naive());
        for row in rows.iter().filter(|row| (first..=last).contains(&row.day)) {
            match identity.offer(&row.provider, &row.model).model() {
                Some(model) => usage.rows.entry(model.clone()).or_default().push(row.clone()),
                None if row.model == NAMELESS => {}
                None => drop(usage.unmatched.insert(format!("{}/{}", row.provider, row.model))),
            }
        }
        for rows in usage.rows.values_mut() {
            rows.sort_by(|a, b| order(a).cmp(&order(b)));
        }
        usage
    }

    /// What was seen of a member of a pool. A row that names another pool is not of this one, one that names a home is of that
    /// home only, one without an effort is of the only member of its model.
    pub fn of(&self, pool: &PoolId, member: &SpeedMember<'_>) -> MemberCalls {
        let fits = |row: &&UsageRow| {
            row.effort.as_ref().map_or(member.is_only_effort, |effort| effort == member.effort)
                && row.home.as_ref().is_none_or(|home| home.as_str() == member.home)
                && (row.home.is_some() || row.provider.as_str() == member.provider)
        };
        let rows: Vec<&UsageRow> = self.rows.get(member.model).into_iter().flatten().filter(fits).collect();
        let here = |row: &&UsageRow| row.pool.as_ref().is_none_or(|stated| stated == pool);
        let seen = |quantity: Quantity, is_there: Has| Seen::of(first_source(&rows, quantity, is_there).filter(here));
        let calls = first_source(&rows, Quantity::Calls, |counts| counts.calls > 0);
        let recent = |row: &&UsageRow| row.pool.as_ref() == Some(pool) && row.day >= self.recent;
        MemberCalls {
            reach: seen(Quantity::Calls, |counts| counts.calls > 0),
            tokens: seen(Quantity::Tokens, |counts| counts.responses > 0),
            cost: Seen::of(costs(&rows).filter(here)),
            stalls: seen(Quantity::Calls, |counts| counts.stalls > 0),
            recent: Seen::of(calls.filter(recent)),
        }
    }

    /// Names that could not be matched, sorted.
    pub fn unmatched(&self) -> &BTreeSet<String> {
        &self.unmatched
    }
}

/// The order in which rows are summed.
fn order(row: &UsageRow) -> impl Ord + use<'_> {
    let member = (&row.pool, &row.provider, &row.model, &row.effort, &row.home);
    (row.day, &row.source, member, row.counts.calls, row.counts.tokens, row.counts.cost)
}

/// Place of a row's source; engines that nobody knows stand one behind the other by name.
fn place(row: &UsageRow, quantity: Quantity) -> (u8, &str) {
    let rank = row.source.rank(quantity);
    let name = if matches!(row.source, CallSource::Other(_)) { row.source.as_str() } else { "" };
    (rank, name)
}

/// The rows of the first source of each day that has a quantity, whatever pool they are of.
fn first_source<'a>(
    rows: &[&'a UsageRow],
    quantity: Quantity,
    is_there: Has,
) -> impl Iterator<Item = &'a UsageRow> + use<'a> {
    let mut first: BTreeMap<NaiveDate, (u8, &str)> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_there(&row.counts)) {
        let own = place(row, quantity);
        let least = first.entry(row.day).or_insert(own);
        *least = own.min(*least);
    }
    let taken: Vec<&UsageRow> =
        rows.iter().copied().filter(|row| first.get(&row.day) == Some(&place(row, quantity))).collect();
    taken.into_iter()
}

/// Dollars: of each day the first source that prices anything, with all its responses, priced or not; on days on which none
/// does, the responses alone.
fn costs<'a>(rows: &[&'a UsageRow]) -> impl Iterator<Item = &'a UsageRow> + use<'a> {
    let billed: BTreeSet<NaiveDate> = rows.iter().filter(|row| row.counts.n_cost > 0).map(|row| row.day).collect();
    let (with, without): (Vec<_>, Vec<_>) = rows.iter().copied().partition(|row| billed.contains(&row.day));
    let priced = first_source(&with, Quantity::Cost, |counts| counts.n_cost > 0);
    priced.chain(first_source(&without, Quantity::Cost, |counts| counts.responses > 0))
}

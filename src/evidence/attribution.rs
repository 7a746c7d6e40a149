//! Which rows of our own evidence belong to which pool and member: resolved names, review-time exclusions, counts by class.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::rates::RawRate;
use super::speed::{MemberSpeed, SpeedReading, by_member};
use crate::identity::Identity;
use crate::rollup::{self, RollupInput};
use crate::vocabulary::{Effort, ModelId, PoolId, ScorecardRow, SpeedRow};

/// The effort of a row that records none.
const UNRECORDED: &str = "?";

/// Which rows count, from the settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowLimits {
    /// Older rows are left out, days.
    pub max_age_days: f64,
    /// Younger rows are not scored, hours.
    pub mature_hours: f64,
    /// Span of the idle rule, days.
    pub idle_days: f64,
}

/// The rates of one pool: `model@effort` → class → counts.
pub type PoolRates = BTreeMap<String, BTreeMap<String, RawRate>>;

/// Our own evidence, attributed.
#[derive(Debug, Default)]
pub struct Attribution {
    /// Pool → member → class → counts. A row without a recorded effort stands under `model@?`.
    rates: BTreeMap<String, PoolRates>,
    /// Pool → reason → rows left out.
    excluded: BTreeMap<String, BTreeMap<String, u64>>,
    /// Pool → `model@effort` → tasks of the idle span.
    recent: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// Speed rows with their canonical model.
    speeds: Vec<(ModelId, SpeedRow)>,
    /// Names that could not be matched: source row's provider and model.
    unmatched: BTreeSet<String>,
}

impl Attribution {
    /// Attributes rows at the review instant. The order of rows changes nothing.
    pub fn build(
        identity: &Identity,
        cards: &[ScorecardRow],
        speeds: &[SpeedRow],
        limits: RowLimits,
        now: DateTime<Utc>,
    ) -> Self {
        let mut all = Self::default();
        let inputs: Vec<RollupInput> =
            cards.iter().filter_map(|row| all.scorecard(identity, row, limits, now)).collect();
        for tally in rollup::by_member(&inputs) {
            let rate = RawRate::from(&tally);
            *all.rates
                .entry(tally.pool)
                .or_default()
                .entry(tally.member)
                .or_default()
                .entry(tally.class)
                .or_default() += rate;
        }
        for row in speeds {
            match identity.offer(&row.provider, &row.model).model() {
                Some(model) => all.speeds.push((model.clone(), row.clone())),
                None => all.miss(&row.provider.to_string(), &row.model),
            }
        }
        all
    }

    /// One scorecard row as a rollup input, or counted as left out. A row that names no pool belongs to none.
    fn scorecard(
        &mut self,
        identity: &Identity,
        row: &ScorecardRow,
        limits: RowLimits,
        now: DateTime<Utc>,
    ) -> Option<RollupInput> {
        let pool = row.pool.as_ref().map_or_else(String::new, ToString::to_string);
        let age = hours_between(row.finished_at, now);
        let Some(model) = identity.offer(&row.provider, &row.model).model().cloned() else {
            self.miss(&row.provider.to_string(), &row.model);
            self.exclude(&pool, "unmapped_model");
            return None;
        };
        if age > limits.max_age_days * 24.0 {
            self.exclude(&pool, "too_old");
            return None;
        }
        let effort = row.effort.as_ref().map_or(UNRECORDED, Effort::as_str);
        let member = format!("{model}@{effort}");
        if age <= limits.idle_days * 24.0 {
            let tasks = self.recent.entry(pool.clone()).or_default().entry(member.clone()).or_default();
            tasks.insert(row.task_id.clone());
        }
        Some(RollupInput {
            pool,
            member,
            class: row.task_class.clone(),
            task: row.task_id.clone(),
            day: row.finished_at.date_naive(),
            outcome: row.outcome,
            immature: age < limits.mature_hours,
            duration_s: row.duration_s,
            cost_usd: row.cost_usd,
        })
    }

    /// Counts a row that is left out.
    fn exclude(&mut self, pool: &str, reason: &str) {
        *self.excluded.entry(pool.to_owned()).or_default().entry(reason.to_owned()).or_default() += 1;
    }

    /// Remembers a name that could not be matched.
    fn miss(&mut self, provider: &str, model: &str) {
        self.unmatched.insert(format!("{provider}/{model}"));
    }

    /// The class counts of a member of a pool. Rows without a recorded effort join it only when it is the pool's only
    /// member of that model (DESIGN §14).
    pub fn rates(
        &self,
        pool: &PoolId,
        model: &ModelId,
        effort: &Effort,
        is_only_effort: bool,
    ) -> BTreeMap<String, RawRate> {
        let Some(members) = self.rates.get(pool.as_str()) else { return BTreeMap::new() };
        let mut rates = members.get(&format!("{model}@{effort}")).cloned().unwrap_or_default();
        if is_only_effort {
            for (class, rate) in members.get(&format!("{model}@{UNRECORDED}")).into_iter().flatten() {
                *rates.entry(class.clone()).or_default() += *rate;
            }
        }
        rates
    }

    /// Rows of a pool that were left out, by reason: at the review and by their outcome.
    pub fn excluded(&self, pool: &PoolId) -> BTreeMap<String, u64> {
        let mut excluded = self.excluded.get(pool.as_str()).cloned().unwrap_or_default();
        for rate in self.rates.get(pool.as_str()).into_iter().flatten().flat_map(|(_, classes)| classes.values()) {
            for (reason, n) in
                [("infrastructure", rate.infra), ("unknown_outcome", rate.unknown), ("immature", rate.immature)]
            {
                if n > 0 {
                    *excluded.entry(reason.to_owned()).or_default() += n;
                }
            }
        }
        excluded
    }

    /// Distinct tasks of a pool in the idle span, and of one member of it. Rows without a recorded effort count for every
    /// member of their model, so that no member is called idle for want of a record.
    pub fn recent_tasks(&self, pool: &PoolId, member: Option<(&ModelId, &Effort)>) -> u64 {
        let Some(members) = self.recent.get(pool.as_str()) else { return 0 };
        let is_meant = |name: &str| {
            member.is_none_or(|(model, effort)| {
                name == format!("{model}@{effort}") || name == format!("{model}@{UNRECORDED}")
            })
        };
        let tasks: BTreeSet<_> =
            members.iter().filter(|(name, _)| is_meant(name)).flat_map(|(_, tasks)| tasks).collect();
        tasks.len() as u64
    }

    /// The measured speeds of the members of a pool, by key. A row that names a pool speaks of that pool only, one that names
    /// a home of that home only, one without an effort of the only member of its model.
    pub fn speeds(&self, pool: &PoolId, members: &[SpeedMember<'_>]) -> BTreeMap<String, MemberSpeed> {
        let mut readings = Vec::new();
        for (model, row) in &self.speeds {
            if row.pool.as_ref().is_some_and(|stated| stated != pool) {
                continue;
            }
            let fits = |member: &&SpeedMember<'_>| {
                member.model == model
                    && row.effort.as_ref().map_or(member.is_only_effort, |effort| effort == member.effort)
                    && row.home.as_ref().is_none_or(|home| home.as_str() == member.home)
                    && (row.home.is_some() || row.provider.as_str() == member.provider)
            };
            readings.extend(members.iter().filter(fits).map(|member| reading(&member.key, row)));
        }
        by_member(&readings)
    }

    /// Names that could not be matched, sorted.
    pub fn unmatched(&self) -> &BTreeSet<String> {
        &self.unmatched
    }
}

/// A member as speed rows are matched with it.
pub struct SpeedMember<'a> {
    /// Its key.
    pub key: String,
    /// Its canonical model.
    pub model: &'a ModelId,
    /// Its effort.
    pub effort: &'a Effort,
    /// Its home.
    pub home: &'a str,
    /// Its provider.
    pub provider: &'a str,
    /// Whether no other member of the pool is the same model at another effort.
    pub is_only_effort: bool,
}

/// A speed row as a reading of one member.
fn reading(member: &str, row: &SpeedRow) -> SpeedReading {
    SpeedReading {
        member: member.to_owned(),
        class: row.task_class.clone(),
        n: row.n,
        output_tps: row.output_tps,
        output_tps_90: row.output_tps_90,
        first_answer_s: row.first_answer_s,
        task_s: row.task_s,
    }
}

/// Hours between two instants.
fn hours_between(from: DateTime<Utc>, to: DateTime<Utc>) -> f64 {
    let span: Duration = to - from;
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let hours = span.num_seconds() as f64 / 3600.0;
    hours
}

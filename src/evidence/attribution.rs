//! Which rows of our own evidence belong to which pool and member: resolved names, review-time exclusions, counts by class.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::own::{self, MemberRows, OwnRow, RowClock};
use super::speed::{MemberSpeed, SpeedReading, by_member};
use super::statistics::severity::JudgeCell;
use crate::identity::Identity;
use crate::vocabulary::{Effort, ModelId, PoolId, ProviderId, ScorecardRow, SpeedRow};

/// The effort of a row that records none.
pub(super) const UNRECORDED: &str = "?";

/// Which rows count, from the settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowLimits {
    /// Older rows are left out, days.
    pub max_age_days: f64,
}

/// The rows of one pool: `model@effort` → class → rows.
type PoolRows = BTreeMap<String, MemberRows>;

/// Scores that one judge gave one member's work of one class.
type JudgeScores = BTreeMap<(String, String, String), (f64, f64)>;

/// Our own evidence, attributed.
#[derive(Debug, Default)]
pub struct Attribution {
    /// Pool → its rows. A row without a recorded effort stands under `model@?`.
    own: BTreeMap<String, PoolRows>,
    /// Pool → (judge, `model@effort`, class) → sum of scores and their number.
    judged: BTreeMap<String, JudgeScores>,
    /// Pool → reason → rows left out.
    excluded: BTreeMap<String, BTreeMap<String, u64>>,
    /// Speed rows with their canonical model.
    speeds: Vec<(ModelId, SpeedRow)>,
    /// Names that could not be matched: source row's provider and model.
    unmatched: BTreeSet<String>,
    /// Provider → model → what was resolved already: the same few names come back on every row.
    resolved: BTreeMap<ProviderId, BTreeMap<String, Resolved>>,
}

/// What a provider's model text means.
#[derive(Debug)]
struct Resolved {
    /// The canonical model, if it is known.
    model: Option<ModelId>,
    /// Effort → `model@effort`.
    members: BTreeMap<Option<Effort>, Arc<str>>,
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
        for row in cards {
            all.add(identity, row, limits, now);
        }
        for row in speeds {
            match identity.offer(&row.provider, &row.model).model() {
                Some(model) => all.speeds.push((model.clone(), row.clone())),
                None => all.miss(&row.provider.to_string(), &row.model),
            }
        }
        all.settle();
        all
    }

    /// Takes one scorecard row in, or counts it as left out. A row that names no pool belongs to none.
    pub fn add(&mut self, identity: &Identity, row: &ScorecardRow, limits: RowLimits, now: DateTime<Utc>) {
        let pool = row.pool.as_ref().map_or("", |pool| pool.as_str());
        let Some(member) = self.member(identity, row) else {
            self.miss(row.provider.as_str(), &row.model);
            return self.exclude(pool, "unmapped_model");
        };
        let age_hours = hours_between(row.finished_at, now);
        if age_hours > limits.max_age_days * 24.0 {
            return self.exclude(pool, "too_old");
        }
        if age_hours < 0.0 {
            return self.exclude(pool, "future");
        }
        if let Some(judged) = &row.judged {
            let scores = entry(&mut self.judged, pool);
            let sum = scores.entry((judged.judge.clone(), member.to_string(), row.task_class.clone())).or_default();
            *sum = (sum.0 + judged.score, sum.1 + 1.0);
        }
        let rows = entry(entry(entry(&mut self.own, pool), &member), &row.task_class);
        rows.push(OwnRow::of(row));
    }

    /// Puts the rows in the order in which they are summed; to be called once all are in.
    pub fn settle(&mut self) {
        self.own.values_mut().flat_map(BTreeMap::values_mut).for_each(own::settle);
    }

    /// `model@effort` of a row; `None` for a name that is not known.
    fn member(&mut self, identity: &Identity, row: &ScorecardRow) -> Option<Arc<str>> {
        if !self.resolved.contains_key(&row.provider) {
            self.resolved.insert(row.provider.clone(), BTreeMap::new());
        }
        let models = self.resolved.get_mut(&row.provider)?;
        if !models.contains_key(&row.model) {
            let model = identity.offer(&row.provider, &row.model).model().cloned();
            models.insert(row.model.clone(), Resolved { model, members: BTreeMap::new() });
        }
        let Resolved { model, members } = models.get_mut(&row.model)?;
        if let Some(known) = members.get(&row.effort) {
            return Some(Arc::clone(known));
        }
        let effort = row.effort.as_ref().map_or(UNRECORDED, Effort::as_str);
        let member: Arc<str> = format!("{}@{effort}", model.as_ref()?).into();
        members.insert(row.effort.clone(), Arc::clone(&member));
        Some(member)
    }

    /// Counts a row that is left out.
    fn exclude(&mut self, pool: &str, reason: &str) {
        *entry(entry(&mut self.excluded, pool), reason) += 1;
    }

    /// Remembers a name that could not be matched.
    fn miss(&mut self, provider: &str, model: &str) {
        self.unmatched.insert(format!("{provider}/{model}"));
    }

    /// The rows of a member of a pool by class. Rows without a recorded effort join it only when it is the pool's only
    /// member of that model (DESIGN §14).
    pub fn rows(&self, pool: &PoolId, model: &ModelId, effort: &Effort, is_only_effort: bool) -> MemberRows {
        let Some(members) = self.own.get(pool.as_str()) else { return MemberRows::new() };
        let mut rows = members.get(&format!("{model}@{effort}")).cloned().unwrap_or_default();
        let unrecorded = members.get(&format!("{model}@{UNRECORDED}")).filter(|_| is_only_effort);
        if let Some(unrecorded) = unrecorded {
            for (class, more) in unrecorded {
                entry(&mut rows, class).extend(more);
            }
            own::settle(&mut rows);
        }
        rows
    }

    /// The rows of a pool by `model@effort`, whoever they belong to. Rows without a recorded effort stand under `model@?`.
    pub fn members(&self, pool: &str) -> impl Iterator<Item = (&str, &MemberRows)> {
        self.own.get(pool).into_iter().flatten().map(|(member, rows)| (member.as_str(), rows))
    }

    /// Rows of a pool that were left out, by reason: at the review and by their outcome.
    pub fn excluded(&self, pool: &PoolId, clock: &RowClock) -> BTreeMap<String, u64> {
        let mut excluded = self.excluded.get(pool.as_str()).cloned().unwrap_or_default();
        for rows in self.own.get(pool.as_str()).into_iter().flatten().flat_map(|(_, classes)| classes.values()) {
            let rate = own::raw_rate(rows, clock);
            for (reason, n) in
                [("infrastructure", rate.infra), ("unknown_outcome", rate.unknown), ("immature", rate.immature)]
            {
                if n > 0 {
                    *entry(&mut excluded, reason) += n;
                }
            }
        }
        excluded
    }

    /// Who got the tasks of a pool whose first attempt ended in the idle span: `model@effort` → tasks. The first assignment
    /// of a task counts, not its attempts. Rows without a recorded effort stand under `model@?`.
    pub fn assigned(&self, pool: &PoolId, clock: &RowClock, idle_days: f64) -> BTreeMap<String, u64> {
        let members = self.own.get(pool.as_str()).into_iter().flatten();
        let of = |(member, rows)| {
            let rows = MemberRows::values(rows).flatten();
            rows.map(move |row| (row.task, row.ended_s, row.attempt, String::as_str(member)))
        };
        let mut attempts: Vec<(u64, i64, u64, &str)> = members.flat_map(of).collect();
        attempts.sort_unstable();
        attempts.dedup_by_key(|attempt| attempt.0);
        let mut assigned = BTreeMap::new();
        for (_, ended_s, _, member) in attempts {
            if clock.age_days(ended_s) <= idle_days {
                *entry(&mut assigned, member) += 1;
            }
        }
        assigned
    }

    /// What model judges scored in a pool, as cells of the severity fit; an item is a member's work of one class.
    pub fn judged(&self, pool: &PoolId) -> Vec<JudgeCell> {
        let scores = self.judged.get(pool.as_str()).into_iter().flatten();
        scores
            .map(|((judge, member, class), (sum, n))| JudgeCell {
                judge: judge.clone(),
                item: format!("{member}|{class}"),
                n: *n,
                mean: sum / n,
            })
            .collect()
    }

    /// The measured speeds of the members of a pool, by key. A row that names a pool speaks of that pool only, one that names
    /// a home of that home only, one without an effort of the only member of its model. What somebody wrote down is asked for
    /// members of which no store timed a call (reference sessions §7.7).
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
        let timed: BTreeSet<String> =
            readings.iter().filter(|row| row.seen_by.is_some()).map(|row| row.member.clone()).collect();
        readings.retain(|row| row.seen_by.is_some() || !timed.contains(&row.member));
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
        seen_by: row.of_calls.as_ref().map(|source| source.as_str().to_owned()),
    }
}

/// Hours between two instants, by their seconds, as the rows keep them.
fn hours_between(from: DateTime<Utc>, to: DateTime<Utc>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let hours = (to.timestamp() - from.timestamp()) as f64 / 3600.0;
    hours
}

/// The value under a text key; the key is copied only when it is new.
fn entry<'a, T: Default>(map: &'a mut BTreeMap<String, T>, key: &str) -> &'a mut T {
    if !map.contains_key(key) {
        map.insert(key.to_owned(), T::default());
    }
    map.get_mut(key).expect("it has just been put there")
}

//! Calls of a store, grouped as they are read: names are numbers until the last moment.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, Utc};
use globset::GlobMatcher;

use super::claude_code::NO_TIME;
use super::names::Names;
use super::{ClassRule, StoreSpec};
use crate::vocabulary::{CallKey, CallRow, CallSums, Charge, StatedPool, Timed};

/// Smallest output that is timed, tokens.
pub(super) const MIN_OUTPUT: u64 = 50;
/// Shortest busy time that is timed, milliseconds.
pub(super) const MIN_BUSY_MS: i64 = 250;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// What a call is grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    /// Day number since the epoch; `i64::MIN` when not dated.
    day: i64,
    /// Session, if anything joins it.
    session: u32,
    /// Place in the list of stated pools.
    stated: u32,
    /// Provider.
    provider: u32,
    /// Model.
    model: u32,
    /// Effort.
    effort: u32,
    /// Home.
    home: u32,
    /// Task class.
    class: u32,
    /// Fast mode.
    is_fast: bool,
    /// What its price depends on.
    charge: Charge,
}

/// What a reader knows of a call, names as numbers of the groups.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Call {
    /// When it ended, epoch milliseconds; `NO_TIME` when not dated.
    pub(super) at: i64,
    /// Session.
    pub(super) session: u32,
    /// Place in the list of stated pools.
    pub(super) stated: u32,
    /// Provider; 0 is not known.
    pub(super) provider: u32,
    /// Model; 0 is not stated.
    pub(super) model: u32,
    /// Effort; 0 is unrecorded.
    pub(super) effort: u32,
    /// Working folder.
    pub(super) folder: u32,
    /// Agent.
    pub(super) agent: u32,
    /// Fast mode.
    pub(super) is_fast: bool,
    /// What its price depends on.
    pub(super) charge: Charge,
}

/// The groups of one store.
pub(super) struct Groups<'a> {
    /// The store.
    spec: &'a StoreSpec,
    /// Sessions that other evidence names.
    joined: &'a BTreeSet<String>,
    /// Names by number.
    pub(super) names: Names,
    /// Stated pools by number; 0 is nothing.
    stated: Vec<StatedPool>,
    /// Folder and agent → class.
    classes: BTreeMap<(u32, u32), u32>,
    /// Provider → home.
    homes: BTreeMap<u32, u32>,
    /// The groups.
    sums: BTreeMap<GroupKey, CallSums>,
}

impl<'a> Groups<'a> {
    /// No calls yet.
    pub(super) fn new(spec: &'a StoreSpec, joined: &'a BTreeSet<String>) -> Self {
        Self {
            spec,
            joined,
            names: Names::default(),
            stated: vec![StatedPool::Nothing],
            classes: BTreeMap::new(),
            homes: BTreeMap::new(),
            sums: BTreeMap::new(),
        }
    }

    /// The number of a session; 0 when nothing else names it.
    pub(super) fn session(&mut self, session: Option<&str>) -> u32 {
        session.filter(|session| self.joined.contains(*session)).map_or(0, |session| self.names.number(session))
    }

    /// The session with this number; 0 when nothing else names it.
    pub(super) fn joined_session(&self, number: u32) -> u32 {
        let is_joined = || self.names.get(number).is_some_and(|session| self.joined.contains(session));
        if self.joined.is_empty() || !is_joined() { 0 } else { number }
    }

    /// The number of a stated pool.
    pub(super) fn stated(&mut self, pool: StatedPool) -> u32 {
        let at = self.stated.iter().position(|known| *known == pool).unwrap_or_else(|| {
            self.stated.push(pool);
            self.stated.len() - 1
        });
        u32::try_from(at).unwrap_or_default()
    }

    /// The sums of the group of a call.
    pub(super) fn sums(&mut self, call: &Call) -> &mut CallSums {
        let home = match self.homes.get(&call.provider) {
            Some(home) => *home,
            None => self.home(call.provider),
        };
        let class = match self.classes.get(&(call.folder, call.agent)) {
            Some(class) => *class,
            None => self.class(call.folder, call.agent),
        };
        let key = GroupKey {
            day: if call.at == NO_TIME { NO_TIME } else { call.at.div_euclid(DAY_MS) },
            session: call.session,
            stated: call.stated,
            provider: call.provider,
            model: call.model,
            effort: call.effort,
            home,
            class,
            is_fast: call.is_fast,
            charge: call.charge,
        };
        let sums = self.sums.entry(key).or_default();
        if let Some(at) = instant(call.at) {
            sums.seen(at);
        }
        sums
    }

    /// The home of a provider.
    fn home(&mut self, provider: u32) -> u32 {
        let name = self.names.get(provider).unwrap_or_default();
        let home = self.spec.home.clone().or_else(|| self.spec.homes.get(name).cloned());
        let home = self.names.optional(home.as_deref());
        self.homes.insert(provider, home);
        home
    }

    /// The class of a folder and an agent.
    fn class(&mut self, folder: u32, agent: u32) -> u32 {
        let class = class_of(&self.spec.classes, self.names.get(folder), self.names.get(agent)).to_owned();
        let class = self.names.number(&class);
        self.classes.insert((folder, agent), class);
        class
    }

    /// The rows, sorted by key.
    pub(super) fn rows(self) -> Vec<CallRow> {
        let Self { spec, names, stated, sums, .. } = self;
        let text = |number: u32| names.get(number).unwrap_or_default().to_owned();
        let mut rows: Vec<CallRow> = sums
            .into_iter()
            .map(|(key, mut sums)| {
                sums.timed.sort_unstable();
                sums.decoded.sort_unstable();
                sums.first_token_ms.sort_unstable();
                let key = CallKey {
                    source: spec.kind,
                    day: day(key.day),
                    session: text(key.session),
                    stated: stated[key.stated as usize].clone(),
                    provider: text(key.provider),
                    model: names.get(key.model).unwrap_or("unknown").to_owned(),
                    effort: names.get(key.effort).map(str::to_owned),
                    is_fast: key.is_fast,
                    home: text(key.home),
                    task_class: text(key.class),
                    charge: key.charge,
                };
                CallRow { key, sums }
            })
            .collect();
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows
    }
}

/// A response that may be timed, if it is long enough.
pub(super) fn timed(output: u64, busy_ms: Option<i64>) -> Option<Timed> {
    let busy = busy_ms.filter(|busy| *busy >= MIN_BUSY_MS && output >= MIN_OUTPUT)?;
    Some(Timed { output, ms: u64::try_from(busy).ok()? })
}

/// An instant of epoch milliseconds.
pub(super) fn instant(at: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(at).filter(|_| at != NO_TIME)
}

/// A day of a day number.
fn day(number: i64) -> Option<NaiveDate> {
    instant(number.checked_mul(DAY_MS)?).map(|at| at.date_naive())
}

/// The class of a working folder and an agent; `unclassified` when no rule applies.
fn class_of<'a>(rules: &'a [ClassRule], folder: Option<&str>, agent: Option<&str>) -> &'a str {
    let fits = |glob: Option<&GlobMatcher>, text: Option<&str>| {
        glob.is_none_or(|glob| text.is_some_and(|text| glob.is_match(text)))
    };
    rules
        .iter()
        .find(|rule| fits(rule.folder.as_ref(), folder) && fits(rule.agent.as_ref(), agent))
        .map_or("unclassified", |rule| &rule.class)
}

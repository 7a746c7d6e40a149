//! What scorecards and the babysitter log say of a session: its pool, its task class, its epoch (reference sessions §7.6). Where
//! rows of one session contradict each other nothing is taken from them.

use std::collections::BTreeMap;

use crate::rollup::RollupRow;
use crate::vocabulary::{PoolId, ScorecardRow, SitterRow};

/// The class of an attempt of which none is stated.
const UNCLASSIFIED: &str = "unclassified";

/// What is said of sessions, by session; `None` where rows contradict each other.
#[derive(Debug, Default)]
pub(super) struct Stated {
    /// Pools.
    pub(super) pools: BTreeMap<String, Option<String>>,
    /// Task classes.
    classes: BTreeMap<String, Option<String>>,
    /// Epochs.
    epochs: BTreeMap<String, Option<String>>,
}

impl Stated {
    /// What scorecards say, and of the pools of other sessions the babysitter log.
    pub(super) fn of(cards: &[ScorecardRow], sitter: &[SitterRow]) -> Self {
        let mut stated = Self::default();
        for card in cards {
            let Some(session) = card.session_id.as_deref() else { continue };
            let class = Some(card.task_class.as_str()).filter(|class| *class != UNCLASSIFIED);
            put(&mut stated.pools, session, card.pool.as_ref().map(PoolId::as_str));
            put(&mut stated.classes, session, class);
            put(&mut stated.epochs, session, Some(card.epoch.as_str()).filter(|epoch| !epoch.is_empty()));
        }
        let mut of_sitter = BTreeMap::new();
        for event in sitter {
            put(&mut of_sitter, &event.session_id, event.pool.as_ref().map(PoolId::as_str));
        }
        for (session, pool) in of_sitter {
            stated.pools.entry(session).or_insert(pool);
        }
        stated
    }

    /// Puts class and epoch of its session into a row of calls.
    pub(super) fn settle(&self, session: &str, row: &mut RollupRow) {
        if let Some(Some(class)) = self.classes.get(session) {
            row.key.task_class.clone_from(class);
        }
        if let Some(Some(epoch)) = self.epochs.get(session) {
            row.key.epoch.clone_from(epoch);
        }
    }

    /// Which sessions are said to be of several pools, classes or epochs.
    pub(super) fn remarks(&self) -> Vec<String> {
        let kinds = [("pools", &self.pools), ("task classes", &self.classes), ("epochs", &self.epochs)];
        let remark = |(kind, of): (&str, &BTreeMap<String, Option<String>>)| {
            let disputed: Vec<&str> =
                of.iter().filter(|(_, one)| one.is_none()).map(|(session, _)| session.as_str()).collect();
            let first = disputed.first()?;
            let count = disputed.len();
            Some(format!("{count} sessions are said to be of several {kind}, so of none; the first: {first}"))
        };
        kinds.into_iter().filter_map(remark).collect()
    }
}

/// Notes what a row says of a session.
fn put(known: &mut BTreeMap<String, Option<String>>, session: &str, said: Option<&str>) {
    let Some(said) = said else { return };
    let one = known.entry(session.to_owned()).or_insert_with(|| Some(said.to_owned()));
    if one.as_deref() != Some(said) {
        *one = None;
    }
}

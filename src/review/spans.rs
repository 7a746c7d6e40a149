//! The windows of a measurement, from the instants at which reviews saw definitions change.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::pools::Planned;
use crate::evidence::measure::Span;
use crate::history::{Touch, Touches};
use crate::vocabulary::TargetKind;

/// The two windows of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spans {
    /// Where the window before begins.
    pub(super) pre_from: DateTime<Utc>,
    /// Where it ends.
    pub(super) pre_until: DateTime<Utc>,
    /// Where the window after begins.
    pub(super) post_from: DateTime<Utc>,
    /// Where it ends so far.
    pub(super) post_until: DateTime<Utc>,
}

/// The windows around a change of a pool that a review saw first at `since`. What happened between the last review that saw the
/// old definition and this one belongs to neither.
pub(super) fn windows_of(
    touches: &[Touch],
    since: DateTime<Utc>,
    length: Duration,
    until: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Spans {
    let pre_until = touches.iter().find(|touch| touch.after == since).map_or(since, |touch| touch.before);
    let earlier = touches.iter().filter(|touch| touch.after < since).map(|touch| touch.after).max();
    let later = touches.iter().filter(|touch| touch.after > since).map(|touch| touch.before).min();
    let pre_from = pre_until - length;
    Spans {
        pre_from: earlier.map_or(pre_from, |earlier| earlier.max(pre_from)),
        pre_until,
        post_from: since,
        post_until: later.map_or(until, |later| later.min(until)).min(now).max(since),
    }
}

/// Those of some pools whose definition no review saw change between two instants.
pub(super) fn untouched(pools: &[String], touches: &Touches, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<String> {
    let is_touched =
        |pool: &String| touches.get(pool).into_iter().flatten().any(|touch| touch.after > from && touch.before < until);
    pools.iter().filter(|pool| !is_touched(pool)).cloned().collect()
}

/// A span of rows.
pub(super) fn span(from: DateTime<Utc>, until: DateTime<Utc>) -> Span {
    Span { from_s: from.timestamp(), until_s: until.timestamp() }
}

/// The changes of every pool with those of the pools that it nests, at any depth: their work is its work.
pub(super) fn with_nested(touches: Touches, planned: &[Planned]) -> Touches {
    let mut nests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pool in planned {
        let inner = pool.route.targets.iter().filter_map(|target| match &target.kind {
            TargetKind::Pool { id, .. } => Some(id.to_string()),
            _ => None,
        });
        nests.entry(pool.route.id.to_string()).or_default().extend(inner);
    }
    spread(touches, &nests)
}

/// The same by names: pool → the pools that its definition names.
fn spread(mut touches: Touches, nests: &BTreeMap<String, BTreeSet<String>>) -> Touches {
    let own = touches.clone();
    for pool in nests.keys() {
        let mut reached = BTreeSet::from([pool]);
        let mut open = vec![pool];
        while let Some(next) = open.pop() {
            open.extend(nests.get(next).into_iter().flatten().filter(|inner| reached.insert(inner)));
        }
        let inner = reached.into_iter().filter(|inner| *inner != pool).filter_map(|inner| own.get(inner));
        let inherited: Vec<Touch> = inner.flatten().map(|touch| Touch { bound: None, ..touch.clone() }).collect();
        if !inherited.is_empty() {
            let all = touches.entry(pool.clone()).or_default();
            all.extend(inherited);
            all.sort_by_key(|touch| (touch.after, touch.bound.is_none()));
        }
    }
    touches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of a day of November.
    fn noon(day: u32) -> DateTime<Utc> {
        format!("2026-11-{day:02}T12:00:00Z").parse().expect("a day of November")
    }

    /// A change between two reviews.
    fn touch(before: u32, after: u32) -> Touch {
        Touch { before: noon(before), after: noon(after), bound: None }
    }

    #[test]
    fn what_ended_between_the_two_reviews_around_a_change_is_in_neither_window() {
        let days = Duration::days(14);
        let spans = windows_of(&[touch(18, 20)], noon(20), days, noon(20) + days, noon(25));
        assert_eq!((spans.pre_from, spans.pre_until), (noon(4), noon(18)));
        assert_eq!((spans.post_from, spans.post_until), (noon(20), noon(25)));
    }

    #[test]
    fn other_changes_of_the_pool_end_the_windows() {
        let days = Duration::days(14);
        let touches = [touch(9, 10), touch(19, 20), touch(23, 24)];
        let spans = windows_of(&touches, noon(20), days, noon(20) + days, noon(30));
        assert_eq!((spans.pre_from, spans.pre_until), (noon(10), noon(19)));
        assert_eq!((spans.post_from, spans.post_until), (noon(20), noon(23)));
    }

    #[test]
    fn a_pool_is_touched_by_what_it_nests_however_deep() {
        let name = |text: &str| text.to_owned();
        let nests = BTreeMap::from([
            (name("outer"), BTreeSet::from([name("middle")])),
            (name("middle"), BTreeSet::from([name("inner"), name("outer")])),
            (name("inner"), BTreeSet::new()),
            (name("apart"), BTreeSet::new()),
        ]);
        let touches = spread(Touches::from([(name("inner"), vec![touch(18, 20)])]), &nests);
        let all = ["apart", "inner", "middle", "outer"].map(name);
        assert_eq!(untouched(&all, &touches, noon(10), noon(25)), ["apart"]);
        assert_eq!(untouched(&all, &touches, noon(20), noon(25)), all, "it is new to neither window");
        assert_eq!(untouched(&all, &touches, noon(5), noon(18)), all);
    }
}

//! Non-proposals are scored too (methods §20): what an aligned verdict said could still be gained is kept, and held against
//! what happened when somebody else changed the pool.

use chrono::{DateTime, Duration, SecondsFormat, Utc};

use super::spans::{span, untouched, windows_of};
use super::verify::{Loop, count, whole, worth};
use crate::checks::Bound;
use crate::evidence::measure::{Asked, Metric};
use crate::evidence::statistics::normal::Z_95;
use crate::history::{BoundCheckFact, BoundFact, BoundOutcome, BoundsFact, Past, Touch};
use crate::verdict::{PoolReport, Subject, Verdict};

/// Days of a window.
const WINDOW_DAYS: i64 = 14;
/// Rows after the change that a check takes before those days are over.
const MIN_ROWS: u64 = 20;

impl Loop<'_> {
    /// Bounds that somebody else's changes put to the test, as far as the ledger does not know it already.
    pub(super) fn checked_bounds(&self) -> Vec<BoundCheckFact> {
        let of_pool = |(pool, touches): (&String, &Vec<Touch>)| {
            touches.iter().filter_map(|touch| self.check_one(pool, touch, touches)).collect::<Vec<_>>()
        };
        self.touches.iter().flat_map(of_pool).collect()
    }

    /// One change of one pool.
    fn check_one(&self, pool: &str, touch: &Touch, touches: &[Touch]) -> Option<BoundCheckFact> {
        let bound = touch.bound.as_ref()?;
        let allowed_usd_micros = bound.regret_usd_micros? + bound.threshold_usd_micros;
        let changed_at = touch.after.to_rfc3339_opts(SecondsFormat::Secs, true);
        let known = self.past.measures.check(pool, &changed_at);
        let is_settled = known.is_some_and(|known| matches!(known.outcome, BoundOutcome::Held | BoundOutcome::Missed));
        if is_settled || touch.after >= self.now || self.is_ours(pool, &changed_at) {
            return None;
        }
        let is_open = known.is_some_and(|known| known.outcome == BoundOutcome::Open);
        let length = Duration::days(WINDOW_DAYS);
        let until = if is_open { self.now } else { touch.after + length };
        let spans = windows_of(touches, touch.after, length, until, self.now);
        if self.is_too_old(spans.pre_from) {
            return None;
        }
        let measured = self.meter.measure(&Asked {
            pool,
            controls: &untouched(self.pools, self.touches, spans.pre_from, spans.post_until),
            metric: Metric::Loss,
            worth: worth(self.settings, pool),
            mix: None,
            pre: span(spans.pre_from, spans.pre_until),
            post: span(spans.post_from, spans.post_until),
        });
        if is_open && known.is_some_and(|known| measured.rows.1 <= known.rows.1) {
            return None;
        }
        let effect = measured.effect.map(|(point, se)| (point * 1e6, se * 1e6));
        let is_early = measured.rows.1 < MIN_ROWS && self.now < touch.after + length;
        let told = effect.filter(|_| !measured.controls.is_empty());
        let outcome = if is_early { BoundOutcome::Pending } else { outcome(told, count(allowed_usd_micros)) };
        let fact = BoundCheckFact {
            pool: pool.to_owned(),
            changed_at,
            allowed_usd_micros,
            realised_point: effect.map(|(point, _)| whole(point)),
            realised_se: effect.map(|(_, se)| whole(se)),
            rows: measured.rows,
            outcome,
        };
        (known != Some(&fact)).then_some(fact)
    }

    /// Whether rows of the window before may be too old to be read.
    #[expect(clippy::cast_possible_truncation, reason = "settings keep day counts small and finite")]
    fn is_too_old(&self, from: DateTime<Utc>) -> bool {
        let seconds = (self.settings.thresholds.rows.max_age_days * 86_400.0) as i64;
        from < self.now - Duration::seconds(seconds)
    }

    /// Whether a proposal of this review landed in a pool at an instant.
    fn is_ours(&self, pool: &str, at: &str) -> bool {
        self.past.lives.iter().any(|(fingerprint, life)| {
            life.landing.as_ref().is_some_and(|landing| landing.detected_at == at)
                && self.past.proposals.get(fingerprint).is_some_and(|known| known.pool == pool)
        })
    }
}

/// What a saving with its standard error says of what was allowed; without a control nothing.
fn outcome(effect: Option<(f64, f64)>, allowed: f64) -> BoundOutcome {
    match effect {
        Some((point, se)) if point - Z_95 * se > allowed => BoundOutcome::Missed,
        Some((point, se)) if point + Z_95 * se <= allowed => BoundOutcome::Held,
        _ => BoundOutcome::Open,
    }
}

/// The bounds of the pools of this run. A pool that is aligned has one, unless nothing else may lead it.
pub(super) fn by_pool(reports: &[PoolReport], gains: Vec<Option<Bound>>) -> Vec<(String, Option<Bound>)> {
    let pools = reports.iter().zip(gains).filter(|(pool, _)| pool.subject == Subject::Pool);
    pools.map(|(pool, bound)| (pool.id.to_string(), bound.filter(|_| pool.verdict == Verdict::Aligned))).collect()
}

/// The bounds of this run that the ledger does not hold yet, by pool.
pub(super) fn moved(now: &[(String, Option<Bound>)], past: &Past) -> BoundsFact {
    let mut bounds: Vec<BoundFact> = now
        .iter()
        .filter_map(|(pool, bound)| Some(fact(pool, (*bound)?)))
        .filter(|fact| past.measures.bound(&fact.pool) != Some(fact))
        .collect();
    let is_bound = |pool: &str| now.iter().any(|(known, bound)| known == pool && bound.is_some());
    let gone = past.measures.bounded().filter(|known| !is_bound(&known.pool));
    bounds.extend(gone.map(|known| BoundFact { regret_usd_micros: None, ..known.clone() }));
    bounds.sort_by(|a, b| a.pool.cmp(&b.pool));
    BoundsFact { bounds }
}

/// A bound as the ledger keeps it: rounded up, so that it moves only when it means something else.
fn fact(pool: &str, bound: Bound) -> BoundFact {
    BoundFact {
        pool: pool.to_owned(),
        regret_usd_micros: Some(two_digits_up(bound.regret_usd)),
        threshold_usd_micros: two_digits_up(bound.threshold_usd),
    }
}

/// Dollars as millionths, rounded up to two digits.
fn two_digits_up(usd: f64) -> u64 {
    let micros = whole((usd * 1e6).ceil()).unsigned_abs();
    let mut unit = 1;
    while micros / unit >= 100 {
        unit *= 10;
    }
    micros.div_ceil(unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_rounded_up_to_two_digits() {
        assert_eq!(two_digits_up(0.012_345_6), 13_000);
        assert_eq!(two_digits_up(0.000_099), 99);
        assert_eq!(two_digits_up(0.000_100_5), 110);
        assert_eq!(two_digits_up(0.0), 0);
    }

    #[test]
    fn a_bound_is_missed_or_held_only_beyond_the_error_of_the_measurement() {
        // Allowed 100: 200 ± 1.645·50 reaches down to 117.8; 50 ± 1.645·20 up to 82.9; 100 ± 1 lies on both sides.
        assert_eq!(outcome(Some((200.0, 50.0)), 100.0), BoundOutcome::Missed);
        assert_eq!(outcome(Some((50.0, 20.0)), 100.0), BoundOutcome::Held);
        assert_eq!(outcome(Some((100.0, 1.0)), 100.0), BoundOutcome::Open);
        assert_eq!(outcome(None, 100.0), BoundOutcome::Open);
    }
}

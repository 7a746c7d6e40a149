//! When a process that stays up runs a review: a pure state that is told the time and answers with what to do. Sleep is cut
//! into short steps against the wall clock, because a monotonic sleep stands still while a laptop is suspended.

use chrono::{DateTime, TimeDelta, Utc};

use super::Schedule;

/// Longest sleep before the wall clock is looked at again.
const LONGEST_SLEEP: TimeDelta = TimeDelta::seconds(60);

/// How far the wall clock may run behind what was served before it counts as having been set back for good.
const MOST_BACKWARDS: TimeDelta = TimeDelta::hours(24);

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Sleep so long, then ask again.
    Sleep(TimeDelta),
    /// Run a review now. It is for the latest due instant; this many before it were missed and are not made up for.
    Run {
        /// The due instant.
        due: DateTime<Utc>,
        /// How many due instants before it nobody served.
        missed: usize,
    },
    /// Nothing is due before the year 2100.
    Never,
}

/// A schedule that is being kept.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The schedule.
    schedule: Schedule,
    /// The latest instant up to which everything due is served.
    served: DateTime<Utc>,
    /// The first due instant after that.
    due: Option<DateTime<Utc>>,
    /// Largest delay that is added to a due instant, in seconds.
    jitter_s: u32,
    /// What the delay is drawn from; two machines have different ones.
    seed: u64,
}

impl Watch {
    /// Keeps a schedule. `last` is when the latest run began, if there was one: what was due since is caught up with once.
    pub fn new(schedule: Schedule, last: Option<DateTime<Utc>>, now: DateTime<Utc>, jitter_s: u32, seed: u64) -> Self {
        let served = last.filter(|last| *last <= now).unwrap_or(now);
        let due = schedule.next_after(served);
        Self { schedule, served, due, jitter_s, seed }
    }

    /// Another schedule from now on; what is served stays served.
    pub fn reschedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
        self.serve(self.served);
    }

    /// Notes that everything due up to an instant is served.
    fn serve(&mut self, served: DateTime<Utc>) {
        self.served = served;
        self.due = self.schedule.next_after(served);
    }

    /// The instant at which the next review starts: due, and a little delay.
    pub fn next_start(&self) -> Option<DateTime<Utc>> {
        self.due.map(|due| due + self.delay(due))
    }

    /// What to do at an instant of the wall clock.
    pub fn plan(&mut self, now: DateTime<Utc>) -> Plan {
        if self.served - now > MOST_BACKWARDS {
            self.serve(now);
        }
        let Some(due) = self.due else { return Plan::Never };
        let start = due + self.delay(due);
        if now < start {
            return Plan::Sleep((start - now).min(LONGEST_SLEEP));
        }
        let (mut latest, mut missed) = (due, 0);
        while let Some(next) = self.schedule.next_after(latest).filter(|next| *next <= now) {
            (latest, missed) = (next, missed + 1);
        }
        self.serve(latest);
        Plan::Run { due: latest, missed }
    }

    /// The delay of a due instant: the same when asked twice, spread evenly over the jitter, and always shorter than the
    /// distance to the next one.
    fn delay(&self, due: DateTime<Utc>) -> TimeDelta {
        if self.jitter_s == 0 {
            return TimeDelta::zero();
        }
        let drawn = mix(self.seed ^ due.timestamp().unsigned_abs()) % u64::from(self.jitter_s);
        let delay = TimeDelta::seconds(i64::try_from(drawn).unwrap_or(0));
        let room = self.schedule.next_after(due).map_or(delay, |next| (next - due) / 2);
        delay.min(room)
    }
}

/// Spreads the bits of a number over all of its bits (the finaliser of `SplitMix64`).
fn mix(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

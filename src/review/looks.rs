//! The looks of a run: what they mean for open proposals, and what the ledger keeps of them.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};

use super::Memory;
use super::gather::Gathered;
use super::pools::{Planned, look_basis};
use crate::checks::Look;
use crate::evidence::statistics::looks::LookState;
use crate::history::{Fate, LookFact, LooksFact, ProposalFact};
use crate::vocabulary::LookKey;

/// The looks of every pool.
pub(super) struct PoolLooks {
    /// Pool → its looks.
    by_pool: BTreeMap<String, Vec<Look>>,
}

impl PoolLooks {
    /// The looks of the pools, in their order.
    pub(super) fn new(planned: &[Planned], looks: Vec<Vec<Look>>) -> Self {
        Self { by_pool: planned.iter().map(|pool| pool.route.id.to_string()).zip(looks).collect() }
    }

    /// What the looks say of a proposal that this run did not make: it stays while its claim does, and two low looks
    /// withdraw it.
    pub(super) fn fate(&self, known: &ProposalFact) -> Fate {
        let looks = self.by_pool.get(&known.pool).map_or(&[][..], Vec::as_slice);
        let key = LookKey::new(&known.code, &known.subject, &known.counterpart);
        match looks.iter().find(|look| look.key == key).map(|look| look.step.state) {
            Some(LookState::Open | LookState::Weakening) => Fate::Kept,
            Some(LookState::Withdrawn) => Fate::Withdrawn,
            _ => Fate::Missed,
        }
    }

    /// What the ledger has to learn: looks that counted, and looks that opened or closed something.
    pub(super) fn facts(
        &self,
        gathered: &Gathered,
        planned: &[Planned],
        memory: &Memory<'_>,
        now: DateTime<Utc>,
    ) -> LooksFact {
        let mut facts = LooksFact::default();
        for pool in planned {
            let basis = look_basis(pool, gathered);
            let before = memory.looks(&pool.route.id, &basis);
            for look in self.by_pool.get(pool.route.id.as_str()).into_iter().flatten() {
                let known = before.get(&look.key);
                let is_moved = known.is_none_or(|known| known.is_open != look.step.is_open);
                if look.step.is_counted || is_moved {
                    let at = known.filter(|_| !look.step.is_counted).map_or(now, |known| known.at);
                    let p = known.filter(|_| !look.step.is_counted).map_or(look.p, |known| known.p);
                    facts.looks.push(fact(pool.route.id.as_str(), &basis, look, at, p));
                }
            }
        }
        facts.looks.sort();
        facts
    }
}

/// One look as the ledger keeps it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "millionths of a probability")]
fn fact(pool: &str, basis: &str, look: &Look, at: DateTime<Utc>, p: f64) -> LookFact {
    LookFact {
        pool: pool.to_owned(),
        code: look.key.code.clone(),
        subject: look.key.subject.clone(),
        counterpart: look.key.counterpart.clone(),
        basis: basis.to_owned(),
        at: at.to_rfc3339_opts(SecondsFormat::Secs, true),
        p_ppm: (p.clamp(0.0, 1.0) * 1e6).floor() as u64,
        streak: look.step.streak,
        low: look.step.low,
        is_open: look.step.is_open,
    }
}

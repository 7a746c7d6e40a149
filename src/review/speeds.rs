//! Measured speeds of session evidence, one row per pool, member and class. Calls known one by one go first; rows that are
//! sums only, of another engine or of days that a client deleted, serve members of which no call is known.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::sessions::{UNRECORDED, seen_at};
use crate::identity::Identity;
use crate::rollup::{MIN_TIMED, Part, Rate, RollupKey, first_token_s};
use crate::settings::Settings;
use crate::vocabulary::{CallSource, CallSums, Effort, HomeId, ModelId, Place, PoolId, ProviderId, Quantity, SpeedRow};

/// What is summed up of one pool, member and class.
#[derive(Default)]
struct Measured {
    /// Calls known one by one.
    calls: CallSums,
    /// Output of the timed responses, their milliseconds, and how many they are.
    summed: [u64; 3],
    /// The last call.
    last: Option<DateTime<Utc>>,
    /// Whether the router logged any.
    is_routed: bool,
}

/// Measured speeds, and how many of them stand on sums alone.
pub(super) fn speeds(
    parts: &[Part<'_>],
    identity: &Identity,
    settings: &Settings,
    now: DateTime<Utc>,
) -> (Vec<SpeedRow>, usize) {
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
    let oldest = Duration::try_days(settings.thresholds.rows.max_age_days as i64).map(|span| (now - span).date_naive());
    let is_timed = |part: &&Part<'_>| {
        let key = &part.row.key;
        key.mode == "standard" && part.row.usage.n_speed > 0 && oldest.is_none_or(|oldest| key.day >= oldest)
    };
    let timed: Vec<&Part<'_>> = parts.iter().filter(is_timed).collect();
    let first = Precedence::of(&timed, identity);
    let mut members: BTreeMap<[&str; 7], Measured> = BTreeMap::new();
    for part in timed.into_iter().filter(|part| first.takes(part)) {
        let (key, usage) = (&part.row.key, &part.row.usage);
        let member = [&key.source, &key.pool, &key.provider, &key.model, &key.effort, &key.home, &key.task_class];
        let measured = members.entry(member.map(String::as_str)).or_default();
        if let Some(calls) = part.calls {
            measured.calls.add(calls);
        }
        for (sum, one) in measured.summed.iter_mut().zip([usage.speed_output_tokens, usage.busy_ms, usage.n_speed]) {
            *sum = sum.saturating_add(one);
        }
        measured.is_routed |= part.is_routed;
        measured.last = measured.last.max(Some(seen_at(&part.row, now)));
    }
    let rows: Vec<(SpeedRow, bool)> =
        members.into_iter().filter_map(|(member, measured)| speed(member, &measured)).collect();
    let summed = rows.iter().filter(|(_, is_summed)| *is_summed).count();
    (rows.into_iter().map(|(row, _)| row).collect(), summed)
}

/// What a provider's model text means; the text itself where it cannot be matched. Stores spell one model in many ways.
pub(super) fn meaning(identity: &Identity, provider: &str, model: &str) -> ModelId {
    let offer = identity.offer(&ProviderId::new(provider), model);
    offer.model().cloned().unwrap_or_else(|| ModelId::new(model))
}

/// Which source speaks for a member on a day: the first of reference sessions §7.7 that timed it there.
struct Precedence<'a> {
    /// Provider and model as written → what they mean.
    models: BTreeMap<[&'a str; 2], ModelId>,
    /// Day, provider, model and effort → the first client.
    clients: BTreeMap<(NaiveDate, Member<'a>), u8>,
    /// Day, provider and model → the first source of all: a gateway may not record the effort.
    all: BTreeMap<(NaiveDate, &'a str, ModelId), u8>,
    /// Source, provider, model and effort of calls known one by one.
    known: BTreeSet<(&'a str, Member<'a>)>,
}

/// Provider, model and effort.
type Member<'a> = (&'a str, ModelId, &'a str);

impl<'a> Precedence<'a> {
    /// What some parts say.
    fn of(parts: &[&'a Part<'a>], identity: &Identity) -> Self {
        let (models, clients, all, known) = Default::default();
        let mut first = Self { models, clients, all, known };
        for part in parts {
            let (key, own) = (&part.row.key, rank(&part.row.key.source));
            let name = [key.provider.as_str(), key.model.as_str()];
            first.models.entry(name).or_insert_with(|| meaning(identity, &key.provider, &key.model));
            let member = first.member(key);
            let rank = first.all.entry((key.day, member.0, member.1.clone())).or_insert(own);
            *rank = own.min(*rank);
            let rank = first.clients.entry((key.day, member.clone())).or_insert(own);
            *rank = own.min(*rank);
            if part.calls.is_some() {
                first.known.insert((&key.source, member));
            }
        }
        first
    }

    /// The member a key is about.
    fn member<'b>(&self, key: &'b RollupKey) -> Member<'b> {
        let model = &self.models[&[key.provider.as_str(), key.model.as_str()]];
        (&key.provider, model.clone(), &key.effort)
    }

    /// Whether a part is heard.
    fn takes(&self, part: &Part<'_>) -> bool {
        let (key, own) = (&part.row.key, rank(&part.row.key.source));
        let member = self.member(key);
        let first = if own < CallSource::Litellm.rank(Quantity::Speed) {
            self.clients.get(&(key.day, member.clone()))
        } else {
            self.all.get(&(key.day, member.0, member.1.clone()))
        };
        let is_known = self.known.contains(&(key.source.as_str(), member));
        first == Some(&own) && (part.calls.is_some() || !is_known)
    }
}

/// Place of a source among the sources of speed; clients stand before gateways.
fn rank(source: &str) -> u8 {
    CallSource::named(source).rank(Quantity::Speed)
}

/// One measured speed, if it stands on enough responses, and whether it stands on sums alone: then it has no interval.
#[expect(clippy::cast_precision_loss, reason = "token counts and milliseconds fit an f64 exactly")]
fn speed(member: [&str; 7], measured: &Measured) -> Option<(SpeedRow, bool)> {
    let [source, pool, provider, model, effort, home, class] = member;
    let [output, ms, n] = measured.summed;
    if n < MIN_TIMED as u64 || ms == 0 || output == 0 {
        return None;
    }
    let rate = Rate::of(&measured.calls.timed).filter(|rate| rate.n as u64 == n);
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let kind = if rate.is_some() { "store" } else { "rollup" };
    let row = SpeedRow {
        measured_at: measured.last?,
        provider: ProviderId::new(provider),
        model: model.to_owned(),
        effort: (effort != UNRECORDED).then(|| Effort::new(effort.to_lowercase())),
        home: text(home).map(HomeId::new),
        pool: text(pool).map(PoolId::new),
        task_class: Some(class.to_owned()).filter(|class| class != "unclassified"),
        n,
        output_tps: Some(rate.map_or(output as f64 * 1000.0 / ms as f64, |rate| rate.tps)),
        output_tps_90: rate.and_then(|rate| rate.tps_90),
        first_answer_s: first_token_s(&measured.calls),
        task_s: None,
        of_calls: Some(if measured.is_routed { CallSource::RouteAttempt } else { CallSource::named(source) }),
        place: Place::new(format!("{source} {kind}"), 1),
    };
    Some((row, rate.is_none()))
}

//! Limits that session stores logged, put to their homes and beside the quota snapshots.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};

use super::gather::Gathered;
use super::sessions::Stores;
use crate::settings::Settings;
use crate::sources::pools::layers::shown;
use crate::sources::quotas::{self, Limits};
use crate::vocabulary::{HomeId, LimitReading, SourceId};

/// Reads the quota windows again with what the stores logged. Without a logged reading nothing changes.
pub(super) fn add_limits(
    workspace: &Path,
    gathered: &mut Gathered,
    stores: &Stores,
    settings: &Settings,
    now: DateTime<Utc>,
) {
    let (logged, homeless) = by_home(stores, settings);
    let remarks = homeless.into_iter().map(|(provider, count)| {
        let provider = if provider.is_empty() { "no provider" } else { &provider };
        format!("{count} rate-limit records of {provider} belong to no plan home: name the home of their store, and give it `billing: flat`")
    });
    let Some(place) = gathered.notes.iter().position(|note| note.source == SourceId::Quotas) else { return };
    if logged.is_empty() {
        gathered.notes[place].remarks.extend(remarks);
        return;
    }
    let path = settings.data.quotas.as_ref().map(|path| (workspace.join(path), shown(path)));
    let snapshots = path.as_ref().map(|(path, shown)| (path.as_path(), shown.as_str()));
    let (homes, mut note) = quotas::read_all(snapshots, &logged, &gathered.memory.readings, now);
    note.remarks.extend(remarks);
    gathered.memory.readings = quotas::keep(&gathered.memory.readings, &homes, now);
    gathered.quotas = homes.into_iter().map(|home| (home.home.clone(), home)).collect();
    gathered.notes[place] = note;
}

/// The readings of every store by home, each once, and those without one by provider. A store's own setting names the home,
/// else the plan home of the provider: a key that is billed by use has no windows of a plan.
fn by_home(stores: &Stores, settings: &Settings) -> (Limits, BTreeMap<String, usize>) {
    let (mut logged, mut homeless) = (Limits::new(), BTreeMap::new());
    for reading in stores.scans.iter().flat_map(|(_, scan)| &scan.limits) {
        match reading.home.clone().or_else(|| plan_home(reading, settings)) {
            Some(home) => logged.entry(home).or_default().push(reading.clone()),
            None => *homeless.entry(reading.provider.clone()).or_default() += 1,
        }
    }
    for readings in logged.values_mut() {
        readings.sort_by(|a, b| order(a).cmp(&order(b)));
        readings.dedup_by(|a, b| is_same(a, b));
    }
    (logged, homeless)
}

/// The order of readings: records that say the same stand together.
fn order(reading: &LimitReading) -> impl Ord + use<'_> {
    (reading.observed_at, &reading.limit, &reading.plan, &reading.place)
}

/// Whether two records say the same, wherever they stand: an archived copy says nothing new.
fn is_same(a: &LimitReading, b: &LimitReading) -> bool {
    (a.observed_at, &a.limit, &a.plan, &a.windows) == (b.observed_at, &b.limit, &b.plan, &b.windows)
}

/// The home of a provider, if it is a plan.
fn plan_home(reading: &LimitReading, settings: &Settings) -> Option<HomeId> {
    let is_of = |providers: &[crate::vocabulary::ProviderId]| {
        providers.iter().any(|provider| provider.as_str() == reading.provider)
    };
    let mut homes = settings.homes.iter().filter(|(_, home)| home.is_plan() && is_of(&home.providers));
    homes.next().map(|(id, _)| id.clone())
}

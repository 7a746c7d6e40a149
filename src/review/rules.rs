//! Settings and what was gathered, in the words of the evidence room.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::gather::Gathered;
use crate::evidence::assemble::HomeFacts;
use crate::evidence::attribution::RowLimits;
use crate::evidence::book::{Book, ListPrice, Statements};
use crate::evidence::cells::EstimateRules;
use crate::evidence::own::RowClock;
use crate::evidence::statistics::duration::DurationRules;
use crate::evidence::statistics::prior::PriorRules;
use crate::evidence::statistics::weight::RowWeights;
use crate::evidence::usage::UsageDays;
use crate::evidence::windows::WindowRules;
use crate::ring::Catalogue;
use crate::settings::{Home, Settings};
use crate::vocabulary::{HomeId, ModelId, Prices, ProviderId, SourceId};

/// What the market sources state.
pub(super) fn statements(gathered: &Gathered, now: DateTime<Utc>) -> Statements<'_> {
    Statements {
        market: &gathered.market,
        offers: &gathered.offers,
        own_lists: &gathered.own_lists,
        retirements: &gathered.retirements,
        prices: &gathered.prices,
        listed_ends: &gathered.listed_ends,
        earlier_prices: Some(&gathered.memory.prices),
        at: Some(now),
    }
}

/// The catalogue, if it may be used.
pub(super) fn catalogue(gathered: &Gathered) -> Option<Catalogue> {
    let is_usable = gathered.notes.iter().any(|note| note.source == SourceId::Catalogues && note.is_usable());
    is_usable.then(|| Catalogue::of_offers(&gathered.offers))
}

/// The as-of time of a source.
pub(super) fn as_of(gathered: &Gathered, source: SourceId) -> Option<DateTime<Utc>> {
    gathered.notes.iter().find(|note| note.source == source)?.as_of
}

/// Which rows count.
pub(super) fn row_limits(settings: &Settings) -> RowLimits {
    RowLimits { max_age_days: settings.thresholds.rows.max_age_days }
}

/// The list price of a model that the sources agree on.
pub(super) fn agreed_prices(book: &Book, model: &str) -> Option<Prices> {
    match book.price(&ModelId::new(model))? {
        ListPrice::Agreed(prices, _) => Some(*prices),
        ListPrice::Disputed(_) => None,
    }
}

/// Which days of call rows count.
pub(super) fn usage_days(settings: &Settings, now: DateTime<Utc>) -> UsageDays {
    let (rows, sizing) = (&settings.thresholds.rows, &settings.thresholds.sizing);
    UsageDays { now, max_age_days: rows.max_age_days, recent_days: sizing.idle_days }
}

/// How rows become estimates.
pub(super) fn estimate_rules(settings: &Settings, now: DateTime<Utc>) -> EstimateRules {
    let (rows, prior, speed) = (&settings.thresholds.rows, &settings.thresholds.prior, &settings.thresholds.speed);
    let weights = RowWeights {
        half_life_days: rows.half_life_days,
        max_age_days: rows.max_age_days,
        cluster_correlation: rows.cluster_correlation,
        epoch_factor: rows.epoch_factor,
    };
    EstimateRules {
        clock: RowClock::new(now, rows.mature_hours, weights),
        min_class_share: settings.thresholds.mix.min_class_share,
        prior: PriorRules {
            tau: prior.tau,
            slope_per_10_points: prior.slope_per_10_points,
            kappa_min: prior.kappa_min,
            kappa_max: prior.kappa_max,
            external_rows: prior.external_rows,
            ..PriorRules::default()
        },
        duration: DurationRules { sd0: speed.sd0, rows0: speed.rows0, max_censored: speed.max_censored },
    }
}

/// The rules of the windows.
pub(super) fn window_rules(settings: &Settings) -> WindowRules {
    let windows = &settings.thresholds.windows;
    WindowRules {
        gap: windows.gap,
        gap_high: windows.gap_high,
        cash_usd: windows.cash_usd,
        flag_literal_picture: windows.flag_literal_picture,
        ..WindowRules::default()
    }
}

/// Provider → home.
pub(super) fn homes(settings: &Settings) -> BTreeMap<ProviderId, HomeFacts> {
    let facts = |(id, home): (&HomeId, &Home)| {
        let facts = HomeFacts {
            home: id.clone(),
            is_flat: home.is_plan(),
            cash_usd_per_lead_hour: home.cash_usd_per_lead_hour,
            term: home.term,
        };
        home.providers.iter().map(|provider| (provider.clone(), facts.clone())).collect::<Vec<_>>()
    };
    settings.homes.iter().flat_map(facts).collect()
}

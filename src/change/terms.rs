//! What a finding rests on, told from its code: the bar it cleared as integer terms, and what its change is expected to do.

use crate::verdict::{Bar, BarTerm, Effect, Finding, Intent, Measured, ProposalKind, Trigger, Unit};
use crate::vocabulary::{CheckId, SourceId};

/// Certain: facts and readings are not estimated.
const CERTAIN_PPM: u64 = 1_000_000;
/// Days until a fact or reading can be looked at again.
const HORIZON_DAYS: u64 = 1;
/// Beyond this an `f64` no longer holds every integer; such a value is no bar term.
const LARGEST_EXACT: f64 = 9.0e15;

/// What kind of evidence carries a finding (methods §8.3, §8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// A fact of the config or of a catalogue: holds or does not.
    Structural,
    /// Market values against each other.
    Market,
    /// Readings of quota windows.
    Window,
    /// Our own measurements.
    Measured,
}

impl Family {
    /// The family of a finding.
    pub(super) fn of(finding: &Finding) -> Self {
        let has_own_rows = finding.sources.iter().any(|source| matches!(source, SourceId::Sessions | SourceId::Speeds));
        match (finding.check, finding.code) {
            (_, "lead_window_scarce" | "scarcer_window") => Self::Window,
            (CheckId::Structure, _) | (CheckId::LatestModel, "retired" | "retirement_due" | "successor") => {
                Self::Structural
            }
            (CheckId::LatestModel, "dominated" | "unavailable") => Self::Measured,
            (CheckId::BestPerPool | CheckId::RightSizing, _) if has_own_rows => Self::Measured,
            (CheckId::LatestModel | CheckId::BestPerPool | CheckId::RightSizing, _) => Self::Market,
        }
    }

    /// The bar's id.
    fn bar_id(self) -> &'static str {
        match self {
            Self::Structural => "structural/1",
            Self::Market => "market/1",
            Self::Window => "window/1",
            Self::Measured => "measured/1",
        }
    }

    /// What makes a rollback due.
    pub(super) fn trigger(self) -> Trigger {
        let rule = if self == Self::Window { "window_dry_1" } else { "none" };
        Trigger { rule: rule.to_owned(), floor_ppm: None, probability_ppm: None, min_weighted_rows_milli: None }
    }
}

/// The bar with its terms: the finding's measured value against its limit, or the bare fact, then what the caller adds.
pub(super) fn bar(finding: &Finding, family: Family, further: &[BarTerm]) -> Bar {
    if let Some(claim) = &finding.claim {
        let terms = claim.terms.iter().chain(further).cloned().collect();
        return Bar { id: claim.bar.to_owned(), terms };
    }
    let mut terms = vec![measured_term(finding).unwrap_or_else(|| BarTerm {
        name: "fact_holds".to_owned(),
        value: 1,
        needed: 1,
        op: "==".to_owned(),
        pass: true,
    })];
    terms.extend(further.iter().cloned());
    Bar { id: family.bar_id().to_owned(), terms }
}

/// Measured against limit, on the side where the measured value stands.
fn measured_term(finding: &Finding) -> Option<BarTerm> {
    let (measured, limit) = (finding.measured.as_ref()?, finding.limit.as_ref()?);
    let (scale, suffix) = scale(measured.unit);
    let (value, needed) = (integer(measured.value, scale)?, integer(limit.value, scale)?);
    let op = if value >= needed { ">=" } else { "<=" };
    Some(BarTerm { name: term_name(measured, suffix)?, value, needed, op: op.to_owned(), pass: true })
}

/// How a unit becomes an integer, and what the name then ends in.
fn scale(unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Count => (1.0, ""),
        Unit::Days => (1e3, "_days_milli"),
        Unit::Hours => (1e3, "_hours_milli"),
        Unit::Points => (1e3, "_points_milli"),
        Unit::UsdPerMtok => (1e6, "_usd_micros_per_mtok"),
        Unit::Usd => (1e6, "_usd_micros"),
        Unit::Ratio => (1e3, "_milli"),
        Unit::Share | Unit::WindowPrice => (1e6, "_ppm"),
        Unit::TokensPerSecond => (1e3, "_tokens_per_second_milli"),
        Unit::Seconds => (1e3, "_seconds_milli"),
    }
}

/// A value times its scale, rounded; `None` when it is no number that an integer can say.
fn integer(value: f64, scale: f64) -> Option<i64> {
    let scaled = (value * scale).round();
    #[expect(clippy::cast_possible_truncation, reason = "rounded, finite and below 2^53")]
    (scaled.is_finite() && scaled.abs() < LARGEST_EXACT).then_some(scaled as i64)
}

/// "speed ratio" as `speed_ratio_milli`; `None` when too little of it fits the schema's pattern.
fn term_name(measured: &Measured, suffix: &str) -> Option<String> {
    let lower = measured.what.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let stem: String = words.join("_").trim_start_matches(|c: char| !c.is_ascii_lowercase()).chars().take(36).collect();
    (stem.len() >= 3).then(|| format!("{stem}{suffix}"))
}

/// What the change is expected to do; the first is primary (methods §17).
pub(super) fn effects(finding: &Finding, intent: &Intent, family: Family) -> Vec<Effect> {
    if let Some(claim) = &finding.claim {
        return claim.effects.clone();
    }
    let moved_ppm = intent.moved_share.and_then(|share| integer(share, 1e6)).filter(|share| *share > 0);
    let adds = matches!(intent.kind, ProposalKind::AddTrial | ProposalKind::AddMember);
    let share =
        moved_ppm.map(|point| certain("share_of_pool", "ppm", if adds { "increase" } else { "decrease" }, point));
    let price =
        finding.measured.as_ref().filter(|measured| family == Family::Window && measured.unit == Unit::WindowPrice);
    let price = price.and_then(|measured| relief(measured.value, finding.limit.as_ref()?.value));
    let mut effects = match (price, share) {
        (Some(price), share) => std::iter::once(price).chain(share).collect(),
        (None, Some(share)) if intent.kind == ProposalKind::AddTrial => vec![share],
        (None, share) => {
            let direction = if adds { "increase" } else { "decrease" };
            std::iter::once(certain("structural_fact", "count", direction, 1)).chain(share).collect::<Vec<_>>()
        }
    };
    if let Some(first) = effects.first_mut() {
        first.primary = true;
    }
    effects
}

/// The price that a change of windows takes off, `None` when it takes none. A price moves with every reading, by less than
/// anybody would act on: what lies within half the bar of it is the same claim (methods §18.2), and so is what reaches down
/// to the bar itself, under which there would be no finding.
fn relief(gap: f64, bar: f64) -> Option<Effect> {
    let [point, lo90, hi90] =
        [gap, (gap - bar / 2.0).max(bar).min(gap), (gap + bar / 2.0).min(1.0)].map(|value| integer(value, 1e6));
    let price = certain("window_price", "ppm", "decrease", point.filter(|point| *point > 0)?);
    Some(Effect { lo90: lo90?, hi90: hi90?, ..price })
}

/// An effect without an interval: a fact or a reading.
fn certain(metric: &str, unit: &str, direction: &str, point: i64) -> Effect {
    Effect {
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        primary: false,
        direction: direction.to_owned(),
        point,
        lo90: point,
        hi90: point,
        horizon_days: HORIZON_DAYS,
        min_rows: 0,
        mix_digest: None,
        claimed_probability_ppm: CERTAIN_PPM,
    }
}

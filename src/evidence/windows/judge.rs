//! Does the lead draw on a scarcer window than a member that could lead as well? (methods §12 `window_finding`,
//! quota §3.4.) Judged at both ends of everything that is only known as an interval: ends that differ need a refresh.

use super::judgement::{ExpiringEqual, PoolShort, WindowJudgement, WindowLabel, WindowOutcome, WindowSeverity};
use super::literal::{LiteralPicture, picture};
use super::member::{End, MemberWindows, Range, Standing};
use super::{WindowPrice, WindowRules, WindowView};

/// Π from which on a member counts as short, and up to which one may take over work for cash.
const SHORT: f64 = 0.5;
/// Gap below which the sooner reset is drained first.
const TIE: f64 = 0.1;

/// A member at one end of what is known about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    /// The member; its price is known.
    pub(super) member: &'a MemberWindows,
    /// Which end.
    end: End,
    /// Π at that end.
    price: f64,
}

impl<'a> Side<'a> {
    /// A member at one end; `None` when its price is not known.
    fn of(member: &'a MemberWindows, end: End) -> Option<Self> {
        let price = member.price()?;
        Some(Self { member, end, price: if end == End::Low { price.low } else { price.high } })
    }

    /// The window that binds here.
    pub(super) fn binding(&self) -> Option<(&'a WindowView, &'a WindowPrice)> {
        self.member.binding_at(self.end)
    }

    /// Cash of an hour of leading; unknown sorts behind every price.
    fn cash(&self) -> f64 {
        self.member.cash_usd_per_lead_hour.unwrap_or(f64::INFINITY)
    }
}

/// The answer at one combination of ends.
struct Corner<'a> {
    /// The lead.
    lead: Side<'a>,
    /// The equals, best first.
    equals: Vec<Side<'a>>,
    /// Whether it is misaligned.
    is_scarce: bool,
    /// What kind.
    label: Option<WindowLabel>,
    /// How serious.
    severity: Option<WindowSeverity>,
    /// The equal it is compared with.
    against: Option<Side<'a>>,
    /// The literal picture here.
    literal: Option<LiteralPicture>,
}

/// Judges a lead against the members that could lead as well. The order of the equals does not matter.
pub fn judge_windows(lead: &MemberWindows, equals: &[MemberWindows], rules: &WindowRules) -> WindowJudgement {
    let mut skipped: Vec<_> = equals.iter().filter_map(why_skipped).collect();
    skipped.sort();
    match &lead.standing {
        Standing::Unknown(reason) => WindowJudgement::silent(WindowOutcome::NoEvidence(reason.clone()), skipped),
        Standing::Stale(reason) => WindowJudgement::silent(WindowOutcome::Stale(reason.clone()), skipped),
        Standing::Metered | Standing::Known(_) => {
            let ends = [(End::Low, End::High), (End::High, End::Low), (End::Low, End::Low), (End::High, End::High)];
            let corners: Vec<_> =
                ends.iter().filter_map(|(x, y)| Some(Corner::judge(Side::of(lead, *x)?, equals, *y, rules))).collect();
            join(&corners, rules, skipped)
        }
    }
}

/// The key of an equal whose price is not known, and why it is not.
fn why_skipped(member: &MemberWindows) -> Option<(String, String)> {
    match &member.standing {
        Standing::Unknown(reason) | Standing::Stale(reason) => Some((member.key.clone(), reason.clone())),
        Standing::Metered | Standing::Known(_) => None,
    }
}

/// One judgement from the four corners; the first (lead cheapest, equals dearest) is the one that claims least.
fn join(corners: &[Corner<'_>], rules: &WindowRules, skipped: Vec<(String, String)>) -> WindowJudgement {
    let [base, most, ..] = corners else {
        return WindowJudgement::silent(WindowOutcome::NoEvidence("no price".to_owned()), skipped);
    };
    let outcome = if corners.iter().any(|corner| corner.is_scarce != base.is_scarce) {
        WindowOutcome::NeedsRefresh
    } else if base.is_scarce {
        WindowOutcome::Scarce
    } else {
        WindowOutcome::Aligned
    };
    let says_more = match outcome {
        WindowOutcome::Scarce => true,
        WindowOutcome::Aligned => corners.iter().all(|corner| corner.label == base.label),
        _ => false,
    };
    let against = base.against;
    let label = base.label.filter(|_| says_more);
    let is_aligned = outcome == WindowOutcome::Aligned;
    WindowJudgement {
        label,
        severity: base.severity.filter(|_| says_more),
        against: against.map(|side| side.member.key.clone()),
        price_lead: base.lead.member.price(),
        price_against: against.and_then(|side| side.member.price()),
        gap: base.gap().zip(most.gap()).map(|(least, most)| Range::between(least, most)),
        cash_saved_usd: against
            .filter(|_| label == Some(WindowLabel::Cash))
            .and_then(|side| cash_saved(&base.lead, &side, rules)),
        expiring: against.filter(|_| label == Some(WindowLabel::Expiry)).and_then(|side| expiring(&side, rules)),
        pool_short: base.pool_short().filter(|_| corners.iter().all(|corner| corner.pool_short().is_some())),
        literal: base.literal.clone(),
        drain_first: against.filter(|_| is_aligned).and_then(|side| drain_first(&base.lead, &side)),
        is_shared: against.is_some_and(|side| is_shared(&base.lead, &side)),
        skipped,
        outcome,
    }
}

impl<'a> Corner<'a> {
    /// Judges the lead against the equals, all at one end.
    fn judge(lead: Side<'a>, equals: &'a [MemberWindows], end: End, rules: &WindowRules) -> Self {
        let mut equals: Vec<Side<'a>> = equals.iter().filter_map(|member| Side::of(member, end)).collect();
        equals.sort_by(|a, b| {
            let by_price = a.price.total_cmp(&b.price).then_with(|| a.cash().total_cmp(&b.cash()));
            by_price.then_with(|| a.member.key.cmp(&b.member.key))
        });
        let against = equals.first().copied();
        let literal = picture(&lead, &equals, rules);
        let mut corner = Self { lead, equals, is_scarce: false, label: None, severity: None, against, literal };
        corner.settle(rules);
        corner
    }

    /// Π of the lead minus Π of the equal.
    fn gap(&self) -> Option<f64> {
        self.against.map(|against| self.lead.price - against.price)
    }

    /// Fills in the answer: gap, then cash, then the literal picture.
    fn settle(&mut self, rules: &WindowRules) {
        let Some(against) = self.against else { return };
        let gap = self.lead.price - against.price;
        if gap >= rules.gap {
            self.is_scarce = true;
            self.label = Some(scarce_label(&self.lead, &against, rules));
            self.severity = Some(scarce_severity(&self.lead, gap, rules));
        } else if let Some(saver) = best_saver(&self.lead, &self.equals, rules) {
            self.is_scarce = true;
            self.label = Some(WindowLabel::Cash);
            self.against = Some(saver);
        } else if let Some(literal) = &self.literal {
            self.is_scarce = rules.flag_literal_picture;
            self.label = if rules.flag_literal_picture { Some(WindowLabel::Literal) } else { literal.label };
            let is_low = self.is_scarce || self.label == Some(WindowLabel::Tail);
            self.severity = is_low.then_some(WindowSeverity::Low);
        }
    }

    /// Numbers of a pool whose every known member is short.
    fn pool_short(&self) -> Option<PoolShort> {
        let members = || std::iter::once(&self.lead).chain(&self.equals);
        if members().any(|side| side.price < SHORT) {
            return None;
        }
        let mut runways: Vec<(&str, f64, f64)> = members()
            .filter_map(Side::binding)
            .map(|(view, price)| {
                (view.id.as_str(), price.hours_left.unwrap_or(price.tau_h).min(price.tau_h), price.tau_h)
            })
            .collect();
        runways.sort_by(|a, b| a.0.cmp(b.0).then_with(|| a.1.total_cmp(&b.1)));
        runways.dedup_by(|later, kept| later.0 == kept.0);
        (!runways.is_empty()).then(|| PoolShort {
            runway_h: runways.iter().map(|(_, hours, _)| hours).sum(),
            first_reset_h: runways.iter().map(|(_, _, tau)| *tau).fold(f64::INFINITY, f64::min),
            latest_reset_h: runways.iter().map(|(_, _, tau)| *tau).fold(0.0, f64::max),
        })
    }
}

/// Why the lead is scarcer, the first that applies.
fn scarce_label(lead: &Side<'_>, against: &Side<'_>, rules: &WindowRules) -> WindowLabel {
    if expiring(against, rules).is_some() {
        return WindowLabel::Expiry;
    }
    match lead.binding() {
        Some((view, x)) if view.length_h.is_some_and(|length| length <= rules.review_hours) && x.load > 1.0 => {
            WindowLabel::Structural
        }
        Some((view, _)) if view.is_scoped => WindowLabel::Scoped,
        _ => WindowLabel::Depletion,
    }
}

/// High at a wide gap, or when the lead is dry now with at least an hour to wait.
fn scarce_severity(lead: &Side<'_>, gap: f64, rules: &WindowRules) -> WindowSeverity {
    let is_dry = lead.binding().is_some_and(|(_, x)| x.remaining <= 0.0 && x.tau_h >= 1.0);
    if gap >= rules.gap_high || is_dry { WindowSeverity::High } else { WindowSeverity::Medium }
}

/// The equal's window that is longer than the review period, resets within it and still holds something that lapses;
/// the soonest, then the smaller id.
fn expiring(against: &Side<'_>, rules: &WindowRules) -> Option<ExpiringEqual> {
    let lapses = |view: &&WindowView| {
        let is_long = view.length_h.is_some_and(|length| length > rules.review_hours);
        is_long && view.at(against.end).is_some_and(|y| y.expiring > 0.0 && y.tau_h <= rules.review_hours)
    };
    let windows = against.member.windows.iter().filter(lapses).filter_map(|view| Some((view, view.at(against.end)?)));
    let (view, y) = windows.min_by(|a, b| a.1.tau_h.total_cmp(&b.1.tau_h).then_with(|| a.0.id.cmp(&b.0.id)))?;
    Some(ExpiringEqual { window: view.id.clone(), unused: y.remaining, needed: y.burn_per_h * y.tau_h })
}

/// Dollars per review that leading with an equal saves, where both cash prices are known.
fn cash_saved(lead: &Side<'_>, equal: &Side<'_>, rules: &WindowRules) -> Option<f64> {
    let hourly = lead.member.cash_usd_per_lead_hour? - equal.member.cash_usd_per_lead_hour?;
    Some(hourly * rules.review_hours)
}

/// The equal with room that saves most, if one saves enough; ties in the order of the equals.
fn best_saver<'a>(lead: &Side<'a>, equals: &[Side<'a>], rules: &WindowRules) -> Option<Side<'a>> {
    let savers = equals.iter().filter(|equal| equal.price < SHORT);
    let priced = savers.filter_map(|equal| Some((*equal, cash_saved(lead, equal, rules)?)));
    let enough = priced.filter(|(_, saved)| *saved >= rules.cash_usd);
    enough.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(equal, _)| equal)
}

/// Whether two members are bound by one window.
fn is_shared(a: &Side<'_>, b: &Side<'_>) -> bool {
    a.binding().zip(b.binding()).is_some_and(|((a, _), (b, _))| a.id == b.id)
}

/// The member whose binding window resets sooner, when both are about as scarce and not on one window.
fn drain_first(lead: &Side<'_>, equal: &Side<'_>) -> Option<String> {
    let ((a, x), (b, y)) = lead.binding().zip(equal.binding())?;
    let has_phase = !a.is_load_only() && !b.is_load_only() && a.id != b.id;
    if !has_phase || (lead.price - equal.price).abs() >= TIE {
        return None;
    }
    match x.tau_h.total_cmp(&y.tau_h) {
        std::cmp::Ordering::Less => Some(lead.member.key.clone()),
        std::cmp::Ordering::Greater => Some(equal.member.key.clone()),
        std::cmp::Ordering::Equal => None,
    }
}

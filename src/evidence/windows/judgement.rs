//! What comes out when a lead's windows are judged: outcome, label, severity and every number behind them.

use super::WindowRules;
use super::literal::LiteralPicture;
use super::member::Range;

/// What the windows say about the lead.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowOutcome {
    /// No scarcer than the best equal.
    Aligned,
    /// Misaligned: `lead_window_scarce`.
    Scarce,
    /// The lead's price is unknown; why. No verdict (`window_unknown`).
    NoEvidence(String),
    /// A reading of the lead is too old; why. No verdict.
    Stale(String),
    /// The verdict depends on where in their intervals the readings lie: read again.
    NeedsRefresh,
}

/// What kind of scarcity, or of remark. The last two go with `Aligned` and never move anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowLabel {
    /// The equal's long window lapses within the review period.
    Expiry,
    /// The lead's short window is too small whatever its phase.
    Structural,
    /// A window of some models only binds the lead.
    Scoped,
    /// The lead's allowance is nearly spent.
    Depletion,
    /// An equal with room saves cash.
    Cash,
    /// The literal picture, raised by its setting.
    Literal,
    /// The lead is dry for a while and heals at its reset.
    Tail,
    /// The lead holds more than it can use before its reset: moving would forfeit it.
    UseItOrLoseIt,
}

impl WindowLabel {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expiry => "expiry",
            Self::Structural => "structural",
            Self::Scoped => "scoped",
            Self::Depletion => "depletion",
            Self::Cash => "cash",
            Self::Literal => "literal",
            Self::Tail => "tail",
            Self::UseItOrLoseIt => "use-it-or-lose-it",
        }
    }
}

/// How serious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowSeverity {
    /// A remark.
    Low,
    /// Worth a look.
    Medium,
    /// Act soon.
    High,
}

impl WindowSeverity {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What the equal would lose, for the label `expiry`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpiringEqual {
    /// The window that lapses.
    pub window: String,
    /// Fraction left in it.
    pub unused: f64,
    /// Fraction that leading would need until then.
    pub needed: f64,
}

/// Every known member is short: no reorder helps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolShort {
    /// Hours of work over all members until their resets, a shared window counted once.
    pub runway_h: f64,
    /// Hours to the first reset.
    pub first_reset_h: f64,
    /// Hours to the latest reset.
    pub latest_reset_h: f64,
}

/// The answer with every number it rests on. The numbers of the two sides stand in their [`super::MemberWindows`].
#[derive(Debug, Clone, PartialEq)]
pub struct WindowJudgement {
    /// The answer.
    pub outcome: WindowOutcome,
    /// What kind; `None` without anything to say, or when the ends of an interval say different things.
    pub label: Option<WindowLabel>,
    /// How serious, if graded.
    pub severity: Option<WindowSeverity>,
    /// Key of the equal the lead is compared with.
    pub against: Option<String>,
    /// Π of the lead.
    pub price_lead: Option<Range>,
    /// Π of the equal.
    pub price_against: Option<Range>,
    /// Π of the lead minus the smallest Π of the equals (for `cash`, minus that of the equal).
    pub gap: Option<Range>,
    /// Dollars saved per review, for `cash`.
    pub cash_saved_usd: Option<f64>,
    /// Set for `expiry`.
    pub expiring: Option<ExpiringEqual>,
    /// Set when every known member is short.
    pub pool_short: Option<PoolShort>,
    /// The literal picture, whatever the verdict.
    pub literal: Option<LiteralPicture>,
    /// Key of the member to drain first when both are about as scarce: the one that resets sooner. A hint only.
    pub drain_first: Option<String>,
    /// Whether lead and equal are bound by one window: moving relieves nothing unless they draw differently.
    pub is_shared: bool,
    /// Equals that are no alternative because their price is not known: key and why.
    pub skipped: Vec<(String, String)>,
}

impl WindowJudgement {
    /// Scarce lead-hours per review: the gap times the review period.
    pub fn scarce_lead_hours(&self, rules: &WindowRules) -> Option<Range> {
        self.gap.map(|gap| gap.map(|value| value * rules.review_hours))
    }

    /// Whether a change of order or weights follows: a misaligned verdict that is not the literal picture alone.
    pub fn moves(&self) -> bool {
        self.outcome == WindowOutcome::Scarce && self.label != Some(WindowLabel::Literal)
    }

    /// A judgement that says nothing but its outcome.
    pub(super) fn silent(outcome: WindowOutcome, skipped: Vec<(String, String)>) -> Self {
        Self {
            outcome,
            label: None,
            severity: None,
            against: None,
            price_lead: None,
            price_against: None,
            gap: None,
            cash_saved_usd: None,
            expiring: None,
            pool_short: None,
            literal: None,
            drain_first: None,
            is_shared: false,
            skipped,
        }
    }
}

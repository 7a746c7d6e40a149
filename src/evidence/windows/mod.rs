//! Quota windows: what a reading is worth, its scarcity price Π, the price of a member, and whether a lead draws on a
//! scarcer window than an equal (reference quota §3, methods §12). Pure: no clock, no file, no settings.

mod judge;
mod judgement;
mod literal;
mod member;
mod price;
mod reading;
mod scope;

pub use judge::judge_windows;
pub use judgement::{ExpiringEqual, PoolShort, WindowJudgement, WindowLabel, WindowOutcome, WindowSeverity};
pub use literal::LiteralPicture;
pub use member::{MemberOf, MemberPrice, MemberWindows, Range, Standing};
pub use price::{Phase, WindowInput, WindowPrice, binding, run_dry_chance, window_price};
pub use reading::{BurnOverride, BurnRate, BurnSource, WindowClass, WindowView};

use crate::vocabulary::REVIEW_HOURS;

/// The numbers a window is judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowRules {
    /// Π gap that is misaligned.
    pub gap: f64,
    /// Π gap that is of high severity.
    pub gap_high: f64,
    /// Dollars saved per review that are misaligned.
    pub cash_usd: f64,
    /// Hours one review's answer has to last.
    pub review_hours: f64,
    /// Minutes a lead must be dry before its reset for the remark `tail`.
    pub tail_minutes: f64,
    /// Whether the literal picture (quota §3.4, rule 4) is misaligned on its own.
    pub flag_literal_picture: bool,
}

impl Default for WindowRules {
    fn default() -> Self {
        Self {
            gap: 0.30,
            gap_high: 0.60,
            cash_usd: 1.0,
            review_hours: REVIEW_HOURS,
            tail_minutes: 5.0,
            flag_literal_picture: false,
        }
    }
}

//! Looks: when a claim has been seen often enough to be made, kept, weakened or withdrawn (methods §8.2), and when a landed
//! change may be argued against.

use crate::vocabulary::LookMemory;

/// The bars of looks; the defaults are those of methods §25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookRules {
    /// Claim probability that advances a streak.
    pub propose: f64,
    /// Claim probability that opens at one look.
    pub once: f64,
    /// Claim probability that is watched.
    pub watch: f64,
    /// Claim probability under which an open proposal is weakening.
    pub keep: f64,
    /// Claim probability under which, at two counted looks, it is withdrawn.
    pub withdraw: f64,
    /// Weighted rows that make a look count.
    pub new_rows: f64,
    /// Claim probability that argues against a landed change.
    pub reverse: f64,
    /// Days since its landing that takes.
    pub reverse_days: f64,
    /// Weighted rows on the new lead since its landing that takes.
    pub reverse_rows: f64,
}

impl Default for LookRules {
    fn default() -> Self {
        Self {
            propose: 0.95,
            once: 0.99,
            watch: 0.80,
            keep: 0.90,
            withdraw: 0.70,
            new_rows: 5.0,
            reverse: 0.975,
            reverse_days: 7.0,
            reverse_rows: 20.0,
        }
    }
}

/// Counted looks that a streak or a withdrawal takes.
const TWO: u32 = 2;

/// Where a comparison stands after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookState {
    /// Nothing to see.
    None,
    /// Likely, not open.
    Watch,
    /// Open.
    Open,
    /// Open, and below the bar that keeps it.
    Weakening,
    /// Closed by two low looks.
    Withdrawn,
}

impl LookState {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Watch => "watch",
            Self::Open => "open",
            Self::Weakening => "weakening",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// One look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookStep {
    /// Whether it counts: the first, or enough rows came since the last counted one.
    pub is_counted: bool,
    /// Counted looks in a row at or over the bar, this one included.
    pub streak: u32,
    /// Counted looks in a row below the withdrawal bar, while open.
    pub low: u32,
    /// Whether a proposal is open after it.
    pub is_open: bool,
    /// Where it stands.
    pub state: LookState,
}

/// One step of `[fn look_states]`. `new_rows` are the weighted rows since the last counted look; a look without new rows
/// neither advances nor breaks a streak. `is_reverse`: the change would undo a landed one, so the bar is higher and one
/// look is never enough.
pub fn look(before: Option<&LookMemory>, p: f64, new_rows: f64, is_reverse: bool, rules: &LookRules) -> LookStep {
    let is_counted = before.is_none_or(|_| new_rows >= rules.new_rows);
    let bar = if is_reverse { rules.reverse } else { rules.propose };
    let (was_open, streak, low) = before.map_or((false, 0, 0), |b| (b.is_open, b.streak, b.low));
    let streak = match (is_counted, p >= bar) {
        (true, true) => streak + 1,
        (true, false) => 0,
        (false, _) => streak,
    };
    let low = match (is_counted && was_open, p < rules.withdraw) {
        (true, true) => low + 1,
        (true, false) => 0,
        (false, _) => low,
    };
    let opens = (p >= bar && streak >= TWO) || (!is_reverse && p >= rules.once);
    let state = if was_open && low >= TWO {
        LookState::Withdrawn
    } else if was_open && !opens && p < rules.keep {
        LookState::Weakening
    } else if was_open || opens {
        LookState::Open
    } else if p >= rules.watch {
        LookState::Watch
    } else {
        LookState::None
    };
    let is_open = matches!(state, LookState::Open | LookState::Weakening);
    LookStep { is_counted, streak, low: if is_open { low } else { 0 }, is_open, state }
}

/// What `[fn reverse_rule]` is asked about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReverseFacts {
    /// Days since the landing.
    pub days: f64,
    /// Weighted rows on the new lead since the landing.
    pub rows: f64,
    /// P of the reverse now.
    pub p: f64,
    /// Counted looks in a row at the reverse bar.
    pub looks: u32,
}

/// `[fn reverse_rule]`: what is missing before a landed change may be argued against, sorted; nothing: it may.
pub fn reverse_rule(facts: &ReverseFacts, rules: &LookRules) -> Vec<&'static str> {
    let terms = [
        ("days", facts.days >= rules.reverse_days),
        ("looks", facts.looks >= TWO),
        ("probability", facts.p >= rules.reverse),
        ("rows", facts.rows >= rules.reverse_rows),
    ];
    terms.into_iter().filter_map(|(name, holds)| (!holds).then_some(name)).collect()
}

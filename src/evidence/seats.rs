//! What a call costs on a seat whose term decides that. GitHub Copilot counted premium requests, each model with a multiplier,
//! until 2026-06-01; since then monthly seats are billed per token and annual ones go on counting, at higher multipliers.
//! The table is that of GitHub Docs (data/tables/copilot, CC-BY-4.0).

use chrono::{DateTime, NaiveDate, Utc};

use crate::vocabulary::{TargetRef, Term};

/// The provider whose seats these are.
const PROVIDER: &str = "github-copilot";

/// First day on which monthly seats pay per token.
const TOKENS_SINCE: NaiveDate = NaiveDate::from_ymd_opt(2026, 6, 1).expect("a day of the calendar");

/// Model → premium requests of one call: on a paid seat before the change, on an annual seat before it and since. `None` is
/// not stated.
const MULTIPLIERS: &[(&str, [Option<f64>; 3])] = &[
    ("claude-haiku-4.5", [Some(0.33), Some(0.33), Some(0.33)]),
    ("claude-opus-4.5", [Some(3.0), Some(3.0), Some(15.0)]),
    ("claude-opus-4.6", [Some(3.0), Some(3.0), Some(27.0)]),
    ("claude-opus-4.7", [Some(7.5), Some(15.0), Some(27.0)]),
    ("claude-sonnet-4", [Some(1.0), None, None]),
    ("claude-sonnet-4.5", [Some(1.0), Some(1.0), Some(6.0)]),
    ("claude-sonnet-4.6", [Some(1.0), Some(1.0), Some(9.0)]),
    ("gemini-2.5-pro", [Some(1.0), Some(1.0), Some(1.0)]),
    ("gemini-3-flash", [Some(0.33), Some(0.33), Some(0.33)]),
    ("gemini-3-pro", [None, Some(1.0), Some(6.0)]),
    ("gemini-3.1-pro", [Some(1.0), Some(1.0), Some(6.0)]),
    ("gpt-4.1", [Some(0.0), Some(0.0), Some(1.0)]),
    ("gpt-4o", [Some(0.0), Some(0.0), Some(0.33)]),
    ("gpt-4o-mini", [None, Some(0.0), Some(0.33)]),
    ("gpt-5-mini", [Some(0.0), Some(0.0), Some(0.33)]),
    ("gpt-5.1", [None, Some(1.0), Some(3.0)]),
    ("gpt-5.1-codex", [None, Some(1.0), Some(3.0)]),
    ("gpt-5.1-codex-max", [None, Some(1.0), Some(3.0)]),
    ("gpt-5.1-codex-mini", [None, Some(0.33), Some(0.33)]),
    ("gpt-5.2", [Some(1.0), Some(1.0), Some(3.0)]),
    ("gpt-5.2-codex", [Some(1.0), Some(1.0), Some(3.0)]),
    ("gpt-5.3-codex", [Some(1.0), Some(1.0), Some(6.0)]),
    ("gpt-5.4", [Some(1.0), Some(1.0), Some(6.0)]),
    ("gpt-5.4-mini", [Some(0.33), Some(0.33), Some(6.0)]),
    ("gpt-5.4-nano", [Some(0.25), None, None]),
    ("gpt-5.5", [None, Some(7.5), None]),
    ("grok-code-fast-1", [Some(0.25), Some(0.25), Some(0.33)]),
    ("raptor-mini", [Some(0.0), Some(0.0), Some(0.33)]),
];

/// What one call costs on a seat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SeatCost {
    /// Premium requests: now, and before the change where that is past and was another number.
    Requests {
        /// Requests of one call now.
        now: f64,
        /// Requests of one call before the change.
        before: Option<f64>,
    },
    /// The seat's term is not stated: tokens on a monthly one, requests on an annual one.
    Unstated {
        /// Requests of one call on an annual seat.
        annual: f64,
        /// The same before the change.
        before: Option<f64>,
    },
}

/// What a call of a target costs on its seat; `None` where tokens are all that counts, or nothing is stated.
pub fn seat(target: &TargetRef, term: Option<Term>, now: DateTime<Utc>) -> Option<SeatCost> {
    if target.provider.as_str() != PROVIDER {
        return None;
    }
    let id = target.model.to_lowercase();
    let row = MULTIPLIERS.iter().find(|(model, _)| *model == id || id == format!("{model}-preview"));
    let [paid, annual_before, annual] = row.map_or([None; 3], |(_, numbers)| *numbers);
    let is_before = now.date_naive() < TOKENS_SINCE;
    match term {
        Some(Term::Monthly) if !is_before => None,
        Some(Term::Monthly) => paid.map(|now| SeatCost::Requests { now, before: None }),
        Some(Term::Annual) if is_before => annual_before.map(|now| SeatCost::Requests { now, before: None }),
        Some(Term::Annual) => annual.map(|now| SeatCost::Requests { now, before: annual_before }),
        None if is_before => paid.or(annual_before).map(|now| SeatCost::Requests { now, before: None }),
        None => annual.map(|annual| SeatCost::Unstated { annual, before: annual_before }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a call of Copilot's Opus 4.6 costs on a day.
    fn opus(term: Option<Term>, day: &str) -> Option<SeatCost> {
        let target = TargetRef::parse("github-copilot/claude-opus-4.6").unwrap();
        seat(&target, term, format!("{day}T12:00:00Z").parse().unwrap())
    }

    #[test]
    fn annual_seats_count_and_monthly_ones_pay_tokens_since_the_first_of_june() {
        assert_eq!(opus(Some(Term::Monthly), "2026-06-02"), None);
        let annual = Some(SeatCost::Requests { now: 27.0, before: Some(3.0) });
        assert_eq!(opus(Some(Term::Annual), "2026-06-02"), annual);
        let both = Some(SeatCost::Unstated { annual: 27.0, before: Some(3.0) });
        assert_eq!(opus(None, "2026-06-01"), both);
        assert_eq!(opus(None, "2026-05-31"), Some(SeatCost::Requests { now: 3.0, before: None }));
    }

    #[test]
    fn another_providers_offer_of_the_model_has_no_such_seat() {
        let target = TargetRef::parse("anthropic/claude-opus-4-6").unwrap();
        assert_eq!(seat(&target, None, "2026-06-02T12:00:00Z".parse().unwrap()), None);
    }
}

//! How a claim is held to account, for a person: when and by which rows it is, was or will be verified, and what takes it back.

use super::card::Card;
use crate::history::{Measurement, Status};
use crate::outputs::calibration::pair;
use crate::outputs::text::{self, Place};
use crate::outputs::view::counted;
use crate::verdict::{Trigger, Verification};

/// The rule by which a fact is looked at.
const LOOKED_AT: &str = "structural_1";
/// The rule by which a test is measured.
const PAIRED: &str = "paired_standard_1";

/// When the claim is, was or will be verified, by which rows, and what came of it.
pub(super) fn verification(card: &Card<'_>) -> String {
    let life = card.life;
    let plan = card.proposal.as_ref().map(|proposal| planned(&proposal.verification));
    let plan = plan.unwrap_or_else(|| "its file, which says how, is not intact".to_owned());
    if let Some(measured) = &life.verification {
        let is_stopped = measured.fact.status == Status::Verifying && !life.status.is_landed();
        return measured_words(measured, is_stopped);
    }
    let since = match (&life.landing, &life.decision) {
        (Some(landing), _) if life.status.is_landed() => Some(&landing.detected_at),
        (None, Some(decided)) if card.fact.is_test() && life.status == Status::Accepted => Some(&decided.at),
        _ => None,
    };
    match since {
        Some(since) => format!("to come, in force since {}: {plan}", text::name(since, Place::Terminal)),
        None if card.fact.is_test() => format!("once the test is accepted and has rows: {plan}"),
        None => format!("once it has landed: {plan}"),
    }
}

/// What a measurement found, or how far it has come.
fn measured_words(measured: &Measurement, is_stopped: bool) -> String {
    let name = |text: &str| text::name(text, Place::Terminal);
    let fact = &measured.fact;
    let (at, since, rule) = (name(&measured.at), name(&fact.landed_at), name(&fact.rule));
    let state = match fact.status {
        Status::Verifying if is_stopped => {
            format!("stopped without an outcome, in force since {since}, looked at {at}, by {rule}")
        }
        Status::Verifying => format!("under way since {since}, looked at {at}, by {rule}"),
        status => format!("{} at {at}, in force since {since}, by {rule}", status.as_str()),
    };
    if fact.rule == LOOKED_AT {
        let found = match fact.realised_point {
            None => "what was predicted cannot be judged yet",
            Some(0) => "what was predicted is not there",
            Some(_) => "what was predicted is there",
        };
        return format!("{state}: {found}; a fact is looked at, no rows are needed");
    }
    let claimed = pair(fact.claimed_point, fact.claimed_sd, &fact.unit);
    let found = match (fact.realised_point, fact.realised_se) {
        (Some(point), Some(se)) => pair(point, se, &fact.unit),
        _ => "nothing yet".to_owned(),
    };
    let rows = if fact.rule == PAIRED {
        format!("{} of both arms", counted(whole(fact.rows.1), "task", "tasks"))
    } else {
        format!("{} before and {} after", counted(whole(fact.rows.0), "row", "rows"), fact.rows.1)
    };
    let controls: Vec<String> = fact.controls.iter().map(|pool| name(pool)).collect();
    let against = if controls.is_empty() { String::new() } else { format!(", against {}", controls.join(", ")) };
    format!("{state}: claimed {claimed} of {}, found {found}; {rows}{against}", name(&fact.metric))
}

/// A count of rows.
fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// How it will be verified.
fn planned(plan: &Verification) -> String {
    let (rule, metric) = (text::name(&plan.rule, Place::Terminal), text::name(&plan.metric, Place::Terminal));
    let days = counted(whole(plan.deadline_days), "day", "days");
    if plan.rule == LOOKED_AT {
        return format!("{rule}, {metric} is looked at by every review, for {days}");
    }
    format!("{rule}, {metric} on {} or after {days}", counted(whole(plan.min_rows), "row", "rows"))
}

/// What takes it back, and whether that is due; `None` when nothing does.
pub(super) fn rollback(card: &Card<'_>) -> Option<String> {
    if let Some(due) = &card.life.due {
        let (words, label) = (text::sentence(&due.sentence(), Place::Terminal), card.label());
        return Some(format!(
            "{}; `pool-review proposals patch {label} --rollback` prints the way back",
            upper(&words)
        ));
    }
    let trigger = &card.proposal.as_ref()?.rollback.trigger;
    let when = condition(trigger)?;
    let state = if card.life.status.is_landed() { "not due" } else { "once it has landed" };
    Some(format!("{state}: {} when {when}", text::name(&trigger.rule, Place::Terminal)))
}

/// The words `rollback due` in capitals: they ask for somebody.
fn upper(words: &str) -> String {
    words.replacen("rollback due", "ROLLBACK DUE", 1)
}

/// The condition of a trigger in words; `None` of one that never is.
fn condition(trigger: &Trigger) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "shares and rows of a few thousands")]
    let number =
        |value: Option<u64>, unit: f64| value.map_or("?".to_owned(), |value| format!("{:.2}", value as f64 / unit));
    match trigger.rule.as_str() {
        "below_floor_1" => Some(format!(
            "P(success of the lead below {}) is {} or more, on at least {} weighted rows since the landing",
            number(trigger.floor_ppm, 1e6),
            number(trigger.probability_ppm, 1e6),
            number(trigger.min_weighted_rows_milli, 1e3)
        )),
        "refuted_1" => Some("its measurement ends refuted".to_owned()),
        "window_dry_1" => Some("a window of the lead is dry for an hour or more".to_owned()),
        _ => None,
    }
}

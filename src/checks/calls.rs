//! What model calls of session stores say of a member: how often it could be reached, what it used, who got the traffic. They
//! are calls, not tasks: they stand beside success and never inside it, and what no rule judges is shown and no more.

use super::plain;
use crate::evidence::cells::list_cost;
use crate::evidence::rates::Share;
use crate::evidence::retire::RetireParams;
use crate::evidence::usage::{MemberCalls, Seen};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::verdict::{Basis, Number, Unit};
use crate::vocabulary::SourceId;

/// How often a member could be reached.
pub(super) struct Reach {
    /// Attempts or calls that were not lost to the infrastructure, among all.
    pub(super) share: Share,
    /// `None` for task attempts of our own rows.
    pub(super) basis: Option<Basis>,
    /// Who saw it, in words.
    pub(super) seen_by: String,
}

impl Reach {
    /// What is counted.
    pub(super) fn unit(&self) -> &'static str {
        if self.basis.is_some() { "calls" } else { "attempts" }
    }

    /// The source it rests on.
    pub(super) fn source(&self) -> SourceId {
        if self.basis.is_some() { SourceId::SessionStores } else { SourceId::Sessions }
    }
}

/// Whether the attempts of our own rows are enough to tell how often a member can be reached.
pub(super) fn is_told_by_attempts(member: &MemberEvidence) -> bool {
    member.own.raw.attempts() >= RetireParams::default().available_attempts
}

/// How often a member could be reached: by task attempts where there are enough of them, else by calls; never by their sum.
pub(super) fn reach(member: &MemberEvidence) -> Option<Reach> {
    let of_attempts = || {
        let share = member.own.raw.availability()?;
        Some(Reach { share, basis: None, seen_by: "scorecards".to_owned() })
    };
    let of_calls = || {
        let share = member.calls.availability()?;
        Some(Reach { share, basis: Some(Basis::Calls), seen_by: member.calls.reach.said() })
    };
    if is_told_by_attempts(member) { of_attempts() } else { of_calls().or_else(of_attempts) }
}

/// A number of the calls of a member.
fn of_calls(member: &MemberEvidence, what: &str, value: Option<f64>, unit: Unit, n: u64, remark: String) -> Number {
    Number { of: member.target.clone(), n: Some(n), basis: Some(Basis::Calls), remark, ..plain(what, value, unit) }
}

/// What the calls of a member show, beside its rows: nothing where no store saw any.
pub(super) fn numbers(evidence: &PoolEvidence, member: &MemberEvidence) -> Vec<Number> {
    let calls = &member.calls;
    let mut numbers = Vec::new();
    numbers.extend(availability(member, calls));
    numbers.extend(tokens(member, calls));
    numbers.extend(own_mix(evidence, member, calls));
    numbers.extend(cost(member, calls));
    numbers.extend(mishaps(member, calls));
    numbers
}

/// How many calls were answered.
fn availability(member: &MemberEvidence, calls: &MemberCalls) -> Option<Number> {
    let share = calls.availability()?;
    let lost = share.n - share.hits;
    let remark = format!("{lost} lost to the infrastructure; seen by {}", calls.reach.said());
    let number = of_calls(member, "availability of calls", Some(share.value), Unit::Share, share.n, remark);
    Some(Number { interval: Some((share.lo, share.hi)), ..number })
}

/// Input tokens of all kinds.
fn input_of(seen: &Seen) -> u64 {
    seen.counts.tokens[..3].iter().fold(0, |sum, kind| sum.saturating_add(*kind))
}

/// Tokens of a call that was answered.
#[expect(clippy::cast_precision_loss, reason = "token counts fit an f64 exactly")]
fn tokens(member: &MemberEvidence, calls: &MemberCalls) -> Option<Number> {
    let counts = &calls.tokens.counts;
    let n = counts.responses;
    let [input, cache_read, cache_write, output] = counts.tokens.map(|kind| kind as f64 / n as f64);
    let floor = match counts.incomplete {
        0 => String::new(),
        some => format!("at least, {some} have no final count; "),
    };
    let remark = format!(
        "{floor}{input:.0} uncached input, {cache_read:.0} cache read, {cache_write:.0} cache write, {output:.0} output; seen by {}",
        calls.tokens.said()
    );
    let sum = input + cache_read + cache_write + output;
    (n > 0).then(|| of_calls(member, "tokens of a call", Some(sum), Unit::Count, n, remark))
}

/// The list price of a million input tokens at the mix of kinds that the calls show, beside the bill at the mix of the tier.
#[expect(clippy::cast_precision_loss, reason = "token counts fit an f64 exactly")]
fn own_mix(evidence: &PoolEvidence, member: &MemberEvidence, calls: &MemberCalls) -> Option<Number> {
    let (counts, input) = (&calls.tokens.counts, input_of(&calls.tokens));
    if input == 0 {
        return None;
    }
    let prices = member.own.prices.as_ref();
    let usd = prices.and_then(|prices| list_cost(&counts.tokens.map(|kind| kind as f64), prices));
    let [_, cache_read, _, output] = counts.tokens;
    let per_output = if output == 0 {
        "no output".to_owned()
    } else {
        format!("{:.1} to one of output", input as f64 / output as f64)
    };
    let remark = format!(
        "{}{:.1} % of input from cache, {per_output}; the tier takes {:.0} % and {:.0}; shown, not judged",
        if usd.is_none() { "no list price for a kind that was used; " } else { "" },
        cache_read as f64 / input as f64 * 100.0,
        evidence.tier.cache_share * 100.0,
        evidence.tier.input_per_output,
    );
    let value = usd.map(|usd| usd / input as f64 * 1e6);
    Some(of_calls(member, "bill at the mix of its calls", value, Unit::UsdPerMtok, counts.responses, remark))
}

/// What a million input tokens of its calls cost, as billed where anything is billed; a lower bound while some have no price.
#[expect(clippy::cast_precision_loss, reason = "token counts fit an f64 exactly")]
fn cost(member: &MemberEvidence, calls: &MemberCalls) -> Option<Number> {
    let (counts, input, priced) = (&calls.cost.counts, input_of(&calls.cost), calls.priced_share()?);
    let value = (counts.n_cost > 0 && input > 0).then(|| counts.cost.to_f64() / input as f64 * 1e6);
    let floor = match value {
        None => "unknown, so it cannot win on cost: ",
        Some(_) if priced < 1.0 => "at least, so it cannot win on cost: ",
        Some(_) => "",
    };
    let remark = format!(
        "{floor}{:.0} % of {} responses priced; seen by {}",
        priced * 100.0,
        counts.responses,
        calls.cost.said()
    );
    Some(of_calls(member, "cost of calls", value, Unit::UsdPerMtok, counts.n_cost, remark))
}

/// What stood still were sessions, not calls.
const STALLS: &str = "stalls";

/// Retries, limit messages and stalls, where there were any.
fn mishaps(member: &MemberEvidence, calls: &MemberCalls) -> Vec<Number> {
    let (reach, stalls) = (&calls.reach, &calls.stalls);
    let counts = [
        ("retries of calls", reach.counts.retries, reach.counts.calls, reach),
        ("quota hits", reach.counts.quota_hits, reach.counts.calls, reach),
        (STALLS, stalls.counts.stalls, stalls.counts.stalls, stalls),
    ];
    let there = counts.into_iter().filter(|(_, count, ..)| *count > 0);
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let one = |(what, count, n, seen): (&str, u64, u64, &Seen)| {
        let number = of_calls(member, what, Some(count as f64), Unit::Count, n, format!("seen by {}", seen.said()));
        Number { basis: number.basis.filter(|_| what != STALLS), ..number }
    };
    there.map(one).collect()
}

/// Who got the calls of the pool in the days of the idle rule, beside the configured shares. Shares of tasks are judged, shares
/// of calls are not: one task may take one call or a thousand.
pub(super) fn shares(evidence: &PoolEvidence) -> Vec<Number> {
    let all: u64 = evidence.members.iter().map(|member| member.calls.recent.counts.calls).sum();
    let one = |member: &MemberEvidence| {
        let recent = &member.calls.recent;
        let share = Share::of(recent.counts.calls, all)?;
        let seen = if recent.sources.is_empty() { "no store".to_owned() } else { recent.said() };
        let remark = format!(
            "configured {:.1} %; calls of {:.0} days, no tasks, so not judged; seen by {seen}",
            member.share * 100.0,
            evidence.assigned_days
        );
        let number = of_calls(member, "observed share of calls", Some(share.value), Unit::Share, all, remark);
        Some(Number { interval: Some((share.lo, share.hi)), ..number })
    };
    evidence.members.iter().filter_map(one).collect()
}

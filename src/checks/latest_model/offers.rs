//! Notes on the offers of the members themselves: prices that will change, are disputed or depend on the hour, and a state that
//! the catalogue and the provider see differently. Notes change no verdict and ask for nothing.

use super::finding;
use crate::evidence::seats::SeatCost;
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::verdict::{Finding, Measured, Sentence, Unit};
use crate::vocabulary::SourceId;

/// The notes on one member.
pub(super) fn notes(evidence: &PoolEvidence, member: &MemberEvidence) -> Vec<Finding> {
    let found = [
        change_due(evidence, member),
        disputed(evidence, member),
        jumped(evidence, member),
        by_hour(evidence, member),
        unpriced(evidence, member),
        by_seat(evidence, member),
        offer_price(evidence, member),
        status(evidence, member),
    ];
    found.into_iter().flatten().collect()
}

/// A note on a member.
fn note(evidence: &PoolEvidence, member: &MemberEvidence, code: &'static str, sources: &[SourceId]) -> Finding {
    let mut found = finding(evidence, code, &member.key, None);
    found.sources = std::iter::once(SourceId::Pools).chain(sources.iter().copied()).collect();
    found.place = evidence.place_of(&member.key);
    found.why = Sentence::new().name(&member.target);
    found
}

/// A change of the list price that is announced: what it costs before and after.
fn change_due(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let (change, before, after) = member.market.change?;
    let mut found = note(evidence, member, "price_change_due", &[SourceId::Prices]);
    let bills = before.zip(after).map_or_else(String::new, |(before, after)| {
        format!("; bill {} -> {}", Unit::UsdPerMtok.show(before), Unit::UsdPerMtok.show(after))
    });
    found.why = found.why.own(format!(
        ": its list price changes on {}: {} -> {} (genai-prices){bills}",
        change.day, change.before, change.after
    ));
    let days = (change.day - evidence.now.date_naive()).num_days();
    #[expect(clippy::cast_precision_loss, reason = "days of a few centuries")]
    let value = days as f64;
    found.measured = Some(Measured { what: "days to the change", value, unit: Unit::Days, n: None });
    Some(found)
}

/// A list price on which the sources do not agree; its bill is unknown until they do.
fn disputed(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let reason = member.bill.reason().filter(|reason| reason.starts_with("price disputed"))?;
    let mut found =
        note(evidence, member, "price_disputed", &[SourceId::Catalogues, SourceId::Retirements, SourceId::Market]);
    found.why = found.why.own(format!(": {reason}; no bill rests on either"));
    Some(found)
}

/// A price that one source alone changed.
fn jumped(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let (source, prices) = member.market.jump?;
    let mut found = note(evidence, member, "price_jump", &[source]);
    found.why = found.why.own(format!(
        ": {source} alone says {prices} now; the price of the run before is used until a second source or a second run agrees"
    ));
    Some(found)
}

/// A price that depends on the hour.
fn by_hour(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    if member.market.other_hours.is_empty() {
        return None;
    }
    let mut found = note(evidence, member, "price_by_hour", &[SourceId::Prices]);
    let others: Vec<String> = member.market.other_hours.iter().map(ToString::to_string).collect();
    let text = format!(
        ": its price depends on the hour ({} at others); its bill is that of the dearest, an upper bound",
        others.join(", ")
    );
    found.why = found.why.own(text);
    Some(found)
}

/// An offer whose written price is none: a router, or 0 without being free.
fn unpriced(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let reason = member.market.price_note?;
    let mut found = note(evidence, member, "cost_not_assessable", &[SourceId::OpenRouter]);
    found.why = found.why.own(format!(": cost not assessable: {reason}"));
    Some(found)
}

/// A seat that counts requests, or whose term decides whether it does.
fn by_seat(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let seat = member.market.seat?;
    let times = |requests: f64| format!("{requests} premium requests a call");
    let was = |before: Option<f64>| before.map_or_else(String::new, |before| format!(" ({before} before 2026-06-01)"));
    let (code, text) = match seat {
        SeatCost::Requests { now, before } => (
            "seat_requests",
            format!(": its seat counts {}{}; bills are list prices of tokens", times(now), was(before)),
        ),
        SeatCost::Unstated { annual, before } => {
            let tokens = match member.bill.get() {
                Some(bill) => format!("pays tokens (bill {} at list price)", Unit::UsdPerMtok.show(bill)),
                None => "pays tokens (list price unknown)".to_owned(),
            };
            let annual = times(annual);
            let text = format!(
                ": the term of its seat is not stated: a monthly one {tokens}, an annual one counts {annual}{}; cost not assessable",
                was(before)
            );
            ("cost_not_assessable", text)
        }
    };
    let mut found = note(evidence, member, code, &[]);
    found.why = found.why.own(format!("{text} (GitHub Docs, CC-BY-4.0)"));
    if code == "cost_not_assessable" {
        let home = member.key.rsplit_once('#').map_or("its home", |(_, home)| home);
        found.todo = Sentence::new().own("write whether the seat is monthly or annual: homes.").name(home).own(".term");
    }
    Some(found)
}

/// An offer that its provider sells at another price than the vendor's list.
fn offer_price(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let prices = member.market.offer_prices;
    if !member.target.starts_with("openrouter/") || prices.is_unknown() {
        return None;
    }
    let mut found = note(evidence, member, "offer_price", &[SourceId::OpenRouter]);
    found.why = if prices.is_free() {
        found.why.own(": a free offer (limits unknown)")
    } else {
        found.why.own(format!(": OpenRouter asks {prices} USD per million tokens, the cheapest host today; bills use the vendor's list price"))
    };
    Some(found)
}

/// A state that only the catalogue claims. A state alone never retires anything.
fn status(evidence: &PoolEvidence, member: &MemberEvidence) -> Option<Finding> {
    let is_claimed = member.market.status.as_deref() == Some("deprecated") && member.end.is_none();
    if !is_claimed {
        return None;
    }
    let mut found = note(evidence, member, "status_disputed", &[SourceId::Catalogues, SourceId::ProviderCatalogue]);
    let listed = match member.market.is_listed {
        Some(true) => ", the provider still lists it",
        Some(false) => ", the provider does not list it any more",
        None => ", the provider's own list is not known",
    };
    found.why = found.why.own(format!(": models.dev says deprecated{listed}; no retirement date known"));
    Some(found)
}

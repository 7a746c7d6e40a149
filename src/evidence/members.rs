//! What is known of the members of a pool: standing, bill, measured speed, calls, windows, end dates and what follows them.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::assemble::{PoolInput, World, is_only_effort, model_effort};
use super::attribution::SpeedMember;
use super::book::{Offer, RowView, bill_of};
use super::cells::OwnEvidence;
use super::outside::{ask_policy, shape, takes};
use super::pool::{Ending, MemberEvidence, MemberMarket, Successor};
use super::seats::seat;
use super::standing::Standings;
use super::usage::MemberCalls;
use super::windows::{MemberOf, MemberWindows, Standing};
use crate::ring::RingMember;
use crate::vocabulary::{Effort, Known, ModelId, PoolId, Provenance, SourceId, TargetRef};

/// A market statement as a known value.
fn stated<T>(world: &World<'_>, value: Option<T>, source: SourceId, reason: &str) -> Known<T> {
    let as_of = world.market.1;
    match value {
        Some(value) => Known::Value(value, Provenance { source, as_of, n: 1 }),
        None => Known::Unknown(reason.to_owned()),
    }
}

/// What is known of one member, what was measured of it excepted.
pub(super) fn member_evidence(
    world: &World<'_>,
    input: &PoolInput<'_>,
    member: &RingMember,
    members: &[RingMember],
    standings: &Standings,
    own: OwnEvidence,
) -> MemberEvidence {
    let (model, effort) = (&member.key.model, &member.key.effort);
    let view = world.book.row(model, effort);
    let standing = standings.by_id.get(&model_effort(model, effort));
    let mut imputed: Vec<String> = standing.map(|standing| standing.imputed.clone()).unwrap_or_default();
    if view.is_some_and(|view| view.is_imputed) {
        imputed.push("effort".to_owned());
    }
    let bill = match world.book.bill(model, shape(&input.tier)) {
        Ok(bill) => stated(world, Some(bill.usd_per_mtok), SourceId::Catalogues, ""),
        Err(reason) => Known::Unknown(reason),
    };
    let no_row = if member.is_matched { "no market row at this effort" } else { "its name could not be matched" };
    MemberEvidence {
        key: member.key.to_string(),
        model_effort: model_effort(model, effort),
        target: member.target.to_string(),
        share: member.share,
        may_lead: member.may_lead,
        index: stated(world, standing.and_then(|s| s.index), SourceId::Market, no_row),
        q: stated(world, standing.and_then(|s| s.q), SourceId::Market, no_row),
        bill,
        market_tps: stated(
            world,
            view.and_then(|view| view.row.output_tps),
            SourceId::Market,
            "the market states no speed",
        ),
        market_first_answer_s: stated(
            world,
            view.and_then(|view| view.row.first_answer_s),
            SourceId::Market,
            "the market states no time to the first answer",
        ),
        imputed,
        end: ending(world, input, member, members),
        market: market_of(world, input, member, view),
        own,
        speed: None,
        calls: MemberCalls::default(),
        windows: windows(world, member),
    }
}

/// What the market says of a member's offer beside its bill.
fn market_of(world: &World<'_>, input: &PoolInput<'_>, member: &RingMember, view: Option<RowView<'_>>) -> MemberMarket {
    let model = &member.key.model;
    let facts = world.book.price_facts(model).cloned().unwrap_or_default();
    let offer = world.book.offer_of(model, &member.target);
    let bill = |prices| bill_of(prices, shape(&input.tier)).map(|bill| bill.usd_per_mtok);
    let is_exact = view.is_some_and(|view| !view.is_imputed);
    let own_list = world.book.lists_itself(&member.target.provider);
    MemberMarket {
        change: facts.change.map(|change| (change, bill(change.before), bill(change.after))),
        other_hours: facts.other_hours,
        jump: facts.jump,
        offer_prices: offer.map(|offer| offer.prices).unwrap_or_default(),
        price_note: offer.and_then(|offer| offer.price_note),
        status: offer.and_then(|offer| offer.status.clone()),
        is_listed: own_list.then_some(offer.is_some()),
        efforts: if is_exact { String::new() } else { world.book.efforts_of(model) },
        repeated_index: world.book.repeated_index(model).filter(|_| world.book.repeats_market(model) != Some(true)),
        seat: seat(&member.target, world.homes.get(&member.target.provider).and_then(|facts| facts.term), world.now),
    }
}

/// The members with their measured speeds and their calls.
pub(super) fn with_measurements(
    world: &World<'_>,
    pool: &PoolId,
    ring: &[RingMember],
    members: Vec<MemberEvidence>,
) -> Vec<MemberEvidence> {
    let asked: Vec<SpeedMember<'_>> = ring
        .iter()
        .map(|member| SpeedMember {
            key: member.key.to_string(),
            model: &member.key.model,
            effort: &member.key.effort,
            home: member.key.home.as_str(),
            provider: member.target.provider.as_str(),
            is_only_effort: is_only_effort(ring, &member.key),
        })
        .collect();
    let mut speeds = world.attribution.speeds(pool, &asked);
    let calls = asked.iter().map(|asked| world.usage.of(pool, asked));
    let measured = |(member, calls): (MemberEvidence, MemberCalls)| MemberEvidence {
        speed: speeds.remove(&member.key),
        calls,
        ..member
    };
    members.into_iter().zip(calls).map(measured).collect()
}

/// A member's windows. Its model is matched with scopes under its canonical name and as the provider spells it. A provider
/// that belongs to no home of the settings may draw on anything: its windows are unknown, not absent.
fn windows(world: &World<'_>, member: &RingMember) -> MemberWindows {
    let facts = world.homes.get(&member.target.provider);
    if facts.is_none() {
        let standing = Standing::Unknown("its provider belongs to no home of the settings".to_owned());
        return MemberWindows { standing, ..MemberWindows::from_windows(member.key.to_string(), None, Vec::new()) };
    }
    let spellings = [member.key.model.as_str(), member.target.model.as_str()];
    let of = MemberOf {
        key: member.key.to_string(),
        home: world.quotas.get(&member.key.home),
        is_flat: facts.is_some_and(|facts| facts.is_flat),
        cash_usd_per_lead_hour: facts.and_then(|facts| facts.cash_usd_per_lead_hour),
        models: &spellings,
        burns: BTreeMap::new(),
    };
    MemberWindows::read(&of, &world.window_rules, world.now)
}

/// A member's end date with what becomes of its work.
fn ending(world: &World<'_>, input: &PoolInput<'_>, member: &RingMember, members: &[RingMember]) -> Option<Ending> {
    let end = world.book.end_of(&member.target)?.clone();
    let days_left = (end.date - world.now.date_naive()).num_days();
    let successor = match &end.successor_model {
        Some(model) => successor(world, input, member, members, model, end.date),
        None => Successor::Unusable(match &end.successor {
            Some(text) => format!("\"{text}\" is no known model"),
            None => "none is named".to_owned(),
        }),
    };
    Some(Ending { end, days_left, successor })
}

/// What a named successor is to this pool.
fn successor(
    world: &World<'_>,
    input: &PoolInput<'_>,
    member: &RingMember,
    members: &[RingMember],
    model: &ModelId,
    ends: NaiveDate,
) -> Successor {
    if members.iter().any(|other| other.key.model == *model) {
        return Successor::InPool { model: model.to_string() };
    }
    let mut why = format!("no home of the fleet that this pool may use offers {model}");
    let mut offers: Vec<&Offer> = world.book.offers(model).iter().collect();
    offers.sort_by_key(|offer| (offer.provider != member.target.provider, &offer.provider, &offer.id));
    for offer in offers {
        let effort =
            if takes(offer, &member.key.effort) { member.key.effort.clone() } else { Effort::default_effort() };
        let Some((target, _, broken)) = ask_policy(world, input, model, &effort, offer) else { continue };
        if let Some((_, detail)) = broken.first() {
            why = format!("{model}: {detail}");
            continue;
        }
        let reference = TargetRef { provider: offer.provider.clone(), model: offer.id.clone(), variant: None };
        if world.book.end_of(&reference).is_some_and(|end| end.date <= ends) {
            why = format!("{model} ends no later");
            continue;
        }
        return Successor::Offered { model: model.to_string(), target, weight_key: reference.weight_key() };
    }
    Successor::Unusable(why)
}

//! Which models lie outside the pools, and how a pool could call each. Most pools ask the same of a model, so the answers are
//! computed once per set of rules and shared: a run over many pools asks every offer once, not once per pool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::assemble::{PoolInput, World};
use super::book::Offer;
use super::pool::{Requirements, TierNumbers};
use super::standing::TaskShape;
use crate::ring::{RingMember, Rule};
use crate::vocabulary::{Effort, HomeId, MemberKey, ModelId, TargetRef};

/// What lies around pools with one set of rules.
pub(super) struct Around<'a> {
    /// Every model that somebody rates, one entry per effort, sorted.
    pub(super) outside: Vec<Outside<'a>>,
    /// Models that could be called and that nobody rates: no index at any effort, or no bill. Sorted.
    pub(super) unrated: Vec<&'a ModelId>,
}

/// Set of rules → what lies around pools that have it.
#[derive(Default)]
pub struct Surroundings<'a>(Mutex<BTreeMap<String, Arc<Around<'a>>>>);

impl<'a> Surroundings<'a> {
    /// What lies around a pool, computed for the first pool that asks so.
    pub(super) fn of(&self, world: &World<'a>, input: &PoolInput<'_>) -> Arc<Around<'a>> {
        let asked = format!("{:?} {:?} {:?}", input.policy, shape(&input.tier), input.requirements);
        let mut known = self.0.lock().expect("judging a pool does not panic");
        Arc::clone(known.entry(asked).or_insert_with(|| Arc::new(around(world, input))))
    }
}

/// What lies around a pool.
fn around<'a>(world: &World<'a>, input: &PoolInput<'_>) -> Around<'a> {
    let shape = shape(&input.tier);
    let rated = world.book.rows().filter(|(_, _, row)| !row.indices.is_empty());
    let outside: Vec<Outside<'a>> = rated
        .filter_map(|(model, effort, row)| {
            let way_in = way_in(world, input, model, effort)?;
            let (bill, unknown_bill) = match world.book.bill(model, shape) {
                Ok(bill) => (Some(bill.usd_per_mtok), None),
                Err(reason) => (None, Some((world.book.least_bill(model, shape), reason))),
            };
            let is_outside = exceeds(&input.requirements, bill, row.output_tps, row.first_answer_s);
            Some(Outside {
                id: format!("{model}@{effort}"),
                model,
                indices: &row.indices,
                bill,
                unknown_bill,
                speed: row.output_tps,
                way_in: WayIn { is_incapable: way_in.is_incapable || is_outside, ..way_in },
            })
        })
        .collect();
    let unrated = unrated(world, input, &outside);
    Around { outside, unrated }
}

/// Models that could be called and that nobody rates.
fn unrated<'a>(world: &World<'a>, input: &PoolInput<'_>, outside: &[Outside<'a>]) -> Vec<&'a ModelId> {
    let rated: BTreeSet<&ModelId> = outside.iter().filter(|o| o.bill.is_some()).map(|outside| outside.model).collect();
    let can_call = |model: &ModelId| {
        world.book.offers(model).iter().any(|offer| {
            ask_policy(world, input, model, &Effort::default_effort(), offer)
                .is_some_and(|(_, _, broken)| broken.is_empty())
        })
    };
    let models = world.book.models().iter();
    models
        .filter(|model| !rated.contains(model) && !world.blacklisted.contains(*model))
        .filter(|model| can_call(model))
        .collect()
}

/// A rated or nameable model outside the pool, before it has a standing.
pub(super) struct Outside<'a> {
    /// `model@effort`.
    pub(super) id: String,
    /// Its model.
    pub(super) model: &'a ModelId,
    /// Its indices.
    pub(super) indices: &'a BTreeMap<String, f64>,
    /// Its bill, if known.
    pub(super) bill: Option<f64>,
    /// While its bill is unknown: the least it may be, and why it is unknown.
    pub(super) unknown_bill: Option<(f64, String)>,
    /// Its market speed.
    pub(super) speed: Option<f64>,
    /// How it could be called here.
    pub(super) way_in: WayIn,
}

/// How a model outside the pool could be called by it.
#[derive(Default)]
pub(super) struct WayIn {
    /// The target and home by which a held home offers it to this pool.
    pub(super) target: Option<(String, HomeId)>,
    /// Why policy excludes it.
    pub(super) excluded_by: Option<String>,
    /// Whether every offer falls short of a capability.
    pub(super) is_incapable: bool,
}

/// Whether the pool's own requirements would reject a model on what the market knows of it: it is no candidate then. The
/// index is held against its floor once it is known, which may take imputing.
fn exceeds(asked: &Requirements, bill: Option<f64>, tps: Option<f64>, first_answer_s: Option<f64>) -> bool {
    let over = |value: Option<f64>, most: Option<f64>| value.zip(most).is_some_and(|(value, most)| value > most);
    let under = |value: Option<f64>, least: Option<f64>| value.zip(least).is_some_and(|(value, least)| value < least);
    over(bill, asked.max_bill) || under(tps, asked.min_output_tps) || over(first_answer_s, asked.max_first_answer_s)
}

/// The shape of a task of a tier.
pub(super) fn shape(tier: &TierNumbers) -> TaskShape {
    TaskShape { cache_share: tier.cache_share, input_per_output: tier.input_per_output }
}

/// How a model at an effort could be called by the pool, on a home that is paid already before a metered one; `None` when no
/// offer takes that effort, so that the pair is no choice.
fn way_in(world: &World<'_>, input: &PoolInput<'_>, model: &ModelId, effort: &Effort) -> Option<WayIn> {
    if world.blacklisted.contains(model) {
        return Some(WayIn { excluded_by: Some("the config's blacklist".to_owned()), ..WayIn::default() });
    }
    let offers = world.book.offers(model);
    let taking: Vec<&Offer> = offers.iter().filter(|offer| takes(offer, effort)).collect();
    if taking.is_empty() {
        return offers.is_empty().then(WayIn::default);
    }
    let is_paid_already = |offer: &Offer| world.homes.get(&offer.provider).is_some_and(|facts| facts.is_flat);
    let (paid, metered): (Vec<&Offer>, Vec<&Offer>) = taking.iter().partition(|offer| is_paid_already(offer));
    let mut way = WayIn::default();
    let mut incapable = 0;
    for offer in paid.into_iter().chain(metered) {
        let Some((target, home, broken)) = ask_policy(world, input, model, effort, offer) else { continue };
        match broken.first() {
            None if way.target.is_none() => way.target = Some((target, home)),
            Some((Rule::Never | Rule::OpenFamily, detail)) => way.excluded_by = Some(detail.clone()),
            Some((Rule::NeedsTools | Rule::MinContext, _)) => incapable += 1,
            _ => {}
        }
    }
    way.is_incapable = incapable == taking.len();
    if way.target.is_some() {
        way.excluded_by = None;
    }
    Some(way)
}

/// Whether an offer can be called at an effort.
pub(super) fn takes(offer: &Offer, effort: &Effort) -> bool {
    offer.efforts.iter().any(|known| known.eq_ignore_ascii_case(effort.as_str())) || offer.efforts.is_empty()
}

/// A target with its home, and the rules it would break: rule and detail.
type Asked = (String, HomeId, Vec<(Rule, String)>);

/// The target of an offer at a held home, and the rules it would break in this pool. `None` when no home of the fleet holds it.
pub(super) fn ask_policy(
    world: &World<'_>,
    input: &PoolInput<'_>,
    model: &ModelId,
    effort: &Effort,
    offer: &Offer,
) -> Option<Asked> {
    let facts = world.homes.get(&offer.provider)?;
    let variant = (!offer.efforts.is_empty() && !effort.is_default()).then(|| effort.to_string());
    let target = TargetRef { provider: offer.provider.clone(), model: offer.id.clone(), variant };
    let key = MemberKey { model: model.clone(), effort: effort.clone(), home: facts.home.clone() };
    let text = target.to_string();
    let entry = world.catalogue.and_then(|catalogue| catalogue.get(&offer.provider, &offer.id));
    let member = RingMember::candidate(&input.pool, target, key, facts.is_flat);
    Some((text, facts.home.clone(), input.policy.broken_by_candidate(&member, entry)))
}

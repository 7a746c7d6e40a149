//! What the market shows around a pool: candidates with their standing, what nobody rates, front and picks.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::{PoolInput, World};
use super::fit;
use super::front::{Pareto, Point, pareto};
use super::outside::{Around, Outside};
use super::pool::MemberEvidence;
use super::standing::Standings;
use crate::vocabulary::ModelId;

/// A model outside the pool.
#[derive(Debug, Clone)]
pub struct CandidateEvidence {
    /// As the fit sees it; its id is `model@effort`.
    pub fit: fit::Candidate,
    /// Role-mix index in points.
    pub index: Option<f64>,
    /// Names of imputed indices.
    pub imputed: Vec<String>,
    /// The target by which a held home offers it, if one does.
    pub target: Option<String>,
    /// That home.
    pub home: Option<String>,
    /// Whether its age counts from our first sight because nobody states a release date.
    pub age_by_first_sight: bool,
    /// Why policy excludes it, if it does.
    pub excluded_by: Option<String>,
}

/// What the market shows around the pool.
#[derive(Debug, Clone, Default)]
pub struct MarketView {
    /// Candidates, by id.
    pub candidates: Vec<CandidateEvidence>,
    /// Models outside the pool that an accepted snapshot lists.
    pub seen: usize,
    /// Names of models outside the pool that a held home offers and nobody rates, sorted.
    pub unrated: Vec<String>,
    /// Those of them for which `OpenRouter` repeats an index of unknown version, with it.
    pub unversioned: Vec<(String, f64)>,
    /// The index version of every q and index.
    pub index_version: Option<String>,
    /// Front and picks over members and rated candidates.
    pub pareto: Option<Pareto>,
    /// Front and picks over the members alone: the catalogue's pick of a lead.
    pub members_pareto: Option<Pareto>,
    /// Models that could be called here and lack nothing but a bill.
    pub unbilled: Unbilled,
}

/// Rated models that a held home offers and whose bill is unknown, in the standing they would have with one. What is unknown
/// proves nothing against them: while one of them could fit, nothing says that the pool lacks no model.
#[derive(Debug, Clone, Default)]
pub struct Unbilled {
    /// The models, each at the least bill it may have, and why its bill is unknown.
    pub candidates: Vec<(CandidateEvidence, String)>,
    /// `model@effort` of a member → its q in the set that holds these models too.
    pub members_q: BTreeMap<String, f64>,
}

/// What the market shows around the pool.
pub(super) fn market_view(
    world: &World<'_>,
    input: &PoolInput<'_>,
    members: &[MemberEvidence],
    (around, inside, outside): (&Around<'_>, &BTreeSet<&ModelId>, &[&Outside<'_>]),
    standings: &Standings,
) -> MarketView {
    let known_inside = inside.iter().filter(|model| world.book.models().contains(*model)).count();
    let seen = world.book.models().len() - known_inside;
    let unrated: Vec<String> =
        around.unrated.iter().filter(|model| !inside.contains(*model)).map(ToString::to_string).collect();
    let with_index = |model: &&&ModelId| !inside.contains(**model);
    let unversioned = around
        .unrated
        .iter()
        .filter(with_index)
        .filter_map(|model| Some((model.to_string(), world.book.repeated_index(model)?)))
        .collect();
    let least = input.requirements.min_index;
    let candidates: Vec<_> =
        outside.iter().map(|candidate| candidate_evidence(world, candidate, standings, least)).collect();
    let of_members: Vec<Point> = members.iter().filter_map(|member| point(&member.market_values())).collect();
    let of_all: Vec<Point> = of_members
        .iter()
        .cloned()
        .chain(candidates.iter().filter(|candidate| candidate.fit.is_capable).filter_map(|c| point(&c.fit.values)))
        .collect();
    let front = |points: &[Point]| -> Option<Pareto> {
        (!points.is_empty()).then(|| pareto(points, input.tier.tokens_per_task, input.tier.stake_usd))
    };
    MarketView {
        seen,
        unrated,
        unversioned,
        index_version: world.market.0.clone(),
        pareto: front(&of_all),
        members_pareto: front(&of_members),
        candidates,
        unbilled: Unbilled::default(),
    }
}

/// Market values as a point of the front, if rated.
fn point(values: &fit::MarketValues) -> Option<Point> {
    Some(Point { id: values.id.clone(), bill: values.bill?, q: values.q?, imputed: values.imputed })
}

/// A candidate with its standing and age.
pub(super) fn candidate_evidence(
    world: &World<'_>,
    candidate: &Outside<'_>,
    standings: &Standings,
    least_index: Option<f64>,
) -> CandidateEvidence {
    let id = candidate.id.clone();
    let standing = standings.by_id.get(&id);
    let index = standing.and_then(|standing| standing.index);
    let is_too_weak = index.zip(least_index).is_some_and(|(index, least)| index < least);
    let released = world.book.released(candidate.model);
    let since = released
        .map(|day| day.and_time(chrono::NaiveTime::MIN).and_utc())
        .or_else(|| (world.first_seen)(candidate.model));
    #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries fit an f64 exactly")]
    let age_days = since.map_or(0.0, |since| (world.now - since).num_seconds() as f64 / 86_400.0);
    CandidateEvidence {
        fit: fit::Candidate {
            values: fit::MarketValues {
                id,
                bill: candidate.bill,
                q: standing.and_then(|standing| standing.q),
                speed: candidate.speed,
                imputed: standing.map_or(0, |standing| standing.imputed.len()),
            },
            age_days,
            has_home: candidate.way_in.target.is_some(),
            is_allowed: candidate.way_in.excluded_by.is_none(),
            is_capable: !candidate.way_in.is_incapable && !is_too_weak,
        },
        index,
        imputed: standing.map(|standing| standing.imputed.clone()).unwrap_or_default(),
        home: candidate.way_in.target.as_ref().map(|(_, home)| home.to_string()),
        target: candidate.way_in.target.as_ref().map(|(target, _)| target.clone()),
        age_by_first_sight: released.is_none(),
        excluded_by: candidate.way_in.excluded_by.clone(),
    }
}

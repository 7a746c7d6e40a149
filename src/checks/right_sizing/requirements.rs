//! Members outside what the instruction file asks of their pool: speed, wait for the first answer, bill, dollars a task, index
//! (methods §13). Facts that need no looks; of several such members the one furthest outside goes first.

use std::collections::BTreeSet;

use super::{finding, ways};
use crate::checks::intents;
use crate::evidence::front::market_loss;
use crate::evidence::pairs::alone;
use crate::evidence::speed::Measure;
use crate::evidence::statistics::cost::loss;
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Finding, Limit, LimitOp, Measured, Sentence, Unit, Verdict};
use crate::vocabulary::SourceId;

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// So many measured requests.
    Requests(u64),
    /// So many of our own rows.
    Rows(u64),
    /// The market, undisputed.
    Market,
}

impl Origin {
    /// The source and the word for it.
    fn said(self) -> (SourceId, &'static str) {
        match self {
            Self::Requests(_) => (SourceId::Speeds, "measured"),
            Self::Rows(_) => (SourceId::Sessions, "our own rows"),
            Self::Market => (SourceId::Market, "market value"),
        }
    }

    /// Observations behind it.
    fn n(self) -> Option<u64> {
        match self {
            Self::Requests(n) | Self::Rows(n) => Some(n),
            Self::Market => None,
        }
    }
}

/// One requirement held against one member.
struct Requirement {
    /// Code of the finding.
    code: &'static str,
    /// What is measured.
    what: &'static str,
    /// The limit, if the pool states one.
    limit: Option<f64>,
    /// Which side is fine.
    op: LimitOp,
    /// Unit.
    unit: Unit,
    /// The value and where it comes from.
    value: Option<(f64, Origin)>,
}

impl Requirement {
    /// How many times over its limit a value outside is; `None` inside, or when either is unknown.
    fn excess(&self) -> Option<f64> {
        let (limit, (value, _)) = (self.limit?, self.value?);
        let (is_fine, times) = match self.op {
            LimitOp::AtLeast => (value >= limit, limit / value),
            LimitOp::AtMost => (value <= limit, value / limit),
            LimitOp::Below => (value < limit, value / limit),
        };
        (!is_fine).then_some(times)
    }
}

/// Every member outside a requirement that the pool states in the settings.
pub(super) fn judge(evidence: &PoolEvidence, settings: &Settings) -> Vec<Finding> {
    let mut outside: Vec<(f64, Finding)> = Vec::new();
    for member in &evidence.members {
        let rows = requirements(evidence, member, settings).into_iter();
        outside.extend(rows.filter_map(|row| Some((row.excess()?, found(evidence, member, &row)?))));
    }
    let keys: BTreeSet<String> = outside.iter().map(|(_, found)| found.subject.clone()).collect();
    let furthest = outside.iter().max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.subject.cmp(&a.1.subject)));
    let Some(first) = furthest.map(|(_, found)| found.subject.clone()) else { return Vec::new() };
    let mut findings: Vec<Finding> = outside.into_iter().map(|(_, found)| found).collect();
    for found in &mut findings {
        let member = evidence.members.iter().find(|member| member.key == found.subject);
        match member {
            Some(member) if member.key == first => change(evidence, member, &keys, settings, found),
            _ => found.held = Some(format!("one at a time: {first} is further outside")),
        }
    }
    findings
}

/// What is asked of a member with its values: measured where there are enough observations, else the market's.
#[expect(clippy::cast_precision_loss, reason = "counts of requests stay far below 2^53")]
fn requirements(evidence: &PoolEvidence, member: &MemberEvidence, settings: &Settings) -> [Requirement; 5] {
    let asked = &evidence.requirements;
    let speed = member.speed.as_ref().map(|speed| &speed.all);
    let enough = |measure: Measure| measure.n as f64 >= settings.thresholds.sizing.speed_rows;
    let own = |measure: Option<Measure>| measure.filter(|m| enough(*m)).map(|m| (m.value, Origin::Requests(m.n)));
    let market = |value: Option<f64>| value.map(|value| (value, Origin::Market));
    let tps = own(speed.and_then(|speed| speed.output_tps)).or_else(|| market(member.market_tps.get()));
    let first =
        own(speed.and_then(|speed| speed.first_answer_s)).or_else(|| market(member.market_first_answer_s.get()));
    let has_rows = member.own.n >= settings.thresholds.bars.rows;
    let cost = alone(&member.own, &evidence.mix.shares).cost.filter(|_| has_rows);
    let cost = cost.map(|cost| (cost.usd, Origin::Rows(member.own.raw.scored())));
    let row = |code, what, limit, op, unit, value| Requirement { code, what, limit, op, unit, value };
    let (least, most) = (LimitOp::AtLeast, LimitOp::AtMost);
    let bill = market(member.bill.get());
    [
        row("below_speed_floor", "output speed", asked.min_output_tps, least, Unit::TokensPerSecond, tps),
        row("below_speed_floor", "time to first answer", asked.max_first_answer_s, most, Unit::Seconds, first),
        row("above_cost_ceiling", "bill", asked.max_bill, most, Unit::UsdPerMtok, bill),
        row("above_cost_ceiling", "cost of a task", asked.max_task_usd, most, Unit::Usd, cost),
        row("below_index_floor", "index", asked.min_index, least, Unit::Points, market(member.index.get())),
    ]
}

/// A member outside one requirement, without the change it asks for.
fn found(evidence: &PoolEvidence, member: &MemberEvidence, row: &Requirement) -> Option<Finding> {
    let (limit, (value, origin)) = (row.limit?, row.value?);
    let (source, said) = origin.said();
    let mut found = finding(evidence, row.code, member, Verdict::Misaligned);
    found.sources.push(source);
    found.measured = Some(Measured { what: row.what, value, unit: row.unit, n: origin.n() });
    found.limit = Some(Limit { op: row.op, value: limit, setting: "pools" });
    found.why = Sentence::new().name(&member.target).own(format!(
        ": {} {} ({said}), the pool asks for {} {}",
        row.what,
        row.unit.show(value),
        row.op.as_str(),
        row.unit.show(limit)
    ));
    found.todo = Sentence::from("take it out of this pool, give it less of the work, or change the requirement");
    Some(found)
}

/// The change: a lead of an ordered pool steps behind the best member inside, any other leaves; where the pool would be thin
/// without it, a weighted pool gives it the least weight.
fn change(
    evidence: &PoolEvidence,
    member: &MemberEvidence,
    outside: &BTreeSet<String>,
    settings: &Settings,
    found: &mut Finding,
) {
    let is_lead = evidence.lead().is_some_and(|lead| lead.key == member.key);
    if is_lead && !evidence.is_weighted {
        let Some(next) = next_lead(evidence, outside, settings) else {
            found.held = Some("no other member that may lead is inside what the pool asks for".to_owned());
            return;
        };
        found.todo = Sentence::new().own("lead with ").name(&next.target).own(", or change the requirement");
        let route = evidence.definition.as_ref().zip(evidence.ring_member(&next.key));
        found.intent = route.and_then(|(route, next)| intents::to_front(route, next));
        found.counterpart.clone_from(&next.key);
        if found.intent.is_none() {
            found.held = Some("who would lead comes in through a nested pool or a pattern".to_owned());
        }
        return;
    }
    ways::out(evidence, member, found);
    if found.intent.is_none() && evidence.is_weighted {
        let why = found.held.take();
        ways::lighter(evidence, member, found);
        if found.intent.is_none() {
            found.held = why;
        }
    }
}

/// Who leads when the lead must step back: of the members inside that may lead, the one with the smallest loss by our own rows
/// where each has some, else by the market (methods §11); what is unknown comes last, ties in order.
fn next_lead<'a>(
    evidence: &'a PoolEvidence,
    outside: &BTreeSet<String>,
    settings: &Settings,
) -> Option<&'a MemberEvidence> {
    let inside: Vec<&MemberEvidence> =
        evidence.alternatives().filter(|member| !outside.contains(&member.key)).collect();
    let own = |member: &MemberEvidence| {
        let side = alone(&member.own, &evidence.mix.shares);
        let loss = loss(side.rate.mean(), side.cost.map(|cost| cost.usd), side.minutes(), evidence.worth());
        (member.own.n >= settings.thresholds.bars.rows && loss.is_complete()).then_some(loss.total)
    };
    let market = |member: &MemberEvidence| {
        let (bill, q) = member.bill.get().zip(member.q.get())?;
        Some(market_loss(bill, q, evidence.tier.tokens_per_task, evidence.tier.stake_usd))
    };
    let all_known = inside.iter().all(|member| own(member).is_some());
    let loss = |member: &MemberEvidence| if all_known { own(member) } else { market(member) };
    inside.into_iter().min_by(|a, b| loss(a).unwrap_or(f64::INFINITY).total_cmp(&loss(b).unwrap_or(f64::INFINITY)))
}

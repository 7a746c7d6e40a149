//! The controlled test that an unresolved pair asks for, if it pays (methods §9).

use crate::checks::estimates::{Compared, Estimate, claim_rows, corrected, effect, ppm, rows_said, term, whole};
use crate::evidence::statistics::claim::HORIZON_DAYS;
use crate::evidence::statistics::trial::{SIZES, Trial, TrialInput, TrialOutcome, value_of_test};
use crate::evidence::{MemberEvidence, PoolEvidence};
use crate::settings::Settings;
use crate::verdict::{Claim, Finding, Intent, ProposalKind, Seat, Sentence, TestPlan};

/// The test that an unresolved pair asks for, if it pays.
pub(super) fn test(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    compared: &Compared<'_>,
    settings: &Settings,
    found: &mut Finding,
) {
    found.todo = Sentence::from("more rows, or a controlled test");
    let Some((trial, cost)) = trial(evidence, compared, settings) else {
        found.why = found.why.clone().own("; the value of a test is unknown: the cost of a pair is");
        return;
    };
    let passive = trial.passive_days.map_or_else(|| "never".to_owned(), |days| format!("in {days:.0} days"));
    found.why = found.why.clone().own(format!(
        "; a test of {} pairs would net {:.2} USD ({:.0} % chance to settle it); as many rows come by themselves {passive}: {}",
        trial.best.n,
        trial.best.net(),
        trial.best.pass * 100.0,
        trial.outcome.as_str()
    ));
    if evidence.ring_member(&compared.rival.key).is_some_and(|member| member.until_ms.is_some()) {
        found.todo = Sentence::from("nothing yet: it is on trial, and its rows come");
        return;
    }
    let Some(route) = evidence.definition.as_ref().filter(|_| trial.outcome == TrialOutcome::Test) else { return };
    let rival = compared.rival;
    found.todo = Sentence::new().own("run the same tasks on ").name(&rival.target);
    let human = format!(
        "Give {} tasks of {} to both {} and {}, graded without names, and compare; nothing in the config changes.",
        trial.best.n, evidence.pool, lead.target, rival.target
    );
    #[expect(clippy::cast_precision_loss, reason = "tests are small")]
    let cost_usd_micros = whole(trial.best.n as f64 * cost * 1e6);
    let plan = TestPlan {
        format: "paired-test".to_owned(),
        arms: vec![lead.key.clone(), rival.key.clone()],
        class: None,
        pairs: trial.best.n,
        cost_usd_micros,
        value_usd_micros: whole(trial.best.gain * 1e6),
        pass_probability_ppm: ppm(trial.best.pass),
        blinded: true,
        human: human.clone(),
    };
    let claim = test_claim(evidence, lead, compared, settings, &trial, plan);
    found.claim = Some(Box::new(claim));
    found.intent = Some(Intent {
        kind: ProposalKind::ControlledTest,
        seat: Seat::Lead,
        path: route.path.clone(),
        pointer: route.pointer.clone(),
        edits: Vec::new(),
        human,
        moved_share: None,
        expires: None,
    });
}

/// The value of a test of a pair and what one pair costs; `None` while that cost is unknown.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "counts of rows and spans of days are small"
)]
fn trial(evidence: &PoolEvidence, compared: &Compared<'_>, settings: &Settings) -> Option<(Trial, f64)> {
    let (pair, money) = (&compared.pair, &compared.decision.money);
    let cost = pair.lead.cost?.usd + pair.other.cost?.usd;
    let now = evidence.now.timestamp();
    let span = (evidence.assigned_days * 86_400.0) as i64;
    let recent = compared.rival.own.arrivals.iter().filter(|(ended, _)| *ended > now - span).count() as f64;
    let input = TrialInput {
        saving: money.saving,
        sd: money.sd,
        epsilon: money.epsilon,
        stake: evidence.tier.stake_usd,
        rate: f64::midpoint(compared.decision.rate_lead, compared.decision.rate_alternative),
        horizon_tasks: evidence.tasks_per_day() * settings.thresholds.horizon_days,
        pair_cost: cost,
        rows_per_day: recent / evidence.assigned_days,
    };
    Some((value_of_test(&input, &SIZES)?, cost))
}

/// What a test claims: that its answer is worth more than it costs.
fn test_claim(
    evidence: &PoolEvidence,
    lead: &MemberEvidence,
    compared: &Compared<'_>,
    settings: &Settings,
    trial: &Trial,
    plan: TestPlan,
) -> Claim {
    let money = &compared.decision.money;
    let (lo, hi) = money.interval_90();
    let loss = Estimate {
        metric: ("loss_per_task", "usd_micros", if money.saving < 0.0 { "increase" } else { "decrease" }),
        values: (
            money.saving.abs(),
            if money.saving < 0.0 { -hi } else { lo },
            if money.saving < 0.0 { -lo } else { hi },
        ),
        scale: 1e6,
        horizon_days: HORIZON_DAYS,
        min_rows: trial.best.n,
        probability: money.p_positive.max(1.0 - money.p_positive),
    };
    Claim {
        probability: money.p_saving,
        usd_per_day: trial.best.net() / settings.thresholds.horizon_days,
        effects: vec![effect(evidence, true, &corrected(evidence, loss))],
        bar: "controlled-test/1",
        terms: vec![
            term("net_value_usd_micros", trial.best.net() * 1e6, ">=", 1.0),
            term("weighted_rows_lead_milli", lead.own.n * 1e3, ">=", settings.thresholds.bars.rows * 1e3),
        ],
        rows_said: rows_said(lead, compared.rival),
        bar_said: format!(
            "a test of {} pairs nets {:.2} USD over {:.0} days",
            trial.best.n,
            trial.best.net(),
            settings.thresholds.horizon_days
        ),
        stake_said: None,
        rows: claim_rows(evidence, &[lead, compared.rival], settings),
        floor: evidence.tier.floor,
        test: Some(plan),
    }
}

//! Every threshold of the methods (§25), one struct per section of the settings file.
//! The accessor is the dotted key: `thresholds.latest.quality` is the setting `latest.quality`.

/// Every threshold of the methods, by section of the settings file.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    /// `bars.*`: what evidence must clear before it speaks.
    pub bars: Bars,
    /// `rows.*`: which rows count, and how much.
    pub rows: Rows,
    /// `mix.*`: which task classes count.
    pub mix: Mix,
    /// `prior.*`: what is assumed of a member before its rows.
    pub prior: Prior,
    /// `speed.*`: how task minutes are estimated.
    pub speed: Speed,
    /// `traffic.*`: how many proposals there may be.
    pub traffic: Traffic,
    /// `windows.*`: quota and cash.
    pub windows: Windows,
    /// `latest.*`: check latest-model.
    pub latest: Latest,
    /// `sizing.*`: check right-sizing.
    pub sizing: Sizing,
    /// `structure.*`: check structure.
    pub structure: Structure,
    /// `weights.*`: proposed weights.
    pub weights: Weights,
    /// `horizon_days`: days over which the value of a test is reckoned (methods §9).
    pub horizon_days: f64,
    /// `expiry_days`: how long a proposal stays open (methods §18).
    pub expiry_days: f64,
    /// `test_expiry_days`: how long a proposed test stays open (methods §18).
    pub test_expiry_days: f64,
}

/// What evidence must clear before it speaks (methods §8).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bars {
    /// `bars.rows`: scored attempts a member needs before its rate is compared.
    pub rows: f64,
    /// `bars.tasks`: distinct tasks it needs.
    pub tasks: f64,
    /// `bars.days`: days those rows must span.
    pub days: f64,
    /// `bars.propose`: claim probability that makes a proposal when two counted looks reach it.
    pub propose: f64,
    /// `bars.once`: claim probability that makes a proposal at one look.
    pub once: f64,
    /// `bars.watch`: claim probability from which on a pair is watched.
    pub watch: f64,
    /// `bars.keep`: claim probability under which an open proposal is weakening.
    pub keep: f64,
    /// `bars.withdraw`: claim probability under which, at two counted looks, it is withdrawn.
    pub withdraw: f64,
    /// `bars.reverse`: claim probability that reverses a landed change when two counted looks reach it.
    pub reverse: f64,
    /// `bars.new_rows`: weighted rows since the last counted look that make a look count.
    pub new_rows: f64,
    /// `bars.reverse_days`: days since landing that a reversal needs.
    pub reverse_days: f64,
    /// `bars.reverse_rows`: weighted rows since landing that a reversal needs.
    pub reverse_rows: f64,
    /// `bars.guard_points`: points of success a swap of the lead may lose.
    pub guard_points: f64,
    /// `bars.guard`: probability that no more is lost.
    pub guard: f64,
    /// `bars.cost_points`: points of success a move that only saves cost may lose.
    pub cost_points: f64,
    /// `bars.cost_guard`: probability that no more is lost.
    pub cost_guard: f64,
    /// `bars.threshold_loss`: practical threshold, as share of the lead's loss.
    pub threshold_loss: f64,
    /// `bars.threshold_stake`: practical threshold, as share of the stake.
    pub threshold_stake: f64,
    /// `bars.regret_share`: excess regret, as share of the lead's loss, up to which a pair is aligned.
    pub regret_share: f64,
    /// `bars.false_discovery`: mean error accepted over the new claims of one run.
    pub false_discovery: f64,
}

/// Which rows count, and how much (methods §1, §2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rows {
    /// `rows.half_life_days`: age at which a row counts half.
    pub half_life_days: f64,
    /// `rows.max_age_days`: older rows are left out.
    pub max_age_days: f64,
    /// `rows.cluster_correlation`: correlation of the attempts of one task.
    pub cluster_correlation: f64,
    /// `rows.epoch_factor`: weight of a row that is older than the member's behaviour epoch.
    pub epoch_factor: f64,
    /// `rows.mature_hours`: younger rows are left out.
    pub mature_hours: f64,
}

/// Which task classes count (methods §2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// `mix.min_class_share`: share of the pool's rows below which a class is merged into `other`.
    pub min_class_share: f64,
}

/// What is assumed of a member before its rows (methods §3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// `prior.tau`: how far the market index is trusted, as standard deviation of success.
    pub tau: f64,
    /// `prior.slope_per_10_points`: what ten index points are worth on the logit scale.
    pub slope_per_10_points: f64,
    /// `prior.kappa_min`: smallest strength of the prior, in rows.
    pub kappa_min: f64,
    /// `prior.kappa_max`: largest strength of the prior, in rows.
    pub kappa_max: f64,
    /// `prior.external_rows`: most own rows that market and shared evidence together count for.
    pub external_rows: f64,
}

/// How task minutes are estimated (methods §5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// `speed.sd0`: standard deviation of ln minutes assumed before there are rows.
    pub sd0: f64,
    /// `speed.rows0`: rows that assumption weighs.
    pub rows0: f64,
    /// `speed.max_censored`: share of rows cut off at their limit above which a duration is the plain median.
    pub max_censored: f64,
}

/// How many proposals there may be (methods §8).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// `traffic.open_per_pool`: open statistical proposals per pool.
    pub open_per_pool: u32,
    /// `traffic.new_per_run`: new statistical proposals per run.
    pub new_per_run: u32,
}

/// Quota and cash (methods §12, §13).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Windows {
    /// `windows.gap`: Π gap that is misaligned.
    pub gap: f64,
    /// `windows.gap_high`: Π gap that is of high severity.
    pub gap_high: f64,
    /// `windows.pressure`: pressure up to which a share is sustainable.
    pub pressure: f64,
    /// `windows.lead_hours`: lead-hours per review a move must be worth.
    pub lead_hours: f64,
    /// `windows.cash_usd`: cash saved per review that is misaligned.
    pub cash_usd: f64,
    /// `windows.flag_literal_picture`: raise the literal window picture to misaligned.
    pub flag_literal_picture: bool,
}

/// Check latest-model (methods §11).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latest {
    /// `latest.belongs`: share of the best member's q a candidate needs.
    pub belongs: f64,
    /// `latest.quality`: points above the lead that clear the bar.
    pub quality: f64,
    /// `latest.price`: share of the lead's bill that clears the bar.
    pub price: f64,
    /// `latest.speed`: times the lead's speed that clears the bar.
    pub speed: f64,
    /// `latest.age_days`: age a candidate needs.
    pub age_days: f64,
    /// `latest.retire_days`: an end date this near is due.
    pub retire_days: f64,
    /// `latest.trial_share`: largest share of a trial.
    pub trial_share: f64,
}

/// Check right-sizing (methods §13).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// `sizing.speed_ratio`: slowest to fastest that is a spread.
    pub speed_ratio: f64,
    /// `sizing.speed_lower`: what the lower bound of that ratio must reach.
    pub speed_lower: f64,
    /// `sizing.speed_rows`: measurements a member needs on either side.
    pub speed_rows: f64,
    /// `sizing.save_share`: share of the cost per task a cheaper member must save.
    pub save_share: f64,
    /// `sizing.save_usd_day`: dollars per day it must save.
    pub save_usd_day: f64,
    /// `sizing.share_difference`: distance of observed from configured share that is a mismatch.
    pub share_difference: f64,
    /// `sizing.share_tasks`: tasks of the pool the share and idle rules need.
    pub share_tasks: f64,
    /// `sizing.idle_days`: span of the idle rule.
    pub idle_days: f64,
    /// `sizing.dear_ratio`: bill against the pool's median that is far dearer (`tier_misfit`).
    pub dear_ratio: f64,
    /// `sizing.strong_points`: q above the pool's median that is far stronger (`tier_misfit`).
    pub strong_points: f64,
}

/// Check structure (methods §14).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Structure {
    /// `structure.expiring_days`: an `until` this near is expiring.
    pub expiring_days: f64,
}

/// Proposed weights (methods §13, §16).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// `weights.max_denominator`: largest sum of proposed weights.
    pub max_denominator: u32,
    /// `weights.tolerance`: how far a share may be rounded.
    pub tolerance: f64,
}

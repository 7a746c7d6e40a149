//! Every threshold of the methods (§25), one struct per section of the settings file, and the source ages.
//! The accessor is the dotted key: `thresholds.latest.quality` is the setting `latest.quality`. A threshold is one
//! line here: field, row of the reference, default and documentation come from it.

use super::kind::Kind;
use super::reader::{Reader, Setting};
use super::reference::Key;

/// Makes a section: a struct, its rows of the reference, and how it is read.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident in $section:literal
     { $($field:ident: $type:ty = $kind:expr, $default:literal, $meaning:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("`", $section, ".", stringify!($field), "`: ", $meaning, ".")]
                pub $field: $type,
            )*
        }

        impl $name {
            /// Its rows of the reference.
            pub(super) const KEYS: &[Key] = &[$(Key {
                key: concat!($section, ".", stringify!($field)),
                kind: $kind,
                default: $default,
                meaning: $meaning,
            }),*];

            /// What is written, else the defaults.
            pub(super) fn read(root: &Reader) -> Self {
                let section = root.group($section);
                Self { $($field: <$type>::read(&section, stringify!($field))),* }
            }
        }
    };
}

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
    /// `horizon_days`: days of tasks over which the value of a test is reckoned (methods §9).
    pub horizon_days: f64,
    /// `expiry_days`: days a proposal stays open (methods §18).
    pub expiry_days: f64,
    /// `test_expiry_days`: days a proposed test stays open (methods §18).
    pub test_expiry_days: f64,
}

impl Thresholds {
    /// What is written, else the defaults.
    pub(super) fn read(root: &Reader) -> Self {
        Self {
            bars: Bars::read(root),
            rows: Rows::read(root),
            mix: Mix::read(root),
            prior: Prior::read(root),
            speed: Speed::read(root),
            traffic: Traffic::read(root),
            windows: Windows::read(root),
            latest: Latest::read(root),
            sizing: Sizing::read(root),
            structure: Structure::read(root),
            weights: Weights::read(root),
            horizon_days: root.number("horizon_days"),
            expiry_days: root.number("expiry_days"),
            test_expiry_days: root.number("test_expiry_days"),
        }
    }
}

section! {
    /// What evidence must clear before it speaks (methods §8).
    Bars in "bars" {
        rows: f64 = Kind::AtLeast(0.0), "8", "scored attempts a member needs before its rate is compared";
        tasks: f64 = Kind::AtLeast(0.0), "5", "distinct tasks it needs";
        days: f64 = Kind::AtLeast(0.0), "2", "days those rows must span";
        propose: f64 = Kind::Share, "0.95", "claim probability that makes a proposal when two counted looks reach it";
        once: f64 = Kind::Share, "0.99", "claim probability that makes a proposal at one look";
        watch: f64 = Kind::Share, "0.80", "claim probability from which on a pair is watched";
        keep: f64 = Kind::Share, "0.90", "claim probability under which an open proposal is weakening";
        withdraw: f64 = Kind::Share, "0.70", "claim probability under which, at two counted looks, it is withdrawn";
        reverse: f64 = Kind::Share, "0.975", "claim probability that reverses a landed change when two counted looks reach it";
        new_rows: f64 = Kind::AtLeast(0.0), "5", "weighted rows since the last counted look that make a look count";
        reverse_days: f64 = Kind::AtLeast(0.0), "7", "days since landing that a reversal needs";
        reverse_rows: f64 = Kind::AtLeast(0.0), "20", "weighted rows since landing that a reversal needs";
        guard_points: f64 = Kind::AtLeast(0.0), "3", "points of success a swap of the lead may lose";
        guard: f64 = Kind::Share, "0.90", "probability that no more is lost";
        cost_points: f64 = Kind::AtLeast(0.0), "5", "points of success a move that only saves cost may lose";
        cost_guard: f64 = Kind::Share, "0.80", "probability that no more is lost";
        threshold_loss: f64 = Kind::Share, "0.05", "practical threshold, as share of the lead's loss";
        threshold_stake: f64 = Kind::Share, "0.03", "practical threshold, as share of the stake";
        regret_share: f64 = Kind::Share, "0.03", "excess regret, as share of the lead's loss, up to which a pair is aligned";
        false_discovery: f64 = Kind::Share, "0.05", "mean error accepted over the new claims of one run";
    }
}

section! {
    /// Which rows count, and how much (methods §1, §2).
    Rows in "rows" {
        half_life_days: f64 = Kind::Above0, "14", "age at which a row counts half";
        max_age_days: f64 = Kind::Above0, "60", "older rows are left out";
        cluster_correlation: f64 = Kind::Share, "0.5", "correlation of the attempts of one task";
        epoch_factor: f64 = Kind::Share, "0.25", "weight of a row that is older than the member's behaviour epoch";
        mature_hours: f64 = Kind::AtLeast(0.0), "24", "younger rows are left out";
    }
}

section! {
    /// Which task classes count (methods §2).
    Mix in "mix" {
        min_class_share: f64 = Kind::Share, "0.05", "share of the pool's rows below which a class is merged into `other`";
    }
}

section! {
    /// What is assumed of a member before its rows (methods §3).
    Prior in "prior" {
        tau: f64 = Kind::Above0, "0.15", "how far the market index is trusted, as standard deviation of success";
        slope_per_10_points: f64 = Kind::AtLeast(0.0), "0.25", "what ten index points are worth on the logit scale";
        kappa_min: f64 = Kind::Above0, "2", "smallest strength of the prior, in rows";
        kappa_max: f64 = Kind::Above0, "30", "largest strength of the prior, in rows";
        external_rows: f64 = Kind::AtLeast(0.0), "30", "most own rows that market and shared evidence together count for";
    }
}

section! {
    /// How task minutes are estimated (methods §5).
    Speed in "speed" {
        sd0: f64 = Kind::Above0, "0.6", "standard deviation of ln minutes assumed before there are rows";
        rows0: f64 = Kind::AtLeast(0.0), "4", "rows that assumption weighs";
        max_censored: f64 = Kind::Share, "0.20", "share of rows cut off at their limit above which a duration is the plain median";
    }
}

section! {
    /// How many proposals there may be (methods §8).
    Traffic in "traffic" {
        open_per_pool: u32 = Kind::Whole(0), "1", "open statistical proposals per pool";
        new_per_run: u32 = Kind::Whole(0), "3", "new statistical proposals per run";
    }
}

section! {
    /// Quota and cash (methods §12, §13).
    Windows in "windows" {
        gap: f64 = Kind::AtLeast(0.0), "0.30", "Π gap that is misaligned";
        gap_high: f64 = Kind::AtLeast(0.0), "0.60", "Π gap that is of high severity";
        pressure: f64 = Kind::Share, "0.9", "pressure up to which a share is sustainable";
        lead_hours: f64 = Kind::AtLeast(0.0), "1", "lead-hours per review a move must be worth";
        cash_usd: f64 = Kind::AtLeast(0.0), "1", "cash saved per review that is misaligned";
        flag_literal_picture: bool = Kind::Flag, "false", "raise the literal window picture to misaligned";
    }
}

section! {
    /// Check latest-model (methods §11).
    Latest in "latest" {
        belongs: f64 = Kind::Share, "0.80", "share of the best member's q a candidate needs";
        quality: f64 = Kind::AtLeast(0.0), "2", "points above the lead that clear the bar";
        price: f64 = Kind::Share, "0.70", "share of the lead's bill that clears the bar";
        speed: f64 = Kind::Above0, "1.5", "times the lead's speed that clears the bar";
        age_days: f64 = Kind::AtLeast(0.0), "3", "age a candidate needs";
        retire_days: f64 = Kind::AtLeast(0.0), "30", "an end date this near is due";
        trial_share: f64 = Kind::Share, "0.20", "largest share of a trial";
    }
}

section! {
    /// Check right-sizing (methods §13).
    Sizing in "sizing" {
        speed_ratio: f64 = Kind::AtLeast(1.0), "3", "slowest to fastest that is a spread";
        speed_lower: f64 = Kind::AtLeast(1.0), "2", "what the lower bound of that ratio must reach";
        speed_rows: f64 = Kind::AtLeast(0.0), "8", "measurements a member needs on either side";
        save_share: f64 = Kind::Share, "0.30", "share of the cost per task a cheaper member must save";
        save_usd_day: f64 = Kind::AtLeast(0.0), "1", "dollars per day it must save";
        share_difference: f64 = Kind::Share, "0.15", "distance of observed from configured share that is a mismatch";
        share_tasks: f64 = Kind::AtLeast(0.0), "30", "tasks of the pool the share and idle rules need";
        idle_days: f64 = Kind::Above0, "14", "span of the idle rule";
        dear_ratio: f64 = Kind::AtLeast(1.0), "5", "bill against the pool's median that is far dearer (`tier_misfit`)";
        strong_points: f64 = Kind::AtLeast(0.0), "5", "q above the pool's median that is far stronger (`tier_misfit`)";
    }
}

section! {
    /// Check structure (methods §14).
    Structure in "structure" {
        expiring_days: f64 = Kind::AtLeast(0.0), "7", "an `until` this near is expiring";
    }
}

section! {
    /// Proposed weights (methods §13, §16).
    Weights in "weights" {
        max_denominator: u32 = Kind::Whole(1), "20", "largest sum of proposed weights";
        tolerance: f64 = Kind::Share, "0.05", "how far a share may be rounded";
    }
}

section! {
    /// Ages from which on a source is stale, in hours. Quota windows have classes of their own (quota §3.3).
    MaxAges in "max_age_hours" {
        market: f64 = Kind::Above0, "48", "age from which on market bodies are stale, hours";
        catalogues: f64 = Kind::Above0, "48", "age from which on provider catalogues are stale, hours";
        retirements: f64 = Kind::Above0, "48", "age from which on the map of end dates is stale, hours";
        speeds: f64 = Kind::Above0, "48", "age from which on measured speeds are stale, hours";
        sessions: f64 = Kind::Above0, "24", "age from which on scorecards are stale, hours";
        openrouter: f64 = Kind::Above0, "48", "age from which on OpenRouter's list is stale, hours";
        prices: f64 = Kind::Above0, "48", "age from which on dated prices are stale, hours";
        retirement_list: f64 = Kind::Above0, "168", "age from which on the retirement list is stale, hours";
        provider_catalogue: f64 = Kind::Above0, "48", "age from which on providers' own lists are stale, hours";
    }
}

section! {
    /// When a body of the market is believed.
    Market in "market" {
        coverage: f64 = Kind::Share, "0.90", "share of the most rows a source ever had that a new body must hold to be accepted";
    }
}

section! {
    /// How `fetch` asks.
    Fetch in "fetch" {
        fresh_hours: f64 = Kind::AtLeast(0.0), "6", "age under which a body is not asked for again, hours";
        timeout_s: f64 = Kind::Above0, "60", "longest time one request may take, seconds";
        retries: u32 = Kind::Whole(0), "3", "times a request is repeated after 429, 5xx or a broken connection";
        max_wait_s: f64 = Kind::AtLeast(0.0), "120", "longest wait that a server's `Retry-After` may ask for; a longer one ends the attempt, seconds";
        max_mib: u32 = Kind::Whole(1), "64", "largest body that is taken, MiB";
        max_pages: u32 = Kind::Whole(1), "50", "most pages of one source";
    }
}

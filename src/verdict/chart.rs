//! The numbers behind the pictures of one pool: where its models stand on price and quality, how fast its members are, and
//! how far their windows are used. Plain values; an output draws them or prints them.

use chrono::{DateTime, Utc};
use serde::Serialize;

/// What a point is to its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PointRole {
    /// The member a new task gets first.
    Lead,
    /// Another member.
    Member,
    /// A model outside the pool that a home offers and policy lets in.
    Candidate,
}

impl PointRole {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Member => "member",
            Self::Candidate => "candidate",
        }
    }
}

/// One model on price and quality.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartPoint {
    /// Key of the member, or `model@effort` of a candidate.
    pub id: String,
    /// What it is to the pool.
    pub role: PointRole,
    /// USD per million task input tokens; `None` is unknown.
    pub bill: Option<f64>,
    /// Standing in the pool's set, 0 to 100; `None` is unknown.
    pub q: Option<f64>,
    /// Role-mix index in points; `None` is unknown.
    pub index: Option<f64>,
    /// Whether nothing shown is both cheaper and better.
    pub on_front: bool,
    /// Why a number is unknown, or what the standing rests on; empty when there is nothing to say.
    pub remark: String,
}

/// How fast one member answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartSpeed {
    /// The member's target.
    pub member: String,
    /// Measured output tokens per second; `None` is unmeasured.
    pub measured: Option<f64>,
    /// Its 90 % interval.
    pub interval: Option<(f64, f64)>,
    /// Requests behind it.
    pub n: u64,
    /// What the market says; `None` is unknown.
    pub market: Option<f64>,
}

/// One quota window that binds members of the pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartWindow {
    /// `home/window`.
    pub id: String,
    /// Targets of the members it binds.
    pub members: Vec<String>,
    /// What the reading is worth (`fresh`, `aging`, `stale`, …).
    pub class: String,
    /// Hours of one cycle; `None` is unknown.
    pub length_h: Option<f64>,
    /// When it resets; `None` is unknown or without a deadline.
    pub resets_at: Option<DateTime<Utc>>,
    /// Smallest and largest fraction that may be used; equal for a point, `None` is unknown.
    pub used: Option<(f64, f64)>,
    /// Smallest and largest scarcity price; `None` is unknown.
    pub price: Option<(f64, f64)>,
    /// Hours since the reading; `None` is unknown.
    pub age_h: Option<f64>,
    /// Reasons and remarks in our own words.
    pub remarks: Vec<String>,
}

/// Everything the pictures of one pool show.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Chart {
    /// Members, then candidates, lead first.
    pub points: Vec<ChartPoint>,
    /// Candidates beyond those that are listed: dominated ones, dearest first to go.
    pub more_candidates: usize,
    /// Members in ring order.
    pub speeds: Vec<ChartSpeed>,
    /// The slowest output the pool accepts, tokens per second.
    pub speed_floor: Option<f64>,
    /// The dearest bill the pool accepts, USD per million task input tokens.
    pub bill_ceiling: Option<f64>,
    /// Windows by id.
    pub windows: Vec<ChartWindow>,
}

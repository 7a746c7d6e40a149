//! Configured, market-only and own-evidence pick side by side (methods §12).

use crate::evidence::front::{Point, pareto};

/// A member as the picks see it.
#[derive(Debug, Clone, PartialEq)]
pub struct PickMember {
    /// Its key.
    pub id: String,
    /// USD per million task input tokens.
    pub bill: Option<f64>,
    /// Standing.
    pub q: Option<f64>,
    /// Imputed indices.
    pub imputed: usize,
    /// Weighted rows of its own.
    pub n: f64,
    /// L with c and T known, $/task.
    pub loss: Option<f64>,
}

/// The three picks and whether they agree.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreePicks {
    /// The configured lead.
    pub table: String,
    /// The stake pick over the members' front.
    pub catalog: Option<String>,
    /// The smallest loss among members with enough rows.
    pub learn: Option<String>,
    /// Members that `learn` cannot judge, sorted.
    pub left_out: Vec<String>,
}

impl ThreePicks {
    /// Whether table and catalog agree; `None` when one is unknown.
    pub fn table_catalog(&self) -> Option<bool> {
        self.catalog.as_ref().map(|catalog| *catalog == self.table)
    }

    /// Whether table and learn agree.
    pub fn table_learn(&self) -> Option<bool> {
        self.learn.as_ref().map(|learn| *learn == self.table)
    }

    /// Whether catalog and learn agree.
    pub fn catalog_learn(&self) -> Option<bool> {
        self.catalog.as_ref().zip(self.learn.as_ref()).map(|(catalog, learn)| catalog == learn)
    }
}

/// `[fn three_picks]`; `rows` is what `learn` needs of a member.
pub fn three_picks(lead: &str, members: &[PickMember], tokens: f64, stake: f64, rows: f64) -> ThreePicks {
    let point = |m: &PickMember| Some(Point { id: m.id.clone(), bill: m.bill?, q: m.q?, imputed: m.imputed });
    let points: Vec<Point> = members.iter().filter_map(point).collect();
    let known = |m: &&PickMember| m.n >= rows && m.loss.is_some();
    let loss = |m: &PickMember| m.loss.unwrap_or(f64::INFINITY);
    let learn = members.iter().filter(known).min_by(|a, b| loss(a).total_cmp(&loss(b)).then_with(|| a.id.cmp(&b.id)));
    let mut left_out: Vec<String> = members.iter().filter(|m| !known(m)).map(|m| m.id.clone()).collect();
    left_out.sort();
    ThreePicks {
        table: lead.to_owned(),
        catalog: pareto(&points, tokens, stake).stake_pick,
        learn: learn.map(|m| m.id.clone()),
        left_out,
    }
}

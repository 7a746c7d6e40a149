//! One row of the match table.

use crate::vocabulary::SourceId;

/// What one name means, and by what it was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRow {
    /// Whose name it is.
    pub source: SourceId,
    /// The name as written.
    pub id: String,
    /// The canonical model; `None`: matched by nothing.
    pub model: Option<String>,
    /// The effort that the name states.
    pub effort: Option<String>,
    /// `alias`, `canonical` or `rule`.
    pub via: Option<&'static str>,
    /// A known name nearby, for a person to look at; never used.
    pub suggestion: Option<String>,
}

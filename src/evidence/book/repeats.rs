//! The indices of the market as `OpenRouter` repeats them, held against the market's own.

use super::Book;
use crate::vocabulary::ModelId;

/// The index that both the market and `OpenRouter` state.
const INTELLIGENCE: &str = "intelligence";

/// Two statements of an index within 5 % of the larger are the same, as with prices.
const INDEX_TOLERANCE: f64 = 0.05;

impl Book {
    /// The intelligence index of a model as `OpenRouter` repeats it. It states neither version nor effort, so it is shown beside
    /// the market's own and never used.
    pub fn repeated_index(&self, model: &ModelId) -> Option<f64> {
        self.repeats.get(model)?.get(INTELLIGENCE).copied()
    }

    /// Whether the repeated index of a model is that of one of its market rows; `None` when one side is not known.
    pub fn repeats_market(&self, model: &ModelId) -> Option<bool> {
        let repeated = self.repeated_index(model)?;
        let rows = self.rows.get(model)?;
        let own = rows.values().filter_map(|row| row.indices.get(INTELLIGENCE).copied());
        let own: Vec<f64> = own.collect();
        let is_close = |own: &f64| (own - repeated).abs() <= INDEX_TOLERANCE * own.abs().max(repeated.abs());
        (!own.is_empty()).then(|| own.iter().any(is_close))
    }

    /// Models whose index `OpenRouter` repeats, sorted.
    pub fn repeated(&self) -> impl Iterator<Item = &ModelId> {
        self.repeats.keys()
    }
}

//! What the outside world says about models: quality, speed and price (Artificial Analysis), offers (models.dev), end
//! dates and successors (`LiteLLM`). Bodies are read whole, capped, and turned into rows; a broken row is counted.

pub mod artificial_analysis;
mod body;
pub mod litellm;
mod loose;
pub mod models_dev;

#[cfg(test)]
mod tests;

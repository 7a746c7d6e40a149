//! Providers that sell models of their own: whose ids name a model, and whose price is the list price.

use crate::vocabulary::{ModelId, ProviderId};

/// A provider that sells its own models.
struct Vendor {
    /// Its id.
    provider: &'static str,
    /// How the names of its own models begin, where it sells others' models too; empty: all are its own.
    begins: &'static [&'static str],
    /// Whether what it asks is the list price of its models (DESIGN §14); not for lists that mix in others' models or trial
    /// prices without a name that tells them apart.
    sells_at_list: bool,
}

impl Vendor {
    /// A vendor whose price is the list price.
    const fn of(provider: &'static str, begins: &'static [&'static str]) -> Self {
        Self { provider, begins, sells_at_list: true }
    }

    /// A vendor whose list says nothing about list prices.
    const fn unpriced(provider: &'static str) -> Self {
        Self { provider, begins: &[], sells_at_list: false }
    }
}

/// Every one that is known, by id.
const VENDORS: [Vendor; 16] = [
    Vendor::of("alibaba", &["qw", "qvq", "tongyi"]),
    Vendor::of("anthropic", &[]),
    Vendor::of("cohere", &[]),
    Vendor::of("deepseek", &[]),
    Vendor::of("google", &["gem", "learnlm"]),
    Vendor::of("meta", &[]),
    Vendor::of("minimax", &[]),
    Vendor::of("mistral", &[]),
    Vendor::of("moonshotai", &[]),
    Vendor::unpriced("nvidia"),
    Vendor::of("openai", &[]),
    Vendor::of("stepfun", &[]),
    Vendor::unpriced("tencent"),
    Vendor::of("xai", &[]),
    Vendor::of("xiaomi", &[]),
    Vendor::of("zai", &[]),
];

/// The vendor with an id.
fn vendor(provider: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.provider == provider)
}

/// Whether a provider sells models of its own: its ids name a model even where the catalogue links none.
pub(super) fn is_first_party(provider: &str) -> bool {
    vendor(provider).is_some()
}

/// Whether a provider is the vendor of a model it lists, and its price the list price.
pub fn is_vendor_of(provider: &ProviderId, model: &ModelId) -> bool {
    let begins = |vendor: &Vendor| {
        vendor.begins.is_empty() || vendor.begins.iter().any(|begin| model.as_str().starts_with(begin))
    };
    vendor(provider.as_str()).is_some_and(|vendor| vendor.sells_at_list && begins(vendor))
}

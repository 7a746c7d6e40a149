//! What a pool really contains. A [`ResolvedRing`] is made by one constructor only: it expands nesting and globs, drops what
//! the router would drop and says so, resolves ids, and applies every policy rule to every member whatever brought it in.

mod catalogue;
mod expand;
mod holds;
mod input;
mod member;
mod policy;
mod resolved;
mod rotation;
mod share;

pub use catalogue::{Catalogue, CatalogueEntry};
pub use expand::{DropReason, Dropped};
pub use holds::{Hold, HoldKind, holds};
pub use input::RingInput;
pub use member::RingMember;
pub use policy::{PoolPolicy, Rule, Violation};
pub use resolved::{ResolvedRing, RingError};
pub use rotation::{Rotation, assign};
pub use share::{ShareNode, configured_shares, lead_of};

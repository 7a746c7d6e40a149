//! What our own rows say about a member: rates with their intervals, and measured speeds. Pure arithmetic on joined rows.

pub mod rates;
pub mod speed;

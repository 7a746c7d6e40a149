//! Joined, immutable views per pool and the arithmetic on them. No file, no clock, no settings.

pub mod weights;
pub mod windows;

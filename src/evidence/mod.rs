//! Joined views and the pure arithmetic over them. No files, no clock, no settings: numbers in, numbers out.

pub mod fit;
pub mod front;
pub mod retire;
pub mod standing;

//! The estimators of the methods: plain numbers in, plain numbers out. No clock, no file, no setting: limits come in as
//! arguments with the defaults of methods §25. Each function names its section; golden numbers hold each to 1e-6.

pub mod beta;
pub mod calibration;
pub mod claim;
pub mod cost;
pub mod difference;
pub mod discovery;
pub mod drift;
pub mod duration;
pub mod gamma;
pub mod looks;
pub mod mix;
pub mod normal;
pub mod pair;
pub mod picks;
pub mod prior;
pub mod severity;
pub mod shares;
pub mod sizing;
pub mod sources;
pub mod trial;
pub mod verification;
pub mod weight;

pub use beta::Beta;

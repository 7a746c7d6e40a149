//! `pool-review`: parse, run, print, exit code.

fn main() {}

//! Generated trees of Claude Code and Codex logs: every figure of their `truth.json` comes out, to the last token.

use std::path::Path;

use crate::common::shared;
use crate::support::{answers, differences, flat, generated, read_tree};
use serde_json::Value;

/// Every part of a truth file.
const PARTS: [&str; 7] = ["input", "events", "rows", "speed", "decode", "ttft", "days"];

/// Compares a tree with the truth beside it.
fn compare(tree: &Path) {
    let truth: Value = serde_json::from_slice(&std::fs::read(tree.join("truth.json")).unwrap()).unwrap();
    let found = flat(&read_tree(tree));
    let differences = differences(&found, &answers(&truth), &PARTS);
    assert!(
        differences.is_empty(),
        "{} differences: {:#?}",
        differences.len(),
        &differences[..differences.len().min(20)]
    );
}

#[test]
fn small_trees_of_several_seeds_equal_their_truth() {
    let Some(shared) = shared() else { return };
    for seed in [1, 2, 3, 4] {
        let tree = generated(&shared, &format!("tree-{seed}"), 6, seed);
        compare(&tree);
        std::fs::remove_dir_all(tree).unwrap();
    }
}

#[test]
fn a_tree_of_100_mb_equals_its_truth() {
    let Some(shared) = shared() else { return };
    let tree = generated(&shared, "tree-100", 100, 20_261_129);
    compare(&tree);
    std::fs::remove_dir_all(tree).unwrap();
}

#[test]
#[expect(clippy::print_stderr, reason = "a test says what it skipped")]
fn the_tree_that_the_environment_names_equals_its_truth() {
    match std::env::var_os("POOL_REVIEW_TREE") {
        Some(tree) => compare(Path::new(&tree)),
        None => eprintln!("skipped: POOL_REVIEW_TREE names no tree; benches/sessions_peers.sh does"),
    }
}

//! Random documents under random edits: operations and text agree, untouched lines stay, comments of what stays survive.

#![expect(clippy::unwrap_used, reason = "a test and its helpers fail by panicking")]

#[path = "change_support/random.rs"]
mod random;
#[path = "change_support/scratch.rs"]
mod scratch;

use std::collections::BTreeSet;

use pool_review::change::{Applied, ChangeError, apply, apply_ops};
use pool_review::verdict::Edit;
use pool_review::vocabulary::ConfigFile;
use random::{Container, Dice, Document, Style, document};
use scratch::Scratch;
use serde_json::{Value, json};

/// Documents tried.
const CASES: u64 = 2_000;
/// Of them, how many real git is asked about.
const GIT_CASES: u64 = 60;

/// A change and what a test needs to know of it.
struct Case {
    /// The document.
    document: Document,
    /// The edits.
    edits: Vec<Edit>,
    /// Pointers taken out.
    removed: BTreeSet<String>,
    /// Pointers whose value is another one.
    replaced: BTreeSet<String>,
    /// Pointers moved.
    moved: BTreeSet<String>,
    /// Containers that lost, gained or moved members.
    reshaped: BTreeSet<String>,
}

impl Case {
    /// A random document and one to four edits that do not contradict each other.
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let document = document(&mut dice);
        let none = BTreeSet::new;
        let mut case =
            Self { document, edits: vec![], removed: none(), replaced: none(), moved: none(), reshaped: none() };
        for _ in 0..=dice.below(4) {
            case.add_edit(&mut dice);
        }
        case
    }

    /// Whether something at or above a pointer is already taken out or replaced.
    fn is_taken(&self, pointer: &str) -> bool {
        self.removed.iter().chain(&self.replaced).any(|taken| is_within(pointer, taken))
    }

    /// One more edit, or none when the dice point at what is taken.
    fn add_edit(&mut self, dice: &mut Dice) {
        let container = dice.pick(&self.document.containers[1..]).clone();
        let Container { pointer, is_array, members, .. } = &container;
        if self.is_taken(pointer) {
            return;
        }
        if members.is_empty() || dice.one_in(4) {
            let value = dice.pick(&[json!("new"), json!({"m": 1, "n": [1, 2]}), json!(7)]).clone();
            self.reshaped.insert(pointer.clone());
            self.edits.push(if *is_array {
                Edit::Append { array: pointer.clone(), value }
            } else {
                Edit::Insert { object: pointer.clone(), key: format!("new/{}", self.edits.len()), value }
            });
            return;
        }
        let member = format!("{pointer}/{}", dice.pick(members));
        if self.is_taken(&member) || self.touches_below(&member) {
            return;
        }
        match dice.below(3) {
            0 => {
                self.removed.insert(member.clone());
                self.reshaped.insert(pointer.clone());
                self.edits.push(Edit::Remove { pointer: member });
            }
            1 if *is_array => {
                self.moved.insert(member.clone());
                self.reshaped.insert(pointer.clone());
                self.edits.push(Edit::ToFront { pointer: member });
            }
            _ => {
                self.replaced.insert(member.clone());
                self.edits.push(Edit::Replace { pointer: member, value: json!("other") });
            }
        }
    }

    /// Whether an edit stands below a pointer already.
    fn touches_below(&self, pointer: &str) -> bool {
        let sets = [&self.removed, &self.replaced, &self.moved, &self.reshaped];
        sets.into_iter().flatten().any(|touched| is_within(touched, pointer))
    }

    /// How the members of a container stand.
    fn style(&self, pointer: &str) -> Option<Style> {
        self.document.containers.iter().find(|known| known.pointer == pointer).map(|known| known.style)
    }

    /// The file.
    fn file(&self) -> ConfigFile {
        ConfigFile { path: "a folder/opencode.jsonc".to_owned(), text: self.document.text.clone() }
    }
}

/// Whether a pointer is another one or below it.
fn is_within(pointer: &str, of: &str) -> bool {
    pointer == of || pointer.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'))
}

/// Runs every case that has an effect.
fn each_case(cases: u64, mut check: impl FnMut(u64, &Case, &Applied)) {
    let mut effective = 0;
    for seed in 0..cases {
        let case = Case::new(seed);
        match apply(&case.file(), &case.edits) {
            Ok(applied) => {
                effective += 1;
                check(seed, &case, &applied);
            }
            Err(ChangeError::NoEffect) => {}
            Err(error) => panic!("seed {seed}: {error}\n{:#?}\n{}", case.edits, case.document.text),
        }
    }
    assert!(effective * 10 > cases * 8, "most cases change something: {effective} of {cases}");
}

/// Parses JSONC by other means than the code under test.
fn parse(text: &str) -> Value {
    jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default()).unwrap()
}

#[test]
fn operations_on_the_parsed_document_and_the_edited_text_agree() {
    each_case(CASES, |seed, case, applied| {
        let before = parse(&case.document.text);
        let after = parse(&applied.text);
        assert_eq!(apply_ops(&before, &applied.ops).unwrap(), after, "seed {seed}\n{}", case.document.text);
        assert_eq!(apply_ops(&after, &applied.rollback_ops).unwrap(), before, "seed {seed}: the way back");
        let first_edit = applied.ops.iter().position(|op| op["op"] != "test").unwrap();
        assert!(first_edit > 0, "seed {seed}: a test comes first");
        assert!(applied.ops[first_edit..].iter().all(|op| op["op"] != "test"), "seed {seed}: tests come before edits");
    });
}

#[test]
fn every_comment_of_what_stays_survives_and_comments_of_what_goes_go() {
    each_case(CASES, |seed, case, applied| {
        for comment in &case.document.comments {
            let is_there = applied.text.matches(&format!(" {}", comment.label)).count();
            let is_gone_with_owner = case.removed.iter().any(|gone| is_within(&comment.owner, gone));
            let was_inside_replaced = case
                .replaced
                .iter()
                .any(|taken| is_within(&comment.owner, taken) && !(comment.goes_along && comment.owner == *taken));
            let expected = usize::from(!is_gone_with_owner && !was_inside_replaced);
            assert_eq!(
                is_there, expected,
                "seed {seed}: comment {comment:?}\n{:#?}\n{}\n=====\n{}",
                case.edits, case.document.text, applied.text
            );
        }
    });
}

#[test]
fn lines_that_nothing_touches_stay_in_order() {
    let mut judged = 0;
    each_case(CASES, |seed, case, applied| {
        let parents = case.replaced.iter().map(|pointer| pointer.rsplit_once('/').unwrap().0);
        let mut reshaped = case.reshaped.iter().map(String::as_str).chain(parents);
        if reshaped.any(|pointer| case.style(pointer) == Some(Style::Wild)) {
            return;
        }
        judged += 1;
        let touched = touched_labels(case);
        let mut after = applied.text.lines();
        for line in case.document.text.lines() {
            let labels = labels(line);
            if labels.is_empty() || labels.iter().any(|label| touched.contains(label)) {
                continue;
            }
            assert!(
                after.any(|other| other == line),
                "seed {seed}: line {line:?} went away\n{:#?}\n{}\n=====\n{}",
                case.edits,
                case.document.text,
                applied.text
            );
        }
    });
    assert!(judged > 1_000, "enough cases with regular layout: {judged}");
}

/// Labels that stand on lines that an edit may change: its members, and the ends of reshaped containers, whose commas
/// come and go.
fn touched_labels(case: &Case) -> BTreeSet<String> {
    let document = parse(&case.document.text);
    let mut pointers: BTreeSet<String> =
        case.removed.iter().chain(&case.replaced).chain(&case.moved).cloned().collect();
    for container in case.document.containers.iter().filter(|known| case.reshaped.contains(&known.pointer)) {
        let member = |token: &String| format!("{}/{token}", container.pointer);
        let is_gone = |pointer: &String| case.removed.contains(pointer) || case.moved.contains(pointer);
        let last_before = container.members.last().map(member);
        let last_after = container.members.iter().rev().map(member).find(|pointer| !is_gone(pointer));
        if container.members.iter().map(member).all(|pointer| is_gone(&pointer)) {
            pointers.insert(container.pointer.clone());
        }
        pointers.extend(last_before.into_iter().chain(last_after));
    }
    pointers.iter().flat_map(|pointer| labels_on_line(case, &document, pointer)).collect()
}

/// The labels on the lines of a member, with its comments: when it shares its line with others, of all of them.
fn labels_on_line(case: &Case, document: &Value, pointer: &str) -> Vec<String> {
    let mut at = pointer;
    while let Some((head, _)) = at.rsplit_once('/').filter(|(head, _)| case.style(head) != Some(Style::Lines)) {
        at = head;
    }
    let key = at.split('/').next_back().unwrap_or_default().to_owned();
    let comments = case.document.comments.iter().filter(|comment| is_within(&comment.owner, at));
    let mut found = labels(&document.pointer(at).unwrap().to_string());
    found.extend(comments.map(|comment| comment.label.clone()));
    found.push(key);
    found
}

/// The labels in some text: a letter, digits and an x.
fn labels(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_label = |word: &&str| {
        word.len() > 2 && word.starts_with(['c', 'k', 'v']) && word.ends_with('x') && {
            word[1..word.len() - 1].bytes().all(|byte| byte.is_ascii_digit())
        }
    };
    words.filter(is_label).map(str::to_owned).collect()
}

#[test]
fn real_git_takes_the_patch_there_and_back() {
    let scratch = Scratch::new("random-patches");
    each_case(GIT_CASES, |seed, case, applied| {
        let before = case.file();
        assert_eq!(scratch.apply(&before, &applied.patch.text), applied.text, "seed {seed}");
        let after = ConfigFile { text: applied.text.clone(), ..before.clone() };
        assert_eq!(after.blob(), applied.patch.result_blob, "seed {seed}");
        assert_eq!(scratch.apply(&after, &applied.rollback_patch.text), before.text, "seed {seed}: and back");
    });
}

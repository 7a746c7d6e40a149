//! Random YAML under random edits: operations and text agree for another reader too, untouched lines stay, comments of what stays
//! survive, and what cannot be edited safely is refused.

#![expect(clippy::unwrap_used, reason = "a test and its helpers fail by panicking")]

#[path = "change_support/random.rs"]
#[expect(dead_code, reason = "of the JSONC generator only the dice are used")]
mod random;
#[path = "change_support/random_yaml.rs"]
mod random_yaml;
#[path = "change_support/scratch.rs"]
mod scratch;

use std::collections::{BTreeMap, BTreeSet};

use pool_review::change::{Applied, ChangeError, apply, apply_ops};
use pool_review::verdict::Edit;
use pool_review::vocabulary::ConfigFile;
use random::Dice;
use random_yaml::{Document, document};
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
    /// Pointers taken out or given another value.
    gone: BTreeSet<String>,
    /// Of them, those that stand on with another value.
    replaced: BTreeSet<String>,
    /// Containers that lost, gained or moved members.
    reshaped: BTreeSet<String>,
    /// Kinds of edits.
    kinds: BTreeSet<&'static str>,
}

impl Case {
    /// A random document and one to three edits that do not contradict each other.
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let document = document(&mut dice);
        let none = BTreeSet::new;
        let mut case =
            Self { document, edits: vec![], gone: none(), replaced: none(), reshaped: none(), kinds: BTreeSet::new() };
        for _ in 0..=dice.below(3) {
            case.add_edit(&mut dice);
        }
        case
    }

    /// One more edit, or none when the dice point at what an edit stands at, above or below already.
    fn add_edit(&mut self, dice: &mut Dice) {
        let container = dice.pick(&self.document.containers).clone();
        let pointer = container.pointer.clone();
        let new = dice.pick(&[json!("new/model"), json!("yes"), json!({"m": 1, "n": ["o"]}), json!(7)]).clone();
        let touched: Vec<&String> = self.gone.iter().chain(&self.reshaped).collect();
        let mut used = touched.iter().map(|known| known.as_str());
        if container.members.is_empty() || dice.one_in(4) {
            if used.any(|known| is_within(&pointer, known) && known != pointer) {
                return;
            }
            self.reshaped.insert(pointer.clone());
            self.kinds.insert(if container.is_list { "append" } else { "insert" });
            self.edits.push(if container.is_list {
                Edit::Append { array: pointer, value: new }
            } else {
                Edit::Insert { object: pointer, key: format!("new{}", self.edits.len()), value: new }
            });
            return;
        }
        let token = dice.pick(&container.members);
        let member = format!("{pointer}/{token}");
        if used.any(|known| is_within(&member, known) && !self.reshaped.contains(known) || is_within(known, &member)) {
            return;
        }
        let edit = match dice.below(3) {
            0 => ("remove", Edit::Remove { pointer: member.clone() }),
            1 if container.is_list => ("to_front", Edit::ToFront { pointer: member.clone() }),
            _ => ("replace", Edit::Replace { pointer: member.clone(), value: new }),
        };
        self.kinds.insert(edit.0);
        match edit.0 {
            "replace" => drop(self.replaced.insert(member.clone())),
            _ => drop(self.reshaped.insert(pointer)),
        }
        if edit.0 != "to_front" {
            self.gone.insert(member);
        }
        self.edits.push(edit.1);
    }

    /// The file.
    fn file(&self) -> ConfigFile {
        ConfigFile { path: "a folder/config.yaml".to_owned(), text: self.document.text.clone() }
    }
}

/// Whether a pointer is another one or below it.
fn is_within(pointer: &str, of: &str) -> bool {
    pointer == of || pointer.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'))
}

/// Runs every case that has an effect; refusals are counted by their reason.
fn each_case(cases: u64, mut check: impl FnMut(u64, &Case, &Applied)) -> (u64, BTreeMap<String, u64>) {
    let (mut effective, mut refused) = (0, BTreeMap::new());
    for seed in 0..cases {
        let case = Case::new(seed);
        match apply(&case.file(), &case.edits) {
            Ok(applied) => {
                effective += 1;
                check(seed, &case, &applied);
            }
            Err(ChangeError::Pointer { reason, .. }) => *refused.entry(reason.to_owned()).or_insert(0) += 1,
            Err(ChangeError::NoEffect) => {}
            Err(ChangeError::Mismatch(why)) if case.document.text.contains(" *a") && why.contains("anchor") => {
                *refused.entry("cuts an alias off its anchor".to_owned()).or_insert(0) += 1;
            }
            Err(error) => panic!("seed {seed}: {error}\n{:#?}\n{}", case.edits, case.document.text),
        }
    }
    (effective, refused)
}

/// Reads YAML by other means than the code under test.
fn parse(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn operations_on_the_parsed_document_and_the_edited_text_agree() {
    let mut kinds = BTreeSet::new();
    let (effective, refused) = each_case(CASES, |seed, case, applied| {
        let (before, after) = (parse(&case.document.text), parse(&applied.text));
        let what = format!("seed {seed}\n{:#?}\n{}=====\n{}", case.edits, case.document.text, applied.text);
        assert_eq!(applied.document_before, before, "{what}");
        assert_eq!(apply_ops(&before, &applied.ops).unwrap(), after, "{what}");
        assert_eq!(apply_ops(&after, &applied.rollback_ops).unwrap(), before, "the way back: {what}");
        kinds.extend(case.kinds.iter().copied());
    });
    assert!(effective * 100 > CASES * 65, "most changes are possible: {effective} of {CASES}; {refused:#?}");
    assert!(kinds.len() == 5, "every kind of edit appears: {kinds:?}");
    for reason in ["stands behind an alias", "is an anchor that other places use", "is a block of text"] {
        assert!(refused.contains_key(reason), "{reason}: {refused:#?}");
    }
}

#[test]
fn every_comment_of_what_stays_survives_and_comments_of_what_goes_go() {
    each_case(CASES, |seed, case, applied| {
        for (label, owner) in &case.document.comments {
            let is_there = applied.text.matches(&format!("# {label}:")).count();
            let is_gone =
                case.gone.iter().any(|gone| is_within(owner, gone) && !(owner == gone && case.replaced.contains(gone)));
            assert_eq!(
                is_there,
                usize::from(!is_gone),
                "seed {seed}: comment {label} of {owner}\n{:#?}\n{}=====\n{}",
                case.edits,
                case.document.text,
                applied.text
            );
        }
    });
}

#[test]
fn lines_that_nothing_touches_stay_in_order() {
    each_case(CASES, |seed, case, applied| {
        let named: BTreeSet<String> = case.edits.iter().flat_map(|edit| touched(case, edit)).collect();
        let mut after = applied.text.lines();
        for line in case.document.text.lines() {
            let labels = labels(line);
            let is_alias = line.contains(" *a"); // the label of an alias is its anchor's
            if labels.is_empty() || is_alias || labels.iter().any(|label| named.contains(label)) {
                continue;
            }
            assert!(
                after.any(|other| other == line),
                "seed {seed}: line {line:?} went away\n{:#?}\n{}=====\n{}",
                case.edits,
                case.document.text,
                applied.text
            );
        }
    });
}

/// Labels on the lines that an edit may change: of its member, of the flow it stands in, of a key whose block it empties, and of
/// the key that moves up to a dash.
fn touched(case: &Case, edit: &Edit) -> Vec<String> {
    let (Edit::Remove { pointer }
    | Edit::Replace { pointer, .. }
    | Edit::ToFront { pointer }
    | Edit::Append { array: pointer, .. }
    | Edit::Insert { object: pointer, .. }) = edit
    else {
        return Vec::new();
    };
    let document = parse(&case.document.text);
    let is_new = matches!(edit, Edit::Append { .. } | Edit::Insert { .. });
    let parent = if is_new { pointer.as_str() } else { pointer.rsplit_once('/').unwrap().0 };
    let mut found: Vec<String> =
        pointer.split('/').map(str::to_owned).filter(|token| labels(token).len() == 1).collect();
    let is_flow = |line: &&str| line.contains([']', '}']);
    let member =
        document.pointer(pointer).map(|value| labels(&value.to_string())).filter(|_| !is_new).unwrap_or_default();
    let inner = document.pointer(parent).map(|value| labels(&value.to_string())).unwrap_or_default();
    let lines = case.document.text.lines();
    found.extend(lines.filter(is_flow).flat_map(labels).filter(|label| inner.contains(label)));
    let owners = case.document.comments.iter().filter(|(_, owner)| is_within(owner, pointer));
    found.extend(owners.map(|(label, _)| label.clone()));
    found.extend(member);
    if let (Edit::Remove { .. }, Some(group)) = (edit, case.document.containers.iter().find(|c| c.pointer == parent)) {
        // Behind a dash the next key moves up.
        let is_first = pointer.ends_with(&format!("/{}", group.members[0]));
        found.extend(group.members.get(1).filter(|_| is_first).cloned());
    }
    found
}

/// The labels in some text: a letter, digits and an x.
fn labels(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_label = |word: &&str| {
        word.len() > 2 && word.starts_with(['a', 'c', 'k', 'v']) && word.ends_with('x') && {
            word[1..word.len() - 1].bytes().all(|byte| byte.is_ascii_digit())
        }
    };
    words.filter(is_label).map(str::to_owned).collect()
}

#[test]
fn real_git_takes_the_patch_there_and_back() {
    let scratch = Scratch::new("random-yaml");
    each_case(GIT_CASES, |seed, case, applied| {
        let before = case.file();
        assert_eq!(scratch.apply(&before, &applied.patch.text), applied.text, "seed {seed}");
        let after = ConfigFile { text: applied.text.clone(), ..before.clone() };
        assert_eq!(scratch.apply(&after, &applied.rollback_patch.text), before.text, "seed {seed}: and back");
    });
}

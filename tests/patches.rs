//! Changes as patches: the handed golden patches, hand-made layouts, random documents, and the real `git apply`.

#![expect(clippy::unwrap_used, reason = "a test and its helpers fail by panicking")]

#[path = "change_support/handed.rs"]
mod handed;
#[path = "change_support/scratch.rs"]
mod scratch;

use handed::{files_under, shared};
use pool_review::change::{Applied, ChangeError, apply, apply_ops};
use pool_review::verdict::Edit;
use pool_review::vocabulary::{ConfigFile, git_blob, subtree_digest};
use scratch::Scratch;
use serde_json::{Value, json};

/// A file under the usual path.
fn file(text: &str) -> ConfigFile {
    ConfigFile { path: ".opencode/opencode.jsonc".to_owned(), text: text.to_owned() }
}

/// The text after some edits of a text that takes them.
fn after(text: &str, edits: &[Edit]) -> String {
    apply(&file(text), edits).unwrap().text
}

/// Takes a member out.
fn remove(pointer: &str) -> Edit {
    Edit::Remove { pointer: pointer.to_owned() }
}

/// Moves an element to the front.
fn to_front(pointer: &str) -> Edit {
    Edit::ToFront { pointer: pointer.to_owned() }
}

/// Puts another value in.
fn replace(pointer: &str, value: Value) -> Edit {
    Edit::Replace { pointer: pointer.to_owned(), value }
}

/// Adds an element.
fn append(array: &str, value: Value) -> Edit {
    Edit::Append { array: array.to_owned(), value }
}

/// Adds a key.
fn insert(object: &str, key: &str, value: Value) -> Edit {
    Edit::Insert { object: object.to_owned(), key: key.to_owned(), value }
}

/// A pointer's head and its last token, unescaped.
fn split_pointer(pointer: &str) -> (&str, String) {
    let (head, last) = pointer.rsplit_once('/').unwrap();
    (head, last.replace("~1", "/").replace("~0", "~"))
}

/// The edits that say what handed operations say.
fn edits_of(ops: &[Value]) -> Vec<Edit> {
    ops.iter()
        .map(|op| {
            let text = |name: &str| op[name].as_str().unwrap().to_owned();
            let (head, last) = split_pointer(op["path"].as_str().unwrap());
            match op["op"].as_str().unwrap() {
                "test" => Edit::Expect { pointer: text("path") },
                "remove" => Edit::Remove { pointer: text("path") },
                "replace" => Edit::Replace { pointer: text("path"), value: op["value"].clone() },
                "move" if last == "0" => Edit::ToFront { pointer: text("from") },
                "move" => Edit::Move { pointer: text("from"), to: last.parse().unwrap() },
                "add" if last == "-" || last.parse::<usize>().is_ok() => {
                    Edit::Append { array: head.to_owned(), value: op["value"].clone() }
                }
                "add" => Edit::Insert { object: head.to_owned(), key: last, value: op["value"].clone() },
                other => panic!("operation {other} is not in the schema"),
            }
        })
        .collect()
}

/// Every handed golden file, by name.
fn golden_files() -> Vec<(String, Value)> {
    let Some(folder) = shared() else { return Vec::new() };
    files_under(&folder.join("golden"), "json")
        .into_iter()
        .map(|path| {
            let value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            (path.file_name().unwrap().to_string_lossy().into_owned(), value)
        })
        .collect()
}

#[test]
fn handed_patches_are_reproduced_byte_for_byte_and_git_takes_them() {
    let scratch = Scratch::new("handed-patches");
    let mut seen = 0;
    for (name, golden) in golden_files() {
        for patch in golden["patches"].as_array().into_iter().flatten() {
            let what = format!("{name} {}", patch["id"]);
            let text = |key: &str| patch[key].as_str().unwrap();
            let before = ConfigFile { path: text("path").to_owned(), text: text("before").to_owned() };
            assert_eq!(before.blob(), text("blob_before"), "{what}");
            assert_eq!(git_blob(text("after")), text("blob_after"), "{what}");
            let ops = patch["ops"].as_array().unwrap();
            let applied = apply(&before, &edits_of(ops)).unwrap();
            assert_eq!(applied.text, text("after"), "{what}: text");
            assert_eq!(&applied.ops, ops, "{what}: operations");
            assert_eq!(applied.patch.text, text("patch"), "{what}: patch");
            assert_eq!(apply_ops(&applied.document_before, ops).unwrap(), applied.document_after, "{what}: document");
            let digest = |document: &Value| subtree_digest(document, text("pointer")).unwrap().to_string();
            assert_eq!(digest(&applied.document_before), text("subtree_digest_before"), "{what}");
            assert_eq!(digest(&applied.document_after), text("subtree_digest_after"), "{what}");
            for diff in [text("patch"), &applied.patch.text] {
                assert_eq!(scratch.apply(&before, diff), text("after"), "{what}: git apply");
            }
            seen += 1;
        }
    }
    assert!(seen > 0 || golden_files().is_empty(), "the handed files hold patches");
}

#[test]
fn a_target_goes_with_its_line_and_its_comment_and_its_keys_go_too() {
    let text = r#"{
  "weights": {
    "a/one": 3, // keep me
    "b/two": 1, // goes
  },
  "targets": [
    "a/one",
    // a word about two
    "b/two", /* 3 / 15 USD */
    "c/three",
  ],
  "budgets": { "b/two": { "requestsPerDay": 5 }, "a/one": { "requestsPerDay": 7 } },
}
"#;
    let expected = r#"{
  "weights": {
    "a/one": 3, // keep me
  },
  "targets": [
    "a/one",
    // a word about two
    "c/three",
  ],
  "budgets": { "a/one": { "requestsPerDay": 7 } },
}
"#;
    let edits = [remove("/targets/1"), remove("/weights/b~1two"), remove("/budgets/b~1two")];
    let applied = apply(&file(text), &edits).unwrap();
    assert_eq!(applied.text, expected);
    assert_eq!(
        applied.ops,
        [
            json!({"op": "test", "path": "/targets/1", "value": "b/two"}),
            json!({"op": "test", "path": "/weights/b~1two", "value": 1}),
            json!({"op": "test", "path": "/budgets/b~1two", "value": {"requestsPerDay": 5}}),
            json!({"op": "remove", "path": "/targets/1"}),
            json!({"op": "remove", "path": "/weights/b~1two"}),
            json!({"op": "remove", "path": "/budgets/b~1two"}),
        ]
    );
}

#[test]
fn pointers_of_later_edits_speak_of_the_document_before_the_first() {
    let text =
        "{\n  \"t\": [\n    \"a\",\n    \"b\",\n    { \"model\": \"c\", \"until\": 1 }, // c\n    \"d\"\n  ]\n}\n";
    let edits = [remove("/t/0"), remove("/t/3"), replace("/t/2/until", json!(2)), to_front("/t/2")];
    let applied = apply(&file(text), &edits).unwrap();
    assert_eq!(applied.text, "{\n  \"t\": [\n    { \"model\": \"c\", \"until\": 2 }, // c\n    \"b\"\n  ]\n}\n");
    let paths: Vec<&str> = applied.ops.iter().skip(4).map(|op| op["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/t/0", "/t/2", "/t/1/until", "/t/0"], "positions of their turn, after four tests");
}

#[test]
fn commas_follow_the_style_of_the_container() {
    let cases: [(&str, &[Edit], &str); 10] = [
        ("[\n  \"a\",\n  \"b\" // x\n]", &[remove("/1")], "[\n  \"a\"\n]"),
        ("[\n  \"a\", // a\n  \"b\" // b\n]", &[to_front("/1")], "[\n  \"b\", // b\n  \"a\" // a\n]"),
        ("[\n  \"a\" // a\n]", &[append_root()], "[\n  \"a\", // a\n  \"z\"\n]"),
        ("[\n  \"a\", // a\n  // end\n]", &[append_root()], "[\n  \"a\", // a\n  \"z\",\n  // end\n]"),
        ("[\"a\", \"b\", \"c\"]", &[remove("/1")], "[\"a\", \"c\"]"),
        ("[ \"a\", \"b\" ]", &[remove("/0")], "[ \"b\" ]"),
        ("[\"a\", \"b\", \"c\"]", &[to_front("/2")], "[\"c\", \"a\", \"b\"]"),
        ("[\"a\"]", &[remove("/0")], "[]"),
        ("[]", &[append_root()], "[\"z\"]"),
        ("[\"a\",\n \"b\", // last\n \"c\"]", &[remove("/2")], "[\"a\",\n \"b\" // last\n]"),
    ];
    for (array, edits, expected) in cases {
        let nested = format!("{{ \"k\": {array} }}");
        let edits: Vec<Edit> = edits.iter().map(under_k).collect();
        assert_eq!(after(&nested, &edits), format!("{{ \"k\": {expected} }}"), "{array}");
    }
}

/// Adds `"z"` to the array under test.
fn append_root() -> Edit {
    append("", json!("z"))
}

/// The same edit below the key `k`.
fn under_k(edit: &Edit) -> Edit {
    match edit.clone() {
        Edit::Remove { pointer } => Edit::Remove { pointer: format!("/k{pointer}") },
        Edit::ToFront { pointer } => Edit::ToFront { pointer: format!("/k{pointer}") },
        Edit::Append { array, value } => Edit::Append { array: format!("/k{array}"), value },
        other => other,
    }
}

#[test]
fn the_last_weight_leaves_an_empty_object_and_a_new_one_fits_in() {
    let text = "{\n\t\"weights\": {\n\t\t\"a\": 9,\n\t},\n\t\"budgets\": { },\n\t\"x\": {\n\t\t// none yet\n\t}\n}\n";
    assert_eq!(
        after(text, &[remove("/weights/a"), insert("/budgets", "b", json!(1)), insert("/x", "y", json!([1, "2"]))]),
        "{\n\t\"weights\": {},\n\t\"budgets\": { \"b\": 1 },\n\t\"x\": {\n\t\t// none yet\n\t\t\"y\": [1, \"2\"]\n\t}\n}\n"
    );
    assert_eq!(after(text, &[remove("/x")]), text.replace(",\n\t\"x\": {\n\t\t// none yet\n\t}", ""));
}

#[test]
fn a_replaced_object_keeps_what_stays_equal_and_every_comment_of_it() {
    let text = "{\n  \"weights\": {\n    \"a\": 3, // three\n    \"b\": 1, // one\n    \"c\": 2, // two\n  },\n}\n";
    assert_eq!(
        after(text, &[replace("/weights", json!({"a": 2, "b": 1, "d": 5}))]),
        "{\n  \"weights\": {\n    \"a\": 2, // three\n    \"b\": 1, // one\n    \"d\": 5,\n  },\n}\n"
    );
    let list = "{ \"t\": [\n  \"a\", // first\n  \"b\", // second\n  \"c\" // third\n] }";
    assert_eq!(
        after(list, &[replace("/t", json!(["c", "a", "b"]))]),
        "{ \"t\": [\n  \"c\", // third\n  \"a\", // first\n  \"b\" // second\n] }"
    );
}

#[test]
fn a_comment_on_a_line_of_its_own_stays_where_it_stands_when_members_move() {
    let text =
        "{ \"t\": [\n  // best first\n  \"a\",\n  // spares\n  \"b\", // b\n\n  /* dear */\n  \"c\"\n  // end\n] }";
    assert_eq!(
        after(text, &[to_front("/t/1")]),
        "{ \"t\": [\n  \"b\", // b\n  // best first\n  \"a\",\n  // spares\n\n  /* dear */\n  \"c\"\n  // end\n] }"
    );
    let applied = apply(&file(text), &[Edit::Move { pointer: "/t/0".to_owned(), to: 2 }]).unwrap();
    assert_eq!(
        applied.text,
        "{ \"t\": [\n  // best first\n  // spares\n  \"b\", // b\n\n  /* dear */\n  \"c\",\n  \"a\"\n  // end\n] }"
    );
    assert_eq!(applied.ops[2], json!({"op": "move", "from": "/t/0", "path": "/t/2"}));
}

#[test]
fn carriage_returns_and_a_missing_last_line_end_survive() {
    let text = "{\r\n  \"t\": [\r\n    \"a\", // a\r\n    \"b\"\r\n  ]\r\n}";
    assert_eq!(
        after(text, &[append("/t", json!("c"))]),
        "{\r\n  \"t\": [\r\n    \"a\", // a\r\n    \"b\",\r\n    \"c\"\r\n  ]\r\n}"
    );
    assert_eq!(after(text, &[remove("/t/0")]), "{\r\n  \"t\": [\r\n    \"b\"\r\n  ]\r\n}");
    let last_line = "{ \"a\": 1 }";
    let applied = apply(&file(last_line), &[replace("/a", json!(2))]).unwrap();
    assert!(applied.patch.text.ends_with(
        "@@ -1 +1 @@\n-{ \"a\": 1 }\n\\ No newline at end of file\n+{ \"a\": 2 }\n\\ No newline at end of file\n"
    ));
}

#[test]
fn commas_at_the_start_of_lines_work_too() {
    let text = "{ \"t\": [ \"a\" // first\n, \"b\" // second\n// alone\n, \"c\"\n] }";
    assert_eq!(after(text, &[remove("/t/0")]), "{ \"t\": [ \"b\" // second\n// alone\n, \"c\"\n] }");
    assert_eq!(after(text, &[remove("/t/1")]), "{ \"t\": [ \"a\" // first\n,\n// alone\n \"c\"\n] }");
    assert_eq!(after(text, &[remove("/t/2")]), "{ \"t\": [ \"a\" // first\n, \"b\" // second\n// alone\n] }");
}

#[test]
fn text_in_strings_is_not_mistaken_for_comments_or_commas() {
    let text = "{ \"t\": [\"// no, [really] /* not */\", \"b,\\\"]\", \"c\"] }";
    assert_eq!(after(text, &[remove("/t/2")]), "{ \"t\": [\"// no, [really] /* not */\", \"b,\\\"]\"] }");
}

#[test]
fn the_way_back_is_checked_and_leads_back() {
    let text = "{\n  \"weights\": { \"a\": 1, \"b\": 2 },\n  \"t\": [\"a\", \"b\", \"c\"],\n}\n";
    let edits = [remove("/t/1"), remove("/weights/b"), to_front("/t/2"), append("/t", json!("d"))];
    let Applied { document_before, document_after, rollback_ops, rollback_patch, patch, .. } =
        apply(&file(text), &edits).unwrap();
    assert_eq!(document_after, json!({"weights": {"a": 1}, "t": ["c", "a", "d"]}));
    assert_eq!(rollback_ops[0], json!({"op": "test", "path": "/t", "value": ["c", "a", "d"]}));
    assert_eq!(apply_ops(&document_after, &rollback_ops).unwrap(), document_before);
    assert!(apply_ops(&document_before, &rollback_ops).is_err(), "the way back refuses a file that never changed");
    assert_eq!((&rollback_patch.blob, &rollback_patch.result_blob), (&patch.result_blob, &patch.blob));
}

#[test]
fn what_cannot_be_changed_safely_is_refused() {
    let text = "{ \"t\": [\"a\", \"b\"], \"w\": { \"k\": 1, \"k\": 2 }, \"s\": 1 }";
    let reason = |edits: &[Edit]| apply(&file(text), edits).unwrap_err().to_string();
    assert_eq!(reason(&[remove("/t/2")]), "pointer \"/t/2\" leads nowhere");
    assert_eq!(reason(&[remove("/t/01")]), "pointer \"/t/01\" leads nowhere");
    assert_eq!(reason(&[remove("/w/k")]), "pointer \"/w/k\" leads to one of two equal keys");
    assert_eq!(reason(&[remove("/t/0"), to_front("/t/0")]), "pointer \"/t/0\" leads to what an earlier edit took away");
    assert_eq!(reason(&[to_front("/t/0")]), ChangeError::NoEffect.to_string());
    assert_eq!(reason(&[replace("/s", json!(1))]), ChangeError::NoEffect.to_string());
    assert_eq!(reason(&[remove("")]), "pointer \"\" names no member of the document");
    assert_eq!(reason(&[insert("/w", "k", json!(1))]), "pointer \"/w\" has the key already");
    assert_eq!(reason(&[append("/w", json!(1))]), "pointer \"/w\" is not an array");
    assert_eq!(reason(&[insert("/t", "k", json!(1))]), "pointer \"/t\" is not an object");
    assert_eq!(reason(&[to_front("/s")]), "pointer \"/s\" is not an element of an array");
    for broken in ["{ \"a\": 1", "", "{ a: 1 }", "{ \"a\": 0x1 }", "{ \"a\": 1 \"b\": 2 }", "{ \"a\": 1e999 }"] {
        let error = apply(&file(broken), &[remove("/a")]).unwrap_err();
        assert!(matches!(error, ChangeError::Unparsable { .. }), "{broken}: {error}");
    }
}

#[test]
fn paths_that_git_would_quote_or_that_leave_the_workspace_are_refused() {
    let edits = [replace("/a", json!(2))];
    let at = |path: &str| apply(&ConfigFile { path: path.to_owned(), text: "{ \"a\": 1 }\n".to_owned() }, &edits);
    for path in ["", "/etc/x", "../x", "a/../x", "C:/x", "a\"b", "a\\b", "a\nb", "a\tb", "a//b", "./a", "x b/x", "a "] {
        assert!(matches!(at(path), Err(ChangeError::Path { .. })), "{path:?}");
    }
    let scratch = Scratch::new("odd-paths");
    for path in ["opencode.jsonc", "my fleet/opencode config.jsonc", "flotte/modèles-路由.jsonc", "it's (new)/a&b.json"]
    {
        let before = ConfigFile { path: path.to_owned(), text: "{ \"a\": 1 }\n".to_owned() };
        assert_eq!(scratch.apply(&before, &at(path).unwrap().patch.text), "{ \"a\": 2 }\n", "{path:?}");
    }
}

#[test]
fn a_byte_order_mark_stays() {
    assert_eq!(after("\u{feff}{ \"a\": 1 }\n", &[replace("/a", json!(2))]), "\u{feff}{ \"a\": 2 }\n");
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let text = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    assert!(matches!(apply(&file(&text), &[remove("/0")]), Err(ChangeError::Unparsable { .. })));
}

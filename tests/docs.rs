//! The pages say what the code does: checks and their codes, settings, exit codes, commands, links and worked numbers.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use pool_review::checks::CHECKS;
use pool_review::cli::ExitCode;
use pool_review::settings::reference;
use serde_json::Value;

/// The headings of a check's page, in order.
const HEADINGS: [&str; 6] = [
    "What it judges",
    "Why it matters",
    "How it decides",
    "Verdicts and what to do",
    "Settings",
    "When it does not judge",
];

/// The rows of the facts table that opens a check's page, in order.
const FACTS: [&str; 6] = ["id", "question", "sources needed", "settings", "can propose?", "since"];

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder with an extension (any file for an empty one), sorted by path.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path, extension) } else { vec![path] };
    let mut files: Vec<PathBuf> = entries.flat_map(below).collect();
    files.retain(|file| extension.is_empty() || file.extension().is_some_and(|own| own == extension));
    files.sort();
    files
}

/// The text of every file with an extension below a folder of the repository.
fn all_text(folder: &str, extension: &str) -> String {
    let files = files_below(&root().join(folder), extension);
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect::<Vec<_>>().join("\n")
}

/// A file of the repository as text.
fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The second-level part of a page under a heading.
fn part<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let body = &page[start + heading.len() + 5..];
    &body[..body.find("\n## ").unwrap_or(body.len())]
}

/// The code spans of some markdown, fences left out.
fn spans(markdown: &str) -> BTreeSet<String> {
    let prose: String = outside_fences(markdown).into_iter().flat_map(|(_, line)| [line, "\n"]).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Lines outside fenced blocks, with their numbers.
fn outside_fences(markdown: &str) -> Vec<(usize, &str)> {
    let mut is_fenced = false;
    let lines = markdown.lines().enumerate().filter(|(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    });
    lines.map(|(number, line)| (number + 1, line)).collect()
}

/// The first cells of a table's body: what stands in code spans there.
fn first_cells(markdown: &str) -> BTreeSet<String> {
    markdown.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next()).flat_map(spans).collect()
}

/// Whether a text is written like a code: lower case words joined by underscores.
fn is_code(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && !text.starts_with('_')
}

/// The string literals of some source, comments and tests left out.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The sources that make findings of a check: its file with its folder, and for `structure` the consumers' rows.
fn sources_of(check: &str) -> String {
    let name = check.replace('-', "_");
    let folder = format!("src/checks/{name}");
    let parts = if root().join(&folder).is_dir() { all_text(&folder, "rs") } else { String::new() };
    let parts = parts.replace(" note(evidence", " finding(evidence");
    let own = text(&format!("src/checks/{name}.rs")) + "\n" + &parts;
    match check {
        "structure" => own + &text("src/review/consumers.rs"),
        "latest-model" => own + &text("src/checks/retire.rs"),
        _ => own,
    }
}

/// The codes that a source hands to its `finding` function, or pairs with a verdict.
fn codes_in(source: &str) -> BTreeSet<String> {
    let calls = source.split("finding(").skip(1).flat_map(|rest| literals(rest.split(')').next().unwrap()));
    let pairs = source.split("(\"").skip(1).filter_map(|rest| {
        let (word, after) = rest.split_once("\", ")?;
        (after.starts_with("Verdict::") || after.starts_with("verdict")).then(|| word.to_owned())
    });
    calls.chain(pairs).filter(|word| is_code(word)).collect()
}

/// Runs the binary with an empty environment.
fn pool_review(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pool-review"))
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("TZ", "UTC")
        .output()
        .unwrap()
}

/// An empty folder of this test run.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run")]
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs-{name}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a file with its folders.
#[expect(clippy::disallowed_methods, reason = "a scratch folder of the test run, or BLESS=1")]
fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The demo, run once in a copy.
struct Demo {
    /// The copy.
    folder: PathBuf,
    /// What was printed.
    printed: String,
    /// The run file.
    run: Value,
}

/// The demo's run.
fn demo() -> &'static Demo {
    static DEMO: OnceLock<Demo> = OnceLock::new();
    DEMO.get_or_init(|| {
        let folder = scratch("demo");
        for from in ["data", "instructions"] {
            for file in files_below(&root().join(from), "") {
                write(&folder.join(file.strip_prefix(root()).unwrap()), &std::fs::read(&file).unwrap());
            }
        }
        let ran = pool_review(&folder, &["review"]);
        assert_eq!(ran.status.code(), Some(3), "README says 3: {}", String::from_utf8_lossy(&ran.stderr));
        let run = files_below(&folder.join("reports/runs"), "json");
        let json = std::fs::read_to_string(&run[0]).unwrap();
        Demo { folder, printed: String::from_utf8(ran.stdout).unwrap(), run: serde_json::from_str(&json).unwrap() }
    })
}

/// Every finding of the demo: pool, check, finding.
fn demo_findings() -> Vec<(String, String, Value)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let mut found = Vec::new();
    for pool in list(&demo().run["pools"]) {
        for check in list(&pool["checks"]) {
            found.extend(list(&check["findings"]).into_iter().map(|f| (word(&pool["id"]), word(&check["check"]), f)));
        }
    }
    found
}

/// Every markdown page of the repository, as paths from its root; what runs write and golden outputs are not pages.
fn pages() -> Vec<String> {
    let mut pages: Vec<String> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned).into();
    for folder in ["instructions", "data"] {
        let files = files_below(&root().join(folder), "md");
        pages.extend(files.iter().map(|file| file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")));
    }
    pages
}

/// The targets of the links of a page, with their lines.
fn links(page: &str) -> Vec<(usize, String)> {
    let in_line = |(number, line): (usize, &str)| {
        let prose: Vec<&str> = line.split('`').step_by(2).collect();
        let joined = prose.join("`");
        let targets: Vec<_> =
            joined.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect();
        targets.into_iter().map(move |target| (number, target)).collect::<Vec<_>>()
    };
    outside_fences(page).into_iter().flat_map(in_line).collect()
}

#[test]
fn every_check_page_has_its_facts_and_the_fixed_headings_in_order() {
    for check in &CHECKS {
        let id = check.id.as_str();
        assert_eq!(check.page.lines().next(), Some(format!("# {id}").as_str()), "{id}: the title is the id");
        let headings: Vec<_> =
            outside_fences(check.page).into_iter().filter_map(|(_, line)| line.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "{id}");
        let facts = check.page.split("\n## ").next().unwrap();
        let rows: Vec<&str> = facts.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
        assert_eq!(rows[1..], FACTS, "{id}: facts below the head row");
        assert!(facts.contains(&format!("| id | `{id}` |")), "{id}");
    }
}

#[test]
fn every_code_a_check_can_say_has_a_row_and_every_row_is_a_code_it_can_say() {
    let files = files_below(&root().join("src/evidence"), "rs");
    let in_evidence: Vec<String> =
        files.iter().flat_map(|file| literals(&std::fs::read_to_string(file).unwrap())).collect();
    for check in &CHECKS {
        let id = check.id.as_str();
        let source = sources_of(id);
        let rows = first_cells(part(check.page, "Verdicts and what to do"));
        let said = codes_in(&source);
        assert!(!said.is_empty(), "{id}: no code was found in its source");
        for code in &said {
            assert!(rows.contains(code), "{id}: the code `{code}` has no row on its page");
        }
        let known: BTreeSet<String> = literals(&source).into_iter().chain(in_evidence.clone()).collect();
        for row in &rows {
            assert!(known.contains(row), "{id}: its page has a row for `{row}`, which nothing says");
        }
    }
}

#[test]
fn every_finding_of_the_demo_has_a_row_on_its_page() {
    let findings = demo_findings();
    assert!(findings.len() > 20, "the demo is full of faults");
    for (pool, check, finding) in findings {
        let page = CHECKS.iter().find(|known| known.id.as_str() == check).unwrap().page;
        let code = finding["code"].as_str().unwrap();
        assert!(
            first_cells(part(page, "Verdicts and what to do")).contains(code),
            "{pool}, {check}: `{code}` has no row"
        );
    }
}

#[test]
fn the_worked_numbers_of_the_check_pages_are_those_of_a_run() {
    // Check, pool, code, the measured number of the demo at two decimals, and how the page writes it.
    let worked = [
        ("latest-model", "scout", "missing", "8.69", "8.7 points"),
        ("best-per-pool", "specialist", "lead_window_scarce", "1.00", "The gap is 1.00"),
        ("best-per-pool", "workhorse", "lead_loses_on_sessions", "0.60", "P 0.599"),
        ("right-sizing", "scout-plan", "speed_spread", "3.69", "3.69 times"),
        ("right-sizing", "workhorse-plan", "under_powered", "0.97", "P 0.967"),
        ("right-sizing", "scout", "below_speed_floor", "33.00", "33 over 24 requests"),
    ];
    let findings = demo_findings();
    for (check, pool, code, measured, written) in worked {
        let shown: Vec<String> = findings
            .iter()
            .filter(|(p, c, finding)| p == pool && c == check && finding["code"] == code)
            .map(|(_, _, finding)| format!("{:.2}", finding["measured"]["value"].as_f64().unwrap()))
            .collect();
        assert_eq!(shown.first().map(String::as_str), Some(measured), "{check} on {pool}: {code}");
        let page = text(&format!("instructions/checks/{check}.md"));
        assert!(page.contains(written), "{check}: its page does not say \"{written}\"");
    }
}

#[test]
fn the_trial_of_the_worked_example_gets_the_weight_its_page_names() {
    let wanted = "+          \"anthropic/claude-haiku-5-5\": 1,";
    let patches = files_below(&demo().folder.join("reports/proposals"), "patch");
    let found = patches.iter().any(|patch| std::fs::read_to_string(patch).unwrap().contains(wanted));
    // 4 + 2 + 1 are drawn from; the fourth target has ended and would make it a fifth of nine.
    assert!(found, "scout's trial joins with weight 1 beside 4, 2 and 1");
    assert!(text("instructions/checks/latest-model.md").contains("weight 1 beside 4, 2 and 1, an eighth"));
}

#[test]
fn the_patch_that_the_readme_lands_is_one_of_the_demo_and_git_takes_it() {
    let readme = text("README.md");
    let command = fences(part(&readme, "What a run writes"), "sh").swap_remove(0);
    let args: Vec<&str> = command.trim().split(' ').skip(1).collect();
    let folder = scratch("landing");
    for file in [args[1], "data/fleet/.opencode/opencode.jsonc"] {
        write(&folder.join(file), &std::fs::read(demo().folder.join(file)).unwrap());
    }
    // A repository of its own, so that git does not take the one around it for the place of the patch.
    for args in [vec!["init", "--quiet"], args] {
        let ran = Command::new("git").args(&args).current_dir(&folder).output().unwrap();
        assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    let after = std::fs::read_to_string(folder.join("data/fleet/.opencode/opencode.jsonc")).unwrap();
    assert!(!after.contains("promo over") && after.contains("// cheap and fast"), "the line is gone, comments stay");
}

#[test]
fn every_setting_a_check_page_names_exists_and_every_setting_its_check_reads_is_named() {
    let keys: BTreeSet<&str> = reference().iter().map(|key| key.key).collect();
    let groups: BTreeSet<&str> = keys.iter().filter_map(|key| key.split_once('.')).map(|(group, _)| group).collect();
    let is_known = |span: &str| {
        let stem = span.trim_end_matches(".*");
        keys.iter().any(|key| *key == stem || key.strip_prefix(stem).is_some_and(|rest| rest.starts_with(['.', '['])))
    };
    for check in &CHECKS {
        let id = check.id.as_str();
        let named = first_cells(part(check.page, "Settings"));
        for key in &named {
            assert!(keys.contains(key.as_str()), "{id}: its settings table names `{key}`, which is no setting");
        }
        for span in spans(check.page) {
            let is_setting =
                span.split_once('.').is_some_and(|(group, _)| groups.contains(group) && !span.contains(' '));
            assert!(!is_setting || is_known(&span), "{id}: `{span}` is no setting");
        }
        let source = sources_of(id);
        for key in keys.iter().filter(|key| key.matches('.').count() == 1 && !key.contains(['<', '['])) {
            let reads = source
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
                .any(|word| word == *key || word.strip_suffix(key).is_some_and(|before| before.ends_with('.')));
            assert!(!reads || named.contains(*key), "{id}: reads `{key}`, and its settings table does not name it");
        }
    }
}

#[test]
fn every_input_of_the_settings_has_a_page_of_its_own() {
    let pages = all_text("instructions/data", "md");
    for key in reference().iter().filter(|key| key.key.starts_with("data.") || key.key.starts_with("config.")) {
        let key = key.key.split("[]").next().unwrap();
        assert!(pages.contains(&format!("`{key}`")), "no page of instructions/data speaks of `{key}`");
        assert!(text("README.md").contains(&format!("| `{key}` |")), "README does not say where `{key}` comes from");
    }
}

#[test]
fn every_relative_link_leads_to_a_file_of_the_repository() {
    let mut checked = 0;
    for page in pages() {
        let folder = root().join(&page).parent().unwrap().to_owned();
        for (line, target) in links(&text(&page)) {
            if target.contains("://") || target.starts_with('#') {
                continue;
            }
            let path = target.split('#').next().unwrap();
            assert!(folder.join(path).exists(), "{page}:{line}: nothing is at {target}");
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} links were found");
}

#[test]
fn every_page_below_instructions_is_in_its_index() {
    let index = text("instructions/README.md");
    let linked: BTreeSet<String> = links(&index).into_iter().map(|(_, target)| target).collect();
    for page in pages() {
        let Some(path) = page.strip_prefix("instructions/").filter(|path| *path != "README.md") else { continue };
        assert!(linked.contains(path), "instructions/README.md does not lead to {path}");
    }
}

#[test]
fn every_dependency_stands_in_a_decision() {
    // Named on the project's card, so that they need no decision of their own.
    let given = ["serde", "serde_json", "csv", "chrono", "cron", "octocrab", "comrak", "polars", "anyhow"];
    let decisions = all_text("instructions/decisions", "md");
    let manifest = text("Cargo.toml");
    let sections = manifest.split("\n[").filter(|section| section.split(']').next().unwrap().ends_with("dependencies"));
    let names: Vec<&str> = sections
        .flat_map(|section| section.lines().skip(1))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names.iter().filter(|name| !given.contains(name)) {
        assert!(decisions.contains(&format!("`{name}`")), "no decision speaks of the dependency `{name}`");
    }
}

#[test]
fn the_exit_codes_of_the_readme_are_those_of_the_program() {
    let readme = text("README.md");
    let rows: Vec<&str> = part(&readme, "Exit codes").lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let expected: Vec<String> =
        ExitCode::TABLE.iter().map(|(code, meaning)| format!("| {} | {meaning} |", *code as u8)).collect();
    assert_eq!(rows, expected);
}

#[test]
fn the_check_command_runs_what_the_readme_tells_newcomers_to_run() {
    let (readme, ci) = (text("README.md"), text(".ci/run"));
    let commands = fences(part(&readme, "Two commands"), "sh");
    let commands: Vec<&str> = commands[0].lines().collect();
    assert_eq!(commands, ["cargo run -- review", "cargo test"]);
    for command in commands {
        assert!(ci.contains(command), ".ci/run does not run `{command}`");
    }
}

#[test]
fn the_changelog_has_a_part_for_what_is_not_released() {
    let changelog = text("CHANGELOG.md");
    assert!(!part(&changelog, "Unreleased").trim().is_empty());
}

/// The bodies of the fenced blocks of a language.
fn fences(markdown: &str, language: &str) -> Vec<String> {
    let mut bodies = Vec::new();
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        if line.trim() == format!("```{language}") {
            let indent = line.len() - line.trim_start().len();
            let body = lines.by_ref().take_while(|line| line.trim() != "```");
            bodies.push(body.flat_map(|line| [line.get(indent..).unwrap_or(""), "\n"]).collect());
        }
    }
    bodies
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = text("README.md");
    let shown = fences(part(&readme, "What it prints"), "text").swap_remove(0);
    let printed = &demo().printed;
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        let (before, rest) = readme.split_once("\n```text\n").unwrap();
        let after = rest.split_once("```").unwrap().1;
        write(&root().join("README.md"), format!("{before}\n```text\n{printed}```{after}").as_bytes());
        return;
    }
    assert_eq!(&shown, printed, "BLESS=1 cargo test --test docs writes it anew");
}

#[test]
fn the_first_instruction_file_of_the_readme_reviews_the_fleet_beside_it() {
    let readme = text("README.md");
    let body = part(&readme, "Review your own fleet");
    let folder = scratch("own-fleet");
    let instructions = fences(body, "markdown").swap_remove(0);
    write(&folder.join("instructions/pool-composition-review.md"), instructions.as_bytes());
    write(&folder.join(".opencode/opencode.jsonc"), fences(body, "jsonc").swap_remove(0).as_bytes());
    let ran = pool_review(&folder, &["review", "--now", "2026-11-29T12:00:00Z"]);
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert_eq!((ran.status.code(), String::from_utf8(ran.stderr).unwrap()), (Some(0), String::new()), "{printed}");
    assert!(printed.contains("insufficient_evidence  coder"), "what needs data lacks it: {printed}");
    assert!(printed.contains("structure 1 insufficient_evidence"), "without a catalogue nobody is sound: {printed}");
}

#[test]
fn every_tier_default_that_a_check_page_repeats_is_the_default() {
    let defaults: BTreeMap<&str, &str> = reference().iter().map(|key| (key.key, key.default)).collect();
    for check in &CHECKS {
        for line in part(check.page, "Settings").lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let keys: Vec<String> = cells[0].split('`').skip(1).step_by(2).map(str::to_owned).collect();
            let written: Vec<&str> = cells[1].split(", ").map(|value| value.trim_matches('`')).collect();
            for (key, written) in keys.iter().zip(&written).filter(|_| written.len() == keys.len()) {
                let default = defaults[key.as_str()];
                let is_item = key.contains("[]") && default == "required"; // a list without items: none
                let is_by_tier = default.contains(" · ") || default.contains('.') && defaults.contains_key(default);
                assert!(
                    is_by_tier || *written == if is_item { "none" } else { default },
                    "{}: `{key}` is {default} by default, not {written}",
                    check.id
                );
            }
        }
    }
}

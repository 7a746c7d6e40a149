//! Tokens of attempts by way of their session, and stores of one kind in any order.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::evidence::{CARDS, fleet, number, review};

/// An export of a gateway: one line per call, with the session it was made for.
fn spend_log(calls: &[(String, u64)]) -> String {
    let line = |(session, tokens): &(String, u64)| {
        format!(
            "{{\"request_id\":\"r-{session}-{tokens}\",\"call_type\":\"acompletion\",\"model\":\"gpt-6-luna\",\"model_group\":\"scout\",\
             \"custom_llm_provider\":\"openai\",\"startTime\":\"2026-11-28T20:00:00\",\"endTime\":\"2026-11-28T20:00:04\",\
             \"prompt_tokens\":{tokens},\"completion_tokens\":400,\"total_tokens\":{},\"spend\":0.01,\"status\":\"success\",\
             \"cache_hit\":\"None\",\"session_id\":\"{session}\"}}\n",
            tokens + 400
        )
    };
    calls.iter().map(line).collect()
}

/// The scorecards of the aligned fleet without tokens; attempts of the lead name a session each.
fn without_tokens(text: &str) -> String {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let strip = |line: &str| -> Vec<String> {
        let cells = line.split(',').zip(&head);
        cells.filter(|(_, name)| !name.ends_with("_tokens")).map(|(cell, _)| cell.to_owned()).collect()
    };
    let mut out = strip(&head.join(",")).join(",") + ",session_id\n";
    for (at, line) in lines.enumerate() {
        // The first two attempts share a session.
        let session = if line.contains("gpt-6-luna") { format!("s-{}", at.max(1)) } else { String::new() };
        out.push_str(&[strip(line).join(","), session].join(","));
        out.push('\n');
    }
    out
}

#[test]
fn attempts_without_tokens_have_those_of_their_session_where_it_is_theirs_alone() {
    let stores = "  session_stores:\n    - { kind: litellm, path: store/spend.jsonl }\n";
    let folder = fleet("evidence-tokens", "aligned", &(CARDS.to_owned() + stores));
    let cards = folder.join("data/scorecards.csv");
    let text = without_tokens(&std::fs::read_to_string(&cards).unwrap());
    std::fs::write(&cards, &text).unwrap();
    std::fs::create_dir_all(folder.join("store")).unwrap();
    std::fs::write(folder.join("store/spend.jsonl"), "").unwrap();
    let cost = |run: &Value| {
        number(run, "best-per-pool", "cost of a task at list price", "openai/gpt-6-luna#low").unwrap()["value"].as_f64()
    };
    assert_eq!(cost(&review(&folder)), None, "nobody knows the tokens");
    let sessions: BTreeSet<&str> =
        text.lines().skip(1).filter_map(|line| line.rsplit(',').next()).filter(|s| !s.is_empty()).collect();
    let calls: Vec<(String, u64)> =
        sessions.iter().flat_map(|s| [((*s).to_owned(), 9000), ((*s).to_owned(), 11_000)]).collect();
    std::fs::write(folder.join("store/spend.jsonl"), spend_log(&calls)).unwrap();
    std::fs::remove_dir_all(folder.join("reports")).unwrap();
    let run = review(&folder);
    // 20,000 input and 800 output tokens at 0.1 and 0.5 dollars a million.
    let usd = cost(&run).unwrap();
    let attempts = text.lines().skip(1).filter(|line| line.contains("gpt-6-luna")).count();
    let joined = attempts - 2;
    let said = format!("{joined} attempts that state no tokens have those of their session");
    assert!(run["sources"].to_string().contains(&said), "two attempts share a session: {}", run["sources"]);
    assert!(usd > 0.0, "{usd}");
    let bill = number(&run, "best-per-pool", "bill at the mix of its calls", "openai/gpt-6-luna#low").unwrap();
    let by_calls = bill["value"].as_f64().unwrap() * 20_000.0 / 1e6;
    assert!((usd - by_calls).abs() < 1e-9, "the same tokens at the same price: {usd} and {by_calls}");
}

#[test]
fn stores_in_another_order_say_the_same() {
    let log = |model: &str| spend_log(&[("a".to_owned(), 100), ("b".to_owned(), 900)]).replace("gpt-6-luna", model);
    let run = |name: &str, order: [&str; 2]| {
        let store = |name: &str| format!("    - {{ kind: litellm, path: store/{name}.jsonl }}\n");
        let stores = format!("  session_stores:\n{}{}", store(order[0]), store(order[1]));
        let folder = fleet(name, "right-sizing", &stores);
        std::fs::create_dir_all(folder.join("store")).unwrap();
        std::fs::write(folder.join("store/one.jsonl"), log("gpt-6-luna")).unwrap();
        std::fs::write(folder.join("store/two.jsonl"), log("claude-haiku-4-5").replace("openai", "anthropic")).unwrap();
        review(&folder)["pools"].clone()
    };
    let first = run("evidence-order", ["one", "two"]);
    assert!(first.to_string().contains("tokens of a call"));
    assert_eq!(first, run("evidence-turned", ["two", "one"]));
}

//! A tracker made of wiremock: it keeps issues, labels and comments, writes down what it is asked, and fails on demand.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// What one write is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is done, and a page of HTML says 502.
    DoneAnd502,
    /// Nothing is done, and a page of HTML says 502.
    Only502,
    /// A secondary limit, without a header that says for how long.
    Secondary403,
    /// The primary limit is spent.
    Spent403,
    /// Asked too often.
    Limit429,
    /// It is done, and the answer is cut in the middle of its JSON.
    DoneAndCut,
    /// It is done, and the answer comes too late.
    DoneAndLate,
    /// The token is not accepted.
    Unauthorized,
    /// What was sent is not accepted.
    Unprocessable,
}

/// What the tracker holds.
#[derive(Clone, Default)]
pub(crate) struct Held {
    /// Its issues.
    pub(crate) issues: Vec<Value>,
    /// Its labels.
    pub(crate) labels: BTreeSet<String>,
    /// Number → comments.
    pub(crate) comments: BTreeMap<u64, Vec<Value>>,
    /// Writes so far.
    writes: usize,
    /// What fails: the write of this number, counted from 1.
    fault: Option<(usize, Fault)>,
    /// Items of a page; 0 is as many as are asked for.
    pub(crate) page_size: usize,
    /// What reads of a list answer from this page on, so often.
    pub(crate) list_fault: Option<(usize, ResponseTemplate, usize)>,
    /// Method, path and query of every request since this was asked last.
    asked: Vec<String>,
}

/// The tracker.
pub(crate) struct Hub {
    /// What it holds.
    held: Arc<Mutex<Held>>,
    /// The server.
    server: MockServer,
    /// Where the tracker's tasks run.
    _runtime: tokio::runtime::Runtime,
}

/// What answers.
struct Answers(Arc<Mutex<Held>>);

impl Respond for Answers {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).answer(request)
    }
}

impl Hub {
    /// An empty one.
    pub(crate) fn start() -> Self {
        let held = Arc::new(Mutex::new(Held::default()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answers = Answers(Arc::clone(&held));
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            Mock::given(any()).respond_with(answers).mount(&server).await;
            server
        });
        Self { held, server, _runtime: runtime }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        self.server.uri()
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.server.address().port()
    }

    /// Looks at, or changes, what it holds.
    pub(crate) fn held<T>(&self, look: impl FnOnce(&mut Held) -> T) -> T {
        look(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets the next write of this number fail.
    pub(crate) fn fail_at(&self, number: usize, fault: Fault) {
        self.held(|held| (held.writes, held.fault) = (0, Some((number, fault))));
    }

    /// What was asked since this was asked last.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.held(|held| std::mem::take(&mut held.asked))
    }

    /// The writes among it.
    pub(crate) fn written(&self) -> Vec<String> {
        self.asked().into_iter().filter(|line| !line.starts_with("GET ")).collect()
    }

    /// Id → how many issues have it in their marker.
    pub(crate) fn ids(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for issue in self.held(|held| held.issues.clone()) {
            let body = issue["body"].as_str().unwrap_or_default().to_owned();
            let id = body.split("id=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("none").to_owned();
            *counts.entry(id).or_insert(0) += 1;
        }
        counts
    }
}

impl Held {
    /// Answers one request.
    fn answer(&mut self, request: &Request) -> ResponseTemplate {
        let (method, path) = (request.method.as_str(), request.url.path().to_owned());
        let below = path.strip_prefix("/api/v3").unwrap_or(&path);
        let query = request.url.query().map_or(String::new(), |query| format!("?{query}"));
        self.asked.push(format!("{method} {path}{query}"));
        if method == "GET" {
            return self.read(&path, below, &request.url.query_pairs().into_owned().collect());
        }
        self.writes += 1;
        let fault = self.fault.take_if(|(at, _)| *at == self.writes).map(|(_, fault)| fault);
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let is_done =
            fault.is_none_or(|fault| matches!(fault, Fault::DoneAnd502 | Fault::DoneAndCut | Fault::DoneAndLate));
        let (status, answer) = if is_done { self.write(below, &body) } else { (500, Value::Null) };
        let page = || ResponseTemplate::new(502).set_body_raw("<html>\n<h1>unicorn</h1></html>", "text/html");
        let said = |status: u16, words: &str| ResponseTemplate::new(status).set_body_json(json!({ "message": words }));
        match fault {
            None => ResponseTemplate::new(status).set_body_json(answer),
            Some(Fault::DoneAnd502 | Fault::Only502) => page(),
            Some(Fault::Secondary403) => said(403, "You have exceeded a secondary rate limit.\nSee the docs."),
            Some(Fault::Spent403) => said(403, "API rate limit exceeded")
                .insert_header("x-ratelimit-remaining", "0")
                .insert_header("x-ratelimit-reset", "1795953701"),
            Some(Fault::Limit429) => said(429, "slow down").insert_header("retry-after", "7"),
            Some(Fault::DoneAndCut) => {
                let text = answer.to_string();
                ResponseTemplate::new(status)
                    .set_body_raw(text.as_bytes()[..text.len() / 2].to_vec(), "application/json")
            }
            Some(Fault::DoneAndLate) => {
                ResponseTemplate::new(status).set_body_json(answer).set_delay(Duration::from_secs(10))
            }
            Some(Fault::Unauthorized) => said(401, "Bad credentials"),
            Some(Fault::Unprocessable) => said(422, "Validation Failed"),
        }
    }

    /// Answers a read.
    fn read(&mut self, whole: &str, path: &str, query: &BTreeMap<String, String>) -> ResponseTemplate {
        let parts: Vec<&str> = path.trim_matches('/').split('/').skip(3).collect();
        let found = |value: Option<Value>| match value {
            Some(value) => ResponseTemplate::new(200).set_body_json(value),
            None => ResponseTemplate::new(404).set_body_json(json!({ "message": "Not Found" })),
        };
        match parts.as_slice() {
            [] => found(Some(json!({ "login": "pool-bot" }))),
            ["issues"] => self.list(whole, query),
            ["issues", number] => found(self.issue(number.parse().unwrap()).cloned()),
            ["issues", number, "comments"] => {
                let comments = self.comments.get(&number.parse().unwrap()).cloned();
                found(Some(Value::Array(comments.unwrap_or_default())))
            }
            ["labels", name] => {
                let name = name.replace("%3A", ":");
                found(self.labels.contains(&name).then(|| json!({ "name": name })))
            }
            _ => found(None),
        }
    }

    /// One page of the list.
    fn list(&mut self, path: &str, query: &BTreeMap<String, String>) -> ResponseTemplate {
        let page: usize = query.get("page").map_or(1, |page| page.parse().unwrap());
        if let Some((from, answer, left)) =
            self.list_fault.as_mut().filter(|(from, _, left)| page >= *from && *left > 0)
        {
            (*left, *from) = (*left - 1, *from);
            return answer.clone();
        }
        let has_label = |issue: &&Value| match query.get("labels") {
            Some(label) => issue["labels"].as_array().unwrap().iter().any(|known| known["name"] == label.as_str()),
            None => issue["user"]["login"] == query["creator"].as_str(),
        };
        let all: Vec<Value> = self.issues.iter().filter(has_label).cloned().collect();
        let size = if self.page_size == 0 { query["per_page"].parse().unwrap() } else { self.page_size };
        let shown: Vec<Value> = all.iter().skip((page - 1) * size).take(size).cloned().collect();
        let answer = ResponseTemplate::new(200).set_body_json(Value::Array(shown));
        if page * size >= all.len() {
            return answer;
        }
        let pairs: Vec<String> =
            query.iter().filter(|(key, _)| *key != "page").map(|(key, value)| format!("{key}={value}")).collect();
        let next = format!("https://elsewhere.example{path}?{}&page={}", pairs.join("&"), page + 1);
        answer.insert_header("link", format!("<{next}>; rel=\"next\", <{next}>; rel=\"last\"").as_str())
    }

    /// One issue.
    fn issue(&mut self, number: u64) -> Option<&mut Value> {
        self.issues.iter_mut().find(|issue| issue["number"] == number)
    }

    /// Does a write; status and answer come back.
    fn write(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let parts: Vec<&str> = path.trim_matches('/').split('/').skip(3).collect();
        match parts.as_slice() {
            ["labels"] => {
                self.labels.insert(body["name"].as_str().unwrap().to_owned());
                (201, body.clone())
            }
            ["issues"] => {
                let labels: Vec<Value> =
                    body["labels"].as_array().unwrap().iter().map(|label| json!({ "name": label })).collect();
                let issue = json!({
                    "number": self.issues.len() + 1, "title": body["title"], "body": body["body"], "labels": labels,
                    "state": "open", "state_reason": null, "user": {"login": "pool-bot"},
                });
                self.issues.push(issue.clone());
                (201, issue)
            }
            ["issues", number, "comments"] => {
                let comment = json!({ "body": body["body"], "user": {"login": "pool-bot"} });
                self.comments.entry(number.parse().unwrap()).or_default().push(comment.clone());
                (201, comment)
            }
            ["issues", number] => {
                let Some(issue) = self.issue(number.parse().unwrap()) else { return (404, Value::Null) };
                for (key, value) in body.as_object().unwrap() {
                    issue[key] = value.clone();
                }
                if body["state"] == "closed" {
                    issue["closed_by"] = json!({ "login": "pool-bot" });
                }
                (200, issue.clone())
            }
            _ => (404, Value::Null),
        }
    }
}

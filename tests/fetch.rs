//! `fetch` against a server on this machine: what it asks, what it believes, what it leaves behind, and what it never says.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot set its scene has failed")]

mod fetch_support;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use fetch_support::{Length, Reply, Server};
use pool_review::fetch::{Fetched, Outcome, Surroundings, plan, run};
use pool_review::settings::Settings;
use serde_json::{Value, json};

/// The key no output may hold.
const SECRET: &str = "sk-very-secret-0123456789";

/// A workspace that is removed when the test ends.
struct Scene {
    /// Its folder.
    root: PathBuf,
    /// Waits that were asked for, seconds.
    waits: RefCell<Vec<u64>>,
    /// Everything that was shown.
    shown: RefCell<Vec<String>>,
    /// The clock.
    now: RefCell<DateTime<Utc>>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.root);
    }
}

impl Scene {
    /// An empty workspace under a name.
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("pool-review-fetch-{}-{name}", std::process::id()));
        let _gone = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        let now = "2026-11-29T12:00:00Z".parse().unwrap();
        Self { root, waits: RefCell::default(), shown: RefCell::default(), now: RefCell::new(now) }
    }

    /// Fetches under some front matter.
    fn fetch_with(&self, front_matter: &str, flags: (bool, bool)) -> Vec<Fetched> {
        let settings = Settings::parse(&format!("---\n{front_matter}\n---\nWords.\n"), "review.md").unwrap();
        let around = Surroundings {
            clock: &|| *self.now.borrow(),
            sleep: &|wait: Duration| self.waits.borrow_mut().push(wait.as_secs()),
            variable: &|name| (name == "TEST_KEY").then(|| SECRET.to_owned()),
            progress: &|text: &str| self.shown.borrow_mut().push(text.to_owned()),
        };
        let done = run(&self.root, &settings, &plan(&settings, &[]), flags, &around);
        for fetched in &done {
            self.shown.borrow_mut().push(fetched.line());
            self.shown.borrow_mut().push(fetched.json().to_string());
        }
        assert!(!self.shown.borrow().iter().any(|text| text.contains(SECRET)), "the key was shown");
        done
    }

    /// The outcome of the one source of some front matter.
    fn fetch(&self, front_matter: &str) -> Outcome {
        self.fetch_with(front_matter, (false, false)).remove(0).outcome
    }

    /// The same, whatever the age of the body.
    fn force(&self, front_matter: &str) -> Outcome {
        self.fetch_with(front_matter, (true, false)).remove(0).outcome
    }

    /// A file of the workspace.
    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }

    /// A sidecar.
    fn sidecar(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(&format!("{path}.meta.json")).unwrap()).unwrap()
    }

    /// Every file below the workspace.
    fn files(&self) -> Vec<String> {
        fn below(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() { below(&entry, found) } else { found.push(entry) }
            }
        }
        let mut found = Vec::new();
        below(&self.root, &mut found);
        let mut names: Vec<String> =
            found.iter().map(|path| path.strip_prefix(&self.root).unwrap().display().to_string()).collect();
        names.sort();
        names
    }
}

/// A small models.dev body with so many offers.
fn catalogue(offers: usize) -> String {
    let models: serde_json::Map<String, Value> = (0..offers)
        .map(|at| (format!("model-{at}"), json!({ "tool_call": true, "cost": { "input": 1, "output": 2 } })))
        .collect();
    json!({ "openai": { "models": models } }).to_string()
}

/// Front matter of the catalogue alone.
fn of_catalogue(url: &str) -> String {
    format!("data: {{ catalogues: data/api.json }}\nfetch:\n  urls: {{ catalogues: \"{url}/api.json\" }}")
}

/// Front matter of the market alone.
fn of_market(url: &str) -> String {
    format!(
        "data: {{ market: data/aa }}\nfetch:\n  market_key: TEST_KEY\n  urls: {{ market: \"{url}/language/models/free\" }}"
    )
}

/// Front matter of one connection.
fn of_connection(url: &str, more: &str) -> String {
    format!(
        "data: {{ provider_catalogue: data/lists }}\nconnections:\n  lab:\n    base_url: \"{url}/v1\"\n    key: TEST_KEY\n{more}"
    )
}

/// One Artificial Analysis page.
fn page(number: u64, total: u64, version: f64) -> String {
    json!({
        "tier": "free", "intelligence_index_version": version,
        "pagination": { "page": number, "page_size": 1, "total_pages": total, "has_more": number < total },
        "data": [{ "id": format!("id-{number}"), "name": format!("Model {number}"), "slug": format!("model-{number}"),
            "evaluations": { "artificial_analysis_intelligence_index": 40.5 }, "pricing": {}, "performance": {} }],
    })
    .to_string()
}

/// The page a request asks for.
fn page_of(path: &str) -> u64 {
    path.rsplit("page=").next().unwrap().parse().unwrap()
}

/// Whether an outcome failed with these words.
fn failed_with(outcome: &Outcome, words: &str) -> bool {
    matches!(outcome, Outcome::Failed { reason, .. } if reason.contains(words))
}

#[test]
fn a_body_arrives_whole_with_its_sidecar_and_a_fresh_one_is_not_asked_for_again() {
    let server = Server::start(|_, _| Reply::json(catalogue(10)).with("ETag: \"v1\""));
    let scene = Scene::new("fresh");
    assert!(matches!(scene.fetch(&of_catalogue(&server.url)), Outcome::Fetched { rows: 10, .. }));
    assert_eq!(scene.read("data/api.json").unwrap(), catalogue(10));
    let sidecar = scene.sidecar("data/api.json");
    assert_eq!(sidecar["fetched_at"], "2026-11-29T12:00:00Z");
    assert_eq!(
        (&sidecar["etag"], &sidecar["rows"], &sidecar["high_water"]),
        (&json!("\"v1\""), &json!(10), &json!(10))
    );
    assert!(sidecar["digest"].as_str().unwrap().starts_with("sha256:"));
    *scene.now.borrow_mut() += chrono::Duration::hours(5);
    assert!(matches!(scene.fetch(&of_catalogue(&server.url)), Outcome::Fresh { .. }));
    assert_eq!(server.asked().len(), 1, "a body of five hours is fresh, and nobody is asked");
    *scene.now.borrow_mut() += chrono::Duration::hours(2);
    assert!(matches!(scene.fetch(&of_catalogue(&server.url)), Outcome::Fetched { .. }));
    assert_eq!(scene.files(), ["data/api.json", "data/api.json.meta.json"], "nothing else was written");
}

#[test]
fn an_unchanged_body_is_kept_and_becomes_young_again() {
    let server = Server::start(|asked, _| match asked.header("if-none-match") {
        Some("\"v1\"") => Reply::status("304 Not Modified"),
        _ => Reply::json(catalogue(10)).with("ETag: \"v1\""),
    });
    let scene = Scene::new("unchanged");
    scene.fetch(&of_catalogue(&server.url));
    *scene.now.borrow_mut() += chrono::Duration::hours(12);
    assert_eq!(scene.fetch(&of_catalogue(&server.url)), Outcome::Unchanged);
    assert_eq!(scene.sidecar("data/api.json")["fetched_at"], "2026-11-30T00:00:00Z");
    // Somebody changed the body by hand: the tag says nothing of these bytes, so it is not sent.
    std::fs::write(scene.root.join("data/api.json"), catalogue(9)).unwrap();
    assert!(matches!(scene.fetch(&of_catalogue(&server.url)), Outcome::Fetched { rows: 10, .. }));
    assert_eq!(server.asked().last().unwrap().header("if-none-match"), None);
}

#[test]
fn a_429_is_asked_again_after_the_time_the_server_names() {
    let server = Server::start(|_, nth| match nth {
        0 => Reply::status("429 Too Many Requests").with("Retry-After: 7"),
        _ => Reply::json(catalogue(10)),
    });
    let scene = Scene::new("busy");
    assert!(matches!(scene.fetch(&of_catalogue(&server.url)), Outcome::Fetched { .. }));
    assert_eq!(*scene.waits.borrow(), [7]);
}

#[test]
fn a_429_that_names_an_hour_ends_the_attempt_and_leaves_the_last_body() {
    let server = Server::start(|_, nth| match nth {
        0 => Reply::json(catalogue(10)),
        _ => Reply::status("429 Too Many Requests").with("Retry-After: 3600"),
    });
    let scene = Scene::new("quota");
    scene.fetch(&of_catalogue(&server.url));
    let outcome = scene.force(&of_catalogue(&server.url));
    assert!(failed_with(&outcome, "3600 s"), "{outcome:?}");
    assert!(matches!(outcome, Outcome::Failed { left: Some(_), .. }));
    assert_eq!(scene.read("data/api.json").unwrap(), catalogue(10));
    assert!(scene.waits.borrow().is_empty());
}

#[test]
fn a_500_is_asked_again_and_a_server_that_stays_ill_is_left_alone_after_three_times() {
    let server = Server::start(|_, nth| if nth == 0 { Reply::status("500 Oops") } else { Reply::json(catalogue(10)) });
    let scene = Scene::new("ill");
    assert!(matches!(scene.fetch(&of_catalogue(&server.url)), Outcome::Fetched { .. }));
    assert_eq!(*scene.waits.borrow(), [1]);
    let server = Server::start(|_, _| Reply::status("503 Down"));
    let scene = Scene::new("down");
    assert!(failed_with(&scene.fetch(&of_catalogue(&server.url)), "503"));
    assert_eq!((server.asked().len(), scene.waits.borrow().clone()), (4, vec![1, 2, 4]));
    assert!(scene.files().is_empty());
}

#[test]
fn every_refusal_says_what_to_do_and_empties_nothing() {
    for (status, words) in [
        ("401 Unauthorized", "TEST_KEY"),
        ("403 Forbidden", "tier"),
        ("404 Not Found", "404"),
        ("410 Gone", "/language/models/free"),
        ("418 Teapot", "418"),
    ] {
        let server = Server::start(move |asked, nth| {
            if nth == 0 { Reply::json(page(page_of(&asked.path), 1, 4.3)) } else { Reply::status(status) }
        });
        let scene = Scene::new(&status[..3]);
        scene.fetch(&of_market(&server.url));
        let before = scene.read("data/aa/snapshot.json");
        assert!(before.is_some());
        let outcome = scene.force(&of_market(&server.url));
        assert!(failed_with(&outcome, words), "{status}: {outcome:?}");
        assert_eq!(scene.read("data/aa/snapshot.json"), before);
        assert_eq!(server.asked().len(), 2, "{status} is not asked again");
    }
}

#[test]
fn a_truncated_body_is_never_kept() {
    let server = Server::start(|_, _| Reply { announced: Length::Claimed(9_999), ..Reply::json(catalogue(10)) });
    let scene = Scene::new("truncated");
    assert!(failed_with(&scene.fetch(&of_catalogue(&server.url)), "broke off"));
    assert!(scene.files().is_empty());
    // Without an announced length only the text itself can show that it was cut.
    let server = Server::start(|_, _| Reply::json(&catalogue(10).as_bytes()[..100]));
    assert!(failed_with(&scene.fetch(&of_catalogue(&server.url)), "not accepted"));
    assert!(scene.files().is_empty());
}

#[test]
fn a_gzip_body_is_stored_unpacked() {
    // gzip of {"openai":{"models":{"m":{"cost":{"input":1,"output":2}}}}}, made once by hand.
    let packed: &[u8] = include_bytes!("fetch_support/catalogue.json.gz");
    let server = Server::start(move |_, _| Reply::json(packed).with("Content-Encoding: gzip"));
    let scene = Scene::new("gzip");
    assert!(matches!(scene.fetch(&of_catalogue(&server.url)), Outcome::Fetched { rows: 1, .. }));
    let text = scene.read("data/api.json").unwrap();
    assert_eq!(text, "{\"openai\":{\"models\":{\"m\":{\"cost\":{\"input\":1,\"output\":2}}}}}");
    assert!(server.asked()[0].header("accept-encoding").is_some_and(|value| value.contains("gzip")));
}

#[test]
fn a_page_of_html_and_a_json_of_something_else_are_refused() {
    let html = || Reply {
        headers: vec!["Content-Type: text/html; charset=utf-8".to_owned()],
        ..Reply::json("<html>login</html>")
    };
    let server = Server::start(move |_, _| html());
    let scene = Scene::new("html");
    assert!(failed_with(&scene.fetch(&of_catalogue(&server.url)), "text/html"));
    let server = Server::start(|_, _| Reply::json("{\"error\":\"nothing here\"}"));
    assert!(failed_with(&scene.fetch(&of_catalogue(&server.url)), "not accepted"));
    assert!(scene.files().is_empty());
}

#[test]
fn an_endless_body_ends_at_the_cap() {
    let server = Server::start(|_, _| Reply { announced: Length::Endless, ..Reply::json("{") });
    let scene = Scene::new("endless");
    let front = format!("{}\n  max_mib: 2", of_catalogue(&server.url));
    let outcome = scene.fetch(&front);
    assert!(failed_with(&outcome, "larger than 2 MiB"), "{outcome:?}");
    assert!(scene.files().is_empty());
}

#[test]
fn a_redirect_to_another_host_is_followed_without_the_key() {
    let other = Server::start(|_, _| Reply::json(json!({ "data": [{ "id": "m-1" }] }).to_string()));
    let target = format!("Location: {}/v1/models", other.url);
    let server = Server::start(move |_, _| Reply::status("307 Temporary Redirect").with(target.clone()));
    let scene = Scene::new("redirect");
    let headers = "    headers: [\"X-Team: review\"]";
    assert!(matches!(scene.fetch(&of_connection(&server.url, headers)), Outcome::Fetched { rows: 1, .. }));
    let (first, second) = (server.asked().remove(0), other.asked().remove(0));
    assert_eq!(first.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(first.header("x-team"), Some("review"));
    assert_eq!((second.header("authorization"), second.header("x-team")), (None, None));
    assert!(!second.headers.iter().any(|(_, value)| value.contains(SECRET)));
}

#[test]
fn a_redirect_on_the_same_host_keeps_the_key_and_a_circle_ends() {
    let server = Server::start(|asked, _| match asked.path.as_str() {
        "/v1/models" => Reply::status("301 Moved").with("Location: /v2/models"),
        _ => Reply::json(json!({ "data": [{ "id": "m-1" }] }).to_string()),
    });
    let scene = Scene::new("same-host");
    let auth = "    auth: x-api-key";
    assert!(matches!(scene.fetch(&of_connection(&server.url, auth)), Outcome::Fetched { .. }));
    assert_eq!(server.asked()[1].header("x-api-key"), Some(SECRET));
    let circle = Server::start(|_, _| Reply::status("302 Found").with("Location: /v1/models"));
    let scene = Scene::new("circle");
    assert!(failed_with(&scene.fetch(&of_connection(&circle.url, "")), "redirects more than"));
    assert_eq!(circle.asked().len(), 6);
}

#[test]
fn the_pages_of_the_market_become_one_snapshot_with_the_key_in_its_own_header() {
    let server = Server::start(|asked, _| Reply::json(page(page_of(&asked.path), 3, 4.3)));
    let scene = Scene::new("pages");
    assert!(matches!(scene.fetch(&of_market(&server.url)), Outcome::Fetched { rows: 3, .. }));
    let asked = server.asked();
    assert_eq!(asked.len(), 3, "as many requests as pages: the quota is small");
    assert!(asked.iter().all(|asked| asked.header("x-api-key") == Some(SECRET)));
    assert!(asked.iter().all(|asked| !asked.path.contains("/data/llms/models")));
    let whole: Value = serde_json::from_str(&scene.read("data/aa/snapshot.json").unwrap()).unwrap();
    assert_eq!((whole["data"].as_array().unwrap().len(), &whole["pagination"]["total_pages"]), (3, &json!(1)));
}

#[test]
fn a_page_that_repeats_for_ever_and_pages_of_two_versions_are_refused() {
    let server = Server::start(|_, _| Reply::json(page(1, 9_999, 4.3)));
    let scene = Scene::new("repeats");
    assert!(failed_with(&scene.fetch(&of_market(&server.url)), "repeats"));
    assert_eq!(server.asked().len(), 2, "the second page shows it");
    let server = Server::start(|_, nth| {
        let more = json!({ "data": [{ "id": format!("m-{nth}") }], "has_more": true, "last_id": "m" });
        Reply::json(more.to_string())
    });
    let front = format!("fetch: {{ max_pages: 5 }}\n{}", of_connection(&server.url, ""));
    assert!(failed_with(&scene.fetch(&front), "more than 5 pages"), "a list that never ends is no list");
    let server = Server::start(|asked, _| {
        let number = page_of(&asked.path);
        Reply::json(page(number, 2, if number == 1 { 4.3 } else { 4.4 }))
    });
    assert!(failed_with(&scene.fetch(&of_market(&server.url)), "another intelligence_index_version"));
    assert!(scene.files().is_empty());
}

#[test]
fn a_market_without_its_key_is_not_asked() {
    let server = Server::start(|_, _| Reply::json(page(1, 1, 4.3)));
    let scene = Scene::new("no-key");
    let front = of_market(&server.url).replace("TEST_KEY", "OTHER_KEY");
    assert!(failed_with(&scene.fetch(&front), "OTHER_KEY holds no key"));
    assert!(server.asked().is_empty());
}

#[test]
fn lists_of_every_shape_are_followed_to_their_end() {
    let shapes: [fn(&fetch_support::Asked) -> Value; 3] = [
        |_| json!([{ "id": "a" }, { "id": "b" }]),
        |asked| {
            if asked.path.contains("after_id=a") {
                json!({ "data": [{ "id": "b" }], "has_more": false })
            } else {
                json!({ "data": [{ "id": "a" }], "has_more": true, "last_id": "a" })
            }
        },
        |asked| {
            if asked.path.contains("pageToken=x%2F1") {
                json!({ "models": [{ "name": "models/b" }] })
            } else {
                json!({ "models": [{ "name": "models/a" }], "nextPageToken": "x/1" })
            }
        },
    ];
    for (at, shape) in shapes.into_iter().enumerate() {
        let server = Server::start(move |asked, _| Reply::json(shape(asked).to_string()));
        let scene = Scene::new(&format!("list-{at}"));
        assert!(matches!(scene.fetch(&of_connection(&server.url, "")), Outcome::Fetched { rows: 2, .. }), "shape {at}");
        let (lists, note) = pool_review::sources::market::provider_list::read(
            &scene.root.join("data/lists"),
            "lists",
            "2026-11-29T13:00:00Z".parse().unwrap(),
        );
        let ids: Vec<&str> = lists[0].ids.iter().map(String::as_str).collect();
        assert_eq!((lists[0].provider.as_str(), ids), ("lab", vec!["a", "b"]), "shape {at}");
        assert!(note.is_usable() && note.as_of.is_some(), "{note:?}");
    }
}

#[test]
fn an_empty_list_is_refused() {
    let server = Server::start(|_, _| Reply::json(json!({ "object": "list", "data": [] }).to_string()));
    let scene = Scene::new("empty");
    assert!(failed_with(&scene.fetch(&of_connection(&server.url, "")), "lists no model"));
}

#[test]
fn a_body_that_lost_rows_is_refused_until_it_is_taken_on_purpose() {
    let server = Server::start(|_, nth| Reply::json(catalogue(if nth == 0 { 100 } else { 80 })));
    let scene = Scene::new("shrunk");
    scene.fetch(&of_catalogue(&server.url));
    assert!(failed_with(&scene.force(&of_catalogue(&server.url)), "80 of 100 rows, below 90 %"));
    assert_eq!(scene.read("data/api.json").unwrap(), catalogue(100));
    let taken = scene.fetch_with(&of_catalogue(&server.url), (true, true)).remove(0).outcome;
    assert!(matches!(taken, Outcome::Fetched { rows: 80, .. }));
    assert_eq!(scene.sidecar("data/api.json")["high_water"], 80);
}

#[test]
fn a_server_that_says_nothing_is_given_up_and_a_port_nobody_listens_on_too() {
    // Bound and never accepted: the connection stands, and no answer comes.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let scene = Scene::new("silent");
    let front = format!("{}\n  timeout_s: 0.2\n  retries: 1", of_catalogue(&url));
    assert!(failed_with(&scene.fetch(&front), "took too long"));
    drop(listener);
    assert!(matches!(scene.fetch(&front), Outcome::Failed { .. }));
    assert_eq!(*scene.waits.borrow(), [1, 1]);
}

#[test]
fn one_source_that_fails_leaves_the_others_alone() {
    let server = Server::start(|asked, _| match asked.path.as_str() {
        "/api.json" => Reply::json(catalogue(10)),
        _ => Reply::status("404 Not Found"),
    });
    let scene = Scene::new("others");
    let front = format!(
        "data: {{ catalogues: data/api.json, retirements: data/map.json }}\nfetch:\n  urls: {{ catalogues: \"{0}/api.json\", retirements: \"{0}/map.json\" }}",
        server.url
    );
    let done = scene.fetch_with(&front, (false, false));
    assert_eq!(done.iter().map(Fetched::is_failed).collect::<Vec<_>>(), [false, true]);
    assert_eq!(scene.files(), ["data/api.json", "data/api.json.meta.json"]);
}

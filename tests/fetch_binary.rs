//! `fetch` as the real process, with nothing of the test's environment: servers that behave badly, a proxy, a certificate that
//! nobody trusts. What it prints, how it exits, what it leaves behind.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot set its scene has failed")]

mod fetch_support;
#[path = "fetch_support/proxy.rs"]
mod proxy;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fetch_support::{Length, Reply, Server};
use proxy::Proxy;
use serde_json::{Value, json};

/// The key no output may hold.
const SECRET: &str = "sk-very-secret-0123456789";

/// A workspace of a test, below the target folder.
struct Scene {
    /// Its folder.
    root: PathBuf,
}

/// What one run left behind.
#[derive(Debug)]
struct Ran {
    /// Exit code; `None` when a signal ended it.
    code: Option<i32>,
    /// stdout.
    stdout: String,
    /// stderr.
    stderr: String,
}

/// A workspace whose instruction file holds some front matter.
fn workspace(name: &str, front_matter: &str) -> Scene {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fetch_binary").join(name);
    let _gone = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("review.md"), format!("---\n{front_matter}\n---\nWords.\n")).unwrap();
    Scene { root }
}

/// Runs `fetch` with variables; neither the streams nor a file may hold the key.
fn fetch(scene: &Scene, flags: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut args = vec!["fetch", "--instructions", "review.md"];
    args.extend(flags);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pool-review"));
    command.current_dir(&scene.root).args(args).env_clear().env("TZ", "UTC").env("TEST_KEY", SECRET);
    command.envs(variables.iter().copied()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let ran = Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
    let written = files(scene).into_iter().filter(|path| path != "review.md");
    let kept: String = written.map(|path| String::from_utf8_lossy(&read(scene, &path)).into_owned()).collect();
    for said in [&ran.stdout, &ran.stderr, &kept] {
        assert!(!said.contains(SECRET), "the key was shown: {said}");
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

/// Every file of a workspace, sorted.
fn files(scene: &Scene) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![scene.root.clone()];
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(&scene.root).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The bytes of a file of a workspace.
fn read(scene: &Scene, path: &str) -> Vec<u8> {
    std::fs::read(scene.root.join(path)).unwrap()
}

/// A small models.dev body.
fn catalogue(offers: usize) -> String {
    let model = |at: usize| (format!("model-{at}"), json!({ "tool_call": true, "cost": { "input": 1, "output": 2 } }));
    json!({ "openai": { "models": (0..offers).map(model).collect::<serde_json::Map<_, _>>() } }).to_string()
}

/// Front matter of the catalogue alone.
fn of_catalogue(url: &str, more: &str) -> String {
    format!("data: {{ catalogues: data/api.json }}\nfetch:\n  urls: {{ catalogues: \"{url}/api.json\" }}\n{more}")
}

/// Front matter of one connection with a key.
fn of_connection(url: &str) -> String {
    format!(
        "data: {{ provider_catalogue: data/lists }}\nconnections:\n  lab:\n    base_url: \"{url}/v1\"\n    key: TEST_KEY\n    headers: [\"X-Team: review\"]"
    )
}

/// Front matter of the market alone.
fn of_market(url: &str) -> String {
    format!(
        "data: {{ market: data/aa }}\nfetch:\n  market_key: TEST_KEY\n  urls: {{ market: \"{url}/language/models/free\" }}"
    )
}

/// A server of one answer, and what `fetch` of the catalogue makes of it.
fn against(name: &str, more: &str, script: impl Fn(usize) -> Reply + Send + 'static) -> (Scene, Server, Ran) {
    let server = Server::start(move |_, nth| script(nth));
    let scene = workspace(name, &of_catalogue(&server.url, more));
    let ran = fetch(&scene, &[], &[]);
    (scene, server, ran)
}

/// That a run failed in one line with these words and left nothing but the instruction file.
fn assert_refused(scene: &Scene, ran: &Ran, words: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(words) && ran.stderr.contains("failed, there is no body"), "{words}: {}", ran.stderr);
    assert_eq!((ran.stderr.lines().count(), ran.stdout.as_str()), (1, ""), "one error, one line");
    assert_eq!(files(scene), ["review.md"]);
}

#[test]
fn a_body_is_brought_once_and_the_next_run_asks_nobody() {
    let (scene, server, ran) = against("once", "", |_| Reply::json(catalogue(10)).with("ETag: \"v1\""));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "no terminal, no progress");
    assert!(ran.stdout.starts_with("catalogues: fetched, 10 rows"), "{}", ran.stdout);
    assert_eq!(files(&scene), ["data/api.json", "data/api.json.meta.json", "review.md"]);
    assert!(fetch(&scene, &[], &[]).stdout.contains("fresh"));
    assert_eq!(server.asked().len(), 1);
    let json: Value = serde_json::from_str(&fetch(&scene, &["--format", "json"], &[]).stdout).unwrap();
    assert_eq!(json["sources"][0]["state"], "fresh");
}

#[test]
fn a_429_is_asked_again_after_the_named_second_and_a_500_after_one() {
    let start = Instant::now();
    let (_, server, ran) = against("busy", "", |nth| match nth {
        0 => Reply::status("429 Too Many Requests").with("Retry-After: 1"),
        1 => Reply::status("500 Internal Server Error"),
        _ => Reply::json(catalogue(10)),
    });
    assert_eq!((ran.code, server.asked().len()), (Some(0), 3), "{ran:?}");
    assert!(start.elapsed() >= Duration::from_secs(2), "one second each: {:?}", start.elapsed());
}

#[test]
fn a_429_of_an_hour_ends_the_attempt_and_says_when_to_come_back() {
    let (scene, server, ran) = against("quota", "", |_| Reply::status("429 Slow").with("Retry-After: 3600"));
    assert_refused(&scene, &ran, "3600 s");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_broken_off_body_and_a_wrong_kind_of_body_are_refused() {
    let cut = |_| Reply { announced: Length::Claimed(99_999), ..Reply::json(catalogue(10)) };
    let (scene, _, ran) = against("cut", "  retries: 0\n", cut);
    assert_refused(&scene, &ran, "broke off");
    let html = |_| Reply { headers: vec!["Content-Type: text/html".to_owned()], ..Reply::json("<html>login</html>") };
    let (scene, server, ran) = against("html", "", html);
    assert_refused(&scene, &ran, "text/html");
    assert_eq!(server.asked().len(), 1, "asking again would not help");
    let (scene, _, ran) = against("other", "", |_| Reply::json("{\"error\": \"nothing here\"}"));
    assert_refused(&scene, &ran, "not accepted");
}

#[test]
fn a_gzip_body_is_stored_unpacked() {
    let packed: &[u8] = include_bytes!("fetch_support/catalogue.json.gz");
    let (scene, _, ran) = against("gzip", "", move |_| Reply::json(packed).with("Content-Encoding: gzip"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(read(&scene, "data/api.json").starts_with(b"{\"openai\""));
}

#[test]
fn a_304_keeps_the_body_and_makes_it_young() {
    let server = Server::start(|asked, _| match asked.header("if-none-match") {
        Some("\"v1\"") => Reply::status("304 Not Modified"),
        _ => Reply::json(catalogue(10)).with("ETag: \"v1\""),
    });
    let scene = workspace("same", &of_catalogue(&server.url, ""));
    fetch(&scene, &[], &[]);
    let body = read(&scene, "data/api.json");
    let ran = fetch(&scene, &["--force"], &[]);
    assert!(ran.code == Some(0) && ran.stdout.contains("unchanged (304)"), "{ran:?}");
    assert_eq!(read(&scene, "data/api.json"), body);
}

#[test]
fn an_endless_body_ends_at_the_cap_and_a_failure_leaves_the_last_good_body() {
    let server = Server::start(|_, nth| match nth {
        0 => Reply::json(catalogue(10)),
        _ => Reply { announced: Length::Endless, ..Reply::json("{") },
    });
    let scene = workspace("endless", &of_catalogue(&server.url, "  max_mib: 2\n"));
    fetch(&scene, &[], &[]);
    let body = read(&scene, "data/api.json");
    let ran = fetch(&scene, &["--force"], &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("larger than 2 MiB") && ran.stderr.contains("is left"), "{}", ran.stderr);
    assert_eq!(read(&scene, "data/api.json"), body);
}

#[test]
fn a_redirect_to_another_host_carries_neither_key_nor_headers() {
    let other = Server::start(|_, _| Reply::json(json!({ "data": [{ "id": "m-1" }] }).to_string()));
    let target = format!("Location: {}/v1/models", other.url);
    let server = Server::start(move |_, _| Reply::status("307 Temporary Redirect").with(target.clone()));
    let scene = workspace("redirect", &of_connection(&server.url));
    let ran = fetch(&scene, &[], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (first, second) = (server.asked().remove(0), other.asked().remove(0));
    assert_eq!(first.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!((second.header("authorization"), second.header("x-team")), (None, None));
    assert!(!second.headers.iter().any(|(_, value)| value.contains(SECRET)));
}

#[test]
fn a_page_that_repeats_for_ever_is_given_up_at_once() {
    let page = json!({ "intelligence_index_version": 4.3, "data": [{ "id": "a", "name": "A", "slug": "a" }],
        "pagination": { "page": 1, "page_size": 1, "total_pages": 9999, "has_more": true } });
    let server = Server::start(move |_, _| Reply::json(page.to_string()));
    let scene = workspace("repeats", &of_market(&server.url));
    let ran = fetch(&scene, &[], &[]);
    assert_refused(&scene, &ran, "repeats an earlier one");
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_source_that_fails_is_a_warning_while_another_one_arrives() {
    let server = Server::start(|asked, _| match asked.path.as_str() {
        "/api.json" => Reply::json(catalogue(10)),
        _ => Reply::status("404 Not Found"),
    });
    let scene = workspace(
        "two",
        &format!(
            "data: {{ catalogues: data/api.json, prices: data/p.json }}\nfetch:\n  urls: {{ catalogues: \"{0}/api.json\", prices: \"{0}/p.json\" }}",
            server.url
        ),
    );
    let ran = fetch(&scene, &[], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("catalogues: fetched") && ran.stderr.contains("prices: failed"), "{ran:?}");
}

#[test]
fn the_proxy_of_the_environment_is_asked_and_no_proxy_excepts_a_host() {
    let server = Server::start(|_, _| Reply::json(catalogue(10)));
    let proxy = Proxy::start(server.url.trim_start_matches("http://").to_owned());
    // Nobody knows this host: only through the proxy is there an answer.
    let scene = workspace("proxy", &of_catalogue("http://models.invalid", "  retries: 0\n"));
    let ran = fetch(&scene, &[], &[("http_proxy", &proxy.url)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(proxy.asked()[0].contains("models.invalid"), "{:?}", proxy.asked());
    assert_eq!(server.asked().len(), 1);
    let ran = fetch(&scene, &["--force"], &[("http_proxy", &proxy.url), ("NO_PROXY", ".invalid")]);
    assert_eq!((ran.code, proxy.asked().len()), (Some(1), 1), "{ran:?}");
    // The local server itself, with a proxy that would break it.
    let direct = workspace("direct", &of_catalogue(&server.url, "  retries: 0\n"));
    let ran = fetch(&direct, &[], &[("http_proxy", "http://127.0.0.1:9"), ("no_proxy", "127.0.0.1")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// A server whose certificate nobody has signed but itself; it shakes hands and answers whoever goes on.
fn self_signed() -> std::net::SocketAddr {
    let certificate = include_bytes!("fetch_support/self_signed.der").to_vec();
    let key = include_bytes!("fetch_support/self_signed_key.der").to_vec();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], rustls::pki_types::PrivatePkcs8KeyDer::from(key).into())
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            let body = catalogue(10);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _sent = std::io::Write::write_all(&mut tls, (head + &body).as_bytes());
        }
    });
    address
}

#[test]
fn a_certificate_that_nobody_trusts_ends_the_attempt_at_once_directly_and_through_a_proxy() {
    let address = self_signed();
    let scene = workspace("tls", &of_catalogue(&format!("https://{address}"), ""));
    let start = Instant::now();
    assert_refused(&scene, &fetch(&scene, &[], &[]), "no trusted connection");
    assert!(start.elapsed() < Duration::from_secs(5), "asking again would not help: {:?}", start.elapsed());
    let proxy = Proxy::start(address.to_string());
    let scene = workspace("tls-proxy", &of_catalogue("https://localhost", ""));
    assert_refused(&scene, &fetch(&scene, &[], &[("HTTPS_PROXY", &proxy.url)]), "no trusted connection");
    assert_eq!(proxy.asked(), ["CONNECT localhost:443 HTTP/1.1"]);
}

//! A proxy on this machine for the tests of the whole process.

#![expect(clippy::unwrap_used, reason = "a test proxy that cannot serve has failed")]

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::fetch_support::head;

/// A proxy on this machine: whatever host it is asked for, it leads to one upstream. It takes both forms, `CONNECT` and a whole
/// address in the request line.
pub(crate) struct Proxy {
    /// `http://127.0.0.1:port`.
    pub(crate) url: String,
    /// The request lines, in order.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Serves until the test ends.
    pub(crate) fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Some(head) = head(&client) else { continue };
                let first = head.lines().next().unwrap_or_default().to_owned();
                log.lock().unwrap().push(first.clone());
                let Ok(mut server) = TcpStream::connect(&upstream) else { continue };
                let sent = if first.starts_with("CONNECT ") {
                    (&client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                } else {
                    server.write_all(head.as_bytes())
                };
                if sent.is_ok() {
                    pump(&client, &server);
                }
            }
        });
        Self { url, asked }
    }

    /// The request lines so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Carries bytes both ways until either side is done.
fn pump(client: &TcpStream, server: &TcpStream) {
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        let _count = std::io::copy(&mut from, &mut to);
        let _closed = to.shutdown(std::net::Shutdown::Write);
    });
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || {
        let _count = std::io::copy(&mut from, &mut to);
        let _closed = to.shutdown(std::net::Shutdown::Both);
    });
}

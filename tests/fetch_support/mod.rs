//! A small server on this machine for the tests of `fetch`: it answers by a script, remembers what it was asked, and ends with
//! the test.

#![expect(clippy::unwrap_used, reason = "a test server that cannot serve has failed")]

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) path: String,
    /// Header lines, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
}

impl Asked {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer: status line, further header lines, body.
pub(crate) struct Reply {
    /// `200 OK`.
    pub(crate) status: &'static str,
    /// `Name: value` lines.
    pub(crate) headers: Vec<String>,
    /// The bytes behind the head.
    pub(crate) body: Vec<u8>,
    /// The length that is announced.
    pub(crate) announced: Length,
}

/// What an answer says of its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// The truth.
    True,
    /// Another number.
    Claimed(usize),
    /// Nothing, and the body goes on for ever.
    Endless,
}

impl Reply {
    /// A JSON body.
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: "200 OK",
            headers: vec!["Content-Type: application/json".to_owned()],
            body: body.into(),
            announced: Length::True,
        }
    }

    /// A status without a body.
    pub(crate) fn status(status: &'static str) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), announced: Length::True }
    }

    /// The same with one header more.
    pub(crate) fn with(mut self, header: impl Into<String>) -> Self {
        self.headers.push(header.into());
        self
    }
}

/// A server that runs until the test ends.
pub(crate) struct Server {
    /// `http://127.0.0.1:port`.
    pub(crate) url: String,
    /// What was asked, in order.
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Serves: the script gets the request and how many came before it.
    pub(crate) fn start(script: impl Fn(&Asked, usize) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(request) = read(&stream) else { continue };
                let nth = {
                    let mut log = log.lock().unwrap();
                    log.push(request.clone());
                    log.len() - 1
                };
                write(stream, &script(&request, nth));
            }
        });
        Self { url, asked }
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// The head of a request as text.
pub(crate) fn head(mut stream: &TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 65_536 {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Reads the head of a request.
fn read(stream: &TcpStream) -> Option<Asked> {
    let text = head(stream)?;
    let mut lines = text.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    Some(Asked { path, headers })
}

/// Writes an answer; a client that hangs up ends it.
fn write(mut stream: TcpStream, reply: &Reply) {
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", reply.status);
    for header in &reply.headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    match reply.announced {
        Length::Endless => {}
        Length::Claimed(length) => write!(head, "Content-Length: {length}\r\n").unwrap(),
        Length::True => write!(head, "Content-Length: {}\r\n", reply.body.len()).unwrap(),
    }
    head.push_str("\r\n");
    if stream.write_all(head.as_bytes()).is_err() || stream.write_all(&reply.body).is_err() {
        return;
    }
    if reply.announced == Length::Endless {
        let spaces = vec![b' '; 1 << 16];
        // 2 GiB at most: a client without a cap would take it all.
        for _ in 0..(2_u64 << 30 >> 16) {
            if stream.write_all(&spaces).is_err() {
                return;
            }
        }
    }
}

//! A proxy on loopback that writes down what is asked, and can break an answer off: behind it stands a tracker of the tests.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on has failed")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What happens to the answer of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// The request never arrives.
    Before,
    /// It arrives, and its answer is lost.
    After,
    /// It arrives, and half of its answer comes back.
    Half,
    /// It arrives, and no answer ever comes.
    Silence,
}

/// What the proxy knows.
#[derive(Default)]
struct Known {
    /// Method and path of every request since this was asked last.
    asked: Vec<String>,
    /// Writes so far.
    writes: usize,
    /// What breaks: the write of this number, counted from 1.
    breaks: Option<(usize, Break)>,
    /// Is told when something broke.
    told: Option<Sender<()>>,
}

/// The proxy.
pub(crate) struct Proxy {
    /// Where it listens.
    pub(crate) port: u16,
    /// What it knows.
    known: Arc<Mutex<Known>>,
}

impl Proxy {
    /// A proxy before a port of loopback.
    pub(crate) fn before(upstream: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let known = Arc::new(Mutex::new(Known::default()));
        let shared = Arc::clone(&known);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(client, upstream, &shared));
            }
        });
        Self { port, known }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Lets the answer of the next write of this number break, and tells when it did.
    pub(crate) fn break_at(&self, number: usize, how: Break, told: Option<Sender<()>>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        (known.writes, known.breaks, known.told) = (0, Some((number, how)), told);
    }

    /// What was asked since this was asked last.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner).asked)
    }

    /// The writes among it.
    pub(crate) fn written(&self) -> Vec<String> {
        self.asked().into_iter().filter(|line| !line.starts_with("GET ")).collect()
    }
}

/// One connection: one request and its answer.
fn serve(mut client: TcpStream, upstream: u16, known: &Mutex<Known>) {
    let Some(request) = message(&mut client) else { return };
    let head = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
    let how = {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.asked.push(head.rsplit_once(' ').map_or(head.clone(), |(line, _)| line.to_owned()));
        known.writes += usize::from(!head.starts_with("GET "));
        let number = known.writes;
        let is_hit = |(at, _): &(usize, Break)| *at == number && !head.starts_with("GET ");
        known.breaks.take_if(|breaks| is_hit(breaks)).map(|(_, how)| how)
    };
    let answer = if how == Some(Break::Before) { Vec::new() } else { forward(&request, upstream) };
    if let Some(told) = how.and_then(|_| known.lock().unwrap_or_else(PoisonError::into_inner).told.take()) {
        // Nobody listens when the test has ended already.
        let _ = told.send(());
    }
    match how {
        None => drop(client.write_all(&answer)),
        Some(Break::Half) => drop(client.write_all(&answer[..answer.len() - 40])),
        Some(Break::Silence) => std::thread::sleep(Duration::from_secs(20)),
        Some(Break::Before | Break::After) => {}
    }
}

/// Sends a request and reads the whole answer.
pub(crate) fn forward(request: &[u8], upstream: u16) -> Vec<u8> {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", upstream)) else { return Vec::new() };
    let end = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let lines = std::str::from_utf8(&request[..end]).unwrap().split("\r\n");
    let kept: Vec<&str> = lines.filter(|line| !line.to_lowercase().starts_with("connection:")).collect();
    let head = format!("{}\r\nconnection: close\r\n\r\n", kept.join("\r\n"));
    server.write_all(head.as_bytes()).unwrap();
    server.write_all(&request[end + 4..]).unwrap();
    let mut answer = Vec::new();
    let _ = server.read_to_end(&mut answer);
    answer
}

/// One request: its head, and as much text as that says.
fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= end + 4 + length {
                return Some(bytes);
            }
        }
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    }
}

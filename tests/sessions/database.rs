//! A real `PostgreSQL` for the tests of spend logs, on loopback, gone with the test; and a relay that counts what crosses the wire.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use postgres::{Client, NoTls};

/// Password of the owner; no output may hold it.
pub(crate) const SECRET: &str = "owner-secret";

/// A server that ends with the test.
pub(crate) struct Database {
    /// Its folder.
    folder: PathBuf,
    /// Its port.
    pub(crate) port: u16,
}

/// Runs the script beside the tests.
fn script(args: &[&str]) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgres/server.sh");
    Command::new(path).args(args).output().unwrap()
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Database {
    /// A fresh server, or `None` with a word on stderr where `PostgreSQL` is not installed.
    #[expect(clippy::print_stderr, reason = "a test says what it skipped")]
    pub(crate) fn start() -> Option<Self> {
        if !script(&["find"]).status.success() {
            eprintln!("skipped: PostgreSQL not present, tests/postgres/install.sh brings it");
            return None;
        }
        let port = free_port();
        let started = script(&["start", &port.to_string()]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(Self { folder: PathBuf::from(String::from_utf8(started.stdout).unwrap().trim()), port })
    }

    /// The connection string of a user, by way of a port.
    pub(crate) fn address(user: &str, password: &str, port: u16) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{port}/postgres")
    }

    /// A file that the server itself writes, in its own folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The owner's connection.
    pub(crate) fn owner(&self) -> Client {
        Client::connect(&Self::address("owner", SECRET, self.port), NoTls).unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(script(&["stop", self.folder.to_str().unwrap()]));
    }
}

/// What a server sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Rows of answers: messages of kind `D`.
    pub(crate) rows: u64,
    /// The longest of them, bytes.
    pub(crate) longest_row: u64,
}

/// Passes bytes on to a server and counts what comes back, in the clear. Returns its port and the count.
pub(crate) fn relay(server: u16) -> (u16, Arc<Mutex<Wire>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let wire = Arc::new(Mutex::new(Wire::default()));
    let counted = Arc::clone(&wire);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || pass(from, to, |_| ()));
            let counted = Arc::clone(&counted);
            let mut held = Vec::new();
            std::thread::spawn(move || {
                pass(server, client, |bytes| count(bytes, &mut held, &mut counted.lock().unwrap()));
            });
        }
    });
    (port, wire)
}

/// Counts the messages of a server: a letter, then a length that counts itself, then the rest. `held` is what is not whole yet.
fn count(bytes: &[u8], held: &mut Vec<u8>, wire: &mut Wire) {
    wire.bytes += bytes.len() as u64;
    held.extend_from_slice(bytes);
    while let Some(length) = held.get(1..5).map(|length| u32::from_be_bytes(length.try_into().unwrap()) as usize + 1)
        && length <= held.len()
    {
        if held[0] == b'D' {
            wire.rows += 1;
            wire.longest_row = wire.longest_row.max(length as u64);
        }
        held.drain(..length);
    }
}

/// Passes bytes on until one side closes.
fn pass(mut from: TcpStream, mut to: TcpStream, mut seen: impl FnMut(&[u8])) {
    let mut block = vec![0; 1 << 16];
    while let Ok(read) = from.read(&mut block) {
        if read == 0 || to.write_all(&block[..read]).is_err() {
            break;
        }
        seen(&block[..read]);
    }
    let _closed = to.shutdown(std::net::Shutdown::Write);
}

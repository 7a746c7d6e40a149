//! A real `PostgreSQL` for the tests of spend logs, on loopback, gone with the test; and a relay that counts what crosses the wire.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Passes bytes on to a server and counts those that come back. Returns its port and the count.
pub(crate) fn relay(server: u16) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let bytes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&bytes);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || pass(from, to, &AtomicU64::new(0)));
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || pass(server, client, &counted));
        }
    });
    (port, bytes)
}

/// Passes bytes on until one side closes.
fn pass(mut from: TcpStream, mut to: TcpStream, counted: &AtomicU64) {
    let mut block = vec![0; 1 << 16];
    while let Ok(read) = from.read(&mut block) {
        if read == 0 || to.write_all(&block[..read]).is_err() {
            break;
        }
        counted.fetch_add(read as u64, Ordering::Relaxed);
    }
    let _closed = to.shutdown(std::net::Shutdown::Write);
}

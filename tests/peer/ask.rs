//! One request of a test itself to the peer.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on has failed")]

use crate::filing::proxy::forward;

/// Sends a request; status and text come back, status 0 when nobody answers.
pub(crate) fn ask(port: u16, method: &str, path: &str, token: &str, body: &str) -> (u16, String) {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\nuser-agent: test\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = String::from_utf8(forward(request.as_bytes(), port)).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    (status, if is_chunked { joined(body) } else { body.to_owned() })
}

/// The text of chunks, each of which begins with its length in hexadecimal digits.
fn joined(mut chunks: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        text.push_str(&rest[..length]);
        chunks = rest[length..].strip_prefix("\r\n").unwrap_or_default();
    }
    text
}

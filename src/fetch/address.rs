//! The connection string of a database: `postgres://user:password@host:port/database?option=value`, or `option=value` pairs. Options of
//! TLS are read here; those that other clients put there and that change nothing for us are passed over. No text of it gets into a message.

use std::path::PathBuf;

use postgres::Config;
use postgres::config::SslMode;

/// Options of other clients that mean nothing here: `LiteLLM`'s own client puts some of them into the same string.
const PASSED_OVER: [&str; 14] = [
    "connection_limit",
    "pool_timeout",
    "pgbouncer",
    "statement_cache_size",
    "socket_timeout",
    "sslaccept",
    "client_encoding",
    "fallback_application_name",
    "gssencmode",
    "sslcompression",
    "sslsni",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "max_idle_connection_lifetime",
];
/// Options that show the database who we are by a certificate.
const OWN_CERTIFICATE: [&str; 4] = ["sslcert", "sslkey", "sslidentity", "sslpassword"];
/// The form, for messages.
pub(super) const FORM: &str = "postgres://user:password@host:5432/database";

/// Whose word for a database's certificate is taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Roots {
    /// The public authorities that come with the program.
    #[default]
    Public,
    /// Those of a file.
    File(PathBuf),
}

/// What is asked of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing: the connection is encrypted, and nobody knows with whom.
    Nothing,
    /// That an authority signed it.
    Authority,
    /// That an authority signed it for this very host.
    Host,
}

/// A connection string, read.
pub(super) struct Address {
    /// Everything but TLS.
    pub(super) config: Config,
    /// What is asked of a certificate.
    pub(super) proof: Proof,
    /// Whose word is taken for it.
    pub(super) roots: Roots,
    /// Schema of the tables, as `LiteLLM`'s own client names it.
    pub(super) schema: Option<String>,
}

impl Address {
    /// Reads a connection string. The error is a fragment without any of its text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let no_address = || format!("is no connection string: {FORM}");
        let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
        let (base, options) = if is_url {
            let (base, query) = text.split_once('?').unwrap_or((text, ""));
            (base.to_owned(), query_options(query).ok_or_else(no_address)?)
        } else {
            (String::new(), pairs(text).ok_or_else(no_address)?)
        };
        let (mut own, mut rest) = (Own::default(), Vec::new());
        for (name, value) in options {
            if !own.takes(&name, &value)? {
                rest.push((name, value));
            }
        }
        let rest: Vec<String> = rest.iter().map(|(name, value)| written(is_url, name, value)).collect();
        let whole = if is_url { format!("{base}?{}", rest.join("&")) } else { rest.join(" ") };
        let mut config: Config = whole.trim_end_matches('?').parse().map_err(|_| no_address())?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(no_address());
        }
        let (mode, proof) = own.mode.unwrap_or((SslMode::Prefer, Proof::Nothing));
        config.ssl_mode(mode);
        // As libpq does: who names authorities wants them asked.
        let proof = if proof == Proof::Nothing && own.roots.is_some() { Proof::Authority } else { proof };
        Ok(Self { config, proof, roots: own.roots.unwrap_or_default(), schema: own.schema })
    }
}

/// The options that are read here.
#[derive(Default)]
struct Own {
    /// `sslmode`.
    mode: Option<(SslMode, Proof)>,
    /// `sslrootcert`.
    roots: Option<Roots>,
    /// `schema`.
    schema: Option<String>,
}

impl Own {
    /// Takes an option; `false` if it is none of these.
    fn takes(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "sslmode" => {
                self.mode = Some(match value {
                    "disable" => (SslMode::Disable, Proof::Nothing),
                    "allow" | "prefer" => (SslMode::Prefer, Proof::Nothing),
                    "require" => (SslMode::Require, Proof::Nothing),
                    "verify-ca" => (SslMode::Require, Proof::Authority),
                    "verify-full" => (SslMode::Require, Proof::Host),
                    _ => {
                        return Err(
                            "has another sslmode than disable, prefer, require, verify-ca, verify-full".to_owned()
                        );
                    }
                });
            }
            "sslrootcert" if value == "system" => self.roots = Some(Roots::Public),
            "sslrootcert" => self.roots = Some(Roots::File(PathBuf::from(value))),
            "schema" => self.schema = Some(value.to_owned()),
            _ if OWN_CERTIFICATE.contains(&name) => {
                return Err("asks for a certificate of our own (sslcert, sslkey), which is not supported".to_owned());
            }
            _ => return Ok(PASSED_OVER.contains(&name)),
        }
        Ok(true)
    }
}

/// An option as it is handed on.
fn written(is_url: bool, name: &str, value: &str) -> String {
    if is_url {
        let byte =
            |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        format!("{name}={}", value.bytes().map(byte).collect::<String>())
    } else {
        format!("{name}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
    }
}

/// The options behind the `?` of an address.
fn query_options(query: &str) -> Option<Vec<(String, String)>> {
    let option = |option: &str| {
        let (name, value) = option.split_once('=')?;
        Some((name.to_owned(), decoded(value)?))
    };
    query.split('&').filter(|part| !part.is_empty()).map(option).collect()
}

/// Text with `%41` read as `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The pairs of `name=value name='quoted value'`; a backslash takes the next character as it is.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let behind = behind.trim_start();
        let is_quoted = behind.starts_with('\'');
        let mut characters = behind.char_indices().skip(usize::from(is_quoted));
        let (mut value, mut end) = (String::new(), None);
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => value.push(characters.next()?.1),
                '\'' if is_quoted => {
                    end = Some(at + 1);
                    break;
                }
                space if !is_quoted && space.is_whitespace() => {
                    end = Some(at);
                    break;
                }
                other => value.push(other),
            }
        }
        let end = if is_quoted { end? } else { end.unwrap_or(behind.len()) };
        found.push((name.trim().to_owned(), value));
        rest = behind[end..].trim_start();
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What became of the options of a connection string.
    fn read(text: &str) -> (SslMode, Proof, Roots) {
        let address = Address::parse(text).expect("a connection string");
        (address.config.get_ssl_mode(), address.proof, address.roots)
    }

    #[test]
    fn both_forms_name_what_is_asked_of_a_certificate() {
        let file = || Roots::File(PathBuf::from("certs/root one.pem"));
        let url = |options: &str| read(&format!("postgres://u:p@h/d?{options}"));
        assert_eq!(read("postgres://u:p@h/d"), (SslMode::Prefer, Proof::Nothing, Roots::Public));
        assert_eq!(url("sslmode=disable"), (SslMode::Disable, Proof::Nothing, Roots::Public));
        assert_eq!(url("sslmode=require"), (SslMode::Require, Proof::Nothing, Roots::Public));
        assert_eq!(url("sslmode=require&sslrootcert=system"), (SslMode::Require, Proof::Authority, Roots::Public));
        let wanted = (SslMode::Require, Proof::Host, file());
        assert_eq!(url("sslmode=verify-full&sslrootcert=certs%2Froot%20one.pem"), wanted);
        assert_eq!(
            read("host=h user=u  password='a \\'b' sslmode = verify-full sslrootcert='certs/root one.pem'"),
            wanted
        );
        assert_eq!(url("sslmode=verify-ca").1, Proof::Authority);
    }

    #[test]
    fn options_of_other_clients_change_nothing_and_passwords_arrive_whole() {
        let address = Address::parse(
            "postgresql://u:p%40ss@h:6543/d?pgbouncer=true&connection_limit=10&schema=lite&channel_binding=require&options=-c%20a%3Db",
        )
        .expect("a connection string");
        assert_eq!((address.config.get_password(), address.schema.as_deref()), (Some(&b"p@ss"[..]), Some("lite")));
        assert_eq!(address.config.get_options(), Some("-c a=b"));
        let address = Address::parse("host=h user=u password='it\\'s \\\\ a b' dbname=d").expect("pairs");
        assert_eq!(address.config.get_password(), Some(&b"it's \\ a b"[..]));
    }

    #[test]
    fn what_is_no_connection_string_is_said_without_its_text() {
        for text in [
            "",
            "secret",
            "host=h secret",
            "postgres://u:secret@h/d?secret",
            "postgres://u:secret@h/d?sslmode=secret",
            "postgres://u:secret@h/d?secret=1",
            "user=u password='secret",
            "user=u password=secret",
            "mysql://u:secret@h/d",
            "postgres://u:secret@h/d?sslcert=secret&sslkey=secret",
            "postgres://u:secret@h:port/d",
            "host=h password=secret%zz secret=%",
        ] {
            let fault = Address::parse(text).err().expect(text);
            assert!(!fault.contains("secret") && fault.len() < 120, "{text}: {fault}");
        }
    }
}

//! TLS to a database, with the rustls that HTTP uses: what is asked of its certificate, and what went wrong in words.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Proof, Roots};

/// A way to speak TLS. Files of authorities are found from the workspace. The error is a fragment.
pub(super) fn connector(
    proof: Proof,
    roots: &Roots,
    workspace: &Path,
    is_direct: bool,
) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions of its own crate");
    let verifier = Verifier::of(proof, roots, workspace, &provider)?;
    let mut config = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    if is_direct {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(MakeRustlsConnect::new(config))
}

/// Looks at a certificate as the connection string asks.
#[derive(Debug)]
struct Verifier {
    /// Asks the authorities; `None` where nobody is asked.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// Whether the name of the host matters.
    is_name_asked: bool,
    /// Signatures that are understood.
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// What a connection string asks.
    fn of(proof: Proof, roots: &Roots, workspace: &Path, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let algorithms = provider.signature_verification_algorithms;
        let authorities = match proof {
            Proof::Nothing => None,
            Proof::Authority | Proof::Host => {
                let store = Arc::new(store(roots, workspace)?);
                let built = WebPkiServerVerifier::builder_with_provider(store, Arc::clone(provider)).build();
                Some(built.map_err(|_| "the file of sslrootcert holds no certificate of an authority".to_owned())?)
            }
        };
        Ok(Self { authorities, is_name_asked: proof == Proof::Host, algorithms })
    }
}

/// The authorities whose word is taken.
fn store(roots: &Roots, workspace: &Path) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::Public => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Roots::File(path) => {
            let bytes = std::fs::read(workspace.join(path))
                .map_err(|error| format!("the file of sslrootcert cannot be read: {}", error.kind()))?;
            store.add_parsable_certificates(CertificateDer::pem_slice_iter(&bytes).flatten());
        }
    }
    Ok(store)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        let verified = authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is looked at last: a certificate that fails there alone was signed by an authority.
            Err(Error::InvalidCertificate(fault)) if !self.is_name_asked && is_of_name(&fault) => {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whether a certificate is at fault for its name alone.
fn is_of_name(fault: &CertificateError) -> bool {
    matches!(fault, CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })
}

/// What went wrong with TLS, if that is what went wrong.
pub(super) fn fault(error: &postgres::Error) -> Option<String> {
    let cause = std::error::Error::source(error)?;
    let Some(io) = cause.downcast_ref::<std::io::Error>() else {
        let is_refused = cause.to_string().contains("does not support TLS");
        return is_refused.then(|| "the database does not speak TLS, and the connection string demands it".to_owned());
    };
    let certificate = |words: &str| Some(format!("the database's certificate is not accepted: {words}"));
    match io.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(fault) => match fault {
            fault if is_of_name(fault) => certificate("it is for another host"),
            CertificateError::UnknownIssuer => {
                certificate("no authority that is trusted signed it (sslrootcert names the file of its authority)")
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => certificate("it has expired"),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                certificate("it is not valid yet")
            }
            CertificateError::BadSignature => certificate("its signature is wrong"),
            _ => certificate("it is not one of a server"),
        },
        _ => Some("no TLS with the database: the handshake failed".to_owned()),
    }
}

//! TLS to the database, with the meanings that libpq gives its modes (PostgreSQL documentation, §34.19).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Whether to use TLS, and what to verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    Disable,
    Prefer,
    Require,
    VerifyCa(PathBuf),
    VerifyFull(Roots),
}

/// The root certificates to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    System,
    File(PathBuf),
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file that `sslrootcert` names cannot be read.
    #[error("sslrootcert {file}: {problem}", file = .file.display())]
    RootFile {
        /// The path that `sslrootcert` names.
        file: PathBuf,
        /// The error of reading or parsing the file.
        problem: String,
    },
    /// The operating system has no trusted certificates.
    #[error("the operating system has no trusted certificates: install them, or name a file in sslrootcert")]
    NoSystemRoots,
    /// rustls refuses the certificates or settings.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// rustls cannot verify with these certificates.
    #[error(transparent)]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

impl TlsMode {
    /// Whether the connection is certain to use TLS.
    pub(super) const fn is_certain(&self) -> bool {
        match self {
            Self::Disable | Self::Prefer => false,
            Self::Require | Self::VerifyCa(_) | Self::VerifyFull(_) => true,
        }
    }

    /// The mode as `tokio-postgres` knows it, which does not verify certificates.
    pub(super) const fn for_tokio_postgres(&self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa(_) | Self::VerifyFull(_) => SslMode::Require,
        }
    }

    /// The connector that upgrades a connection to TLS; `None` for `disable`.
    pub(super) fn connector(
        &self,
        negotiation: SslNegotiation,
    ) -> Result<Option<MakeRustlsConnect>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match self {
            Self::Disable => return Ok(None),
            Self::Prefer | Self::Require => Arc::new(AnyHostName {
                provider: provider.clone(),
                roots: None,
            }),
            Self::VerifyCa(file) => Arc::new(AnyHostName {
                provider: provider.clone(),
                roots: Some(verifier(&Roots::File(file.clone()), &provider)?),
            }),
            Self::VerifyFull(roots) => verifier(roots, &provider)?,
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        if negotiation == SslNegotiation::Direct {
            config.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        Ok(Some(MakeRustlsConnect::new(config)))
    }
}

fn verifier(roots: &Roots, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                return Err(TlsError::NoSystemRoots);
            }
        }
        Roots::File(file) => {
            for certificate in certificates(file)? {
                store.add(certificate)?;
            }
        }
    }
    Ok(WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider)).build()?)
}

fn certificates(file: &PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let refused = |problem: String| TlsError::RootFile {
        file: file.clone(),
        problem,
    };
    let pem = std::fs::read(file).map_err(|error: io::Error| refused(error.to_string()))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| refused(error.to_string()))?;
    if certificates.is_empty() {
        return Err(refused("it holds no PEM certificate".to_owned()));
    }
    Ok(certificates)
}

/// Accepts a certificate for any host, if the server has its private key.
#[derive(Debug)]
struct AnyHostName {
    provider: Arc<CryptoProvider>,
    /// The authorities that the certificate must chain to; `None` for `prefer` and `require`.
    roots: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for AnyHostName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        // rustls checks the name last, so a wrong name means that all other checks passed.
        match roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

//! TLS to the database, by the modes of libpq.

use std::io::Write as _;

use keyward_domain::ports::StorageError;
use keyward_persistence::postgres::{
    ConnectError, ConnectionRefused, MigrateError, PostgresConfig, PostgresStore,
};
use keyward_test_database::TestDatabase;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::NamedTempFile;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::postgres::fixture::{long_timeouts, store};
use crate::postgres::proxy::Proxy;

/// An authority, its certificate in a file, and the certificates that it signed.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: NamedTempFile,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("an authority without a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(issuer.pem().as_bytes()).expect("a written file");
        Self { issuer, file }
    }

    /// A server with a certificate for `localhost`, which may be that of another authority.
    fn localhost(&self, is_ca: IsCa) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        params.is_ca = is_ca;
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a server's configuration")
    }
}

struct Scene {
    authority: Authority,
    stranger: Authority,
    proxy: Proxy,
    _database: TestDatabase,
}

impl Scene {
    async fn new() -> Self {
        Self::serving(IsCa::NoCa).await
    }

    async fn serving(certificate: IsCa) -> Self {
        let database = TestDatabase::empty().await.expect("a database");
        let authority = Authority::new();
        Self {
            proxy: Proxy::before(database.url(), Some(authority.localhost(certificate))).await,
            authority,
            stranger: Authority::new(),
            _database: database,
        }
    }

    /// Asks something of the database at this name for the proxy, with these options.
    async fn ask(&self, host: &str, options: &str) -> Result<(), String> {
        let store = store(long_timeouts(&format!("{}?{options}", self.proxy.url(host))));
        match ask(&store).await {
            Ok(()) => Ok(()),
            Err(StorageError::Unavailable(error)) => Err(error.to_string()),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn trusting(&self, mode: &str, authority: &Authority) -> String {
        format!("sslmode={mode}&sslrootcert={}", authority.file.path().display())
    }
}

async fn ask(store: &PostgresStore) -> Result<(), StorageError> {
    store.is_ready().await.map(|_| ())
}

#[tokio::test]
async fn verify_full_accepts_only_the_right_authority_and_name() {
    let scene = Scene::new().await;
    let right = scene.trusting("verify-full", &scene.authority);
    let wrong = scene.trusting("verify-full", &scene.stranger);

    assert_eq!(scene.ask("localhost", &right).await, Ok(()));
    assert_eq!(scene.proxy.tls_connections(), 1);
    let refusal = scene.ask("127.0.0.1", &right).await.expect_err("another name");
    assert!(refusal.contains("not valid for name"), "{refusal}");
    let refusal = scene
        .ask("localhost", &wrong)
        .await
        .expect_err("another authority");
    assert!(refusal.contains("invalid peer certificate"), "{refusal}");
}

#[tokio::test]
async fn refused_certificate_is_reported_despite_an_unreachable_address() {
    let scene = Scene::new().await;
    let wrong = scene.trusting("verify-full", &scene.stranger);
    let url = scene.proxy.url("localhost");
    let (user, server_and_name) = url.rsplit_once('@').expect("a user");
    let (server, name) = server_and_name.split_once('/').expect("a name");
    for servers in [format!("127.0.0.1:1,{server}"), format!("{server},127.0.0.1:1")] {
        let url = format!("{user}@{servers}/{name}?{wrong}");
        match store(long_timeouts(&url)).migrate().await {
            Err(MigrateError::Refused(ConnectionRefused::Tls(words))) => {
                assert!(words.contains("invalid peer certificate"), "{words}");
            }
            other => panic!("{servers}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn certificate_of_an_authority_is_refused_with_advice() {
    let scene = Scene::serving(IsCa::Ca(BasicConstraints::Unconstrained)).await;
    let right = scene.trusting("verify-full", &scene.authority);
    let url = format!("{}?{right}", scene.proxy.url("localhost"));
    match store(long_timeouts(&url)).migrate().await {
        Err(MigrateError::Refused(refusal)) => {
            let words = refusal.to_string();
            assert!(
                words.contains("issue it one with basicConstraints CA:FALSE"),
                "{words}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn verify_full_without_authority_rejects_an_unknown_certificate() {
    let scene = Scene::new().await;
    let store = PostgresStore::connect(long_timeouts(&format!(
        "{}?sslmode=verify-full",
        scene.proxy.url("localhost")
    )));
    match store {
        Ok(store) => ask(&store).await.map_err(drop).expect_err("a stranger"),
        // A machine without certificates of its own.
        Err(error) => assert!(matches!(error, ConnectError::Tls(_)), "{error}"),
    }
}

#[tokio::test]
async fn verify_ca_accepts_the_right_authority_with_any_name() {
    let scene = Scene::new().await;
    let right = scene.trusting("verify-ca", &scene.authority);
    let wrong = scene.trusting("verify-ca", &scene.stranger);

    assert_eq!(scene.ask("localhost", &right).await, Ok(()));
    assert_eq!(scene.ask("127.0.0.1", &right).await, Ok(()));
    assert_eq!(scene.proxy.tls_connections(), 2);
    for host in ["localhost", "127.0.0.1"] {
        let refusal = scene.ask(host, &wrong).await.expect_err("another authority");
        assert!(refusal.contains("invalid peer certificate"), "{refusal}");
    }
}

#[tokio::test]
async fn require_and_prefer_accept_any_certificate() {
    let scene = Scene::new().await;
    for (number, options) in ["sslmode=require", "sslmode=prefer", ""].iter().enumerate() {
        assert_eq!(scene.ask("127.0.0.1", options).await, Ok(()), "{options}");
        assert_eq!(scene.proxy.tls_connections() as usize, number + 1, "{options}");
    }
    assert_eq!(scene.ask("127.0.0.1", "sslmode=disable").await, Ok(()));
    assert_eq!(scene.proxy.tls_connections(), 3);
}

#[tokio::test]
async fn required_tls_is_never_downgraded_to_plaintext() {
    let database = TestDatabase::empty().await.expect("a database");
    let authority = Authority::new();
    let file = authority.file.path().display();
    for options in [
        "sslmode=require".to_owned(),
        format!("sslmode=verify-ca&sslrootcert={file}"),
        format!("sslmode=verify-full&sslrootcert={file}"),
    ] {
        let store = store(long_timeouts(&format!("{}?{options}", database.url())));
        match ask(&store).await {
            Err(StorageError::Unavailable(error)) => {
                assert!(error.to_string().contains("does not support TLS"), "{error}");
            }
            other => panic!("{options}: {other:?}"),
        }
    }
    let store = store(long_timeouts(&format!("{}?sslmode=prefer", database.url())));
    ask(&store).await.expect("a server without TLS");
}

#[test]
fn unreadable_root_certificates_are_named() {
    let authority = Authority::new();
    std::fs::write(&authority.file, "no certificate").expect("a temporary file");
    for file in [
        "/nonexistent/ca.pem".to_owned(),
        authority.file.path().display().to_string(),
    ] {
        let url = format!("postgres://me:s3cret@host/db?sslmode=verify-full&sslrootcert={file}");
        let config = PostgresConfig::from_url(&url).expect("a URL");
        let Err(ConnectError::Tls(error)) = PostgresStore::connect(config) else {
            panic!("{file} is no certificate");
        };
        assert!(error.to_string().contains(&file), "{error}");
    }
}

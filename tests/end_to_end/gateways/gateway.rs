//! Gateways: Debian's programs with the configurations of `docs/gateways`.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::sleep;
use tokio_rustls::TlsConnector;

use super::answer::Answer;
use super::programs::{caddy, free_address, haproxy, new_folder, nginx, program};
use crate::others::run;
use keyward_tests::keyward::TIMEOUT;

/// The host in the configurations and in the certificate.
const HOST: &str = "api.example.com";

/// The host of another server on the same address, with the same certificate.
pub(super) const OTHER_HOST: &str = "other.example.com";

#[derive(Debug, Clone, Copy)]
pub(super) enum Program {
    Nginx,
    Caddy,
    Haproxy,
    Apache,
}

/// The protocol between curl and a gateway.
#[derive(Debug, Clone, Copy)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A running gateway with a folder of its own.
pub(crate) struct Gateway {
    process: Child,
    folder: TempDir,
    address: SocketAddr,
    protocol: Protocol,
}

/// A configuration, in which the tests replace what a reader of the documentation replaces.
struct Configuration(String);

impl Configuration {
    fn of(file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../docs/gateways")
            .join(file);
        Self(std::fs::read_to_string(path).expect("a configuration"))
    }

    #[track_caller]
    fn replace(self, placeholder: &str, value: &str) -> Self {
        assert!(self.0.contains(placeholder), "no {placeholder} to replace");
        Self(self.0.replace(placeholder, value))
    }

    /// Lets only the members of a project pass, as the comment in each file says.
    fn for_members(self, project: Option<&str>) -> Self {
        let Some(project) = project else { return self };
        let ends = ["?\n", ";", "\""].map(|end| format!("/api/v1/auth{end}"));
        let path = ends.iter().find(|path| self.0.contains(*path));
        let path = path.expect("the path at which Keyward is asked");
        let end = &path[path.len() - 1..];
        self.replace(path, &format!("/api/v1/auth?project={project}{end}"))
    }

    fn with_addresses(self, keyward: &str, service: SocketAddr, folder: &Path) -> Self {
        let certificate = folder.display();
        self.replace("127.0.0.1:8080", keyward)
            .replace("127.0.0.1:3000", &service.to_string())
            .replace("/etc/ssl/api.example.com", &format!("{certificate}/tls"))
    }
}

impl Gateway {
    /// Starts a program between clients and a service, with Keyward at an address.
    pub(super) async fn start(program: Program, keyward: &str, service: SocketAddr) -> Self {
        Self::start_for_members(program, keyward, service, None).await
    }

    /// The same, for the members of a project only, if one is named.
    pub(super) async fn start_for_members(
        program: Program,
        keyward: &str,
        service: SocketAddr,
        project: Option<&str>,
    ) -> Self {
        let folder = new_folder();
        write_certificate(folder.path());
        let address = free_address();
        let command = program.configured(folder.path(), address, keyward, service, project);
        Self::run(command, folder, address).await
    }

    /// Starts nginx with another server on the same address, which is the default and passes any header on.
    pub(super) async fn nginx_beside_default_server(keyward: &str, service: SocketAddr) -> Self {
        let folder = new_folder();
        write_certificate(folder.path());
        let address = free_address();
        let listen = format!("listen {address} ssl");
        let site = Configuration::of("nginx.conf")
            .with_addresses(keyward, service, folder.path())
            .replace("listen 443 ssl", &listen);
        let tls = folder.path().join("tls");
        let tls = tls.display();
        let default = format!(
            "server {{ {listen} default_server; server_name {OTHER_HOST}; ssl_certificate {tls}.pem; ssl_certificate_key {tls}.key;
             underscores_in_headers on; ignore_invalid_headers off; }}"
        );
        let command = nginx(folder.path(), &format!("{default}{}", site.0));
        Self::run(command, folder, address).await
    }

    pub(super) async fn run(mut command: Command, folder: TempDir, address: SocketAddr) -> Self {
        let process = command
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let begun = Instant::now();
        while TcpStream::connect(address).await.is_err() {
            assert!(begun.elapsed() < TIMEOUT, "{command:?} does not listen");
            sleep(Duration::from_millis(20)).await;
        }
        Self {
            process,
            folder,
            address,
            protocol: Protocol::Http1,
        }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the protocol of later requests.
    pub(super) const fn speak(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Sends a request over TLS, with additional arguments of curl.
    pub(super) async fn ask(&self, path: &str, arguments: &[&str]) -> Answer {
        let port = self.address.port();
        let (option, version) = match self.protocol {
            Protocol::Http1 => ("--http1.1", "HTTP/1.1 "),
            Protocol::Http2 => ("--http2", "HTTP/2 "),
        };
        let output = run(Command::new("curl")
            .args(["--silent", "--show-error", "--include", option])
            .args(["--max-time", "30"])
            .args(["--header", "Expect:"])
            .args(["--resolve", &format!("{HOST}:{port}:127.0.0.1"), "--cacert"])
            .arg(self.folder.path().join("tls.pem"))
            .args(arguments)
            .arg(format!("https://{HOST}:{port}{path}")))
        .await;
        assert!(output.starts_with(version), "{output}");
        Answer::parse(&output)
    }

    pub(super) async fn ask_with_key(&self, path: &str, token: &str, arguments: &[&str]) -> Answer {
        let authorization = format!("Authorization: Bearer {token}");
        let arguments = [&["--header", &authorization], arguments].concat();
        self.ask(path, &arguments).await
    }

    /// Sends a request over TLS that curl cannot send, and reads until the connection ends.
    pub(super) async fn send(&self, request: &str) -> Answer {
        self.send_to_server(Some(HOST), request).await
    }

    /// The same, with another host in TLS, or none (no SNI).
    pub(super) async fn send_to_server(&self, server: Option<&'static str>, request: &str) -> Answer {
        let certificate = std::fs::read(self.folder.path().join("tls.pem")).expect("a certificate");
        let certificate = CertificateDer::from_pem_slice(&certificate).expect("a certificate");
        let mut roots = RootCertStore::empty();
        roots.add(certificate).expect("a certificate");
        let mut client = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.enable_sni = server.is_some();
        let stream = TcpStream::connect(self.address).await.expect("a connection");
        let host = ServerName::try_from(server.unwrap_or(HOST)).expect("a name");
        let connector = TlsConnector::from(Arc::new(client));
        let mut stream = connector.connect(host, stream).await.expect("TLS");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        // Not every gateway ends TLS before the connection.
        let _ = stream.read_to_end(&mut answer).await;
        Answer::parse(&String::from_utf8(answer).expect("text"))
    }

    pub(crate) async fn end(mut self) {
        self.process.kill().await.expect("the gateway is killed");
    }
}

impl Program {
    /// The status if Keyward cannot be asked: 503, except from Caddy, which has one for each failure.
    pub(super) fn failure(self, from_caddy: u16) -> u16 {
        match self {
            Self::Caddy => from_caddy,
            Self::Nginx | Self::Haproxy | Self::Apache => 503,
        }
    }

    pub(super) const fn protocols(self) -> &'static [Protocol] {
        match self {
            Self::Caddy => &[Protocol::Http1, Protocol::Http2],
            Self::Nginx | Self::Haproxy | Self::Apache => &[Protocol::Http1],
        }
    }

    /// Whether WebSocket works through it.
    pub(super) const fn passes_websocket_on(self) -> bool {
        matches!(self, Self::Caddy | Self::Haproxy)
    }

    fn configured(
        self,
        folder: &Path,
        address: SocketAddr,
        keyward: &str,
        service: SocketAddr,
        project: Option<&str>,
    ) -> Command {
        let here = folder.display();
        let write = |file: &str, text: &str| {
            std::fs::write(folder.join(file), text).expect("a configuration");
        };
        let with_addresses = |file| {
            Configuration::of(file)
                .for_members(project)
                .with_addresses(keyward, service, folder)
        };
        let port = address.port();
        match self {
            Self::Nginx => {
                let site =
                    with_addresses("nginx.conf").replace("listen 443 ssl", &format!("listen {address} ssl"));
                nginx(folder, &site.0)
            }
            Self::Caddy => {
                let site = with_addresses("Caddyfile").replace(
                    "\napi.example.com {",
                    &format!("\napi.example.com:{port} {{\n\tbind 127.0.0.1"),
                );
                caddy(folder, &site.0)
            }
            Self::Haproxy => {
                write(
                    "keyward.lua",
                    &Configuration::of("haproxy.lua")
                        .for_members(project)
                        .replace("127.0.0.1:8080", keyward)
                        .0,
                );
                let site = Configuration::of("haproxy.cfg")
                    .replace("127.0.0.1:3000", &service.to_string())
                    .replace("/etc/ssl/api.example.com", &format!("{here}/tls"))
                    .replace("/etc/haproxy/keyward.lua", &format!("{here}/keyward.lua"))
                    .replace("bind :443", &format!("bind {address}"));
                haproxy(folder, &site.0)
            }
            Self::Apache => {
                write(
                    "keyward.lua",
                    &Configuration::of("apache.lua")
                        .for_members(project)
                        .replace("127.0.0.1:8080", keyward)
                        .0,
                );
                let site = Configuration::of("apache.conf")
                    .replace("127.0.0.1:3000", &service.to_string())
                    .replace("/etc/ssl/api.example.com", &format!("{here}/tls"))
                    .replace("/etc/apache2/keyward.lua", &format!("{here}/keyward.lua"))
                    .replace("<VirtualHost *:443>", &format!("<VirtualHost {address}>"));
                let modules: String = [
                    "mpm_event",
                    "authz_core",
                    "headers",
                    "lua",
                    "proxy",
                    "proxy_http",
                    "socache_shmcb",
                    "ssl",
                ]
                .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
                .concat();
                let around = format!(
                    "{modules}ServerName localhost\nServerRoot {here}\nPidFile {here}/pid\nMutex sem\n\
                     ErrorLog {here}/error.log\nListen {address}\n{}",
                    site.0
                );
                write("apache.conf", &around);
                let mut command = Command::new(program("apache2"));
                command.args(["-X", "-f"]).arg(folder.join("apache.conf"));
                command
            }
        }
    }
}

fn write_certificate(folder: &Path) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([HOST, OTHER_HOST].map(str::to_owned)).expect("a certificate");
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).expect("a certificate");
    write("tls.pem", cert.pem());
    write("tls.key", signing_key.serialize_pem());
    write(
        "tls.both.pem",
        format!("{}{}", cert.pem(), signing_key.serialize_pem()),
    );
}

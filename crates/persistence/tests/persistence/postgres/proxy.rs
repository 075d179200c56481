//! Stands between the store and the server: it can speak TLS for a server that does not, fall silent, and
//! count how often the server is asked.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::asked::Prepared;

/// The first message of a client that wants TLS (PostgreSQL documentation, §55.7, `SSLRequest`).
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

pub(crate) struct Proxy {
    address: SocketAddr,
    /// Connections before this one are silent.
    silent_before: watch::Sender<u32>,
    connections: watch::Receiver<u32>,
    tls_connections: watch::Receiver<u32>,
    round_trips: Arc<RoundTrips>,
    statements: Arc<Mutex<Vec<Prepared>>>,
    database_url: String,
}

/// How often something was sent to the server since it had answered.
#[derive(Default)]
struct RoundTrips {
    count: AtomicU32,
    is_asked: AtomicBool,
}

impl Proxy {
    /// In front of the database with this URL, with TLS if there is a configuration for it.
    pub(crate) async fn before(database_url: &str, tls: Option<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (silent_before, is_silent_before) = watch::channel(0);
        let (accepted, connections) = watch::channel(0);
        let (count, tls_connections) = watch::channel(0);
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let server = host_and_port(database_url).to_owned();
        let round_trips = Arc::new(RoundTrips::default());
        let counted = Arc::clone(&round_trips);
        let statements = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&statements);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, acceptor) = (server.clone(), acceptor.clone());
                let number = *accepted.borrow();
                accepted.send_replace(number + 1);
                let line = Line {
                    number,
                    silent_before: is_silent_before.clone(),
                    round_trips: Arc::clone(&counted),
                    heard: Heard::default(),
                    statements: Arc::clone(&noted),
                };
                let count = count.clone();
                tokio::spawn(async move {
                    // Both ends see a broken connection.
                    let _ = serve(client, &server, acceptor, line, &count).await;
                });
            }
        });
        Self {
            address,
            silent_before,
            connections,
            tls_connections,
            round_trips,
            statements,
            database_url: database_url.to_owned(),
        }
    }

    /// The database's URL by way of the proxy, under a name for this machine.
    pub(crate) fn url(&self, host: &str) -> String {
        let through = format!("{host}:{}", self.address.port());
        self.database_url
            .replacen(host_and_port(&self.database_url), &through, 1)
    }

    /// From now on nothing gets through, but nothing is closed.
    pub(crate) fn fall_silent(&self) {
        self.silent_before.send_replace(u32::MAX);
    }

    /// Passes on the data that was held back, and all that follows.
    pub(crate) fn speak_again(&self) {
        self.silent_before.send_replace(0);
    }

    /// New connections work; existing ones stay silent.
    pub(crate) fn speak_to_newcomers(&self) {
        let newcomers_from = *self.connections.borrow();
        self.silent_before.send_replace(newcomers_from);
    }

    /// How often a client had to wait for the server, so far. Of one client: several would share their
    /// waiting.
    pub(crate) fn round_trips(&self) -> u32 {
        self.round_trips.count.load(Ordering::SeqCst)
    }

    /// The prepared statements that were executed since this was called last. Only without TLS.
    pub(crate) fn take_statements(&self) -> Vec<Prepared> {
        std::mem::take(&mut *self.statements.lock().expect("no panic"))
    }

    /// How many connections were made, so far.
    pub(crate) fn connections(&self) -> u32 {
        *self.connections.borrow()
    }

    /// Waits until as many connections were made.
    pub(crate) async fn until_connections(&self, count: u32) {
        let made = self
            .connections
            .clone()
            .wait_for(|made| *made >= count)
            .await
            .map(|_| ());
        made.expect("the proxy lives");
    }

    pub(crate) fn tls_connections(&self) -> u32 {
        *self.tls_connections.borrow()
    }
}

/// A client connection through the proxy, with its counters.
#[derive(Clone)]
struct Line {
    number: u32,
    silent_before: watch::Receiver<u32>,
    round_trips: Arc<RoundTrips>,
    heard: Heard,
    statements: Arc<Mutex<Vec<Prepared>>>,
}

/// Which end of the line sent the bytes.
#[derive(Clone, Copy)]
enum From {
    Client,
    Server,
}

impl Line {
    async fn may_speak(&mut self) -> Result<(), watch::error::RecvError> {
        let number = self.number;
        let spoken = self.silent_before.wait_for(|first| number >= *first).await;
        spoken.map(|_| ())
    }

    fn note(&self, from: From) {
        let RoundTrips { count, is_asked } = &*self.round_trips;
        match from {
            From::Client if !is_asked.swap(true, Ordering::SeqCst) => {
                count.fetch_add(1, Ordering::SeqCst);
            }
            From::Client => {}
            From::Server => is_asked.store(false, Ordering::SeqCst),
        }
    }
}

/// The messages of a client on one connection (PostgreSQL documentation, §55.7).
#[derive(Clone, Default)]
struct Heard {
    rest: Vec<u8>,
    has_started: bool,
    prepared: HashMap<Vec<u8>, Prepared>,
}

impl Heard {
    /// The statements that these bytes have executed.
    fn hear(&mut self, bytes: &[u8]) -> Vec<Prepared> {
        self.rest.extend_from_slice(bytes);
        let mut executed = Vec::new();
        loop {
            // The first message has no type.
            let before_length = usize::from(self.has_started);
            let Some(length) = self.rest.get(before_length..before_length + 4) else {
                return executed;
            };
            let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
            if self.rest.len() < before_length + length {
                return executed;
            }
            let message: Vec<u8> = self.rest.drain(..before_length + length).collect();
            let body = &message[before_length + 4..];
            match (self.has_started, message[0]) {
                (false, _) => self.has_started = message != TLS_REQUEST,
                (true, b'P') => self.parse(body),
                (true, b'B') => {
                    let name = body.split(|byte| *byte == 0).nth(1).expect("a name");
                    if let Some(prepared) = self.prepared.get_mut(name) {
                        prepared.executions += 1;
                        executed.push(prepared.clone());
                    }
                }
                (true, _) => {}
            }
        }
    }

    fn parse(&mut self, body: &[u8]) {
        let mut parts = body.splitn(3, |byte| *byte == 0);
        let (name, statement, types) = (parts.next(), parts.next(), parts.next());
        let types = types.expect("types").get(2..).unwrap_or_default();
        let prepared = Prepared {
            statement: String::from_utf8_lossy(statement.expect("a statement")).into_owned(),
            types: types
                .chunks_exact(4)
                .map(|of| u32::from_be_bytes(of.try_into().expect("four bytes")))
                .collect(),
            executions: 0,
        };
        self.prepared.insert(name.expect("a name").to_vec(), prepared);
    }
}

fn host_and_port(url: &str) -> &str {
    let (_, rest) = url.rsplit_once('@').expect("a URL with a user");
    rest.split('/').next().expect("a host")
}

async fn serve(
    mut client: TcpStream,
    server: &str,
    acceptor: Option<TlsAcceptor>,
    line: Line,
    tls_connections: &watch::Sender<u32>,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let Some(acceptor) = acceptor else {
        return pass_both(client, server, line).await;
    };
    let mut first = [0; TLS_REQUEST.len()];
    client.read_exact(&mut first).await?;
    if first == TLS_REQUEST {
        client.write_all(b"S").await?;
        let client = acceptor.accept(client).await?;
        tls_connections.send_modify(|count| *count += 1);
        pass_both(client, server, line).await
    } else {
        server.write_all(&first).await?;
        pass_both(client, server, line).await
    }
}

async fn pass_both(
    client: impl AsyncRead + AsyncWrite,
    server: TcpStream,
    line: Line,
) -> std::io::Result<()> {
    let (from_client, to_client) = split(client);
    let (from_server, to_server) = split(server);
    tokio::select! {
        ended = pass(From::Client, from_client, to_server, line.clone()) => ended,
        ended = pass(From::Server, from_server, to_client, line) => ended,
    }
}

async fn pass(
    speaker: From,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut line: Line,
) -> std::io::Result<()> {
    // Data that is sent at once is read at once.
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        if line.may_speak().await.is_err() || length == 0 {
            return Ok(());
        }
        line.note(speaker);
        if matches!(speaker, From::Client) {
            let executed = line.heard.hear(&buffer[..length]);
            line.statements.lock().expect("no panic").extend(executed);
        }
        to.write_all(&buffer[..length]).await?;
        to.flush().await?;
    }
}

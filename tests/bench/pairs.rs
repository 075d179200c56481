//! Measures two in turn, A B A B …, so that what else the machine does meets both.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;

use crate::figures::{Sample, Samples};
use crate::installation::Installation;
use crate::load::{pgbench, wrk};
use crate::options::Options;
use crate::process::Server;
use crate::rows::{Contender, Database, Pair, Request};
use crate::storage::Storage;
use crate::token::{malformed, well_formed};

/// How long each is asked before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// Both databases with their servers, and what is sent to them.
pub(crate) struct Scene {
    servers: HashMap<Database, Server>,
    storages: HashMap<Database, Storage>,
    tokens: HashMap<Request, TokenFile>,
}

/// A token a line, removed with this value.
struct TokenFile(PathBuf);

impl Scene {
    pub(crate) async fn set(installation: Installation) -> Self {
        let mut scene = Self {
            servers: HashMap::new(),
            storages: HashMap::new(),
            tokens: HashMap::from([
                (
                    Request::User,
                    TokenFile::write("valid", installation.keys, well_formed),
                ),
                (
                    Request::ForwardAuth,
                    TokenFile::write("valid-at-gateway", installation.keys, well_formed),
                ),
                (
                    Request::Malformed,
                    TokenFile::write("malformed", 1_000, malformed),
                ),
            ]),
        };
        for (database, storage) in [
            (Database::Postgres, Storage::postgres().await),
            (Database::Sqlite, Storage::embedded()),
        ] {
            installation.import_into(&storage).await;
            scene.servers.insert(database, Server::keyward(&storage).await);
            scene.storages.insert(database, storage);
        }
        scene
    }

    /// Where a database's server keeps everything, once that server has ended.
    pub(crate) async fn storage_without_server(&mut self, database: Database) -> &Storage {
        if let Some(server) = self.servers.remove(&database) {
            server.end().await;
        }
        &self.storages[&database]
    }

    /// Starts a bare handler that answers as Keyward does.
    async fn bare(&self, request: Request) -> Server {
        let server = &self.servers[&Database::Sqlite];
        let mut asked = Client::new().get(format!("http://{}{}", server.address, request.path()));
        if let Some(tokens) = self.tokens.get(&request) {
            asked = asked.bearer_auth(tokens.first());
        }
        let answer = asked.send().await.expect("an answer");
        assert_eq!(answer.status().is_client_error(), request.is_refused());
        let (status, content_type) = (answer.status(), answer.headers().get(CONTENT_TYPE).cloned());
        let content_type = content_type
            .as_ref()
            .map_or("", |value| value.to_str().expect("text"));
        let body = answer.bytes().await.expect("a body");
        Server::bare(status, content_type, &body).await
    }

    async fn sample(&self, contender: &Running<'_>, time: Duration) -> Sample {
        match contender {
            Running::Server(server, request) => {
                let tokens = self.tokens.get(request).map(|tokens| tokens.0.as_path());
                wrk(server, request.path(), tokens, request.is_refused(), time).await
            }
            Running::Pgbench => {
                let database = self.storages[&Database::Postgres].as_postgres();
                pgbench(database.url(), time).await
            }
        }
    }

    async fn running(&self, contender: Contender) -> Running<'_> {
        match contender {
            Contender::Keyward(database, request) => {
                Running::Server(Handle::Shared(&self.servers[&database]), request)
            }
            Contender::Bare(request) => {
                Running::Server(Handle::Own(Box::new(self.bare(request).await)), request)
            }
            Contender::Pgbench => Running::Pgbench,
        }
    }
}

enum Running<'a> {
    Server(Handle<'a>, Request),
    Pgbench,
}

/// A server of the scene, or one for this pair.
enum Handle<'a> {
    Shared(&'a Server),
    Own(Box<Server>),
}

impl std::ops::Deref for Handle<'_> {
    type Target = Server;

    fn deref(&self) -> &Server {
        match self {
            Self::Shared(server) => server,
            Self::Own(server) => server,
        }
    }
}

impl Request {
    const fn path(self) -> &'static str {
        match self {
            Self::Health => "/healthz",
            Self::User | Self::Malformed => "/api/v1/user",
            Self::ForwardAuth => "/api/v1/auth",
        }
    }

    const fn is_refused(self) -> bool {
        match self {
            Self::Health | Self::User | Self::ForwardAuth => false,
            Self::Malformed => true,
        }
    }
}

impl TokenFile {
    fn write(name: &str, count: usize, token: impl Fn(usize) -> String) -> Self {
        let name = format!("{name}-{}.txt", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let lines: String = (1..=count).map(|number| token(number) + "\n").collect();
        std::fs::write(&path, lines).expect("a file of tokens");
        Self(path)
    }

    fn first(&self) -> String {
        let tokens = std::fs::read_to_string(&self.0).expect("the tokens");
        tokens.lines().next().expect("a token").to_owned()
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Measures a pair.
pub(crate) async fn measure(pair: &Pair, scene: &Scene, options: &Options) -> (Samples, Samples) {
    let (what, against) = (scene.running(pair.what).await, scene.running(pair.against).await);
    let mut samples = (Samples::default(), Samples::default());
    for contender in [&what, &against] {
        scene.sample(contender, WARM_UP).await;
    }
    for _ in 0..options.rounds {
        samples.0.add(scene.sample(&what, options.time).await);
        samples.1.add(scene.sample(&against, options.time).await);
    }
    samples
}

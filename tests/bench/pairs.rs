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
use crate::rows::{Database, Other, Pair, Request};
use crate::storage::Storage;
use crate::token::{malformed, well_formed};
use crate::verifiers::Verifier;

/// How long each is asked before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// Both databases, and what is sent to the servers over them.
pub(crate) struct Scene {
    storages: HashMap<Database, Storage>,
    tokens: HashMap<Request, TokenFile>,
    verifier: Verifier,
}

/// A token a line, removed with this value.
struct TokenFile(PathBuf);

impl Scene {
    pub(crate) async fn set(installation: Installation) -> Self {
        let mut scene = Self {
            storages: HashMap::new(),
            verifier: Verifier::create("service").await,
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
                    Request::Introspection,
                    TokenFile::write("valid-at-service", installation.keys, well_formed),
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
            scene.storages.insert(database, storage);
        }
        scene
    }

    pub(crate) fn storage(&self, database: Database) -> &Storage {
        &self.storages[&database]
    }

    /// Starts a bare handler that answers as this server does.
    async fn bare(&self, server: &Server, request: Request) -> Server {
        let url = format!("http://{}{}", server.address, request.path());
        let token = self.tokens.get(&request).map(TokenFile::first);
        let asked = match (self.verifier_of(request), token) {
            (Some(verifier), token) => Client::new()
                .post(url)
                .basic_auth(verifier.name, Some(&verifier.secret))
                .form(&[("token", token)]),
            (None, Some(token)) => Client::new().get(url).bearer_auth(token),
            (None, None) => Client::new().get(url),
        };
        let answer = asked.send().await.expect("an answer");
        assert_eq!(answer.status().is_client_error(), request.is_refused());
        let (status, content_type) = (answer.status(), answer.headers().get(CONTENT_TYPE).cloned());
        let content_type = content_type
            .as_ref()
            .map_or("", |value| value.to_str().expect("text"));
        let body = answer.bytes().await.expect("a body");
        Server::bare(status, content_type, &body).await
    }

    async fn ask(&self, server: &Server, request: Request, time: Duration) -> Sample {
        let tokens = self.tokens.get(&request).map(|tokens| tokens.0.as_path());
        let verifier = self.verifier_of(request);
        wrk(
            server,
            request.path(),
            tokens,
            verifier,
            request.is_refused(),
            time,
        )
        .await
    }

    fn verifier_of(&self, request: Request) -> Option<&Verifier> {
        (request == Request::Introspection).then_some(&self.verifier)
    }
}

impl Request {
    const fn path(self) -> &'static str {
        match self {
            Self::Health => "/healthz",
            Self::User | Self::Malformed => "/api/v1/user",
            Self::ForwardAuth => "/api/v1/auth",
            Self::Introspection => "/api/v1/introspect",
        }
    }

    const fn is_refused(self) -> bool {
        match self {
            Self::Health | Self::User | Self::ForwardAuth | Self::Introspection => false,
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
    let storage = scene.storage(pair.database);
    let server = Server::keyward(storage, pair.cache, &[&scene.verifier.option()]).await;
    let bare = match pair.against {
        Other::BareHandler => Some(scene.bare(&server, pair.request).await),
        Other::Pgbench => None,
    };
    let other = async |time| match &bare {
        Some(bare) => scene.ask(bare, pair.request, time).await,
        None => pgbench(storage.as_postgres().url(), time).await,
    };
    scene.ask(&server, pair.request, WARM_UP).await;
    other(WARM_UP).await;
    let mut samples = (Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        samples
            .0
            .add(scene.ask(&server, pair.request, options.time).await);
        samples.1.add(other(options.time).await);
    }
    for started in [Some(server), bare].into_iter().flatten() {
        started.end().await;
    }
    samples
}

//! Measures two in turn, A B A B …, so that what else the machine does meets both.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;

use crate::figures::{Sample, Samples};
use crate::installation::Installation;
use crate::load::{pgbench, wrk};
use crate::many_keys;
use crate::options::Options;
use crate::process::Server;
use crate::rows::{Database, Other, Pair, Rate, Request};
use crate::steady::steady;
use crate::storage::Storage;
use crate::token::{malformed, well_formed};
use crate::verifiers::Verifier;

/// How long each is asked before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// Both databases, and what is sent to the servers over them.
pub(crate) struct Scene {
    storages: HashMap<Database, Storage>,
    tokens: HashMap<Request, TokenFile>,
    /// As many as elsewhere, of keys all over the table that has many.
    tokens_of_many: Option<TokenFile>,
    verifier: Verifier,
}

/// A token a line, removed with this value.
struct TokenFile(PathBuf);

impl Scene {
    /// Sets up both, and, if it is wanted, a PostgreSQL database with so many keys.
    pub(crate) async fn set(installation: Installation, many_keys: Option<usize>) -> Self {
        let mut scene = Self {
            storages: HashMap::new(),
            tokens_of_many: None,
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
        if let Some(count) = many_keys {
            let storage = many_keys::make(&installation, count).await;
            scene.storages.insert(Database::PostgresWithManyKeys, storage);
            let step = (count / installation.keys).max(1);
            let tokens = TokenFile::write("valid-among-many", installation.keys.min(count), |number| {
                well_formed(number * step)
            });
            scene.tokens_of_many = Some(tokens);
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

    async fn ask(&self, server: &Server, database: Database, pair: &Pair, time: Duration) -> Sample {
        let request = pair.request;
        let tokens = match database {
            Database::PostgresWithManyKeys => self.tokens_of_many.as_ref(),
            Database::Postgres | Database::Sqlite => self.tokens.get(&request),
        };
        match pair.rate {
            Rate::Full => {
                let tokens = tokens.map(|tokens| tokens.0.as_path());
                let verifier = self.verifier_of(request);
                let is_refused = request.is_refused();
                wrk(server, request.path(), tokens, verifier, is_refused, time).await
            }
            Rate::Steady(per_second) => {
                let tokens = tokens.map(TokenFile::all).unwrap_or_default();
                steady(server, request.path(), tokens, per_second, time).await
            }
        }
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

    fn all(&self) -> Vec<String> {
        let tokens = std::fs::read_to_string(&self.0).expect("the tokens");
        tokens.lines().map(str::to_owned).collect()
    }

    fn first(&self) -> String {
        self.all().into_iter().next().expect("a token")
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
    let keyward = async |storage| Server::keyward(storage, pair.cache, &[&scene.verifier.option()]).await;
    let server = keyward(storage).await;
    let against = match pair.against {
        Other::BareHandler => Some(scene.bare(&server, pair.request).await),
        Other::FewKeys => Some(keyward(scene.storage(Database::Postgres)).await),
        Other::Pgbench => None,
    };
    let other = async |time| match &against {
        Some(against) => scene.ask(against, Database::Postgres, pair, time).await,
        None => pgbench(storage.as_postgres().url(), time).await,
    };
    scene.ask(&server, pair.database, pair, WARM_UP).await;
    other(WARM_UP).await;
    let mut samples = (Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        samples
            .0
            .add(scene.ask(&server, pair.database, pair, options.time).await);
        samples.1.add(other(options.time).await);
    }
    for started in [Some(server), against].into_iter().flatten() {
        started.end().await;
    }
    samples
}

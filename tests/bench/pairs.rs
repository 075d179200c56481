//! Measures two in turn, A B A B …, so that what else the machine does meets both.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, StatusCode};
use tokio::time::{Instant, interval};

use crate::figures::{Sample, Samples};
use crate::installation::{Installation, PEOPLE, TO_REVOKE, digest, id_to_revoke, token_of_person};
use crate::load::{Sent, guess, pgbench, wrk};
use crate::many_keys;
use crate::options::Options;
use crate::process::Server;
use crate::rows::{Database, Meanwhile, Other, Pair, Rate, Request};
use crate::steady::steady;
use crate::token::{malformed, well_formed};
use keyward_tests::storage::Storage;
use keyward_tests::verifiers::Verifier;

/// How long each is asked before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// How long each token is asked for at most before anything counts.
const MOST_WARM_UP: Duration = Duration::from_secs(60);

/// How often a key is revoked meanwhile.
const REVOCATIONS: Duration = Duration::from_millis(200);

/// How many tokens are guessed in turn, from this number on.
const GUESSES: usize = 100_000;
const FIRST_GUESS: usize = 2_000_000_000;

/// Both databases, and what is sent to the servers over them.
pub(crate) struct Scene {
    storages: HashMap<Database, Storage>,
    valid: TokenFile,
    malformed: TokenFile,
    of_people: TokenFile,
    guessed: TokenFile,
    /// As many as elsewhere, of keys all over the table that has many.
    valid_of_many: Option<TokenFile>,
    many_keys: usize,
    verifier: Verifier,
    organization: String,
    revoked: AtomicUsize,
}

/// A token a line, removed with this value.
struct TokenFile(PathBuf);

impl Scene {
    /// Sets up both, and, if it is wanted, a PostgreSQL database with so many keys.
    pub(crate) async fn set(installation: Installation, many_keys: Option<usize>) -> Self {
        let mut scene = Self {
            storages: HashMap::new(),
            valid: TokenFile::write("valid", installation.keys, well_formed),
            malformed: TokenFile::write("malformed", 1_000, malformed),
            of_people: TokenFile::write("of-people", PEOPLE, token_of_person),
            guessed: TokenFile::write("guessed", GUESSES, |number| well_formed(FIRST_GUESS + number)),
            valid_of_many: None,
            many_keys: many_keys.unwrap_or_default(),
            verifier: Verifier::create("service").await,
            organization: installation.organization.clone(),
            revoked: AtomicUsize::new(0),
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
            scene.valid_of_many = Some(tokens);
        }
        scene
    }

    /// The database with many keys, and how many it has.
    pub(crate) fn many_keys(&self) -> (&Storage, usize) {
        (self.storage(Database::PostgresWithManyKeys), self.many_keys)
    }

    pub(crate) fn storage(&self, database: Database) -> &Storage {
        &self.storages[&database]
    }

    /// What a pair's servers are asked.
    fn sent(&self, request: Request, database: Database) -> Sent<'_> {
        let valid = match (database, &self.valid_of_many) {
            (Database::PostgresWithManyKeys, Some(of_many)) => of_many,
            _ => &self.valid,
        };
        let (path, tokens) = match request {
            Request::Health => ("/healthz", None),
            Request::User => ("/api/v1/user", Some(valid)),
            Request::Malformed => ("/api/v1/user", Some(&self.malformed)),
            Request::ForwardAuth => ("/api/v1/auth", Some(valid)),
            Request::Introspection => ("/api/v1/introspect", Some(valid)),
            Request::OwnKeys => ("/api/v1/user/api-keys", Some(valid)),
            Request::Create => ("/api/v1/user/api-keys", Some(&self.of_people)),
        };
        let credentials = match request {
            Request::Introspection => {
                let credentials = format!("{}:{}", self.verifier.name, self.verifier.secret);
                format!("Basic {}", STANDARD.encode(credentials))
            }
            _ => "Bearer *".to_owned(),
        };
        Sent {
            path,
            tokens: tokens.map(TokenFile::path),
            credentials: tokens.map(|_| credentials),
            body: match request {
                Request::Introspection => Some(("application/x-www-form-urlencoded", "token=*")),
                Request::Create => Some(("application/json", r#"{"name":"nightly"}"#)),
                _ => None,
            },
        }
    }

    /// Starts a bare handler that answers as this server does.
    async fn bare(&self, behind: &str, server: &Server, pair: &Pair) -> Server {
        let sent = self.sent(pair.request, pair.database);
        let url = format!("http://{}{}", server.address, sent.path);
        let token = sent.tokens.map(first_token).unwrap_or_default();
        let mut asked = match sent.body {
            Some((content_type, body)) => {
                let post = Client::new().post(url).header(CONTENT_TYPE, content_type);
                post.body(body.replace('*', &token))
            }
            None => Client::new().get(url),
        };
        if let Some(credentials) = &sent.credentials {
            asked = asked.header(AUTHORIZATION, credentials.replace('*', &token));
        }
        let answer = asked.send().await.expect("an answer");
        assert_eq!(answer.status().is_client_error(), pair.request.is_refused());
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.bytes().await.expect("a body");
        let set_anyway = headers_behind(behind).await;
        let headers = headers
            .into_iter()
            .filter_map(|(name, value)| Some((name?, value)));
        let to_set = headers.filter(|(name, _)| !set_anyway.contains_key(name));
        Server::bare(behind, status, &to_set.collect(), &body).await
    }

    async fn ask(&self, server: &Server, database: Database, pair: &Pair, time: Duration) -> Sample {
        let sent = self.sent(pair.request, database);
        match pair.rate {
            Rate::Full => wrk(server, &sent, pair.request.is_refused(), time).await,
            Rate::Steady(per_second) => {
                let tokens = sent.tokens.map(all_tokens).unwrap_or_default();
                steady(server, sent.path, tokens, per_second, time).await
            }
        }
    }

    /// Asks until every token was sent once, so that verifications are in memory, and then waits until their
    /// uses are written down.
    async fn warm_up(&self, server: &Server, pair: &Pair) {
        let sample = self.ask(server, pair.database, pair, WARM_UP).await;
        if let Some(tokens) = self.sent(pair.request, pair.database).tokens {
            let seconds = all_tokens(tokens).len() as f64 / sample.per_second + 1.0;
            let time = Duration::from_secs_f64(seconds.min(MOST_WARM_UP.as_secs_f64()));
            self.ask(server, pair.database, pair, time).await;
        }
        server.wait_until_idle().await;
    }

    /// Asks the server of a pair, to which something happens meanwhile.
    async fn ask_meanwhile(&self, server: &Server, pair: &Pair, time: Duration) -> Sample {
        let asked = self.ask(server, pair.database, pair, time);
        match pair.meanwhile {
            Meanwhile::Nothing => asked.await,
            Meanwhile::Revocations => tokio::join!(asked, self.revoke(server, time)).0,
            Meanwhile::Guesses => {
                let sent = Sent {
                    tokens: Some(self.guessed.path()),
                    ..self.sent(Request::User, pair.database)
                };
                tokio::join!(asked, guess(server, &sent, time)).0
            }
        }
    }

    /// Revokes one key after another for this long.
    async fn revoke(&self, server: &Server, time: Duration) {
        let (client, end) = (Client::new(), Instant::now() + time);
        let token = first_token(self.valid.path());
        let mut ticks = interval(REVOCATIONS);
        while ticks.tick().await < end {
            let number = self.revoked.fetch_add(1, Ordering::Relaxed) % TO_REVOKE + 1;
            let url = format!(
                "http://{}/api/v1/user/api-keys/{}",
                server.address,
                id_to_revoke(number)
            );
            let answer = client.delete(url).bearer_auth(&token).send().await;
            assert_eq!(answer.expect("an answer").status(), StatusCode::NO_CONTENT);
        }
    }

    /// What PostgreSQL does at best of a pair's requests.
    async fn pgbench(&self, pair: &Pair, time: Duration) -> Sample {
        let (script, variables) = match pair.request {
            Request::Create => (
                "create.sql",
                vec![
                    ("people", PEOPLE.to_string()),
                    ("organization", self.organization.clone()),
                ],
            ),
            _ => (
                "lookup.sql",
                vec![("digest", format!("\\x{}", digest(&well_formed(1))))],
            ),
        };
        let url = self.storage(pair.database).as_postgres().url();
        pgbench(url, script, &variables, time).await
    }
}

/// The headers that a bare handler need not set.
async fn headers_behind(server: &str) -> HeaderMap {
    let bare = Server::bare(server, StatusCode::OK, &HeaderMap::new(), b"any").await;
    let answer = Client::new().get(format!("http://{}", bare.address)).send().await;
    let headers = answer.expect("an answer").headers().clone();
    bare.end().await;
    headers
}

impl Request {
    const fn is_refused(self) -> bool {
        matches!(self, Self::Malformed)
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

    fn path(&self) -> &Path {
        &self.0
    }
}

fn all_tokens(file: &Path) -> Vec<String> {
    let tokens = std::fs::read_to_string(file).expect("the tokens");
    tokens.lines().map(str::to_owned).collect()
}

fn first_token(file: &Path) -> String {
    all_tokens(file).into_iter().next().expect("a token")
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(crate) async fn measure(pair: &Pair, scene: &Scene, options: &Options) -> (Samples, Samples) {
    let keyward = async |storage| {
        Server::keyward(storage, pair.cache, pair.meanwhile, &[&scene.verifier.option()]).await
    };
    let server = keyward(scene.storage(pair.database)).await;
    let against = match pair.against {
        Other::BareHandler => Some(scene.bare("poem", &server, pair).await),
        Other::BehindFrontDoor => Some(scene.bare("front-door", &server, pair).await),
        Other::Nginx => Some(Server::nginx().await),
        Other::FewKeys => Some(keyward(scene.storage(Database::Postgres)).await),
        Other::Pgbench | Other::Undisturbed => None,
    };
    let other = async |time| match pair.against {
        Other::Pgbench => scene.pgbench(pair, time).await,
        Other::BareHandler | Other::BehindFrontDoor | Other::Nginx | Other::FewKeys | Other::Undisturbed => {
            let other = against.as_ref().unwrap_or(&server);
            scene.ask(other, Database::Postgres, pair, time).await
        }
    };
    scene.warm_up(&server, pair).await;
    other(WARM_UP).await;
    let mut samples = (Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        let sample = scene.ask_meanwhile(&server, pair, options.time()).await;
        samples.0.add(sample);
        samples.1.add(other(options.time()).await);
    }
    for started in [Some(server), against].into_iter().flatten() {
        started.end().await;
    }
    samples
}

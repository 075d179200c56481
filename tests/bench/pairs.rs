//! Measures two in turn, A B A B …, so that other work of the machine affects both.

use std::sync::atomic::Ordering;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, StatusCode};
use tokio::time::{Instant, interval};

use crate::figures::{Sample, Samples};
use crate::installation::{PEOPLE, TO_REVOKE, digest, id_to_revoke};
use crate::load::{Sent, guess, pgbench, wrk};
use crate::options::Options;
use crate::process::Server;
use crate::rows::{Database, Meanwhile, Other, Pair, Rate, Request};
use crate::scene::{Scene, all_tokens, first_token};
use crate::steady::steady;
use crate::token::well_formed;

/// How long each is asked before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// How long each token is asked for at most before anything counts.
const MOST_WARM_UP: Duration = Duration::from_secs(60);

/// How often a key is revoked meanwhile.
const REVOCATIONS: Duration = Duration::from_millis(200);

impl Scene {
    /// Starts a bare handler that answers as this server does.
    async fn bare(&self, behind: &str, server: &Server, pair: &Pair) -> Server {
        let sent = self.sent(pair.request, pair.database, server);
        let url = format!("http://{}{}", server.address, sent.path);
        let token = sent.tokens.map(first_token).unwrap_or_default();
        let mut asked = match sent.body {
            Some((content_type, body)) => {
                let post = Client::new().post(url).header(CONTENT_TYPE, content_type);
                post.body(body.replace('*', &token))
            }
            None => Client::new().get(url),
        };
        if let Some((header, value)) = &sent.header {
            asked = asked.header(*header, value.replace('*', &token));
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
        let sent = self.sent(pair.request, database, server);
        match pair.rate {
            Rate::Full => wrk(server, &sent, pair.request.is_refused(), time).await,
            Rate::Steady(per_second) => {
                let tokens = sent.tokens.map(all_tokens).unwrap_or_default();
                steady(server, &sent.path, tokens, per_second, time).await
            }
        }
    }

    /// Asks until every token was sent once, so that verifications are in memory, and then waits until their
    /// uses are written down.
    async fn warm_up(&self, server: &Server, pair: &Pair) {
        let sample = self.ask(server, pair.database, pair, WARM_UP).await;
        if let Some(tokens) = self.sent(pair.request, pair.database, server).tokens {
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
                    ..self.sent(Request::User, pair.database, server)
                };
                tokio::join!(asked, guess(server, &sent, time)).0
            }
        }
    }

    /// Revokes one key after another for this long.
    async fn revoke(&self, server: &Server, time: Duration) {
        let (client, end) = (Client::new(), Instant::now() + time);
        let token = self.first_token();
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

    /// The best that PostgreSQL can do for a pair's requests.
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

    pub(crate) const fn is_of_console(self) -> bool {
        matches!(self, Self::AllKeys | Self::AllKeysFarBack | Self::AuditLog)
    }
}

pub(crate) async fn measure(pair: &Pair, scene: &Scene, options: &Options) -> (Samples, Samples) {
    let keyward = async |storage| {
        let option = scene.verifier.option();
        let mut server = Server::keyward(storage, pair.cache, pair.meanwhile, &[&option]).await;
        if pair.request.is_of_console() {
            server.sign_in().await;
        }
        server
    };
    let server = keyward(scene.storage(pair.database)).await;
    let against = match pair.against {
        Other::BareHandler => Some(scene.bare("poem", &server, pair).await),
        Other::BehindFrontDoor => Some(scene.bare("front-door", &server, pair).await),
        Other::Nginx => Some(Server::nginx().await),
        Other::FewKeys => Some(keyward(scene.storage(Database::PostgresWithFewKeys)).await),
        Other::Pgbench | Other::Undisturbed => None,
    };
    let other = async |time| match pair.against {
        Other::Pgbench => scene.pgbench(pair, time).await,
        Other::BareHandler | Other::BehindFrontDoor | Other::Nginx | Other::FewKeys | Other::Undisturbed => {
            let other = against.as_ref().unwrap_or(&server);
            let database = match pair.against {
                Other::FewKeys => Database::PostgresWithFewKeys,
                _ => pair.database,
            };
            scene.ask(other, database, pair, time).await
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

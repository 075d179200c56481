//! Clients of every server, which record all answers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyward_tests::history::{Act, Moment, Outcome, Request};
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, StatusCode};

use crate::installation::Keys;

/// How long a client waits for a verification: longer than a server may take that has lost its database.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(3);

/// How long for a revocation: longer than any may take.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Knows all servers and keys.
pub(crate) struct Clients {
    client: Client,
    servers: Vec<SocketAddr>,
    pub(crate) keys: Arc<Keys>,
    begin: Instant,
    requests: Mutex<Vec<Request>>,
}

impl Clients {
    pub(crate) fn of(servers: Vec<SocketAddr>, keys: Arc<Keys>) -> Self {
        Self {
            client: Client::new(),
            servers,
            keys,
            begin: Instant::now(),
            requests: Mutex::default(),
        }
    }

    pub(crate) fn servers(&self) -> usize {
        self.servers.len()
    }

    /// The time since the run began.
    pub(crate) fn now(&self) -> Moment {
        self.begin.elapsed()
    }

    /// Takes the recorded requests.
    pub(crate) fn take_requests(&self) -> Vec<Request> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut requests)
    }

    pub(crate) async fn verify(&self, server: usize, key: usize) -> Outcome {
        let url = format!("http://{}/api/v1/user", self.servers[server]);
        let request = self.client.get(url).bearer_auth(&self.keys.get(key).token);
        self.ask(server, key, Act::Verify, request.timeout(VERIFY_TIMEOUT))
            .await
    }

    pub(crate) async fn revoke(&self, server: usize, key: usize) -> Outcome {
        let (address, id) = (self.servers[server], &self.keys.get(key).id);
        let request = self
            .client
            .delete(format!("http://{address}/api/v1/user/api-keys/{id}"));
        let request = request.bearer_auth(&self.keys.owner().token);
        self.ask(server, key, Act::Revoke, request.timeout(REVOKE_TIMEOUT))
            .await
    }

    async fn ask(&self, server: usize, key: usize, act: Act, request: reqwest::RequestBuilder) -> Outcome {
        let begin = self.now();
        let answer = request.send().await;
        let end = self.now();
        let outcome = answer.map_or(Outcome::Unknown, |answer| match answer.status() {
            StatusCode::OK | StatusCode::NO_CONTENT => Outcome::Ok,
            StatusCode::UNAUTHORIZED => Outcome::Refused,
            StatusCode::SERVICE_UNAVAILABLE => Outcome::Failed {
                says_when: answer.headers().contains_key(RETRY_AFTER),
            },
            other => Outcome::Other(other.as_u16()),
        });
        let request = Request {
            server,
            key,
            act,
            begin,
            end,
            outcome,
        };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(request);
        outcome
    }
}

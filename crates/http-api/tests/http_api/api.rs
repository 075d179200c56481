//! A server that is running, and requests to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyward_front_door::{FrontDoor, FrontDoorConfig, Refused};
use keyward_http_api::{HttpApi, problem_response};
use poem::Endpoint;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use crate::answer::Answer;
use crate::documented::{self, Audience, Operation};
use crate::scene::{VERIFIER, VERIFIER_SECRET};

pub(crate) const API_KEYS: &str = "/api/v1/user/api-keys";
pub(crate) const PROJECTS: &str = "/api/v1/user/projects";
pub(crate) const USER: &str = "/api/v1/user";

pub(crate) struct Api {
    address: SocketAddr,
    client: Client,
}

impl Api {
    pub(crate) async fn start(api: HttpApi) -> Self {
        Self::start_with(api, |_| ()).await
    }

    pub(crate) async fn start_with(api: HttpApi, change: impl FnOnce(&mut FrontDoorConfig)) -> Self {
        let base_url = api.base_url.clone();
        Self::start_endpoint(api.endpoint(), |config| {
            config.error_pages = Arc::new(move |refused: &Refused<'_>| {
                problem_response(refused.reason.status(), refused.request_id, &base_url)
            });
            change(config);
        })
        .await
    }

    pub(crate) async fn start_endpoint(
        endpoint: impl Endpoint + 'static,
        change: impl FnOnce(&mut FrontDoorConfig),
    ) -> Self {
        let latest = AtomicU64::new(0);
        let mut config = FrontDoorConfig::new(Arc::new(move || {
            Uuid::from_u64_pair(0, latest.fetch_add(1, Ordering::SeqCst) + 1)
        }));
        // So that the API's own limit is the one that is tested.
        config.limits.body_bytes = 2 * 1024 * 1024;
        change(&mut config);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let front_door = FrontDoor::new(config).unwrap();
        tokio::spawn(front_door.serve(listener, endpoint, std::future::pending()));
        Self {
            address,
            client: Client::new(),
        }
    }

    pub(crate) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("http://{}{path}", self.address))
    }

    pub(crate) fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.anonymous(method, path)
            .header("authorization", format!("Bearer {token}"))
    }

    /// A request of an operation at this path that is about a token: sent with it, or by a verifier who asks
    /// about it.
    pub(crate) fn operation(&self, operation: &Operation, path: &str, token: &str) -> RequestBuilder {
        let method = operation.method.clone();
        match operation.audience() {
            Audience::KeyHolders => self.request(method, path, token),
            Audience::Public => self.anonymous(method, path),
            Audience::Verifiers => self
                .anonymous(method, path)
                .basic_auth(VERIFIER, Some(VERIFIER_SECRET))
                .form(&[("token", token)]),
        }
    }

    /// Sends a request, and compares the answer with the document.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let request = request.build().unwrap();
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = self.client.execute(request).await.unwrap();
        let answer = Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        };
        documented::check(&method, &path, &answer);
        answer
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        self.send(self.request(Method::GET, path, token)).await
    }

    pub(crate) async fn delete(&self, path: &str, token: &str) -> Answer {
        self.send(self.request(Method::DELETE, path, token)).await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path, token).json(body))
            .await
    }

    pub(crate) async fn patch(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.send(self.request(Method::PATCH, path, token).json(body))
            .await
    }

    /// Sends a body in any bytes, as JSON.
    pub(crate) async fn post_bytes(&self, token: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self
            .request(Method::POST, API_KEYS, token)
            .header("content-type", "application/json")
            .body(body.into());
        self.send(request).await
    }

    /// Sends a head that asks for permission to send the body, does something when it is given, and then
    /// sends the body. Returns everything that comes back after that.
    pub(crate) async fn send_late_body(&self, head: &str, body: &str, meanwhile: impl Future) -> String {
        let mut stream = self.permitted(head, body.len()).await;
        meanwhile.await;
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Sends a head and waits until the server wants its body.
    pub(crate) async fn permitted(&self, head: &str, length: usize) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head =
            format!("{head}connection: close\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut permission = [0; 25];
        stream.read_exact(&mut permission).await.unwrap();
        assert_eq!(permission, *b"HTTP/1.1 100 Continue\r\n\r\n");
        stream
    }

    /// Sends bytes and returns everything that comes back until the server closes, as text.
    pub(crate) async fn send_raw(&self, request: &[u8]) -> String {
        String::from_utf8(self.send_bytes(request).await).unwrap()
    }

    /// Sends bytes and returns everything that comes back until the server closes.
    pub(crate) async fn send_bytes(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The server may answer and close before it has read everything.
        _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        answer
    }
}

//! An API client such as a user would write.

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

/// Sends requests with one token.
#[derive(Clone)]
pub struct Api {
    client: Client,
    base_url: String,
    token: Option<String>,
}

impl Api {
    /// A client without a token.
    pub fn anonymous(base_url: &str) -> Self {
        Self {
            client: Client::new(),
            base_url: base_url.to_owned(),
            token: None,
        }
    }

    /// The same client with a token.
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    /// The token it sends.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// A request to a path below `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .client
            .request(method, format!("{}/api/v1{path}", self.base_url));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Creates a key and returns the whole answer.
    pub async fn create(&self, name: &str, description: &str) -> Value {
        let body = json!({ "name": name, "description": description });
        let request = self.request(Method::POST, "/user/api-keys").json(&body);
        expect(request.send().await.expect("an answer"), StatusCode::CREATED).await
    }

    /// Lists keys; `query` begins with `?` or is empty.
    pub async fn list(&self, query: &str) -> Value {
        self.get(&format!("/user/api-keys{query}")).await
    }

    /// The body of a GET; the resource must exist.
    pub async fn get(&self, path: &str) -> Value {
        expect(
            self.request(Method::GET, path).send().await.expect("an answer"),
            StatusCode::OK,
        )
        .await
    }

    /// Revokes a key.
    pub async fn delete(&self, id: &str) {
        let answer = self
            .request(Method::DELETE, &format!("/user/api-keys/{id}"))
            .send()
            .await;
        assert_eq!(answer.expect("an answer").status(), StatusCode::NO_CONTENT);
    }

    /// Whether the token is accepted.
    pub async fn is_accepted(&self) -> bool {
        let answer = self
            .request(Method::GET, "/user")
            .send()
            .await
            .expect("an answer");
        match answer.status() {
            StatusCode::OK => true,
            StatusCode::UNAUTHORIZED => false,
            other => panic!("neither accepted nor refused: {other}"),
        }
    }
}

/// The JSON of an answer, which must have this status.
pub async fn expect(answer: Response, status: StatusCode) -> Value {
    let actual = answer.status();
    let text = answer.text().await.expect("a body");
    assert_eq!(actual, status, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
}

/// A string of a JSON object.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text `{field}` in {value}"))
}

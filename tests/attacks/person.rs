//! A person who revokes, in a browser without JavaScript or with a key.

use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode};

/// How long a person waits for a response.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// The duration of the slower answer, or an error.
pub(crate) type Answered = Result<Duration, String>;

/// A person with an address, a browser and perhaps a key. Each request has a connection of its own.
pub(crate) struct Person {
    client: Client,
    base_url: String,
    username: &'static str,
    password: &'static str,
    token: String,
    /// Names and values; the last value of each name counts.
    cookies: Mutex<Vec<(String, String)>>,
}

impl Person {
    pub(crate) fn new(
        base_url: &str,
        address: Ipv4Addr,
        (username, password): (&'static str, &'static str),
        token: &str,
    ) -> Self {
        let client = Client::builder()
            .local_address(Some(address.into()))
            .pool_max_idle_per_host(0)
            .redirect(Policy::none())
            .timeout(TIMEOUT)
            .build()
            .expect("a client");
        Self {
            client,
            base_url: base_url.to_owned(),
            username,
            password,
            token: token.to_owned(),
            cookies: Mutex::new(Vec::new()),
        }
    }

    pub(crate) async fn sign_in(&self) -> Answered {
        let fields = [("username", self.username), ("password", self.password)];
        let (took, answer) = self.post("/sign-in", &fields).await?;
        expect(StatusCode::SEE_OTHER, answer).await?;
        Ok(took)
    }

    /// Revokes an own key on its page.
    pub(crate) async fn revoke_own(&self, slug: &str, id: &str) -> Answered {
        let path = format!("/organizations/{slug}/settings/api-keys/{id}/revoke");
        let (looked, user) = self.look(&path).await?;
        let fields = [("user", user.as_str()), ("confirm", "yes")];
        let (took, answer) = self.post(&path, &fields).await?;
        expect(StatusCode::SEE_OTHER, answer).await?;
        Ok(took.max(looked))
    }

    /// Revokes a member's key as the owner.
    pub(crate) async fn revoke_of_member(&self, slug: &str, id: &str) -> Answered {
        let path = format!("/organizations/{slug}/settings/api-keys/all/revoke");
        let key = format!("key-{id}");
        let (looked, user) = self.look(&format!("{path}?{key}=on")).await?;
        let fields = [
            ("user", user.as_str()),
            (key.as_str(), "on"),
            ("note", "in the wrong hands"),
            ("confirm", "yes"),
        ];
        let (took, answer) = self.post(&path, &fields).await?;
        expect(StatusCode::SEE_OTHER, answer).await?;
        Ok(took.max(looked))
    }

    /// Revokes an own key through the API; `query` begins with `?` or is empty.
    pub(crate) async fn delete(&self, id: &str, query: &str) -> Answered {
        let (took, answer) = self.api(Method::DELETE, &format!("/{id}{query}")).await?;
        expect(StatusCode::NO_CONTENT, answer).await?;
        Ok(took)
    }

    /// Whether an own key is revoked.
    pub(crate) async fn is_revoked(&self, id: &str) -> Result<bool, String> {
        let (_, answer) = self.api(Method::GET, &format!("/{id}")).await?;
        let key = expect(StatusCode::OK, answer).await?;
        Ok(key.contains("\"status\":\"revoked\""))
    }

    async fn api(&self, method: Method, path: &str) -> Result<(Duration, Response), String> {
        let url = format!("{}/api/v1/user/api-keys{path}", self.base_url);
        let request = self.client.request(method, url).bearer_auth(&self.token);
        timed(request).await
    }

    /// Loads a page; returns also whose page it is, which its forms say.
    async fn look(&self, path: &str) -> Result<(Duration, String), String> {
        let request = self.client.get(format!("{}{path}", self.base_url));
        let (took, answer) = timed(request.header(COOKIE, self.cookies())).await?;
        let page = expect(StatusCode::OK, answer).await?;
        let user = page
            .split_once("name=\"user\" value=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        let (user, _) = user.ok_or_else(|| format!("{path}: its forms have no user"))?;
        Ok((took, user.to_owned()))
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Result<(Duration, Response), String> {
        let request = self.client.post(format!("{}{path}", self.base_url));
        let request = request
            .header("sec-fetch-site", "same-origin")
            .header(COOKIE, self.cookies())
            .form(fields);
        let (took, answer) = timed(request).await?;
        self.keep_cookies(&answer);
        Ok((took, answer))
    }

    fn cookies(&self) -> String {
        let cookies = self
            .cookies
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let pairs: Vec<_> = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    fn keep_cookies(&self, answer: &Response) {
        let mut cookies = self
            .cookies
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        for header in answer.headers().get_all(SET_COOKIE) {
            let header = header.to_str().unwrap_or_default();
            let pair = header.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                cookies.retain(|(kept, _)| kept != name);
                cookies.push((name.to_owned(), value.to_owned()));
            }
        }
    }
}

/// From the request to the whole head of its answer; the body of an answer that is wanted is short.
async fn timed(request: reqwest::RequestBuilder) -> Result<(Duration, Response), String> {
    let begin = Instant::now();
    match request.send().await {
        Ok(answer) => Ok((begin.elapsed(), answer)),
        Err(error) if error.is_timeout() => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
        Err(error) => Err(format!("no answer: {error:?}")),
    }
}

/// The body of an answer that must have this status.
async fn expect(status: StatusCode, answer: Response) -> Result<String, String> {
    let path = answer.url().path().to_owned();
    let actual = answer.status();
    let body = answer
        .text()
        .await
        .map_err(|error| format!("{path}: {error:?}"))?;
    if actual == status {
        return Ok(body);
    }
    // Of a page its title, of a problem the whole.
    let title = body
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    let said = title.map_or(body.as_str(), |(title, _)| title);
    Err(format!("{path} answered {actual}: {said}"))
}

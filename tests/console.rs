//! The console as a browser without JavaScript sees it: pages, forms and one cookie.

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};

use crate::api::Api;
use crate::keyward::{Keyward, OWNER_PASSWORD};

/// A signed-in user.
pub struct PlainConsole {
    client: Client,
    base_url: String,
    cookie: String,
    /// The value of the hidden field that says whose page a form is on.
    user: String,
    keys_page: String,
}

impl PlainConsole {
    /// Signs the first owner in.
    pub async fn sign_in_owner(keyward: &Keyward) -> Self {
        Self::sign_in(keyward.base_url(), "ada", OWNER_PASSWORD).await
    }

    /// Signs a user in who belongs to one organization.
    pub async fn sign_in(base_url: &str, username: &str, password: &str) -> Self {
        let client = Client::builder()
            .redirect(Policy::none())
            .build()
            .expect("a client");
        let mut console = Self {
            client,
            base_url: base_url.to_owned(),
            cookie: String::new(),
            user: String::new(),
            keys_page: String::new(),
        };
        let answer = console
            .post("/sign-in", &[("username", username), ("password", password)])
            .await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "sign-in");
        let cookie = answer.headers()[SET_COOKIE].to_str().expect("text");
        console.cookie = cookie.split(';').next().expect("a cookie").to_owned();
        let account = console.get("/account").await;
        console.user = hidden_value(&account, "user").expect("the user of a form");
        console.keys_page = console.keys_page().await;
        console
    }

    /// The identifier of the user in the forms of the pages.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The session cookie, as the browser sends it.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Creates the person's first key, named `first`, and returns a client that uses it.
    pub async fn api_with_first_key(&self) -> Api {
        let page = self.create_key("first").await;
        Api::anonymous(&self.base_url).with_token(&token_in(&page).expect("a token on the page"))
    }

    /// Fills the form in and sends it; returns the page that answers.
    pub async fn create_key(&self, name: &str) -> String {
        let form_page = format!("{}/new", self.keys_page);
        let idempotency_key = hidden_value(&self.get(&form_page).await, "idempotency_key")
            .expect("an idempotency key in the form");
        let answer = self
            .post(
                &form_page,
                &[
                    ("idempotency_key", idempotency_key.as_str()),
                    ("name", name),
                    ("description", ""),
                ],
            )
            .await;
        assert_eq!(answer.status(), StatusCode::OK, "creating a key");
        answer.text().await.expect("a page")
    }

    /// Fills in the form of a new project; returns the address of the project's page.
    pub async fn create_project(&self, form_page: &str, name: &str) -> String {
        let idempotency_key = hidden_value(&self.get(form_page).await, "idempotency_key")
            .expect("an idempotency key in the form");
        let fields = [("idempotency_key", idempotency_key.as_str()), ("name", name)];
        self.submit(form_page, &fields).await
    }

    /// Creates a project in the organization `engines`, and adds its owner, whose console it is.
    pub async fn join_new_project(&self, name: &str) {
        let form = "/organizations/engines/settings/projects/new";
        let project = self.create_project(form, name).await;
        let page = self.get(&project).await;
        let member = hidden_value(&page, "member").expect("a button that adds the owner");
        let project = project.split('?').next().expect("an address");
        self.submit(&format!("{project}/add-members"), &[("member", &member)])
            .await;
    }

    /// Sends a form, and returns the address that the answer leads to.
    pub async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.post(path, fields).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
        let location = answer.headers()[LOCATION].to_str().expect("text");
        location.to_owned()
    }

    /// Follows the way from the front page to the keys.
    async fn keys_page(&self) -> String {
        let mut path = "/".to_owned();
        for _ in 0..5 {
            let answer = self
                .client
                .get(self.url(&path))
                .header(COOKIE, &self.cookie)
                .send()
                .await;
            let answer = answer.expect("an answer");
            if answer.status() == StatusCode::OK {
                return path;
            }
            path = answer.headers()[LOCATION].to_str().expect("text").to_owned();
        }
        panic!("the front page leads in circles: {path}");
    }

    /// The body of a page; it must exist.
    pub async fn get(&self, path: &str) -> String {
        let answer = self
            .client
            .get(self.url(path))
            .header(COOKIE, &self.cookie)
            .send()
            .await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.text().await.expect("a page")
    }

    /// Sends a form as a page of the console does.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let user = Some(("user", self.user())).filter(|(_, user)| !user.is_empty());
        let fields: Vec<_> = user.into_iter().chain(fields.iter().copied()).collect();
        let request = self.client.post(self.url(path)).header(COOKIE, &self.cookie);
        request
            .header("sec-fetch-site", "same-origin")
            .form(&fields)
            .send()
            .await
            .expect("an answer")
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }
}

/// The token that a page shows, if it shows one.
pub fn token_in(page: &str) -> Option<String> {
    const LENGTH: usize = 42;
    page.match_indices("kwp_")
        .filter_map(|(start, _)| page.get(start..start + LENGTH))
        .find(|token| token[4..].bytes().all(|b| b.is_ascii_alphanumeric()))
        .map(ToOwned::to_owned)
}

/// The value of the hidden field with this name.
pub fn hidden_value(page: &str, name: &str) -> Option<String> {
    let tag = page
        .split("<input type=\"hidden\" name=\"")
        .find(|tag| tag.strip_prefix(name).is_some_and(|rest| rest.starts_with('"')))?;
    tag.split("value=\"")
        .nth(1)?
        .split('"')
        .next()
        .map(ToOwned::to_owned)
}

//! Two organizations, the people in and around them, and their requests.

use std::collections::BTreeMap;
use std::path::Path;

use reqwest::header::{AUTHORIZATION, COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::answers::{describe, is};
use super::rows::{Answer, On, Row};
use super::visitors::Visitor;
use keyward_tests::api::{Api, text};
use keyward_tests::console::{PlainConsole, hidden_value};
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};
use keyward_tests::storage::Storage;
use keyward_tests::verifiers::Verifier;

const PASSWORD: &str = "seven slow boats sail";
pub(super) const SETTINGS: &str = "/organizations/engines/settings";

/// A user with a session and a key.
pub(super) struct Person {
    pub(super) console: PlainConsole,
    pub(super) api: Api,
}

/// A running server with all that the table speaks of.
pub(super) struct World {
    keyward: Keyward,
    verifier: Verifier,
    client: Client,
    pub(super) member: Person,
    pub(super) owner: Person,
    pub(super) stranger: Person,
    former: Person,
    key_of_api: String,
    own_key: String,
    held_key: String,
    pub(super) project: String,
    bystander: String,
    invitation: String,
    /// The secret in the link of an invitation that was made before the former member was removed.
    link: String,
    session: String,
    idempotency_key: String,
    version: String,
    asset: String,
}

impl World {
    pub(super) async fn with_two_organizations() -> Self {
        let verifier = Verifier::create("service").await;
        let options = [&*verifier.option(), &github_keys()];
        let keyward = Keyward::serve(Storage::embedded(), &options).await;
        let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
        keyward.command(bootstrap, OWNER_PASSWORD).await;
        for (organization, options) in [
            ("engines", "--username grace"),
            ("engines", "--username alan"),
            ("engines", "--username mary"),
        ] {
            create_user(&keyward, organization, options).await;
        }
        let create = "admin create-organization --name Observatory --owner ada";
        keyward.command(create, "").await;
        create_user(&keyward, "observatory", "--role owner --username eve").await;
        let leave = "admin remove-member --organization observatory --username ada";
        keyward.command(leave, "").await;

        let owner = Person::arrives(&keyward, "ada", OWNER_PASSWORD).await;
        let member = Person::arrives(&keyward, "grace", PASSWORD).await;
        let stranger = Person::arrives(&keyward, "eve", PASSWORD).await;
        let former = Person::arrives(&keyward, "mary", PASSWORD).await;
        let page = invite(&owner.console, "Whoever has the link").await;
        let link = secret_after(&page, "/join?token=").expect("a link");
        let leave = "admin remove-member --organization engines --username mary";
        keyward.command(leave, "").await;

        let created = [
            member.api.create("changed by the API", "").await,
            member.api.create("changed by its holder", "").await,
            member.api.create("changed by the owner", "").await,
        ];
        let [key_of_api, own_key, held_key] = created.map(|key| text(&key, "id").to_owned());
        let project = project_with(&owner.console, "grace").await;
        let page = owner
            .console
            .get(&format!("{SETTINGS}/members?search=alan"))
            .await;
        let bystander = id_after(&page, "/settings/members/").expect("alan");
        invite(&owner.console, "A colleague").await;
        let page = owner
            .console
            .get(&format!("{SETTINGS}/members/invitations"))
            .await;
        let invitation = id_after(&page, "/settings/members/invitations/").expect("an invitation");
        PlainConsole::sign_in(keyward.base_url(), "grace", PASSWORD).await;
        let page = member.console.get("/account").await;
        let session = id_after(&page, "/account/sessions/").expect("another session");
        let page = member.console.get(&format!("{SETTINGS}/api-keys/new")).await;
        let idempotency_key = hidden_value(&page, "idempotency_key").expect("an idempotency key in the form");
        let edit = member
            .console
            .get(&format!("{SETTINGS}/api-keys/{own_key}/edit"))
            .await;
        let version = hidden_value(&edit, "version").expect("a version in the form");
        let asset = page
            .split("\"/assets/")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        Self {
            client: Client::builder()
                .redirect(Policy::none())
                .build()
                .expect("a client"),
            keyward,
            verifier,
            member,
            owner,
            stranger,
            former,
            key_of_api,
            own_key,
            held_key,
            project,
            bystander,
            invitation,
            link,
            session,
            idempotency_key,
            version,
            asset: asset.expect("an asset").to_owned(),
        }
    }

    /// Asks as a visitor, and notes an answer that is not the expected.
    pub(super) async fn expect(
        &self,
        row: &Row,
        visitor: Visitor,
        expected: Answer,
        wrong: &mut Vec<String>,
    ) {
        let request = self
            .request(row, "engines", visitor)
            .header("sec-fetch-site", "same-origin");
        let answer = self.as_visitor(row, request, visitor).send().await;
        let answer = answer.expect("an answer");
        if !is(expected, &answer) {
            wrong.push(describe(
                row,
                &format!("{visitor:?}"),
                &format!("{expected:?}"),
                &answer,
            ));
        }
    }

    /// Asks for an object of the one organization at the addresses of the other, whose owner may ask for all
    /// of theirs.
    pub(super) async fn expect_stranger_at_home_finds_nothing(&self, row: &Row, wrong: &mut Vec<String>) {
        let answer = self.stranger_asks_at_home(row).await;
        if !is(Answer::NotFound, &answer) {
            wrong.push(describe(row, "Stranger at home", "NotFound", &answer));
        }
    }

    pub(super) async fn stranger_asks_at_home(&self, row: &Row) -> Response {
        let request = self
            .request(row, "observatory", Visitor::Stranger)
            .header("sec-fetch-site", "same-origin");
        let request = self.as_visitor(row, request, Visitor::Stranger);
        request.send().await.expect("an answer")
    }

    /// Sends the form from another site's page, where the browser sends the session along.
    pub(super) async fn expect_cross_site_is_refused(
        &self,
        row: &Row,
        visitor: Visitor,
        wrong: &mut Vec<String>,
    ) {
        let request = self
            .request(row, "engines", visitor)
            .header("sec-fetch-site", "cross-site");
        let answer = self.as_visitor(row, request, visitor).send().await;
        let answer = answer.expect("an answer");
        let expected = match visitor {
            // A bearer token never reaches the console.
            Visitor::SessionInsteadOfKey => 404,
            _ => 403,
        };
        if answer.status() != expected {
            wrong.push(describe(
                row,
                &format!("{visitor:?}, cross-site"),
                &expected.to_string(),
                &answer,
            ));
        }
    }

    fn request(&self, row: &Row, organization: &str, visitor: Visitor) -> RequestBuilder {
        let id = match row.on {
            On::Nothing => "",
            On::Asset => &self.asset,
            On::KeyOfApi => &self.key_of_api,
            On::OwnKey => &self.own_key,
            On::HeldKey => &self.held_key,
            On::Project => &self.project,
            On::Bystander => &self.bystander,
            On::Invitation => &self.invitation,
            On::Session => &self.session,
        };
        let path = row.path.replace(":slug", organization);
        let path = [":id", ":name", "{id}"]
            .iter()
            .fold(path, |path, name| path.replace(name, id));
        let mut fields: BTreeMap<String, String> = row
            .fields
            .iter()
            .map(|(name, value)| (self.filled_in(name, visitor), self.filled_in(value, visitor)))
            .collect();
        if row.method == "POST" && !is_of_api(row) {
            let user = self.person(visitor).unwrap_or(&self.owner).console.user();
            fields.insert("user".to_owned(), user.to_owned());
        }
        let method = Method::from_bytes(row.method.as_bytes()).expect("a method");
        let mut address = format!("{}{path}", self.keyward.base_url());
        if let ("/join", Some(secret)) = (row.path, fields.get("token").filter(|_| row.method == "GET")) {
            // Where the browser has it once the link was opened.
            let cookie = format!("invitation={secret}");
            return self.client.request(method, address).header(COOKIE, cookie);
        }
        if row.method == "GET" && !fields.is_empty() {
            // Nothing that is asked for in a query needs escaping.
            let query: Vec<_> = fields
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            address = format!("{address}?{}", query.join("&"));
        }
        let request = self.client.request(method, address);
        match (row.method, is_of_api(row)) {
            ("GET" | "DELETE", _) => request,
            (_, true) if row.path != "/api/v1/introspect" => request.json(&json_object(&fields)),
            _ => request.form(&fields),
        }
    }

    fn filled_in(&self, text: &str, visitor: Visitor) -> String {
        text.replace("{held key}", &self.held_key)
            .replace("{bystander}", &self.bystander)
            .replace("{idempotency_key}", &self.idempotency_key)
            .replace("{version}", &self.version)
            .replace("{link}", &self.link)
            .replace("{username}", visitor.username())
    }

    fn person(&self, visitor: Visitor) -> Option<&Person> {
        match visitor {
            Visitor::Member => Some(&self.member),
            Visitor::Owner => Some(&self.owner),
            Visitor::Stranger => Some(&self.stranger),
            Visitor::FormerMember => Some(&self.former),
            Visitor::Anonymous
            | Visitor::Verifier
            | Visitor::KeyInsteadOfSession
            | Visitor::SessionInsteadOfKey => None,
        }
    }

    fn as_visitor(&self, row: &Row, request: RequestBuilder, visitor: Visitor) -> RequestBuilder {
        let Some(person) = self.person(visitor) else {
            return self.as_no_person(row, request, visitor);
        };
        if is_of_api(row) {
            request.header(AUTHORIZATION, format!("Bearer {}", person.key()))
        } else {
            request.header(COOKIE, person.console.cookie())
        }
    }

    fn as_no_person(&self, row: &Row, request: RequestBuilder, visitor: Visitor) -> RequestBuilder {
        match visitor {
            Visitor::Verifier => request.basic_auth(self.verifier.name, Some(&self.verifier.secret)),
            Visitor::KeyInsteadOfSession => {
                let key = self.owner.key();
                // The API takes a key from another header only, and the console none.
                request.header(COOKIE, format!("session={key}"))
            }
            Visitor::SessionInsteadOfKey => {
                let cookie = self.owner.console.cookie();
                let session = cookie.strip_prefix("session=").expect("the cookie's name");
                let request = request.bearer_auth(session);
                // The console takes a session from nowhere but this header.
                if is_of_api(row) {
                    request.header(COOKIE, cookie)
                } else {
                    request
                }
            }
            _ => request,
        }
    }
}

impl Person {
    async fn arrives(keyward: &Keyward, username: &str, password: &str) -> Self {
        let console = PlainConsole::sign_in(keyward.base_url(), username, password).await;
        let api = console.api_with_first_key().await;
        Self { console, api }
    }

    fn key(&self) -> &str {
        self.api.token().expect("a token")
    }
}

/// The option for GitHub's keys, whose private halves are not known: without any key, the path for GitHub would
/// not exist.
fn github_keys() -> String {
    let key = "-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEv9N+dLxuiXI2fuSp2KtsIUExhuvg\n\
        5DaltFQYaijfhFynk2NLCruPJ+gDTNF4SPs04/i06MQadeQo3J4eOXzbqg==\n\
        -----END PUBLIC KEY-----\n";
    let keys = json!({"public_keys": [{"key_identifier": "one", "key": key, "is_current": true}]});
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("github-keys.json");
    std::fs::write(&file, keys.to_string()).expect("a file");
    format!("--github-keys={}", file.display())
}

async fn create_user(keyward: &Keyward, organization: &str, options: &str) {
    let command = format!("admin create-user --organization {organization} {options} --password-stdin");
    keyward.command(&command, PASSWORD).await;
}

/// Makes a project with one member; returns its identifier.
async fn project_with(owner: &PlainConsole, username: &str) -> String {
    let projects = format!("{SETTINGS}/projects");
    let page = owner
        .create_project(&format!("{projects}/new"), "Difference Engine")
        .await;
    let id = id_after(&page, "/settings/projects/").expect("a project");
    let add = format!("{projects}/{id}/add-members");
    let found = owner.get(&format!("{add}?search={username}")).await;
    let member = hidden_value(&found, "member").expect("the member is found");
    owner.submit(&add, &[("member", &member)]).await;
    id
}

/// Makes an invitation; returns the page that shows the link.
async fn invite(owner: &PlainConsole, invitee: &str) -> String {
    let path = format!("{SETTINGS}/members/invite");
    let idempotency_key =
        hidden_value(&owner.get(&path).await, "idempotency_key").expect("an idempotency key in the form");
    let fields = [
        ("idempotency_key", &*idempotency_key),
        ("invitee", invitee),
        ("role", "member"),
    ];
    let answer = owner.post(&path, &fields).await;
    answer.text().await.expect("a page")
}

/// The text after these words, up to the end of its attribute.
fn secret_after(page: &str, words: &str) -> Option<String> {
    let (_, rest) = page.split_once(words)?;
    let (secret, _) = rest.split_once('"')?;
    Some(secret.to_owned())
}

/// The first identifier that follows these words.
fn id_after(page: &str, words: &str) -> Option<String> {
    const LENGTH: usize = 36;
    page.match_indices(words)
        .filter_map(|(at, _)| page.get(at + words.len()..at + words.len() + LENGTH))
        .find(|id| id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
        .map(ToOwned::to_owned)
}

fn json_object(fields: &BTreeMap<String, String>) -> Value {
    let value =
        |text: &String| -> Value { serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()) };
    fields
        .iter()
        .map(|(name, text)| (name.clone(), value(text)))
        .collect()
}

fn is_of_api(row: &Row) -> bool {
    row.path.starts_with("/api/")
}

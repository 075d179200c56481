//! Two members of one organization, each with a key from the console.

use std::sync::Arc;

use keyward_domain::administration::Authority;
use keyward_domain::api_key::{KeyDescription, KeyName};
use keyward_domain::audit::{AuditEvent, RequestSource};
use keyward_domain::current::Current;
use keyward_domain::keys::KeyDraft;
use keyward_domain::leaked_keys::RevokeLeakedKeys;
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::Organization;
use keyward_domain::ports::KeyLimits;
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::testing::TestInstallation;
use keyward_domain::verifier::{VerifierName, VerifierSecretDigest, Verifiers};
use keyward_http_api::{BaseUrl, HttpApi, RateLimits};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::api::{API_KEYS, Api};

/// The name of the one verifier.
pub(crate) const VERIFIER: &str = "orders-service";
/// Its secret, which no client encodes as it is.
pub(crate) const VERIFIER_SECRET: &str = "50% off + more: ü";

pub(crate) struct Scene {
    pub(crate) api: Api,
    pub(crate) installation: TestInstallation,
    pub(crate) organization: Organization,
    pub(crate) ada: Person,
    pub(crate) grace: Person,
}

/// A member with a key.
pub(crate) struct Person {
    pub(crate) member: Member,
    pub(crate) token: String,
    pub(crate) key_id: String,
}

impl Person {
    pub(crate) fn key_path(&self) -> String {
        format!("{API_KEYS}/{}", self.key_id)
    }
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with_limits(KeyLimits::default()).await
    }

    pub(crate) async fn with_limits(limits: KeyLimits) -> Self {
        let installation = TestInstallation {
            limits,
            ..TestInstallation::new()
        };
        let organization = installation.organization("Analytical Engines");
        let ada = person(&installation, &organization, "ada").await;
        let grace = person(&installation, &organization, "grace").await;
        let api = Api::start(http_api(&installation)).await;
        Self {
            api,
            installation,
            organization,
            ada,
            grace,
        }
    }

    /// A key that ada creates through the API with one of her tokens.
    pub(crate) async fn create(&self, token: &str, name: &str) -> Value {
        let answer = self.api.post(API_KEYS, token, &json!({"name": name})).await;
        answer.ok(201)
    }

    /// The token of a key that ada created and revoked.
    pub(crate) async fn revoked_token(&self) -> String {
        let key = self.create(&self.ada.token, "revoked").await;
        let token = key["key"].as_str().unwrap();
        let current = format!("{API_KEYS}/current");
        self.api.delete(&current, token).await.ok(204);
        token.to_owned()
    }

    /// A key that ada creates in the console.
    pub(crate) async fn create_in_console(&self, name: &str, description: &str) -> String {
        let draft = KeyDraft {
            description: KeyDescription::parse(description).unwrap(),
            ..KeyDraft::named(KeyName::parse(name).unwrap())
        };
        let holder = self.ada.member.as_holder();
        let keys = self.installation.keys();
        let issued = keys.issue(&holder, draft, None, RequestSource::default()).await;
        issued.unwrap().key.id.to_string()
    }

    /// The authority that changes projects.
    pub(crate) const fn authority(&self) -> Authority {
        Authority::of_administrator(self.organization.id)
    }

    /// A project without members.
    pub(crate) async fn project(&self, name: &str) -> Project {
        let name = ProjectName::parse(name).unwrap();
        let projects = self.installation.projects();
        projects
            .create(&self.authority(), name, None, RequestSource::default())
            .await
            .unwrap()
    }

    /// A project that one person is a member of.
    pub(crate) async fn project_of(&self, person: &Person, name: &str) -> Project {
        let project = self.project(name).await;
        self.installation
            .projects()
            .add_member(
                &self.authority(),
                project.id,
                person.member.membership.id,
                RequestSource::default(),
            )
            .await
            .unwrap();
        project
    }

    /// The names on each page of one of ada's lists, two to a page. Its pages continue by cursor and by link.
    pub(crate) async fn pages(&self, list: &str, query: &str) -> Vec<String> {
        let mut path = format!("{list}?limit=2{query}");
        let mut seen = Vec::new();
        loop {
            let answer = self.api.get(&path, &self.ada.token).await;
            let page = answer.ok(200);
            seen.push(names(&page).join(", "));
            let Some(cursor) = page["nextCursor"].as_str() else {
                assert_eq!(answer.header("link"), None);
                return seen;
            };
            path = format!("{list}?limit=2&cursor={cursor}");
            let link = format!("<{path}>; rel=\"next\"");
            assert_eq!(answer.header("link"), Some(link.as_str()));
        }
    }

    pub(crate) fn last_event(&self) -> AuditEvent {
        self.installation.store.events().pop().unwrap()
    }
}

/// The API over an installation: tests that need another part replace that one only.
pub(crate) fn http_api(installation: &TestInstallation) -> HttpApi {
    HttpApi {
        authenticate: installation.authenticate(),
        keys: installation.keys(),
        projects: Arc::new(installation.store.clone()),
        verifiers: Some(Arc::new(Current::new(verifiers()))),
        leaks: leaks(installation),
        github_keys: None,
        base_url: BaseUrl::default(),
        rate_limits: RateLimits::default(),
    }
}

fn leaks(installation: &TestInstallation) -> RevokeLeakedKeys {
    let store = Arc::new(installation.store.clone());
    RevokeLeakedKeys::new(
        Arc::clone(&store) as _,
        store,
        installation.builder.sources.clone(),
    )
}

fn verifiers() -> Verifiers {
    let digest = hex::encode(Sha256::digest(VERIFIER_SECRET));
    let mut verifiers = Verifiers::default();
    verifiers.add(
        VerifierName::parse(VERIFIER).unwrap(),
        VerifierSecretDigest::from_hex(&digest).unwrap(),
    );
    verifiers
}

async fn person(installation: &TestInstallation, organization: &Organization, username: &str) -> Person {
    let member = installation.member(organization, username, Role::Member);
    let issued = installation.issue(&member.as_holder(), "console").await;
    Person {
        member,
        token: issued.token.expose().to_owned(),
        key_id: issued.key.id.to_string(),
    }
}

/// The member `name` of each item of a page.
pub(crate) fn names(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["name"].as_str().unwrap()).collect()
}

//! `POST /api/v1/leaked-keys/github`: GitHub's secret scanning reports tokens, signed.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::current::Current;
use keyward_domain::ports::ApiKeys;
use keyward_domain::token::Token;
use keyward_front_door::FrontDoorConfig;
use keyward_http_api::{GitHubKeys, HttpApi, RateLimits};
use keyward_rate_limits::{Elapsed, FailedAuthentications, Quota};
use reqwest::Method;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::api::{API_KEYS, Api, USER};
use crate::leaked_keys::revoking_one_key;
use crate::scene::{Scene, http_api};

pub(crate) const GITHUB: &str = "/api/v1/leaked-keys/github";
pub(crate) const IDENTIFIER: &str = "bcb53661c06b4728e59d897fb6165d5c9cda0fd9cdf9d09ead458168deb7518c";

/// The bytes before the point in the DER of a P-256 key.
const DER_PREFIX: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";

/// Signs reports as GitHub does.
pub(crate) struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    fn pem(&self) -> String {
        let mut der = hex::decode(DER_PREFIX).unwrap();
        der.extend(self.0.public_key().as_ref());
        let text = STANDARD.encode(der);
        let (first, second) = text.split_at(64);
        format!("-----BEGIN PUBLIC KEY-----\n{first}\n{second}\n-----END PUBLIC KEY-----\n")
    }

    /// This one's key and an older one, as GitHub serves them.
    fn known(&self) -> Arc<Current<GitHubKeys>> {
        let old = json!({"key_identifier": "old", "key": Self::new().pem(), "is_current": false});
        let new = json!({"key_identifier": IDENTIFIER, "key": self.pem(), "is_current": true});
        let file = json!({"public_keys": [old, new]}).to_string();
        Arc::new(Current::new(GitHubKeys::parse(file.as_bytes()).unwrap()))
    }

    pub(crate) fn sign(&self, body: &str) -> String {
        let signature = self.0.sign(&SystemRandom::new(), body.as_bytes()).unwrap();
        STANDARD.encode(signature)
    }
}

pub(crate) struct GitHub {
    pub(crate) scene: Scene,
    pub(crate) api: Api,
    pub(crate) signer: Signer,
}

impl GitHub {
    pub(crate) async fn new() -> Self {
        Self::with(RateLimits::default(), |_| ()).await
    }

    /// An address may fail once a minute.
    pub(crate) async fn limited(change: impl FnOnce(&mut FrontDoorConfig)) -> Self {
        Self::limited_by(Arc::new(Duration::default), change).await
    }

    /// The same, by this clock.
    pub(crate) async fn limited_by(clock: Elapsed, change: impl FnOnce(&mut FrontDoorConfig)) -> Self {
        let quota: Quota = "1/1m".parse().unwrap();
        let failures = FailedAuthentications::new(quota, clock);
        let rate_limits = RateLimits {
            failed_authentications: Some(Arc::new(failures)),
            ..RateLimits::default()
        };
        Self::with(rate_limits, change).await
    }

    /// Clients are where the header says, as behind a trusted proxy.
    async fn with(rate_limits: RateLimits, change: impl FnOnce(&mut FrontDoorConfig)) -> Self {
        let scene = Scene::new().await;
        let signer = Signer::new();
        let api = HttpApi {
            github_keys: Some(signer.known()),
            rate_limits,
            ..http_api(&scene.installation)
        };
        let api = Api::start_with(api, |config| {
            config.trusted_proxies.networks = vec!["127.0.0.0/8".parse().unwrap()];
            change(config);
        })
        .await;
        Self { scene, api, signer }
    }

    pub(crate) async fn report(&self, body: &str) -> Answer {
        let signature = self.signer.sign(body);
        self.send(body, &[(KEY, IDENTIFIER), (SIGNATURE, &signature)])
            .await
    }

    pub(crate) async fn send(&self, body: &str, headers: &[(&'static str, &str)]) -> Answer {
        let mut request = self.api.anonymous(Method::POST, GITHUB).body(body.to_owned());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.api
            .send(request.header("content-type", "application/json"))
            .await
    }
}

pub(crate) const KEY: &str = "Github-Public-Key-Identifier";
pub(crate) const SIGNATURE: &str = "Github-Public-Key-Signature";

pub(crate) fn found(token: &str) -> Value {
    json!({"token": token, "type": "keyward_api_key", "url": "https://github.com/a/b/c.sh", "source": "Pull_request_comment"})
}

fn feedback(token: &str, label: &str) -> Value {
    json!({
        "token_hash": hex::encode(Sha256::digest(token)),
        "token_type": "keyward_api_key",
        "label": label,
    })
}

#[tokio::test]
async fn signed_report_revokes_keys_and_labels_each_token() {
    let github = GitHub::new().await;
    let scene = &github.scene;
    let revoked = scene.create(&scene.ada.token, "revoked").await;
    let revoked = revoked["key"].as_str().unwrap();
    let current = format!("{API_KEYS}/current");
    github.api.delete(&current, revoked).await.ok(204);
    let unknown = Token::generate(&*scene.installation.builder.random);
    let tokens = [
        (revoked, "true_positive"),
        ("kwp_0123456789ABCDEFGHIJKLMNOPQRSTUVEXAMPL", "false_positive"),
        (&scene.ada.token, "true_positive"),
        (unknown.expose(), "false_positive"),
        ("", "false_positive"),
    ];
    let body: Vec<Value> = tokens.iter().map(|(token, _)| found(token)).collect();
    let answer = github.report(&json!(body).to_string()).await.ok(200);
    let expected: Vec<Value> = tokens
        .iter()
        .map(|(token, label)| feedback(token, label))
        .collect();
    assert_eq!(answer, json!(expected));

    github
        .api
        .get(USER, &scene.ada.token)
        .await
        .refusal(401, "invalid_token");
    github.api.get(USER, &scene.grace.token).await.ok(200);
    let ada = scene.ada.member.membership.id;
    let id = scene.ada.key_id.parse().unwrap();
    let stored = ApiKeys::find(&scene.installation.store, ada, id).await.unwrap();
    let note = stored.unwrap().revocation.unwrap().note.unwrap();
    assert_eq!(
        note.as_str(),
        "Reported by GitHub. Found in pull request comment, at https://github.com/a/b/c.sh"
    );
    let event = scene.last_event();
    assert_eq!(
        (event.action, event.actor),
        (Action::RevokeApiKey, Actor::Anonymous)
    );
    assert_eq!(event.subject, Subject::ApiKey(id));
    assert_eq!(event.source.address, Some([127, 0, 0, 1].into()));
}

#[tokio::test]
async fn minimal_and_future_forms_of_a_report_are_read() {
    let github = GitHub::new().await;
    let (ada, grace) = (&github.scene.ada.token, &github.scene.grace.token);
    let body =
        json!([{"token": ada}, {"token": grace, "url": null, "type": null, "source": "", "more": [1]}]);
    let answer = github.report(&body.to_string()).await.ok(200);
    for (one, token) in answer.as_array().unwrap().iter().zip([ada, grace]) {
        let hash = hex::encode(Sha256::digest(token));
        assert_eq!(*one, json!({"token_hash": hash, "label": "true_positive"}));
    }
    assert_eq!(github.report("[]").await.ok(200), json!([]));
}

#[tokio::test]
async fn report_without_a_valid_signature_changes_nothing() {
    let github = GitHub::new().await;
    let token = &github.scene.ada.token;
    let body = json!([found(token)]).to_string();
    let other_body = body.replace("keyward_api_key", "keyward_api_keY");
    let signature = github.signer.sign(&body);
    let others = Signer::new().sign(&body);
    let shortened = &signature[..signature.len() - 4];
    let (right, wrong) = ((SIGNATURE, &*signature), (KEY, "old"));
    for (body, headers) in [
        (&body, vec![]),
        (&body, vec![(KEY, IDENTIFIER)]),
        (&body, vec![right]),
        (&body, vec![wrong, right]),
        (&body, vec![(KEY, "unknown"), right]),
        (&body, vec![(KEY, ""), right]),
        (&body, vec![(KEY, IDENTIFIER), (KEY, IDENTIFIER), right]),
        (&body, vec![(KEY, IDENTIFIER), right, right]),
        (&body, vec![(KEY, IDENTIFIER), (SIGNATURE, &others)]),
        (&body, vec![(KEY, IDENTIFIER), (SIGNATURE, shortened)]),
        (&body, vec![(KEY, IDENTIFIER), (SIGNATURE, "")]),
        (&body, vec![(KEY, IDENTIFIER), (SIGNATURE, "no base64")]),
        (&other_body, vec![(KEY, IDENTIFIER), right]),
    ] {
        let answer = github.send(body, &headers).await;
        answer.refusal(403, "invalid_signature");
        assert!(!answer.body.contains(&token[4..]), "{}", answer.body);
    }
    github.api.get(USER, token).await.ok(200);
}

#[tokio::test]
async fn signed_body_of_another_form_is_refused_without_its_tokens() {
    let github = GitHub::new().await;
    let token = &github.scene.ada.token;
    for body in [
        String::new(),
        "[".to_owned(),
        found(token).to_string(),
        json!([token]).to_string(),
        json!([{"type": "keyward_api_key"}, token, {"tokens": [token]}]).to_string(),
    ] {
        let answer = github.report(&body).await;
        answer.refusal(400, "malformed_request");
        assert!(!answer.body.contains(&token[4..]), "{}", answer.body);
    }
    let large = json!([found(&"x".repeat(1024 * 1024))]).to_string();
    let problem = github.report(&large).await.refusal(413, "body_too_large");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("1 MiB for a signed report of GitHub"), "{detail}");
    let signature = github.signer.sign("x");
    let request = github.api.anonymous(Method::POST, GITHUB).body("x");
    let request = request.header(KEY, IDENTIFIER).header(SIGNATURE, signature);
    let answer = github.api.send(request).await;
    answer.refusal(415, "unsupported_media_type");
    github.api.get(USER, token).await.ok(200);
}

#[tokio::test]
async fn match_of_another_form_keeps_no_other_from_being_revoked() {
    let github = GitHub::new().await;
    let (ada, grace) = (&github.scene.ada.token, &github.scene.grace.token);
    let body = json!([
        found(ada),
        {"type": "keyward_api_key", "url": "https://github.com/a"},
        null,
        {"token": 7},
        grace,
        {"token": grace, "type": 1, "url": ["x"], "source": {"kind": "commit"}},
    ]);
    let answer = github.report(&body.to_string()).await.ok(200);
    let hash = hex::encode(Sha256::digest(grace));
    let odd = json!({"token_hash": hash, "label": "true_positive"});
    assert_eq!(answer, json!([feedback(ada, "true_positive"), odd]));
    for token in [ada, grace] {
        let answer = github.api.get(USER, token).await;
        answer.refusal(401, "invalid_token");
    }
}

#[tokio::test]
async fn report_of_a_thousand_long_urls_is_dealt_with() {
    let github = GitHub::new().await;
    let token = &github.scene.ada.token;
    let unknown = Token::generate(&*github.scene.installation.builder.random);
    let url = format!("https://github.com/{}", "x".repeat(900));
    let mut matches: Vec<Value> = (0..999)
        .map(|_| json!({"token": unknown.expose(), "type": "key", "url": url, "source": "commit"}))
        .collect();
    matches.push(found(token));
    let body = json!(matches).to_string();
    assert!(body.len() > 999_000, "{}", body.len());
    let answer = github.report(&body).await.ok(200);
    assert_eq!(answer.as_array().map(Vec::len), Some(1_000));
    assert_eq!(answer[999], feedback(token, "true_positive"));
    let answer = github.api.get(USER, token).await;
    answer.refusal(401, "invalid_token");
}

#[tokio::test]
async fn reports_of_github_need_its_keys() {
    let scene = Scene::new().await;
    let request = scene.api.anonymous(Method::POST, GITHUB).json(&json!([]));
    scene.api.send(request).await.refusal(404, "not_found");
    let request = scene.api.anonymous(Method::GET, GITHUB);
    let answer = scene.api.send(request).await;
    answer.refusal(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), Some("POST"));
}

#[tokio::test]
async fn invalid_signatures_count_as_failed_authentications() {
    let github = GitHub::limited(|_| ()).await;
    github.send("[]", &[]).await.refusal(403, "invalid_signature");
    github.send("[]", &[]).await.refusal(429, "rate_limited");
    github.report("[]").await.ok(200);
}

#[tokio::test]
async fn signed_report_without_a_store_is_to_be_repeated() {
    let github = GitHub::new().await;
    let body = json!([found(&github.scene.ada.token)]).to_string();
    github.scene.installation.store.go_down();
    github.report(&body).await.refusal(503, "unavailable");
    github.scene.installation.store.come_back();
    github.report(&body).await.ok(200);
    let now = github.scene.installation.builder.clock.now();
    assert_eq!(github.scene.last_event().at, now);
}

#[tokio::test]
async fn half_done_signed_report_has_an_unknown_outcome() {
    let mut github = GitHub::new().await;
    github.api = Api::start(HttpApi {
        github_keys: Some(github.signer.known()),
        leaks: revoking_one_key(&github.scene.installation),
        ..http_api(&github.scene.installation)
    })
    .await;
    let [first, second] = [&github.scene.ada.token, &github.scene.grace.token];
    let body = json!([found(first), found(second)]).to_string();
    github.report(&body).await.refusal(503, "outcome_unknown");
    let body = json!([found(second)]).to_string();
    github.report(&body).await.refusal(503, "unavailable");
}

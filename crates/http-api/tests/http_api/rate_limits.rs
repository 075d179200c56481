//! How often requests are allowed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::TimeDelta;
use keyward_domain::access::{Authenticate, Credential};
use keyward_domain::clock::Clock as _;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::testing::TestInstallation;
use keyward_domain::token::{Token, TokenDigest};
use keyward_http_api::{HttpApi, PeerAddress, RateLimits};
use keyward_rate_limits::{Elapsed, FailedAuthentications, Quota, RequestLimits, RequestQuotas};
use poem::{EndpointExt as _, Request};
use reqwest::Method;
use serde_json::json;
use tokio::sync::mpsc;

use crate::answer::Answer;
use crate::api::{API_KEYS, Api, PROJECTS, USER};
use crate::counted_waits::CountedWaits;
use crate::introspection::INTROSPECT;
use crate::scene::{Scene, VERIFIER, VERIFIER_SECRET, http_api};

const AUTH: &str = "/api/v1/auth";

/// The time that the installation's clock shows.
fn elapsed(installation: &TestInstallation) -> Elapsed {
    let clock = Arc::clone(&installation.builder.clock);
    Arc::new(move || Duration::from_millis(clock.now().timestamp_millis().unsigned_abs()))
}

fn limits(installation: &TestInstallation, failures: &str) -> RateLimits {
    let quota: Quota = failures.parse().unwrap();
    let failures = FailedAuthentications::new(quota, elapsed(installation));
    RateLimits {
        failed_authentications: Some(Arc::new(failures)),
        ..RateLimits::default()
    }
}

/// Clients are where the header says, as behind a trusted proxy.
async fn behind_proxy(api: HttpApi) -> Api {
    let endpoint = api.endpoint().before(|mut request: Request| async {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        request.set_data(PeerAddress(loopback));
        Ok(request)
    });
    Api::start_endpoint(endpoint, |config| {
        config.trusted_proxies.networks = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await
}

async fn api(scene: &Scene, failures: &str) -> Api {
    behind_proxy(HttpApi {
        rate_limits: limits(&scene.installation, failures),
        ..http_api(&scene.installation)
    })
    .await
}

async fn ask(api: &Api, path: &str, token: &str, from: &str) -> Answer {
    let request = api.request(Method::GET, path, token);
    api.send(request.header("x-forwarded-for", from)).await
}

fn made_up_token(scene: &Scene) -> String {
    Token::generate(&*scene.installation.builder.random)
        .expose()
        .to_owned()
}

const GUESSER: &str = "192.0.2.1";

#[tokio::test]
async fn guessing_address_is_slowed_but_its_valid_keys_are_not() {
    let scene = Scene::new().await;
    let api = api(&scene, "3/1m").await;
    let guess = async || ask(&api, USER, &made_up_token(&scene), GUESSER).await;
    for _ in 0..3 {
        guess().await.refusal(401, "invalid_token");
    }
    scene
        .installation
        .builder
        .clock
        .advance(TimeDelta::milliseconds(8_500));
    let refused = guess().await;
    let problem = refused.refusal(429, "rate_limited");
    assert!(
        problem["detail"].as_str().unwrap().contains("not accepted"),
        "{problem}"
    );
    assert_eq!(refused.header("retry-after"), Some("12"));
    assert_eq!(
        refused.header("ratelimit"),
        Some(r#""failed-authentication";r=0;t=12"#)
    );
    assert_eq!(
        refused.header("ratelimit-policy"),
        Some(r#""failed-authentication";q=3;w=60"#)
    );
    assert_eq!(refused.header("www-authenticate"), None);

    for _ in 0..10 {
        let accepted = ask(&api, USER, &scene.ada.token, GUESSER).await;
        accepted.ok(200);
        assert_eq!(accepted.header("ratelimit"), None);
        assert_eq!(accepted.header("ratelimit-policy"), None);
    }
    scene.installation.builder.clock.advance(TimeDelta::seconds(12));
    guess().await.refusal(401, "invalid_token");
    guess().await.refusal(429, "rate_limited");
}

#[tokio::test]
async fn all_unaccepted_tokens_count_alike() {
    let scene = Scene::new().await;
    let revoked = scene.revoked_token().await;
    for token in [
        "",
        "kwp_",
        &made_up_token(&scene),
        &revoked,
        &scene.ada.token[..41],
    ] {
        let api = api(&scene, "1/1h").await;
        ask(&api, USER, token, GUESSER)
            .await
            .refusal(401, "invalid_token");
        for again in [token, "x", &made_up_token(&scene)] {
            ask(&api, USER, again, GUESSER).await.refusal(429, "rate_limited");
        }
        let twice = api.request(Method::GET, USER, &scene.ada.token);
        let twice = twice.header("authorization", "Bearer x");
        let twice = twice.header("x-forwarded-for", GUESSER);
        api.send(twice).await.refusal(429, "rate_limited");
        let anonymous = api.anonymous(Method::GET, USER);
        let anonymous = anonymous.header("x-forwarded-for", GUESSER);
        api.send(anonymous).await.refusal(401, "credentials_missing");
    }
}

#[tokio::test]
async fn failures_count_by_the_clients_network() {
    let scene = Scene::new().await;
    let api = api(&scene, "1/1h").await;
    let guess = async |from: &str| ask(&api, PROJECTS, "kwp_x", from).await.status;
    for (one, same, other) in [
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8::2:3:4:5", "2001:db8:0:1::1"),
    ] {
        assert_eq!(guess(one).await, 401);
        assert_eq!(guess(same).await, 429);
        assert_eq!(guess(other).await, 401);
    }
}

#[tokio::test]
async fn trusted_gateway_always_gets_401() {
    let scene = Scene::new().await;
    let api = api(&scene, "2/1h").await;
    for person in 1..=20 {
        let from = format!("198.51.100.{}", person % 2);
        let refused = ask(&api, AUTH, &made_up_token(&scene), &from).await;
        refused.refusal(401, "invalid_token");
        assert_eq!(refused.header("ratelimit"), None);
        ask(&api, AUTH, &scene.ada.token, &from).await.ok(200);
    }
    for from in ["198.51.100.0", "198.51.100.1", "127.0.0.1"] {
        ask(&api, USER, "kwp_x", from).await.refusal(401, "invalid_token");
    }
}

#[tokio::test]
async fn stranger_who_asks_as_gateways_do_is_slowed() {
    let scene = Scene::new().await;
    let api = Api::start(HttpApi {
        rate_limits: limits(&scene.installation, "2/1h"),
        ..http_api(&scene.installation)
    })
    .await;
    for (number, expected) in [401, 401, 429, 429].into_iter().enumerate() {
        // Whom it claims to ask for is not believed.
        let from = format!("198.51.100.{number}");
        let refused = ask(&api, AUTH, &made_up_token(&scene), &from).await;
        assert_eq!(refused.status, expected);
    }
    ask(&api, AUTH, &scene.ada.token, "198.51.100.9").await.ok(200);
}

#[tokio::test]
async fn address_beyond_the_limit_waits_for_each_refusal() {
    let scene = Scene::new().await;
    let api = api(&scene, "1/1h").await;
    ask(&api, USER, "kwp_x", GUESSER)
        .await
        .refusal(401, "invalid_token");
    for _ in 0..3 {
        let asked = Instant::now();
        ask(&api, USER, "kwp_x", GUESSER)
            .await
            .refusal(429, "rate_limited");
        assert!(asked.elapsed() >= Duration::from_millis(100));
    }
}

#[tokio::test]
async fn guessed_verifier_secret_counts_too() {
    let scene = Scene::new().await;
    let api = api(&scene, "2/1h").await;
    let guess = async |from: &str, secret: &str| {
        let request = api
            .anonymous(Method::POST, INTROSPECT)
            .basic_auth(VERIFIER, Some(secret));
        let request = request.header("x-forwarded-for", from);
        api.send(request.form(&[("token", &scene.ada.token)])).await
    };
    for _ in 0..2 {
        guess(GUESSER, "wrong").await.refusal(401, "invalid_client");
    }
    guess(GUESSER, "wrong").await.refusal(429, "rate_limited");
    guess(GUESSER, VERIFIER_SECRET).await.ok(200);
    guess("192.0.2.2", "wrong").await.refusal(401, "invalid_client");
}

#[tokio::test]
async fn malformed_verifier_credentials_count_too() {
    let scene = Scene::new().await;
    let api = api(&scene, "1/1h").await;
    let ask = async |credentials: Option<&str>| {
        let mut request = api.anonymous(Method::POST, INTROSPECT);
        if let Some(credentials) = credentials {
            request = request.header("authorization", credentials);
        }
        let request = request.header("x-forwarded-for", GUESSER);
        api.send(request.form(&[("token", &scene.ada.token)])).await
    };
    for _ in 0..2 {
        ask(None).await.refusal(401, "invalid_client");
    }
    ask(Some("Basic %%%")).await.refusal(401, "invalid_client");
    ask(Some("Basic %%%")).await.refusal(429, "rate_limited");
}

/// Credentials whose lookups never end.
struct NeverFound {
    begun: mpsc::UnboundedSender<()>,
    given_up: mpsc::UnboundedSender<()>,
}

/// Sends a message when it is dropped.
struct Told<'a>(&'a mpsc::UnboundedSender<()>);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[async_trait]
impl Credentials for NeverFound {
    async fn find(&self, _digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let _given_up = Told(&self.given_up);
        let _ = self.begun.send(());
        std::future::pending().await
    }
}

#[tokio::test]
async fn lookup_that_a_client_gives_up_counts_as_failed() {
    let scene = Scene::new().await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let (given_up, mut was_given_up) = mpsc::unbounded_channel();
    let credentials = NeverFound { begun, given_up };
    let sources = Arc::new(scene.installation.builder.sources.clone());
    let api = behind_proxy(HttpApi {
        authenticate: Authenticate::new(Arc::new(credentials), sources),
        rate_limits: limits(&scene.installation, "1/1h"),
        ..http_api(&scene.installation)
    })
    .await;
    assert_eq!(ask(&api, USER, "malformed", "192.0.2.2").await.status, 401);
    let guess = api.request(Method::GET, USER, &made_up_token(&scene));
    let guess = tokio::spawn(guess.header("x-forwarded-for", GUESSER).send());
    has_begun.recv().await.unwrap();
    guess.abort();
    was_given_up.recv().await.unwrap();
    assert_eq!(ask(&api, USER, "malformed", GUESSER).await.status, 429);
}

#[tokio::test]
async fn strangers_deletions_do_not_make_servers_wait() {
    let scene = Scene::new().await;
    let counted = Arc::new(CountedWaits::default());
    let installation = &scene.installation;
    let api = behind_proxy(HttpApi {
        authenticate: installation
            .authenticate()
            .with_propagation(Arc::clone(&counted) as _),
        rate_limits: limits(installation, "5/1h"),
        ..http_api(installation)
    })
    .await;
    let current = format!("{API_KEYS}/current");
    let delete = async |token: &str, from: &str| {
        let request = api.request(Method::DELETE, &current, token);
        api.send(request.header("x-forwarded-for", from)).await
    };
    for _ in 0..5 {
        let refused = delete(&made_up_token(&scene), GUESSER).await;
        refused.refusal(401, "invalid_token");
    }
    assert_eq!(counted.count(), 0);

    let (dead, holder) = (&scene.ada.token, "192.0.2.2");
    delete(dead, holder).await.ok(204);
    for _ in 0..5 {
        delete(dead, holder).await.refusal(401, "invalid_token");
    }
    for _ in 0..5 {
        delete(dead, holder).await.refusal(429, "rate_limited");
    }
    assert_eq!(counted.count(), 5);
}

pub(crate) async fn api_with(scene: &Scene, quotas: RequestQuotas) -> Api {
    let limits = RequestLimits::new(quotas, &elapsed(&scene.installation)).unwrap();
    behind_proxy(HttpApi {
        rate_limits: RateLimits {
            requests: Some(Arc::new(limits)),
            ..RateLimits::default()
        },
        ..http_api(&scene.installation)
    })
    .await
}

pub(crate) fn quota(text: &str) -> Option<Quota> {
    Some(text.parse().unwrap())
}

pub(crate) fn rate_limit_fields(answer: &Answer) -> (Option<&str>, Option<&str>) {
    (answer.header("ratelimit"), answer.header("ratelimit-policy"))
}

#[tokio::test]
async fn configured_limits_are_reported_in_every_authenticated_answer() {
    let scene = Scene::new().await;
    let quotas = RequestQuotas {
        per_key: quota("5/1m"),
        per_organization: quota("100/10s"),
        ..RequestQuotas::default()
    };
    let api = api_with(&scene, quotas).await;
    let policy = Some(r#""key";q=5;w=60, "organization";q=100;w=10"#);
    let ada = &scene.ada.token;
    let found = ask(&api, USER, ada, GUESSER).await;
    found.ok(200);
    let left = Some(r#""key";r=4;t=12, "organization";r=99;t=1"#);
    assert_eq!(rate_limit_fields(&found), (left, policy));
    let unknown = ask(&api, &format!("{API_KEYS}/{}", scene.grace.key_id), ada, GUESSER).await;
    unknown.refusal(404, "not_found");
    let left = Some(r#""key";r=3;t=12, "organization";r=98;t=1"#);
    assert_eq!(rate_limit_fields(&unknown), (left, policy));
    let malformed = ask(&api, &format!("{API_KEYS}?limit=0"), ada, GUESSER).await;
    malformed.refusal(400, "malformed_query");
    ask(&api, USER, ada, GUESSER).await.ok(200);
    ask(&api, USER, ada, GUESSER).await.ok(200);

    let refused = ask(&api, USER, ada, GUESSER).await;
    let problem = refused.refusal(429, "rate_limited");
    let detail = "There were too many requests for one key. Nothing was changed.";
    assert_eq!(problem["detail"], detail);
    assert_eq!(
        rate_limit_fields(&refused),
        (Some(r#""key";r=0;t=12"#), Some(r#""key";q=5;w=60"#))
    );
    assert_eq!(refused.header("retry-after"), Some("12"));
    let of_another = ask(&api, USER, &scene.grace.token, GUESSER).await;
    of_another.ok(200);
    let left = Some(r#""key";r=4;t=12, "organization";r=94;t=1"#);
    assert_eq!(rate_limit_fields(&of_another), (left, policy));

    let unknown = ask(&api, USER, "kwp_x", GUESSER).await;
    unknown.refusal(401, "invalid_token");
    assert_eq!(rate_limit_fields(&unknown), (None, None));

    scene.installation.builder.clock.advance(TimeDelta::seconds(12));
    ask(&api, USER, ada, GUESSER).await.ok(200);
}

#[tokio::test]
async fn revoking_ignores_configured_limits() {
    let scene = Scene::new().await;
    let quotas = RequestQuotas {
        per_key: quota("1/1h"),
        ..RequestQuotas::default()
    };
    let api = api_with(&scene, quotas).await;
    let other = scene.create(&scene.ada.token, "other").await;
    let path = format!("{API_KEYS}/{}", other["id"].as_str().unwrap());
    api.get(USER, &scene.ada.token).await.ok(200);
    api.get(&path, &scene.ada.token)
        .await
        .refusal(429, "rate_limited");
    let revoked = api.delete(&path, &scene.ada.token).await;
    revoked.ok(204);
    let left = (Some(r#""key";r=0;t=3600"#), Some(r#""key";q=1;w=3600"#));
    assert_eq!(rate_limit_fields(&revoked), left);
    let created = api
        .post(API_KEYS, &scene.ada.token, &json!({"name": "more"}))
        .await;
    created.refusal(429, "rate_limited");
}

#[tokio::test]
async fn forwarded_requests_count_for_key_and_gateway_not_address() {
    let scene = Scene::new().await;
    let quotas = RequestQuotas {
        per_key: quota("3/1h"),
        per_address: quota("1/1h"),
        per_verifier: quota("4/1h"),
        ..RequestQuotas::default()
    };
    let api = api_with(&scene, quotas).await;
    for _ in 0..3 {
        ask(&api, AUTH, &scene.ada.token, GUESSER).await.ok(200);
    }
    let of_the_key = ask(&api, AUTH, &scene.ada.token, GUESSER).await;
    of_the_key.refusal(429, "rate_limited");
    assert_eq!(of_the_key.header("ratelimit"), Some(r#""key";r=0;t=1200"#));

    let last = ask(&api, AUTH, &scene.grace.token, GUESSER).await;
    last.ok(200);
    let left = Some(r#""key";r=2;t=1200, "verifier";r=0;t=900"#);
    assert_eq!(last.header("ratelimit"), left);
    let of_the_gateway = ask(&api, AUTH, &scene.grace.token, "192.0.2.9").await;
    of_the_gateway.refusal(429, "rate_limited");
    assert_eq!(
        of_the_gateway.header("ratelimit-policy"),
        Some(r#""key";q=3;w=3600, "verifier";q=4;w=3600"#)
    );

    ask(&api, USER, &scene.grace.token, GUESSER).await.ok(200);
}

#[tokio::test]
async fn addresses_and_verifiers_have_limits_of_their_own() {
    let scene = Scene::new().await;
    let quotas = RequestQuotas {
        per_address: quota("1/1h"),
        per_verifier: quota("2/1h"),
        ..RequestQuotas::default()
    };
    let api = api_with(&scene, quotas).await;
    ask(&api, USER, &scene.ada.token, "192.0.2.1").await.ok(200);
    let same = ask(&api, USER, &scene.grace.token, "192.0.2.1").await;
    same.refusal(429, "rate_limited");
    ask(&api, USER, &scene.ada.token, "192.0.2.2").await.ok(200);

    let introspect = async || {
        let request = api
            .anonymous(Method::POST, INTROSPECT)
            .basic_auth(VERIFIER, Some(VERIFIER_SECRET));
        let request = request.header("x-forwarded-for", "192.0.2.1");
        api.send(request.form(&[("token", &scene.ada.token)])).await
    };
    let first = introspect().await;
    first.ok(200);
    assert_eq!(first.header("ratelimit"), Some(r#""verifier";r=1;t=1800"#));
    introspect().await.ok(200);
    introspect().await.refusal(429, "rate_limited");
}

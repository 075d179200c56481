//! Several servers over one database: when the end of a key is answered, none of them accepts it.

mod offboarding;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder, StatusCode};

use crate::introspection::introspection;
use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD, TIMEOUT};
use keyward_tests::storage::Storage;
use keyward_tests::verifiers::Verifier;

/// How long a server may answer from memory after it read the database last.
const LEASE: Duration = Duration::from_secs(5);

/// How long a connection that the database has ended may still answer.
const UNTIL_CUT: Duration = Duration::from_secs(1);

/// A server, and one more over the same database.
struct Two {
    first: Keyward,
    second: Keyward,
    owner: Api,
}

impl Two {
    async fn start() -> Self {
        let first = Keyward::start_set_up().await;
        let second = first.start_another().await;
        let owner = PlainConsole::sign_in_owner(&first)
            .await
            .api_with_first_key()
            .await;
        let two = Self { first, second, owner };
        two.until_replicas_are(2).await;
        two
    }

    /// A key, by its identifier, and how the second server is asked with it; it has accepted it.
    async fn key_known_to_second(&self, name: &str) -> (String, Api) {
        let created = self.owner.create(name, "").await;
        let at_second = Api::anonymous(self.second.base_url()).with_token(text(&created, "key"));
        assert!(at_second.is_accepted().await);
        (text(&created, "id").to_owned(), at_second)
    }

    /// Revokes a key at the first server; how long the answer took.
    async fn revoke(&self, id: &str) -> Duration {
        let begun = Instant::now();
        self.owner.delete(id).await;
        begun.elapsed()
    }

    async fn until_replicas_are(&self, number: usize) {
        let deadline = Instant::now() + TIMEOUT;
        while replicas(&self.first).await.len() != number {
            assert!(Instant::now() < deadline, "there are never {number} replicas");
        }
    }
}

/// The lines of `keyward replicas`, without the first.
async fn replicas(keyward: &Keyward) -> Vec<String> {
    let table = keyward.command("replicas", "").await;
    table.lines().skip(1).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_at_one_server_is_immediate_at_the_other() {
    let two = Two::start().await;
    for number in 0..20 {
        let (id, at_second) = two.key_known_to_second(&format!("key {number}")).await;
        two.revoke(&id).await;
        assert!(!at_second.is_accepted().await, "key {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_ended_by_the_command_line_are_refused_at_once() {
    let two = Two::start().await;
    let (id, at_second) = two.key_known_to_second("by its id").await;
    let (_, another) = two.key_known_to_second("by its user").await;
    let revoke = "admin revoke --organization engines --reason leak";
    two.first.command(&format!("{revoke} --key {id}"), "").await;
    assert!(!at_second.is_accepted().await);
    assert!(another.is_accepted().await);
    two.first.command(&format!("{revoke} --username ada"), "").await;
    assert!(!another.is_accepted().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn command_line_ends_keys_of_an_embedded_database_at_once() {
    let keyward = Keyward::start_on(Storage::embedded()).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    keyward.command(bootstrap, OWNER_PASSWORD).await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;
    assert!(api.is_accepted().await);
    assert_eq!(replicas(&keyward).await.len(), 1);
    let revoke = "admin revoke --organization engines --reason leak --username ada";
    keyward.command(revoke, "").await;
    assert!(!api.is_accepted().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_server_accepts_no_revoked_key_once_it_continues() {
    let two = Two::start().await;
    let (id, at_second) = two.key_known_to_second("revoked").await;
    let (other, _) = two.key_known_to_second("revoked later").await;
    two.second.signal("-STOP").await;
    let waited = two.revoke(&id).await;
    assert!(waited >= LEASE, "only {waited:?}: the lease may not have ended");
    assert!(waited < 3 * LEASE, "{waited:?}");
    let waited = two.revoke(&other).await;
    assert!(
        waited < LEASE,
        "{waited:?}: a struck-off server is waited for again"
    );
    two.second.signal("-CONT").await;
    assert!(!at_second.is_accepted().await);
    // It is a replica again, and sees revocations.
    two.until_replicas_are(2).await;
    let (id, at_second) = two.key_known_to_second("revoked last").await;
    two.revoke(&id).await;
    assert!(!at_second.is_accepted().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_waits_once_for_killed_and_never_for_stopped_servers() {
    let two = Two::start().await;
    let third = two.first.start_another().await;
    two.until_replicas_are(3).await;
    let keys = [
        two.key_known_to_second("one").await.0,
        two.key_known_to_second("two").await.0,
        two.key_known_to_second("three").await.0,
    ];
    third.terminate().await;
    let (code, log, _) = third.ended().await;
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(replicas(&two.first).await.len(), 2);
    let waited = two.revoke(&keys[0]).await;
    assert!(waited < LEASE, "{waited:?}");

    let Two { first, second, owner } = two;
    second.kill().await;
    for (key, is_waited_for) in [(&keys[1], true), (&keys[2], false)] {
        let begun = Instant::now();
        owner.delete(key).await;
        let waited = begun.elapsed();
        assert_eq!(waited >= LEASE, is_waited_for, "{waited:?}");
        assert!(waited < 3 * LEASE, "{waited:?}");
    }
    assert_eq!(replicas(&first).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_server_is_struck_off_although_the_client_left() {
    let Two { first, second, owner } = Two::start().await;
    let key = text(&owner.create("revoked", "").await, "id").to_owned();
    second.kill().await;
    let left = owner
        .request(Method::DELETE, &format!("/user/api-keys/{key}"))
        .timeout(LEASE / 2)
        .send()
        .await;
    assert!(
        left.is_err_and(|error| error.is_timeout()),
        "it was not waited for"
    );
    // No other revocation waits for it meanwhile.
    let deadline = Instant::now() + TIMEOUT;
    while replicas(&first).await.len() > 1 {
        assert!(Instant::now() < deadline, "it is never struck off");
    }
}

/// Revokes two keys by the command line while the only other server is dead.
async fn second_command_does_not_wait_for_the_dead(storage: Storage) {
    let dead = Keyward::start_on(storage).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    dead.command(bootstrap, OWNER_PASSWORD).await;
    let owner = PlainConsole::sign_in_owner(&dead).await;
    let api = owner.api_with_first_key().await;
    let keys = [api.create("one", "").await, api.create("two", "").await];
    assert_eq!(replicas(&dead).await.len(), 1);
    dead.signal("-KILL").await;
    for (key, is_waited_for) in keys.iter().zip([true, false]) {
        let revoke = "admin revoke --organization engines --reason leak --key";
        let begun = Instant::now();
        dead.command(&format!("{revoke} {}", text(key, "id")), "").await;
        let waited = begun.elapsed();
        assert_eq!(waited >= LEASE, is_waited_for, "{waited:?}");
    }
    assert!(replicas(&dead).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn command_line_waits_for_a_killed_server_once_on_postgres() {
    second_command_does_not_wait_for_the_dead(Storage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn command_line_waits_for_a_killed_server_once_on_sqlite() {
    second_command_does_not_wait_for_the_dead(Storage::embedded()).await;
}

/// Requests that a server may answer from memory, from a holder, a gateway and a resource server.
struct Questions<'a> {
    keyward: &'a Keyward,
    api: Api,
    project: String,
    verifier: Verifier,
}

impl Questions<'_> {
    /// All at once; whether each is answered, which is a promise that the key is valid, or refused for want of a database.
    async fn ask(&self) -> Vec<bool> {
        let token = self.api.token().expect("a token");
        let of_project = format!("/auth?project={}", self.project);
        let asked = ["/user", "/auth", &of_project].map(|path| self.api.request(Method::GET, path));
        let asked = asked
            .into_iter()
            .chain([introspection(&self.verifier, self.keyward, token)]);
        join_all(asked.map(is_answered)).await
    }
}

async fn is_answered(request: RequestBuilder) -> bool {
    let asked = Instant::now();
    let answer = request.send().await.expect("an answer");
    assert!(asked.elapsed() < TIMEOUT / 3, "{:?}", asked.elapsed());
    let (status, url) = (answer.status(), answer.url().clone());
    if status == StatusCode::SERVICE_UNAVAILABLE {
        assert!(answer.headers().contains_key("retry-after"), "{url}");
        return false;
    }
    assert_eq!(status, StatusCode::OK, "{url}: unsure is never 401");
    let body = answer.text().await.expect("a body");
    assert!(
        !body.contains("\"active\":false"),
        "{url}: unsure is never inactive"
    );
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn cached_keys_outlive_the_database_by_at_most_a_lease() {
    let verifier = Verifier::create("orders-service").await;
    let keyward = Keyward::start_set_up_with(&[&verifier.option()]).await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;
    owner.join_new_project("Engine").await;
    let projects = api.get("/user/projects").await;
    let project = text(&projects["items"][0], "id").to_owned();
    let questions = Questions {
        keyward: &keyward,
        api,
        project,
        verifier,
    };
    assert_eq!(questions.ask().await, [true; 4]);
    let database = keyward.storage().as_postgres();
    database.refuse_connections().await.expect("an outage");
    let gone = Instant::now();
    assert_eq!(questions.ask().await, [true; 4], "not answered from memory");
    let mut is_over = false;
    let mut refusals = 0;
    // Once more when all are refused.
    while refusals < 2 {
        let asked = Instant::now();
        let answered = questions.ask().await;
        assert!(!is_over || answered == [false; 4], "accepted again: {answered:?}");
        is_over |= answered.contains(&false);
        refusals += u32::from(answered == [false; 4]);
        assert!(
            asked < gone + LEASE + UNTIL_CUT || answered == [false; 4],
            "accepted after the lease: {answered:?}"
        );
    }
    database
        .accept_connections()
        .await
        .expect("the end of the outage");
    let deadline = Instant::now() + TIMEOUT;
    while questions.ask().await != [true; 4] {
        assert!(Instant::now() < deadline, "it does not recover");
    }
}

//! Reports of leaked tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::api_key::{ApiKey, RevocationReason};
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::leaked_keys::{LeakedToken, Reported, RevokeLeakedKeys};
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{ApiKeys, Credentials, DescendantKeys, StorageError};
use keyward_domain::testing::TestInstallation;
use keyward_domain::token::{Token, TokenDigest};

struct Scene {
    installation: TestInstallation,
    ada: Member,
    leaks: RevokeLeakedKeys,
}

impl Scene {
    fn new() -> Self {
        let installation = TestInstallation::new();
        let organization = installation.organization("Acme");
        let ada = installation.member(&organization, "ada", Role::Member);
        let store = Arc::new(installation.store.clone());
        let leaks = RevokeLeakedKeys::new(
            Arc::clone(&store) as _,
            store,
            installation.builder.sources.clone(),
        );
        Self {
            installation,
            ada,
            leaks,
        }
    }

    async fn report(&self, token: &str, place: &str, kind: &str) -> Result<Vec<Reported>, StorageError> {
        reported(&self.leaks, vec![leaked(token, place, kind)]).await
    }

    async fn stored(&self, key: &ApiKey) -> ApiKey {
        let found = ApiKeys::find(&self.installation.store, key.consumer_id, key.id).await;
        found.expect("the store answers").expect("the key")
    }
}

async fn reported(leaks: &RevokeLeakedKeys, found: Vec<LeakedToken>) -> Result<Vec<Reported>, StorageError> {
    leaks.revoke(found).await.into_iter().collect()
}

fn leaked(token: &str, place: &str, kind: &str) -> LeakedToken {
    let source = RequestSource {
        address: Some([203, 0, 113, 7].into()),
        request_id: Some("request-1".to_owned()),
    };
    LeakedToken::parse(token, place, kind, source).expect("a token")
}

/// Credentials of a store that fails for one token.
struct FailsFor {
    store: Arc<dyn Credentials>,
    digest: TokenDigest,
    failure: fn() -> StorageError,
}

#[async_trait]
impl Credentials for FailsFor {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        if *digest == self.digest {
            return Err((self.failure)());
        }
        self.store.find(digest).await
    }
}

#[tokio::test]
async fn reported_key_is_revoked_as_leaked_with_its_place() {
    let scene = Scene::new();
    let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
    let child = {
        let caller = scene.installation.caller(&issued).await;
        scene.installation.issue(&caller.as_holder(), "child").await
    };
    let revoked = scene
        .report(issued.token.expose(), "https://example.com/a.py#L3", "commit")
        .await;
    assert_eq!(revoked.unwrap(), [Reported::Revoked]);

    let revocation = scene.stored(&issued.key).await.revocation.unwrap();
    assert_eq!(
        (revocation.reason, revocation.by),
        (RevocationReason::Leak, Actor::Anonymous)
    );
    let note = revocation.note.unwrap();
    assert_eq!(note.as_str(), "Found in commit, at https://example.com/a.py#L3");
    let event = scene.installation.store.events().pop().unwrap();
    assert_eq!(
        (event.action, event.actor, event.subject),
        (
            Action::RevokeApiKey,
            Actor::Anonymous,
            Subject::ApiKey(issued.key.id)
        )
    );
    assert_eq!(event.organization_id, Some(scene.ada.organization.id));
    assert_eq!(event.source.address, Some([203, 0, 113, 7].into()));
    let now = scene.installation.now();
    assert!(
        scene.stored(&child.key).await.is_valid(now),
        "its token was not reported"
    );
}

#[tokio::test]
async fn revoked_and_unknown_tokens_change_nothing() {
    let scene = Scene::new();
    let issued = scene.installation.issue(&scene.ada.as_holder(), "revoked").await;
    let (keys, holder) = (scene.installation.keys(), scene.ada.as_holder());
    keys.revoke(
        &holder,
        issued.key.id,
        DescendantKeys::Keep,
        keyward_domain::api_key::KeyPrecondition::AnyVersion,
        RequestSource::default(),
    )
    .await
    .unwrap();
    let before = (scene.stored(&issued.key).await, scene.installation.store.events());
    let unknown = Token::generate(&*scene.installation.builder.random);
    for (token, reported) in [
        (issued.token.expose(), Reported::Ended),
        (unknown.expose(), Reported::Unknown),
    ] {
        assert_eq!(scene.report(token, "", "").await.unwrap(), [reported]);
    }
    assert_eq!(
        (scene.stored(&issued.key).await, scene.installation.store.events()),
        before
    );
}

#[tokio::test]
async fn report_fails_while_the_store_is_away() {
    let scene = Scene::new();
    let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
    scene.installation.store.go_down();
    assert!(scene.report(issued.token.expose(), "", "").await.is_err());
    scene.installation.store.come_back();
    let reported = scene.report(issued.token.expose(), "", "").await;
    assert_eq!(reported.unwrap(), [Reported::Revoked]);
}

#[tokio::test]
async fn token_that_the_store_fails_for_spares_no_other() {
    let scene = Scene::new();
    let issue = async |name| scene.installation.issue(&scene.ada.as_holder(), name).await;
    let (misread, other) = (issue("misread").await, issue("leaked").await);
    let store = Arc::new(scene.installation.store.clone());
    let credentials = FailsFor {
        store: Arc::clone(&store) as _,
        digest: misread.token.digest(),
        failure: || StorageError::Defect("no such column".into()),
    };
    let sources = scene.installation.builder.sources.clone();
    let leaks = RevokeLeakedKeys::new(Arc::new(credentials), store, sources);
    let report = || [&misread, &other].map(|issued| leaked(issued.token.expose(), "", ""));
    assert!(reported(&leaks, report().into()).await.is_err());
    assert!(scene.stored(&other.key).await.revocation.is_some());
    let repeated = reported(&scene.leaks, report().into()).await.unwrap();
    assert_eq!(repeated, [Reported::Revoked, Reported::Ended]);
    assert!(scene.stored(&misread.key).await.revocation.is_some());
}

#[tokio::test]
async fn keys_revoked_before_an_outage_are_reported_with_it() {
    let scene = Scene::new();
    let issue = async |name| scene.installation.issue(&scene.ada.as_holder(), name).await;
    let issued = [issue("first").await, issue("lost").await, issue("last").await];
    let store = Arc::new(scene.installation.store.clone());
    let credentials = FailsFor {
        store: Arc::clone(&store) as _,
        digest: issued[1].token.digest(),
        failure: || StorageError::Unavailable("no route to host".into()),
    };
    let sources = scene.installation.builder.sources.clone();
    let leaks = RevokeLeakedKeys::new(Arc::new(credentials), store, sources);
    let report = issued.iter().map(|issued| leaked(issued.token.expose(), "", ""));
    let outcomes = leaks.revoke(report.collect()).await;
    assert!(
        matches!(&outcomes[..], [Ok(Reported::Revoked), Err(error)] if error.is_outage()),
        "{outcomes:?}"
    );
    assert!(scene.stored(&issued[0].key).await.revocation.is_some());
}

/// Credentials of a store that others may ask while it looks something up.
struct CountsLookups {
    store: Arc<dyn Credentials>,
    now: AtomicUsize,
    at_most: AtomicUsize,
}

#[async_trait]
impl Credentials for CountsLookups {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.at_most.fetch_max(now, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let found = self.store.find(digest).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        found
    }
}

#[tokio::test]
async fn eight_tokens_of_a_report_are_looked_up_at_once() {
    let scene = Scene::new();
    let store = Arc::new(scene.installation.store.clone());
    let credentials = Arc::new(CountsLookups {
        store: Arc::clone(&store) as _,
        now: AtomicUsize::default(),
        at_most: AtomicUsize::default(),
    });
    let sources = scene.installation.builder.sources.clone();
    let leaks = RevokeLeakedKeys::new(Arc::clone(&credentials) as _, store, sources);
    let (mut report, mut expected) = (Vec::new(), Vec::new());
    for number in 0..100 {
        if number % 3 == 0 {
            let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
            report.push(leaked(issued.token.expose(), "", ""));
            expected.push(Reported::Revoked);
        } else {
            let unknown = Token::generate(&*scene.installation.builder.random);
            report.push(leaked(unknown.expose(), "", ""));
            expected.push(Reported::Unknown);
        }
    }
    assert_eq!(reported(&leaks, report).await.unwrap(), expected);
    assert_eq!(credentials.at_most.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn token_that_is_reported_twice_is_revoked_once() {
    let scene = Scene::new();
    let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
    let report = ["first", "second"].map(|place| leaked(issued.token.expose(), place, ""));
    let reported = reported(&scene.leaks, report.into()).await.unwrap();
    assert_eq!(reported, [Reported::Revoked, Reported::Ended]);
    let note = scene.stored(&issued.key).await.revocation.unwrap().note.unwrap();
    assert_eq!(note.as_str(), "Found at first");
}

#[tokio::test]
async fn note_contains_the_printable_part_of_the_place() {
    let scene = Scene::new();
    let long = format!("https://example.com/{}", "x".repeat(3_000));
    let token = Token::generate(&*scene.installation.builder.random);
    let with_token = format!("https://example.com/?key={}", token.expose());
    for (place, kind, expected) in [
        ("", "", None),
        (" ", "\n", None),
        (
            "https://example.com",
            "",
            Some("Found at https://example.com".to_owned()),
        ),
        ("", "pull request", Some("Found in: pull request".to_owned())),
        (&long, "", Some(format!("Found at {}…", &long[..190]))),
        (&with_token, "commit", None),
        ("a\u{202e}b", "", None),
        ("a\nb", "", None),
    ] {
        let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
        scene.report(issued.token.expose(), place, kind).await.unwrap();
        let note = scene.stored(&issued.key).await.revocation.unwrap().note;
        let note = note.map(|note| note.as_str().to_owned());
        assert_eq!(note, expected, "{place} {kind}");
    }
}

#[tokio::test]
async fn note_distinguishes_reports_of_github_from_others() {
    let scene = Scene::new();
    let long = format!("https://github.com/{}", "x".repeat(3_000));
    for (place, kind, expected) in [
        ("", "", "Reported by GitHub.".to_owned()),
        ("a\nb", "", "Reported by GitHub.".to_owned()),
        (
            "https://github.com",
            "commit",
            "Reported by GitHub. Found in commit, at https://github.com".to_owned(),
        ),
        (
            &long,
            "",
            format!("Reported by GitHub. Found at {}…", &long[..170]),
        ),
    ] {
        let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
        let found = leaked(issued.token.expose(), place, kind).by_github();
        reported(&scene.leaks, vec![found]).await.unwrap();
        let note = scene.stored(&issued.key).await.revocation.unwrap().note;
        assert_eq!(note.unwrap().as_str(), expected, "{place} {kind}");
    }
}

#[tokio::test]
async fn white_space_around_a_leaked_token_does_not_count() {
    let scene = Scene::new();
    for (before, after) in [("", "\n"), (" ", " "), ("\t", "\r\n")] {
        let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
        let found = leaked(&format!("{before}{}{after}", issued.token.expose()), "", "");
        reported(&scene.leaks, vec![found]).await.unwrap();
        assert!(scene.stored(&issued.key).await.revocation.is_some(), "{after:?}");
    }
}

#[test]
fn text_that_is_no_token_is_not_kept() {
    for text in ["", "x", "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUVEXAMPL"] {
        assert!(LeakedToken::parse(text, "", "", RequestSource::default()).is_none());
    }
}

//! Tokens that somebody found and reported.

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::api_key::{ApiKey, RevocationReason};
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::leaked_keys::{LeakedToken, ReportedLeaks, RevokeLeakedKeys, TooManyReports};
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{ApiKeys, Credentials, DescendantKeys, StorageError};
use keyward_domain::testing::TestInstallation;
use keyward_domain::token::{Token, TokenDigest};

struct Scene {
    installation: TestInstallation,
    ada: Member,
    reported: Arc<ReportedLeaks>,
    leaks: RevokeLeakedKeys,
}

impl Scene {
    fn new() -> Self {
        let installation = TestInstallation::new();
        let organization = installation.organization("Acme");
        let ada = installation.member(&organization, "ada", Role::Member);
        let reported = Arc::new(ReportedLeaks::new(3));
        let store = Arc::new(installation.store.clone());
        let leaks = RevokeLeakedKeys::new(
            Arc::clone(&reported),
            Arc::clone(&store) as _,
            store,
            installation.builder.sources.clone(),
        );
        Self {
            installation,
            ada,
            reported,
            leaks,
        }
    }

    fn report(&self, token: &str, place: &str, kind: &str) -> Result<(), TooManyReports> {
        let source = RequestSource {
            address: Some([203, 0, 113, 7].into()),
            request_id: Some("request-1".to_owned()),
        };
        let leaked = LeakedToken::parse(token, place, kind, source).expect("a token");
        self.reported.report(vec![leaked])
    }

    async fn stored(&self, key: &ApiKey) -> ApiKey {
        let found = ApiKeys::find(&self.installation.store, key.consumer_id, key.id).await;
        found.expect("the store answers").expect("the key")
    }
}

/// Credentials of a store that answers otherwise than it should about one token.
struct FailsFor {
    store: Arc<dyn Credentials>,
    digest: TokenDigest,
}

#[async_trait]
impl Credentials for FailsFor {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        if *digest == self.digest {
            return Err(StorageError::Defect("no such column".into()));
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
    scene
        .report(issued.token.expose(), "https://example.com/a.py#L3", "commit")
        .unwrap();
    assert_eq!(scene.leaks.waiting(), 1);
    assert_eq!(scene.leaks.revoke_reported().await.unwrap(), 1);
    assert_eq!(scene.leaks.waiting(), 0);

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
        "nobody found its token"
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
    for token in [issued.token.expose(), unknown.expose()] {
        scene.report(token, "", "").unwrap();
    }
    assert_eq!(scene.leaks.revoke_reported().await.unwrap(), 0);
    assert_eq!(
        (scene.stored(&issued.key).await, scene.installation.store.events()),
        before
    );
}

#[tokio::test]
async fn reports_wait_while_the_store_is_away() {
    let scene = Scene::new();
    let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
    scene.report(issued.token.expose(), "", "").unwrap();
    scene.installation.store.go_down();
    assert!(scene.leaks.revoke_reported().await.is_err());
    assert_eq!(scene.leaks.waiting(), 1);
    scene.installation.store.come_back();
    assert_eq!(scene.leaks.revoke_reported().await.unwrap(), 1);
}

#[tokio::test]
async fn token_that_the_store_fails_for_waits_beside_others() {
    let scene = Scene::new();
    let issue = async |name| scene.installation.issue(&scene.ada.as_holder(), name).await;
    let (misread, leaked) = (issue("misread").await, issue("leaked").await);
    let store = Arc::new(scene.installation.store.clone());
    let credentials = FailsFor {
        store: Arc::clone(&store) as _,
        digest: misread.token.digest(),
    };
    let leaks = RevokeLeakedKeys::new(
        Arc::clone(&scene.reported),
        Arc::new(credentials),
        store,
        scene.installation.builder.sources.clone(),
    );
    for issued in [&misread, &leaked] {
        scene.report(issued.token.expose(), "", "").unwrap();
    }
    for _ in 0..2 {
        assert!(leaks.revoke_reported().await.is_err());
        assert_eq!(leaks.waiting(), 1);
    }
    assert!(scene.stored(&leaked.key).await.revocation.is_some());
    assert_eq!(scene.leaks.revoke_reported().await.unwrap(), 1);
    assert!(scene.stored(&misread.key).await.revocation.is_some());
}

#[tokio::test]
async fn full_memory_takes_no_part_of_a_report() {
    let scene = Scene::new();
    let issued = scene.installation.issue(&scene.ada.as_holder(), "leaked").await;
    let unknown = || Token::generate(&*scene.installation.builder.random);
    scene.report(issued.token.expose(), "", "").unwrap();
    for _ in 0..2 {
        scene.report(unknown().expose(), "", "").unwrap();
    }
    assert_eq!(scene.report(unknown().expose(), "", ""), Err(TooManyReports));
    scene.report(issued.token.expose(), "", "").unwrap();
    assert_eq!(scene.leaks.waiting(), 3);
    assert_eq!(scene.leaks.revoke_reported().await.unwrap(), 1);
    scene.report(unknown().expose(), "", "").unwrap();
}

#[tokio::test]
async fn note_tells_the_place_as_far_as_it_can_be_shown() {
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
        scene.report(issued.token.expose(), place, kind).unwrap();
        scene.leaks.revoke_reported().await.unwrap();
        let note = scene.stored(&issued.key).await.revocation.unwrap().note;
        let note = note.map(|note| note.as_str().to_owned());
        assert_eq!(note, expected, "{place} {kind}");
    }
}

#[test]
fn text_that_is_no_token_is_not_kept() {
    for text in ["", "x", "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUVEXAMPL"] {
        assert!(LeakedToken::parse(text, "", "", RequestSource::default()).is_none());
    }
}

//! How keys come to be.

use std::sync::{Arc, OnceLock};

use chrono::{DateTime, TimeDelta};
use futures_util::FutureExt;
use keyward_domain::api_key::{Expiry, KeyDescription, KeyName, KeyPrecondition, Origin};
use keyward_domain::audit::{Action, Actor, Outcome, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{
    AddKeyError, ChosenKey, IdempotencyKey, IssuedKey, KeyDraft, PersonalKeys, RequestDigest, RotateKeyError,
    RotationDraft,
};
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{Credentials, DescendantKeys, KeyLimit, KeyLimits, MockApiKeys, StorageError};
use keyward_domain::rate::{Rate, Throttled};
use keyward_domain::testing::{Builder, TestInstallation};
use keyward_domain::token::Token;

const LIMITS: KeyLimits = KeyLimits {
    valid: KeyLimit(3),
    changes: Rate::new(7, TimeDelta::seconds(11)),
};

fn installation_with_ada() -> (TestInstallation, Member) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member);
    (installation, ada)
}

fn draft(name: &str) -> KeyDraft {
    KeyDraft {
        description: KeyDescription::parse("what for").expect("a description"),
        ..KeyDraft::named(KeyName::parse(name).expect("a name"))
    }
}

async fn issue(
    keys: &PersonalKeys,
    holder: &Holder,
    idempotency_key: Option<IdempotencyKey>,
) -> Result<IssuedKey, AddKeyError> {
    keys.issue(holder, draft("ci"), idempotency_key, RequestSource::default())
        .await
}

#[tokio::test]
async fn displayed_token_authenticates() {
    let (installation, ada) = installation_with_ada();
    let issued = installation.issue(&ada.as_holder(), "ci").await;
    let read = Token::parse(issued.token.expose()).expect("well formed");
    let stored = installation
        .store
        .find(&read.digest())
        .await
        .expect("the store answers")
        .expect("stored by the digest of the token shown");

    assert_eq!(stored.api_key.id, issued.key.id);
}

#[tokio::test]
async fn hint_is_never_a_token() {
    let (installation, ada) = installation_with_ada();
    for number in 0..50 {
        let issued = installation
            .issue(&ada.as_holder(), &format!("key {number}"))
            .await;
        let hint = issued.key.hint.as_str();
        assert!(issued.token.expose().ends_with(issued.key.hint.last_four()));
        assert!(hint.chars().count() < 10, "{hint}");
        assert!(Token::parse(hint).is_err(), "{hint}");
    }
}

#[tokio::test]
async fn new_key_stores_the_given_texts_and_creation_time() {
    let (installation, ada) = installation_with_ada();
    let issued = issue(&installation.keys(), &ada.as_holder(), None)
        .await
        .expect("issued");

    assert_eq!(issued.key.name, draft("ci").name);
    assert_eq!(issued.key.description, draft("ci").description);
    assert_eq!(issued.key.created_at, installation.builder.clock.now());
    assert_eq!(issued.key.consumer_id, ada.membership.id);
    assert!(issued.key.is_valid(installation.builder.sources.now()));
    let read = installation
        .keys()
        .read(&ada.as_holder(), issued.key.id)
        .await
        .expect("stored");
    assert_eq!(read, issued.key);
}

#[tokio::test]
async fn only_keys_created_by_a_key_have_a_parent() {
    let (installation, ada) = installation_with_ada();
    let first = installation.issue(&ada.as_holder(), "first").await;
    assert_eq!(first.key.origin, Origin::Console(ada.user.id));
    assert_eq!(first.key.parent(), None);

    let mut parent = first;
    for name in ["second", "third"] {
        let holder = installation.caller(&parent).await.as_holder();
        let child = installation.issue(&holder, name).await;
        assert_eq!(child.key.origin, Origin::Key(parent.key.id));
        assert_eq!(child.key.parent(), Some(parent.key.id));
        assert_eq!(child.key.consumer_id, ada.membership.id);
        parent = child;
    }
}

#[tokio::test]
async fn key_creation_is_logged_without_its_token() {
    let (installation, ada) = installation_with_ada();
    let source = RequestSource {
        address: Some([192, 0, 2, 7].into()),
        request_id: Some("request".to_owned()),
    };
    let first = installation
        .keys()
        .issue(&ada.as_holder(), draft("first"), None, source.clone())
        .await
        .expect("issued");
    let through_key = installation.caller(&first).await.as_holder();
    let second = installation
        .keys()
        .issue(&through_key, draft("second"), None, source.clone())
        .await
        .expect("issued");

    let events = installation.store.events();
    assert_eq!(events.len(), 2);
    for (event, issued, actor) in [
        (&events[0], &first, Actor::User(ada.user.id)),
        (&events[1], &second, Actor::ApiKey(first.key.id)),
    ] {
        assert_eq!(event.action, Action::CreateApiKey);
        assert_eq!(event.subject, Subject::ApiKey(issued.key.id));
        assert_eq!(event.actor, actor);
        assert_eq!(event.outcome, Outcome::Success);
        assert_eq!(event.organization_id, Some(ada.organization.id));
        assert_eq!(event.at, issued.key.created_at);
        assert_eq!(event.source, source);
        assert!(!format!("{event:?}").contains(issued.token.expose()));
        assert!(!format!("{issued:?}").contains(issued.token.expose()));
    }
}

#[tokio::test]
async fn holder_has_at_most_100_valid_keys() {
    let (installation, ada) = installation_with_ada();
    let holder = ada.as_holder();
    let mut last = None;
    for number in 0..100 {
        last = Some(installation.issue(&holder, &format!("key {number}")).await);
    }
    let refused = issue(&installation.keys(), &holder, None).await;
    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(KeyLimit(100)))),
        "{refused:?}"
    );

    let last = last.expect("100 keys").key.id;
    installation
        .keys()
        .revoke(
            &holder,
            last,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await
        .expect("revoked");
    issue(&installation.keys(), &holder, None)
        .await
        .expect("room for one more");
}

#[tokio::test]
async fn form_creates_one_key() {
    let (installation, ada) = installation_with_ada();
    let (keys, holder) = (installation.keys(), ada.as_holder());
    let idempotency_key = Some(IdempotencyKey::generate(&installation.builder.sources));
    let issued = issue(&keys, &holder, idempotency_key).await.expect("issued");
    let again = issue(&keys, &holder, idempotency_key).await;
    assert!(
        matches!(again, Err(AddKeyError::AlreadyCreated(id)) if id == issued.key.id),
        "{again:?}"
    );

    let next = Some(IdempotencyKey::generate(&installation.builder.sources));
    assert_ne!(next, idempotency_key);
    issue(&keys, &holder, next).await.expect("another form");
}

#[tokio::test]
async fn repeated_request_is_refused_while_the_first_is_running() {
    let make = Builder::new(1);
    let acme = make.organization("Acme");
    let ada = make.member(&acme, "ada").as_holder();
    let request = RequestDigest::of("createApiKey", &["ci"]);
    let key = Some(ChosenKey::parse("retry").expect("a key").for_request(request));
    let keys = Arc::new(OnceLock::<PersonalKeys>::new());
    let (same, holder) = (Arc::clone(&keys), ada.clone());
    let mut store = MockApiKeys::new();
    let mut is_first = true;
    store.expect_add().times(2).returning(move |new, _, _| {
        if std::mem::take(&mut is_first) {
            let keys = same.get().expect("the use case");
            let again = issue(keys, &holder, key).now_or_never();
            assert!(matches!(again, Some(Err(AddKeyError::InProgress))), "{again:?}");
        }
        Ok(new.key)
    });
    let keys = keys.get_or_init(|| PersonalKeys::new(Arc::new(store), make.sources.clone(), LIMITS));

    issue(keys, &ada, key).await.expect("the first");
    issue(keys, &ada, key).await.expect("not running any more");
}

#[tokio::test]
async fn repeated_rotation_is_refused_while_the_first_is_running() {
    let make = Builder::new(1);
    let acme = make.organization("Acme");
    let ada = make.member(&acme, "ada").as_holder();
    let (old, _) = make.new_key(&ada, "old");
    let (old, draft) = (old.key.id, RotationDraft::default());
    let request = draft.request_digest(old);
    let key = Some(ChosenKey::parse("retry").expect("a key").for_request(request));
    let rotate = async move |keys: &PersonalKeys, holder: &Holder| {
        let source = RequestSource::default();
        keys.rotate(holder, old, draft, key, source).await.map(|_| ())
    };
    let keys = Arc::new(OnceLock::<PersonalKeys>::new());
    let (same, holder) = (Arc::clone(&keys), ada.clone());
    let mut store = MockApiKeys::new();
    let mut is_first = true;
    store.expect_rotate().times(2).returning(move |_, _, _| {
        if std::mem::take(&mut is_first) {
            let keys = same.get().expect("the use case");
            let again = rotate(keys, &holder).now_or_never();
            assert!(
                matches!(again, Some(Err(RotateKeyError::InProgress))),
                "{again:?}"
            );
        }
        Err(RotateKeyError::NotFound)
    });
    let keys = keys.get_or_init(|| PersonalKeys::new(Arc::new(store), make.sources.clone(), LIMITS));

    for _ in ["the first", "not running any more"] {
        let rotated = rotate(keys, &ada).await;
        assert!(matches!(rotated, Err(RotateKeyError::NotFound)), "{rotated:?}");
    }
}

#[test]
fn repeated_request_is_recognized_by_its_draft() {
    let ci = draft("ci");
    let now = DateTime::UNIX_EPOCH;
    let at = |days| Expiry::new(now + TimeDelta::days(days), now).expect("an expiry");
    let others = [
        draft("cd"),
        KeyDraft {
            description: KeyDescription::default(),
            ..draft("ci")
        },
        KeyDraft {
            can_manage_keys: Some(true),
            ..draft("ci")
        },
        KeyDraft {
            can_manage_keys: Some(false),
            ..draft("ci")
        },
        KeyDraft {
            expiry: Some(at(1)),
            ..draft("ci")
        },
        KeyDraft {
            expiry: Some(at(2)),
            ..draft("ci")
        },
    ];
    let mut seen = vec![ci.request_digest()];
    assert_eq!(draft(" ci ").request_digest(), ci.request_digest());
    for other in others {
        assert!(!seen.contains(&other.request_digest()), "{other:?}");
        seen.push(other.request_digest());
    }
}

#[tokio::test]
async fn concurrently_revoked_key_issues_no_key() {
    let (installation, ada) = installation_with_ada();
    let first = installation.issue(&ada.as_holder(), "first").await;
    let through_key = installation.caller(&first).await.as_holder();
    installation
        .keys()
        .revoke(
            &ada.as_holder(),
            first.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await
        .expect("revoked");
    let refused = issue(&installation.keys(), &through_key, None).await;

    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
}

#[tokio::test]
async fn concurrently_removed_member_issues_no_key() {
    let (installation, ada) = installation_with_ada();
    let holder = ada.as_holder();
    let now = installation.builder.clock.now();
    installation.store.end_membership(ada.membership.id, now);
    let refused = issue(&installation.keys(), &holder, None).await;

    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
}

#[tokio::test]
async fn every_store_refusal_reaches_the_caller_unchanged() {
    let make = Builder::new(1);
    let member = make.member(&make.organization("Acme"), "ada");
    let first: ApiKeyId = make.ids.next();

    let refused = issue_with(&make, &member, || AddKeyError::HolderGone).await;
    assert!(matches!(refused, AddKeyError::HolderGone), "{refused:?}");
    assert_eq!(refused.to_string(), "the holder may not create keys any more");

    let refused = issue_with(&make, &member, || AddKeyError::MayNotManageKeys).await;
    assert!(matches!(refused, AddKeyError::MayNotManageKeys), "{refused:?}");

    let retry_after = TimeDelta::milliseconds(1_001);
    let throttled = move || AddKeyError::Throttled(Throttled { retry_after });
    let refused = issue_with(&make, &member, throttled).await;
    assert!(
        matches!(refused, AddKeyError::Throttled(throttled) if throttled.retry_after == retry_after),
        "{refused:?}"
    );
    assert_eq!(refused.to_string(), "too many attempts: try again in 2 seconds");

    let refused = issue_with(&make, &member, move || AddKeyError::AlreadyCreated(first)).await;
    assert!(
        matches!(refused, AddKeyError::AlreadyCreated(id) if id == first),
        "{refused:?}"
    );

    let refused = issue_with(&make, &member, || AddKeyError::IdempotencyKeyReused).await;
    assert!(
        matches!(refused, AddKeyError::IdempotencyKeyReused),
        "{refused:?}"
    );

    let refused = issue_with(&make, &member, || AddKeyError::LimitReached(LIMITS.valid)).await;
    assert!(
        matches!(refused, AddKeyError::LimitReached(KeyLimit(3))),
        "{refused:?}"
    );
    assert_eq!(
        refused.to_string(),
        "at most 3 valid keys are allowed: revoke one first"
    );

    let unknown = || AddKeyError::Storage(StorageError::OutcomeUnknown("cut off".into()));
    let refused = issue_with(&make, &member, unknown).await;
    assert!(
        matches!(refused, AddKeyError::Storage(StorageError::OutcomeUnknown(_))),
        "{refused:?}"
    );
}

async fn issue_with(
    make: &Builder,
    member: &Member,
    refusal: impl Fn() -> AddKeyError + Send + 'static,
) -> AddKeyError {
    let mut store = MockApiKeys::new();
    store
        .expect_add()
        .once()
        .withf(|_, limits, _| *limits == LIMITS)
        .returning(move |_, _, _| Err(refusal()));
    let keys = PersonalKeys::new(Arc::new(store), make.sources.clone(), LIMITS);
    issue(&keys, &member.as_holder(), None)
        .await
        .expect_err("the store refuses")
}

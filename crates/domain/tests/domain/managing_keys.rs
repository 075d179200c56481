//! Use cases of holders' existing keys.

use keyward_domain::access::AuthenticateError;
use keyward_domain::api_key::{
    KeyDescription, KeyEdit, KeyName, KeyPrecondition, KeyState, RevocationReason,
};
use keyward_domain::audit::{Action, Actor, RequestSource};
use keyward_domain::clock::Clock;
use keyward_domain::holder::Holder;
use keyward_domain::keys::{EditKeyError, ReadKeyError, RevokeKeyError};
use keyward_domain::membership::Role;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{DescendantKeys, KeyFilter, StatusFilter};
use keyward_domain::testing::TestInstallation;

fn installation_with_ada_and_bob() -> (TestInstallation, Holder, Holder) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner).as_holder();
    let bob = installation.member(&acme, "bob", Role::Member).as_holder();
    (installation, ada, bob)
}

fn nowhere() -> RequestSource {
    RequestSource::default()
}

fn rename(name: &str) -> KeyEdit {
    KeyEdit {
        name: Some(KeyName::parse(name).expect("a name")),
        ..KeyEdit::default()
    }
}

#[tokio::test]
async fn another_holders_key_looks_like_an_unknown_key() {
    let (installation, ada, bob) = installation_with_ada_and_bob();
    let keys = installation.keys();
    let hers = installation.issue(&ada, "hers").await;
    // Also through a key of his own, and although bob's organization is the same.
    let his = installation.issue(&bob, "his").await;
    let through_key = installation.caller(&his).await.as_holder();
    for stranger in [&bob, &through_key] {
        for id in [hers.key.id, installation.builder.ids.next()] {
            let read = keys.read(stranger, id).await;
            assert!(matches!(read, Err(ReadKeyError::NotFound)), "{read:?}");
            let edited = keys
                .edit(
                    stranger,
                    id,
                    rename("stolen"),
                    KeyPrecondition::AnyVersion,
                    nowhere(),
                )
                .await;
            assert!(matches!(edited, Err(EditKeyError::NotFound)), "{edited:?}");
            let revoked = keys
                .revoke(
                    stranger,
                    id,
                    DescendantKeys::Revoke,
                    KeyPrecondition::AnyVersion,
                    nowhere(),
                )
                .await;
            assert!(matches!(revoked, Err(RevokeKeyError::NotFound)), "{revoked:?}");
            let descendants = keys.valid_descendants(stranger, id, installation.now()).await;
            assert_eq!(descendants.expect("the store answers"), []);
        }
    }

    assert_eq!(keys.read(&ada, hers.key.id).await.expect("untouched"), hers.key);
    installation.caller(&hers).await;
    let changes = installation
        .store
        .events()
        .into_iter()
        .filter(|event| event.action != Action::CreateApiKey);
    assert_eq!(changes.count(), 0, "what is refused changes nothing");
}

#[tokio::test]
async fn edit_changes_only_the_given_fields_with_one_event() {
    let (installation, ada, _) = installation_with_ada_and_bob();
    let keys = installation.keys();
    let issued = installation.issue(&ada, "before").await;
    let edit = KeyEdit {
        description: Some(KeyDescription::parse("why").expect("a description")),
        ..rename("after")
    };
    for _ in 0..2 {
        let edited = keys
            .edit(
                &ada,
                issued.key.id,
                edit.clone(),
                KeyPrecondition::AnyVersion,
                nowhere(),
            )
            .await
            .expect("edited");
        assert_eq!(edited.name.as_str(), "after");
        assert_eq!(edited.description.as_str(), "why");
    }
    let unchanged = keys
        .edit(
            &ada,
            issued.key.id,
            KeyEdit::default(),
            KeyPrecondition::AnyVersion,
            nowhere(),
        )
        .await;
    assert_eq!(unchanged.expect("nothing to do").name.as_str(), "after");

    let edits = installation
        .store
        .events()
        .into_iter()
        .filter(|event| event.action == Action::EditApiKey);
    assert_eq!(edits.count(), 1);
}

#[tokio::test]
async fn revoked_key_keeps_its_name() {
    let (installation, ada, _) = installation_with_ada_and_bob();
    let keys = installation.keys();
    let issued = installation.issue(&ada, "old").await;
    keys.revoke(
        &ada,
        issued.key.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        nowhere(),
    )
    .await
    .expect("revoked");
    let refused = keys
        .edit(
            &ada,
            issued.key.id,
            rename("new"),
            KeyPrecondition::AnyVersion,
            nowhere(),
        )
        .await;

    assert!(matches!(refused, Err(EditKeyError::Revoked)), "{refused:?}");
}

#[tokio::test]
async fn key_revoking_itself_is_recorded_as_actor() {
    let (installation, ada, _) = installation_with_ada_and_bob();
    let issued = installation.issue(&ada, "ci").await;
    let itself = installation.caller(&issued).await.as_holder();
    let revoked = installation
        .keys()
        .revoke(
            &itself,
            issued.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            nowhere(),
        )
        .await;
    assert_eq!(revoked.expect("revoked"), [issued.key.id]);

    let stored = installation.keys().read(&ada, issued.key.id).await.expect("kept");
    assert_eq!(
        stored.state(installation.builder.sources.now()),
        KeyState::Revoked {
            at: installation.builder.clock.now(),
            by: Actor::ApiKey(issued.key.id),
            reason: RevocationReason::Holder,
        }
    );
    let refused = installation
        .authenticate()
        .caller(issued.token.expose(), None)
        .await;
    assert!(
        matches!(refused, Err(AuthenticateError::InvalidToken)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn descendants_can_be_listed_before_they_are_revoked() {
    let (installation, ada, _) = installation_with_ada_and_bob();
    let keys = installation.keys();
    let root = installation.issue(&ada, "root").await;
    let through_root = installation.caller(&root).await.as_holder();
    let child = installation.issue(&through_root, "child").await;
    let shown = keys
        .valid_descendants(&ada, root.key.id, installation.now())
        .await
        .expect("the store answers");
    assert_eq!(shown, std::slice::from_ref(&child.key));

    let kept = keys
        .revoke(
            &ada,
            root.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            nowhere(),
        )
        .await;
    assert_eq!(kept.expect("revoked"), [root.key.id]);
    installation.caller(&child).await;
    let gone = keys
        .revoke(
            &ada,
            root.key.id,
            DescendantKeys::Revoke,
            KeyPrecondition::AnyVersion,
            nowhere(),
        )
        .await;
    assert_eq!(gone.expect("revoked"), [child.key.id]);
    let nothing_left = keys
        .revoke(
            &ada,
            root.key.id,
            DescendantKeys::Revoke,
            KeyPrecondition::AnyVersion,
            nowhere(),
        )
        .await;
    assert_eq!(nothing_left.expect("revoked"), []);
}

#[tokio::test]
async fn key_list_applies_its_filter_to_the_holders_keys() {
    let (installation, ada, bob) = installation_with_ada_and_bob();
    let keys = installation.keys();
    installation.issue(&bob, "deploy bob").await;
    installation.issue(&ada, "deploy one").await;
    let old = installation.issue(&ada, "deploy two").await;
    installation.issue(&ada, "backup").await;
    keys.revoke(
        &ada,
        old.key.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        nowhere(),
    )
    .await
    .expect("revoked");
    let all = PageRequest::first(PageSize::DEFAULT);
    for (status, search, expected) in [
        (StatusFilter::Valid, None, vec!["backup", "deploy one"]),
        (StatusFilter::Valid, Some("DEPLOY"), vec!["deploy one"]),
        (
            StatusFilter::All,
            Some("deploy"),
            vec!["deploy two", "deploy one"],
        ),
        (StatusFilter::Revoked, None, vec!["deploy two"]),
    ] {
        let page = keys
            .list(&ada, KeyFilter::new(status, search), all, installation.now())
            .await
            .expect("the store answers");
        let names: Vec<&str> = page.items.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn every_key_use_case_reports_an_unavailable_store() {
    let (installation, ada, _) = installation_with_ada_and_bob();
    let keys = installation.keys();
    let issued = installation.issue(&ada, "ci").await;
    installation.store.go_down();
    let id = issued.key.id;
    let all = PageRequest::first(PageSize::DEFAULT);

    assert!(matches!(keys.read(&ada, id).await, Err(ReadKeyError::Storage(_))));
    assert!(matches!(
        keys.edit(&ada, id, rename("new"), KeyPrecondition::AnyVersion, nowhere())
            .await,
        Err(EditKeyError::Storage(_))
    ));
    assert!(matches!(
        keys.revoke(
            &ada,
            id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            nowhere()
        )
        .await,
        Err(RevokeKeyError::Storage(_))
    ));
    assert!(
        keys.list(&ada, KeyFilter::default(), all, installation.now())
            .await
            .is_err()
    );
    assert!(
        keys.valid_descendants(&ada, id, installation.now())
            .await
            .is_err()
    );
    installation.store.come_back();
    assert_eq!(keys.read(&ada, id).await.expect("nothing was lost"), issued.key);
}

//! Acts of a key that may not manage keys.

use keyward_domain::access::AuthenticateError;
use keyward_domain::api_key::{KeyEdit, KeyName, KeyPrecondition};
use keyward_domain::audit::{Action, RequestSource};
use keyward_domain::holder::{Holder, KeyReach};
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{AddKeyError, EditKeyError, IssuedKey, KeyDraft, ReadKeyError, RevokeKeyError};
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{DescendantKeys, KeyFilter, StatusFilter};
use keyward_domain::testing::TestInstallation;

struct Scene {
    installation: TestInstallation,
    ada: Member,
    parent: IssuedKey,
    restricted: IssuedKey,
}

impl Scene {
    async fn new() -> Self {
        let installation = TestInstallation::new();
        let acme = installation.organization("Acme");
        let ada = installation.member(&acme, "ada", Role::Owner);
        let parent = installation.issue(&ada.as_holder(), "parent").await;
        let through_parent = installation.caller(&parent).await.as_holder();
        let restricted = installation.issue_restricted(&through_parent, "deploy").await;
        installation.issue(&through_parent, "deploy sibling").await;
        Self {
            installation,
            ada,
            parent,
            restricted,
        }
    }

    async fn holder(&self) -> Holder {
        self.installation.caller(&self.restricted).await.as_holder()
    }

    /// Identifiers for which the restricted key must get the same answers: of another key of its consumer,
    /// and of none.
    fn others(&self) -> [ApiKeyId; 2] {
        [self.parent.key.id, self.installation.builder.ids.next()]
    }
}

fn draft(can_manage_keys: Option<bool>) -> KeyDraft {
    KeyDraft {
        can_manage_keys,
        ..KeyDraft::named(KeyName::parse("child").expect("a name"))
    }
}

fn nowhere() -> RequestSource {
    RequestSource::default()
}

#[tokio::test]
async fn restricted_key_issues_no_key() {
    let scene = Scene::new().await;
    let holder = scene.holder().await;
    assert_eq!(holder.reach(), KeyReach::Only(scene.restricted.key.id));
    let questions = scene.installation.store.questions();
    for asked in [None, Some(false), Some(true)] {
        let refused = scene
            .installation
            .keys()
            .issue(&holder, draft(asked), None, nowhere())
            .await;
        assert!(
            matches!(refused, Err(AddKeyError::MayNotManageKeys)),
            "{refused:?}"
        );
    }
    assert_eq!(scene.installation.store.questions(), questions);
}

#[tokio::test]
async fn restricted_key_cannot_find_other_keys() {
    let scene = Scene::new().await;
    let (keys, holder) = (scene.installation.keys(), scene.holder().await);
    let events = scene.installation.store.events().len();
    for id in scene.others() {
        let read = keys.read(&holder, id).await;
        assert!(matches!(read, Err(ReadKeyError::NotFound)), "{read:?}");
        assert_eq!(
            keys.read_many(&holder, &[id]).await.expect("the store answers"),
            []
        );
        for edit in [KeyEdit::default(), rename("stolen")] {
            let edited = keys
                .edit(&holder, id, edit, KeyPrecondition::AnyVersion, nowhere())
                .await;
            assert!(matches!(edited, Err(EditKeyError::NotFound)), "{edited:?}");
        }
        for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
            let revoked = keys
                .revoke(&holder, id, descendants, KeyPrecondition::AnyVersion, nowhere())
                .await;
            assert!(matches!(revoked, Err(RevokeKeyError::NotFound)), "{revoked:?}");
        }
        let descendants = keys
            .valid_descendants(&holder, id, scene.installation.now())
            .await;
        assert_eq!(descendants.expect("the store answers"), []);
    }
    assert_eq!(scene.installation.store.events().len(), events);
    scene.installation.caller(&scene.parent).await;
}

#[tokio::test]
async fn restricted_key_lists_itself_on_one_page() {
    let scene = Scene::new().await;
    let holder = scene.holder().await;
    let own = scene.restricted.key.id;
    for (status, search, after, found) in [
        (StatusFilter::Valid, None, None, true),
        (StatusFilter::All, Some("DEPLOY"), None, true),
        (StatusFilter::All, Some("sibling"), None, false),
        (StatusFilter::Revoked, None, None, false),
        (StatusFilter::All, None, Some(own), false),
        (StatusFilter::All, None, Some(scene.parent.key.id), false),
        (
            StatusFilter::All,
            None,
            Some(scene.installation.builder.ids.next()),
            true,
        ),
    ] {
        let request = PageRequest {
            size: PageSize::ONE,
            after,
        };
        let filter = KeyFilter::new(status, search);
        let now = scene.installation.now();
        let page = scene
            .installation
            .keys()
            .list(&holder, filter, request, now)
            .await;
        let page = page.expect("the store answers");
        let listed: Vec<ApiKeyId> = page.items.iter().map(|key| key.id).collect();
        let expected = if found { vec![own] } else { Vec::new() };
        assert_eq!(listed, expected, "{status:?} {search:?} {after:?}");
        assert_eq!(page.next, None);
    }
}

#[tokio::test]
async fn restricted_key_reads_edits_and_revokes_itself() {
    for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
        let scene = Scene::new().await;
        let (keys, holder) = (scene.installation.keys(), scene.holder().await);
        let id = scene.restricted.key.id;
        let read = keys.read(&holder, id).await.expect("itself");
        assert_eq!(read, scene.restricted.key);
        assert!(!read.can_manage_keys);
        assert_eq!(keys.read_many(&holder, &[id]).await.expect("itself"), [read]);
        let edited = keys
            .edit(
                &holder,
                id,
                rename("renamed"),
                KeyPrecondition::AnyVersion,
                nowhere(),
            )
            .await;
        assert_eq!(edited.expect("itself").name.as_str(), "renamed");
        assert_eq!(
            keys.valid_descendants(&holder, id, scene.installation.now())
                .await
                .expect("none"),
            []
        );
        let revoked = keys
            .revoke(&holder, id, descendants, KeyPrecondition::AnyVersion, nowhere())
            .await;
        assert_eq!(revoked.expect("itself"), [id]);
        let refused = scene
            .installation
            .authenticate()
            .caller(scene.restricted.token.expose(), None)
            .await;
        assert!(
            matches!(refused, Err(AuthenticateError::InvalidToken)),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn unspecified_key_right_follows_the_organizations_choice() {
    let scene = Scene::new().await;
    let authority = scene
        .ada
        .as_authority(scene.ada.membership.joined_at)
        .expect("an owner");
    for chosen in [true, false, true] {
        scene
            .installation
            .organizations()
            .set_default_for_new_keys(&authority, chosen, nowhere())
            .await
            .expect("chosen");
        for asked in [None, Some(true), Some(false)] {
            let issued = scene
                .installation
                .keys()
                .issue(&scene.ada.as_holder(), draft(asked), None, nowhere())
                .await
                .expect("issued");
            let expected = asked.unwrap_or(chosen);
            assert_eq!(issued.key.can_manage_keys, expected);
            let caller = scene.installation.caller(&issued).await;
            assert_eq!(caller.api_key().can_manage_keys, expected);
            let recorded = scene.installation.store.events().pop().expect("an event");
            let action = if expected {
                Action::CreateApiKey
            } else {
                Action::CreateRestrictedApiKey
            };
            assert_eq!(recorded.action, action);
        }
    }
}

fn rename(name: &str) -> KeyEdit {
    KeyEdit {
        name: Some(KeyName::parse(name).expect("a name")),
        ..KeyEdit::default()
    }
}

#[tokio::test]
async fn restricted_key_leaves_its_user_half_of_the_changes() {
    let scene = Scene::new().await;
    let keys = scene.installation.keys();
    let (restricted, id) = (scene.holder().await, scene.restricted.key.id);
    let edit = || {
        keys.edit(
            &restricted,
            id,
            KeyEdit::default(),
            KeyPrecondition::AnyVersion,
            nowhere(),
        )
    };
    let mut edits = 0;
    while edit().await.is_ok() {
        edits += 1;
        assert!(edits < 1_000, "without end");
    }
    assert!(edits > 0);
    assert!(matches!(edit().await, Err(EditKeyError::Throttled(_))));
    scene.installation.issue(&scene.ada.as_holder(), "another").await;
}

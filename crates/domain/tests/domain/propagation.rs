//! Changes that end access return only after the wait for the other servers.

use std::future::ready;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::TimeDelta;
use keyward_domain::access::Refused;
use keyward_domain::access_changes::ChangeNumber;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ChangeMembershipExpiryError, EndMembershipError, KeySelection};
use keyward_domain::api_key::{Expiry, ExpiryChange, KeyEdit, KeyPrecondition, LongestLife};
use keyward_domain::audit::RequestSource;
use keyward_domain::keys::{IssuedKey, RevokeKeyError};
use keyward_domain::leaked_keys::{LeakedToken, Reported, RevokeLeakedKeys};
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{AccessChanges, DescendantKeys, EditKeyError, RotateKeyError, RotationDraft};
use keyward_domain::project::ProjectName;
use keyward_domain::propagation::Propagation;
use keyward_domain::testing::{MemoryStore, SeededRandom, TestInstallation};
use keyward_domain::token::Token;

/// Notes how many changes were committed at each wait.
struct NotedWaits {
    store: MemoryStore,
    waits: Mutex<Vec<ChangeNumber>>,
}

#[async_trait]
impl Propagation for NotedWaits {
    async fn wait(&self) {
        let registered = self.store.replicas().await.expect("the store answers");
        self.waits.lock().expect("no panic").push(registered.counter);
    }
}

struct Scene {
    installation: TestInstallation,
    ada: Member,
    bob: Member,
    his: IssuedKey,
    noted: Arc<NotedWaits>,
}

impl Scene {
    async fn new() -> Self {
        let installation = TestInstallation::new();
        let acme = installation.organization("Acme");
        let ada = installation.member(&acme, "ada", Role::Owner);
        let bob = installation.member(&acme, "bob", Role::Member);
        let his = installation.issue(&bob.as_holder(), "his").await;
        let noted = Arc::new(NotedWaits {
            store: installation.store.clone(),
            waits: Mutex::default(),
        });
        Self {
            installation,
            ada,
            bob,
            his,
            noted,
        }
    }

    fn authority(&self) -> Authority {
        self.ada.as_authority(self.installation.now()).expect("an owner")
    }

    fn by(&self) -> Arc<dyn Propagation> {
        Arc::clone(&self.noted) as _
    }

    /// The number of changes at each wait so far.
    fn waits(&self) -> Vec<u64> {
        let waits = self.noted.waits.lock().expect("no panic");
        waits.iter().map(|number| number.as_u64()).collect()
    }

    async fn revoke_his(&self) {
        let keys = self.installation.keys().with_propagation(self.by());
        keys.revoke(
            &self.bob.as_holder(),
            self.his.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            source(),
        )
        .await
        .expect("revoked");
    }
}

fn source() -> RequestSource {
    RequestSource::default()
}

#[tokio::test]
async fn revocation_waits_after_its_commit_and_when_repeated() {
    let scene = Scene::new().await;
    scene.revoke_his().await;
    assert_eq!(scene.waits(), [1]);
    scene.revoke_his().await;
    assert_eq!(scene.waits(), [1, 1]);
}

#[tokio::test]
async fn key_that_revokes_itself_again_waits_too() {
    let scene = Scene::new().await;
    let authenticate = scene.installation.authenticate().with_propagation(scene.by());
    let token = scene.his.token.expose();
    let caller = authenticate.caller(token, None).await.expect("accepted");
    assert_eq!(scene.waits(), []);
    let keys = scene.installation.keys().with_propagation(scene.by());
    let revoke = async || {
        keys.revoke(
            &caller.as_holder(),
            scene.his.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            source(),
        )
        .await
    };
    revoke().await.expect("revoked");
    assert_eq!(scene.waits(), [1]);
    let again = revoke().await;
    assert!(matches!(again, Err(RevokeKeyError::HolderGone)), "{again:?}");
    assert_eq!(scene.waits(), [1, 1], "its token was accepted before");
    let refused = authenticate.caller_with_permit(token, None, ready(())).await;
    let refused = refused.expect_err("revoked");
    assert!(matches!(refused, Refused::Ended), "{refused:?}");
    assert_eq!(scene.waits(), [1, 1]);
    authenticate.refused_everywhere(&refused).await;
    assert_eq!(scene.waits(), [1, 1, 1]);
}

#[tokio::test]
async fn applied_longest_life_waits_after_its_commit_and_when_repeated() {
    let scene = Scene::new().await;
    let longest = LongestLife::of_days(30).expect("a longest life");
    let organizations = scene.installation.organizations();
    let authority = scene.authority();
    let limited = organizations.limit_key_life(&authority, Some(longest), source());
    limited.await.expect("set");
    let keys = scene
        .installation
        .organization_keys()
        .with_propagation(scene.by());
    for waits in [vec![1], vec![1, 1]] {
        let applied = keys.apply_longest_life(&authority, longest, source(), TimeDelta::hours(1));
        applied.await.expect("applied");
        assert_eq!(scene.waits(), waits);
    }
}

#[tokio::test]
async fn leak_report_waits_after_its_commit_and_when_repeated() {
    let scene = Scene::new().await;
    let store = Arc::new(scene.installation.store.clone());
    let sources = scene.installation.builder.sources.clone();
    let leaks = RevokeLeakedKeys::new(Arc::clone(&store) as _, store, sources).with_propagation(scene.by());
    let report = async |token: &Token| {
        let found = LeakedToken::parse(token.expose(), "", "", source()).expect("a token");
        let reported: Result<Vec<_>, _> = leaks.revoke(vec![found]).await.into_iter().collect();
        reported.expect("the store answers")
    };
    assert_eq!(report(&scene.his.token).await, [Reported::Revoked]);
    assert_eq!(scene.waits(), [1]);
    assert_eq!(report(&scene.his.token).await, [Reported::Ended]);
    assert_eq!(scene.waits(), [1, 1]);
    let made_up = Token::generate(&SeededRandom::new(7));
    assert_eq!(report(&made_up).await, [Reported::Unknown]);
    assert_eq!(scene.waits(), [1, 1]);
}

#[tokio::test]
async fn planned_membership_end_waits_even_if_unchanged_or_too_late() {
    let scene = Scene::new().await;
    let members = scene.installation.members().with_propagation(scene.by());
    let end = scene.installation.now() + TimeDelta::hours(1);
    let change = ExpiryChange::Set(Expiry::new(end, scene.installation.now()).expect("ahead"));
    let plan = async || {
        members
            .change_expiry(&scene.authority(), scene.bob.membership.id, change, source())
            .await
    };
    plan().await.expect("planned");
    plan().await.expect("planned before");
    assert_eq!(scene.waits(), [1, 1]);
    scene.installation.builder.clock.advance(TimeDelta::hours(1));
    let too_late = plan().await;
    assert!(
        matches!(too_late, Err(ChangeMembershipExpiryError::NotFound)),
        "{too_late:?}"
    );
    assert_eq!(scene.waits(), [1, 1, 1]);
}

#[tokio::test]
async fn made_up_tokens_make_no_request_wait() {
    let scene = Scene::new().await;
    let authenticate = scene.installation.authenticate().with_propagation(scene.by());
    let made_up = Token::generate(&SeededRandom::new(7));
    for token in [made_up.expose(), "kwp_garbage", ""] {
        let refused = authenticate.caller_with_permit(token, None, ready(())).await;
        let refused = refused.expect_err("unknown");
        assert!(matches!(refused, Refused::Unknown), "{refused:?}");
        authenticate.refused_everywhere(&refused).await;
    }
    assert_eq!(scene.waits(), []);
}

#[tokio::test]
async fn ending_access_of_a_nonmember_waits_for_all_servers() {
    let scene = Scene::new().await;
    let members = scene.installation.members().with_propagation(scene.by());
    let find = async || {
        members
            .find_to_end_access(
                &scene.authority(),
                &scene.bob.user.username,
                scene.installation.now(),
            )
            .await
            .expect("an answer")
    };
    assert!(find().await.is_some());
    assert_eq!(scene.waits(), []);
    members.leave(&scene.bob, source()).await.expect("left");
    assert!(find().await.is_none());
    assert_eq!(scene.waits(), [1, 1]);
}

#[tokio::test]
async fn planned_end_change_waits_after_its_commit_and_when_repeated() {
    let scene = Scene::new().await;
    let keys = scene.installation.keys().with_propagation(scene.by());
    let now = scene.installation.now();
    let expiry = Expiry::new(now + TimeDelta::hours(1), now).expect("ahead");
    let edits = [
        (Some(ExpiryChange::Set(expiry)), &[1][..]),
        (Some(ExpiryChange::Set(expiry)), &[1, 1]),
        (None, &[1, 1]),
    ];
    for (expiry, waits) in edits {
        let edit = KeyEdit {
            expiry,
            ..KeyEdit::default()
        };
        let (holder, any) = (scene.bob.as_holder(), KeyPrecondition::AnyVersion);
        let edited = keys.edit(&holder, scene.his.key.id, edit, any, source()).await;
        edited.expect("edited");
        assert_eq!(scene.waits(), waits);
    }
}

#[tokio::test]
async fn planned_end_change_waits_where_the_key_is_revoked() {
    let scene = Scene::new().await;
    scene.revoke_his().await;
    let keys = scene.installation.keys().with_propagation(scene.by());
    let edit = KeyEdit {
        expiry: Some(ExpiryChange::Remove),
        ..KeyEdit::default()
    };
    let (holder, any) = (scene.bob.as_holder(), KeyPrecondition::AnyVersion);
    let edited = keys.edit(&holder, scene.his.key.id, edit, any, source()).await;
    assert!(matches!(edited, Err(EditKeyError::Revoked)));
    assert_eq!(scene.waits(), [1, 1]);
}

#[tokio::test]
async fn rotation_waits_where_the_key_is_revoked() {
    let scene = Scene::new().await;
    scene.revoke_his().await;
    let keys = scene.installation.keys().with_propagation(scene.by());
    let (holder, draft) = (scene.bob.as_holder(), RotationDraft::default());
    let rotated = keys
        .rotate(&holder, scene.his.key.id, draft, None, source())
        .await;
    assert!(matches!(rotated, Err(RotateKeyError::Revoked)));
    assert_eq!(scene.waits(), [1, 1]);
}

#[tokio::test]
async fn revocation_of_many_keys_waits_once() {
    let scene = Scene::new().await;
    for name in ["two", "three", "four"] {
        scene.installation.issue(&scene.bob.as_holder(), name).await;
    }
    let keys = scene
        .installation
        .organization_keys()
        .with_propagation(scene.by());
    let keys = keys.with_batch_size(2.try_into().expect("not zero"));
    let all = KeySelection::OfConsumer(scene.bob.membership.id);
    let revoked = keys.revoke(&scene.authority(), all, None, source(), None).await;
    assert_eq!(revoked.expect("revoked").count, 4);
    assert_eq!(scene.waits(), [4]);
}

#[tokio::test]
async fn stopped_revocation_of_many_keys_waits_too() {
    let scene = Scene::new().await;
    scene.installation.issue(&scene.bob.as_holder(), "two").await;
    let keys = scene
        .installation
        .organization_keys()
        .with_propagation(scene.by());
    let keys = keys.with_batch_size(1.try_into().expect("not zero"));
    let all = KeySelection::OfConsumer(scene.bob.membership.id);
    let no_time = Some(TimeDelta::zero());
    let stopped = keys
        .revoke(&scene.authority(), all, None, source(), no_time)
        .await;
    assert_eq!(stopped.expect_err("no time").progress.count, 1);
    assert_eq!(scene.waits(), [1]);
}

#[tokio::test]
async fn removal_and_leaving_wait_after_their_commit() {
    let scene = Scene::new().await;
    let members = scene.installation.members().with_propagation(scene.by());
    let id = scene.bob.membership.id;
    members
        .remove(&scene.authority(), id, source())
        .await
        .expect("removed");
    assert_eq!(scene.waits(), [1]);
    let again = members.remove(&scene.authority(), id, source()).await;
    assert!(matches!(again, Err(EndMembershipError::NotFound)), "{again:?}");
    assert_eq!(
        scene.waits(),
        [1, 1],
        "the request that removed them may still be waiting"
    );

    let scene = Scene::new().await;
    let members = scene.installation.members().with_propagation(scene.by());
    members.leave(&scene.bob, source()).await.expect("left");
    assert_eq!(scene.waits(), [1]);
}

#[tokio::test]
async fn changes_of_projects_that_keys_reach_wait_after_their_commit() {
    let scene = Scene::new().await;
    let projects = scene.installation.projects().with_propagation(scene.by());
    let (owner, bob) = (scene.authority(), scene.bob.membership.id);
    let name = ProjectName::parse("Notes").expect("a name");
    let id = projects
        .create(&owner, name, None, source())
        .await
        .expect("created")
        .id;
    assert_eq!(scene.waits(), []);
    projects
        .add_member(&owner, id, bob, source())
        .await
        .expect("added");
    projects.archive(&owner, id, source()).await.expect("archived");
    projects.restore(&owner, id, source()).await.expect("restored");
    projects
        .remove_member(&owner, id, bob, source())
        .await
        .expect("removed");
    let name = ProjectName::parse("Letters").expect("a name");
    projects
        .rename(&owner, id, name, source())
        .await
        .expect("renamed");
    assert_eq!(scene.waits(), [1, 2, 3, 4, 5]);
}

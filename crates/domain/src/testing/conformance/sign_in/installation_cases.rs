//! Cases of [`InstallationStore`](crate::sign_in::ports::InstallationStore).

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{Scene, similar_to};
use super::scene::member_of;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::OrganizationId;
use crate::membership::Member;
use crate::sign_in::ports::{CompleteSetupError, FirstOwner, ReplaceSetupLinkError, SetupProof};
use crate::sign_in::remembered_browser::BrowserKey;
use crate::sign_in::setup::{SetupDigest, SetupToken};

pub(super) async fn empty_store_is_not_set_up(stores: Stores) {
    let scene = Scene::new(stores);

    assert!(!is_set_up(&scene).await);
    assert!(!works(&scene, &new_link(&scene), scene.now()).await);
}

pub(super) async fn link_works_until_it_expires(stores: Stores) {
    let scene = Scene::new(stores);
    let link = new_link(&scene);
    let expires_at = scene.now() + TimeDelta::hours(24);
    replace_link(&scene, link, expires_at).await.expect("a link");

    let millisecond = TimeDelta::milliseconds(1);
    assert!(works(&scene, &link, scene.now()).await);
    assert!(works(&scene, &link, expires_at - millisecond).await);
    assert!(!works(&scene, &link, expires_at).await);
    assert!(!works(&scene, &link, expires_at + millisecond).await);
    assert!(!works(&scene, &new_link(&scene), scene.now()).await);
}

pub(super) async fn new_setup_link_replaces_the_previous_one(stores: Stores) {
    let scene = Scene::new(stores);
    let (first, second) = (new_link(&scene), new_link(&scene));
    let expires_at = scene.now() + TimeDelta::hours(24);
    for link in [first, second] {
        replace_link(&scene, link, expires_at).await.expect("a link");
    }

    assert!(!works(&scene, &first, scene.now()).await);
    assert!(works(&scene, &second, scene.now()).await);
    let events = scene
        .events_about(None, Action::CreateSetupLink, Subject::Installation)
        .await;
    assert_eq!(events.len(), 2);
}

pub(super) async fn setup_link_lookup_compares_every_byte_of_the_digest(stores: Stores) {
    let scene = Scene::new(stores);
    let (link, now) = (new_link(&scene), scene.now());
    replace_link(&scene, link, now + TimeDelta::hours(24))
        .await
        .expect("a link");
    let owner = scene.first_owner("Analytical Engines", "ada");
    for (byte, similar) in similar_to(link.as_bytes()).into_iter().enumerate() {
        let digest = SetupDigest::from_bytes(similar);
        assert!(!works(&scene, &digest, now).await, "byte {byte} is another one");
        let refused = set_up(&scene, SetupProof::Link { digest, at: now }, owner.clone()).await;
        assert!(
            matches!(refused, Err(CompleteSetupError::LinkInvalid)),
            "{refused:?}"
        );
    }

    assert!(works(&scene, &link, now).await);
}

pub(super) async fn setup_link_replacement_completes_after_caller_cancellation(stores: Stores) {
    let scene = Scene::new(stores);
    let (first, second) = (new_link(&scene), new_link(&scene));
    let expires_at = scene.now() + TimeDelta::hours(24);
    replace_link(&scene, first, expires_at).await.expect("a link");
    abandon(replace_link(&scene, second, expires_at)).await;

    eventually("the abandoned link replaces the first", async || {
        works(&scene, &second, scene.now()).await
    })
    .await;
    assert!(!works(&scene, &first, scene.now()).await);
    let events = scene
        .events_about(None, Action::CreateSetupLink, Subject::Installation)
        .await;
    assert_eq!(events.len(), 2);
}

pub(super) async fn setup_link_is_unchanged_when_event_cannot_be_written(stores: Stores) {
    let scene = Scene::new(stores);
    let (first, second) = (new_link(&scene), new_link(&scene));
    let expires_at = scene.now() + TimeDelta::hours(24);
    replace_link(&scene, first, expires_at).await.expect("a link");
    let event = scene.unwritable(link_creation(&scene)).await;
    let failed = scene
        .stores
        .installation
        .replace_setup_link(second, expires_at, event)
        .await;

    assert!(
        matches!(failed, Err(ReplaceSetupLinkError::Storage(_))),
        "{failed:?}"
    );
    assert!(works(&scene, &first, scene.now()).await);
    assert!(!works(&scene, &second, scene.now()).await);
}

pub(super) async fn setup_link_creates_organization_owner_and_membership(stores: Stores) {
    let scene = Scene::new(stores);
    let link = new_link(&scene);
    let expires_at = scene.now() + TimeDelta::hours(24);
    replace_link(&scene, link, expires_at).await.expect("a link");
    let owner = scene.first_owner("Analytical Engines", "ada");
    let proof = SetupProof::Link {
        digest: link,
        at: expires_at - TimeDelta::milliseconds(1),
    };

    assert_sets_up(&scene, proof, owner).await;
    assert!(!works(&scene, &link, scene.now()).await, "the link works once");
}

pub(super) async fn command_line_sets_up_without_a_link(stores: Stores) {
    let scene = Scene::new(stores);
    let owner = scene.first_owner("Analytical Engines", "ada");

    assert_sets_up(&scene, SetupProof::CommandLine, owner).await;
}

pub(super) async fn command_line_setup_invalidates_an_unused_link(stores: Stores) {
    let scene = Scene::new(stores);
    let link = new_link(&scene);
    replace_link(&scene, link, scene.now() + TimeDelta::hours(24))
        .await
        .expect("a link");
    let owner = scene.first_owner("Analytical Engines", "ada");
    let done = set_up(&scene, SetupProof::CommandLine, owner).await;
    done.expect("set up");

    assert!(!works(&scene, &link, scene.now()).await);
}

pub(super) async fn invalid_setup_link_sets_nothing_up(stores: Stores) {
    let scene = Scene::new(stores);
    let (replaced, link) = (new_link(&scene), new_link(&scene));
    let expires_at = scene.now() + TimeDelta::hours(24);
    for link in [replaced, link] {
        replace_link(&scene, link, expires_at).await.expect("a link");
    }
    let now = scene.now();
    for (digest, at) in [(new_link(&scene), now), (replaced, now), (link, expires_at)] {
        let owner = scene.first_owner("Analytical Engines", "ada");
        let refused = set_up(&scene, SetupProof::Link { digest, at }, owner.clone()).await;
        assert!(
            matches!(refused, Err(CompleteSetupError::LinkInvalid)),
            "{refused:?}"
        );
        assert_nothing_of(&scene, &owner).await;
    }

    assert!(!is_set_up(&scene).await);
    assert!(works(&scene, &link, now).await, "the right link still works");
}

pub(super) async fn second_setup_is_refused(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let unknown = SetupProof::Link {
        digest: new_link(&scene),
        at: scene.now(),
    };
    // Also with an invalid link, because the setup is already completed.
    for proof in [SetupProof::CommandLine, unknown] {
        let second = scene.first_owner("Difference Engines", "charles");
        let refused = set_up(&scene, proof, second.clone()).await;
        assert!(
            matches!(refused, Err(CompleteSetupError::AlreadySetUp)),
            "{refused:?}"
        );
        assert_nothing_of(&scene, &second).await;
    }

    assert_eq!(organizations(&scene).await, [ada.organization]);
}

pub(super) async fn no_setup_link_exists_after_setup(stores: Stores) {
    let (scene, _) = Scene::with_first_owner(stores).await;
    let link = new_link(&scene);
    let refused = replace_link(&scene, link, scene.now() + TimeDelta::hours(24)).await;

    assert!(
        matches!(refused, Err(ReplaceSetupLinkError::AlreadySetUp)),
        "{refused:?}"
    );
    assert!(!works(&scene, &link, scene.now()).await);
    let events = scene
        .events_about(None, Action::CreateSetupLink, Subject::Installation)
        .await;
    assert_eq!(events, []);
}

pub(super) async fn setup_fails_when_events_cannot_be_written(stores: Stores) {
    let scene = Scene::new(stores);
    let owner = scene.first_owner("Analytical Engines", "ada");
    let mut events = creation(&scene, &owner);
    if let Some(last) = events.pop() {
        events.push(scene.unwritable(last).await);
    }
    let failed = scene
        .stores
        .installation
        .set_up(SetupProof::CommandLine, owner.clone(), events)
        .await;

    assert!(
        matches!(failed, Err(CompleteSetupError::Storage(_))),
        "{failed:?}"
    );
    assert!(!is_set_up(&scene).await);
    assert_nothing_of(&scene, &owner).await;
}

pub(super) async fn setup_completes_after_caller_cancellation(stores: Stores) {
    let scene = Scene::new(stores);
    let owner = scene.first_owner("Analytical Engines", "ada");
    let events = creation(&scene, &owner);
    abandon(
        scene
            .stores
            .installation
            .set_up(SetupProof::CommandLine, owner.clone(), events),
    )
    .await;

    eventually("the abandoned setup happens", async || is_set_up(&scene).await).await;
    let found = found(&scene, &owner).await.map(|member| member.membership.id);
    assert_eq!(found, Some(owner.membership.id));
}

pub(super) async fn concurrent_setups_succeed_once(stores: Stores) {
    let scene = Scene::new(stores);
    let link = new_link(&scene);
    replace_link(&scene, link, scene.now() + TimeDelta::hours(24))
        .await
        .expect("a link");
    let by_link = SetupProof::Link {
        digest: link,
        at: scene.now(),
    };
    let attempts = (0..32).map(|number| {
        let scene = scene.clone();
        let proof = if number % 4 == 0 {
            SetupProof::CommandLine
        } else {
            by_link
        };
        // All call the organization and its owner by the same names, or each by their own.
        let number = number / 2;
        let owner = scene.first_owner(&format!("Engines {number}"), &format!("ada{number}"));
        let task: BoxFuture<'static, _> =
            Box::pin(async move { set_up(&scene, proof, owner.clone()).await.map(|()| owner) });
        task
    });
    let (done, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .partition(Result::is_ok);

    assert_eq!(done.len(), 1, "one setup succeeds");
    for error in refused {
        assert!(
            matches!(error, Err(CompleteSetupError::AlreadySetUp)),
            "{error:?}"
        );
    }
    for owner in done.into_iter().flatten() {
        let found = found(&scene, &owner).await.map(|member| member.membership.id);
        assert_eq!(found, Some(owner.membership.id));
        let organizations = organizations(&scene).await.into_iter();
        let organizations: Vec<OrganizationId> = organizations.map(|organization| organization.id).collect();
        assert_eq!(organizations, [owner.organization.id]);
        assert_eq!(scene.events(Some(owner.organization.id)).await.len(), 3);
    }
}

pub(super) async fn no_setup_link_survives_a_concurrent_setup(stores: Stores) {
    let scene = Scene::new(stores);
    let links: Vec<SetupDigest> = (0..16).map(|_| new_link(&scene)).collect();
    let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
    for &link in &links {
        let scene = scene.clone();
        tasks.push(Box::pin(async move {
            let replaced = replace_link(&scene, link, scene.now() + TimeDelta::hours(24)).await;
            assert!(
                matches!(replaced, Ok(()) | Err(ReplaceSetupLinkError::AlreadySetUp)),
                "{replaced:?}"
            );
        }));
    }
    let owner = scene.first_owner("Analytical Engines", "ada");
    let setter = scene.clone();
    tasks.insert(
        8,
        Box::pin(async move {
            set_up(&setter, SetupProof::CommandLine, owner)
                .await
                .expect("set up");
        }),
    );
    scene.in_parallel(tasks).await;

    for link in &links {
        assert!(!works(&scene, link, scene.now()).await);
    }
}

async fn assert_sets_up(scene: &Scene<Stores>, proof: SetupProof, owner: FirstOwner) {
    let events = creation(scene, &owner);
    scene
        .stores
        .installation
        .set_up(proof, owner.clone(), events.clone())
        .await
        .expect("set up");

    assert!(is_set_up(scene).await);
    assert_eq!(found(scene, &owner).await, Some(member_of(&owner)));
    assert_eq!(
        organizations(scene).await,
        std::slice::from_ref(&owner.organization)
    );
    let account = scene.stores.accounts.find(&owner.user.username).await;
    let account = account.expect("the store answers").expect("an account");
    assert_eq!(account.user, owner.user);
    assert_eq!(account.password_hash, owner.password_hash);
    let mut written = scene.events(Some(owner.organization.id)).await;
    written.reverse();
    assert_eq!(written, scene.all_as_shown(events).await);
}

async fn assert_nothing_of(scene: &Scene<Stores>, owner: &FirstOwner) {
    assert_eq!(found(scene, owner).await, None);
    assert!(
        !organizations(scene).await.contains(&owner.organization),
        "no organization is left behind"
    );
    let account = scene.stores.accounts.find(&owner.user.username).await;
    assert_eq!(account.expect("the store answers"), None);
    assert_eq!(scene.events(Some(owner.organization.id)).await, []);
}

fn new_link(scene: &Scene<Stores>) -> SetupDigest {
    SetupToken::generate(&*scene.make.random).digest()
}

fn link_creation(scene: &Scene<Stores>) -> AuditEvent {
    scene
        .act_as(Actor::Administrator, None)
        .event(Action::CreateSetupLink, Subject::Installation)
}

fn creation(scene: &Scene<Stores>, owner: &FirstOwner) -> Vec<AuditEvent> {
    let act = scene.act_as(Actor::Anonymous, Some(owner.organization.id));
    vec![
        act.event(
            Action::CreateOrganization,
            Subject::Organization(owner.organization.id),
        ),
        act.event(Action::CreateUser, Subject::User(owner.user.id)),
        act.event(Action::CreateMembership, Subject::Membership(owner.membership.id)),
    ]
}

async fn replace_link(
    scene: &Scene<Stores>,
    link: SetupDigest,
    expires_at: DateTime<Utc>,
) -> Result<(), ReplaceSetupLinkError> {
    let event = link_creation(scene);
    scene
        .stores
        .installation
        .replace_setup_link(link, expires_at, event)
        .await
}

async fn set_up(
    scene: &Scene<Stores>,
    proof: SetupProof,
    owner: FirstOwner,
) -> Result<(), CompleteSetupError> {
    let events = creation(scene, &owner);
    scene.stores.installation.set_up(proof, owner, events).await
}

async fn works(scene: &Scene<Stores>, link: &SetupDigest, now: DateTime<Utc>) -> bool {
    scene
        .stores
        .installation
        .setup_link_works(link, now)
        .await
        .expect("the store answers")
}

async fn is_set_up(scene: &Scene<Stores>) -> bool {
    scene
        .stores
        .installation
        .is_set_up()
        .await
        .expect("the store answers")
}

async fn found(scene: &Scene<Stores>, owner: &FirstOwner) -> Option<Member> {
    scene
        .stores
        .keys
        .memberships
        .find_live(owner.user.id, &owner.organization.slug, scene.now())
        .await
        .expect("the store answers")
}

async fn organizations(scene: &Scene<Stores>) -> Vec<crate::organization::Organization> {
    scene
        .stores
        .accounts
        .organizations()
        .await
        .expect("the store answers")
}

pub(super) async fn first_browser_key_is_permanent(stores: Stores) {
    let scene = Scene::new(stores);
    let first = BrowserKey::generate(&*scene.make.random);
    for candidate in [
        first.clone(),
        BrowserKey::generate(&*scene.make.random),
        first.clone(),
    ] {
        assert_eq!(browser_key(&scene, candidate).await.as_bytes(), first.as_bytes());
    }
}

pub(super) async fn concurrent_browser_keys_leave_one(stores: Stores) {
    let scene = Scene::new(stores);
    let calls = (0..16).map(|_| {
        let (scene, candidate) = (scene.clone(), BrowserKey::generate(&*scene.make.random));
        let task: BoxFuture<'static, _> = Box::pin(async move { browser_key(&scene, candidate).await });
        task
    });
    let keys = scene.in_parallel(calls).await;

    assert!(keys.iter().all(|key| *key == keys[0]));
}

async fn browser_key(scene: &Scene<Stores>, candidate: BrowserKey) -> BrowserKey {
    let key = scene.stores.installation.browser_key(candidate).await;
    key.expect("the store answers")
}

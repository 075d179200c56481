//! Cases of [`SessionStore`](crate::sign_in::ports::SessionStore): sessions that continue.

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::{Scene, similar_to};
use super::sessions::{find, new_session, sign_in, sign_out, start_session};
use crate::sign_in::ports::NewSession;
use crate::sign_in::session::SessionDigest;

pub(super) async fn unknown_session_is_not_found(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    start_session(&scene, &ada.user).await;
    let unknown = new_session(&scene, &ada.user, None);

    assert_eq!(find(&scene, &unknown.digest).await, None);
}

pub(super) async fn session_lookup_compares_every_byte_of_the_digest(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let similar = similar_to(first.digest.as_bytes()).map(SessionDigest::from_bytes);
    for (byte, digest) in similar.iter().enumerate() {
        assert_eq!(find(&scene, digest).await, None, "byte {byte} is another one");
    }
    let second = NewSession {
        digest: similar[31],
        ..new_session(&scene, &ada.user, None)
    };
    let event = sign_in(&scene, &second);
    let started = scene.stores.sessions.start(second.clone(), vec![event]).await;
    started.expect("started");

    for new in [&first, &second] {
        let found = find(&scene, &new.digest).await.expect("a known digest");
        assert_eq!(found.session.id, new.session.id);
    }
}

pub(super) async fn sessions_of_a_user_are_listed_latest_first(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let first = start_session(&scene, &ada.user).await.session;
    start_session(&scene, &bob.user).await;
    scene.later(TimeDelta::days(30));
    let second = start_session(&scene, &ada.user).await;
    let third = start_session(&scene, &ada.user).await.session;
    let event = sign_out(&scene, &second);
    scene
        .stores
        .sessions
        .end(ada.user.id, second.session.id, event)
        .await
        .expect("ended");

    let listed = scene.stores.sessions.list(ada.user.id).await.expect("a list");
    assert_eq!(listed, [third, first]);
}

pub(super) async fn last_seen_time_of_a_session_only_moves_forward(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let bystander = start_session(&scene, &ada.user).await;
    let start = scene.now();
    let later = start + TimeDelta::minutes(5);
    for (at, expected) in [
        (later, later),
        (start, later),
        (later - TimeDelta::milliseconds(1), later),
        (
            later + TimeDelta::milliseconds(1),
            later + TimeDelta::milliseconds(1),
        ),
    ] {
        scene
            .stores
            .sessions
            .seen(new.session.id, at)
            .await
            .expect("noted");
        assert_eq!(last_seen(&scene, &new.digest).await, expected);
    }

    let found = find(&scene, &new.digest).await.expect("still there");
    assert_eq!(found.session.started_at, start);
    assert_eq!(last_seen(&scene, &bystander.digest).await, start);
}

pub(super) async fn expired_session_is_still_found(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    scene.later(TimeDelta::days(400));

    assert!(find(&scene, &new.digest).await.is_some());
}

pub(super) async fn concurrent_session_uses_keep_the_latest_time(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let start = scene.now();
    let sightings = (0..32_i64).map(|number| {
        let (scene, session) = (scene.clone(), new.session.id);
        // The latest comes somewhere in the middle.
        let at = start + TimeDelta::seconds(number * 13 % 32);
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.stores.sessions.seen(session, at).await });
        task
    });
    for noted in scene.in_parallel(sightings).await {
        noted.expect("noted");
    }

    assert_eq!(
        last_seen(&scene, &new.digest).await,
        start + TimeDelta::seconds(31)
    );
}

async fn last_seen(scene: &Scene<Stores>, digest: &SessionDigest) -> DateTime<Utc> {
    find(scene, digest)
        .await
        .expect("still there")
        .session
        .last_seen_at
}

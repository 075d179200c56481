//! How [`InvitationStore::add`](crate::administration::ports::InvitationStore::add) treats a form that is
//! sent again.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{CROWD, as_user};
use crate::administration::ports::{AddInvitationError, NewInvitation};
use crate::audit::{Action, Subject};
use crate::id::InvitationId;
use crate::keys::IdempotencyKey;
use crate::membership::{Member, Role};
use crate::page::{PageRequest, PageSize};

pub(super) async fn invitation_form_creates_one_invitation_even_after_its_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = scene.idempotency_key();
    let first = filled_in(&scene, &ada, idempotency_key);
    send(&scene, &ada, &first).await.expect("added");

    assert_repeats(&scene, &ada, idempotency_key, first.invitation.id).await;
    let (id, act) = (first.invitation.id, scene.act(&ada));
    let revoked = scene.stores.invitations.revoke(ada.organization.id, id, act);
    revoked.await.expect("revoked");
    assert_repeats(&scene, &ada, idempotency_key, first.invitation.id).await;
}

async fn assert_repeats(
    scene: &Scene<Stores>,
    owner: &Member,
    idempotency_key: IdempotencyKey,
    first: InvitationId,
) {
    let again = filled_in(scene, owner, idempotency_key);
    match send(scene, owner, &again).await {
        Err(AddInvitationError::AlreadyCreated(made)) => assert_eq!(made, first),
        other => panic!("a form invites once: {other:?}"),
    }
    assert_eq!(scene.open_invitation(&again).await, None);
    let (here, subject) = (
        Some(owner.organization.id),
        Subject::Invitation(again.invitation.id),
    );
    let recorded = scene.events_about(here, Action::CreateInvitation, subject).await;
    assert_eq!(recorded, []);
}

pub(super) async fn two_organizations_may_use_the_same_idempotency_key(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let elsewhere = scene.add_organization("Elsewhere").await;
    let stranger = scene.join_as(&elsewhere, "stranger", Role::Owner).await;
    let idempotency_key = scene.idempotency_key();
    for owner in [&ada, &stranger] {
        let new = filled_in(&scene, owner, idempotency_key);
        send(&scene, owner, &new).await.expect("added");
    }
}

pub(super) async fn form_state_is_hidden_from_callers_who_may_not_invite(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let idempotency_key = scene.idempotency_key();
    send(&scene, &ada, &filled_in(&scene, &ada, idempotency_key))
        .await
        .expect("added");

    let refused = send(&scene, &bob, &filled_in(&scene, &bob, idempotency_key)).await;
    assert!(
        matches!(refused, Err(AddInvitationError::NotAllowed)),
        "{refused:?}"
    );
}

pub(super) async fn concurrent_submissions_of_one_form_create_one_invitation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = scene.idempotency_key();
    let sendings = (0..CROWD).map(|_| {
        let (scene, ada) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let new = filled_in(&scene, &ada, idempotency_key);
            send(&scene, &ada, &new).await
        });
        task
    });
    let (added, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(sendings)
        .await
        .into_iter()
        .partition(Result::is_ok);
    assert_eq!(added.len(), 1, "one form invites once");

    let page = PageRequest::first(PageSize::DEFAULT);
    let pending = scene.stores.invitations.pending(ada.organization.id, page).await;
    let pending = pending.expect("the store answers").items;
    let [made] = pending.as_slice() else {
        panic!("one invitation waits, not {pending:?}")
    };
    for answer in refused {
        assert!(
            matches!(&answer, Err(AddInvitationError::AlreadyCreated(first)) if *first == made.id),
            "{answer:?}"
        );
    }
}

/// The invitation of a form with this idempotency key.
fn filled_in(scene: &Scene<Stores>, sender: &Member, idempotency_key: IdempotencyKey) -> NewInvitation {
    NewInvitation {
        idempotency_key: Some(idempotency_key),
        ..scene.new_invitation(&sender.organization, as_user(sender), Role::Member)
    }
}

async fn send(scene: &Scene<Stores>, sender: &Member, new: &NewInvitation) -> Result<(), AddInvitationError> {
    let act = scene.act(sender);
    scene.stores.invitations.add(new.clone(), act).await
}

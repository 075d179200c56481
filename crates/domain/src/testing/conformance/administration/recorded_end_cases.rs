//! Cases of [`PlannedEndStore`](crate::planned_ends::ports::PlannedEndStore), and of other methods that record
//! planned ends that have come.

use std::num::NonZeroU32;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::key_scene::{ALL, issued_before, only, with_descendants};
use super::scene::as_user;
use crate::administration::ports::KeySelection;
use crate::api_key::ApiKey;
use crate::audit::{Act, Action, Actor, AuditEvent, RequestSource, Subject};
use crate::id::InvitationId;
use crate::membership::{Member, Role};
use crate::page::PageSize;
use crate::validity::End;

const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

/// More than any case has.
const MANY: u32 = 1_000;

impl Scene<Stores> {
    fn act_of_system(&self) -> Act {
        Act {
            source: RequestSource::default(),
            ..self.act_as(Actor::System, None)
        }
    }

    async fn has_due(&self) -> bool {
        let answer = self.stores.planned_ends.has_due(self.now()).await;
        answer.expect("the store answers")
    }

    /// Records ends of keys and of memberships, at most this many of each. Returns the numbers of both.
    async fn record(&self, at_most: u32) -> (u32, u32) {
        let store = &self.stores.planned_ends;
        let keys = store.record_ends_of_keys(at_most, self.act_of_system()).await;
        let memberships = store.record_ends_of_memberships(at_most, self.act_of_system());
        let memberships = memberships.await;
        (
            keys.expect("the store answers"),
            memberships.expect("the store answers"),
        )
    }

    fn wait_for(&self, moment: DateTime<Utc>) {
        self.later(moment - self.now());
    }

    fn in_an_hour(&self) -> DateTime<Utc> {
        self.now() + TimeDelta::hours(1)
    }

    async fn events_on(&self, member: &Member, action: Action, subject: Subject) -> Vec<AuditEvent> {
        self.events_about(Some(member.organization.id), action, subject)
            .await
    }

    async fn assert_key_is_recorded(&self, owner: &Member, planned: &ApiKey) {
        let mut recorded = planned.clone();
        if let Some(revocation) = &mut recorded.revocation {
            revocation.end = End::Come(revocation.end.at());
        }
        assert_eq!(self.stored(planned).await, recorded);
        let subject = Subject::ApiKey(planned.id);
        let events = self.events_on(owner, Action::ExpireApiKey, subject).await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(events[0].old_value.is_some(), "{events:?}");
    }

    async fn assert_membership_is_recorded(&self, member: &Member) {
        let subject = Subject::Membership(member.membership.id);
        let events = self.events_on(member, Action::ExpireMembership, subject).await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(events[0].old_value.is_some(), "{events:?}");
        assert!(!self.has_due().await);
    }

    fn assert_is_one_of_system(&self, events: &[AuditEvent]) {
        let [event] = events else {
            panic!("one event: {events:?}");
        };
        assert_eq!((event.actor, event.at), (Actor::System, self.now()));
        assert_eq!(event.source, RequestSource::default());
    }

    async fn pending(&self, owner: &Member) -> Vec<InvitationId> {
        let store = &self.stores.invitations;
        let pending = all_pages(size_of(PageSize::MAX), |page| {
            store.pending(owner.organization.id, page)
        });
        pending.await.into_iter().map(|one| one.id).collect()
    }
}

pub(super) async fn end_is_due_from_its_moment_until_recorded(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.add_key(&ada, "key").await;
    let revoked = scene.add_key(&ada, "revoked").await;
    scene
        .revoke_many(&ada, only(&[&revoked]), scene.act(&ada))
        .await
        .expect("revoked");
    assert!(!scene.has_due().await);
    let first = scene.in_an_hour();
    let second = first + MILLISECOND;
    scene.plan_revocation(&key, first).await;
    scene.plan_end_of_membership(&bob, second).await;

    for (moment, recorded) in [(first - MILLISECOND, (0, 0)), (first, (1, 0)), (second, (0, 1))] {
        scene.wait_for(moment);
        assert_eq!(scene.has_due().await, recorded != (0, 0));
        assert_eq!(scene.record(MANY).await, recorded);
        assert!(!scene.has_due().await);
        assert_eq!(scene.record(MANY).await, (0, 0));
    }
}

pub(super) async fn recorded_key_end_keeps_its_plan_and_has_one_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "key");
    let key = scene.store(&ada, &new).await;
    let child = scene.add_child(&ada, &key, "child").await;
    let end = scene.in_an_hour();
    let planned = scene.plan_revocation(&key, end).await;
    scene.wait_for(end + TimeDelta::seconds(30));

    assert_eq!(scene.record(MANY).await, (1, 0));
    scene.assert_key_is_recorded(&ada, &planned).await;
    let subject = Subject::ApiKey(key.id);
    let events = scene.events_on(&ada, Action::ExpireApiKey, subject).await;
    scene.assert_is_one_of_system(&events);
    assert_eq!(scene.stored(&child).await, child);
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &key).await, 0);
    let credential = scene.stores.keys.credentials.find(&new.digest).await;
    let credential = credential.expect("the store answers").expect("still known");
    assert!(
        !credential.is_accepted(end - MILLISECOND),
        "by a clock that is behind"
    );
}

pub(super) async fn the_recorded_end_of_a_membership_revokes_open_invitations(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let new = scene.new_key(&bob, "key");
    let key = scene.store(&bob, &new).await;
    let [his, hers] = [
        scene.invite(&bob, Role::Owner).await,
        scene.invite(&ada, Role::Member).await,
    ];
    let end = scene.in_an_hour();
    scene.plan_end_of_membership(&bob, end).await;
    scene.wait_for(end);

    assert_eq!(scene.record(MANY).await, (0, 1));
    scene.assert_membership_is_recorded(&bob).await;
    assert_eq!(scene.pending(&ada).await, [hers.invitation.id]);
    let subject = Subject::Invitation(his.invitation.id);
    let events = scene.events_on(&ada, Action::RevokeInvitation, subject).await;
    scene.assert_is_one_of_system(&events);
    let credential = scene.stores.keys.credentials.find(&new.digest).await;
    let credential = credential.expect("the store answers").expect("still known");
    assert_eq!(credential.membership_end, Some(End::Come(end)));
    assert_eq!(scene.stored(&key).await.revocation, None);
}

pub(super) async fn a_batch_of_recorded_ends_has_a_limit(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let end = scene.in_an_hour();
    let mut keys = Vec::new();
    for (number, organization) in [&ada.organization, &other, &ada.organization]
        .into_iter()
        .enumerate()
    {
        let member = scene.join(organization, &format!("member{number}")).await;
        let key = scene.add_key(&ada, &format!("key {number}")).await;
        let after = MILLISECOND * i32::try_from(number).unwrap_or(0);
        keys.push(scene.plan_revocation(&key, end - after).await);
        scene.plan_end_of_membership(&member, end - after).await;
    }
    scene.wait_for(end);

    assert_eq!(scene.record(2).await, (2, 2));
    let mut ends = Vec::new();
    for key in &keys {
        ends.push(scene.stored(key).await.end());
    }
    let recorded = |end: &Option<End>| matches!(end, Some(End::Come(_)));
    assert_eq!(ends.iter().map(recorded).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(scene.record(2).await, (1, 1));
    assert_eq!(scene.record(2).await, (0, 0));
}

pub(super) async fn ends_that_many_record_at_once_are_recorded_once(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let end = scene.in_an_hour();
    for number in 0..20 {
        let member = scene.join(&ada.organization, &format!("member{number}")).await;
        let key = scene.add_key(&member, "key").await;
        scene.plan_revocation(&key, end).await;
        scene.plan_end_of_membership(&member, end).await;
    }
    scene.wait_for(end);
    let recording = (0..8).map(|_| {
        let scene = scene.clone();
        let task: BoxFuture<'static, (u32, u32)> = Box::pin(async move {
            let mut all = (0, 0);
            // A call that finds nothing to do leaves it to a concurrent one.
            for _ in 0..1_000 {
                if !scene.has_due().await {
                    break;
                }
                let (keys, memberships) = scene.record(3).await;
                all = (all.0 + keys, all.1 + memberships);
            }
            all
        });
        task
    });

    let recorded = scene.in_parallel(recording).await;
    let sum = recorded
        .into_iter()
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!(sum, (20, 20));
    let events = scene.events(Some(ada.organization.id)).await;
    for action in [Action::ExpireApiKey, Action::ExpireMembership] {
        let recorded = events.iter().filter(|event| event.action == action);
        assert_eq!(recorded.count(), 20, "{action:?}");
    }
}

pub(super) async fn an_end_whose_event_cannot_be_written_is_not_recorded(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.add_key(&ada, "key").await;
    let end = scene.in_an_hour();
    let planned = scene.plan_revocation(&key, end).await;
    scene.plan_end_of_membership(&bob, end).await;
    scene.wait_for(end);
    let store = &scene.stores.planned_ends;

    let act = scene.unwritable_act(scene.act_of_system()).await;
    let failed = store.record_ends_of_keys(MANY, act.clone()).await;
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(scene.stored(&key).await, planned);
    assert!(scene.has_due().await);
    assert_eq!(scene.record(MANY).await, (1, 1));
}

pub(super) async fn ends_are_recorded_in_full_after_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let end = scene.in_an_hour();
    let planned = scene.plan_revocation(&key, end).await;
    scene.wait_for(end);

    let store = &scene.stores.planned_ends;
    abandon(store.record_ends_of_keys(MANY, scene.act_of_system())).await;
    eventually("the abandoned change is made", async || !scene.has_due().await).await;
    scene.assert_key_is_recorded(&ada, &planned).await;
}

pub(super) async fn returning_member_has_no_invitations_from_before_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let his = scene.invite(&bob, Role::Owner).await;
    let end = scene.in_an_hour();
    scene.plan_end_of_membership(&bob, end).await;
    scene.wait_for(end + MILLISECOND);
    let new = scene.invite(&ada, Role::Owner).await;
    scene.later(MILLISECOND);

    let again = scene.accept_as_user(&new, &bob, &ada.organization).await;
    again.expect("an owner again");
    scene.assert_membership_is_recorded(&bob).await;
    assert!(scene.open_invitation(&his).await.is_none());
    assert_eq!(scene.pending(&ada).await, []);
    let subject = Subject::Invitation(his.invitation.id);
    let events = scene.events_on(&ada, Action::RevokeInvitation, subject).await;
    assert_eq!(events.len(), 1, "{events:?}");
}

pub(super) async fn ending_an_elapsed_membership_records_its_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for (username, is_removed) in [("leaver", false), ("removed", true)] {
        let bob = scene.join_as(&ada.organization, username, Role::Owner).await;
        let new = scene.new_key(&bob, "key");
        scene.store(&bob, &new).await;
        let his = scene.invite(&bob, Role::Owner).await;
        let end = scene.in_an_hour();
        scene.plan_end_of_membership(&bob, end).await;
        scene.wait_for(end + MILLISECOND);
        let actor = if is_removed { as_user(&ada) } else { as_user(&bob) };

        scene.end_as(actor, &bob).await.expect("has ended");
        scene.assert_membership_is_recorded(&bob).await;
        assert!(scene.open_invitation(&his).await.is_none());
        let credential = scene.stores.keys.credentials.find(&new.digest).await;
        let credential = credential.expect("the store answers").expect("still known");
        assert_eq!(credential.membership_end, Some(End::Come(end)));
        let subject = Subject::Membership(bob.membership.id);
        for action in [Action::RemoveMember, Action::LeaveOrganization] {
            assert_eq!(scene.events_on(&ada, action, subject).await, []);
        }
    }
}

pub(super) async fn a_revocation_goes_on_until_no_selected_end_is_due(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let end = scene.in_an_hour();
    for number in 0..5 {
        let key = scene.add_key(&ada, &format!("planned {number}")).await;
        scene.plan_revocation(&key, end).await;
    }
    let valid = scene.add_key(&ada, "valid").await;
    scene.wait_for(end);
    let two = NonZeroU32::MIN.saturating_add(1);
    let mut revoked = Vec::new();
    for _ in 0..10 {
        let all = KeySelection::OfConsumer(ada.membership.id);
        let batch = scene.revoke_batch(&ada, all, two, scene.act(&ada)).await;
        let batch = batch.expect("revoked");
        revoked.extend(batch.keys);
        if batch.is_last {
            break;
        }
    }
    assert_eq!(revoked, [valid.id]);
    assert!(!scene.has_due().await);
}

pub(super) async fn owners_record_planned_ends_of_selected_keys_that_have_come(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join(&other, "stranger").await;
    for selects in 0..4 {
        let root = scene.add_key(&bob, "root").await;
        let child = scene.add_child(&bob, &root, "child").await;
        let [elsewhere, valid] = [
            scene.add_key(&stranger, "elsewhere").await,
            scene.add_key(&ada, "of another").await,
        ];
        let end = scene.in_an_hour();
        let root = scene.plan_revocation(&root, end).await;
        let child = scene.plan_revocation(&child, end).await;
        let elsewhere = scene.plan_revocation(&elsewhere, end).await;
        scene.wait_for(end);
        let (selection, expected) = match selects {
            0 => (only(&[&root, &child]), vec![]),
            1 => (with_descendants(&[&root, &valid]), vec![valid.id]),
            2 => (KeySelection::OfConsumer(bob.membership.id), vec![]),
            _ => (issued_before(end), vec![valid.id]),
        };

        let revoked = scene
            .revoke_some(&ada, selection.clone(), ALL, scene.act(&ada))
            .await;
        let mut revoked = revoked.expect("revoked");
        revoked.retain(|key| *key >= root.id);
        assert_eq!(revoked, expected, "{selection:?}");
        for key in [&root, &child] {
            scene.assert_key_is_recorded(&ada, key).await;
            assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 0);
        }
        assert_eq!(scene.stored(&elsewhere).await, elsewhere);
    }
}

//! How ends that lie ahead show in what owners see and do.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::Scene;
use super::key_scene::{ALL, only, with_descendants};
use super::scene::{as_user, assert_closed_to_user};
use crate::administration::ports::{
    AddInvitationError, ChangeProjectMembersError, EndMembershipError, HolderStatusFilter, KeySelection,
    KeyTreeSize, OrganizationKeyFilter, RevokeKeysError, WhichMember,
};
use crate::api_key::ApiKey;
use crate::audit::Action;
use crate::id::ApiKeyId;
use crate::membership::{Member, Role};
use crate::page::PageSize;
use crate::ports::{DescendantKeys, StatusFilter};
use crate::sign_in::ports::AcceptAsUserError;
use crate::validity::End;

const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

fn soon(scene: &Scene<Stores>) -> DateTime<Utc> {
    scene.now() + TimeDelta::hours(1)
}

fn wait_until(scene: &Scene<Stores>, moment: DateTime<Utc>) {
    scene.later(moment - scene.now());
}

/// The keys that pass, newest first.
async fn shown_at(
    scene: &Scene<Stores>,
    owner: &Member,
    filter: &OrganizationKeyFilter,
    now: DateTime<Utc>,
) -> Vec<ApiKeyId> {
    let store = &scene.stores.organization_keys;
    let keys = all_pages(size_of(PageSize::MAX), |page| {
        store.list(owner.organization.id, filter.clone(), page, now)
    });
    keys.await.into_iter().map(|key| key.id).collect()
}

pub(super) async fn members_are_listed_until_their_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let (here, him) = (ada.organization.id, bob.membership.id);
    let end = soon(&scene);
    let bob = scene.plan_end_of_membership(&bob, end).await;
    let members = &scene.stores.members;

    for (now, is_live) in [(end - MILLISECOND, true), (end, false)] {
        wait_until(&scene, now);
        let listed = scene.listed(here, None, PageSize::MAX).await;
        let listed: Vec<_> = listed.into_iter().map(|member| member.membership).collect();
        let expected = is_live.then(|| bob.membership.clone());
        let expected: Vec<_> = expected.into_iter().chain([ada.membership.clone()]).collect();
        assert_eq!(listed, expected);
        let found = members.find(here, him, now).await.expect("the store answers");
        assert_eq!(found.is_some(), is_live);
        for which in [
            WhichMember::Id(him),
            WhichMember::Username(bob.user.username.clone()),
        ] {
            let found = members.identify(here, which, now).await;
            assert_eq!(found.expect("the store answers").is_some(), is_live);
        }
    }
}

pub(super) async fn member_stays_in_projects_until_the_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let (here, him) = (ada.organization.id, bob.membership.id);
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.assign(&project, &bob).await.expect("added");
    let end = soon(&scene);
    scene.plan_end_of_membership(&bob, end).await;
    let (projects, reachable) = (&scene.stores.projects, &scene.stores.reachable_projects);

    for (now, is_live) in [(end - MILLISECOND, true), (end, false)] {
        wait_until(&scene, now);
        let reached = scene.reached(&bob, PageSize::MAX).await;
        assert_eq!(reached, Vec::from_iter(is_live.then(|| project.clone())));
        let found = reachable.find(him, project.id, now).await;
        assert_eq!(found.expect("the store answers").is_some(), is_live);
        let overview = scene.project(here, project.id).await.expect("a project");
        assert_eq!(overview.members, u32::from(is_live));
        let inside = all_pages(size_of(PageSize::MAX), |page| {
            projects.members(here, project.id, page, now)
        });
        assert_eq!(inside.await.len(), usize::from(is_live));
        let among = projects.members_among(here, project.id, &[him], now).await;
        assert_eq!(among.expect("the store answers").contains(&him), is_live);
    }
    let refused = scene.assign(&project, &bob).await;
    assert!(
        matches!(refused, Err(ChangeProjectMembersError::MemberNotFound)),
        "{refused:?}"
    );
}

pub(super) async fn owner_has_authority_until_the_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let key = scene.add_key(&ada, "key").await;
    let end = soon(&scene);
    scene.plan_end_of_membership(&bob, end).await;

    wait_until(&scene, end - MILLISECOND);
    let invitation = scene.invite(&bob, Role::Member).await;
    assert!(scene.open_invitation(&invitation).await.is_some());
    wait_until(&scene, end);
    assert!(scene.open_invitation(&invitation).await.is_none());
    let refused = scene.try_invite(&bob, Role::Member).await;
    assert!(
        matches!(refused, Err(AddInvitationError::NotAllowed)),
        "{refused:?}"
    );
    let refused = scene.revoke_many(&bob, only(&[&key]), scene.act(&bob)).await;
    assert!(matches!(refused, Err(RevokeKeysError::NotAllowed)), "{refused:?}");
}

pub(super) async fn membership_with_planned_end_can_be_ended_earlier(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [bob, carl] = [
        scene.join(&ada.organization, "bob").await,
        scene.join(&ada.organization, "carl").await,
    ];
    let new = scene.new_key(&bob, "key");
    scene.store(&bob, &new).await;
    let end = soon(&scene);
    for member in [&bob, &carl] {
        scene.plan_end_of_membership(member, end).await;
    }
    let at = scene.later(MILLISECOND);

    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    let credential = scene.stores.keys.credentials.find(&new.digest).await;
    let credential = credential.expect("the store answers").expect("still known");
    assert_eq!(credential.membership_end, Some(End::Come(at)));
    assert!(!credential.is_accepted(at));
    wait_until(&scene, end);
    scene.end_as(as_user(&ada), &carl).await.expect("has ended");
    let again = scene.end_as(as_user(&ada), &carl).await;
    assert!(matches!(again, Err(EndMembershipError::NotFound)), "{again:?}");
}

pub(super) async fn member_past_planned_end_returns_with_a_later_invitation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let end = soon(&scene);
    let early = scene.invite(&ada, Role::Member).await;
    scene.plan_end_of_membership(&bob, end).await;

    wait_until(&scene, end - MILLISECOND);
    assert!(scene.open_invitation_for(&early, &bob).await.is_some());
    let refused = scene.accept_as_user(&early, &bob, &ada.organization).await;
    assert!(
        matches!(refused, Err(AcceptAsUserError::AlreadyMember)),
        "{refused:?}"
    );
    wait_until(&scene, end + MILLISECOND);
    assert!(scene.open_invitation_for(&early, &bob).await.is_none());
    assert_closed_to_user(&scene.accept_as_user(&early, &bob, &ada.organization).await);
    let later = scene.invite(&ada, Role::Member).await;
    let again = scene.accept_as_user(&later, &bob, &ada.organization).await;
    let again = again.expect("a member again");
    let roles = scene.roles(ada.organization.id).await;
    assert_eq!(
        roles,
        [
            (ada.membership.id, Role::Owner),
            (again.membership.id, Role::Member)
        ]
    );
}

pub(super) async fn owners_see_keys_as_valid_until_their_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let [of_ada, of_bob] = [
        scene.add_key(&ada, "planned").await,
        scene.add_key(&bob, "of a leaver").await,
    ];
    let (hers, his, end) = (of_ada.id, of_bob.id, soon(&scene));
    scene.plan_revocation(&of_ada, end).await;
    scene.plan_end_of_membership(&bob, end).await;
    let of = |status| OrganizationKeyFilter::new(status, None);
    let (valid, revoked) = (of(StatusFilter::Valid), of(StatusFilter::Revoked));
    let former = of(StatusFilter::All).held_by(HolderStatusFilter::FormerMembers);
    let members = of(StatusFilter::All).held_by(HolderStatusFilter::Members);
    let unused = of(StatusFilter::All).unused_since(end + TimeDelta::days(1));
    let found = OrganizationKeyFilter::new(StatusFilter::Valid, Some("a"));

    for (filter, before, after) in [
        (&valid, &[his, hers][..], &[his][..]),
        (&revoked, &[], &[hers]),
        (&former, &[], &[his]),
        (&members, &[his, hers], &[hers]),
        (&unused, &[his, hers], &[his]),
        (&found, &[his, hers], &[his]),
    ] {
        let shown = shown_at(&scene, &ada, filter, end - MILLISECOND).await;
        assert_eq!(shown, before, "{filter:?}");
        let shown = shown_at(&scene, &ada, filter, end).await;
        assert_eq!(shown, after, "{filter:?}");
    }
    assert_eq!(scene.stored(&of_bob).await.revocation, None);
}

pub(super) async fn owners_list_filters_by_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [_without, planned] = [
        scene.add_key(&ada, "without").await,
        scene.add_key(&ada, "planned").await,
    ];
    let (key, end) = (planned.id, soon(&scene));
    scene.plan_revocation(&planned, end).await;
    for (status, time, at, expected) in [
        (
            StatusFilter::Valid,
            end + MILLISECOND,
            end - MILLISECOND,
            &[key][..],
        ),
        (StatusFilter::All, end + MILLISECOND, end - MILLISECOND, &[key]),
        (StatusFilter::Revoked, end + MILLISECOND, end - MILLISECOND, &[]),
        (StatusFilter::All, end, end - MILLISECOND, &[]),
        (StatusFilter::All, end + MILLISECOND, end, &[]),
    ] {
        let filter = OrganizationKeyFilter::new(status, None).expiring_before(time);
        assert_eq!(shown_at(&scene, &ada, &filter, at).await, expected, "{filter:?}");
    }
}

pub(super) async fn previews_apply_planned_ends_at_the_given_time(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.add_key(&bob, "root").await;
    let child = scene.add_child(&bob, &root, "child").await;
    let end = soon(&scene);
    scene.plan_revocation(&child, end).await;
    scene.plan_end_of_membership(&bob, end).await;
    let (here, him) = (ada.organization.id, bob.membership.id);
    let (owners, members) = (&scene.stores.organization_keys, &scene.stores.members);
    let selections = [
        with_descendants(&[&root]),
        KeySelection::OfConsumer(him),
        only(&[&root, &child]),
    ];

    for (now, keys, without_access) in [(end - MILLISECOND, 2, 0), (end, 1, 1)] {
        for selection in &selections {
            let stake = owners.revocation_preview(here, selection.clone(), now).await;
            let stake = stake.expect("the store answers");
            let parts = [&stake.selected, &stake.descendants];
            assert_eq!(
                parts.map(|part| part.keys).iter().sum::<u32>(),
                keys,
                "{selection:?}"
            );
            let without = parts.map(|part| part.without_access).iter().sum::<u32>();
            assert_eq!(
                without,
                if without_access == 0 { 0 } else { keys },
                "{selection:?}"
            );
        }
        let preview = members.leaving_preview(here, him, now, now).await;
        let preview = preview.expect("the store answers");
        assert_eq!(preview.keys, keys);
        assert_eq!(preview.first.len(), keys as usize);
    }
    let overview = members.find(here, him, end - MILLISECOND).await;
    assert_eq!(
        overview
            .expect("the store answers")
            .map(|member| member.valid_keys),
        Some(2)
    );
}

pub(super) async fn large_key_tree_shows_keys_first_until_their_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    for number in 0..5 {
        let dead = scene.add_child(&ada, &root, &format!("dead {number}")).await;
        scene.revoke(&ada, &dead, DescendantKeys::Keep).await;
    }
    let planned = scene.add_child(&ada, &root, "planned").await;
    let valid = scene.add_child(&ada, &root, "valid").await;
    let end = soon(&scene);
    scene.plan_revocation(&planned, end).await;
    let key_tree_at = async |now, keys| {
        let size = KeyTreeSize { ancestors: 1, keys };
        let owners = &scene.stores.organization_keys;
        let key_tree = owners.key_tree(ada.organization.id, root.id, size, now).await;
        let keys = key_tree
            .expect("the store answers")
            .keys
            .into_iter()
            .map(|key| key.id);
        keys.collect::<Vec<_>>()
    };

    assert_eq!(
        key_tree_at(end - MILLISECOND, 3).await,
        [root.id, planned.id, valid.id]
    );
    assert_eq!(key_tree_at(end, 2).await, [root.id, valid.id]);
}

pub(super) async fn owners_revoke_keys_until_their_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [early, late] = [
        scene.add_key(&ada, "early").await,
        scene.add_key(&ada, "late").await,
    ];
    let end = soon(&scene);
    for key in [&early, &late] {
        scene.plan_revocation(key, end).await;
    }

    wait_until(&scene, end - MILLISECOND);
    let revoked = scene
        .revoke_some(&ada, only(&[&early]), ALL, scene.act(&ada))
        .await;
    assert_eq!(revoked.expect("revoked"), [early.id]);
    let end_of = |key: ApiKey| key.revocation.map(|revocation| revocation.end);
    assert_eq!(
        end_of(scene.stored(&early).await),
        Some(End::Come(end - MILLISECOND))
    );
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &early).await, 1);
    wait_until(&scene, end);
    let all = KeySelection::OfConsumer(ada.membership.id);
    let revoked = scene.revoke_some(&ada, all, ALL, scene.act(&ada)).await;
    assert_eq!(revoked.expect("nothing left"), []);
    assert_eq!(end_of(scene.stored(&late).await), Some(End::Come(end)));
}

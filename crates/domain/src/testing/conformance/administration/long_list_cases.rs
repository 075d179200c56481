//! Lists of an organization that are longer than a page.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::pages::{MORE_THAN_A_HUNDRED, all_pages, size_of};
use super::super::scene::Scene;
use crate::administration::ports::{
    HolderStatusFilter, MemberFilter, OrganizationKeyFilter, ProjectFilter, ProjectStatus,
};
use crate::id::{ApiKeyId, InvitationId, MembershipId, ProjectId};
use crate::membership::{Member, Role};
use crate::page::PageSize;
use crate::ports::StatusFilter;

const SIZES: [PageSize; 2] = [PageSize::DEFAULT, PageSize::EXPORT];

pub(super) async fn list_of_members_continues_beyond_100(stores: Stores) {
    let (scene, members) = many_members(stores).await;
    let (store, here) = (&scene.stores.members, members[0].organization.id);
    for (search, expected) in [(None, &members[..]), (Some("member"), &members[1..])] {
        for size in SIZES {
            let listed = all_pages(size, |page| {
                store.list(here, MemberFilter::new(search), page, scene.now())
            })
            .await;
            let listed: Vec<MembershipId> = listed.iter().map(|member| member.membership.id).collect();
            let expected = newest_first(expected);
            assert_eq!(listed, expected, "{search:?} in pages of {}", size.items());
        }
    }
}

pub(super) async fn list_of_project_members_continues_beyond_100(stores: Stores) {
    let (scene, members) = many_members(stores).await;
    let project = scene.add_project(&members[0].organization, "Notes").await;
    let assignments = members.iter().map(|member| {
        let (scene, project, member) = (scene.clone(), project.clone(), member.clone());
        let task: BoxFuture<'static, ()> =
            Box::pin(async move { scene.assign(&project, &member).await.expect("assigned") });
        task
    });
    scene.in_parallel(assignments).await;

    let (store, here) = (&scene.stores.projects, project.organization_id);
    for size in SIZES {
        let listed = all_pages(size, |page| store.members(here, project.id, page, scene.now())).await;
        let listed: Vec<MembershipId> = listed.iter().map(|member| member.membership.id).collect();
        assert_eq!(listed, newest_first(&members), "pages of {}", size.items());
    }
}

pub(super) async fn list_of_projects_continues_beyond_100(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let additions = (0..MORE_THAN_A_HUNDRED).map(|number| {
        let (scene, ada) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, ProjectId> = Box::pin(async move {
            let name = format!("project {number}");
            scene.add_project(&ada.organization, &name).await.id
        });
        task
    });
    let mut added = scene.in_parallel(additions).await;
    added.sort_unstable_by(|one, other| other.cmp(one));

    let (store, here) = (&scene.stores.projects, ada.organization.id);
    for filter in [
        ProjectFilter::default(),
        ProjectFilter::new(ProjectStatus::All, None),
        ProjectFilter::new(ProjectStatus::Active, Some("project")),
    ] {
        for size in SIZES {
            let listed = all_pages(size, |page| store.list(here, filter.clone(), page, scene.now())).await;
            let listed: Vec<ProjectId> = listed.iter().map(|overview| overview.project.id).collect();
            assert_eq!(listed, added, "{filter:?} in pages of {}", size.items());
        }
    }
}

pub(super) async fn list_of_reachable_projects_continues_beyond_100(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let additions = (0..MORE_THAN_A_HUNDRED).map(|number| {
        let (scene, ada): (Scene<Stores>, _) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, ProjectId> = Box::pin(async move {
            let name = format!("project {number}");
            let project = scene.add_project(&ada.organization, &name).await;
            scene.assign(&project, &ada).await.expect("assigned");
            project.id
        });
        task
    });
    let mut added = scene.in_parallel(additions).await;
    added.sort_unstable_by(|one, other| other.cmp(one));

    let (store, consumer) = (&scene.stores.reachable_projects, ada.membership.id);
    for size in SIZES {
        let listed = all_pages(size, |page| store.list(consumer, page, scene.now())).await;
        let listed: Vec<ProjectId> = listed.iter().map(|project| project.id).collect();
        assert_eq!(listed, added, "pages of {}", size.items());
    }
}

pub(super) async fn list_of_invitations_continues_beyond_100(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let additions = (0..MORE_THAN_A_HUNDRED).map(|_| {
        let (scene, ada): (Scene<Stores>, _) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, InvitationId> =
            Box::pin(async move { scene.invite(&ada, Role::Member).await.invitation.id });
        task
    });
    let mut added = scene.in_parallel(additions).await;
    added.sort_unstable_by(|one, other| other.cmp(one));

    let (store, here) = (&scene.stores.invitations, ada.organization.id);
    for size in SIZES {
        let listed = all_pages(size, |page| store.pending(here, page)).await;
        let listed: Vec<InvitationId> = listed.iter().map(|invitation| invitation.id).collect();
        assert_eq!(listed, added, "pages of {}", size.items());
    }
}

pub(super) async fn list_of_organization_keys_continues_beyond_100(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let hers = scene
        .add_keys(std::slice::from_ref(&ada), MORE_THAN_A_HUNDRED)
        .await;
    let bob = scene.join(&ada.organization, "bob").await;
    let his = scene.add_keys(std::slice::from_ref(&bob), 1).await;
    let all = [his, hers.clone()].concat();

    let (store, here) = (&scene.stores.organization_keys, ada.organization.id);
    let everything = OrganizationKeyFilter::default;
    for (filter, expected) in [
        (everything(), &all),
        (everything().of_consumer(ada.membership.id), &hers),
        (everything().held_by(HolderStatusFilter::Members), &all),
        (everything().unused_since(scene.later(TimeDelta::days(1))), &all),
        (OrganizationKeyFilter::new(StatusFilter::All, None), &all),
        (
            OrganizationKeyFilter::new(StatusFilter::Valid, Some("key ")),
            &all,
        ),
        (
            OrganizationKeyFilter::new(StatusFilter::Valid, Some("ada")),
            &hers,
        ),
    ] {
        for size in [size_of(PageSize::MAX), PageSize::EXPORT] {
            let listed = all_pages(size, |page| store.list(here, filter.clone(), page, scene.now())).await;
            let listed: Vec<ApiKeyId> = listed.iter().map(|key| key.id).collect();
            assert_eq!(&listed, expected, "{filter:?} in pages of {}", size.items());
        }
    }
}

/// An organization of an owner, who comes first, and of more than a hundred others.
async fn many_members(stores: Stores) -> (Scene<Stores>, Vec<Member>) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut members = vec![ada.clone()];
    for number in 0..MORE_THAN_A_HUNDRED {
        members.push(scene.join(&ada.organization, &format!("member{number}")).await);
    }
    (scene, members)
}

fn newest_first(members: &[Member]) -> Vec<MembershipId> {
    let mut ids: Vec<MembershipId> = members.iter().map(|member| member.membership.id).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids
}

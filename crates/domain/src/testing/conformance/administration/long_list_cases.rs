//! Lists of an organization that are longer than a page.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::pages::{MORE_THAN_A_HUNDRED, all_pages, size_of};
use super::super::scene::Scene;
use super::scene::AdministrationScene;
use crate::administration::ports::{MemberFilter, OrganizationKeyFilter, ProjectFilter};
use crate::id::{ApiKeyId, InvitationId, MembershipId, ProjectId};
use crate::membership::{Member, Role};
use crate::page::PageSize;

const SIZES: [PageSize; 2] = [PageSize::DEFAULT, PageSize::EXPORT];

pub async fn a_list_of_members_goes_on_beyond_a_hundred(stores: Stores) {
    let (scene, members) = crowd(stores).await;
    let (store, here) = (&scene.stores.members, members[0].organization.id);
    for size in SIZES {
        let listed = all_pages(size, |page| store.list(here, MemberFilter::default(), page)).await;
        let listed: Vec<MembershipId> = listed.iter().map(|member| member.membership.id).collect();
        assert_eq!(listed, newest_first(&members), "pages of {}", size.items());
    }
}

pub async fn a_list_of_project_members_goes_on_beyond_a_hundred(stores: Stores) {
    let (scene, members) = crowd(stores).await;
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
        let listed = all_pages(size, |page| store.members(here, project.id, page)).await;
        let listed: Vec<MembershipId> = listed.iter().map(|member| member.membership.id).collect();
        assert_eq!(listed, newest_first(&members), "pages of {}", size.items());
    }
}

pub async fn a_list_of_projects_goes_on_beyond_a_hundred(stores: Stores) {
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
    for size in SIZES {
        let listed = all_pages(size, |page| store.list(here, ProjectFilter::default(), page)).await;
        let listed: Vec<ProjectId> = listed.iter().map(|overview| overview.project.id).collect();
        assert_eq!(listed, added, "pages of {}", size.items());
    }
}

pub async fn a_list_of_invitations_goes_on_beyond_a_hundred(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let additions = (0..MORE_THAN_A_HUNDRED).map(|_| {
        let (scene, ada): (AdministrationScene, _) = (scene.clone(), ada.clone());
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

pub async fn a_list_of_an_organizations_keys_goes_on_beyond_a_hundred(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut holders = vec![ada.clone()];
    for number in 0..7 {
        holders.push(scene.join(&ada.organization, &format!("member{number}")).await);
    }
    let added = scene.add_keys(&holders, MORE_THAN_A_HUNDRED).await;

    let (store, here) = (&scene.stores.organization_keys, ada.organization.id);
    for size in [size_of(PageSize::MAX), PageSize::EXPORT] {
        let listed = all_pages(size, |page| {
            store.list(here, OrganizationKeyFilter::default(), page)
        })
        .await;
        let listed: Vec<ApiKeyId> = listed.iter().map(|key| key.id).collect();
        assert_eq!(listed, added, "pages of {}", size.items());
    }
}

/// An organization of many, its owner first.
async fn crowd(stores: Stores) -> (AdministrationScene, Vec<Member>) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut members = vec![ada.clone()];
    for number in 1..MORE_THAN_A_HUNDRED {
        members.push(scene.join(&ada.organization, &format!("member{number}")).await);
    }
    (scene, members)
}

fn newest_first(members: &[Member]) -> Vec<MembershipId> {
    let mut ids: Vec<MembershipId> = members.iter().map(|member| member.membership.id).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids
}

//! Cases of the stores of an organization: an owner who is removed or demoted while they act.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::Scene;
use super::key_scene::only;
use super::scene::as_user;
use crate::administration::ports::{AddProjectError, ProjectFilter, ProjectStatus, RevokeKeysError};
use crate::api_key::ApiKey;
use crate::id::ApiKeyId;
use crate::membership::{Member, Role};
use crate::page::PageSize;
use crate::ports::{KeyFilter, StatusFilter};
use crate::project::Project;

/// Each is another chance for a check to come too early.
const ROUNDS: usize = 8;
const ACTS: usize = 16;

pub(super) async fn removed_owner_revokes_no_key_after_removal_is_confirmed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let eve = another_owner(&scene, &ada, round).await;
        let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
        let mut keys = Vec::new();
        for number in 0..ACTS {
            keys.push(scene.add_key(&bob, &format!("key {number}")).await);
        }
        let acts = keys.iter().map(|key| {
            let (scene, eve, selection) = (scene.clone(), eve.clone(), only(&[key]));
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let revoked = scene.revoke_many(&eve, selection, scene.act(&eve)).await;
                assert!(
                    matches!(revoked, Ok(_) | Err(RevokeKeysError::NotAllowed)),
                    "{revoked:?}"
                );
            });
            act
        });
        assert_ends_with_their_rights(&scene, &ada, &eve, round, acts, move |scene| {
            valid_keys(scene, bob.clone())
        })
        .await;
    }
}

pub(super) async fn removed_owner_adds_no_project_after_removal_is_confirmed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let eve = another_owner(&scene, &ada, round).await;
        let acts = (0..ACTS).map(|number| {
            let (scene, eve) = (scene.clone(), eve.clone());
            let project = scene.new_project(&eve.organization, &format!("project {number}"));
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let act = scene.act(&eve);
                let added = scene.stores.projects.add(project.into(), act).await;
                assert!(
                    matches!(added, Ok(()) | Err(AddProjectError::NotAllowed)),
                    "{added:?}"
                );
            });
            act
        });
        let here = ada.clone();
        assert_ends_with_their_rights(&scene, &ada, &eve, round, acts, move |scene| {
            projects(scene, here.clone())
        })
        .await;
    }
}

async fn another_owner(scene: &Scene<Stores>, ada: &Member, round: usize) -> Member {
    let username = format!("eve{round}");
    scene.join_as(&ada.organization, &username, Role::Owner).await
}

/// Lets an owner act many times at once; in the middle, another owner removes or demotes them, by turns. The
/// records at the time of that answer must be final.
async fn assert_ends_with_their_rights<T: Debug + PartialEq + Send + 'static>(
    scene: &Scene<Stores>,
    ada: &Member,
    eve: &Member,
    round: usize,
    acts: impl Iterator<Item = BoxFuture<'static, ()>>,
    on_record: impl Fn(Scene<Stores>) -> BoxFuture<'static, Vec<T>> + Clone + Send + 'static,
) {
    let (ending, ada, eve, on_record_then) = (scene.clone(), ada.clone(), eve.clone(), on_record.clone());
    let end: BoxFuture<'static, Vec<T>> = Box::pin(async move {
        if round.is_multiple_of(2) {
            ending.end_as(as_user(&ada), &eve).await.expect("removed");
        } else {
            let demoted = ending.change_role(as_user(&ada), &eve, Role::Member).await;
            demoted.expect("demoted");
        }
        on_record_then(ending).await
    });
    let when_answered = scene.in_parallel_with_an_end(acts, end).await;

    assert_eq!(
        on_record(scene.clone()).await,
        when_answered,
        "nothing came after the answer"
    );
}

fn valid_keys(scene: Scene<Stores>, holder: Member) -> BoxFuture<'static, Vec<ApiKeyId>> {
    Box::pin(async move {
        let store = &scene.stores.keys.api_keys;
        let filter = || KeyFilter::new(StatusFilter::Valid, None);
        let keys: Vec<ApiKey> = all_pages(size_of(PageSize::MAX), |page| {
            store.list(holder.membership.id, filter(), page, scene.now())
        })
        .await;
        keys.into_iter().map(|key| key.id).collect()
    })
}

fn projects(scene: Scene<Stores>, owner: Member) -> BoxFuture<'static, Vec<Project>> {
    Box::pin(async move {
        let store = &scene.stores.projects;
        let filter = || ProjectFilter::new(ProjectStatus::All, None);
        let projects = all_pages(size_of(PageSize::MAX), |page| {
            store.list(owner.organization.id, filter(), page, scene.now())
        })
        .await;
        projects.into_iter().map(|overview| overview.project).collect()
    })
}

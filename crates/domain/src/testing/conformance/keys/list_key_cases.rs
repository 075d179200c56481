//! Cases of [`ApiKeys::list`](crate::ports::ApiKeys::list): pages and states.

use super::super::KeyStores;
use super::super::pages::{MORE_THAN_A_HUNDRED, all_pages, size_of};
use super::super::scene::Scene;
use crate::api_key::ApiKey;
use crate::id::{ApiKeyId, MembershipId};
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::{DescendantKeys, KeyFilter, StatusFilter};

pub(super) async fn keys_are_listed_newest_first(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut added = Vec::new();
    for name in ["one", "two", "three"] {
        added.push(scene.add_key(&ada, name).await);
    }
    added.reverse();
    let page = page_of(&scene, ada.membership.id, StatusFilter::Valid, 50, None).await;

    assert_eq!(page.items, added);
    assert_eq!(page.next, None);
}

pub(super) async fn consumer_without_keys_has_an_empty_page(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let page = page_of(&scene, ada.membership.id, StatusFilter::All, 50, None).await;

    assert_eq!(page.items, []);
    assert_eq!(page.next, None);
}

pub(super) async fn pages_of_every_size_form_the_whole_list(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut added = Vec::new();
    for number in 0..7 {
        added.push(scene.add_key(&ada, &format!("key {number}")).await.id);
    }
    added.reverse();
    for size in 1..=8 {
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = page_of(&scene, ada.membership.id, StatusFilter::Valid, size, after).await;
            assert!(page.items.len() <= usize::from(size), "no page is over its size");
            seen.extend(page.items.iter().map(|key| key.id));
            after = page.next;
            if after.is_none() {
                break;
            }
            assert_eq!(
                page.items.len(),
                usize::from(size),
                "only the last page may be short"
            );
            assert_eq!(after, seen.last().copied(), "a page goes on after its last item");
            assert!(seen.len() <= added.len(), "no key is shown twice");
        }
        assert_eq!(seen, added, "pages of {size}");
    }
}

pub(super) async fn list_of_keys_continues_beyond_100(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let added = scene
        .add_keys(std::slice::from_ref(&ada), MORE_THAN_A_HUNDRED)
        .await;
    let store = &scene.stores.api_keys;
    for filter in [
        KeyFilter::default(),
        KeyFilter::new(StatusFilter::All, None),
        KeyFilter::new(StatusFilter::Valid, Some("key ")),
    ] {
        for size in [size_of(PageSize::MAX), PageSize::EXPORT] {
            let listed = all_pages(size, |page| {
                store.list(ada.membership.id, filter.clone(), page, scene.now())
            })
            .await;
            let listed: Vec<ApiKeyId> = listed.iter().map(|key| key.id).collect();
            assert_eq!(listed, added, "{filter:?} in pages of {}", size.items());
        }
    }
}

pub(super) async fn full_last_page_has_no_next_page(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for name in ["one", "two"] {
        scene.add_key(&ada, name).await;
    }
    let page = page_of(&scene, ada.membership.id, StatusFilter::Valid, 2, None).await;

    assert_eq!(page.items.len(), 2);
    assert_eq!(page.next, None);
}

pub(super) async fn key_page_continues_after_an_unknown_identifier(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let older = scene.add_key(&ada, "older").await;
    let between = scene.id();
    scene.add_key(&ada, "newer").await;
    let page = page_of(&scene, ada.membership.id, StatusFilter::Valid, 50, Some(between)).await;

    assert_eq!(page.items, [older]);
}

pub(super) async fn key_page_continues_after_a_key_that_left_the_filter(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let oldest = scene.add_key(&ada, "oldest").await;
    let middle = scene.add_key(&ada, "middle").await;
    scene.add_key(&ada, "newest").await;
    let first = page_of(&scene, ada.membership.id, StatusFilter::Valid, 2, None).await;
    assert_eq!(first.next, Some(middle.id));
    scene.revoke(&ada, &middle, DescendantKeys::Keep).await;
    let second = page_of(&scene, ada.membership.id, StatusFilter::Valid, 2, first.next).await;

    assert_eq!(second.items, [oldest]);
}

pub(super) async fn another_consumers_keys_are_never_listed(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    scene.add_key(&bob, "bob's").await;
    scene.add_key(&elsewhere, "elsewhere").await;
    let hers = scene.add_key(&ada, "hers").await;
    let revoked = scene.add_key(&bob, "bob's old").await;
    scene.revoke(&bob, &revoked, DescendantKeys::Keep).await;
    let page = page_of(&scene, ada.membership.id, StatusFilter::All, 50, None).await;

    assert_eq!(page.items, [hers]);
}

pub(super) async fn list_contains_only_keys_of_the_requested_status(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let valid = scene.add_key(&ada, "valid").await;
    let revoked = scene.add_key(&ada, "revoked").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    for (status, expected) in [
        (StatusFilter::Valid, vec![valid.id]),
        (StatusFilter::Revoked, vec![revoked.id]),
        (StatusFilter::All, vec![revoked.id, valid.id]),
    ] {
        let page = page_of(&scene, ada.membership.id, status, 50, None).await;
        let ids: Vec<ApiKeyId> = page.items.iter().map(|key| key.id).collect();
        assert_eq!(ids, expected, "{}", status.as_str());
    }
}

pub(super) async fn listed_key_is_complete(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let parent = scene.add_key(&ada, "parent").await;
    let child = scene.add_child(&ada, &parent, "child").await;
    scene.revoke(&ada, &parent, DescendantKeys::Keep).await;
    let page = page_of(&scene, ada.membership.id, StatusFilter::All, 50, None).await;

    assert_eq!(
        page.items,
        [scene.stored(&child).await, scene.stored(&parent).await]
    );
}

async fn page_of(
    scene: &Scene,
    consumer: MembershipId,
    status: StatusFilter,
    size: u16,
    after: Option<ApiKeyId>,
) -> Page<ApiKey, ApiKeyId> {
    let request = PageRequest {
        size: PageSize::new(size).expect("a page size"),
        after,
    };
    scene
        .stores
        .api_keys
        .list(consumer, KeyFilter::new(status, None), request, scene.now())
        .await
        .expect("the store answers")
}

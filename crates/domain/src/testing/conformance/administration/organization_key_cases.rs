//! How [`OrganizationKeyStore`](crate::administration::ports::OrganizationKeyStore) shows keys.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::scene::{Scene, everything};
use super::key_scene::{issued_before, only, with_descendants};
use crate::administration::ports::{
    HeldKey, HolderStatusFilter, KeySelection, KeyTree, KeyTreeSize, MemberProfile, OrganizationKeyFilter,
    PreviewedKeys, RevocationPreview,
};
use crate::api_key::{ApiKey, KeyDescription, LastUse};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::{DescendantKeys, KeyUse, StatusFilter};
use crate::validity::End;

fn all() -> OrganizationKeyFilter {
    OrganizationKeyFilter::new(StatusFilter::All, None)
}

async fn use_key(scene: &Scene<Stores>, key: &ApiKey) -> LastUse {
    let last = LastUse {
        at: scene.now(),
        from: Some([203, 0, 113, 7].into()),
    };
    let uses = vec![KeyUse { key: key.id, last }];
    scene
        .stores
        .last_uses
        .record(uses, scene.now())
        .await
        .expect("recorded");
    last
}

async fn revocation_preview(
    scene: &Scene<Stores>,
    owner: &Member,
    selection: KeySelection,
) -> RevocationPreview {
    let store = &scene.stores.organization_keys;
    let revocation_preview = store
        .revocation_preview(owner.organization.id, selection, scene.now())
        .await;
    revocation_preview.expect("the store answers")
}

async fn key_tree_of_size(
    scene: &Scene<Stores>,
    owner: &Member,
    key: ApiKeyId,
    (ancestors, keys): (u16, u16),
) -> (Vec<ApiKeyId>, bool) {
    let store = &scene.stores.organization_keys;
    let size = KeyTreeSize { ancestors, keys };
    let key_tree = store
        .key_tree(owner.organization.id, key, size, scene.now())
        .await;
    let KeyTree { keys, has_more } = key_tree.expect("the store answers");
    (keys.iter().map(|key| key.id).collect(), has_more)
}

/// Asserts that the key tree is returned as a whole.
async fn key_tree(scene: &Scene<Stores>, owner: &Member, key: ApiKeyId) -> Vec<ApiKeyId> {
    let (keys, has_more) = key_tree_of_size(scene, owner, key, (10, 20)).await;
    assert!(!has_more);
    keys
}

async fn find(scene: &Scene<Stores>, owner: &Member, key: ApiKeyId) -> Option<HeldKey> {
    let store = &scene.stores.organization_keys;
    let found = store.find(owner.organization.id, key).await;
    found.expect("the store answers")
}

pub(super) async fn held_key_is_complete_except_for_its_exact_last_address(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.add_key(&bob, "root").await;
    let mut new = scene.new_child(&bob, root.id, "child");
    let by = new.key.origin.actor();
    new.key
        .apply(&everything(scene.now()), None, None, by)
        .expect("applied");
    let child = scene.store(&bob, &new).await;
    use_key(&scene, &child).await;
    scene.revoke(&bob, &child, DescendantKeys::Keep).await;
    let holder = MemberProfile {
        user: bob.user.clone(),
        membership: bob.membership.clone(),
    };

    let held = scene.held(ada.organization.id, &all(), PageSize::MAX).await;
    let expected = [&child, &root].map(|key| key.clone());
    let mut keys = Vec::new();
    for key in expected {
        keys.push(HeldKey::new(scene.stored(&key).await, holder.clone()));
    }
    assert_eq!(held, keys);
    for key in keys {
        assert_eq!(find(&scene, &ada, key.id).await, Some(key));
    }
    let from = held[0].last_use.and_then(|last| last.from).expect("it was used");
    assert_eq!(from.to_string(), "203.0.113.0/24");
}

pub(super) async fn keys_of_all_members_are_listed_newest_first_over_pages(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let mut expected = Vec::new();
    for number in 0..7 {
        let holder = if number % 3 == 0 { &bob } else { &ada };
        expected.insert(0, scene.add_key(holder, &format!("key {number}")).await.id);
    }
    scene.end_membership(&bob).await;
    for size in [1, 2, 7, PageSize::MAX] {
        let listed = scene.held(ada.organization.id, &all(), size).await;
        let listed: Vec<ApiKeyId> = listed.iter().map(|key| key.id).collect();
        assert_eq!(listed, expected, "pages of {size}");
    }
}

pub(super) async fn other_organizations_keys_are_neither_listed_nor_found(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let key = scene.add_key(&elsewhere, "elsewhere").await;
    let child = scene.add_child(&elsewhere, &key, "elsewhere, too").await;
    assert_eq!(scene.held_names(&ada, &all()).await, Vec::<String>::new());
    for id in [key.id, child.id, scene.id()] {
        assert_eq!(key_tree(&scene, &ada, id).await, []);
        assert_eq!(find(&scene, &ada, id).await, None);
    }
    for selection in [
        only(&[&key]),
        with_descendants(&[&key, &child]),
        KeySelection::OfConsumer(elsewhere.membership.id),
        issued_before(scene.later(TimeDelta::days(1))),
    ] {
        assert_eq!(
            revocation_preview(&scene, &ada, selection).await,
            RevocationPreview::default()
        );
    }
}

pub(super) async fn key_batch_lookup_returns_each_organization_key_once(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let theirs = scene.add_key(&elsewhere, "elsewhere").await;
    let hers = scene.add_key(&ada, "hers").await;
    let his = scene.add_key(&bob, "his").await;
    scene.add_key(&bob, "not asked for").await;
    scene.revoke(&bob, &his, DescendantKeys::Keep).await;
    scene.end_membership(&bob).await;
    let store = &scene.stores.organization_keys;
    let find_many = async |ids: &[ApiKeyId]| {
        let found = store.find_many(ada.organization.id, ids).await;
        let mut found = found.expect("the store answers");
        found.sort_by_key(|key| key.id);
        found
    };

    let asked = [his.id, theirs.id, hers.id, his.id, scene.id()];
    let mut own = Vec::new();
    for key in [&hers, &his] {
        own.extend(find(&scene, &ada, key.id).await);
    }
    assert_eq!(own.len(), 2);
    assert_eq!(find_many(&asked).await, own);
    assert_eq!(find_many(&[]).await, []);
}

pub(super) async fn keys_of_former_members_are_marked_as_not_working(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let cleo = scene.join(&ada.organization, "cleo").await;
    scene.add_key(&ada, "hers").await;
    let his = scene.add_key(&bob, "his").await;
    let revoked = scene.add_key(&bob, "revoked").await;
    scene.revoke(&bob, &revoked, DescendantKeys::Keep).await;
    scene.add_key(&cleo, "cleo's").await;
    scene.later(TimeDelta::milliseconds(7));
    scene.end_membership(&bob).await;
    let ended = scene.now();
    for (holders, expected) in [
        (HolderStatusFilter::All, vec!["cleo's", "revoked", "his", "hers"]),
        (HolderStatusFilter::Members, vec!["cleo's", "hers"]),
        (HolderStatusFilter::FormerMembers, vec!["revoked", "his"]),
    ] {
        let filter = all().held_by(holders);
        assert_eq!(scene.held_names(&ada, &filter).await, expected, "{holders:?}");
    }
    for held in scene.held(ada.organization.id, &all(), PageSize::MAX).await {
        let of_bob = held.holder.membership.id == bob.membership.id;
        assert_eq!(held.holder.membership.end, of_bob.then_some(End::Come(ended)));
    }

    let everything = issued_before(scene.later(TimeDelta::days(1)));
    let preview = revocation_preview(&scene, &ada, everything).await.selected;
    assert_eq!((preview.keys, preview.without_access, preview.holders), (3, 1, 3));
    let preview = revocation_preview(&scene, &ada, only(&[&his])).await.selected;
    assert_eq!((preview.keys, preview.without_access), (1, 1));
}

pub(super) async fn held_keys_are_filtered_by_state_and_holder(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    scene.add_key(&ada, "hers").await;
    let old = scene.add_key(&bob, "his, once").await;
    scene.add_key(&bob, "his").await;
    scene.revoke(&bob, &old, DescendantKeys::Keep).await;
    let his = Some(bob.membership.id);
    for (status, consumer, expected) in [
        (StatusFilter::Valid, None, vec!["his", "hers"]),
        (StatusFilter::Revoked, None, vec!["his, once"]),
        (StatusFilter::All, None, vec!["his", "his, once", "hers"]),
        (StatusFilter::Valid, his, vec!["his"]),
        (StatusFilter::All, his, vec!["his", "his, once"]),
        (StatusFilter::All, Some(scene.id()), vec![]),
    ] {
        let filter = OrganizationKeyFilter::new(status, None);
        let filter = match consumer {
            Some(consumer) => filter.of_consumer(consumer),
            None => filter,
        };
        assert_eq!(scene.held_names(&ada, &filter).await, expected, "{filter:?}");
    }
}

pub(super) async fn held_keys_match_by_name_last_four_characters_and_holder(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob.builder").await;
    scene.add_key(&ada, "Ключ Сборки").await;
    scene.add_key(&ada, "100% sure").await;
    let his = scene.add_key(&bob, "nightly").await;
    let (hint, last_four) = (his.hint.to_string(), his.hint.last_four());
    let after = &*format!("after {last_four}");
    scene.add_key(&ada, after).await;
    for (term, expected) in [
        (&*hint, vec!["nightly"]),
        ("ключ", vec!["Ключ Сборки"]),
        ("0%", vec!["100% sure"]),
        ("%", vec!["100% sure"]),
        ("_", vec![]),
        ("\0", vec![]),
        ("BOB.B", vec!["nightly"]),
        (last_four, vec![after, "nightly"]),
        ("kwp_", vec![]),
        (" ", vec![after, "nightly", "100% sure", "Ключ Сборки"]),
    ] {
        let filter = OrganizationKeyFilter::new(StatusFilter::Valid, Some(term));
        assert_eq!(scene.held_names(&ada, &filter).await, expected, "{term:?}");
    }
}

pub(super) async fn held_keys_are_found_by_exact_name_or_hint(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let deploy = scene.join(&ada.organization, "deploy").await;
    let revoked = scene.add_key(&ada, "Deploy").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    for name in ["Redeploy", "Ключ", "100%_\\", "ci"] {
        scene.add_key(&deploy, name).await;
    }
    let mut described = scene.new_key(&deploy, "deploy bot");
    described.key.description = KeyDescription::parse("Deploy\nbot").expect("a description");
    scene.store(&deploy, &described).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    scene.add_key(&elsewhere, "Deploy").await;
    let last = scene.add_key(&ada, "deploy").await;
    let (hint, last_four) = (last.hint.to_string(), last.hint.last_four());
    scene.add_key(&ada, last_four).await;
    scene.add_key(&ada, &format!("after {last_four}")).await;
    scene.end_membership(&deploy).await;

    for (name, expected) in [
        ("Deploy ", vec!["deploy", "Deploy"]),
        ("DEPLOY BOT", vec!["deploy bot"]),
        ("ключ", vec!["Ключ"]),
        ("100%_\\", vec!["100%_\\"]),
        ("CI", vec!["ci"]),
        ("c", vec![]),
        ("bot", vec![]),
        ("deplo_", vec![]),
        ("deploy%", vec![]),
        ("deploy\0", vec![]),
        ("nobody has this", vec![]),
        (last_four, vec![last_four, "deploy"]),
        (&last_four.to_lowercase(), vec![last_four, "deploy"]),
        (&hint, vec!["deploy"]),
    ] {
        let filter = OrganizationKeyFilter::named(name);
        assert_eq!(scene.held_names(&ada, &filter).await, expected, "{name:?}");
    }
}

pub(super) async fn valid_keys_are_filtered_by_inactivity(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for name in ["never used", "used long ago", "used recently", "revoked"] {
        let key = scene.add_key(&ada, name).await;
        match name {
            "used long ago" => drop(use_key(&scene, &key).await),
            "revoked" => drop(scene.revoke(&ada, &key, DescendantKeys::Keep).await),
            _ => {}
        }
    }
    let since = scene.later(TimeDelta::days(30));
    let recent = scene
        .held(ada.organization.id, &all(), PageSize::MAX)
        .await
        .into_iter()
        .find(|key| key.name.as_str() == "used recently")
        .expect("it exists");
    let last = LastUse {
        at: since,
        from: None,
    };
    let uses = vec![KeyUse { key: recent.id, last }];
    scene
        .stores
        .last_uses
        .record(uses, scene.now())
        .await
        .expect("recorded");
    scene.add_key(&ada, "created since").await;
    let filter = all().unused_since(since);
    assert_eq!(
        scene.held_names(&ada, &filter).await,
        ["used long ago", "never used"]
    );
}

pub(super) async fn key_tree_contains_all_ancestors_and_their_descendants(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.add_key(&bob, "root").await;
    let child = scene.add_child(&bob, &root, "child").await;
    scene.add_key(&bob, "unrelated").await;
    let grandchild = scene.add_child(&bob, &child, "grandchild").await;
    let aunt = scene.add_child(&bob, &root, "aunt").await;
    let cousin = scene.add_child(&bob, &aunt, "cousin").await;
    scene.revoke(&bob, &child, DescendantKeys::Keep).await;
    let expected = [&root, &child, &grandchild, &aunt, &cousin].map(|key| key.id);
    for member in expected {
        assert_eq!(key_tree(&scene, &ada, member).await, expected);
    }
}

pub(super) async fn key_tree_of_limited_depth_keeps_the_nearest_ancestors(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let parent = scene.add_child(&ada, &root, "parent").await;
    let key = scene.add_child(&ada, &parent, "key").await;
    let child = scene.add_child(&ada, &key, "child").await;
    let chain = [&root, &parent, &key, &child].map(|key| key.id);
    for (ancestors, shown, has_more) in [
        (0, &chain[2..], true),
        (1, &chain[1..], true),
        (2, &chain[..], false),
        (3, &chain[..], false),
    ] {
        let key_tree = key_tree_of_size(&scene, &ada, key.id, (ancestors, 10)).await;
        assert_eq!(key_tree, (shown.to_vec(), has_more), "{ancestors}");
    }
}

pub(super) async fn large_key_tree_shows_key_ancestors_and_valid_keys_first(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let parent = scene.add_key(&ada, "parent").await;
    let mut siblings = Vec::new();
    for number in 0..9 {
        siblings.push(scene.add_child(&ada, &parent, &format!("sibling {number}")).await);
    }
    let key = scene.add_child(&ada, &parent, "key").await;
    let niece = scene.add_child(&ada, &siblings[8], "niece").await;
    let last = scene.add_child(&ada, &niece, "last").await;
    let other = scene.add_child(&ada, &parent, "other").await;
    for dead in siblings.iter().chain([&parent, &key, &niece]) {
        scene.revoke(&ada, dead, DescendantKeys::Keep).await;
    }
    let ranks = [
        vec![parent.id, key.id],
        vec![last.id, other.id],
        vec![siblings[8].id, niece.id],
    ];
    for room in 2..=13 {
        let (keys, has_more) = key_tree_of_size(&scene, &ada, key.id, (1, room)).await;
        assert_eq!((keys.len(), has_more), (usize::from(room), true));
        assert!(keys.is_sorted(), "{room}");
        let mut left = keys.len();
        for rank in &ranks {
            let shown = rank.iter().filter(|id| keys.contains(id)).count();
            assert_eq!(shown, rank.len().min(left), "{room}: {rank:?} of {keys:?}");
            left -= shown;
        }
    }
    let (keys, has_more) = key_tree_of_size(&scene, &ada, key.id, (1, 14)).await;
    assert_eq!((keys.len(), has_more), (14, false));
}

pub(super) async fn revocation_preview_equals_what_the_revocation_ends(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let old = scene.add_key(&ada, "b").await;
    let between = scene.later(TimeDelta::seconds(1));
    let root = scene.add_key(&bob, "c").await;
    let child = scene.add_child(&bob, &root, "a").await;
    let grandchild = scene.add_child(&bob, &child, "d").await;
    scene.revoke(&bob, &child, DescendantKeys::Keep).await;
    let ids_of = |stake: &PreviewedKeys| -> Vec<ApiKeyId> { stake.first.iter().map(|key| key.id).collect() };
    for (selection, selected, descendants, holders) in [
        (only(&[&old, &root, &child]), vec![&old, &root], vec![], (2, 0)),
        (with_descendants(&[&root]), vec![&root], vec![&grandchild], (1, 1)),
        (with_descendants(&[&child]), vec![], vec![&grandchild], (0, 1)),
        (
            with_descendants(&[&grandchild, &old, &root]),
            vec![&old, &root, &grandchild],
            vec![],
            (2, 0),
        ),
        (
            KeySelection::OfConsumer(ada.membership.id),
            vec![&old],
            vec![],
            (1, 0),
        ),
        (issued_before(between), vec![&old], vec![], (1, 0)),
        (
            issued_before(scene.later(TimeDelta::seconds(1))),
            vec![&old, &root, &grandchild],
            vec![],
            (2, 0),
        ),
    ] {
        let stake = revocation_preview(&scene, &ada, selection.clone()).await;
        for (stake, keys, holders) in [
            (&stake.selected, selected, holders.0),
            (&stake.descendants, descendants, holders.1),
        ] {
            assert_eq!(stake.keys as usize, keys.len(), "{selection:?}");
            assert_eq!(stake.holders, holders, "{selection:?}");
            let expected: Vec<ApiKeyId> = keys.iter().map(|key| key.id).collect();
            assert_eq!(ids_of(stake), expected, "{selection:?}");
        }
    }
}

pub(super) async fn revocation_preview_of_many_keys_shows_the_first_by_name(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for number in (0..PreviewedKeys::SHOWN + 5).rev() {
        scene.add_key(&ada, &format!("key {number:02}")).await;
    }
    let everything = KeySelection::OfConsumer(ada.membership.id);
    let stake = revocation_preview(&scene, &ada, everything).await.selected;
    assert_eq!(stake.keys as usize, PreviewedKeys::SHOWN + 5);
    let names: Vec<String> = stake.first.iter().map(|key| key.name.to_string()).collect();
    let expected: Vec<String> = (0..PreviewedKeys::SHOWN)
        .map(|number| format!("key {number:02}"))
        .collect();
    assert_eq!(names, expected);
}

pub(super) async fn revocation_preview_lists_selected_keys_and_descendants_separately_by_name(
    stores: Stores,
) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let mut selected = Vec::new();
    for number in 0..PreviewedKeys::SHOWN + 1 {
        selected.push(scene.add_key(&bob, &format!("a {number:02}")).await);
    }
    for number in (0..PreviewedKeys::SHOWN + 2).rev() {
        scene
            .add_child(&bob, &selected[0], &format!("z {number:02}"))
            .await;
    }
    scene.end_membership(&bob).await;
    let keys: Vec<&ApiKey> = selected.iter().collect();
    let stake = revocation_preview(&scene, &ada, with_descendants(&keys)).await;
    for (stake, first, more) in [(stake.selected, "a", 1), (stake.descendants, "z", 2)] {
        let keys = u32::try_from(PreviewedKeys::SHOWN + more).expect("a few");
        assert_eq!((stake.keys, stake.without_access, stake.holders), (keys, keys, 1));
        let names: Vec<String> = stake.first.iter().map(|key| key.name.to_string()).collect();
        let expected: Vec<String> = (0..PreviewedKeys::SHOWN)
            .map(|number| format!("{first} {number:02}"))
            .collect();
        assert_eq!(names, expected);
    }
}

//! Cases of [`ApiKeys::list`](crate::ports::ApiKeys::list): searching.

use super::super::KeyStores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::{AMPLE, MANY_CHANGES, Scene, everything};
use crate::api_key::{KeyDescription, KeyPrecondition};
use crate::membership::Member;
use crate::page::{PageRequest, PageSize};
use crate::ports::{DescendantKeys, KeyFilter, StatusFilter};

pub(super) async fn key_search_ignores_case_in_every_script(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for name in [
        "Deploy Bot",
        "Ключ Сборки",
        "ΚΛΕΙΔΊ",
        "Çağrı",
        "ＦＵＬＬ",
        "مفتاح",
        "鍵 🔑",
    ] {
        scene.add_key(&ada, name).await;
    }
    for (term, expected) in [
        ("deploy", "Deploy Bot"),
        ("Y B", "Deploy Bot"),
        ("КЛЮЧ", "Ключ Сборки"),
        ("сборки", "Ключ Сборки"),
        ("κλειδί", "ΚΛΕΙΔΊ"),
        ("ÇAĞRI".trim_end_matches('I'), "Çağrı"),
        ("full", "ＦＵＬＬ"),
        ("فتا", "مفتاح"),
        ("鍵", "鍵 🔑"),
        ("🔑", "鍵 🔑"),
    ] {
        assert_eq!(search(&scene, &ada, term).await, [expected], "{term}");
    }
}

pub(super) async fn wildcards_and_quotes_in_key_search_are_literal(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for name in [
        "100% sure",
        "snake_case",
        r"back\slash",
        "it's",
        "star*",
        "quest?",
        "[set]",
        "plain",
    ] {
        scene.add_key(&ada, name).await;
    }
    for (term, expected) in [
        ("%", "100% sure"),
        ("0%", "100% sure"),
        ("_", "snake_case"),
        ("e_c", "snake_case"),
        (r"\", r"back\slash"),
        (r"k\s", r"back\slash"),
        ("'", "it's"),
        ("*", "star*"),
        ("?", "quest?"),
        ("[set]", "[set]"),
    ] {
        assert_eq!(search(&scene, &ada, term).await, [expected], "{term}");
    }
    for term in ["p%n", "pl_in", r"\%", r"\_", r"\\", "%%", "pla*", "[p]"] {
        assert!(search(&scene, &ada, term).await.is_empty(), "{term}");
    }
}

pub(super) async fn key_search_for_forbidden_characters_finds_nothing(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.add_key(&ada, "plain").await;
    for term in ["\0", "pla\0in", "plain\0", "\u{202e}plain", "\u{1b}"] {
        assert!(search(&scene, &ada, term).await.is_empty(), "{term:?}");
    }
}

pub(super) async fn key_search_matches_descriptions_and_last_four_characters(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut described = scene.new_key(&ada, "described");
    described.key.description = KeyDescription::parse("for the nightly\nreport").expect("a description");
    scene.store(&ada, &described).await;
    let other = scene.add_key(&ada, "other").await;

    assert_eq!(search(&scene, &ada, "NIGHTLY").await, ["described"]);
    assert_eq!(search(&scene, &ada, "report").await, ["described"]);
    assert_eq!(search(&scene, &ada, other.hint.last_four()).await, ["other"]);
    let after = format!("after {}", other.hint.last_four());
    scene.add_key(&ada, &after).await;
    assert_eq!(
        search(&scene, &ada, other.hint.last_four()).await,
        [&*after, "other"]
    );
    assert_eq!(search(&scene, &ada, other.hint.as_str()).await, ["other"]);
    assert!(
        search(&scene, &ada, "kwp_").await.is_empty(),
        "what all tokens begin with is no term"
    );
}

pub(super) async fn key_search_without_term_finds_all(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for name in ["one", "two"] {
        scene.add_key(&ada, name).await;
    }

    assert_eq!(search(&scene, &ada, "  ").await, ["two", "one"]);
}

pub(super) async fn key_search_reflects_edits(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "before").await;
    scene
        .stores
        .api_keys
        .edit(
            ada.membership.id,
            key.id,
            everything(scene.now()),
            KeyPrecondition::AnyVersion,
            MANY_CHANGES,
            scene.act(&ada),
        )
        .await
        .expect("the key is edited");

    assert!(search(&scene, &ada, "before").await.is_empty());
    let edited = everything(scene.now()).name.expect("the edit names the key");
    for term in ["DÉPLOIEMENT", "second line", key.hint.last_four()] {
        assert_eq!(search(&scene, &ada, term).await, [edited.as_str()], "{term}");
    }
}

pub(super) async fn key_search_is_limited_to_consumer_and_status(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    scene.add_key(&bob, "deploy bob").await;
    let old = scene.add_key(&ada, "deploy old").await;
    scene.add_key(&ada, "deploy new").await;
    scene.revoke(&ada, &old, DescendantKeys::Keep).await;

    assert_eq!(search(&scene, &ada, "deploy").await, ["deploy new"]);
}

pub(super) async fn key_search_continues_over_pages(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for number in 0..3 {
        for name in ["even", "odd"] {
            let new = scene.new_key(&ada, &format!("{name} {number}"));
            scene.try_add(&ada, &new, AMPLE).await.expect("the key is added");
        }
    }
    let store = &scene.stores.api_keys;
    let found = all_pages(size_of(2), |page| {
        let filter = KeyFilter::new(StatusFilter::Valid, Some("odd"));
        store.list(ada.membership.id, filter, page, scene.now())
    })
    .await;
    let names: Vec<&str> = found.iter().map(|key| key.name.as_str()).collect();

    assert_eq!(names, ["odd 2", "odd 1", "odd 0"]);
}

async fn search(scene: &Scene, member: &Member, term: &str) -> Vec<String> {
    let request = PageRequest::first(PageSize::DEFAULT);
    scene
        .stores
        .api_keys
        .list(
            member.membership.id,
            KeyFilter::new(StatusFilter::Valid, Some(term)),
            request,
            scene.now(),
        )
        .await
        .expect("the store answers")
        .items
        .into_iter()
        .map(|key| key.name.as_str().to_owned())
        .collect()
}

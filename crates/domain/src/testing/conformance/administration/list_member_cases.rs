//! How [`MemberStore`](crate::administration::ports::MemberStore) shows members.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::Scene;
use crate::administration::ports::{MemberFilter, MemberOverview, MemberProfile, WhichMember};
use crate::id::{MembershipId, OrganizationId};
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::DescendantKeys;
use crate::user::Username;

pub(super) async fn members_are_listed_latest_first(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.later(TimeDelta::milliseconds(5));
    let bob = scene
        .join_named(&ada.organization, "bob", "Bob \u{645}\u{62d}\u{645}\u{62f}")
        .await;
    let cleo = scene.join(&ada.organization, "cleo").await;

    let listed = scene.listed(ada.organization.id, None, PageSize::MAX).await;
    assert_eq!(listed, [&cleo, &bob, &ada].map(without_keys_or_projects));
}

pub(super) async fn pages_of_members_form_the_whole_list(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for number in 1..7 {
        scene.join(&ada.organization, &format!("member{number}")).await;
    }
    let all = scene.listed(ada.organization.id, None, PageSize::MAX).await;

    assert_eq!(all.len(), 7);
    for size in 1..=8 {
        assert_eq!(
            scene.listed(ada.organization.id, None, size).await,
            all,
            "by {size}"
        );
    }
}

pub(super) async fn only_active_members_of_the_organization_are_listed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&bob.user, &other).await;
    scene.end_membership(&bob).await;

    assert_eq!(listed_ids(&scene, ada.organization.id).await, [ada.membership.id]);
    assert_eq!(listed_ids(&scene, other.id).await, [elsewhere.membership.id]);
    assert_eq!(listed_ids(&scene, scene.id()).await, []);

    let again = scene.join_also(&bob.user, &ada.organization).await;
    assert_eq!(
        listed_ids(&scene, ada.organization.id).await,
        [again.membership.id, ada.membership.id]
    );
}

pub(super) async fn member_is_found_in_their_organization_only(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_named(&ada.organization, "bob", "Bob").await;
    let other = scene.add_organization("Difference Engines").await;

    for member in [&ada, &bob] {
        let found = find(&scene, ada.organization.id, member.membership.id).await;
        assert_eq!(found, Some(without_keys_or_projects(member)));
    }
    assert_eq!(find(&scene, other.id, bob.membership.id).await, None);
    assert_eq!(find(&scene, ada.organization.id, scene.id()).await, None);
    scene.end_membership(&bob).await;
    assert_eq!(find(&scene, ada.organization.id, bob.membership.id).await, None);
}

pub(super) async fn active_member_is_identified_by_membership_or_full_username(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_named(&ada.organization, "bob", "Bobby").await;
    scene.join(&ada.organization, "bobby").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&bob.user, &other).await;
    let identify = async |organization: OrganizationId, member: WhichMember| {
        let found = scene
            .stores
            .members
            .identify(organization, member, scene.now())
            .await;
        found.expect("the store answers")
    };
    let named = |name: &str| WhichMember::Username(Username::parse(name).expect("a username"));

    for member in [&ada, &bob, &elsewhere] {
        let holder = MemberProfile {
            user: member.user.clone(),
            membership: member.membership.clone(),
        };
        for name in [
            WhichMember::Id(member.membership.id),
            WhichMember::Username(member.user.username.clone()),
        ] {
            let found = identify(member.organization.id, name).await;
            assert_eq!(found.as_ref(), Some(&holder));
        }
    }
    for unknown in [
        WhichMember::Id(elsewhere.membership.id),
        WhichMember::Id(scene.id()),
        named("bo"),
        named("nobody"),
    ] {
        assert_eq!(
            identify(ada.organization.id, unknown.clone()).await,
            None,
            "{unknown:?}"
        );
    }
    scene.end_membership(&bob).await;
    for gone in [WhichMember::Id(bob.membership.id), named("bob")] {
        assert_eq!(identify(ada.organization.id, gone).await, None);
    }
    let again = scene.join_also(&bob.user, &ada.organization).await;
    let found = identify(ada.organization.id, named("bob")).await;
    assert_eq!(found.map(|found| found.membership), Some(again.membership));
}

pub(super) async fn member_is_listed_with_count_of_valid_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&bob.user, &other).await;
    let root = scene.add_key(&bob, "root").await;
    scene.add_child(&bob, &root, "child").await;
    let revoked = scene.add_key(&bob, "revoked").await;
    scene.revoke(&bob, &revoked, DescendantKeys::Keep).await;
    scene.add_key(&elsewhere, "elsewhere").await;

    let found = find(&scene, ada.organization.id, bob.membership.id).await;
    assert_eq!(found.map(|member| member.valid_keys), Some(2));
    let listed = scene.listed(ada.organization.id, None, PageSize::MAX).await;
    let keys: Vec<u32> = listed.iter().map(|member| member.valid_keys).collect();
    assert_eq!(keys, [2, 0]);
}

pub(super) async fn member_search_matches_usernames_and_display_names(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = &ada.organization;
    scene
        .join_named(here, "b.lovelace", "\u{c9}lodie Br\u{fb}l\u{e9}e")
        .await;
    scene
        .join_named(here, "grace", "\u{3a3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c2}")
        .await;
    let other = scene.add_organization("Difference Engines").await;
    scene.join_named(&other, "elodie", "\u{c9}lodie").await;

    for (term, found) in [
        ("lovelace", &["b.lovelace"][..]),
        (" LOVE ", &["b.lovelace"]),
        ("\u{c9}LODIE BR", &["b.lovelace"]),
        ("e\u{301}lodie", &["b.lovelace"]),
        ("\u{3a3}\u{38a}\u{3a3}", &["grace"]),
        ("\u{3c6}\u{3bf}\u{3c3}", &["grace"]),
        ("a", &["grace", "b.lovelace", "ada"]),
        ("  ", &["grace", "b.lovelace", "ada"]),
        ("nobody", &[]),
    ] {
        assert_eq!(found_by(&scene, &ada, term).await, found, "{term:?}");
    }
}

/// Users that a test adds directly have no search text, like those of the version before searches.
pub(super) async fn member_search_finds_members_of_the_previous_version_by_username(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.join(&ada.organization, "bob.builder").await;

    assert_eq!(found_by(&scene, &ada, "BUILD").await, ["bob.builder"]);
    assert_eq!(found_by(&scene, &ada, "ada").await, ["ada"]);
}

pub(super) async fn wildcards_and_quotes_in_member_search_are_literal(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene
        .join_named(&ada.organization, "bob", "100% Bob \\ 'B_b'")
        .await;
    scene.join(&ada.organization, "b_b-2").await;

    for (term, found) in [
        ("%", &["bob"][..]),
        ("0% b", &["bob"]),
        ("\\", &["bob"]),
        ("'b_b'", &["bob"]),
        ("b_b", &["b_b-2", "bob"]),
        ("a%a", &[]),
        ("_", &["b_b-2", "bob"]),
        ("\0", &[]),
        ("bob\0", &[]),
    ] {
        assert_eq!(found_by(&scene, &ada, term).await, found, "{term:?}");
    }
}

pub(super) async fn member_search_continues_over_pages(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for number in 0..5 {
        scene.join(&ada.organization, &format!("bob{number}")).await;
        scene.join(&ada.organization, &format!("cleo{number}")).await;
    }

    for size in [1, 2, 5] {
        let listed = scene.listed(ada.organization.id, Some("bob"), size).await;
        assert_eq!(usernames(&listed), ["bob4", "bob3", "bob2", "bob1", "bob0"]);
    }
}

pub(super) async fn members_are_found_by_exact_username_or_display_name(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = &ada.organization;
    for (username, display_name) in [
        ("hopper", "Grace"),
        ("grace", "G_ace 100%\\"),
        ("grace-2", "Grace Hopper"),
        ("gr", "\u{3a3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c2}"),
    ] {
        scene.join_named(here, username, display_name).await;
    }
    let former = scene.join_named(here, "former", "Grace").await;
    scene.end_membership(&former).await;
    let other = scene.add_organization("Difference Engines").await;
    scene.join_named(&other, "elsewhere", "Grace").await;

    for (name, found) in [
        ("Grace", &["grace", "hopper"][..]),
        (" gRACE  ", &["grace", "hopper"]),
        ("grace hopper", &["grace-2"]),
        ("ada", &["ada"]),
        ("\u{3a3}\u{38a}\u{3a3}\u{3a5}\u{3a6}\u{39f}\u{3a3}", &["gr"]),
        ("g_ace 100%\\", &["grace"]),
        ("g_ace", &[]),
        ("gr%", &[]),
        ("hopper\0", &[]),
        ("rac", &[]),
        ("nobody", &[]),
        ("", &["gr", "grace-2", "grace", "hopper", "ada"]),
    ] {
        let listed = all_pages(size_of(2), |page| {
            let filter = MemberFilter::named(name);
            scene.stores.members.list(here.id, filter, page, scene.now())
        });
        assert_eq!(usernames(&listed.await), found, "{name:?}");
    }
}

fn without_keys_or_projects(member: &Member) -> MemberOverview {
    MemberOverview {
        user: member.user.clone(),
        membership: member.membership.clone(),
        valid_keys: 0,
        projects: 0,
    }
}

fn usernames(members: &[MemberOverview]) -> Vec<&str> {
    members
        .iter()
        .map(|member| member.user.username.as_str())
        .collect()
}

async fn found_by(scene: &Scene<Stores>, owner: &Member, term: &str) -> Vec<String> {
    let listed = scene
        .listed(owner.organization.id, Some(term), PageSize::MAX)
        .await;
    usernames(&listed).into_iter().map(str::to_owned).collect()
}

async fn listed_ids(scene: &Scene<Stores>, organization: OrganizationId) -> Vec<MembershipId> {
    let listed = scene.listed(organization, None, PageSize::MAX).await;
    listed.iter().map(|member| member.membership.id).collect()
}

async fn find(
    scene: &Scene<Stores>,
    organization: OrganizationId,
    id: MembershipId,
) -> Option<MemberOverview> {
    scene
        .stores
        .members
        .find(organization, id, scene.now())
        .await
        .expect("the store answers")
}

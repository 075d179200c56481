//! All keys of an organization, for its owners.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use chrono::TimeDelta;
use futures_util::FutureExt;
use keyward_domain::administration::OrganizationKeys;
use keyward_domain::administration::ports::{KeySelection, MockOrganizationKeyStore, OrganizationKeyStore};
use keyward_domain::api_key::LastUse;
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{DescendantKeys, KeyUse, LastUses, StorageError};
use keyward_domain::retention::ports::RetentionStore;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::DisplayName;

use crate::browser::{Browser, form};
use crate::running::{LIST, Running};

const ALL: &str = "/organizations/acme/settings/api-keys/all";
const REVOKE: &str = "/organizations/acme/settings/api-keys/all/revoke";

struct Scene {
    running: Running,
    ada: Member,
    bob: Member,
    owner: Browser,
}

impl Scene {
    async fn new() -> Self {
        Self::of(Running::new().await).await
    }

    /// Of which the store takes three seconds for a portion of two keys, and fails in the portions so numbered.
    async fn with_slow_revocations(failing: &'static [u32]) -> Self {
        let installation = TestInstallation::new();
        let slow = slow_revocations(&installation, failing);
        let running = Running::with(installation, None, |console| console.organization_keys = slow);
        Self::of(running.await).await
    }

    async fn of(running: Running) -> Self {
        let acme = running.installation.organization("Acme");
        let ada = running.installation.member(&acme, "ada", Role::Owner);
        let bob = running.installation.member(&acme, "bob", Role::Member);
        let owner = running.signed_in("ada").await;
        Self {
            running,
            ada,
            bob,
            owner,
        }
    }

    async fn issue(&self, member: &Member, name: &str) -> IssuedKey {
        self.running.installation.issue(&member.as_holder(), name).await
    }

    async fn issue_below(&self, parent: &IssuedKey, name: &str) -> IssuedKey {
        let through = self.running.installation.caller(parent).await.as_holder();
        self.running.installation.issue(&through, name).await
    }

    async fn revoke(&self, issued: &IssuedKey) {
        let holder = self.bob.as_holder();
        let (keys, source) = (self.running.installation.keys(), RequestSource::default());
        keys.revoke(&holder, issued.key.id, DescendantKeys::Keep, source)
            .await
            .unwrap();
    }

    async fn forget_dead_keys(&self) {
        let soon = self.running.installation.builder.clock.now() + TimeDelta::milliseconds(1);
        let store = &self.running.installation.store;
        let removed = store.remove_dead_keys(soon, 100).await.unwrap();
        assert_eq!(removed, 1);
    }

    async fn use_key(&self, issued: &IssuedKey) {
        let last = LastUse {
            at: self.running.installation.builder.clock.now(),
            from: Some([203, 0, 113, 7].into()),
        };
        let used = KeyUse {
            key: issued.key.id,
            last,
        };
        self.running.installation.store.record(vec![used]).await.unwrap();
    }

    async fn works(&self, issued: &IssuedKey) -> bool {
        let authenticate = self.running.installation.authenticate();
        authenticate.caller(issued.token.expose(), None).await.is_ok()
    }
}

fn slow_revocations(installation: &TestInstallation, failing: &'static [u32]) -> OrganizationKeys {
    fn answer<T>(answer: impl Future<Output = T>) -> T {
        answer.now_or_never().expect("memory does not wait")
    }
    let (make, store) = (&installation.builder, &installation.store);
    let mut slow = MockOrganizationKeyStore::new();
    let of = store.clone();
    slow.expect_list().returning(move |organization, filter, page| {
        answer(OrganizationKeyStore::list(&of, organization, filter, page))
    });
    let of = store.clone();
    slow.expect_find()
        .returning(move |organization, id| answer(OrganizationKeyStore::find(&of, organization, id)));
    let of = store.clone();
    slow.expect_at_stake()
        .returning(move |organization, selection| answer(of.at_stake(organization, selection)));
    let (of, clock, portions) = (store.clone(), Arc::clone(&make.clock), AtomicU32::new(0));
    slow.expect_revoke()
        .returning(move |organization, selection, at_most, reason, note, act| {
            if failing.contains(&portions.fetch_add(1, Ordering::Relaxed)) {
                return Err(StorageError::Unavailable("it is restarted".into()).into());
            }
            clock.advance(TimeDelta::seconds(3));
            let revoking =
                OrganizationKeyStore::revoke(&of, organization, selection, at_most, reason, note, act);
            answer(revoking)
        });
    let keys = OrganizationKeys::new(Arc::new(slow), make.clock.clone(), Arc::clone(&make.ids));
    keys.in_portions_of(NonZeroU32::new(2).unwrap())
}

fn selecting(keys: &[&IssuedKey]) -> String {
    let boxes: Vec<String> = keys.iter().map(|key| format!("key-{}=on", key.key.id)).collect();
    format!("{REVOKE}?{}", boxes.join("&"))
}

fn boxes<'a>(keys: &'a [(String, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut fields: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    fields.extend_from_slice(more);
    fields
}

#[tokio::test]
async fn an_owner_sees_everybodys_keys_with_their_holders_and_where_they_were_used_roughly() {
    let scene = Scene::new().await;
    let his = scene.issue(&scene.bob, "his").await;
    scene.issue(&scene.ada, "hers").await;
    scene.use_key(&his).await;
    let page = scene.owner.get(ALL).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(
        text.contains("his") && text.contains("hers") && text.contains("bob"),
        "{text}"
    );
    assert!(
        text.contains("from 203.0.113.0/24") && !page.shows("203.0.113.7"),
        "{text}"
    );
    assert_eq!(page.tokens(), Vec::<&str>::new());
    let own = scene.owner.get(LIST).await;
    assert!(own.shows(&format!("href=\"{ALL}\"")));

    let holders = scene.running.signed_in("bob").await.get(LIST).await;
    assert!(holders.text().contains("from 203.0.113.7"), "{}", holders.text());
}

#[tokio::test]
async fn to_everybody_but_owners_these_pages_do_not_exist() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "his").await;
    let other = scene.running.installation.organization("Other");
    scene.running.installation.member(&other, "eve", Role::Owner);
    let selection = selecting(&[&key]);
    for username in ["bob", "eve"] {
        let browser = scene.running.signed_in(username).await;
        for path in [ALL, &format!("{ALL}/{}", key.key.id), &selection] {
            assert_eq!(browser.get(path).await.status, 404, "{username} {path}");
        }
        let name = format!("key-{}", key.key.id);
        let fields = [(name.as_str(), "on"), ("note", "why"), ("confirm", "yes")];
        assert_eq!(browser.post(REVOKE, &fields).await.status, 404, "{username}");
    }
    let own = scene.running.signed_in("bob").await.get(LIST).await;
    assert!(!own.shows(ALL));
    let visitor = scene.running.visitor().get(ALL).await;
    assert_eq!(visitor.status, 303);
    assert!(scene.works(&key).await);
}

#[tokio::test]
async fn keys_are_found_by_text_state_holder_and_how_long_nobody_used_them() {
    let scene = Scene::new().await;
    let old = scene.issue(&scene.bob, "forgotten").await;
    let busy = scene.issue(&scene.ada, "busy").await;
    scene
        .running
        .installation
        .builder
        .clock
        .advance(TimeDelta::days(40));
    scene.use_key(&busy).await;
    // A session does not last that long.
    let owner = scene.running.signed_in("ada").await;
    let holder = scene.bob.membership.id;
    for (query, shown, hidden) in [
        ("?search=FORGOT".to_owned(), "forgotten", "busy"),
        ("?search=bob".to_owned(), "forgotten", "busy"),
        (
            format!("?search={}", old.key.hint.last_four()),
            "forgotten",
            "busy",
        ),
        ("?unused=30".to_owned(), "forgotten", "busy"),
        (format!("?holder={holder}"), "Revoke all keys of bob", "busy"),
        ("?status=revoked".to_owned(), "No such keys", "forgotten"),
        ("?search=nothing".to_owned(), "No key matches", "forgotten"),
    ] {
        let page = owner.get(&format!("{ALL}{query}")).await;
        let text = page.text();
        assert!(text.contains(shown) && !text.contains(hidden), "{query}: {text}");
    }
    let unusual = owner.get(&format!("{ALL}?unused=41")).await;
    assert!(unusual.text().contains("No such keys"));
    for broken in ["?unused=x", "?holder=x", "?after=x", "?status=x"] {
        assert_eq!(owner.get(&format!("{ALL}{broken}")).await.status, 400, "{broken}");
    }
}

#[tokio::test]
async fn an_owner_who_searches_for_a_token_finds_its_key_and_leaves_no_token_in_the_address() {
    let scene = Scene::new().await;
    let his = scene.issue(&scene.bob, "Nightly").await;
    scene.issue(&scene.ada, "Laptop").await;
    let (token, four) = (his.token.expose(), his.key.hint.last_four());
    let holder = scene.bob.membership.id;
    for (before, after) in [
        (String::new(), String::new()),
        (
            format!("&status=all&unused=30&holder={holder}"),
            format!("status=all&unused=30&holder={holder}&"),
        ),
    ] {
        let query = form(&[("search", token)]);
        let answer = scene.owner.get(&format!("{ALL}?{query}{before}")).await;
        assert_eq!(answer.status, 303);
        let (path, query) = answer.location().split_once('?').unwrap();
        assert_eq!(path, ALL);
        let mut parts: Vec<&str> = query.split('&').collect();
        let expected = format!("{after}search={four}&left-out=token");
        let mut expected: Vec<&str> = expected.split('&').collect();
        parts.sort_unstable();
        expected.sort_unstable();
        assert_eq!(parts, expected);
    }
    let answer = scene
        .owner
        .get(&format!("{ALL}?{}", form(&[("search", token)])))
        .await;
    let page = scene.owner.follow(&answer).await;
    let text = page.text();
    assert!(text.contains("You searched for a whole token"), "{text}");
    assert!(
        text.contains("Nightly") && !text.contains("Laptop") && !page.shows(token),
        "{text}"
    );

    let visitor = scene.running.visitor();
    let answer = visitor
        .get(&format!("{ALL}?{}", form(&[("search", token)])))
        .await;
    assert!(!answer.location().contains(token), "{}", answer.location());

    let hint = form(&[("search", his.key.hint.as_str())]);
    let text = scene.owner.get(&format!("{ALL}?{hint}")).await.text();
    assert!(text.contains("Nightly") && !text.contains("Laptop"), "{text}");
}

#[tokio::test]
async fn thousands_of_keys_come_page_by_page() {
    let mut scene = Scene::new().await;
    scene.running.installation.limit.0 = 1_000;
    for number in 0..120 {
        scene.issue(&scene.bob, &format!("key {number:03}")).await;
    }
    let first = scene.owner.get(ALL).await;
    assert!(first.shows("key 119") && first.shows("key 070") && !first.shows("key 069"));
    let (_, rest) = first
        .body
        .split_once("rel=\"next\"")
        .map_or(("", ""), |parts| parts);
    assert!(!rest.is_empty(), "there is a next page");
    let (before, _) = first.body.split_once("\" rel=\"next\"").unwrap();
    let next = before.rsplit_once("href=\"").unwrap().1.replace("&#38;", "&");
    let second = scene.owner.get(&next).await;
    assert!(second.shows("key 069") && second.shows("key 020") && !second.shows("key 070"));
}

#[tokio::test]
async fn a_key_is_in_its_own_tree_however_large_the_family_is() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    for number in 0..505 {
        let sibling = scene.issue_below(&root, &format!("sibling {number:03}")).await;
        let (keys, source) = (scene.running.installation.keys(), RequestSource::default());
        keys.revoke(
            &scene.bob.as_holder(),
            sibling.key.id,
            DescendantKeys::Keep,
            source,
        )
        .await
        .unwrap();
    }
    let parent = scene.issue_below(&root, "young parent").await;
    let young = scene.issue_below(&parent, "youngest").await;
    let page = scene.owner.get(&format!("{ALL}/{}", young.key.id)).await;
    let text = page.text();
    let (_, family) = text.split_once("Family").unwrap();
    for name in ["root", "sibling 000", "sibling 496", "young parent", "youngest"] {
        assert!(family.contains(name), "{name}");
    }
    assert!(!family.contains("sibling 497"));
    assert!(
        family.contains("This family has more keys than are shown"),
        "{family}"
    );
    assert!(page.shows("aria-current=\"true\""));
}

#[tokio::test]
async fn a_key_leads_to_its_family_as_a_tree() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let child = scene.issue_below(&root, "child").await;
    scene.issue_below(&child, "grandchild").await;
    scene.issue_below(&root, "second child").await;
    scene.issue(&scene.bob, "unrelated").await;
    let page = scene.owner.get(&format!("{ALL}/{}", child.key.id)).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name}: {text}"));
    let (_, family) = text.split_once("Family").unwrap();
    assert!(
        family.find("root").unwrap() < family.find("grandchild").unwrap(),
        "{family}"
    );
    assert!(
        family.find("grandchild").unwrap() < family.find("second child").unwrap(),
        "{family}"
    );
    assert!(at("child") > 0 && !family.contains("unrelated"));
    assert_eq!(
        page.body.matches("<ul").count(),
        page.body.matches("</ul>").count()
    );
    assert_eq!(
        page.body.matches("<li>").count(),
        page.body.matches("</li>").count()
    );
    assert_eq!(page.tokens(), Vec::<&str>::new());
    let unknown = scene.owner.get(&format!("{ALL}/{}", scene.ada.user.id)).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_family_stays_together_when_a_key_in_its_middle_is_not_kept_any_more() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let middle = scene.issue_below(&root, "middle").await;
    let last = scene.issue_below(&middle, "last").await;
    scene.revoke(&middle).await;
    scene.forget_dead_keys().await;

    let page = scene.owner.get(&format!("{ALL}/{}", root.key.id)).await;
    let text = page.text();
    let (_, family) = text.split_once("Family").unwrap();
    assert!(!family.contains("middle"), "{family}");
    let (_, below) = family.split_once("last").unwrap();
    assert!(
        below.contains("made by a key that is not kept any more"),
        "{family}"
    );
    let page = scene.owner.get(&format!("{ALL}/{}", last.key.id)).await;
    assert!(page.shows("root"));
    let gone = scene.owner.get(&format!("{ALL}/{}", middle.key.id)).await;
    assert_eq!(gone.status, 404);
}

#[tokio::test]
async fn before_anything_is_revoked_the_page_says_what_will_stop() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let child = scene.issue_below(&root, "child").await;
    let hers = scene.issue(&scene.ada, "hers").await;
    scene.use_key(&root).await;
    let page = scene.owner.get(&selecting(&[&root, &hers])).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("Revoke 2 keys of 2 people?"), "{text}");
    assert!(
        text.contains("from 203.0.113.0/24") && text.contains("never used"),
        "{text}"
    );
    assert!(
        text.contains("1 more valid key was made from these") && text.contains("child"),
        "{text}"
    );
    assert!(page.shows(">Cancel</a>"));
    for key in [&root, &child, &hers] {
        assert!(scene.works(key).await);
    }
    let clock = &scene.running.installation.builder.clock;
    clock.advance(TimeDelta::minutes(2));
    let many = scene
        .owner
        .get(&format!("{REVOKE}?before=2026-01-01T00:01"))
        .await;
    assert!(
        many.text().contains("Revoke 3 keys of 2 people?"),
        "{}",
        many.text()
    );
    assert!(
        many.text()
            .contains("created before 1 January 2026, 00:01:00 UTC")
    );
    let none = scene
        .owner
        .get(&format!("{REVOKE}?before=2025-01-01T00:00"))
        .await;
    assert!(none.text().contains("Nothing to revoke"));
    assert!(
        none.text()
            .contains("No valid key was created before 1 January 2025")
    );
    for never in [
        "-9999-01-01T00:00",
        "%2B262142-01-01T00:00",
        "0000-12-31T00:00",
        "soon",
    ] {
        let page = scene.owner.get(&format!("{REVOKE}?before={never}")).await;
        assert_eq!(page.status, 400, "{never}");
        assert!(page.text().contains("from the year 1 to 9999"), "{never}");
    }
    let nothing_ticked = scene.owner.get(&format!("{REVOKE}?")).await;
    let list = format!("{ALL}?notice=nothing-selected");
    assert_eq!((nothing_ticked.status, nothing_ticked.location()), (303, &*list));
}

#[tokio::test]
async fn who_revoked_a_key_is_told_apart_from_others_of_that_name() {
    let scene = Scene::new().await;
    let installation = &scene.running.installation;
    let mut user = installation.builder.user("augusta");
    user.display_name = DisplayName::parse("bob").unwrap();
    let membership = installation
        .builder
        .membership(&scene.ada.organization, &user, Role::Owner);
    let hash = PasswordHash::from_phc_string("none".to_owned());
    installation.store.put_user(user.clone(), hash);
    installation.store.put_membership(membership.clone());
    let augusta = Member {
        user,
        membership,
        organization: scene.ada.organization.clone(),
    };
    let key = scene.issue(&scene.bob, "Deploy").await;
    let selection = KeySelection::Keys {
        ids: vec![key.key.id],
        descendants: DescendantKeys::Keep,
    };
    let authority = augusta.as_authority().unwrap();
    let keys = installation.organization_keys();
    keys.revoke(&authority, selection, None, RequestSource::default(), None)
        .await
        .unwrap();
    let holder = scene.running.signed_in("bob").await;
    let all = holder.get(&format!("{LIST}?status=all")).await;
    assert!(all.text().contains("by bob augusta, an owner"), "{}", all.text());
}

#[tokio::test]
async fn before_a_member_goes_it_is_said_when_and_from_where_their_keys_were_used() {
    let scene = Scene::new().await;
    let used = scene.issue(&scene.bob, "used").await;
    scene.issue(&scene.bob, "spare").await;
    scene.use_key(&used).await;
    let members = "/organizations/acme/settings/members";
    let removal = format!("{members}/{}/remove", scene.bob.membership.id);
    let owners = scene.owner.get(&removal).await.text();
    assert!(owners.contains(" from 203.0.113.0/24"), "{owners}");
    assert!(owners.contains("never used") && !owners.contains("203.0.113.7"));

    let holder = scene.running.signed_in("bob").await;
    let leave = "/organizations/acme/settings/general/leave";
    let holders = holder.get(leave).await.text();
    assert!(holders.contains(" from 203.0.113.7"), "{holders}");
    assert!(holders.contains("never used"), "{holders}");
}

#[tokio::test]
async fn several_keys_are_revoked_with_a_reason_that_their_holder_reads() {
    let scene = Scene::new().await;
    let first = scene.issue(&scene.bob, "first").await;
    let second = scene.issue(&scene.bob, "second").await;
    let child = scene.issue_below(&second, "child").await;
    let keys = [&first, &second].map(|key| (format!("key-{}", key.key.id), "on"));
    let fields = boxes(&keys, &[("note", "the laptop was stolen"), ("confirm", "yes")]);
    let answer = scene.owner.post(REVOKE, &fields).await;
    let list = scene.owner.follow(&answer).await;
    assert!(
        list.text().contains("first and 1 other key were revoked."),
        "{}",
        list.text()
    );
    assert!(list.shows("role=\"status\""));
    assert!(!scene.works(&first).await && !scene.works(&second).await && scene.works(&child).await);

    let holders = scene.running.signed_in("bob").await;
    let text = holders.get(&format!("{LIST}?status=revoked")).await.text();
    assert!(
        text.contains("by ada, an owner: “the laptop was stolen”"),
        "{text}"
    );

    let again = scene.owner.post(REVOKE, &fields).await;
    assert!(
        scene
            .owner
            .follow(&again)
            .await
            .text()
            .contains("Nothing was left to revoke")
    );
}

#[tokio::test]
async fn a_key_is_revoked_with_all_that_came_from_it_if_asked() {
    let scene = Scene::new().await;
    let root = scene.issue(&scene.bob, "root").await;
    let child = scene.issue_below(&root, "child").await;
    let name = format!("key-{}", root.key.id);
    let fields = [
        (name.as_str(), "on"),
        ("descendants", "revoke"),
        ("note", "leaked"),
        ("confirm", "yes"),
    ];
    let answer = scene.owner.post(REVOKE, &fields).await;
    assert_eq!(answer.status, 303);
    assert!(!scene.works(&root).await && !scene.works(&child).await);
}

#[tokio::test]
async fn all_keys_of_a_user_and_all_before_a_moment_are_revoked_and_no_others() {
    let scene = Scene::new().await;
    let his = scene.issue(&scene.bob, "his").await;
    let hers = scene.issue(&scene.ada, "hers").await;
    let holder = scene.bob.membership.id.to_string();
    let fields = [
        ("holder", holder.as_str()),
        ("note", "left the team"),
        ("confirm", "yes"),
    ];
    assert_eq!(scene.owner.post(REVOKE, &fields).await.status, 303);
    assert!(!scene.works(&his).await && scene.works(&hers).await);

    let clock = &scene.running.installation.builder.clock;
    clock.advance(TimeDelta::minutes(2));
    let page = scene
        .owner
        .get(&format!("{REVOKE}?before=2026-01-01T00:00:01"))
        .await;
    let late = scene.issue(&scene.ada, "late").await;
    let before = page.field("before");
    let fields = [("before", before), ("note", "incident"), ("confirm", "yes")];
    assert_eq!(scene.owner.post(REVOKE, &fields).await.status, 303);
    assert!(!scene.works(&hers).await && scene.works(&late).await);
}

#[tokio::test]
async fn whoever_revokes_more_than_there_is_time_for_reads_how_many_are_left_and_goes_on() {
    let scene = Scene::with_slow_revocations(&[]).await;
    let mut keys = Vec::new();
    for number in 1..=7 {
        keys.push(scene.issue(&scene.bob, &format!("key {number}")).await);
    }
    let holder = scene.bob.membership.id.to_string();
    let fields = [
        ("holder", holder.as_str()),
        ("note", "incident"),
        ("confirm", "yes"),
    ];
    let page = scene.owner.post(REVOKE, &fields).await;
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("4 keys were revoked, 3 are left."), "{text}");
    assert!(
        text.contains("Revoke 3 keys of bob?") && text.contains("Go on"),
        "{text}"
    );
    assert!(page.shows("value=\"incident\""), "what was written stays");
    assert_eq!(page.field("holder"), holder);
    let mut works = Vec::new();
    for key in &keys {
        works.push(scene.works(key).await);
    }
    assert_eq!(works, [false, false, false, false, true, true, true]);

    let answer = scene.owner.post(REVOKE, &fields).await;
    let text = scene.owner.follow(&answer).await.text();
    assert!(text.contains("key 5 and 2 other keys were revoked."), "{text}");
    assert!(!scene.works(&keys[6]).await);
    let again = scene.owner.post(REVOKE, &fields).await;
    let text = scene.owner.follow(&again).await.text();
    assert!(text.contains("Nothing was left to revoke"), "{text}");
}

#[tokio::test]
async fn what_was_revoked_before_the_store_failed_is_said_and_the_rest_is_revoked_the_next_time() {
    let scene = Scene::with_slow_revocations(&[1, 2]).await;
    for number in 1..=5 {
        scene.issue(&scene.bob, &format!("key {number}")).await;
    }
    let holder = scene.bob.membership.id.to_string();
    let fields = [
        ("holder", holder.as_str()),
        ("note", "incident"),
        ("confirm", "yes"),
    ];
    let text = scene.owner.post(REVOKE, &fields).await.text();
    assert!(text.contains("2 keys were revoked, 3 are left."), "{text}");
    let nothing_at_all = scene.owner.post(REVOKE, &fields).await;
    assert_eq!(nothing_at_all.status, 503);
    let answer = scene.owner.post(REVOKE, &fields).await;
    let text = scene.owner.follow(&answer).await.text();
    assert!(text.contains("key 3 and 2 other keys were revoked."), "{text}");
}

#[tokio::test]
async fn by_a_moment_that_is_hardly_over_nothing_is_revoked() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "key").await;
    for before in ["2026-01-01T00:00:00", "2027-01-01T00:00"] {
        let page = scene.owner.get(&format!("{REVOKE}?before={before}")).await;
        assert_eq!(page.status, 422, "{before}");
        assert!(
            page.text().contains("Choose an earlier moment"),
            "{}",
            page.text()
        );
        let fields = [("before", before), ("note", "incident"), ("confirm", "yes")];
        let refused = scene.owner.post(REVOKE, &fields).await;
        assert_eq!(refused.status, 422, "{before}");
        assert!(
            refused.text().contains("Nothing was changed."),
            "{}",
            refused.text()
        );
    }
    assert!(scene.works(&key).await);
}

#[tokio::test]
async fn without_tick_or_reason_nothing_is_revoked_and_what_was_written_stays() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "his").await;
    let name = format!("key-{}", key.key.id);
    let long = "x".repeat(201);
    for (note, confirm, said) in [
        ("why \"not\"", None, "Tick the box to revoke."),
        ("", Some(("confirm", "yes")), "Reason must not be empty."),
        (
            &*long,
            Some(("confirm", "yes")),
            "Reason must be at most 200 characters long",
        ),
        ("", None, "Tick the box to revoke."),
    ] {
        let mut fields = vec![(name.as_str(), "on"), ("note", note)];
        fields.extend(confirm);
        let page = scene.owner.post(REVOKE, &fields).await;
        assert_eq!(page.status, 422, "{note}");
        assert!(page.text().contains(said), "{said}: {}", page.text());
        assert_eq!(page.field(&name), "on");
    }
    assert!(scene.works(&key).await);
    for damaged in [
        &[("note", "x"), ("holder", "x")][..],
        &[("note", "x"), ("before", "soon")],
    ] {
        assert_eq!(scene.owner.post(REVOKE, damaged).await.status, 400);
    }
}

#[tokio::test]
async fn script_in_names_and_reasons_stays_text() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "<script>1</script>").await;
    let name = format!("key-{}", key.key.id);
    for path in [
        ALL.to_owned(),
        format!("{ALL}/{}", key.key.id),
        selecting(&[&key]),
    ] {
        assert!(!scene.owner.get(&path).await.shows("<script>1"), "{path}");
    }
    let fields = [(name.as_str(), "on"), ("note", "<b>no</b>"), ("confirm", "yes")];
    scene.owner.post(REVOKE, &fields).await;
    let list = scene.owner.get(&format!("{ALL}?status=all")).await;
    assert!(!list.shows("<b>no") && list.shows("no"));
}

#[tokio::test]
async fn a_key_that_another_created_or_revoked_names_it() {
    let scene = Scene::new().await;
    let parent = scene.issue(&scene.bob, "<i>Parent").await;
    let child = scene.issue_below(&parent, "Child").await;
    let through = scene.running.installation.caller(&parent).await.as_holder();
    let (keep, source) = (DescendantKeys::Keep, RequestSource::default());
    let keys = scene.running.installation.keys();
    keys.revoke(&through, child.key.id, keep, source).await.unwrap();
    let link = format!(
        "<a href=\"{ALL}/{}\"><bdi>&#60;i&#62;Parent</bdi></a>",
        parent.key.id
    );
    for path in [format!("{ALL}?status=all"), format!("{ALL}/{}", child.key.id)] {
        let page = scene.owner.get(&path).await;
        assert!(page.shows(&link), "{path}: {}", page.body);
        assert!(
            page.shows("by the key &#60;i&#62;Parent"),
            "{path}: {}",
            page.body
        );
    }
}

#[tokio::test]
async fn who_ticks_nothing_is_told_so_where_they_were() {
    let scene = Scene::new().await;
    scene.issue(&scene.bob, "his").await;
    let answer = scene.owner.get(&format!("{REVOKE}?status=all&search=his")).await;
    assert!(
        answer.location().starts_with(&format!("{ALL}?status=all&")),
        "{}",
        answer.location()
    );
    let list = scene.owner.follow(&answer).await;
    assert!(list.shows("role=\"alert\"") && list.text().contains("Tick the keys to revoke first."));
    assert!(list.shows("value=\"his\"") && list.shows("autofocus"));
}

#[tokio::test]
async fn where_no_key_can_be_revoked_nothing_can_be_ticked() {
    let scene = Scene::new().await;
    let key = scene.issue(&scene.bob, "his").await;
    assert!(scene.owner.get(ALL).await.shows("Revoke selected keys"));
    let (keep, source) = (DescendantKeys::Keep, RequestSource::default());
    let keys = scene.running.installation.keys();
    keys.revoke(&scene.bob.as_holder(), key.key.id, keep, source)
        .await
        .unwrap();
    let revoked = scene.owner.get(&format!("{ALL}?status=revoked")).await;
    assert!(revoked.shows("his") && !revoked.shows("Revoke selected keys") && !revoked.shows("checkbox"));
}

#[tokio::test]
async fn keys_of_former_members_are_told_from_those_that_work() {
    let scene = Scene::new().await;
    let his = scene.issue(&scene.bob, "his").await;
    let hers = scene.issue(&scene.ada, "hers").await;
    let now = scene.running.installation.builder.clock.now();
    scene
        .running
        .installation
        .store
        .end_membership(scene.bob.membership.id, now);
    for (query, shows_his, shows_hers) in [
        ("", false, true),
        ("?status=no-access", true, false),
        ("?status=all", true, true),
    ] {
        let page = scene.owner.get(&format!("{ALL}{query}")).await;
        let shows = |key: &IssuedKey| page.shows(&format!("{ALL}/{}", key.key.id));
        assert_eq!((shows(&his), shows(&hers)), (shows_his, shows_hers), "{query}");
    }
    let (holder, all) = (
        scene.bob.membership.id,
        scene.owner.get(&format!("{ALL}?status=all")).await,
    );
    assert!(
        all.shows(&format!("{ALL}?status=no-access&#38;holder={holder}")),
        "{}",
        all.body
    );

    let both = scene.owner.get(&selecting(&[&his, &hers])).await.text();
    assert!(both.contains("1 of these 2 keys will stop"), "{both}");
    assert!(
        both.contains("1 more belongs to people who have left, and is refused already."),
        "{both}"
    );
    let gone = scene.owner.get(&selecting(&[&his])).await.text();
    assert!(gone.contains("This key has stopped already"), "{gone}");
    assert!(!gone.contains("stops working at once"), "{gone}");
}

//! The content of the list, and searches in it.

use chrono::TimeDelta;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::api_key::{Expiry, ExpiryChange, KeyEdit, KeyPrecondition};
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{DescendantKeys, KeyLimit};
use keyward_domain::rate::Rate;
use keyward_domain::sign_in::password::PasswordHash;
use keyward_domain::user::DisplayName;

use super::{ALL, REVOKE, Scene, selecting};
use crate::browser::form;
use crate::running::LIST;

#[tokio::test]
async fn owner_sees_all_keys_with_holders_and_approximate_last_use() {
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
async fn organization_key_pages_are_not_found_for_non_owners() {
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
async fn organization_keys_are_filtered_by_text_state_holder_and_times() {
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
    let now = scene.running.installation.now();
    let ending = KeyEdit {
        expiry: Expiry::new(now + TimeDelta::days(10), now)
            .ok()
            .map(ExpiryChange::Set),
        ..KeyEdit::default()
    };
    let (keys, ada) = (scene.running.installation.keys(), scene.ada.as_holder());
    let any = KeyPrecondition::AnyVersion;
    keys.edit(&ada, busy.key.id, ending, any, RequestSource::default())
        .await
        .unwrap();
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
        (
            "?unused=30".to_owned(),
            "1 valid key that matches the filter",
            "busy",
        ),
        ("?expires_within=30".to_owned(), "busy", "forgotten"),
        (
            "?expires_within=7".to_owned(),
            "No valid keys match the filter",
            "busy",
        ),
        (format!("?holder={holder}"), "Revoke all keys of bob", "busy"),
        (
            "?status=revoked".to_owned(),
            "No revoked keys",
            "match the filter",
        ),
        (
            "?search=nothing".to_owned(),
            "No valid keys match “nothing”",
            "forgotten",
        ),
    ] {
        let page = owner.get(&format!("{ALL}{query}")).await;
        let text = page.text();
        assert!(text.contains(shown) && !text.contains(hidden), "{query}: {text}");
    }
    let filtered = owner.get(&format!("{ALL}?search=nothing&unused=30")).await;
    let says = filtered.text();
    assert!(
        says.contains("No valid keys match “nothing” and the filter"),
        "{says}"
    );
    for way in [
        format!("href=\"{ALL}\">Clear"),
        format!("href=\"{ALL}?unused=30&#38;status=all&#38;search=nothing\">Search all keys"),
    ] {
        assert!(filtered.shows(&way), "{way}: {}", filtered.body);
    }
    for (query, title) in [
        ("", "All keys"),
        ("?status=no-access", "All keys of former members"),
        ("?unused=30", "Keys that match the filter, All keys"),
        (
            "?status=all&search=nothing&unused=30",
            "No keys match “nothing” and the filter, All valid and revoked keys",
        ),
        (&*format!("/{}", busy.key.id), "busy, API key of ada"),
    ] {
        let page = owner.get(&format!("{ALL}{query}")).await;
        assert!(page.shows(&format!("<title>{title} · Acme · ")), "{query}");
    }
    let expiring = owner.get(&format!("{ALL}?expires_within=30")).await;
    assert!(expiring.shows("<option value=\"30\" selected>Expires within 30 days</option>"));
    let unusual = owner.get(&format!("{ALL}?unused=41")).await;
    assert!(unusual.text().contains("No valid keys"));
    for broken in [
        "?unused=x",
        "?expires_within=x",
        "?expires_within=-1",
        "?shortened_by=x",
        "?shortened_by=0",
        "?shortened_by=3651",
        "?holder=x",
        "?after=x",
        "?status=x",
    ] {
        assert_eq!(owner.get(&format!("{ALL}{broken}")).await.status, 400, "{broken}");
    }
}

#[tokio::test]
async fn owner_searching_a_token_finds_its_key_without_url_leak() {
    let scene = Scene::new().await;
    let his = scene.issue(&scene.bob, "Nightly").await;
    scene.issue(&scene.ada, "Laptop").await;
    let (token, four) = (his.token.expose(), his.key.hint.last_four());
    let holder = scene.bob.membership.id;
    for (before, after) in [
        (String::new(), String::new()),
        (
            format!("&status=all&unused=30&shortened_by=60&holder={holder}"),
            format!("status=all&unused=30&shortened_by=60&holder={holder}&"),
        ),
    ] {
        let query = form(&[("search", token)]);
        let answer = scene.owner.get(&format!("{ALL}?{query}{before}")).await;
        assert_eq!(answer.status, 303);
        let (path, query) = answer.location().split_once('?').unwrap();
        assert_eq!(path, ALL);
        let mut parts: Vec<&str> = query.split('&').collect();
        let expected = format!("{after}search={four}");
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
    assert!(text.contains("You searched for a full token"), "{text}");
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
async fn thousands_of_organization_keys_paginate() {
    let mut scene = Scene::new().await;
    let limits = &mut scene.running.installation.limits;
    limits.valid = KeyLimit(1_000);
    limits.changes = Rate::per_minute(60, 1_000);
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
async fn revoker_is_distinguished_from_others_with_the_same_name() {
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
    let authority = augusta.as_authority(augusta.membership.joined_at).unwrap();
    let keys = installation.organization_keys();
    keys.revoke(&authority, selection, None, RequestSource::default(), None)
        .await
        .unwrap();
    let holder = scene.running.signed_in("bob").await;
    let all = holder.get(&format!("{LIST}?status=all")).await;
    assert!(all.text().contains("by bob augusta, an owner"), "{}", all.text());
}

#[tokio::test]
async fn html_in_names_and_reasons_is_escaped() {
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
async fn key_names_the_key_that_created_or_revoked_it() {
    let scene = Scene::new().await;
    let parent = scene.issue(&scene.bob, "<i>Parent").await;
    let child = scene.issue_below(&parent, "Child").await;
    let through = scene.running.installation.caller(&parent).await.as_holder();
    let (keep, source) = (DescendantKeys::Keep, RequestSource::default());
    let keys = scene.running.installation.keys();
    keys.revoke(&through, child.key.id, keep, KeyPrecondition::AnyVersion, source)
        .await
        .unwrap();
    for (path, list) in [
        (format!("{ALL}?status=all"), "?status=all"),
        (format!("{ALL}/{}", child.key.id), ""),
    ] {
        let page = scene.owner.get(&path).await;
        let link = format!(
            "<a href=\"{ALL}/{}{list}\"><bdi>&#60;i&#62;Parent</bdi></a>",
            parent.key.id
        );
        assert!(page.shows(&link), "{path}: {}", page.body);
        assert!(
            page.shows("by the key &#60;i&#62;Parent"),
            "{path}: {}",
            page.body
        );
    }
}

#[tokio::test]
async fn keys_of_former_members_are_marked_as_not_working() {
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
        both.contains("The other key belongs to a former member and has already stopped working."),
        "{both}"
    );
    let gone = scene.owner.get(&selecting(&[&his])).await.text();
    assert!(gone.contains("This key has already stopped working"), "{gone}");
    assert!(!gone.contains("will fail immediately"), "{gone}");
}

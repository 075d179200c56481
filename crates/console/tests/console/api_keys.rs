use chrono::TimeDelta;
use keyward_domain::api_key::{KeyDescription, KeyEdit, KeyPrecondition};
use keyward_domain::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::membership::Role;
use keyward_domain::ports::{AuditLog, DescendantKeys};
use keyward_domain::retention::ports::RetentionStore;
use keyward_domain::token::TokenHint;

use crate::browser::form;
use crate::running::{LIST, NEW, Running};

#[tokio::test]
async fn empty_key_list_explains_keys_and_links_to_creation() {
    let (running, _) = Running::with_ada().await;
    let list = running.signed_in("ada").await.get(LIST).await;
    assert!(list.shows("Create your first key") && list.shows(&format!("href=\"{NEW}\"")));
    assert!(
        list.shows("Bearer $KEYWARD_API_KEY") && list.shows(&format!("{}/api/v1/user", running.public_url))
    );
    assert!(!list.shows("<table") && !list.shows("id=\"search\""));
}

#[tokio::test]
async fn account_menu_links_to_api_reference() {
    let (running, _) = Running::with_ada().await;
    let list = running.signed_in("ada").await.get(LIST).await;
    assert!(list.shows("<a href=\"/docs\">API reference</a>"));
}

#[tokio::test]
async fn key_table_shows_hint_state_and_origin_of_own_keys() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    installation.issue(&grace.as_holder(), "Grace's key").await;
    let parent = installation.issue(&ada.as_holder(), "Parent").await;
    let through_parent = installation.caller(&parent).await.as_holder();
    let child = installation.issue(&through_parent, "Child").await;
    let old = installation.issue(&ada.as_holder(), "Old").await;
    let keys = installation.keys();
    keys.revoke(
        &ada.as_holder(),
        old.key.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        RequestSource::default(),
    )
    .await
    .unwrap();
    let list = running
        .signed_in("ada")
        .await
        .get(&format!("{LIST}?status=all"))
        .await;
    let rows = list.rows();
    let [old_row, child_row, parent_row] = &rows[..] else {
        panic!("{rows:?}");
    };
    let begins = |row: &str, name: &str, hint: &TokenHint| row.starts_with(&format!("{name} {hint} "));
    assert!(begins(parent_row, "Parent", &parent.key.hint), "{rows:?}");
    assert!(begins(child_row, "Child", &child.key.hint), "{rows:?}");
    let ended = format!(
        "Old Revoked 1 January 2026, 00:00:00 UTC by you {} ",
        old.key.hint
    );
    assert!(old_row.starts_with(&ended), "{rows:?}");
    for valid in [parent_row, child_row] {
        assert!(!valid.contains("Revoked"), "{rows:?}");
    }
    let origin = format!("by key {} Parent", parent.key.hint);
    assert!(child_row.contains(&origin), "{rows:?}");
    let edit_child = format!("{LIST}/{}/edit", child.key.id);
    let edit_child = running.signed_in("ada").await.get(&edit_child).await;
    assert!(edit_child.text().contains(&format!(", {origin}")));
    // Created in the console, like most keys.
    for row in [parent_row, old_row] {
        assert!(!row.contains("by key"), "{rows:?}");
    }
    assert!(
        list.shows("<time datetime=\"2026-01-01T00:00:00.000Z\" title=\"1 January 2026, 00:00:00 UTC\">")
    );
}

#[tokio::test]
async fn key_with_removed_creator_is_not_shown_as_console_key() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let parent = installation.issue(&ada.as_holder(), "Parent").await;
    let through_parent = installation.caller(&parent).await.as_holder();
    installation.issue(&through_parent, "Child").await;
    let (keys, source) = (installation.keys(), RequestSource::default());
    keys.revoke(
        &ada.as_holder(),
        parent.key.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        source,
    )
    .await
    .unwrap();
    let later = installation.builder.clock.now() + TimeDelta::days(1);
    assert_eq!(installation.store.remove_dead_keys(later, 1).await.unwrap(), 1);
    let text = running.signed_in("ada").await.get(LIST).await.text();
    assert!(text.contains("by a deleted key"), "{text}");
}

#[tokio::test]
async fn search_and_status_narrow_the_list_and_preserve_each_other() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let holder = ada.as_holder();
    for name in ["Deploy pipeline", "Nightly export"] {
        installation.issue(&holder, name).await;
    }
    let old = installation.issue(&holder, "Old deploy").await;
    let source = RequestSource::default();
    let keys = installation.keys();
    keys.revoke(
        &holder,
        old.key.id,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        source,
    )
    .await
    .unwrap();
    let browser = running.signed_in("ada").await;
    let names = async |query: &str| {
        let list = browser.get(&format!("{LIST}{query}")).await;
        assert_eq!(list.status, 200, "{query}");
        let all = ["Deploy pipeline", "Nightly export", "Old deploy"];
        all.into_iter()
            .filter(|name| list.shows(&format!("<bdi>{name}</bdi></span>")))
            .collect::<Vec<_>>()
    };
    assert_eq!(names("").await, ["Deploy pipeline", "Nightly export"]);
    assert_eq!(names("?status=revoked").await, ["Old deploy"]);
    assert_eq!(names("?status=all").await.len(), 3);
    assert_eq!(names("?search=DEPLOY").await, ["Deploy pipeline"]);
    assert_eq!(
        names("?search=deploy&status=all").await,
        ["Deploy pipeline", "Old deploy"]
    );
    assert_eq!(
        names(&format!("?search={}&status=all", old.key.hint.last_four())).await,
        ["Old deploy"]
    );
    assert_eq!(
        names(&format!(
            "?{}&status=all",
            form(&[("search", old.key.hint.as_str())])
        ))
        .await,
        ["Old deploy"]
    );
    assert!(names("?search=100%25").await.is_empty());
    let found = browser.get(&format!("{LIST}?search=a%26b&status=all")).await;
    assert!(found.shows("No keys match") && found.shows("status=revoked&#38;search=a%26b"));
}

#[tokio::test]
async fn searched_token_is_removed_from_url() {
    let (running, ada) = Running::with_ada().await;
    let issued = running.installation.issue(&ada.as_holder(), "Deploy").await;
    let (token, four) = (issued.token.expose(), issued.key.hint.last_four());
    let browser = running.signed_in("ada").await;
    for (query, status) in [
        (form(&[("search", token)]), ""),
        (form(&[("search", &format!(" Bearer {token}\n"))]), ""),
        (form(&[("status", "all"), ("search", token)]), "status=all&"),
        (
            form(&[("new_filter", token), ("search", token), ("status", "all")]),
            &format!("new_filter={four}&status=all&"),
        ),
    ] {
        let path = format!("{LIST}?{query}");
        for visitor in [&browser, &running.visitor()] {
            let answer = visitor.get(&path).await;
            assert_eq!(answer.status, 303);
            assert_eq!(answer.location(), format!("{LIST}?{status}search={four}"));
            assert!(!answer.shows(token), "{}", answer.body);
            let next = visitor.follow(&answer).await;
            assert!(
                !next.shows(token) && !next.location().contains(token),
                "{}",
                next.body
            );
        }
        let found = browser.follow(&browser.get(&path).await).await;
        assert!(found.shows("You searched for a full token") && found.shows("<bdi>Deploy</bdi></span>"));
    }
    assert!(!browser.get(LIST).await.shows("whole token"));
}

#[tokio::test]
async fn key_revoked_by_a_key_names_that_key() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let keys = installation.keys();
    let [first, second] = [
        installation.issue(&ada.as_holder(), "First").await,
        installation.issue(&ada.as_holder(), "Second").await,
    ];
    let through_first = installation.caller(&first).await.as_holder();
    for key in [second.key.id, first.key.id] {
        keys.revoke(
            &through_first,
            key,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await
        .unwrap();
    }
    let browser = running.signed_in("ada").await;
    let text = browser.get(&format!("{LIST}?status=revoked")).await.text();
    assert!(
        text.contains(&format!("by key {} First", first.key.hint)),
        "{text}"
    );
    assert!(
        text.contains("by itself") && !text.contains("by you Created"),
        "{text}"
    );
    let alone = browser.get(&format!("{LIST}?status=revoked&search=second")).await;
    assert!(alone.text().contains(&format!("by key {} First", first.key.hint)));
}

#[tokio::test]
async fn long_key_list_paginates_without_loss() {
    let (running, ada) = Running::with_ada().await;
    for number in 0..55 {
        running
            .installation
            .issue(&ada.as_holder(), &format!("Key-{number:02}."))
            .await;
    }
    let browser = running.signed_in("ada").await;
    let first = browser.get(&format!("{LIST}?search=key")).await;
    let (before, _) = first.body.split_once("\" rel=\"next\"").unwrap();
    let (_, older) = before.rsplit_once("href=\"").unwrap();
    let second = browser.get(&older.replace("&#38;", "&")).await;
    for number in 0..55 {
        let name = format!("Key-{number:02}.");
        assert_eq!(first.shows(&name), number >= 5, "{name} on page 1");
        assert_eq!(second.shows(&name), number < 5, "{name} on page 2");
    }
    assert!(second.shows(">Newest<") && !second.shows("rel=\"next\""));
}

#[tokio::test]
async fn mistyped_query_shows_an_explanation() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for query in ["?status=lost", "?after=1", "?search=a&search=b", "?search=%ff"] {
        assert_eq!(
            browser.get(&format!("{LIST}{query}")).await.status,
            400,
            "{query}"
        );
    }
}

#[tokio::test]
async fn html_in_key_texts_is_escaped() {
    let script = "<script>alert(1)</script>\"'&";
    let running = Running::new().await;
    let installation = &running.installation;
    let organization = installation.organization("Acme <img src=x onerror=alert(1)>");
    let member = installation.member(&organization, "ada", Role::Owner);
    let holder = member.as_holder();
    let issued = installation.issue(&holder, script).await;
    let edit = KeyEdit {
        description: Some(KeyDescription::parse(script).unwrap()),
        ..KeyEdit::default()
    };
    let keys = installation.keys();
    keys.edit(
        &holder,
        issued.key.id,
        edit,
        KeyPrecondition::AnyVersion,
        RequestSource::default(),
    )
    .await
    .unwrap();
    let browser = running.signed_in("ada").await;
    let list = format!("/organizations/{}/settings/api-keys", organization.slug);
    let found = format!("{list}?{}", form(&[("search", script)]));
    let lost = format!("{list}?{}", form(&[("search", "\"><script>alert(2)</script>")]));
    let revoke = format!("{list}/{}/revoke", issued.key.id);
    let new = format!("{list}/new");
    for path in [&list, &found, &lost, &revoke, &new] {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.shows("<script>alert") && !page.shows("<img"), "{path}");
    }
    let idempotency_key = browser.get(&new).await.field("idempotency_key").to_owned();
    let long = format!("\"><script>alert(3)</script>{}", "x".repeat(100));
    let fields = [
        ("idempotency_key", idempotency_key.as_str()),
        ("name", &long),
        ("description", "</textarea><script>alert(4)</script>"),
    ];
    let page = browser.post(&new, &fields).await;
    assert_eq!(page.status, 422);
    assert!(!page.shows("<script>alert"), "{}", page.body);
    let fields = [
        ("idempotency_key", idempotency_key.as_str()),
        ("name", script),
        ("description", script),
    ];
    let page = browser.post(&new, &fields).await;
    assert_eq!(page.status, 200);
    assert!(!page.shows("<script>alert"), "{}", page.body);
}

#[tokio::test]
async fn holder_sees_notice_of_refused_uses_of_a_revoked_key() {
    const WORDS: &str = "Some of your keys that no longer work are still in use";
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let key = installation.issue(&ada.as_holder(), "Deploy <1>").await.key;
    let browser = running.signed_in("ada").await;
    assert!(!browser.get(LIST).await.shows(WORDS));

    let mut act = installation.builder.act(Actor::Anonymous);
    act.organization_id = Some(ada.organization.id);
    act.source.address = Some([203, 0, 113, 9].into());
    let event = AuditEvent {
        object: Some(Subject::Membership(ada.membership.id)),
        ..act.refusal(Action::UseApiKey, Subject::ApiKey(key.id))
    };
    installation.store.record(event).await.unwrap();
    let page = browser.get(LIST).await;
    let named = format!("<li><bdi>Deploy &#60;1&#62;</bdi> <code>{}</code>, ", key.hint);
    assert!(page.shows(WORDS) && page.shows(&named), "{}", page.body);
    assert!(page.shows("203.0.113.9"));
    assert!(!browser.get(&format!("{LIST}?search=x")).await.shows(WORDS));
    let other = running.signed_in(grace.user.username.as_str()).await;
    assert!(!other.get(LIST).await.shows(WORDS));
}

//! Looking for some of the events.

use chrono::TimeDelta;
use keyward_domain::api_key::KeyPrecondition;
use keyward_domain::audit::{Action, RequestSource, Subject};
use keyward_domain::id::ApiKeyId;
use keyward_domain::membership::Role;
use keyward_domain::ports::DescendantKeys;

use super::{CSV, JSON_LINES, LOG, as_owner, called, events, record};
use crate::browser::form;
use crate::projects::project;
use crate::running::Running;

#[tokio::test]
async fn filters_narrow_the_log_and_remain_in_the_form() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Owner);
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key.id;
    installation.builder.clock.advance(TimeDelta::days(10));
    installation.issue(&grace.as_holder(), "Nightly").await;
    let (holder, source) = (ada.as_holder(), RequestSource::default());
    let keys = installation.keys();
    keys.revoke(
        &holder,
        key,
        DescendantKeys::Keep,
        KeyPrecondition::AnyVersion,
        source,
    )
    .await
    .unwrap();
    let browser = running.signed_in("ada").await;
    let found = async |query: &str| {
        let page = browser.get(&format!("{LOG}?{query}")).await;
        assert_eq!(page.status, 200, "{query}");
        let text = page.text();
        [
            "ada created the API key Deploy",
            "grace created the API key Nightly",
            "ada revoked the API key Deploy",
        ]
        .map(|sentence| text.contains(sentence))
    };
    for (query, expected) in [
        ("", [true, true, true]),
        ("who=&action=&what=&from=&until=", [true, true, true]),
        ("who=grace", [false, true, false]),
        (&format!("who={}", ada.user.id), [true, false, true]),
        ("action=api_key.revoke", [false, false, true]),
        (&format!("what={key}"), [true, false, true]),
        (
            &format!("what=api_key%3A{key}&action=api_key.create"),
            [true, false, false],
        ),
        ("until=2026-01-10", [true, false, false]),
        ("from=2026-01-11", [false, true, true]),
        ("from=2026-01-01&until=2026-01-01", [true, false, false]),
        ("from=2026-01-02&until=2026-01-10", [false, false, false]),
        (
            "who=ada&from=2026-01-02&action=api_key.revoke",
            [false, false, true],
        ),
    ] {
        assert_eq!(found(query).await, expected, "{query}");
    }
    let page = browser
        .get(&format!("{LOG}?who=grace&action=api_key.revoke&from=2026-01-02"))
        .await;
    assert!(page.shows("No events match"));
    assert_eq!(page.field("who"), format!("user:{}", grace.user.id));
    assert!(page.shows("value=\"api_key.revoke\" selected") && page.shows("value=\"2026-01-02\""));
    let csv = format!(
        "{CSV}?who=user%3A{}&#38;action=api_key.revoke&#38;from=2026-01-02",
        grace.user.id
    );
    assert!(page.shows(&csv), "{}", page.body);
}

#[tokio::test]
async fn audit_row_links_to_events_of_its_actor_and_subject() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key.id;
    let browser = running.signed_in("ada").await;
    let page = browser.get(&format!("{LOG}?action=api_key.create")).await;
    let what = format!("{LOG}?action=api_key.create&#38;what=api_key%3A{key}");
    let who = format!("{LOG}?who=user%3A{}&#38;action=api_key.create", ada.user.id);
    assert!(page.shows(&what) && page.shows(&who), "{}", page.body);
    assert!(page.text().contains("Only API key Deploy") && !page.text().contains("Only The"));
    let page = browser.get(&what.replace("&#38;", "&")).await;
    assert!(page.text().contains("ada created the API key Deploy"));
}

#[tokio::test]
async fn page_title_says_whether_events_are_filtered() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for (query, title) in [
        ("", "Audit log"),
        ("?who=ada", "Events that match the filter, Audit log"),
        ("?until=2001-01-01", "No events match the filter, Audit log"),
    ] {
        let page = browser.get(&format!("{LOG}{query}")).await;
        assert!(
            page.shows(&format!("<title>{title} · Acme · Keyward</title>")),
            "{query}"
        );
    }
}

#[tokio::test]
async fn invalid_filter_value_shows_field_error() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let other = installation.organization("Other");
    let bob = installation.member(&other, "bob", Role::Owner);
    let browser = running.signed_in("ada").await;
    let strangers = format!("what={}", bob.membership.id);
    installation.issue(&ada.as_holder(), "Nightly").await;
    for (query, error) in [
        ("who=nobody", "No one found."),
        ("who=bob", "No one found."),
        ("who=%3Cscript%3Ealert(1)", "No one found."),
        ("what=Deploy", "Nothing found."),
        (&strangers, "Nothing found."),
        ("who=10:30", "No one found."),
        ("who=king%3A1", "No one found."),
        ("who=user%3A1", "No one found."),
        ("what=10:30", "Nothing found."),
        ("what=installation%3A", "Nothing found."),
        ("what=user%3A", "Nothing found."),
        ("from=-9999-01-01", "Enter a date such as 2026-01-31."),
        ("from=0000-12-31", "Enter a date such as 2026-01-31."),
        ("until=-200000-01-01", "Enter a date such as 2026-01-31."),
        ("until=%2B10000-01-01", "Enter a date such as 2026-01-31."),
        ("from=tomorrow", "Enter a date such as 2026-01-31."),
        ("until=2026-02-30", "Enter a date such as 2026-01-31."),
        (
            "from=2026-01-01&until=2025-12-31",
            "“Until” must not be before “From”.",
        ),
    ] {
        let page = browser.get(&format!("{LOG}?{query}")).await;
        assert_eq!(page.status, 422, "{query}");
        assert!(
            page.shows(error) && page.shows("aria-invalid=\"true\""),
            "{query}"
        );
        assert!(
            page.shows("<title>Error: ") && page.shows("Fix the filter to see events"),
            "{query}"
        );
        assert!(!page.shows("<table"), "{query}");
        assert!(!page.shows(CSV), "{query}");
        assert!(!page.shows("<script>alert"), "{query}");
        for export in [CSV, JSON_LINES] {
            assert_eq!(
                browser.get(&format!("{export}?{query}")).await.status,
                400,
                "{query}"
            );
        }
    }
}

#[tokio::test]
async fn removed_subject_is_found_by_its_logged_identifier() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let gone: ApiKeyId = installation.builder.ids.next();
    record(
        installation,
        &ada,
        as_owner(&ada),
        Action::RevokeApiKey,
        Subject::ApiKey(gone),
        None,
    )
    .await;
    let other = installation.organization("Other");
    let bob = installation.member(&other, "bob", Role::Owner);
    let theirs: ApiKeyId = installation.builder.ids.next();
    record(
        installation,
        &bob,
        as_owner(&bob),
        Action::RevokeApiKey,
        Subject::ApiKey(theirs),
        None,
    )
    .await;
    let browser = running.signed_in("ada").await;
    for field in ["who", "what"] {
        let page = browser.get(&format!("{LOG}?{field}={gone}")).await;
        assert_eq!(page.status, 200, "{field}");
        assert_eq!(page.field(field), format!("api_key:{gone}"));
        let page = browser.get(&format!("{LOG}?{field}={theirs}")).await;
        assert_eq!(page.status, 422, "{field}");
    }
    let page = browser.get(&format!("{LOG}?what={gone}")).await;
    assert!(events(&page).contains(&format!("ada revoked the API key {gone}")));
}

#[tokio::test]
async fn damaged_query_shows_an_explanation() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for query in [
        "action=melt",
        "after=-210000000000000%3A00000000-0000-7000-8000-000000000000",
        "after=1",
        "after=1%3A1",
        "who=a&who=b",
        "from=%ff",
    ] {
        for path in [LOG, CSV, JSON_LINES] {
            assert_eq!(
                browser.get(&format!("{path}?{query}")).await.status,
                400,
                "{path} {query}"
            );
        }
    }
}

#[tokio::test]
async fn unambiguous_name_selects_its_subject() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = called(installation, &ada, "grace", "Grace Hopper");
    let key = installation.issue(&grace.as_holder(), "Nightly").await.key;
    let rover = project(&running, &ada, "Rover").await;
    let browser = running.signed_in("ada").await;
    for (query, name, value) in [
        ("who=grace+HOPPER", "who", format!("user:{}", grace.user.id)),
        ("who=nightly", "who", format!("api_key:{}", key.id)),
        (
            "what=Grace+Hopper",
            "what",
            format!("membership:{}", grace.membership.id),
        ),
        (
            "what=grace",
            "what",
            format!("membership:{}", grace.membership.id),
        ),
        ("what=rover", "what", format!("project:{}", rover.id)),
        (
            &format!("what={}", key.hint.last_four()),
            "what",
            format!("api_key:{}", key.id),
        ),
    ] {
        let page = browser.get(&format!("{LOG}?{query}")).await;
        assert_eq!(page.status, 200, "{query}");
        assert_eq!(page.field(name), value, "{query}");
    }
}

#[tokio::test]
async fn ambiguous_name_offers_a_choice() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = called(installation, &ada, "grace", "Grace");
    let other = called(installation, &ada, "hopper", "Grace");
    let browser = running.signed_in("ada").await;
    // A username is unique, even if another member has it as display name.
    let page = browser.get(&format!("{LOG}?who=grace")).await;
    assert_eq!(page.field("who"), format!("user:{}", grace.user.id));
    called(installation, &ada, "linus", "Ada Lovelace");
    called(installation, &ada, "byron", "Ada Lovelace");
    let page = browser
        .get(&format!("{LOG}?who=Ada+Lovelace&action=session.sign_in"))
        .await;
    assert_eq!(page.status, 422);
    assert!(page.shows("Several have this name. Choose one:"), "{}", page.body);
    assert!(page.text().contains("Ada Lovelace linus") && page.text().contains("Ada Lovelace byron"));
    let page = browser.get(&format!("{LOG}?what=hopp")).await;
    assert_eq!(page.status, 422);
    assert!(page.shows("No exact match. Did you mean:"));
    let choice = format!("{LOG}?what=membership%3A{}", other.membership.id);
    assert!(page.shows(&choice), "{}", page.body);
}

#[tokio::test]
async fn suggestions_begin_with_matching_prefixes_and_report_further_matches() {
    let (running, ada) = Running::with_ada().await;
    for number in 0..9 {
        running
            .installation
            .member(&ada.organization, &format!("zara-{number}"), Role::Member);
    }
    let browser = running.signed_in("ada").await;
    for name in ["who", "what"] {
        let page = browser.get(&format!("{LOG}?{name}=a")).await;
        assert_eq!(page.status, 422);
        assert!(page.shows("Many names match. Choose one, or enter more of the name:"));
        let (_, offered) = page.body.split_once("class=\"suggestions\"").unwrap();
        let (offered, _) = offered.split_once("</ul>").unwrap();
        assert_eq!(offered.matches("<li>").count(), 8);
        let (first, _) = offered.split_once("</li>").unwrap();
        assert!(first.contains("<span class=\"muted\">ada</span>"), "{first}");
    }
}

#[tokio::test]
async fn exact_name_is_selected_among_a_thousand_similar_ones() {
    let (running, ada) = Running::with_ada().await;
    let exact = running.installation.issue(&ada.as_holder(), "ci").await.key;
    for team in 0..10 {
        let username = format!("team-{team}");
        let holder = running
            .installation
            .member(&ada.organization, &username, Role::Member)
            .as_holder();
        for number in 0..100 {
            running.installation.issue(&holder, &format!("ci {number}")).await;
        }
    }
    let browser = running.signed_in("ada").await;
    for name in ["who", "what"] {
        let page = browser.get(&format!("{LOG}?{name}=ci")).await;
        assert_eq!(page.field(name), format!("api_key:{}", exact.id));
        let page = browser.get(&format!("{LOG}?{name}=c")).await;
        assert_eq!(page.status, 422);
        assert!(page.shows("Many names match."), "{}", page.body);
        let page = browser.get(&format!("{LOG}?{name}={}", exact.id)).await;
        assert_eq!(page.field(name), format!("api_key:{}", exact.id));
    }
}

#[tokio::test]
async fn searched_token_is_omitted_from_audit_log_urls() {
    let (running, ada) = Running::with_ada().await;
    let key = running.installation.issue(&ada.as_holder(), "Deploy").await;
    let (token, four) = (key.token.expose(), key.key.hint.last_four());
    let (owner, visitor) = (running.signed_in("ada").await, running.visitor());
    for name in ["who", "what"] {
        for page in [LOG, CSV, JSON_LINES] {
            let query = form(&[("action", "api_key.create"), (name, token)]);
            for browser in [&owner, &visitor] {
                let answer = browser.get(&format!("{page}?{query}")).await;
                assert_eq!(answer.status, 303);
                assert_eq!(
                    answer.location(),
                    format!("{page}?action=api_key.create&{name}={four}")
                );
            }
        }
        let query = form(&[(name, token)]);
        let answer = owner.get(&format!("{LOG}?{query}")).await;
        let found = owner.follow(&answer).await;
        assert!(found.text().contains("You searched for a full token."));
        assert_eq!(found.field(name), format!("api_key:{}", key.key.id));
        assert!(!found.shows(token));
    }
}

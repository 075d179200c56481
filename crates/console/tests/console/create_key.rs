use keyward_domain::audit::{Action, Actor};
use keyward_domain::membership::Member;
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, KeyLimit};
use keyward_domain::testing::TestInstallation;

use crate::browser::{Answer, Browser};
use crate::running::{LIST, NEW, Running};

async fn create(browser: &Browser, idempotency_key: &str, name: &str, description: &str) -> Answer {
    let fields = [
        ("idempotency_key", idempotency_key),
        ("name", name),
        ("description", description),
    ];
    browser.post(NEW, &fields).await
}

async fn keys_of(running: &Running, member: &Member) -> Vec<String> {
    let page = PageRequest::first(PageSize::DEFAULT);
    let keys = running.installation.keys();
    let found = keys
        .list(
            &member.as_holder(),
            KeyFilter::default(),
            page,
            running.installation.now(),
        )
        .await
        .unwrap();
    found.items.iter().map(|key| key.name.to_string()).collect()
}

#[tokio::test]
async fn created_token_is_shown_once_and_works() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let page = create(&browser, &idempotency_key, " Deploy ", "Line one\r\nLine two").await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    let tokens = page.tokens();
    assert_eq!(tokens.len(), 2, "in its field and in the example");
    assert_eq!(tokens.first(), tokens.last());
    assert!(page.shows("It cannot be shown again.") && page.shows("I have saved it"));
    let example = format!(
        "curl -H \"Authorization: Bearer {}\" {}/api/v1/user",
        tokens[0], running.public_url
    );
    assert!(page.shows(&example));
    let caller = running
        .installation
        .authenticate()
        .caller(tokens[0], None)
        .await
        .unwrap();
    assert_eq!(caller.consumer().id, ada.membership.id);
    assert_eq!(keys_of(&running, &ada).await, ["Deploy"]);
}

#[tokio::test]
async fn repeated_form_creates_no_second_key_and_shows_no_token() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let first = create(&browser, &idempotency_key, "Deploy", "").await;
    for name in ["Deploy", "Changed in between"] {
        let again = create(&browser, &idempotency_key, name, "").await;
        let list = browser.follow(&again).await;
        assert!(again.tokens().is_empty() && list.tokens().is_empty());
        assert!(list.text().contains("The key Deploy kwp_…"), "{}", list.text());
        assert!(list.shows("was already created") && list.shows("notice info"));
    }
    assert_eq!(first.tokens().len(), 2);
    assert_eq!(keys_of(&running, &ada).await, ["Deploy"]);
}

#[tokio::test]
async fn each_rendered_form_creates_its_own_key() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for _ in 0..2 {
        let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
        assert_eq!(create(&browser, &idempotency_key, "Deploy", "").await.status, 200);
    }
    assert_eq!(keys_of(&running, &ada).await.len(), 2);
}

#[tokio::test]
async fn token_appears_on_no_other_page() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let token = create(&browser, &idempotency_key, "Deploy", "").await.tokens()[0].to_owned();
    let list = browser.get(LIST).await;
    let (_, revoke) = list.body.split_once(&format!("href=\"{LIST}/0")).unwrap();
    let revoke = format!("{LIST}/0{}", revoke.split_once('"').unwrap().0);
    let secret = &token[..token.len() - 4];
    for path in ["/", LIST, NEW, &revoke, "/organizations/acme/settings/general"] {
        for tab in [&browser, &browser.second_tab()] {
            assert!(!tab.get(path).await.shows(secret), "{path}");
        }
    }
}

#[tokio::test]
async fn invalid_key_form_shows_field_errors_and_preserves_input() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let long = "d".repeat(501);
    let page = create(&browser, &idempotency_key, "two\nlines", &long).await;
    assert_eq!(page.status, 422);
    assert!(page.text().contains("Name must be a single line."));
    assert!(
        page.text()
            .contains("Description must be at most 500 characters long, not 501.")
    );
    assert!(page.shows("aria-describedby=\"name-error name-hint\""));
    assert!(page.shows("aria-describedby=\"description-error description-hint\""));
    assert!(page.shows(&long) && page.shows("value=\"two\nlines\""));
    assert_eq!(
        page.field("idempotency_key"),
        idempotency_key,
        "the form can be sent again"
    );
    assert!(keys_of(&running, &ada).await.is_empty());
    assert_eq!(
        create(&browser, &idempotency_key, "one line", "").await.status,
        200
    );
}

#[tokio::test]
async fn nul_and_bidi_override_characters_are_rejected() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    for name in ["a\0b", "a\u{202E}b", "a\u{2066}b", "a\u{7}b"] {
        assert_eq!(
            create(&browser, &idempotency_key, name, "").await.status,
            422,
            "{name:?}"
        );
        assert_eq!(
            create(&browser, &idempotency_key, "name", name).await.status,
            422,
            "{name:?}"
        );
    }
    assert!(keys_of(&running, &ada).await.is_empty());
}

#[tokio::test]
async fn key_limit_returns_the_form_with_input_and_advice() {
    let mut installation = TestInstallation::new();
    installation.limits.valid = KeyLimit(1);
    let running = Running::with(installation, None, |_| ()).await;
    let acme = running.installation.organization("Acme");
    let ada = running
        .installation
        .member(&acme, "ada", keyward_domain::membership::Role::Member);
    running.installation.issue(&ada.as_holder(), "First").await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let page = create(&browser, &idempotency_key, "Second", "").await;
    assert_eq!(page.status, 409);
    assert!(
        page.text()
            .contains("You have 1 valid key, which is the most you may have."),
        "{}",
        page.text()
    );
    assert_eq!(page.focused(), ["p role=\"alert\""]);
    assert!(page.shows("value=\"Second\"") && page.shows(&format!("href=\"{LIST}\"")));
    assert_eq!(keys_of(&running, &ada).await, ["First"]);
}

#[tokio::test]
async fn key_creation_event_records_request_id_and_client_address() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let page = create(&browser, &idempotency_key, "Deploy", "").await;
    let event = running.installation.store.events().pop().unwrap();
    assert_eq!(event.action, Action::CreateApiKey);
    assert_eq!(event.actor, Actor::User(ada.user.id));
    assert_eq!(
        event.source.request_id.as_deref(),
        Some(page.header("x-request-id"))
    );
    assert_eq!(event.source.address.unwrap().to_string(), "127.0.0.1");
}

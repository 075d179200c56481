use chrono::TimeDelta;
use keyward_console::setup_link;
use keyward_domain::audit::RequestSource;
use keyward_domain::organization::OrganizationName;
use keyward_domain::sign_in::password::Password;
use keyward_domain::user::Username;
use unicode_normalization::UnicodeNormalization;

use crate::browser::Browser;
use crate::running::Running;

const PASSWORD: &str = "seven blue herons wade";

async fn link(running: &Running) -> (String, String) {
    let setup = running.installation.setup();
    let token = setup.create_link(RequestSource::default()).await.unwrap();
    let link = setup_link(&running.public_url, &token);
    let path = link.strip_prefix(running.public_url.as_str()).unwrap().to_owned();
    (path, token.expose().to_owned())
}

async fn complete(browser: &Browser, token: &str) -> crate::browser::Answer {
    let fields = [
        ("token", token),
        ("organization", "Acme Robotics"),
        ("display_name", "Ada Lovelace"),
        ("username", "ada"),
        ("password", PASSWORD),
    ];
    browser.post("/setup", &fields).await
}

#[tokio::test]
async fn every_page_before_setup_redirects_to_the_setup_hint() {
    let running = Running::new().await;
    let browser = running.visitor();
    let home = browser.get("/").await;
    assert_eq!(home.status, 200);
    assert!(home.shows(">keyward admin setup-link</code>"));
    assert_eq!(browser.get("/sign-in").await.location(), "/");
}

#[tokio::test]
async fn setup_link_creates_the_first_owner_and_signs_in() {
    let running = Running::new().await;
    let browser = running.visitor();
    let (path, token) = link(&running).await;
    let page = browser.open(&path).await;
    assert_eq!((page.status, page.field("token")), (200, token.as_str()));
    let answer = complete(&browser, &token).await;
    let home = browser.follow(&answer).await;
    let list = browser.follow(&home).await;
    assert_eq!(list.status, 200);
    assert_eq!(home.location(), "/organizations/acme-robotics/settings/api-keys");
    assert!(list.shows("Ada Lovelace") && list.shows("Create your first key"));
    let general = browser.get("/organizations/acme-robotics/settings/general").await;
    assert!(general.shows("<dd>Owner</dd>"));
    let log = browser
        .get("/organizations/acme-robotics/settings/audit-log")
        .await;
    let told = log.text();
    assert!(
        told.contains("set up the organization with the setup link") && !told.contains("not signed in"),
        "{told}"
    );
}

#[tokio::test]
async fn longest_names_and_password_fit_the_forms() {
    let running = Running::new().await;
    let browser = running.visitor();
    // Each syllable is one character when composed, and nine bytes as it comes.
    let hangul = |count: usize| {
        let syllables = (1_u32..).map(|number| number * 7_919 % 11_172);
        let of_three_letters = syllables.filter(|syllable| syllable % 28 != 0);
        let syllables = of_three_letters.filter_map(|syllable| char::from_u32(0xac00 + syllable));
        syllables
            .take(count)
            .collect::<String>()
            .nfd()
            .collect::<String>()
    };
    let (name, password) = (hangul(OrganizationName::MAX), hangul(Password::MAX));
    let username = "a".repeat(Username::MAX);
    let (_, token) = link(&running).await;
    let fields = [
        ("token", token.as_str()),
        ("organization", &name),
        ("display_name", &name),
        ("username", &username),
        ("password", &password),
    ];
    let answer = browser.post("/setup", &fields).await;
    assert_eq!(answer.location(), "/", "{answer:?}");
    let next = format!("/?{}", "%".repeat(1022));
    let fields = [
        ("next", next.as_str()),
        ("username", &username),
        ("password", &password),
    ];
    let answer = running.visitor().post("/sign-in", &fields).await;
    assert_eq!(answer.location(), next, "{answer:?}");
}

#[tokio::test]
async fn link_works_once() {
    let running = Running::new().await;
    let (path, token) = link(&running).await;
    complete(&running.visitor(), &token).await;
    let second = running.visitor();
    for answer in [second.open(&path).await, complete(&second, &token).await] {
        assert_eq!(answer.status, 410);
        assert!(answer.shows("Keyward is already set up") && answer.shows("href=\"/sign-in\""));
        assert_eq!(answer.header("set-cookie"), "");
    }
}

#[tokio::test]
async fn invalid_setup_link_explains_how_to_get_another() {
    let running = Running::new().await;
    let browser = running.visitor();
    let (replaced, replaced_token) = link(&running).await;
    let (expired, expired_token) = link(&running).await;
    running.installation.builder.clock.advance(TimeDelta::hours(24));
    let unknown = format!("/setup?token={}", "0".repeat(64));
    for path in [
        &replaced,
        &expired,
        &unknown,
        "/setup",
        "/setup?token=abc",
        "/setup?token=",
    ] {
        let answer = browser.open(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(
            answer.shows("This setup link is no longer valid")
                && answer.shows(">keyward admin setup-link</code>")
        );
    }
    for token in [&replaced_token, &expired_token, "abc"] {
        assert_eq!(complete(&browser, token).await.status, 404);
    }
    assert!(!running.installation.setup().is_complete().await.unwrap());
}

#[tokio::test]
async fn invalid_setup_form_shows_all_errors_and_preserves_nonsecret_input() {
    let running = Running::new().await;
    let (_, token) = link(&running).await;
    let fields = [
        ("token", token.as_str()),
        ("organization", " "),
        ("display_name", "Ada \u{202E}Lovelace"),
        ("username", "Ada L"),
        ("password", "too short"),
    ];
    let page = running.visitor().post("/setup", &fields).await;
    assert_eq!(page.status, 422);
    for (name, error) in [
        ("organization", "Organization name must not be empty."),
        ("display_name", "Your name must not contain the character U+202E."),
        ("username", "Username must be 1 to 39 lowercase letters"),
        ("password", "Password must be at least 15 characters long."),
    ] {
        let beside = page
            .body
            .split_once(&format!("id=\"{name}-error\""))
            .expect(name)
            .1;
        let beside = beside.split_once("</p>").unwrap().0;
        assert!(beside.contains(error), "{name}: {beside}");
        assert!(page.shows(&format!("aria-describedby=\"{name}-error")), "{name}");
    }
    assert!(page.shows("value=\"Ada \u{202E}Lovelace\"") && page.shows("value=\"Ada L\""));
    assert!(!page.shows("too short"));
    assert_eq!(page.body.matches("autofocus").count(), 1);
    assert!(page.shows("<title>Error: "));
}

#[tokio::test]
async fn password_derived_from_other_setup_fields_is_rejected() {
    let running = Running::new().await;
    let (_, token) = link(&running).await;
    for password in [
        "adalovelaceadalovelace",
        "Zuse_Konradine-1941",
        "Rechenwerke Hünfeld!!",
        "Keyward2026Keyward",
    ] {
        let fields = [
            ("token", token.as_str()),
            ("organization", "Rechenwerke Hünfeld"),
            ("display_name", "Konradine Zuse"),
            ("username", "adalovelace"),
            ("password", password),
        ];
        let page = running.visitor().post("/setup", &fields).await;
        assert_eq!(page.status, 422, "{password}");
        assert!(page.shows("Password is too easy to guess"), "{password}");
        assert!(!page.shows("id=\"username-error\""));
    }
}

#[tokio::test]
async fn setup_secret_is_removed_from_url_at_first_request() {
    let running = Running::new().await;
    let browser = running.visitor();
    let (path, token) = link(&running).await;
    let answer = browser.get(&path).await;
    assert_eq!((answer.status, answer.location()), (303, "/setup"));
    assert_eq!(answer.header("referrer-policy"), "strict-origin");
    assert_eq!(
        answer.header("set-cookie"),
        format!("setup={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600")
    );
    assert_eq!(browser.follow(&answer).await.field("token"), token);
    let completed = complete(&browser, &token).await;
    let cookies: Vec<&str> = completed
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|c| c.to_str().unwrap())
        .collect();
    assert!(
        cookies.iter().any(|cookie| cookie.starts_with("setup=;")),
        "{cookies:?}"
    );
}

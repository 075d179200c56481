use chrono::{SecondsFormat, TimeDelta};
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::membership::Role;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::signing_in::SignInAttempt;
use keyward_domain::testing::TestInstallation;

use crate::browser::Browser;
use crate::running::{LIST, Running};

const ACCOUNT: &str = "/account";
const PASSWORD: &str = "/account/password";
const END_OTHERS: &str = "/account/sessions/end-others";
const NEW: &str = "seven slow brown foxes";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0";

async fn is_signed_in(browser: &Browser) -> bool {
    browser.get(ACCOUNT).await.status == 200
}

/// Signs in with a browser that sends this `User-Agent`.
async fn signed_in_with(running: &Running, user_agent: &str) -> Browser {
    let browser = running.visitor();
    let request = browser
        .request(reqwest::Method::POST, "/sign-in")
        .header("sec-fetch-site", "same-origin")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("user-agent", user_agent)
        .body(crate::browser::form(&[
            ("username", "ada"),
            ("password", TestInstallation::PASSWORD),
        ]));
    assert_eq!(browser.send(request).await.status, 303);
    browser
}

/// The addresses that end each of the other sessions.
fn ends(page: &crate::browser::Answer) -> Vec<String> {
    let forms = page.body.split("action=\"/account/sessions/").skip(1);
    forms
        .filter_map(|rest| rest.split_once("/end\""))
        .map(|(id, _)| format!("/account/sessions/{id}/end"))
        .collect()
}

#[tokio::test]
async fn account_menu_links_to_account_and_signs_out() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for path in [LIST, ACCOUNT] {
        let page = browser.get(path).await;
        assert!(page.shows("<a href=\"/account\">Account</a>"), "{path}");
        assert!(page.shows("action=\"/sign-out\""), "{path}");
    }
}

#[tokio::test]
async fn password_form_names_its_user_to_password_managers() {
    let (running, _) = Running::with_ada().await;
    let page = running.signed_in("ada").await.get(ACCOUNT).await;
    let (before, _) = page.body.split_once("autocomplete=\"username\"").unwrap();
    let (_, field) = before.rsplit_once('<').unwrap();
    assert!(
        field.contains("value=\"ada\"") && !field.contains("hidden"),
        "{field}"
    );
}

#[tokio::test]
async fn well_known_url_leads_to_the_password_form() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let answer = browser.get("/.well-known/change-password").await;
    let (path, id) = answer.location().split_once('#').unwrap();
    let page = browser.get(path).await;
    assert!(page.shows(&format!("id=\"{id}\"")), "{path}");
}

#[tokio::test]
async fn account_page_requires_sign_in() {
    let (running, _) = Running::with_ada().await;
    let visitor = running.visitor();
    for path in [ACCOUNT, PASSWORD] {
        assert!(
            visitor.get(path).await.location().starts_with("/sign-in?next="),
            "{path}"
        );
    }
    let end = "/account/sessions/00000000-0000-7000-8000-000000000000/end";
    for path in [END_OTHERS, end] {
        assert!(
            visitor.post(path, &[]).await.location().starts_with("/sign-in?"),
            "{path}"
        );
    }
    let fields = [("current_password", "x"), ("new_password", NEW)];
    let answer = visitor.post(PASSWORD, &fields).await;
    assert!(answer.header("set-cookie").starts_with("flash=form-not-sent;"));
}

#[tokio::test]
async fn account_page_lists_every_organization_with_role() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let other = installation.organization("Other <b>");
    installation.member(&other, "grace", Role::Owner);
    let membership = installation.builder.membership(&other, &ada.user, Role::Member);
    installation.store.put_membership(membership);
    installation.organization("Nowhere");
    let page = running.signed_in("ada").await.get(ACCOUNT).await;
    let text = page.text();
    assert!(text.contains("Acme Owner, joined 1 Jan 2026"), "{text}");
    assert!(text.contains("Other &#60;b&#62; Member, joined"), "{text}");
    assert!(page.shows(&format!("href=\"{LIST}\"")) && !page.shows("Nowhere"));
}

#[tokio::test]
async fn user_without_organization_has_account_page() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let now = running.installation.builder.clock.now();
    running.installation.store.end_membership(ada.membership.id, now);
    let page = browser.get(ACCOUNT).await;
    assert_eq!(page.status, 200);
    assert!(page.shows("You are not a member of an organization."));
}

#[tokio::test]
async fn account_page_lists_sessions_and_marks_the_current_browser() {
    let (running, _) = Running::with_ada().await;
    signed_in_with(&running, FIREFOX).await;
    signed_in_with(&running, "<script>alert(1)</script>").await;
    let here = running.signed_in("ada").await;
    running
        .installation
        .member(&running.installation.organization("Other"), "grace", Role::Owner);
    running.signed_in("grace").await;
    let page = here.get(ACCOUNT).await;
    let text = page.text();
    assert!(
        text.contains("Firefox on Linux 127.0.0.1 1 January 2026, 00:00:00 UTC"),
        "{text}"
    );
    assert!(page.shows(&format!("title=\"{FIREFOX}\"")));
    assert!(text.contains("Unknown browser This browser 127.0.0.1"), "{text}");
    assert_eq!(text.matches("This browser").count(), 1);
    assert!(page.shows("&#60;script&#62;alert(1)") && !page.shows("<script>alert"));
    assert_eq!(
        ends(&page).len(),
        2,
        "this one has no button, and others' sessions are not there"
    );
}

#[tokio::test]
async fn sign_out_button_names_the_start_of_its_session() {
    let (running, _) = Running::with_ada().await;
    signed_in_with(&running, FIREFOX).await;
    running.installation.builder.clock.advance(TimeDelta::seconds(1));
    signed_in_with(&running, FIREFOX).await;
    let text = running.signed_in("ada").await.get(ACCOUNT).await.text();
    for time in ["00:00:00", "00:00:01"] {
        let button = format!("Sign out Firefox on Linux at 127.0.0.1, signed in 1 January 2026, {time} UTC");
        assert_eq!(text.matches(&button).count(), 1, "{text}");
    }
}

#[tokio::test]
async fn session_times_can_be_read_to_the_second() {
    let (running, _) = Running::with_ada().await;
    let here = running.signed_in("ada").await;
    running.installation.builder.clock.advance(TimeDelta::seconds(30));
    let [row] = &here.get(ACCOUNT).await.rows()[..] else {
        panic!("one session")
    };
    let times = "1 January 2026, 00:00:00 UTC 1 January 2026, 00:00:30 UTC";
    assert!(row.ends_with(times), "{row}");
}

#[tokio::test]
async fn current_session_is_shown_as_last_seen_now() {
    let (running, _) = Running::with_ada().await;
    let here = running.signed_in("ada").await;
    running.signed_in("ada").await;
    let clock = &running.installation.builder.clock;
    let before = clock.now().to_rfc3339_opts(SecondsFormat::Millis, true);
    clock.advance(TimeDelta::seconds(30));
    let now = clock.now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let page = here.get(ACCOUNT).await;
    let last_seen = page.body.split("data-label=\"Last seen\"").skip(1);
    let of = |moment: &str| {
        let moment = format!("datetime=\"{moment}\"");
        last_seen
            .clone()
            .filter(|cell| {
                cell.split_once("</td>")
                    .is_some_and(|(cell, _)| cell.contains(&moment))
            })
            .count()
    };
    assert_eq!((of(&now), of(&before)), (1, 1));
}

#[tokio::test]
async fn ending_one_session_keeps_the_others() {
    let (running, _) = Running::with_ada().await;
    let [here, first, second] = [
        running.signed_in("ada").await,
        signed_in_with(&running, FIREFOX).await,
        signed_in_with(&running, "curl").await,
    ];
    let page = here.get(ACCOUNT).await;
    let [_, end] = ends(&page).try_into().expect("two others");
    for _ in 0..2 {
        let answer = here.post(&end, &[]).await;
        assert_eq!(answer.location(), "/account");
        assert!(here.follow(&answer).await.shows("That browser was signed out."));
    }
    assert!(is_signed_in(&here).await && is_signed_in(&second).await);
    assert!(!is_signed_in(&first).await);
}

#[tokio::test]
async fn ending_another_users_session_is_refused() {
    let (running, ada) = Running::with_ada().await;
    let (hers, other) = (running.signed_in("ada").await, running.signed_in("ada").await);
    running
        .installation
        .member(&ada.organization, "grace", Role::Owner);
    let grace = running.signed_in("grace").await;
    let [end] = ends(&hers.get(ACCOUNT).await).try_into().expect("one other");
    let (foreign, none) = (
        grace.post(&end, &[]).await,
        grace
            .post("/account/sessions/00000000-0000-7000-8000-000000000000/end", &[])
            .await,
    );
    assert_eq!(
        (foreign.status, foreign.location()),
        (none.status, none.location())
    );
    assert!(is_signed_in(&other).await && is_signed_in(&hers).await);
    assert_eq!(grace.post("/account/sessions/mine/end", &[]).await.status, 404);
}

#[tokio::test]
async fn ending_all_other_sessions_keeps_the_current_one() {
    let (running, ada) = Running::with_ada().await;
    let others = [running.signed_in("ada").await, running.signed_in("ada").await];
    running
        .installation
        .member(&ada.organization, "grace", Role::Owner);
    let grace = running.signed_in("grace").await;
    let here = running.signed_in("ada").await;
    assert!(here.get(ACCOUNT).await.shows("Sign out all other browsers"));
    let answer = here.post(END_OTHERS, &[]).await;
    let page = here.follow(&answer).await;
    assert!(page.shows("All other browsers were signed out."));
    assert!(ends(&page).is_empty() && !page.shows("Sign out all other browsers"));
    for other in &others {
        assert!(!is_signed_in(other).await);
    }
    assert!(is_signed_in(&here).await && is_signed_in(&grace).await);
}

#[tokio::test]
async fn password_change_replaces_password_and_ends_other_sessions() {
    let (running, _) = Running::with_ada().await;
    let elsewhere = running.signed_in("ada").await;
    let here = running.signed_in("ada").await;
    let fields = [
        ("current_password", TestInstallation::PASSWORD),
        ("new_password", NEW),
    ];
    let answer = here.post(PASSWORD, &fields).await;
    assert_eq!(answer.location(), "/account");
    assert!(here.follow(&answer).await.shows("Your password was changed"));
    assert!(is_signed_in(&here).await && !is_signed_in(&elsewhere).await);
    let sign_in = async |password| {
        let fields = [("username", "ada"), ("password", password)];
        running.visitor().post("/sign-in", &fields).await.status
    };
    assert_eq!(sign_in(TestInstallation::PASSWORD).await, 422);
    assert_eq!(sign_in(NEW).await, 303);
}

#[tokio::test]
async fn invalid_password_change_shows_field_errors_and_changes_nothing() {
    let (running, _) = Running::with_ada().await;
    let elsewhere = running.signed_in("ada").await;
    let here = running.signed_in("ada").await;
    let right = TestInstallation::PASSWORD;
    for (current, new, field, error) in [
        (
            "a wrong password",
            NEW,
            "current_password",
            "The current password is incorrect.",
        ),
        ("", NEW, "current_password", "Enter your current password."),
        (right, "short", "new_password", "New password "),
        (right, "passwordpassword", "new_password", "New password "),
        (right, "vAcme/Acme_wAcme", "new_password", "New password "),
        ("", "", "current_password", "Enter your current password."),
    ] {
        let fields = [("current_password", current), ("new_password", new)];
        let page = here.post(PASSWORD, &fields).await;
        assert_eq!(page.status, 422, "{error}");
        let (_, after) = page
            .body
            .split_once(&format!("id=\"{field}-error\""))
            .expect(error);
        assert!(after.split_once("<input").unwrap().0.contains(error), "{error}");
        assert!(page.shows("<title>Error: Account") && page.shows("Where you are signed in"));
        for typed in [current, new] {
            assert!(typed.is_empty() || !page.shows(typed), "{typed}");
        }
    }
    assert!(is_signed_in(&elsewhere).await);
    assert_eq!(here.get(PASSWORD).await.status, 200, "who reloads gets the page");
}

#[tokio::test]
async fn guessing_the_current_password_is_throttled() {
    let (running, _) = Running::with_ada().await;
    let here = running.signed_in("ada").await;
    let fields = [("current_password", "a guess"), ("new_password", NEW)];
    let mut answer = here.post(PASSWORD, &fields).await;
    for _ in 0..20 {
        if answer.status == 429 {
            break;
        }
        answer = here.post(PASSWORD, &fields).await;
    }
    assert_eq!(answer.status, 429);
    assert!(answer.shows("id=\"current_password-error\""));
    let wait = format!("data-wait=\"{}\"", answer.header("retry-after"));
    assert!(
        answer.shows("Too many attempts. Try again <span") && answer.shows(&wait),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn setup_remembers_the_first_owners_browser() {
    let running = Running::new().await;
    let setup = running.installation.setup();
    let token = setup.create_link(RequestSource::default()).await.unwrap();
    let browser = running.visitor();
    let fields = [
        ("token", token.expose()),
        ("organization", "Acme"),
        ("display_name", "Ada"),
        ("username", "ada"),
        ("password", NEW),
    ];
    let request = browser
        .request(reqwest::Method::POST, "/setup")
        .header("sec-fetch-site", "same-origin")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("user-agent", FIREFOX)
        .body(crate::browser::form(&fields));
    assert_eq!(browser.send(request).await.status, 303);
    assert!(browser.get(ACCOUNT).await.shows("Firefox on Linux"));
}

#[tokio::test]
async fn session_101_ends_the_users_oldest_session() {
    let (running, _) = Running::with_ada().await;
    let oldest = running.signed_in("ada").await;
    running.installation.builder.clock.advance(TimeDelta::minutes(1));
    let browser = running.signed_in("ada").await;
    let sign_in_elsewhere = async || {
        let attempt = SignInAttempt {
            username: "ada",
            password: Password::attempt(TestInstallation::PASSWORD),
            user_agent: None,
            previous: None,
            browser: None,
            source: RequestSource::default(),
        };
        // The limit of sign-ins allows this rate.
        running.installation.builder.clock.advance(TimeDelta::minutes(1));
        running.installation.sign_in().sign_in(attempt).await.unwrap();
    };
    for _ in 0..98 {
        sign_in_elsewhere().await;
    }
    assert!(is_signed_in(&oldest).await);
    sign_in_elsewhere().await;
    assert!(!is_signed_in(&oldest).await);

    let page = browser.get(ACCOUNT).await;
    assert_eq!(ends(&page).len(), 99, "and this one");
    browser.post(END_OTHERS, &[]).await;
    let page = browser.get(ACCOUNT).await;
    assert!(ends(&page).is_empty() && page.shows("This browser"));
}

#[tokio::test]
async fn refused_attempts_are_listed_for_their_user_only() {
    const HEADING: &str = "Failed sign-in attempts";
    let (running, ada) = Running::with_ada().await;
    running
        .installation
        .member(&ada.organization, "grace", Role::Member);
    let browser = running.signed_in("ada").await;
    assert!(!browser.get("/account").await.shows(HEADING));

    let stranger = running.visitor();
    let guess = [("username", "ada"), ("password", "a wrong password")];
    assert_eq!(stranger.post("/sign-in", &guess).await.status, 422);
    let page = browser.get("/account").await;
    let text = page.text();
    assert!(
        text.contains(HEADING) && text.contains("Wrong password 127.0.0.1"),
        "{text}"
    );
    let grace = running.signed_in("grace").await;
    assert!(!grace.get("/account").await.shows(HEADING));
}

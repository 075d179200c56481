use chrono::TimeDelta;
use keyward_domain::audit::Action;
use keyward_domain::invitation::Invitation;
use keyward_domain::membership::Role;
use keyward_domain::testing::TestInstallation;
use tokio::task::JoinSet;

use crate::browser::{Answer, Browser};
use crate::invitations::{INVITATIONS, invitation};
use crate::running::{LIST, Running};

const MEMBERS: &str = "/organizations/acme/settings/members";

fn token(link: &str) -> &str {
    link.split_once("token=").unwrap().1
}

async fn join_as_newcomer(browser: &Browser, link: &str, username: &str) -> Answer {
    let fields = [
        ("token", token(link)),
        ("as", "newcomer"),
        ("display_name", "Grace Hopper"),
        ("username", username),
        ("password", "seven lamps burn low"),
    ];
    browser.post("/join", &fields).await
}

async fn join_as_user(browser: &Browser, link: &str, username: &str) -> Answer {
    let fields = [("token", token(link)), ("as", "user"), ("username", username)];
    browser.post("/join", &fields).await
}

/// An owner who has made an invitation: their browser, and the link.
async fn invited(role: &str) -> (Running, Browser, String) {
    let (running, _) = Running::with_ada().await;
    let owner = running.signed_in("ada").await;
    let link = invitation(&owner, "The new colleague", role).await;
    (running, owner, link)
}

#[tokio::test]
async fn newcomer_accepts_invitation_creates_account_and_is_signed_in() {
    let (running, owner, link) = invited("member").await;
    let browser = running.visitor();
    let page = browser.open(&link).await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    for word in [
        "Join Acme",
        "ada invites you to Acme",
        "The new colleague",
        "member",
        "Create your account",
    ] {
        assert!(page.text().contains(word), "{word}: {}", page.text());
    }
    let answer = join_as_newcomer(&browser, &link, "grace").await;
    assert_eq!((answer.status, answer.location()), (303, LIST));
    let list = browser.follow(&answer).await;
    assert!(list.text().contains("You have joined Acme."), "{}", list.body);
    assert!(list.shows("Grace Hopper") && list.shows("Create your first key"));
    assert_eq!(browser.get(MEMBERS).await.status, 404, "a member is no owner");
    assert!(owner.get(MEMBERS).await.shows("Grace Hopper"));
    assert!(owner.get(INVITATIONS).await.shows("No pending invitations"));
}

#[tokio::test]
async fn owner_role_can_be_offered() {
    let (running, _, link) = invited("owner").await;
    let browser = running.visitor();
    join_as_newcomer(&browser, &link, "grace").await;
    assert_eq!(browser.get(MEMBERS).await.status, 200);
}

#[tokio::test]
async fn invalid_join_form_shows_field_errors_and_preserves_nonsecret_input() {
    let (running, _, link) = invited("member").await;
    let fields = [
        ("token", token(&link)),
        ("as", "newcomer"),
        ("display_name", " "),
        ("username", "Grace H"),
        ("password", "too short"),
    ];
    let page = running.visitor().post("/join", &fields).await;
    assert_eq!(page.status, 422);
    for name in ["display_name", "username", "password"] {
        assert!(page.shows(&format!("id=\"{name}-error\"")), "{name}");
    }
    assert!(page.shows("value=\"Grace H\"") && !page.shows("too short") && page.shows("<title>Error: "));
    assert_eq!(page.field("token"), token(&link), "the form can be sent again");
    assert_eq!(page.body.matches("autofocus").count(), 1);
}

#[tokio::test]
async fn taken_username_shows_field_error_and_keeps_invitation_open() {
    let (running, _, link) = invited("member").await;
    let browser = running.visitor();
    let page = join_as_newcomer(&browser, &link, "ada").await;
    assert_eq!(page.status, 409);
    assert!(page.shows("id=\"username-error\"") && page.shows("This username is taken."));
    assert_eq!(browser.cookie(), None);
    assert_eq!(join_as_newcomer(&browser, &link, "grace").await.status, 303);
}

#[tokio::test]
async fn trying_many_usernames_is_throttled() {
    let (running, _, link) = invited("member").await;
    let browser = running.visitor();
    let mut page = join_as_newcomer(&browser, &link, "ada").await;
    for _ in 0..60 {
        page = join_as_newcomer(&browser, &link, "ada").await;
    }
    assert_eq!(page.status, 429);
    assert!(page.shows("id=\"username-error\"") && page.field("token") == token(&link));
    let wait = format!("data-wait=\"{}\"", page.header("retry-after"));
    assert!(
        page.shows("Too many attempts. Try again <span") && page.shows(&wait),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn existing_user_signs_in_and_returns_to_join() {
    let (running, _, link) = invited("member").await;
    let other = running.installation.organization("Other");
    let grace = running.installation.member(&other, "grace", Role::Owner);
    let browser = running.visitor();
    browser.open(&link).await;
    let sign_in = goes_to_sign_in(&browser, &link).await.location().to_owned();
    let form = browser.get(&sign_in).await;
    let fields = [
        ("next", form.field("next")),
        ("username", "grace"),
        ("password", TestInstallation::PASSWORD),
    ];
    let answer = browser.post("/sign-in", &fields).await;
    let page = browser.follow(&answer).await;
    for address in [&*sign_in, answer.location()] {
        assert!(
            !address.contains(token(&link)),
            "the secret stands in no further address: {address}"
        );
    }
    assert!(
        page.text()
            .contains(&format!("Join as {}", grace.user.display_name))
    );
    assert!(!page.shows("name=\"password\""));
    assert_eq!(page.field("token"), token(&link));
    assert_eq!(page.field("username"), "grace");
    let answer = join_as_user(&browser, &link, "grace").await;
    assert_eq!((answer.status, answer.location()), (303, LIST));
    assert_eq!(
        browser.get("/join").await.status,
        404,
        "the browser has forgotten it"
    );
    assert_eq!(browser.get(LIST).await.status, 200);
    assert_eq!(
        browser.get("/organizations/other/settings/members").await.status,
        200
    );
}

#[tokio::test]
async fn invitation_opened_by_a_member_stays_open() {
    let (running, owner, link) = invited("member").await;
    for (answer, status) in [
        (owner.open(&link).await, 200),
        (join_as_user(&owner, &link, "ada").await, 409),
    ] {
        assert_eq!(answer.status, status);
        assert!(answer.shows("You are already a member") && answer.shows(LIST));
    }
    assert_eq!(
        join_as_newcomer(&running.visitor(), &link, "grace").await.status,
        303
    );
}

#[tokio::test]
async fn all_invalid_invitation_links_show_the_same_page() {
    let (running, owner, used) = invited("member").await;
    join_as_newcomer(&running.visitor(), &used, "grace").await;
    let revoked = invitation(&owner, "Somebody", "member").await;
    let list = owner.get(INVITATIONS).await;
    let (_, path) = list.body.split_once(&format!("href=\"{INVITATIONS}/")).unwrap();
    let path = format!("{INVITATIONS}/{}", path.split_once('"').unwrap().0);
    owner.post(&path, &[]).await;
    let expired = invitation(&owner, "Somebody", "member").await;
    running.installation.builder.clock.advance(Invitation::LIFETIME);
    let unknown = format!("/join?token={}", "0".repeat(64));
    let visitor = running.visitor();
    let mut pages = Vec::new();
    for link in [
        used.as_str(),
        &revoked,
        &expired,
        &unknown,
        "/join?token=abc",
        "/join?token=",
    ] {
        for answer in [
            visitor.open(link).await,
            join_as_newcomer(&visitor, link, "olga").await,
            join_as_user(&visitor, link, "olga").await,
        ] {
            assert_eq!(answer.status, 404, "{link}");
            pages.push(answer.body);
        }
    }
    pages.push(visitor.get("/join").await.body);
    assert!(pages[0].contains("Ask an owner for a new one."));
    assert!(pages.iter().all(|page| *page == pages[0]));
}

#[tokio::test]
async fn removed_member_needs_an_invitation_made_after_removal() {
    let (running, owner, kept) = invited("owner").await;
    let clock = running.installation.builder.clock.clone();
    let used = invitation(&owner, "Grace", "member").await;
    let grace = running.visitor();
    assert_eq!(join_as_newcomer(&grace, &used, "grace").await.status, 303);
    clock.advance(TimeDelta::minutes(1));
    let member = owner.get(&format!("{MEMBERS}/@grace")).await;
    let remove = format!("{}/remove", member.location());
    assert_eq!(owner.post(&remove, &[("confirm", "yes")]).await.status, 303);
    clock.advance(TimeDelta::minutes(1));
    for answer in [
        grace.open(&kept).await,
        join_as_user(&grace, &kept, "grace").await,
        join_as_user(&grace, &kept, "somebody-else").await,
    ] {
        assert_eq!(answer.status, 404, "{}", answer.body);
        assert!(answer.shows("This invitation is no longer valid"));
        assert!(answer.text().contains("created before you left or were removed"));
    }
    assert_eq!(grace.get(LIST).await.status, 404);
    assert_eq!(running.visitor().open(&kept).await.status, 200, "for others");

    let later = invitation(&owner, "Grace", "member").await;
    assert!(grace.open(&later).await.shows("Join as"));
    assert_eq!(join_as_user(&grace, &later, "grace").await.status, 303);
    assert_eq!(grace.get(LIST).await.status, 200);
}

#[tokio::test]
async fn concurrent_use_of_one_invitation_admits_one_user() {
    let (running, _, link) = invited("member").await;
    let mut joining = JoinSet::new();
    for number in 0..8 {
        let browser = running.visitor();
        let link = link.clone();
        joining.spawn(async move {
            let answer = join_as_newcomer(&browser, &link, &format!("grace-{number}")).await;
            (answer.status, browser.get(LIST).await.status)
        });
    }
    let mut answers = joining.join_all().await;
    answers.sort_unstable();
    let mut expected = vec![(404, 303); 7];
    expected.insert(0, (303, 200));
    assert_eq!(answers, expected);
    let joined = running.installation.store.events();
    let joined = joined
        .iter()
        .filter(|event| event.action == Action::CreateMembership);
    assert_eq!(joined.count(), 1);
}

#[tokio::test]
async fn signed_out_user_sees_that_joining_failed() {
    let (running, _, link) = invited("member").await;
    let page = join_as_user(&running.visitor(), &link, "grace").await;
    assert_eq!(page.status, 403);
    assert!(page.shows("you have not joined yet") && page.shows("Sign in and join"));
    assert_eq!(page.focused(), ["p role=\"status\""]);
}

#[tokio::test]
async fn no_redirect_after_a_form_contains_the_secret() {
    let (running, _, link) = invited("member").await;
    let browser = running.visitor();
    for answer in [
        join_as_newcomer(&browser, &link, "No Name").await,
        join_as_newcomer(&browser, &link, "grace").await,
        join_as_newcomer(&browser, &link, "grace").await,
    ] {
        assert!(!answer.location().contains(token(&link)), "{}", answer.location());
    }
}

#[tokio::test]
async fn cross_site_form_cannot_join() {
    let (running, _, link) = invited("member").await;
    let other = running.installation.organization("Other");
    running.installation.member(&other, "grace", Role::Member);
    let grace = running.signed_in("grace").await;
    let request = grace
        .request(reqwest::Method::POST, "/join")
        .header("sec-fetch-site", "cross-site")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("token={}&as=user&username=grace", token(&link)));
    assert_eq!(grace.send(request).await.status, 403);
    assert_eq!(grace.get(LIST).await.status, 404);
}

/// The page was opened as one user, and another one signed in in another tab.
#[tokio::test]
async fn join_form_offered_to_one_user_joins_no_other() {
    let (running, owner, link) = invited("member").await;
    let other = running.installation.organization("Other");
    running.installation.member(&other, "dan", Role::Member);
    let dan = running.signed_in("dan").await;
    let page = join_as_user(&dan, &link, "eve").await;
    assert_eq!(page.status, 409);
    assert!(page.text().contains("no longer signed in as eve") && page.text().contains("Join as dan"));
    assert_eq!(page.field("username"), "dan");
    assert_eq!(dan.get(LIST).await.status, 404);

    let page = join_as_user(&owner, &link, "eve").await;
    assert_eq!(page.status, 409);
    assert!(page.shows("You are already a member"));
    let answer = join_as_user(&dan, &link, "dan").await;
    assert_eq!(answer.status, 303, "the invitation was not used up");
}

#[tokio::test]
async fn invalid_link_while_signed_in_shows_advice_without_sign_in() {
    let (running, _, link) = invited("member").await;
    let grace = running.visitor();
    join_as_newcomer(&grace, &link, "grace").await;
    let page = grace.open(&link).await;
    assert_eq!(page.status, 404);
    assert!(
        page.text().contains("You are signed in as grace"),
        "{}",
        page.text()
    );
    assert!(page.shows("Ask an owner for a new one.") && !page.shows("/sign-in"));
}

#[tokio::test]
async fn sign_in_for_an_invitation_states_its_purpose() {
    let (running, _, link) = invited("member").await;
    let visitor = running.visitor();
    let answer = goes_to_sign_in(&visitor, &link).await;
    assert_eq!(answer.location(), "/sign-in?next=%2Fjoin");
    let sign_in = visitor.follow(&answer).await;
    assert!(sign_in.shows("Sign in to join."), "{}", sign_in.body);
    assert_eq!(sign_in.focused(), ["p role=\"status\""]);
}

async fn goes_to_sign_in(browser: &Browser, link: &str) -> Answer {
    let fields = [("token", token(link)), ("as", "signed-out-user")];
    browser.post("/join", &fields).await
}

#[tokio::test]
async fn sign_in_from_an_older_tab_leads_to_its_invitation() {
    let (running, owner, link) = invited("member").await;
    let other = invitation(&owner, "Somebody else", "member").await;
    let museum = running.installation.organization("Museum");
    running.installation.member(&museum, "heidi", Role::Member);
    let browser = running.visitor();
    browser.open(&link).await;
    browser.open(&other).await;
    goes_to_sign_in(&browser, &link).await;
    let credentials = [
        ("next", "/join"),
        ("username", "heidi"),
        ("password", TestInstallation::PASSWORD),
    ];
    let answer = browser.post("/sign-in", &credentials).await;
    let page = browser.follow(&answer).await;
    assert!(
        page.shows("<dd><bdi>The new colleague</bdi></dd>"),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn invitation_secret_is_removed_from_url_at_first_request() {
    let (running, _, link) = invited("member").await;
    let visitor = running.visitor();
    let answer = visitor.get(&link).await;
    assert_eq!((answer.status, answer.location()), (303, "/join"));
    assert_eq!(answer.header("referrer-policy"), "strict-origin");
    let secret = token(&link);
    assert_eq!(
        answer.header("set-cookie"),
        format!("invitation={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600")
    );
    assert!(visitor.follow(&answer).await.shows("Join <bdi>Acme</bdi>"));
    assert!(
        visitor.get("/join").await.shows("Join <bdi>Acme</bdi>"),
        "and again"
    );
}

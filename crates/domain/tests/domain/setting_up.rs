//! The first run.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::membership::Role;
use keyward_domain::organization::{Organization, OrganizationName};
use keyward_domain::ports::Memberships;
use keyward_domain::sign_in::Setup;
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::password::{HashingError, MockPasswordHasher, Password, PasswordHasher};
use keyward_domain::sign_in::ports::{
    AccountStore, InstallationStore, MockInstallationStore, ReplaceSetupLinkError,
};
use keyward_domain::sign_in::setup::{CompleteSetupError, LINK_LIFETIME, SetupChoices, SetupToken};
use keyward_domain::sign_in::signing_in::SignInAttempt;
use keyward_domain::testing::{PlainHasher, TestInstallation};
use keyward_domain::user::{DisplayName, Username};

const PASSWORD: &str = "seven brisk cranes over a lake";

fn choices(username: &str) -> SetupChoices {
    SetupChoices {
        organization: OrganizationName::parse("Crème & Co").expect("a name"),
        owner: NewcomerChoices {
            username: Username::parse(username).expect("a username"),
            display_name: DisplayName::parse("Ada Лавлейс").expect("a display name"),
            password: Password::attempt(PASSWORD),
        },
    }
}

fn nowhere() -> RequestSource {
    RequestSource::default()
}

fn setup_over(
    installation: &TestInstallation,
    store: Arc<dyn InstallationStore>,
    hasher: Arc<dyn PasswordHasher>,
) -> Setup {
    let make = &installation.builder;
    Setup::new(store, hasher, make.sources.clone())
}

#[tokio::test]
async fn setup_link_creates_the_first_organization_and_owner() {
    let installation = TestInstallation::new();
    let setup = installation.setup();
    assert!(!setup.is_complete().await.expect("the store answers"));
    let link = setup.create_link(nowhere()).await.expect("a link");
    let sent = SetupToken::parse(link.expose()).expect("a setup token");
    assert!(setup.link_works(&sent).await.expect("the store answers"));
    let organization = setup
        .complete(&sent, choices("ada"), nowhere())
        .await
        .expect("set up");

    assert!(setup.is_complete().await.expect("the store answers"));
    assert_eq!(organization.slug.as_str(), "creme-co");
    assert_owner_can_sign_in(&installation, &organization).await;
    let events = installation.store.events();
    let Subject::User(owner) = events[2].subject else {
        panic!("{events:?}")
    };
    let owner = Actor::User(owner);
    let recorded: Vec<(Action, Actor)> = events.iter().map(|event| (event.action, event.actor)).collect();
    assert_eq!(
        recorded[..4],
        [
            (Action::CreateSetupLink, Actor::Administrator),
            (Action::CreateOrganization, owner),
            (Action::CreateUser, owner),
            (Action::CreateMembership, owner),
        ]
    );
    assert!(
        events[1..4]
            .iter()
            .all(|event| event.organization_id == Some(organization.id))
    );
    assert!(!format!("{events:?}").contains(link.expose()));
}

#[tokio::test]
async fn command_line_sets_up_without_a_link() {
    let installation = TestInstallation::new();
    let organization = installation
        .setup()
        .bootstrap(choices("ada"))
        .await
        .expect("set up");

    let events = installation.store.events();
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(|event| event.actor == Actor::Administrator));
    assert_owner_can_sign_in(&installation, &organization).await;
}

#[tokio::test]
async fn second_setup_attempt_is_refused() {
    let installation = TestInstallation::new();
    let setup = installation.setup();
    let link = setup.create_link(nowhere()).await.expect("a link");
    setup
        .complete(&link, choices("ada"), nowhere())
        .await
        .expect("set up");
    let again = setup.complete(&link, choices("eve"), nowhere()).await;
    assert!(
        matches!(again, Err(CompleteSetupError::AlreadySetUp)),
        "{again:?}"
    );
    let again = setup.bootstrap(choices("eve")).await;
    assert!(
        matches!(again, Err(CompleteSetupError::AlreadySetUp)),
        "{again:?}"
    );
    let link = setup.create_link(nowhere()).await;
    assert!(
        matches!(link, Err(ReplaceSetupLinkError::AlreadySetUp)),
        "{link:?}"
    );

    let eve = Username::parse("eve").expect("a username");
    let found = AccountStore::find(&installation.store, &eve).await;
    assert_eq!(found.expect("the store answers"), None);
}

#[tokio::test]
async fn setup_link_works_for_24_hours() {
    let installation = TestInstallation::new();
    let setup = installation.setup();
    let link = setup.create_link(nowhere()).await.expect("a link");
    let clock = &installation.builder.clock;
    assert_eq!(LINK_LIFETIME, TimeDelta::hours(24));
    clock.advance(LINK_LIFETIME - TimeDelta::milliseconds(1));
    assert!(setup.link_works(&link).await.expect("the store answers"));
    clock.advance(TimeDelta::milliseconds(1));
    assert!(!setup.link_works(&link).await.expect("the store answers"));
    let late = setup.complete(&link, choices("ada"), nowhere()).await;

    assert!(matches!(late, Err(CompleteSetupError::LinkInvalid)), "{late:?}");
    assert!(!setup.is_complete().await.expect("the store answers"));
}

#[tokio::test]
async fn new_setup_link_invalidates_the_previous_one() {
    let installation = TestInstallation::new();
    let setup = installation.setup();
    let first = setup.create_link(nowhere()).await.expect("a link");
    let second = setup.create_link(nowhere()).await.expect("a link");
    let refused = setup.complete(&first, choices("eve"), nowhere()).await;
    assert!(
        matches!(refused, Err(CompleteSetupError::LinkInvalid)),
        "{refused:?}"
    );

    setup
        .complete(&second, choices("ada"), nowhere())
        .await
        .expect("set up");
}

#[tokio::test]
async fn invalid_link_causes_no_password_hashing() {
    let installation = TestInstallation::new();
    let mut hasher = MockPasswordHasher::new();
    hasher.expect_hash().never();
    let setup = setup_over(
        &installation,
        Arc::new(installation.store.clone()),
        Arc::new(hasher),
    );
    let made_up = SetupToken::generate(&*installation.builder.random);
    let refused = setup.complete(&made_up, choices("eve"), nowhere()).await;
    assert!(
        matches!(refused, Err(CompleteSetupError::LinkInvalid)),
        "{refused:?}"
    );

    installation.organization("Acme");
    for refused in [
        setup.complete(&made_up, choices("eve"), nowhere()).await,
        setup.bootstrap(choices("eve")).await,
    ] {
        assert!(
            matches!(refused, Err(CompleteSetupError::AlreadySetUp)),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn concurrent_setup_reports_the_stores_refusal() {
    let installation = TestInstallation::new();
    let mut store = MockInstallationStore::new();
    store.expect_is_set_up().returning(|| Ok(false));
    store.expect_setup_link_works().returning(|_, _| Ok(true));
    let mut answers = vec![CompleteSetupError::LinkInvalid, CompleteSetupError::AlreadySetUp];
    store
        .expect_set_up()
        .times(2)
        .returning(move |_, _, _| Err(answers.pop().expect("asked twice")));
    let setup = setup_over(&installation, Arc::new(store), Arc::new(PlainHasher));
    let link = SetupToken::generate(&*installation.builder.random);

    let late = setup.complete(&link, choices("ada"), nowhere()).await;
    assert!(matches!(late, Err(CompleteSetupError::AlreadySetUp)), "{late:?}");
    let replaced = setup.complete(&link, choices("ada"), nowhere()).await;
    assert!(
        matches!(replaced, Err(CompleteSetupError::LinkInvalid)),
        "{replaced:?}"
    );
}

#[tokio::test]
async fn busy_password_hasher_keeps_the_setup_link_valid() {
    let installation = TestInstallation::new();
    let store = Arc::new(installation.store.clone());
    let mut hasher = MockPasswordHasher::new();
    hasher.expect_hash().returning(|_, _| Err(HashingError::Busy));
    let setup = setup_over(&installation, store, Arc::new(hasher));
    let link = setup.create_link(nowhere()).await.expect("a link");
    let busy = setup.complete(&link, choices("ada"), nowhere()).await;
    assert!(matches!(busy, Err(CompleteSetupError::Hashing(_))), "{busy:?}");

    installation
        .setup()
        .complete(&link, choices("ada"), nowhere())
        .await
        .expect("later");
}

async fn assert_owner_can_sign_in(installation: &TestInstallation, organization: &Organization) {
    let attempt = SignInAttempt {
        user_agent: None,
        username: "ada",
        password: Password::attempt(PASSWORD),
        previous: None,
        browser: None,
        source: nowhere(),
    };
    let sign_in = installation.sign_in();
    let token = sign_in.sign_in(attempt).await.expect("signed in").session;
    let signed_in = sign_in.signed_in(&token).await.expect("the store answers");
    let user = signed_in.expect("signed in").user;
    assert_eq!(user.display_name.as_str(), "Ada Лавлейс");
    let member = installation
        .store
        .find_live(user.id, &organization.slug, installation.builder.sources.now())
        .await
        .expect("the store answers")
        .expect("a member");
    assert_eq!(member.membership.role, Role::Owner);
    assert_eq!(member.membership.joined_at, installation.builder.clock.now());
    assert_eq!(member.organization, *organization);
}

//! Accounts, as the command line manages them.

use std::sync::Arc;

use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::membership::Role;
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::ports::Memberships;
use keyward_domain::sign_in::Accounts;
use keyward_domain::sign_in::accounts::{
    AccountDraft, CreateAccountError, CreateOrganizationError, ResetPasswordError,
};
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::password::{MockPasswordHasher, Password};
use keyward_domain::sign_in::session::SessionToken;
use keyward_domain::sign_in::signing_in::{SignInAttempt, SignInError};
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::{DisplayName, Username};

const NEW_PASSWORD: &str = "seven brisk cranes over a lake";

fn username(text: &str) -> Username {
    Username::parse(text).expect("a username")
}

fn draft(organization: &str, name: &str) -> AccountDraft {
    AccountDraft {
        organization: Slug::parse(organization).expect("a slug"),
        role: Role::Owner,
        user: NewcomerChoices {
            username: username(name),
            display_name: DisplayName::parse("Bob").expect("a display name"),
            password: Password::attempt(NEW_PASSWORD),
        },
    }
}

async fn sign_in(
    installation: &TestInstallation,
    name: &str,
    password: &str,
) -> Result<SessionToken, SignInError> {
    let attempt = SignInAttempt {
        user_agent: None,
        username: name,
        password: Password::attempt(password),
        previous: None,
        browser: None,
        source: RequestSource::default(),
    };
    let cookies = installation.sign_in().sign_in(attempt).await;
    cookies.map(|cookies| cookies.session)
}

#[tokio::test]
async fn new_user_can_sign_in_and_is_a_member() {
    let installation = TestInstallation::new();
    installation.organization("Other");
    let acme = installation.organization("Acme");
    let user = installation
        .accounts()
        .create(draft("acme", "bob"))
        .await
        .expect("created");

    let events = installation.store.events();
    let recorded: Vec<_> = events
        .iter()
        .map(|event| (event.action, event.actor, event.organization_id))
        .collect();
    let here = (Actor::Administrator, Some(acme.id));
    assert_eq!(
        recorded,
        [
            (Action::CreateUser, here.0, here.1),
            (Action::CreateMembership, here.0, here.1)
        ]
    );
    sign_in(&installation, "bob", NEW_PASSWORD)
        .await
        .expect("signed in");
    let member = installation
        .store
        .find_live(user.id, &acme.slug, installation.builder.sources.now())
        .await
        .expect("the store answers")
        .expect("a member");
    assert_eq!(member.membership.role, Role::Owner);
    let organizations = installation
        .store
        .organizations_of(user.id, installation.builder.sources.now())
        .await;
    assert_eq!(organizations.expect("the store answers"), [acme]);
}

#[tokio::test]
async fn username_is_unique() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    installation.member(&acme, "bob", Role::Member);
    let refused = installation.accounts().create(draft("acme", "bob")).await;

    assert!(
        matches!(refused, Err(CreateAccountError::UsernameTaken)),
        "{refused:?}"
    );
    assert!(installation.store.events().is_empty());
    sign_in(&installation, "bob", TestInstallation::PASSWORD)
        .await
        .expect("bob keeps his password");
}

#[tokio::test]
async fn unknown_organization_cannot_be_joined() {
    let installation = TestInstallation::new();
    installation.organization("Acme");
    let mut hasher = MockPasswordHasher::new();
    hasher.expect_hash().never();
    let make = &installation.builder;
    let accounts = Accounts::new(
        Arc::new(installation.store.clone()),
        Arc::new(installation.store.clone()),
        Arc::new(hasher),
        make.sources.clone(),
    );
    let refused = accounts.create(draft("acne", "bob")).await;

    assert!(
        matches!(refused, Err(CreateAccountError::OrganizationUnknown)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn additional_organization_for_an_existing_owner_is_logged() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member);
    let name = OrganizationName::parse("ACME").expect("a name");
    let organization = installation
        .accounts()
        .create_organization(name.clone(), &username("ada"))
        .await
        .expect("created");

    assert_eq!(organization.name, name);
    assert_eq!(organization.slug.as_str(), "acme-2");
    let member = installation
        .store
        .find_live(
            ada.user.id,
            &organization.slug,
            installation.builder.sources.now(),
        )
        .await
        .expect("the store answers")
        .expect("a member");
    assert_eq!(member.membership.role, Role::Owner);
    assert_eq!(member.organization, organization);
    let events = installation.store.events();
    let recorded: Vec<_> = events
        .iter()
        .map(|event| (event.action, event.subject, event.actor, event.organization_id))
        .collect();
    let (who, here) = (Actor::Administrator, Some(organization.id));
    let subject = Subject::Organization(organization.id);
    let owner = Subject::Membership(member.membership.id);
    assert_eq!(
        recorded,
        [
            (Action::CreateOrganization, subject, who, here),
            (Action::CreateMembership, owner, who, here)
        ]
    );
}

#[tokio::test]
async fn unknown_user_cannot_own_an_organization() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let refused = installation
        .accounts()
        .create_organization(acme.name.clone(), &username("nobody"))
        .await;

    assert!(
        matches!(refused, Err(CreateOrganizationError::OwnerUnknown)),
        "{refused:?}"
    );
    let organizations = installation.accounts().organizations().await;
    assert_eq!(organizations.expect("the store answers"), [acme]);
    assert!(installation.store.events().is_empty());
}

#[tokio::test]
async fn password_reset_replaces_the_password_and_ends_sessions() {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    installation.member(&acme, "bob", Role::Member);
    let hers = sign_in(&installation, "ada", TestInstallation::PASSWORD)
        .await
        .expect("signed in");
    let his = sign_in(&installation, "bob", TestInstallation::PASSWORD)
        .await
        .expect("signed in");
    let key = installation.issue(&ada.as_holder(), "ci").await;
    installation
        .accounts()
        .reset_password(&username("ada"), &Password::attempt(NEW_PASSWORD))
        .await
        .expect("reset");

    let event = installation.store.events().pop().expect("an event");
    assert_eq!(
        (event.action, event.actor, event.subject),
        (
            Action::ResetPassword,
            Actor::Administrator,
            Subject::User(ada.user.id)
        )
    );
    let signed_in = installation.sign_in();
    assert_eq!(signed_in.signed_in(&hers).await.expect("the store answers"), None);
    assert!(
        signed_in
            .signed_in(&his)
            .await
            .expect("the store answers")
            .is_some()
    );
    let old = sign_in(&installation, "ada", TestInstallation::PASSWORD).await;
    assert!(matches!(old, Err(SignInError::WrongCredentials)), "{old:?}");
    sign_in(&installation, "ada", NEW_PASSWORD)
        .await
        .expect("the new one works");
    installation.caller(&key).await;
}

#[tokio::test]
async fn password_of_an_unknown_user_is_not_reset() {
    let installation = TestInstallation::new();
    installation.organization("Acme");
    let refused = installation
        .accounts()
        .reset_password(&username("nobody"), &Password::attempt(NEW_PASSWORD))
        .await;

    assert!(
        matches!(refused, Err(ResetPasswordError::UserUnknown)),
        "{refused:?}"
    );
    assert!(installation.store.events().is_empty());
}

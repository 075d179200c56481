//! The audit events of set-up, accounts, sign-in and sign-out.

use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, Subject};
use keyward_domain::membership::Role;
use keyward_domain::organization::OrganizationName;
use keyward_domain::sign_in::accounts::AccountDraft;
use keyward_domain::sign_in::own_account::NewPassword;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::setup::SetupChoices;
use keyward_domain::testing::TestInstallation;

use super::{Fact, NEW_PASSWORD, Scene, assert_says, newcomer, username};
use crate::signing_in::{attempt, source};

#[tokio::test]
async fn setup_by_link_or_command_line_is_logged() {
    let choices = || SetupChoices {
        organization: OrganizationName::parse("First").expect("a name"),
        owner: newcomer(),
    };
    for by_link in [true, false] {
        let scene = Scene::not_set_up();
        let setup = scene.installation.setup();
        let made = if by_link {
            let link = setup.create_link(source()).await.expect("a link");
            let made_link = (Action::CreateSetupLink, Subject::Installation, None);
            scene.assert_recorded(Actor::Administrator, None, &[made_link]);
            setup.complete(&link, choices(), source()).await
        } else {
            setup.bootstrap(choices()).await
        };
        let first = made.expect("set up");
        let carol = scene.account("carol").await;
        let member = scene.membership(&carol, &first.slug).await;
        let facts = [
            (Action::CreateOrganization, Subject::Organization(first.id), None),
            (Action::CreateUser, Subject::User(carol.id), None),
            (Action::CreateMembership, member, None),
        ];
        if by_link {
            scene.assert_recorded(Actor::User(carol.id), Some(first.id), &facts);
        } else {
            scene.assert_told_of_administrator(Some(first.id), &facts);
        }
    }
}

#[tokio::test]
async fn account_administration_is_logged() {
    let scene = Scene::new();
    let accounts = scene.installation.accounts();
    let name = OrganizationName::parse("Second").expect("a name");
    let second = accounts.create_organization(name, &username("ada")).await;
    let second = second.expect("an organization");
    let owner = scene.membership(&scene.ada.user, &second.slug).await;
    scene.assert_told_of_administrator(
        Some(second.id),
        &[
            (Action::CreateOrganization, Subject::Organization(second.id), None),
            (Action::CreateMembership, owner, None),
        ],
    );

    let draft = AccountDraft {
        organization: second.slug.clone(),
        role: Role::Member,
        user: newcomer(),
    };
    let carol = accounts.create(draft).await.expect("created");
    let member = scene.membership(&carol, &second.slug).await;
    scene.assert_told_of_administrator(
        Some(second.id),
        &[
            (Action::CreateUser, Subject::User(carol.id), None),
            (Action::CreateMembership, member, None),
        ],
    );

    let reset = accounts
        .reset_password(&username("carol"), &Password::attempt(NEW_PASSWORD))
        .await;
    reset.expect("reset");
    scene.assert_told_of_administrator(None, &[(Action::ResetPassword, Subject::User(carol.id), None)]);
}

#[tokio::test]
async fn own_account_changes_are_logged() {
    let scene = Scene::new();
    let (here, there) = (scene.session_of("ada").await, scene.session_of("ada").await);
    let account = scene.installation.own_account();
    let recorded = |fact| scene.assert_recorded(scene.ada(), None, &[fact]);
    let ended = account.end_session(&here, there.session.id, source()).await;
    ended.expect("ended");
    recorded((Action::EndSession, Subject::Session(there.session.id), None));
    let other = scene.session_of("ada").await;
    account.end_other_sessions(&here, source()).await.expect("ended");
    recorded((Action::EndSession, Subject::Session(other.session.id), None));
    let passwords = NewPassword {
        current: Password::attempt(TestInstallation::PASSWORD),
        new: Password::attempt(NEW_PASSWORD),
        browser: None,
    };
    let changed = account.change_password(&here, passwords, source()).await;
    changed.expect("changed");
    recorded((Action::ChangePassword, Subject::User(scene.ada.user.id), None));
}

#[tokio::test]
async fn sign_in_sign_out_and_refusals_are_logged() {
    let scene = Scene::new();
    let sign_in = scene.installation.sign_in();
    let token = sign_in.sign_in(attempt("ada", TestInstallation::PASSWORD)).await;
    let recorded = scene.news();
    let signed_in = sign_in.signed_in(&token.expect("signed in").session).await;
    let signed_in = signed_in.expect("the store answers").expect("a live session");
    let session = Subject::Session(signed_in.session.id);
    assert_says_in_both_logs(&scene, &recorded, scene.ada(), (Action::SignIn, session, None));
    sign_in.sign_out(&signed_in, source()).await.expect("signed out");
    scene.assert_recorded(scene.ada(), None, &[(Action::SignOut, session, None)]);

    for (tried, subject) in [
        ("ada", Subject::User(scene.ada.user.id)),
        ("nobody", Subject::Installation),
    ] {
        sign_in
            .sign_in(attempt(tried, "a guess"))
            .await
            .expect_err("a wrong password");
        let mut recorded = scene.news();
        for event in &mut recorded {
            assert_eq!(event.outcome, Outcome::Refused);
            event.outcome = Outcome::Success;
        }
        let fact = (Action::SignIn, subject, None);
        if tried == "ada" {
            assert_says_in_both_logs(&scene, &recorded, Actor::Anonymous, fact);
        } else {
            assert_says(&scene, &recorded, (Actor::Anonymous, None, source()), &[fact]);
        }
    }
}

/// An event about a member is in the log of the installation, and in that of their organization.
fn assert_says_in_both_logs(scene: &Scene, recorded: &[AuditEvent], actor: Actor, fact: Fact) {
    let (installation, organization) = recorded.split_at(1);
    assert_says(scene, installation, (actor, None, source()), &[fact]);
    assert_says(scene, organization, (actor, scene.acme(), source()), &[fact]);
}

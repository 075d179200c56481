//! Joining an organization with an invitation.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::access::AuthenticateError;
use keyward_domain::administration::{InvitationDraft, IssuedInvitation};
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::invitation::{Invitation, InvitationToken, Invitee};
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::Memberships;
use keyward_domain::sign_in::Joining;
use keyward_domain::sign_in::joining::{JoiningPorts, NewcomerChoices};
use keyward_domain::sign_in::password::{MockPasswordHasher, Password};
use keyward_domain::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError};
use keyward_domain::sign_in::signing_in::SignInAttempt;
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::{DisplayName, Username};

use crate::signing_in::attempt;

const PASSWORD: &str = "seven brisk cranes over a lake";

fn from_somewhere() -> RequestSource {
    RequestSource {
        address: Some([192, 0, 2, 7].into()),
        request_id: Some("request-1".to_owned()),
    }
}

fn choices(username: &str) -> NewcomerChoices {
    NewcomerChoices {
        username: Username::parse(username).expect("a username"),
        display_name: DisplayName::parse("Bob").expect("a display name"),
        password: Password::attempt(PASSWORD),
    }
}

/// An installation whose organization has the owner `ada` and an open invitation.
async fn with_invitation(role: Role) -> (TestInstallation, Member, IssuedInvitation) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    let issued = invite(&installation, &ada, role).await;
    (installation, ada, issued)
}

async fn invite(installation: &TestInstallation, owner: &Member, role: Role) -> IssuedInvitation {
    let draft = InvitationDraft {
        invitee: Invitee::parse("Bob").expect("an invitee"),
        role,
    };
    installation
        .invitations()
        .invite(
            &owner.as_authority(owner.membership.joined_at).expect("an owner"),
            draft,
            None,
            from_somewhere(),
        )
        .await
        .expect("invited")
}

async fn join(
    installation: &TestInstallation,
    token: &InvitationToken,
    username: &str,
) -> Result<Member, AcceptAsNewcomerError> {
    installation
        .joining()
        .join_as_newcomer(token, choices(username), from_somewhere())
        .await
}

#[tokio::test]
async fn newcomer_gets_account_with_chosen_password_and_invited_role() {
    for role in [Role::Member, Role::Owner] {
        let (installation, ada, issued) = with_invitation(role).await;
        let before = installation.store.events().len();
        let bob = join(&installation, &issued.token, "bob").await.expect("joined");

        assert_eq!(bob.organization, ada.organization);
        assert_eq!(bob.membership.role, role);
        let live = installation
            .store
            .find_live(
                bob.user.id,
                &bob.organization.slug,
                installation.builder.sources.now(),
            )
            .await;
        assert_eq!(live.expect("the store answers").as_ref(), Some(&bob));
        let attempt = SignInAttempt {
            username: "bob",
            password: Password::attempt(PASSWORD),
            user_agent: None,
            previous: None,
            browser: None,
            source: RequestSource::default(),
        };
        let events = installation.store.events().split_off(before);
        installation.sign_in().sign_in(attempt).await.expect("signed in");

        let recorded: Vec<_> = events
            .iter()
            .map(|event| (event.action, event.subject, event.object))
            .collect();
        let member = Subject::Membership(bob.membership.id);
        let invitation = Subject::Invitation(issued.invitation.id);
        assert_eq!(
            recorded,
            [
                (Action::CreateUser, Subject::User(bob.user.id), None),
                (Action::AcceptInvitation, invitation, Some(member)),
                (Action::CreateMembership, member, None),
            ]
        );
        for event in events {
            assert_eq!(event.actor, Actor::User(bob.user.id));
            assert_eq!(event.organization_id, Some(ada.organization.id));
            assert_eq!(event.source, from_somewhere());
        }
    }
}

#[tokio::test]
async fn signed_in_user_joins_second_organization_as_another_consumer() {
    let (installation, ada, issued) = with_invitation(Role::Member).await;
    let other = installation.organization("Other");
    let stranger = installation.member(&other, "stranger", Role::Member);
    let joined = installation
        .joining()
        .join_as_user(&issued.token, &stranger.user, from_somewhere())
        .await
        .expect("joined");

    assert_eq!(joined.user, stranger.user);
    assert_ne!(joined.membership.id, stranger.membership.id);
    let organizations = installation
        .store
        .organizations_of(stranger.user.id, installation.builder.sources.now())
        .await;
    assert_eq!(
        organizations.expect("the store answers"),
        [ada.organization, other]
    );
    let events = installation.store.events();
    assert!(!events.iter().any(|event| event.action == Action::CreateUser));
}

#[tokio::test]
async fn link_works_once() {
    let (installation, _, issued) = with_invitation(Role::Member).await;
    join(&installation, &issued.token, "bob").await.expect("joined");

    let open = installation
        .joining()
        .invitation(&issued.token, None, installation.now())
        .await;
    assert_eq!(open.expect("the store answers"), None);
    let refused = join(&installation, &issued.token, "cleo").await;
    assert!(
        matches!(refused, Err(AcceptAsNewcomerError::NotOpen)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn link_works_until_it_expires() {
    let (installation, _, issued) = with_invitation(Role::Member).await;
    let clock = &installation.builder.clock;
    clock.advance(Invitation::LIFETIME - TimeDelta::milliseconds(1));
    let open = installation
        .joining()
        .invitation(&issued.token, None, installation.now())
        .await;
    assert!(open.expect("the store answers").is_some());

    clock.advance(TimeDelta::milliseconds(1));
    let open = installation
        .joining()
        .invitation(&issued.token, None, installation.now())
        .await;
    assert_eq!(open.expect("the store answers"), None);
    let refused = join(&installation, &issued.token, "bob").await;
    assert!(
        matches!(refused, Err(AcceptAsNewcomerError::NotOpen)),
        "{refused:?}"
    );
}

/// Joining that fails the test if it hashes.
fn without_hashing(installation: &TestInstallation) -> Joining {
    let mut hasher = MockPasswordHasher::new();
    hasher.expect_hash().never();
    let ports = JoiningPorts {
        invitations: Arc::new(installation.store.clone()),
        accounts: Arc::new(installation.store.clone()),
        throttle: Arc::new(installation.store.clone()),
        hasher: Arc::new(hasher),
    };
    let make = &installation.builder;
    Joining::new(ports, make.sources.clone())
}

#[tokio::test]
async fn username_probing_is_limited_per_invitation() {
    let (installation, ada, issued) = with_invitation(Role::Member).await;
    let joining = without_hashing(&installation);
    for _ in 0..10 {
        let refused = joining
            .join_as_newcomer(&issued.token, choices("ada"), from_somewhere())
            .await;
        assert!(
            matches!(refused, Err(AcceptAsNewcomerError::UsernameTaken)),
            "{refused:?}"
        );
    }
    let refused = joining
        .join_as_newcomer(&issued.token, choices("ada"), from_somewhere())
        .await;
    assert!(
        matches!(refused, Err(AcceptAsNewcomerError::Throttled(_))),
        "{refused:?}"
    );

    let another = invite(&installation, &ada, Role::Member).await;
    join(&installation, &another.token, "cleo")
        .await
        .expect("other invitations go on");
    installation.builder.clock.advance(TimeDelta::days(1));
    join(&installation, &issued.token, "bob")
        .await
        .expect("time gives attempts back");
}

#[tokio::test]
async fn successful_newcomers_do_not_count_as_username_probing() {
    let (installation, ada, _) = with_invitation(Role::Member).await;
    for number in 0..250 {
        let issued = invite(&installation, &ada, Role::Member).await;
        join(&installation, &issued.token, &format!("user-{number}"))
            .await
            .expect("joined");
    }
}

#[tokio::test]
async fn invalid_link_causes_no_password_hashing() {
    let (installation, ada, issued) = with_invitation(Role::Member).await;
    installation
        .invitations()
        .revoke(
            &ada.as_authority(ada.membership.joined_at).expect("an owner"),
            issued.invitation.id,
            from_somewhere(),
        )
        .await
        .expect("revoked");
    let make = &installation.builder;
    let joining = without_hashing(&installation);
    let unknown = InvitationToken::generate(&*make.random);
    for token in [&issued.token, &unknown] {
        let refused = joining
            .join_as_newcomer(token, choices("bob"), from_somewhere())
            .await;
        assert!(
            matches!(refused, Err(AcceptAsNewcomerError::NotOpen)),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn taken_username_keeps_the_invitation_open() {
    let (installation, _, issued) = with_invitation(Role::Member).await;
    let before = installation.store.events();
    let refused = join(&installation, &issued.token, "ada").await;

    assert!(
        matches!(refused, Err(AcceptAsNewcomerError::UsernameTaken)),
        "{refused:?}"
    );
    assert_eq!(installation.store.events(), before);
    join(&installation, &issued.token, "bob").await.expect("joined");
}

#[tokio::test]
async fn member_joining_again_is_refused_and_invitation_stays_open() {
    let (installation, ada, issued) = with_invitation(Role::Member).await;
    let refused = installation
        .joining()
        .join_as_user(&issued.token, &ada.user, from_somewhere())
        .await;

    assert!(
        matches!(refused, Err(AcceptAsUserError::AlreadyMember)),
        "{refused:?}"
    );
    join(&installation, &issued.token, "bob").await.expect("joined");
}

#[tokio::test]
async fn removed_member_invited_again_is_a_new_consumer_without_tokens() {
    let (installation, ada, issued) = with_invitation(Role::Member).await;
    let bob = join(&installation, &issued.token, "bob").await.expect("joined");
    let old = installation.issue(&bob.as_holder(), "old").await;
    let of_acme = ada.as_authority(ada.membership.joined_at).expect("an owner");
    installation
        .members()
        .remove(&of_acme, bob.membership.id, from_somewhere())
        .await
        .expect("removed");
    installation.builder.clock.advance(TimeDelta::milliseconds(1));
    let issued = invite(&installation, &ada, Role::Member).await;
    let again = installation
        .joining()
        .join_as_user(&issued.token, &bob.user, from_somewhere())
        .await
        .expect("joined");

    assert_ne!(again.membership.id, bob.membership.id);
    let refused = installation.authenticate().caller(old.token.expose(), None).await;
    assert!(
        matches!(refused, Err(AuthenticateError::InvalidToken)),
        "{refused:?}"
    );
    let new = installation.issue(&again.as_holder(), "new").await;
    let caller = installation.caller(&new).await;
    assert_eq!(caller.consumer().id, again.membership.id);
}

#[tokio::test]
async fn removed_member_cannot_return_with_an_old_invitation() {
    let (installation, ada, issued) = with_invitation(Role::Member).await;
    let bob = join(&installation, &issued.token, "bob").await.expect("joined");
    let kept = invite(&installation, &ada, Role::Owner).await;
    let of_acme = ada.as_authority(ada.membership.joined_at).expect("an owner");
    installation.builder.clock.advance(TimeDelta::milliseconds(1));
    installation
        .members()
        .remove(&of_acme, bob.membership.id, from_somewhere())
        .await
        .expect("removed");
    let joining = installation.joining();
    let seen = joining
        .invitation(&kept.token, Some(bob.user.id), installation.now())
        .await;
    let refused = joining
        .join_as_user(&kept.token, &bob.user, from_somewhere())
        .await;

    assert_eq!(seen.expect("the store answers"), None);
    assert!(matches!(refused, Err(AcceptAsUserError::NotOpen)), "{refused:?}");
    let others = joining.invitation(&kept.token, None, installation.now()).await;
    let others = others.expect("the store answers");
    assert!(others.is_some(), "it is still open for somebody else");
}

#[tokio::test]
async fn guessing_from_a_newcomers_address_does_not_block_the_newcomer() {
    let (installation, _, issued) = with_invitation(Role::Member).await;
    for number in 0..300 {
        let name = format!("user-{number}");
        let guess = SignInAttempt {
            source: from_somewhere(),
            ..attempt(&name, "a guess")
        };
        let refused = installation.sign_in().sign_in(guess).await;
        refused.expect_err("a guess");
    }

    let joined = installation
        .joining()
        .join_as_newcomer(&issued.token, choices("bob"), from_somewhere())
        .await;
    joined.expect("joined");
}

//! Invitations to an organization, and their revocation.

use keyward_domain::administration::ports::RevokeInvitationError;
use keyward_domain::administration::{Authority, InvitationDraft, IssuedInvitation};
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::invitation::{Invitation, Invitee};
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::testing::TestInstallation;

fn from_somewhere() -> RequestSource {
    RequestSource {
        address: Some([192, 0, 2, 7].into()),
        request_id: Some("request-1".to_owned()),
    }
}

fn authority(owner: &Member) -> Authority {
    owner.as_authority(owner.membership.joined_at).expect("an owner")
}

fn with_owner() -> (TestInstallation, Member) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    (installation, ada)
}

async fn invite(installation: &TestInstallation, owner: &Member) -> IssuedInvitation {
    let draft = InvitationDraft {
        invitee: Invitee::parse("Bob").expect("an invitee"),
        role: Role::Member,
    };
    installation
        .invitations()
        .invite(&authority(owner), draft, None, from_somewhere())
        .await
        .expect("invited")
}

async fn pending(installation: &TestInstallation, owner: &Member) -> Vec<Invitation> {
    let page = PageRequest::first(PageSize::DEFAULT);
    let pending = installation.invitations().pending(&authority(owner), page).await;
    pending.expect("the store answers").items
}

#[tokio::test]
async fn invitation_records_inviter_invitee_role_and_expiry() {
    let (installation, ada) = with_owner();
    let IssuedInvitation { invitation, token } = invite(&installation, &ada).await;

    assert_eq!(invitation.invitee.as_str(), "Bob");
    assert_eq!(invitation.role, Role::Member);
    assert_eq!(invitation.invited_by, Actor::User(ada.user.id));
    assert_eq!(
        invitation.expires_at,
        invitation.created_at + Invitation::LIFETIME
    );
    assert_eq!(
        pending(&installation, &ada).await,
        std::slice::from_ref(&invitation)
    );
    let open = installation
        .joining()
        .invitation(&token, None, installation.now())
        .await;
    let open = open.expect("the store answers").expect("an open invitation");
    assert_eq!(open.invitation, invitation);
    assert_eq!(open.organization, ada.organization);
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(
        (recorded.action, recorded.subject, recorded.actor),
        (
            Action::CreateInvitation,
            Subject::Invitation(invitation.id),
            Actor::User(ada.user.id)
        )
    );
    assert_eq!(recorded.source, from_somewhere());
}

#[tokio::test]
async fn invitation_secret_is_in_no_event_or_debug_output() {
    let (installation, ada) = with_owner();
    let issued = invite(&installation, &ada).await;

    let written = format!("{:?} {issued:?}", installation.store.events());
    assert!(!written.contains(issued.token.expose()));
}

#[tokio::test]
async fn each_invitation_has_its_own_secret() {
    let (installation, ada) = with_owner();
    let [first, second] = [
        invite(&installation, &ada).await,
        invite(&installation, &ada).await,
    ];

    assert_ne!(first.token.expose(), second.token.expose());
    assert_eq!(pending(&installation, &ada).await.len(), 2);
}

#[tokio::test]
async fn revoked_invitation_link_is_invalid() {
    let (installation, ada) = with_owner();
    let issued = invite(&installation, &ada).await;
    for _ in 0..2 {
        installation
            .invitations()
            .revoke(&authority(&ada), issued.invitation.id, from_somewhere())
            .await
            .expect("revoked");
    }

    let open = installation
        .joining()
        .invitation(&issued.token, None, installation.now())
        .await;
    assert_eq!(open.expect("the store answers"), None);
    assert_eq!(pending(&installation, &ada).await, []);
    let events = installation.store.events();
    let recorded = events
        .iter()
        .filter(|event| event.action == Action::RevokeInvitation);
    assert_eq!(recorded.count(), 1);
}

#[tokio::test]
async fn owner_cannot_revoke_another_organizations_invitation() {
    let (installation, ada) = with_owner();
    let issued = invite(&installation, &ada).await;
    let other = installation.organization("Other");
    let stranger = installation.member(&other, "stranger", Role::Owner);
    let refused = installation
        .invitations()
        .revoke(&authority(&stranger), issued.invitation.id, from_somewhere())
        .await;

    assert!(
        matches!(refused, Err(RevokeInvitationError::NotFound)),
        "{refused:?}"
    );
    assert_eq!(pending(&installation, &stranger).await, []);
    assert_eq!(pending(&installation, &ada).await.len(), 1);
}

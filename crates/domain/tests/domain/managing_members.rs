//! Use cases of owners for members, and of members for their own membership.

use keyward_domain::access::AuthenticateError;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{ChangeRoleError, EndMembershipError, MemberFilter};
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::Memberships;
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::Username;

fn from_somewhere() -> RequestSource {
    RequestSource {
        address: Some([192, 0, 2, 7].into()),
        request_id: Some("request-1".to_owned()),
    }
}

fn authority(owner: &Member) -> Authority {
    owner.as_authority(owner.membership.joined_at).expect("an owner")
}

/// An installation whose organization has the owner `ada` and the member `bob`.
fn ada_and_bob() -> (TestInstallation, Member, Member) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    let bob = installation.member(&acme, "bob", Role::Member);
    (installation, ada, bob)
}

async fn is_member(installation: &TestInstallation, member: &Member) -> bool {
    installation
        .store
        .find_live(
            member.user.id,
            &member.organization.slug,
            installation.builder.sources.now(),
        )
        .await
        .expect("the store answers")
        .is_some()
}

#[tokio::test]
async fn only_owners_have_authority() {
    let (_, ada, bob) = ada_and_bob();

    assert_eq!(bob.as_authority(bob.membership.joined_at), None);
    assert_eq!(authority(&ada).organization_id(), ada.organization.id);
    assert_eq!(authority(&ada).as_actor(), Actor::User(ada.user.id));
}

#[tokio::test]
async fn owner_sees_members_with_their_key_counts() {
    let (installation, ada, bob) = ada_and_bob();
    installation.issue(&bob.as_holder(), "ci").await;
    let (members, of_acme) = (installation.members(), authority(&ada));
    let page = PageRequest::first(PageSize::DEFAULT);

    let all = members
        .list(&of_acme, MemberFilter::default(), page, installation.now())
        .await;
    let all = all.expect("the store answers").items;
    let seen: Vec<_> = all
        .iter()
        .map(|member| (member.user.username.as_str(), member.valid_keys))
        .collect();
    assert_eq!(seen, [("bob", 1), ("ada", 0)]);
    let searched = members
        .list(&of_acme, MemberFilter::new(Some("AD")), page, installation.now())
        .await;
    assert_eq!(searched.expect("the store answers").items.len(), 1);
    let found = members
        .find(&of_acme, bob.membership.id, installation.now())
        .await;
    assert_eq!(found.expect("the store answers").as_ref(), all.first());
}

#[tokio::test]
async fn role_change_event_records_actor_and_address() {
    let (installation, ada, bob) = ada_and_bob();
    let members = installation.members();
    for (role, action) in [
        (Role::Owner, Action::MakeOwner),
        (Role::Member, Action::MakeMember),
    ] {
        members
            .change_role(&authority(&ada), bob.membership.id, role, from_somewhere())
            .await
            .expect("changed");
        let recorded = installation.store.events().pop().expect("an event");
        assert_eq!(
            (recorded.action, recorded.subject, recorded.actor),
            (
                action,
                Subject::Membership(bob.membership.id),
                Actor::User(ada.user.id)
            )
        );
        assert_eq!(recorded.organization_id, Some(ada.organization.id));
        assert_eq!(recorded.source, from_somewhere());
    }
}

#[tokio::test]
async fn removed_member_immediately_loses_access_and_keys() {
    let (installation, ada, bob) = ada_and_bob();
    let key = installation.issue(&bob.as_holder(), "ci").await;
    installation
        .members()
        .remove(&authority(&ada), bob.membership.id, from_somewhere())
        .await
        .expect("removed");

    assert!(!is_member(&installation, &bob).await);
    let refused = installation.authenticate().caller(key.token.expose(), None).await;
    assert!(
        matches!(refused, Err(AuthenticateError::InvalidToken)),
        "{refused:?}"
    );
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(
        (recorded.action, recorded.actor, recorded.at),
        (
            Action::RemoveMember,
            Actor::User(ada.user.id),
            ada.membership.joined_at
        )
    );
}

#[tokio::test]
async fn administrator_removes_members_of_every_organization() {
    let (installation, _, bob) = ada_and_bob();
    let administrator = Authority::of_administrator(bob.organization.id);
    installation
        .members()
        .remove(&administrator, bob.membership.id, RequestSource::default())
        .await
        .expect("removed");

    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(recorded.actor, Actor::Administrator);
    assert!(!is_member(&installation, &bob).await);
}

#[tokio::test]
async fn member_can_leave_but_the_last_owner_cannot() {
    let (installation, ada, bob) = ada_and_bob();
    let members = installation.members();
    members.leave(&bob, from_somewhere()).await.expect("left");
    let recorded = installation.store.events().pop().expect("an event");
    assert_eq!(
        (recorded.action, recorded.actor),
        (Action::LeaveOrganization, Actor::User(bob.user.id))
    );

    let refused = members.leave(&ada, from_somewhere()).await;
    assert!(
        matches!(refused, Err(EndMembershipError::LastOwner)),
        "{refused:?}"
    );
    let stepping_down = members
        .change_role(
            &authority(&ada),
            ada.membership.id,
            Role::Member,
            from_somewhere(),
        )
        .await;
    assert!(
        matches!(stepping_down, Err(ChangeRoleError::LastOwner)),
        "{stepping_down:?}"
    );
    assert!(is_member(&installation, &ada).await);
}

#[tokio::test]
async fn authority_of_an_open_page_is_invalid_after_demotion() {
    let (installation, ada, bob) = ada_and_bob();
    let cleo = installation.member(&ada.organization, "cleo", Role::Owner);
    let (members, before) = (installation.members(), authority(&cleo));
    members
        .change_role(
            &authority(&ada),
            cleo.membership.id,
            Role::Member,
            from_somewhere(),
        )
        .await
        .expect("demoted");

    let refused = members.remove(&before, bob.membership.id, from_somewhere()).await;
    assert!(
        matches!(refused, Err(EndMembershipError::NotAllowed)),
        "{refused:?}"
    );
    assert!(is_member(&installation, &bob).await);
}

#[tokio::test]
async fn active_member_is_found_by_exact_username_among_longer_ones() {
    let (installation, ada, bob) = ada_and_bob();
    for number in 0..120 {
        installation.member(&ada.organization, &format!("bob-{number}"), Role::Member);
    }
    let other = installation.organization("Other");
    installation.member(&other, "olga", Role::Member);
    let (members, authority) = (installation.members(), authority(&ada));
    let find = async |username: &str| {
        let username = Username::parse(username).expect("a username");
        let found = members
            .find_by_username(&authority, &username, installation.now())
            .await;
        found
            .expect("the store answers")
            .map(|member| member.membership.id)
    };
    assert_eq!(find("bob").await, Some(bob.membership.id));
    for unknown in ["bo", "olga", "nobody"] {
        assert_eq!(find(unknown).await, None, "{unknown}");
    }
    members
        .remove(&authority, bob.membership.id, from_somewhere())
        .await
        .expect("removed");
    assert_eq!(find("bob").await, None);
}

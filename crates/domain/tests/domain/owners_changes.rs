//! How many changes an owner may make, and which of them count.

use chrono::TimeDelta;
use keyward_domain::administration::ports::{
    AddInvitationError, ChangeOrganizationError, ChangeRoleError, KeySelection,
};
use keyward_domain::administration::{Authority, InvitationDraft};
use keyward_domain::api_key::{ExpiryChange, LongestLife};
use keyward_domain::audit::RequestSource;
use keyward_domain::invitation::Invitee;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{AuditFilter, DescendantKeys};
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::sign_in::ports::{AttemptKind, Throttle};
use keyward_domain::sign_in::throttle::ThrottleBucket;
use keyward_domain::testing::TestInstallation;

struct Acme {
    installation: TestInstallation,
    ada: Member,
    bob: Member,
    carol: Member,
    project: Project,
    owner: Authority,
}

fn here() -> RequestSource {
    RequestSource::default()
}

fn draft() -> InvitationDraft {
    InvitationDraft {
        invitee: Invitee::parse("Dave").expect("an invitee"),
        role: Role::Member,
    }
}

fn name(text: &str) -> ProjectName {
    ProjectName::parse(text).expect("a project name")
}

/// Ada and Carol own it; Bob is a member and in its project.
async fn acme() -> Acme {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Owner);
    let bob = installation.member(&acme, "bob", Role::Member);
    let carol = installation.member(&acme, "carol", Role::Owner);
    let owner = ada.as_authority(installation.now()).expect("an owner");
    let projects = installation.projects();
    let project = projects.create(&owner, name("Notes"), None, here()).await;
    let project = project.expect("a project");
    let added = projects
        .add_member(&owner, project.id, bob.membership.id, here())
        .await;
    added.expect("added");
    Acme {
        installation,
        ada,
        bob,
        carol,
        project,
        owner,
    }
}

impl Acme {
    /// Ada makes as many changes as are allowed at once.
    async fn exhaust(&self) {
        self.fill(ThrottleBucket::changes_by_owner(self.ada.user.id))
            .await;
    }

    async fn fill(&self, bucket: ThrottleBucket) {
        let (store, now) = (&self.installation.store, self.installation.now());
        while store
            .count_attempt(AttemptKind::OwnerChange, vec![bucket], now)
            .await
            .expect("counted")
            .is_none()
        {}
    }

    /// Every change that an owner can repeat without end, as the error that it ends with.
    async fn repeatable_changes(&self, authority: &Authority) -> Vec<Option<String>> {
        let (bob, project) = (self.bob.membership.id, self.project.id);
        let (members, projects) = (self.installation.members(), self.installation.projects());
        let organizations = self.installation.organizations();
        let invited = self
            .installation
            .invitations()
            .invite(authority, draft(), None, here())
            .await;
        let filter = AuditFilter::default();
        let mut export = self.installation.audit_trail().export(authority, filter, here());
        let exported = export.next().await;
        let promoted = members.change_role(authority, bob, Role::Owner, here()).await;
        let planned = members
            .change_expiry(authority, bob, ExpiryChange::Remove, here())
            .await;
        let created = projects.create(authority, name("More"), None, here()).await;
        let renamed = projects.rename(authority, project, name("Other"), here()).await;
        let restored = projects.restore(authority, project, here()).await;
        let added = projects.add_member(authority, project, bob, here()).await;
        let chosen = organizations
            .set_default_for_new_keys(authority, true, here())
            .await;
        let limited = organizations.limit_key_life(authority, None, here()).await;
        vec![
            invited.err().map(|error| error.to_string()),
            exported.err().map(|error| error.to_string()),
            promoted.err().map(|error| error.to_string()),
            planned.err().map(|error| error.to_string()),
            created.err().map(|error| error.to_string()),
            renamed.err().map(|error| error.to_string()),
            restored.err().map(|error| error.to_string()),
            added.err().map(|error| error.to_string()),
            chosen.err().map(|error| error.to_string()),
            limited.err().map(|error| error.to_string()),
        ]
    }
}

#[tokio::test]
async fn every_repeatable_change_of_an_owner_is_limited() {
    let acme = acme().await;
    acme.exhaust().await;
    let before = acme.installation.store.events();
    for refused in acme.repeatable_changes(&acme.owner).await {
        let refused = refused.expect("an error");
        assert_eq!(refused, "too many attempts: try again in 1 seconds");
    }
    assert_eq!(acme.installation.store.events(), before, "nothing was changed");

    acme.installation.builder.clock.advance(TimeDelta::seconds(1));
    let invitations = acme.installation.invitations();
    let invited = invitations.invite(&acme.owner, draft(), None, here()).await;
    invited.expect("one more");
    let invited = invitations.invite(&acme.owner, draft(), None, here()).await;
    assert!(
        matches!(invited, Err(AddInvitationError::Throttled(_))),
        "{invited:?}"
    );
}

#[tokio::test]
async fn other_owners_and_the_command_line_are_not_limited() {
    let acme = acme().await;
    acme.exhaust().await;
    let carol = acme
        .carol
        .as_authority(acme.installation.now())
        .expect("an owner");
    assert_eq!(acme.repeatable_changes(&carol).await, vec![None; 10]);
    let command_line = Authority::of_administrator(acme.carol.organization.id);
    assert_eq!(acme.repeatable_changes(&command_line).await, vec![None; 10]);
}

#[tokio::test]
async fn owners_of_an_organization_share_a_limit() {
    let acme = acme().await;
    let organization = acme.ada.organization.id;
    acme.fill(ThrottleBucket::changes_in(organization)).await;
    let carol = acme
        .carol
        .as_authority(acme.installation.now())
        .expect("an owner");
    for refused in acme.repeatable_changes(&carol).await {
        assert!(refused.is_some_and(|refused| refused.starts_with("too many attempts")));
    }
    let command_line = Authority::of_administrator(organization);
    assert_eq!(acme.repeatable_changes(&command_line).await, vec![None; 10]);
}

#[tokio::test]
async fn longest_life_changes_ten_times_and_then_slowly() {
    let acme = acme().await;
    let organizations = acme.installation.organizations();
    let limit = async |days| {
        let longest = LongestLife::of_days(days).expect("a longest life");
        organizations
            .limit_key_life(&acme.owner, Some(longest), here())
            .await
    };
    for days in 100..110 {
        limit(days).await.expect("limited");
    }
    let refused = limit(90).await;
    let Err(ChangeOrganizationError::Throttled(throttled)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(throttled.retry_after, TimeDelta::minutes(10));
    acme.installation.builder.clock.advance(TimeDelta::minutes(10));
    limit(90).await.expect("limited");
}

#[tokio::test]
async fn taking_access_away_is_never_limited() {
    let acme = acme().await;
    let Acme {
        installation, owner, ..
    } = &acme;
    let invitation = installation
        .invitations()
        .invite(owner, draft(), None, here())
        .await;
    let invitation = invitation.expect("an invitation").invitation;
    let key = installation.issue(&acme.bob.as_holder(), "job").await.key.id;
    acme.exhaust().await;
    let bob = acme.bob.membership.id;
    let promoted = installation
        .members()
        .change_role(owner, bob, Role::Owner, here())
        .await;
    assert!(
        matches!(promoted, Err(ChangeRoleError::Throttled(_))),
        "{promoted:?}"
    );

    let (members, projects) = (installation.members(), installation.projects());
    let carol = acme.carol.membership.id;
    let organizations = installation.organizations();
    let restricted = organizations.set_default_for_new_keys(owner, false, here()).await;
    restricted.expect("restricted");
    members
        .change_role(owner, carol, Role::Member, here())
        .await
        .expect("demoted");
    projects
        .remove_member(owner, acme.project.id, bob, here())
        .await
        .expect("taken out");
    projects
        .archive(owner, acme.project.id, here())
        .await
        .expect("archived");
    let invitations = installation.invitations();
    invitations
        .revoke(owner, invitation.id, here())
        .await
        .expect("revoked");
    let selection = KeySelection::Keys {
        ids: vec![key],
        descendants: DescendantKeys::Keep,
    };
    let keys = installation.organization_keys();
    let revoked = keys
        .revoke(owner, selection, None, here(), None)
        .await
        .expect("revoked");
    assert_eq!(revoked.count, 1);
    members.remove(owner, bob, here()).await.expect("removed");
}

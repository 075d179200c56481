//! The audit events of every change: who did what, to what, when, in which organization and from where.

mod accounts;

use std::cell::Cell;

use chrono::TimeDelta;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::administration::{Authority, InvitationDraft};
use keyward_domain::api_key::{KeyEdit, KeyName, KeyPrecondition};
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::id::OrganizationId;
use keyward_domain::invitation::Invitee;
use keyward_domain::keys::KeyDraft;
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::Slug;
use keyward_domain::ports::{DescendantKeys, Memberships};
use keyward_domain::project::ProjectName;
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::ports::AccountStore;
use keyward_domain::sign_in::session::SignedIn;
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::{DisplayName, User, Username};

use crate::signing_in::{attempt, source};

const NEW_PASSWORD: &str = "seven brisk cranes over a lake";

type Fact = (Action, Subject, Option<Subject>);

/// An organization of the owner `ada` and the member `bob`, an hour after it all began.
struct Scene {
    installation: TestInstallation,
    ada: Member,
    bob: Member,
    read: Cell<usize>,
}

impl Scene {
    fn new() -> Self {
        let installation = TestInstallation::new();
        let acme = installation.organization("Acme");
        let ada = installation.member(&acme, "ada", Role::Owner);
        let bob = installation.member(&acme, "bob", Role::Member);
        Self::of(installation, ada, bob)
    }

    /// Before there is any organization: these members are only made up.
    fn not_set_up() -> Self {
        let installation = TestInstallation::new();
        let make = installation.builder.clone();
        let acme = make.organization("Acme");
        let (ada, bob) = (make.member(&acme, "ada"), make.member(&acme, "bob"));
        Self::of(installation, ada, bob)
    }

    fn of(installation: TestInstallation, ada: Member, bob: Member) -> Self {
        installation.builder.clock.advance(TimeDelta::hours(1));
        Self {
            installation,
            ada,
            bob,
            read: Cell::new(0),
        }
    }

    fn authority(&self) -> Authority {
        self.ada
            .as_authority(self.ada.membership.joined_at)
            .expect("an owner")
    }

    fn ada(&self) -> Actor {
        Actor::User(self.ada.user.id)
    }

    fn acme(&self) -> Option<OrganizationId> {
        Some(self.ada.organization.id)
    }

    /// The events since the last call.
    fn news(&self) -> Vec<AuditEvent> {
        let events = self.installation.store.events();
        let from = self.read.replace(events.len());
        events.into_iter().skip(from).collect()
    }

    /// The log has exactly the events of this user's browser or key.
    fn assert_recorded(&self, actor: Actor, organization: Option<OrganizationId>, facts: &[Fact]) {
        assert_says(self, &self.news(), (actor, organization, source()), facts);
    }

    /// The same for the command line, whose events have no source.
    fn assert_told_of_administrator(&self, organization: Option<OrganizationId>, facts: &[Fact]) {
        let nowhere = RequestSource::default();
        assert_says(
            self,
            &self.news(),
            (Actor::Administrator, organization, nowhere),
            facts,
        );
    }

    /// A new session of a user, whose start is not checked.
    async fn session_of(&self, username: &str) -> SignedIn {
        let sign_in = self.installation.sign_in();
        let token = sign_in
            .sign_in(attempt(username, TestInstallation::PASSWORD))
            .await;
        let signed_in = sign_in.signed_in(&token.expect("signed in").session).await;
        self.news();
        signed_in.expect("the store answers").expect("a live session")
    }

    async fn account(&self, name: &str) -> User {
        let store = &self.installation.store;
        let found = AccountStore::find(store, &username(name)).await;
        found.expect("the store answers").expect("an account").user
    }

    async fn membership(&self, user: &User, organization: &Slug) -> Subject {
        let store = &self.installation.store;
        let found = store
            .find_live(user.id, organization, self.installation.builder.sources.now())
            .await;
        let member = found.expect("the store answers").expect("a member");
        Subject::Membership(member.membership.id)
    }
}

fn assert_says(
    scene: &Scene,
    recorded: &[AuditEvent],
    (actor, organization_id, source): (Actor, Option<OrganizationId>, RequestSource),
    facts: &[Fact],
) {
    let at = scene.installation.builder.clock.now();
    let expected: Vec<_> = facts
        .iter()
        .zip(recorded)
        .map(|((action, subject, object), event)| AuditEvent {
            id: event.id,
            at,
            organization_id,
            actor,
            action: *action,
            subject: *subject,
            object: *object,
            old_value: None,
            new_value: None,
            outcome: Outcome::Success,
            source: source.clone(),
        })
        .collect();
    assert_eq!(recorded, expected);
    assert_eq!(recorded.len(), facts.len());
}

fn username(text: &str) -> Username {
    Username::parse(text).expect("a username")
}

fn newcomer() -> NewcomerChoices {
    NewcomerChoices {
        username: username("carol"),
        display_name: display_name(),
        password: Password::attempt(NEW_PASSWORD),
    }
}

fn display_name() -> DisplayName {
    DisplayName::parse("Somebody").expect("a display name")
}

#[tokio::test]
async fn invitations_are_logged_from_creation_to_end() {
    let scene = Scene::new();
    let (invitations, joining) = (scene.installation.invitations(), scene.installation.joining());
    let invite = async || {
        let draft = InvitationDraft {
            invitee: Invitee::parse("Carol").expect("an invitee"),
            role: Role::Member,
        };
        let invited = invitations
            .invite(&scene.authority(), draft, None, source())
            .await;
        let invited = invited.expect("invited");
        let id = invited.invitation.id;
        let fact = (Action::CreateInvitation, Subject::Invitation(id), None);
        scene.assert_recorded(scene.ada(), scene.acme(), &[fact]);
        (id, invited.token)
    };
    let (id, _) = invite().await;
    let revoked = invitations.revoke(&scene.authority(), id, source()).await;
    revoked.expect("revoked");
    let fact = (Action::RevokeInvitation, Subject::Invitation(id), None);
    scene.assert_recorded(scene.ada(), scene.acme(), &[fact]);

    let (id, token) = invite().await;
    let carol = joining
        .join_as_newcomer(&token, newcomer(), source())
        .await
        .expect("joined");
    let member = Subject::Membership(carol.membership.id);
    scene.assert_recorded(
        Actor::User(carol.user.id),
        scene.acme(),
        &[
            (Action::CreateUser, Subject::User(carol.user.id), None),
            (Action::AcceptInvitation, Subject::Invitation(id), Some(member)),
            (Action::CreateMembership, member, None),
        ],
    );

    let elsewhere = scene.installation.organization("Elsewhere");
    let dave = scene.installation.member(&elsewhere, "dave", Role::Member).user;
    let (id, token) = invite().await;
    let joined = joining
        .join_as_user(&token, &dave, source())
        .await
        .expect("joined");
    let member = Subject::Membership(joined.membership.id);
    scene.assert_recorded(
        Actor::User(dave.id),
        scene.acme(),
        &[
            (Action::AcceptInvitation, Subject::Invitation(id), Some(member)),
            (Action::CreateMembership, member, None),
        ],
    );
}

#[tokio::test]
async fn membership_changes_are_logged() {
    let scene = Scene::new();
    let members = scene.installation.members();
    let bob = Subject::Membership(scene.bob.membership.id);
    for (role, action) in [
        (Role::Owner, Action::MakeOwner),
        (Role::Member, Action::MakeMember),
    ] {
        let id = scene.bob.membership.id;
        let changed = members.change_role(&scene.authority(), id, role, source()).await;
        changed.expect("changed");
        scene.assert_recorded(scene.ada(), scene.acme(), &[(action, bob, None)]);
    }
    let carol = scene
        .installation
        .member(&scene.ada.organization, "carol", Role::Member);
    members.leave(&carol, source()).await.expect("left");
    let left = (
        Action::LeaveOrganization,
        Subject::Membership(carol.membership.id),
        None,
    );
    scene.assert_recorded(Actor::User(carol.user.id), scene.acme(), &[left]);
    let removed = members
        .remove(&scene.authority(), scene.bob.membership.id, source())
        .await;
    removed.expect("removed");
    scene.assert_recorded(scene.ada(), scene.acme(), &[(Action::RemoveMember, bob, None)]);
}

#[tokio::test]
async fn project_changes_are_logged() {
    let scene = Scene::new();
    let (projects, authority) = (scene.installation.projects(), scene.authority());
    let name = |text| ProjectName::parse(text).expect("a name");
    let recorded = |fact| scene.assert_recorded(scene.ada(), scene.acme(), &[fact]);
    let project = projects.create(&authority, name("Notes"), None, source()).await;
    let id = project.expect("created").id;
    let project = Subject::Project(id);
    recorded((Action::CreateProject, project, None));
    projects
        .rename(&authority, id, name("Papers"), source())
        .await
        .expect("renamed");
    recorded((Action::RenameProject, project, None));
    projects
        .archive(&authority, id, source())
        .await
        .expect("archived");
    recorded((Action::ArchiveProject, project, None));
    projects
        .restore(&authority, id, source())
        .await
        .expect("restored");
    recorded((Action::RestoreProject, project, None));
    let bob = scene.bob.membership.id;
    projects
        .add_member(&authority, id, bob, source())
        .await
        .expect("added");
    recorded((Action::AddProjectMember, Subject::Membership(bob), Some(project)));
    projects
        .remove_member(&authority, id, bob, source())
        .await
        .expect("taken out");
    recorded((
        Action::RemoveProjectMember,
        Subject::Membership(bob),
        Some(project),
    ));
}

#[tokio::test]
async fn key_changes_are_logged_with_person_or_key_as_actor() {
    let scene = Scene::new();
    let keys = scene.installation.keys();
    let first = scene.installation.issue(&scene.bob.as_holder(), "first").await;
    let caller = scene.installation.caller(&first).await;
    scene.news();
    let draft = || KeyDraft::named(KeyName::parse("second").expect("a name"));
    let edit = || KeyEdit {
        name: Some(KeyName::parse("renamed").expect("a name")),
        ..KeyEdit::default()
    };
    for holder in [scene.bob.as_holder(), caller.as_holder()] {
        let recorded = |fact| scene.assert_recorded(holder.as_actor(), scene.acme(), &[fact]);
        let issued = keys.issue(&holder, draft(), None, source()).await;
        let id = issued.expect("a key").key.id;
        let key = Subject::ApiKey(id);
        recorded((Action::CreateApiKey, key, None));
        keys.edit(&holder, id, edit(), KeyPrecondition::AnyVersion, source())
            .await
            .expect("edited");
        recorded((Action::EditApiKey, key, None));
        let revoked = keys
            .revoke(
                &holder,
                id,
                DescendantKeys::Keep,
                KeyPrecondition::AnyVersion,
                source(),
            )
            .await;
        revoked.expect("revoked");
        recorded((Action::RevokeApiKey, key, None));
    }
}

#[tokio::test]
async fn owner_revocations_are_logged_key_by_key() {
    let scene = Scene::new();
    let mut facts = Vec::new();
    for name in ["first", "second"] {
        let key = scene
            .installation
            .issue(&scene.bob.as_holder(), name)
            .await
            .key
            .id;
        facts.push((Action::RevokeApiKey, Subject::ApiKey(key), None));
    }
    scene.news();
    let selection = KeySelection::OfConsumer(scene.bob.membership.id);
    let keys = scene.installation.organization_keys();
    let revoked = keys
        .revoke(&scene.authority(), selection, None, source(), None)
        .await;
    revoked.expect("revoked");
    scene.assert_recorded(scene.ada(), scene.acme(), &facts);
}

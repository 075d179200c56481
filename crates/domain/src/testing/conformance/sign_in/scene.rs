//! The scene of cases with users who can sign in.

use super::super::Stores;
use super::super::scene::Scene;
use crate::audit::{Action, Actor, Subject};
use crate::membership::{Member, Role};
use crate::organization::Organization;
use crate::sign_in::accounts::Account;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::ports::{FirstOwner, NewAccount, SetupProof};

impl Scene<Stores> {
    /// A scene in which the first run is over, and its owner, `ada` of `Analytical Engines`.
    pub(super) async fn with_first_owner(stores: Stores) -> (Self, Member) {
        let scene = Self::new(stores);
        let owner = scene.set_up().await;
        (scene, owner)
    }

    async fn set_up(&self) -> Member {
        let first_owner = self.first_owner("Analytical Engines", "ada");
        let member = member_of(&first_owner);
        let act = self.act_as(Actor::Administrator, Some(member.organization.id));
        let events = vec![
            act.event(
                Action::CreateOrganization,
                Subject::Organization(member.organization.id),
            ),
            act.event(Action::CreateUser, Subject::User(member.user.id)),
            act.event(
                Action::CreateMembership,
                Subject::Membership(member.membership.id),
            ),
        ];
        self.stores
            .installation
            .set_up(SetupProof::CommandLine, first_owner, events)
            .await
            .expect("an empty store is set up");
        self.live_member(member.user.id, &member.organization).await
    }

    pub(super) fn first_owner(&self, organization: &str, username: &str) -> FirstOwner {
        let organization = self.make.organization(organization);
        let user = self.make.user(username);
        FirstOwner {
            membership: self.make.membership(&organization, &user, Role::Owner),
            password_hash: password_hash(username),
            organization,
            user,
        }
    }

    pub(super) fn new_account(&self, organization: &Organization, username: &str) -> NewAccount {
        let user = self.make.user(username);
        NewAccount {
            membership: self.make.membership(organization, &user, Role::Member),
            account: Account {
                password_hash: password_hash(username),
                user,
            },
        }
    }

    /// Adds a user, whose password is their username, as member of an organization.
    pub(super) async fn join_with_password(&self, organization: &Organization, username: &str) -> Member {
        let new = self.new_account(organization, username);
        let member = Member {
            user: new.account.user.clone(),
            organization: organization.clone(),
            membership: new.membership.clone(),
        };
        let act = self.act_as(Actor::Administrator, Some(organization.id));
        let event = act.event(Action::CreateUser, Subject::User(member.user.id));
        self.stores
            .accounts
            .add(new, vec![event])
            .await
            .expect("a new username is added");
        self.live_member(member.user.id, organization).await
    }
}

pub(super) fn member_of(first_owner: &FirstOwner) -> Member {
    Member {
        user: first_owner.user.clone(),
        organization: first_owner.organization.clone(),
        membership: first_owner.membership.clone(),
    }
}

pub(super) fn password_hash(word: &str) -> PasswordHash {
    PasswordHash::from_phc_string(format!("$plain${word}"))
}

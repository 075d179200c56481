//! Telling a history: what each [`Happening`] does.

mod accounts;
mod keys;
mod people;
mod projects;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keyward_domain::administration::Authority;
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::id::{AuditEventId, InvitationId, ProjectId};
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::Slug;
use keyward_domain::ports::{DescendantKeys, Memberships};
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::ports::AccountStore;
use keyward_domain::user::{User, Username};

use super::fill_error::FillError;
use super::happening::{By, Happening, Moment};
use super::past::Past;

/// One organization, as far as it was told.
pub(super) struct Telling<'a> {
    past: &'a Past,
    organization: Slug,
    owner: &'static str,
    /// Of whoever joins.
    password: &'a Password,
    keys: HashMap<String, IssuedKey>,
    projects: HashMap<&'static str, ProjectId>,
    invitations: HashMap<&'static str, InvitationId>,
}

impl<'a> Telling<'a> {
    pub(super) fn new(
        past: &'a Past,
        organization: Slug,
        owner: &'static str,
        password: &'a Password,
    ) -> Self {
        Self {
            past,
            organization,
            owner,
            password,
            keys: HashMap::new(),
            projects: HashMap::new(),
            invitations: HashMap::new(),
        }
    }

    /// In this order.
    pub(super) async fn tell(
        &mut self,
        history: impl IntoIterator<Item = &'static (Moment, Happening)>,
    ) -> Result<(), FillError> {
        for (moment, happening) in history {
            self.past.clock.move_to(moment.before(self.past.now));
            self.play(happening).await?;
        }
        Ok(())
    }

    async fn play(&mut self, happening: &'static Happening) -> Result<(), FillError> {
        match *happening {
            Happening::Joins(ref person) => self.admit(person).await,
            Happening::JoinsToo(username) => self.admit_user(username).await,
            Happening::Leaves(username) => self.leave(username).await,
            Happening::Removes(username) => self.remove(username).await,
            Happening::MakesOwner(username) => self.change_role(username, Role::Owner).await,
            Happening::MakesMember(username) => self.change_role(username, Role::Member).await,
            Happening::ChoosesForNewKeys(manage_keys) => self.choose_for_new_keys(manage_keys).await,
            Happening::MistypesPassword(username) => self.mistype_password(username).await,
            Happening::IsGuessedAt(username) => self.guess_at(username).await,
            Happening::Invites(invitee) => self.invite(invitee).await.map(drop),
            Happening::TakesBack(invitee) => self.take_back(invitee).await,
            Happening::Creates(by, ref key) => self.create(by, key).await,
            Happening::CreatesMany(by, word, count) => self.create_many(by, word, count).await,
            Happening::Describes(by, name, description) => self.describe(by, name, description).await,
            Happening::Revokes(by, name) => self.revoke(by, name, DescendantKeys::Keep).await,
            Happening::RevokesWithDescendants(by, name) => {
                self.revoke(by, name, DescendantKeys::Revoke).await
            }
            Happening::OwnerRevokes(owner, name, note) => self.revoke_as_owner(owner, name, note).await,
            Happening::AdministratorRevokes(name, note) => self.revoke_as_administrator(name, note).await,
            Happening::Leaks(name, note) => self.revoke_for_leak(name, note).await,
            Happening::Starts(name, members) => self.start(name, members).await,
            Happening::Renames(name, new) => self.rename(name, new).await,
            Happening::Enters(name, username) => self.enter(name, username).await,
            Happening::LeavesProject(name, username) => self.leave_project(name, username).await,
            Happening::Archives(name) => self.archive(name).await,
            Happening::Restores(name) => self.restore(name).await,
            Happening::IsTried(name) => self.use_dead_key(name).await,
            Happening::ExportsAuditLog(owner) => self.export_audit_log(owner).await,
        }
    }

    /// The owner, who runs the organization.
    async fn authority(&self) -> Result<Authority, FillError> {
        self.authority_of(self.owner).await
    }

    async fn authority_of(&self, owner: &str) -> Result<Authority, FillError> {
        let member = self.member(owner).await?;
        member
            .as_authority(self.past.clock.now())
            .ok_or_else(|| FillError::Missing(owner.to_owned()))
    }

    async fn member(&self, username: &str) -> Result<Member, FillError> {
        let user = self.user(username).await?;
        let member = Memberships::find_live(
            &*self.past.store,
            user.id,
            &self.organization,
            self.past.clock.now(),
        )
        .await?;
        member.ok_or_else(|| FillError::Missing(username.to_owned()))
    }

    async fn user(&self, username: &str) -> Result<User, FillError> {
        let name = Username::parse(username)?;
        let account = AccountStore::find(&*self.past.store, &name).await?;
        let account = account.ok_or_else(|| FillError::Missing(username.to_owned()))?;
        Ok(account.user)
    }

    /// Where the owner's browser is.
    fn owners_source(&self) -> RequestSource {
        self.source(self.owner)
    }

    /// Where the browser or the program of this name is: always at the same address.
    fn source(&self, name: &str) -> RequestSource {
        let request_id: AuditEventId = self.past.sources.next_id();
        RequestSource {
            address: Some(address_of(name)),
            request_id: Some(request_id.to_string()),
        }
    }
}

impl By {
    const fn name(self) -> &'static str {
        match self {
            Self::Person(name) | Self::Key(name) => name,
        }
    }
}

/// One of the addresses for documentation (RFC 5737, RFC 3849).
fn address_of(name: &str) -> IpAddr {
    let host = name
        .bytes()
        .fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    match host % 4 {
        0 => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0x20, 0, 0, 0, host.into())),
        1 => IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)),
        2 => IpAddr::V4(Ipv4Addr::new(198, 51, 100, host)),
        _ => IpAddr::V4(Ipv4Addr::new(203, 0, 113, host)),
    }
}

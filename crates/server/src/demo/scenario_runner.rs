//! Plays the steps of a [`Scenario`] through the use cases, each at its moment.

mod keys;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use chrono::{DateTime, Utc};
use keyward_domain::administration::{Authority, InvitationDraft, Projects};
use keyward_domain::api_key::{ExpiryChange, KeyDescription, KeyEdit, KeyName, LongestLife};
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::id::{AuditEventId, InvitationId, MembershipId, ProjectId};
use keyward_domain::invitation::{InvitationToken, Invitee};
use keyward_domain::keys::{IssuedKey, KeyDraft};
use keyward_domain::membership::{Member, Role};
use keyward_domain::organization::Slug;
use keyward_domain::ports::{AuditFilter, DescendantKeys, Memberships};
use keyward_domain::project::ProjectName;
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::own_account::{ChangeOwnPasswordError, NewPassword};
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::ports::AccountStore;
use keyward_domain::sign_in::signing_in::{SignInAttempt, SignInError};
use keyward_domain::user::{DisplayName, User, Username};

use super::past::{Past, StepError};
use super::scenario::{Scenario, ScenarioStep as Step};
use crate::background_writer::BackgroundWriter;

#[derive(Debug, thiserror::Error)]
#[error("the step at {at} failed")]
struct StepFailed {
    at: DateTime<Utc>,
    source: StepError,
}

/// One organization, as far as its scenario was played.
pub(super) struct ScenarioRunner<'a> {
    past: &'a Past,
    scenario: &'a Scenario,
    organization: Slug,
    /// The password of all users who join.
    password: &'a Password,
    keys: HashMap<String, IssuedKey>,
    projects: HashMap<&'a str, ProjectId>,
    invitations: HashMap<&'a str, InvitationId>,
}

impl<'a> ScenarioRunner<'a> {
    pub(super) fn new(
        past: &'a Past,
        scenario: &'a Scenario,
        organization: Slug,
        password: &'a Password,
    ) -> Self {
        Self {
            past,
            scenario,
            organization,
            password,
            keys: HashMap::new(),
            projects: HashMap::new(),
            invitations: HashMap::new(),
        }
    }

    /// Plays all steps, then notes when keys were used last.
    pub(super) async fn run(&mut self) -> Result<(), StepError> {
        for (moment, step) in &self.scenario.steps {
            let at = moment.before(self.past.now);
            self.past.clock.move_to(at);
            let played = self.play(step).await;
            played.map_err(|source| StepFailed { at, source })?;
        }
        self.record_last_uses().await
    }

    async fn play(&mut self, step: &'a Step) -> Result<(), StepError> {
        match step {
            Step::Joins(person) => {
                let invitation = self.invite(&person.display_name).await?;
                let choices = NewcomerChoices {
                    username: Username::parse(&person.username)?,
                    display_name: DisplayName::parse(&person.display_name)?,
                    password: Password::attempt(self.password.expose()),
                };
                let (joining, source) = (self.past.use_cases.joining(), self.source(&person.username));
                joining.join_as_newcomer(&invitation, choices, source).await?;
            }
            Step::ExistingUserJoins(username) => {
                let (invitation, user) = (self.invite(username).await?, self.user(username).await?);
                let (joining, source) = (self.past.use_cases.joining(), self.source(username));
                joining.join_as_user(&invitation, &user, source).await?;
            }
            Step::Leaves(username) => {
                let (members, member) = (self.past.use_cases.members(), self.member(username).await?);
                members.leave(&member, self.source(username)).await?;
            }
            Step::IsRemoved(username) => {
                let (members, id) = (self.past.use_cases.members(), self.membership(username).await?);
                members
                    .remove(&self.authority().await?, id, self.owners_source())
                    .await?;
            }
            Step::BecomesOwner(username) => self.change_role(username, Role::Owner).await?,
            Step::BecomesMember(username) => self.change_role(username, Role::Member).await?,
            Step::MembershipExpires { username, after } => {
                let (members, id) = (self.past.use_cases.members(), self.membership(username).await?);
                let change = ExpiryChange::Set(self.expiry(*after)?);
                members
                    .change_expiry(&self.authority().await?, id, change, self.owners_source())
                    .await?;
            }
            Step::SetsNewKeysManageKeys(manage_keys) => {
                let (organizations, owner) = (self.past.use_cases.organizations(), self.authority().await?);
                organizations
                    .set_default_for_new_keys(&owner, *manage_keys, self.owners_source())
                    .await?;
            }
            Step::LimitsKeyLife(days) => {
                let (organizations, owner) = (self.past.use_cases.organizations(), self.authority().await?);
                let longest = LongestLife::of_days((*days).into()).ok();
                organizations
                    .limit_key_life(&owner, longest, self.owners_source())
                    .await?;
            }
            Step::MistypesPassword(username) => self.mistype_password(username).await?,
            Step::PasswordIsGuessed(username) => self.guess_password(username).await?,
            Step::Invites(invitee) => drop(self.invite(invitee).await?),
            Step::RevokesInvitation(invitee) => {
                let id = *self.invitations.get(&**invitee).ok_or_else(|| missing(invitee))?;
                let (invitations, owner) = (self.past.use_cases.invitations(), self.authority().await?);
                invitations.revoke(&owner, id, self.owners_source()).await?;
            }
            Step::CreatesKey {
                by,
                name,
                description,
                can_manage_keys,
                expires_after,
            } => {
                let draft = KeyDraft {
                    description: KeyDescription::parse(description)?,
                    can_manage_keys: Some(*can_manage_keys),
                    expiry: expires_after.map(|days| self.expiry(days)).transpose()?,
                    ..KeyDraft::named(KeyName::parse(name)?)
                };
                let issued = self.issue(by, draft).await?;
                self.keys.insert(name.clone(), issued);
            }
            Step::CreatesKeys { by, name, count } => self.create_keys(by, name, *count).await?,
            Step::EditsKey {
                by,
                name,
                description,
            } => {
                let edit = KeyEdit {
                    description: Some(KeyDescription::parse(description)?),
                    ..KeyEdit::default()
                };
                self.edit_key(by, name, edit).await?;
            }
            Step::ChangesExpiry {
                by,
                name,
                expires_after,
            } => {
                let edit = KeyEdit {
                    expiry: Some(ExpiryChange::Set(self.expiry(*expires_after)?)),
                    ..KeyEdit::default()
                };
                self.edit_key(by, name, edit).await?;
            }
            Step::RotatesKey { by, name } => self.rotate_key(by, name).await?,
            Step::PlannedEndsAreRecorded => self.record_planned_ends().await?,
            Step::RevokesKey {
                by,
                name,
                descendants: false,
            } => {
                self.revoke_key(by, name, DescendantKeys::Keep).await?;
            }
            Step::RevokesKey {
                by,
                name,
                descendants: true,
            } => {
                self.revoke_key(by, name, DescendantKeys::Revoke).await?;
            }
            Step::OwnerRevokesKey { owner, name, note } => {
                let authority = self.authority_of(owner).await?;
                self.revoke_for_others(&authority, name, note, self.source(owner))
                    .await?;
            }
            Step::AdministratorRevokesKey { name, note } => {
                let administrator = Authority::of_administrator(self.authority().await?.organization_id());
                self.revoke_for_others(&administrator, name, note, RequestSource::default())
                    .await?;
            }
            Step::LeakedKeyIsRevoked { name, note } => self.revoke_leaked_key(name, note).await?,
            Step::RevokedKeyIsUsed(name) => self.use_revoked_key(name).await?,
            Step::CreatesProject { name, members } => {
                let (projects, owner) = (self.past.use_cases.projects(), self.authority().await?);
                let project = projects
                    .create(&owner, ProjectName::parse(name)?, None, self.owners_source())
                    .await?;
                self.projects.insert(name, project.id);
                for username in members {
                    self.join_project(name, username).await?;
                }
            }
            Step::RenamesProject { name, new_name } => {
                let (projects, owner, id) = self.project(name).await?;
                let name = ProjectName::parse(new_name)?;
                projects.rename(&owner, id, name, self.owners_source()).await?;
                self.projects.insert(new_name, id);
            }
            Step::JoinsProject { name, username } => self.join_project(name, username).await?,
            Step::LeavesProject { name, username } => {
                let (projects, owner, id) = self.project(name).await?;
                let membership = self.membership(username).await?;
                projects
                    .remove_member(&owner, id, membership, self.owners_source())
                    .await?;
            }
            Step::ArchivesProject(name) => {
                let (projects, owner, id) = self.project(name).await?;
                projects.archive(&owner, id, self.owners_source()).await?;
            }
            Step::RestoresProject(name) => {
                let (projects, owner, id) = self.project(name).await?;
                projects.restore(&owner, id, self.owners_source()).await?;
            }
            Step::ExportsAuditLog(owner) => {
                let (trail, authority) = (self.past.use_cases.audit_trail(), self.authority_of(owner).await?);
                let mut export = trail.export(&authority, AuditFilter::default(), self.source(owner));
                export.next().await?;
            }
        }
        Ok(())
    }

    /// Returns the secret of the new invitation's link.
    async fn invite(&mut self, invitee: &'a str) -> Result<InvitationToken, StepError> {
        let draft = InvitationDraft {
            invitee: Invitee::parse(invitee)?,
            role: Role::Member,
        };
        let (invitations, owner) = (self.past.use_cases.invitations(), self.authority().await?);
        let issued = invitations
            .invite(&owner, draft, None, self.owners_source())
            .await?;
        self.invitations.insert(invitee, issued.invitation.id);
        Ok(issued.token)
    }

    async fn project(&self, name: &str) -> Result<(Projects, Authority, ProjectId), StepError> {
        let id = *self.projects.get(name).ok_or_else(|| missing(name))?;
        Ok((self.past.use_cases.projects(), self.authority().await?, id))
    }

    async fn change_role(&self, username: &str, role: Role) -> Result<(), StepError> {
        let (members, id) = (self.past.use_cases.members(), self.membership(username).await?);
        Ok(members
            .change_role(&self.authority().await?, id, role, self.owners_source())
            .await?)
    }

    async fn join_project(&self, name: &str, username: &str) -> Result<(), StepError> {
        let (projects, owner, id) = self.project(name).await?;
        let membership = self.membership(username).await?;
        Ok(projects
            .add_member(&owner, id, membership, self.owners_source())
            .await?)
    }

    async fn mistype_password(&self, username: &str) -> Result<(), StepError> {
        let sign_in = self.past.use_cases.sign_in();
        let attempt = self.attempt(username, self.password.expose(), username);
        let session = sign_in.sign_in(attempt).await?.session;
        let signed_in = sign_in
            .signed_in(&session)
            .await?
            .ok_or_else(|| missing(username))?;
        let mistyped = NewPassword {
            current: Password::attempt("the password of something else"),
            new: Password::attempt(self.password.expose()),
            browser: None,
        };
        let own_account = self.past.use_cases.own_account();
        match own_account
            .change_password(&signed_in, mistyped, self.source(username))
            .await
        {
            Ok(_) | Err(ChangeOwnPasswordError::WrongPassword) => {}
            Err(error) => return Err(error.into()),
        }
        self.past.use_cases.refusal_log().write().await?;
        Ok(())
    }

    async fn guess_password(&self, username: &str) -> Result<(), StepError> {
        let sign_in = self.past.use_cases.sign_in();
        loop {
            let guess = self.attempt(username, "let me in, please", "a stranger");
            match sign_in.sign_in(guess).await {
                Err(SignInError::WrongCredentials) => {}
                Ok(_) | Err(SignInError::Throttled(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.past.use_cases.refusal_log().write().await?;
        Ok(())
    }

    /// An attempt to sign in from the browser of this name.
    fn attempt<'name>(&self, username: &'name str, password: &str, browser: &str) -> SignInAttempt<'name> {
        SignInAttempt {
            user_agent: None,
            username,
            password: Password::attempt(password),
            previous: None,
            browser: None,
            source: self.source(browser),
        }
    }

    /// The first owner's.
    async fn authority(&self) -> Result<Authority, StepError> {
        self.authority_of(&self.scenario.owner.username).await
    }

    async fn authority_of(&self, owner: &str) -> Result<Authority, StepError> {
        let authority = self.member(owner).await?.as_authority(self.past.clock.now());
        authority.ok_or_else(|| format!("{owner} is no owner").into())
    }

    async fn membership(&self, username: &str) -> Result<MembershipId, StepError> {
        Ok(self.member(username).await?.membership.id)
    }

    async fn member(&self, username: &str) -> Result<Member, StepError> {
        let (store, user) = (&*self.past.store, self.user(username).await?.id);
        let member = Memberships::find_live(store, user, &self.organization, self.past.clock.now()).await?;
        member.ok_or_else(|| missing(username))
    }

    async fn user(&self, username: &str) -> Result<User, StepError> {
        let account = AccountStore::find(&*self.past.store, &Username::parse(username)?).await?;
        Ok(account.ok_or_else(|| missing(username))?.user)
    }

    /// Where the first owner's browser is.
    fn owners_source(&self) -> RequestSource {
        self.source(&self.scenario.owner.username)
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

fn missing(name: &str) -> StepError {
    format!("no step before this one made {name}").into()
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

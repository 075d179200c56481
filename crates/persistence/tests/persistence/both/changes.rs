//! Every change that the audit log records, and the ways in which it is made.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::KeySelection;
use keyward_domain::api_key::{
    Expiry, ExpiryChange, KeyEdit, KeyName, KeyPrecondition, LongestLife, OldKeyEnd, RevocationNote,
};
use keyward_domain::audit::{Action, Actor, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::keys::{KeyDraft, RotationDraft};
use keyward_domain::membership::Role;
use keyward_domain::organization::OrganizationName;
use keyward_domain::ports::{AuditFilter, DescendantKeys};
use keyward_domain::project::ProjectName;
use keyward_domain::refused_uses::{RefusedUse, RefusedUseReports, RefusedUses};
use keyward_domain::sign_in::own_account::NewPassword;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::session::SessionToken;
use keyward_domain::sign_in::throttle::{AttemptKind, EventLimit, ThrottleBucket};

use crate::both::first_run::{FirstRunChange, PASSWORD, newcomer};
use crate::both::scene::{Attempt, Scene, attempt, draft, key_draft, new_user};

/// A way to change something in an organization.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    CreateOrganization,
    CreateUser,
    MakeOwner,
    MakeMember,
    RemoveMember,
    RemoveOwner,
    LeaveOrganization,
    Invite,
    RevokeInvitation,
    JoinAsNewcomer,
    JoinAsUser,
    CreateProject,
    RenameProject,
    ArchiveProject,
    RestoreProject,
    AddProjectMember,
    RemoveProjectMember,
    ResetPassword,
    ReplaceOwnPassword,
    ReplaceOwnPasswordWithWrongPassword,
    ReplaceOwnPasswordTooOften,
    SignIn,
    SignInInstead,
    SignInWithWrongPassword,
    SignInAsUnknownUser,
    SignOut,
    EndSession,
    EndOtherSessions,
    CreateKey,
    CreateRestrictedKey,
    EnableKeyManagement,
    DisableKeyManagement,
    LimitKeyLife,
    ApplyLongestLife,
    SetMemberExpiry,
    EditKey,
    SetExpiry,
    RotateKey,
    RotateKeyAtOnce,
    RevokeKey,
    RevokeKeyWithDescendants,
    RevokeKeysAsOwner,
    RevokeKeysOfConsumer,
    RevokeKeysIssuedBefore,
    RecordEndOfKey,
    RecordEndOfMembership,
    RemoveAuditEvents,
    ExportAuditLog,
    UseRevokedKey,
    UseMoreRevokedKeys,
}

/// All ways that lead to an event of this action: on the first run, and later.
pub(crate) const fn ways_to(action: Action) -> (&'static [FirstRunChange], &'static [Change]) {
    const SET_UP: &[FirstRunChange] = &[
        FirstRunChange::CompleteWithLink,
        FirstRunChange::CompleteFromCommandLine,
    ];
    match action {
        Action::CreateSetupLink => (&[FirstRunChange::CreateSetupLink], &[]),
        Action::CreateOrganization => (SET_UP, &[Change::CreateOrganization]),
        Action::CreateUser => (SET_UP, &[Change::CreateUser, Change::JoinAsNewcomer]),
        Action::CreateMembership => (
            SET_UP,
            &[
                Change::CreateOrganization,
                Change::CreateUser,
                Change::JoinAsNewcomer,
                Change::JoinAsUser,
            ],
        ),
        Action::MakeOwner => (&[], &[Change::MakeOwner]),
        Action::MakeMember => (&[], &[Change::MakeMember]),
        Action::RemoveMember => (&[], &[Change::RemoveMember, Change::RemoveOwner]),
        Action::LeaveOrganization => (&[], &[Change::LeaveOrganization]),
        Action::CreateInvitation => (&[], &[Change::Invite]),
        Action::RevokeInvitation => (
            &[],
            &[Change::RevokeInvitation, Change::MakeMember, Change::RemoveOwner],
        ),
        Action::AcceptInvitation => (&[], &[Change::JoinAsNewcomer, Change::JoinAsUser]),
        Action::CreateProject => (&[], &[Change::CreateProject]),
        Action::RenameProject => (&[], &[Change::RenameProject]),
        Action::ArchiveProject => (&[], &[Change::ArchiveProject]),
        Action::RestoreProject => (&[], &[Change::RestoreProject]),
        Action::AddProjectMember => (&[], &[Change::AddProjectMember]),
        Action::RemoveProjectMember => (&[], &[Change::RemoveProjectMember]),
        Action::ResetPassword => (&[], &[Change::ResetPassword]),
        Action::ChangePassword => (
            &[],
            &[
                Change::ReplaceOwnPassword,
                Change::ReplaceOwnPasswordWithWrongPassword,
            ],
        ),
        Action::LimitAttempts => (&[], &[Change::ReplaceOwnPasswordTooOften]),
        Action::SignIn => (
            &[],
            &[
                Change::SignIn,
                Change::SignInInstead,
                Change::SignInWithWrongPassword,
                Change::SignInAsUnknownUser,
            ],
        ),
        Action::SignOut => (&[], &[Change::SignOut, Change::SignInInstead]),
        Action::EndSession => (&[], &[Change::EndSession, Change::EndOtherSessions]),
        Action::EnableKeyManagement => (&[], &[Change::EnableKeyManagement]),
        Action::DisableKeyManagement => (&[], &[Change::DisableKeyManagement]),
        Action::LimitKeyLife => (&[], &[Change::LimitKeyLife]),
        Action::ChangeMembershipExpiry => (&[], &[Change::SetMemberExpiry]),
        Action::CreateRestrictedApiKey => (&[], &[Change::CreateRestrictedKey]),
        Action::CreateApiKey => (
            &[],
            &[Change::CreateKey, Change::RotateKey, Change::RotateKeyAtOnce],
        ),
        Action::EditApiKey => (&[], &[Change::EditKey]),
        Action::ChangeExpiry => (&[], &[Change::SetExpiry]),
        Action::RotateApiKey => (&[], &[Change::RotateKey, Change::RotateKeyAtOnce]),
        Action::RevokeApiKey => (
            &[],
            &[
                Change::RotateKeyAtOnce,
                Change::RevokeKey,
                Change::RevokeKeyWithDescendants,
                Change::RevokeKeysAsOwner,
                Change::RevokeKeysOfConsumer,
                Change::RevokeKeysIssuedBefore,
            ],
        ),
        Action::ExpireApiKey => (&[], &[Change::RecordEndOfKey]),
        Action::ExpireMembership => (&[], &[Change::RecordEndOfMembership]),
        Action::RemoveAuditEvents => (&[], &[Change::RemoveAuditEvents]),
        Action::ExportAuditLog => (&[], &[Change::ExportAuditLog]),
        Action::UseApiKey => (&[], &[Change::UseRevokedKey, Change::UseMoreRevokedKeys]),
        // No version before records what only a newer one knows.
        Action::Other(_) => (&[], &[]),
    }
}

impl Scene {
    /// Tells of what was refused, too, as a server does beside its answer.
    pub(crate) async fn attempt(&self, change: Change) -> Attempt {
        let outcome = self.act(change).await;
        self.use_cases.write_refusals().await?;
        outcome
    }

    fn just_now(&self) -> String {
        self.database.moment(self.make.clock.now())
    }

    async fn act(&self, change: Change) -> Attempt {
        let (source, authority) = (RequestSource::default(), self.authority());
        let holder = self.bob.as_holder();
        let accounts = &self.use_cases.accounts;
        let (sign_in, own_account) = (&self.use_cases.sign_in, &self.use_cases.own_account);
        let (members, invitations) = (&self.use_cases.members, &self.use_cases.invitations);
        let (joining, projects) = (&self.use_cases.joining, &self.use_cases.projects);
        let (keys, organizations) = (&self.use_cases.keys, &self.use_cases.organizations);
        let audit_trail = &self.use_cases.audit_trail;
        let (bob, carol) = (self.bob.membership.id, self.carol.membership.id);
        match change {
            Change::CreateOrganization => {
                let name = OrganizationName::parse("Third").expect("a name");
                accounts
                    .create_organization(name, &self.ada.user.username)
                    .await?;
            }
            Change::CreateUser => {
                let new = new_user(&self.ada.organization, "erin", Role::Member);
                accounts.create(new).await?;
            }
            Change::ResetPassword => {
                let password = Password::attempt("another quiet otter");
                accounts
                    .reset_password(&self.ada.user.username, &password)
                    .await?;
            }
            Change::MakeOwner => members.change_role(&authority, bob, Role::Owner, source).await?,
            Change::MakeMember => {
                members
                    .change_role(&authority, carol, Role::Member, source)
                    .await?;
            }
            Change::SetMemberExpiry => {
                let now = self.make.clock.now();
                let change = ExpiryChange::Set(Expiry::new(now + TimeDelta::hours(1), now).expect("ahead"));
                members.change_expiry(&authority, bob, change, source).await?;
            }
            Change::RemoveOwner => members.remove(&authority, carol, source).await?,
            Change::RemoveMember => members.remove(&authority, bob, source).await?,
            Change::LeaveOrganization => members.leave(&self.bob, source).await?,
            Change::Invite => drop(invitations.invite(&authority, draft(), None, source).await?),
            Change::RevokeInvitation => {
                let id = self.invitation.invitation.id;
                invitations.revoke(&authority, id, source).await?;
            }
            Change::JoinAsNewcomer => {
                joining
                    .join_as_newcomer(&self.invitation.token, newcomer("grace", "Grace"), source)
                    .await?;
            }
            Change::JoinAsUser => {
                joining
                    .join_as_user(&self.invitation.token, &self.dave, source)
                    .await?;
            }
            Change::CreateProject => {
                let name = ProjectName::parse("Third").expect("a name");
                projects.create(&authority, name, None, source).await?;
            }
            Change::RenameProject => {
                let name = ProjectName::parse("Renamed").expect("a name");
                projects.rename(&authority, self.project.id, name, source).await?;
            }
            Change::ArchiveProject => projects.archive(&authority, self.project.id, source).await?,
            Change::RestoreProject => projects.restore(&authority, self.archived.id, source).await?,
            Change::AddProjectMember => {
                projects
                    .add_member(&authority, self.project.id, carol, source)
                    .await?;
            }
            Change::RemoveProjectMember => {
                projects
                    .remove_member(&authority, self.project.id, bob, source)
                    .await?;
            }
            Change::ReplaceOwnPassword => {
                let passwords = NewPassword {
                    current: Password::attempt(PASSWORD),
                    new: Password::attempt("another quiet otter"),
                    browser: None,
                };
                own_account.change_password(&self.here, passwords, source).await?;
            }
            Change::ReplaceOwnPasswordWithWrongPassword => {
                let passwords = NewPassword {
                    current: Password::attempt("guess"),
                    new: Password::attempt("another quiet otter"),
                    browser: None,
                };
                own_account.change_password(&self.here, passwords, source).await?;
            }
            Change::ReplaceOwnPasswordTooOften => {
                let bucket = ThrottleBucket::password_change(self.here.user.id);
                let store = &self.database.store;
                while store
                    .count_attempt(AttemptKind::SignIn, vec![bucket], self.make.clock.now())
                    .await?
                    .is_none()
                {}
                let passwords = NewPassword {
                    current: Password::attempt(PASSWORD),
                    new: Password::attempt("another quiet otter"),
                    browser: None,
                };
                own_account.change_password(&self.here, passwords, source).await?;
            }
            Change::SignIn => drop(sign_in.sign_in(attempt("ada", PASSWORD)).await?),
            Change::SignInInstead => {
                let mut attempt = attempt("ada", PASSWORD);
                attempt.previous = SessionToken::parse(&self.there_token);
                sign_in.sign_in(attempt).await?;
            }
            Change::SignInWithWrongPassword => drop(sign_in.sign_in(attempt("ada", "guess")).await?),
            Change::SignInAsUnknownUser => drop(sign_in.sign_in(attempt("nobody", "guess")).await?),
            Change::SignOut => sign_in.sign_out(&self.here, source).await?,
            Change::EndSession => {
                let there = self.there.session.id;
                own_account.end_session(&self.here, there, source).await?;
            }
            Change::EndOtherSessions => {
                own_account.end_other_sessions(&self.here, source).await?;
            }
            Change::CreateKey => {
                keys.issue(&holder, key_draft("third"), None, source).await?;
            }
            Change::CreateRestrictedKey => {
                let draft = KeyDraft {
                    can_manage_keys: Some(false),
                    ..key_draft("third")
                };
                keys.issue(&holder, draft, None, source).await?;
            }
            Change::EnableKeyManagement => {
                let elsewhere = Authority::of_administrator(self.elsewhere.id);
                organizations
                    .set_default_for_new_keys(&elsewhere, true, source)
                    .await?;
            }
            Change::DisableKeyManagement => {
                organizations
                    .set_default_for_new_keys(&authority, false, source)
                    .await?;
            }
            Change::LimitKeyLife => {
                let longest = LongestLife::of_days(3_650)?;
                organizations
                    .limit_key_life(&authority, Some(longest), source)
                    .await?;
            }
            Change::ApplyLongestLife => {
                let longest = LongestLife::of_days(30)?;
                let id = self.database.id(authority.organization_id().as_uuid());
                let chosen = format!("UPDATE organizations SET longest_key_life_days = 30 WHERE id = {id}");
                self.database.execute(&chosen).await;
                self.use_cases
                    .organization_keys
                    .apply_longest_life(&authority, longest, source, TimeDelta::hours(1))
                    .await?;
            }
            Change::EditKey => {
                let edit = KeyEdit {
                    name: Some(KeyName::parse("renamed").expect("a name")),
                    ..KeyEdit::default()
                };
                keys.edit(&holder, self.key, edit, KeyPrecondition::AnyVersion, source)
                    .await?;
            }
            Change::SetExpiry => {
                let now = self.make.clock.now();
                let expiry = Expiry::new(now + TimeDelta::hours(1), now).expect("ahead");
                let edit = KeyEdit {
                    expiry: Some(ExpiryChange::Set(expiry)),
                    ..KeyEdit::default()
                };
                keys.edit(&holder, self.key, edit, KeyPrecondition::AnyVersion, source)
                    .await?;
            }
            Change::RotateKey => {
                let draft = RotationDraft::default();
                keys.rotate(&holder, self.key, draft, None, source).await?;
            }
            Change::RotateKeyAtOnce => {
                let draft = RotationDraft {
                    old_key_ends: OldKeyEnd::AtOnce,
                    expiry: None,
                };
                keys.rotate(&holder, self.key, draft, None, source).await?;
            }
            Change::RevokeKey => {
                keys.revoke(
                    &holder,
                    self.key,
                    DescendantKeys::Keep,
                    KeyPrecondition::AnyVersion,
                    source,
                )
                .await?;
            }
            Change::RevokeKeyWithDescendants => {
                keys.revoke(
                    &holder,
                    self.key,
                    DescendantKeys::Revoke,
                    KeyPrecondition::AnyVersion,
                    source,
                )
                .await?;
            }
            Change::RevokeKeysAsOwner => {
                let selection = KeySelection::Keys {
                    ids: vec![self.key, self.child],
                    descendants: DescendantKeys::Keep,
                };
                self.revoke_as_owner(selection).await?;
            }
            Change::RevokeKeysOfConsumer => self.revoke_as_owner(KeySelection::OfConsumer(bob)).await?,
            Change::RevokeKeysIssuedBefore => {
                self.make.clock.advance(TimeDelta::minutes(2));
                let moment = self.make.clock.now() - TimeDelta::minutes(1);
                let selection = self.use_cases.organization_keys.issued_before(moment)?;
                self.revoke_as_owner(selection).await?;
            }
            Change::RecordEndOfKey => {
                let (key, at) = (self.database.id(self.key.as_uuid()), self.just_now());
                let planned = format!(
                    "UPDATE api_keys SET revoked_at = {at}, revoked_by_kind = 'administrator',
                         revoked_reason = 'administrator' WHERE id = {key}"
                );
                self.database.execute(&planned).await;
                let act = self.make.act(Actor::System);
                let recorded = self.database.store.record_ends_of_keys(100, act).await;
                if recorded.is_err() {
                    let unplanned = format!(
                        "UPDATE api_keys SET revoked_at = NULL, revoked_by_kind = NULL, revoked_reason = NULL
                         WHERE id = {key}"
                    );
                    self.database.execute(&unplanned).await;
                }
                recorded?;
            }
            Change::RecordEndOfMembership => {
                let (member, at) = (self.database.id(bob.as_uuid()), self.just_now());
                let planned = format!("UPDATE memberships SET ended_at = {at} WHERE id = {member}");
                self.database.execute(&planned).await;
                let act = self.make.act(Actor::System);
                let recorded = self.database.store.record_ends_of_memberships(100, act).await;
                if recorded.is_err() {
                    let unplanned = format!("UPDATE memberships SET ended_at = NULL WHERE id = {member}");
                    self.database.execute(&unplanned).await;
                }
                recorded?;
            }
            Change::RemoveAuditEvents => {
                let moment = self.make.clock.now() + TimeDelta::seconds(1);
                let act = self.make.act(Actor::System);
                let event = act.event(Action::RemoveAuditEvents, Subject::Installation);
                let store = &self.database.store;
                store.remove_audit_events(moment, 100, Some(event)).await?;
            }
            Change::UseRevokedKey => self.report_refused_use().await?,
            Change::UseMoreRevokedKeys => {
                let limits = EventLimit::RefusedUses {
                    of: self.key,
                    consumer: self.bob.membership.id,
                    within: self.ada.organization.id,
                };
                let of_consumer = limits.buckets()[1];
                let (store, now) = (&self.database.store, self.make.clock.now());
                while store
                    .count_attempt(AttemptKind::SignIn, vec![of_consumer], now)
                    .await?
                    .is_none()
                {}
                self.report_refused_use().await?;
            }
            Change::ExportAuditLog => {
                let mut export = audit_trail.export(&authority, AuditFilter::default(), source);
                export.next().await?;
            }
        }
        Ok(())
    }

    /// Records a use of a key that no longer works, as a server does after the request.
    async fn report_refused_use(&self) -> Attempt {
        let uses = Arc::new(RefusedUses::new(1));
        uses.note(RefusedUse {
            key: self.key,
            consumer: self.bob.membership.id,
            organization: self.bob.organization.id,
            at: self.make.clock.now(),
            from: None,
        });
        let store = Arc::clone(&self.database.store);
        RefusedUseReports::new(uses, store, self.make.sources.clone())
            .write()
            .await?;
        Ok(())
    }

    async fn revoke_as_owner(&self, selection: KeySelection) -> Attempt {
        let note = RevocationNote::parse("Bob is on holiday").expect("a note");
        let (keys, source) = (&self.use_cases.organization_keys, RequestSource::default());
        let revoked = keys
            .revoke(&self.authority(), selection, Some(note), source, None)
            .await;
        revoked.map_err(|stopped| stopped.why)?;
        Ok(())
    }
}

//! Audit events: who did what to what, when, from where, with which outcome. They contain no secrets.

pub(crate) mod feed;
pub(crate) mod filter;

use std::net::IpAddr;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use uuid::Uuid;

use crate::id::{
    ApiKeyId, AuditEventId, IdGenerator, InvitationId, MembershipId, OrganizationId, ProjectId, SessionId,
    UserId,
};
use crate::words::words;

pub use crate::words::NewerWord;

/// An audit event. It is written in the transaction of the change that it records, and is never updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// Rises with the time of the act (UUID version 7).
    pub id: AuditEventId,
    /// When the act began, in UTC, to the millisecond: some seconds before its commit at most.
    pub at: DateTime<Utc>,
    /// The organization whose log contains it; `None` for events of the installation or of an account.
    pub organization_id: Option<OrganizationId>,
    /// Who did it or attempted it.
    pub actor: Actor,
    /// The action, done or attempted.
    pub action: Action,
    /// The subject of the action.
    pub subject: Subject,
    /// The other party: the project that a member was added to, the membership that an invitation became, the
    /// user whose session another user replaced by signing in, the successor of a rotated key.
    pub object: Option<Subject>,
    /// The previous value, of acts that replace one; the planned time, of a planned end that came.
    pub old_value: Option<String>,
    /// The new value: a time in RFC 3339 format, or a number of days as a duration of ISO 8601, such as
    /// `P90D`.
    pub new_value: Option<String>,
    /// Whether the action was done or refused.
    pub outcome: Outcome,
    /// The request that caused it; empty for the command line.
    pub source: RequestSource,
}

/// Who causes an event: a person, a key, or the installation itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A person, signed in to the console.
    User(UserId),
    /// A key, through the API.
    ApiKey(ApiKeyId),
    /// An administrator on the command line.
    Administrator,
    /// Keyward itself: a server, or `keyward clean-up`. It removes expired records, and records planned ends
    /// that have come.
    System,
    /// An unauthenticated client: a refused sign-in, or the first-run setup.
    Anonymous,
}

/// The subject of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The installation as a whole.
    Installation,
    /// An organization as a whole, such as its settings.
    Organization(OrganizationId),
    /// A user's account.
    User(UserId),
    /// One user's membership of one organization.
    Membership(MembershipId),
    /// An invitation, open or ended.
    Invitation(InvitationId),
    /// A project, active or archived.
    Project(ProjectId),
    /// An API key, valid, revoked or removed.
    ApiKey(ApiKeyId),
    /// A console session.
    Session(SessionId),
    /// Something that only a newer version knows.
    Other {
        /// The newer version's word for its kind.
        kind: NewerWord,
        /// Its identifier.
        id: Uuid,
    },
}

/// Why a kind and an identifier are not a valid actor or subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    /// The kind is unknown.
    #[error("an unknown word")]
    UnknownKind,
    /// The identifier is missing, but this kind needs one.
    #[error("missing")]
    MissingId,
}

impl Actor {
    /// The actor of a [`kind`](Self::kind) with an [`id`](Self::id), which is ignored where the kind has none.
    ///
    /// # Errors
    /// The kind is unknown, or lacks its identifier.
    pub fn from_kind(kind: &str, id: Option<Uuid>) -> Result<Self, InvalidReference> {
        let id = id.ok_or(InvalidReference::MissingId);
        match kind {
            "user" => Ok(Self::User(UserId::from_uuid(id?))),
            "api_key" => Ok(Self::ApiKey(ApiKeyId::from_uuid(id?))),
            "administrator" => Ok(Self::Administrator),
            "system" => Ok(Self::System),
            "anonymous" => Ok(Self::Anonymous),
            _ => Err(InvalidReference::UnknownKind),
        }
    }

    /// The word for its kind, in storage and to people.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::ApiKey(_) => "api_key",
            Self::Administrator => "administrator",
            Self::System => "system",
            Self::Anonymous => "anonymous",
        }
    }

    /// Which one it is; nothing for actors without an identifier.
    #[must_use]
    pub const fn id(self) -> Option<Uuid> {
        match self {
            Self::User(id) => Some(id.as_uuid()),
            Self::ApiKey(id) => Some(id.as_uuid()),
            Self::Administrator | Self::System | Self::Anonymous => None,
        }
    }

    /// The actor as a subject; `None` for actors without an identifier.
    #[must_use]
    pub const fn as_subject(self) -> Option<Subject> {
        match self {
            Self::User(id) => Some(Subject::User(id)),
            Self::ApiKey(id) => Some(Subject::ApiKey(id)),
            Self::Administrator | Self::System | Self::Anonymous => None,
        }
    }

    /// The key that acts, if a key does.
    #[must_use]
    pub const fn api_key(self) -> Option<ApiKeyId> {
        match self {
            Self::ApiKey(key) => Some(key),
            Self::User(_) | Self::Administrator | Self::System | Self::Anonymous => None,
        }
    }
}

impl Subject {
    /// The subject of a [`kind`](Self::kind) with an [`id`](Self::id), which is ignored for the installation.
    /// The kind may be one that only a newer version knows.
    ///
    /// # Errors
    /// The kind is no word for one, or lacks its identifier.
    pub fn from_kind(kind: &str, id: Option<Uuid>) -> Result<Self, InvalidReference> {
        if kind == "installation" {
            return Ok(Self::Installation);
        }
        let id = id.ok_or(InvalidReference::MissingId)?;
        Ok(match kind {
            "organization" => Self::Organization(OrganizationId::from_uuid(id)),
            "user" => Self::User(UserId::from_uuid(id)),
            "membership" => Self::Membership(MembershipId::from_uuid(id)),
            "invitation" => Self::Invitation(InvitationId::from_uuid(id)),
            "project" => Self::Project(ProjectId::from_uuid(id)),
            "api_key" => Self::ApiKey(ApiKeyId::from_uuid(id)),
            "session" => Self::Session(SessionId::from_uuid(id)),
            _ => {
                let kind = NewerWord::with_dots(kind, 0).ok_or(InvalidReference::UnknownKind)?;
                Self::Other { kind, id }
            }
        })
    }

    /// The word for its kind, in storage and to people.
    #[must_use]
    pub const fn kind(&self) -> &str {
        match self {
            Self::Installation => "installation",
            Self::Organization(_) => "organization",
            Self::User(_) => "user",
            Self::Membership(_) => "membership",
            Self::Invitation(_) => "invitation",
            Self::Project(_) => "project",
            Self::ApiKey(_) => "api_key",
            Self::Session(_) => "session",
            Self::Other { kind, id: _ } => kind.as_str(),
        }
    }

    /// The subject as an actor; `None` for kinds that cannot act.
    #[must_use]
    pub const fn as_actor(self) -> Option<Actor> {
        match self {
            Self::User(id) => Some(Actor::User(id)),
            Self::ApiKey(id) => Some(Actor::ApiKey(id)),
            Self::Installation
            | Self::Organization(_)
            | Self::Membership(_)
            | Self::Invitation(_)
            | Self::Project(_)
            | Self::Session(_)
            | Self::Other { .. } => None,
        }
    }

    /// Which one it is; nothing for the installation, of which there is one.
    #[must_use]
    pub const fn id(self) -> Option<Uuid> {
        match self {
            Self::Installation => None,
            Self::Organization(id) => Some(id.as_uuid()),
            Self::User(id) => Some(id.as_uuid()),
            Self::Membership(id) => Some(id.as_uuid()),
            Self::Invitation(id) => Some(id.as_uuid()),
            Self::Project(id) => Some(id.as_uuid()),
            Self::ApiKey(id) => Some(id.as_uuid()),
            Self::Session(id) => Some(id.as_uuid()),
            Self::Other { kind: _, id } => Some(id),
        }
    }
}

words! {
    /// The actions that the audit log records.
    Action or NewerWord(1) {
        /// A new one-time setup link replaced the one before it.
        CreateSetupLink = "setup_link.create",
        /// An organization was created.
        CreateOrganization = "organization.create",
        /// From then on, new keys may manage keys unless something else is asked for.
        EnableKeyManagement = "organization.enable_default_key_management",
        /// From then on, new keys may manage keys only if that is asked for.
        DisableKeyManagement = "organization.disable_default_key_management",
        /// From then on, new keys end after some days at the latest, or no more.
        LimitKeyLife = "organization.limit_key_life",
        /// A user account was created.
        CreateUser = "user.create",
        /// A user became a member.
        CreateMembership = "membership.create",
        /// A member became an owner.
        MakeOwner = "membership.make_owner",
        /// An owner became a plain member.
        MakeMember = "membership.make_member",
        /// A member was removed.
        RemoveMember = "membership.remove",
        /// A member left.
        LeaveOrganization = "membership.leave",
        /// A membership's planned end was set, moved or removed.
        ChangeMembershipExpiry = "membership.change_expiry",
        /// The planned end of a membership came.
        ExpireMembership = "membership.expire",
        /// A person was invited.
        CreateInvitation = "invitation.create",
        /// An invitation was revoked.
        RevokeInvitation = "invitation.revoke",
        /// An invitation became a membership.
        AcceptInvitation = "invitation.accept",
        /// A project was created.
        CreateProject = "project.create",
        /// A project got another name.
        RenameProject = "project.rename",
        /// A project was archived.
        ArchiveProject = "project.archive",
        /// An archived project came back.
        RestoreProject = "project.restore",
        /// A member was added to a project.
        AddProjectMember = "project.add_member",
        /// A member was taken out of a project.
        RemoveProjectMember = "project.remove_member",
        /// An administrator replaced a user's password.
        ResetPassword = "user.reset_password",
        /// A user changed their own password, or tried to with a wrong one.
        ChangePassword = "user.change_password",
        /// A person signed in, or tried to.
        SignIn = "session.sign_in",
        /// Attempts at a password were refused without being checked, because there were too many.
        LimitAttempts = "user.limit_attempts",
        /// A user signed out, or signed in again in a browser and so ended the session there, their own or
        /// another user's.
        SignOut = "session.sign_out",
        /// A person ended another of their sessions.
        EndSession = "session.end",
        /// A key was created that may manage keys.
        CreateApiKey = "api_key.create",
        /// A key was created that may not manage keys.
        CreateRestrictedApiKey = "api_key.create_restricted",
        /// A key's name or description changed.
        EditApiKey = "api_key.edit",
        /// A key's planned end was set, moved or removed.
        ChangeExpiry = "api_key.change_expiry",
        /// A key got a successor in its place. Its own end is a revocation, or planned.
        RotateApiKey = "api_key.rotate",
        /// A key was revoked.
        RevokeApiKey = "api_key.revoke",
        /// The planned end of a key came.
        ExpireApiKey = "api_key.expire",
        /// A key was used that no longer works; of an organization, that more such keys were used.
        UseApiKey = "api_key.use",
        /// Old audit events were removed, as the installation is set up to do.
        RemoveAuditEvents = "audit_log.remove_old",
        /// Audit events were exported: by an owner or by the command line.
        ExportAuditLog = "audit_log.export",
    }
}

words! {
    /// Whether the action was done.
    Outcome {
        /// It came to pass.
        Success = "success",
        /// It was refused.
        Refused = "refused",
    }
}

/// Where a request came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestSource {
    /// The client's address; none for the command line.
    pub address: Option<IpAddr>,
    /// The request's identifier, as in its answer and in the logs; none for the command line.
    pub request_id: Option<String>,
}

/// The common part of the events of one act: time, actor, organization and source.
#[derive(Clone)]
pub struct Act {
    /// When it began, in UTC, to the millisecond.
    pub at: DateTime<Utc>,
    /// Who causes its events.
    pub actor: Actor,
    /// In which organization, if in one.
    pub organization_id: Option<OrganizationId>,
    /// The request that caused it; empty for the command line.
    pub source: RequestSource,
    pub(crate) ids: Arc<IdGenerator>,
}

impl Act {
    /// Creates an act in no organization. Use cases create acts; so do direct callers of ports.
    #[must_use]
    pub fn new(ids: &Arc<IdGenerator>, at: DateTime<Utc>, actor: Actor, source: RequestSource) -> Self {
        Self {
            at,
            actor,
            organization_id: None,
            source,
            ids: Arc::clone(ids),
        }
    }

    /// The act, in an organization.
    #[must_use]
    pub fn within(self, organization: OrganizationId) -> Self {
        Self {
            organization_id: Some(organization),
            ..self
        }
    }

    /// The same act at the current time, by which a store that has waited for a lock decides what has ended
    /// meanwhile. Never earlier than the act's first time, even if the clock was set back.
    #[must_use]
    pub fn at_current_time(&self) -> Self {
        Self {
            at: self.at.max(self.ids.now()),
            ..self.clone()
        }
    }

    /// An act of Keyward itself at the time of this one, without the address of the user whose act triggered
    /// it.
    #[must_use]
    pub fn of_system(&self, organization: OrganizationId) -> Self {
        Self {
            actor: Actor::System,
            source: RequestSource::default(),
            ..self.clone().within(organization)
        }
    }

    /// The act in the installation's log and in those of these organizations: an event about a user is
    /// written to each.
    pub(crate) fn for_organizations(
        &self,
        organizations: impl IntoIterator<Item = OrganizationId>,
    ) -> Vec<Self> {
        let within = organizations
            .into_iter()
            .map(|organization| self.clone().within(organization));
        std::iter::once(self.clone()).chain(within).collect()
    }

    /// Creates the event of a change. An act has one event for each subject it changes; stores create them
    /// when they know the subjects (see [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke)).
    #[must_use]
    pub fn event(&self, action: Action, subject: Subject) -> AuditEvent {
        AuditEvent {
            id: self.ids.next(),
            at: self.at,
            organization_id: self.organization_id,
            actor: self.actor,
            action,
            subject,
            object: None,
            old_value: None,
            new_value: None,
            outcome: Outcome::Success,
            source: self.source.clone(),
        }
    }

    /// Creates the event of a change that involves a second subject.
    #[must_use]
    pub fn event_with(&self, action: Action, subject: Subject, object: Subject) -> AuditEvent {
        AuditEvent {
            object: Some(object),
            ..self.event(action, subject)
        }
    }

    /// Creates the event of a change of a moment, which is absent where there is none.
    #[must_use]
    pub fn event_of_moment(
        &self,
        action: Action,
        subject: Subject,
        before: Option<DateTime<Utc>>,
        after: Option<DateTime<Utc>>,
    ) -> AuditEvent {
        let text = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
        AuditEvent {
            old_value: before.map(text),
            new_value: after.map(text),
            ..self.event(action, subject)
        }
    }

    /// Creates the event of a refused attempt.
    #[must_use]
    pub fn refusal(&self, action: Action, subject: Subject) -> AuditEvent {
        AuditEvent {
            outcome: Outcome::Refused,
            ..self.event(action, subject)
        }
    }
}

impl std::fmt::Debug for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Act")
            .field("at", &self.at)
            .field("actor", &self.actor)
            .field("organization_id", &self.organization_id)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

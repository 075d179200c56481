//! Changes that took access away, by who can repeat them.

use chrono::{DateTime, Utc};

use crate::api_key::LongestLife;
use crate::audit::Subject;
use crate::id::{ApiKeyId, InvitationId, MembershipId, OrganizationId, ProjectId, UserId};

/// A change that took access away, and that an administrator can repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessRemoval {
    /// A key was revoked, or its planned end came.
    ApiKey(ApiKeyId),
    /// A member was removed or left, or the planned end of the membership came.
    Membership(MembershipId),
    /// An owner became a member.
    OwnerRole(MembershipId),
    /// An invitation was revoked or accepted: it cannot be used any more.
    Invitation(InvitationId),
    /// A project was archived.
    Project(ProjectId),
    /// The keys of a member no longer reach a project.
    ProjectMember(ProjectId, MembershipId),
}

/// A change that took access away or limited it, and that only people can repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManualRemoval {
    /// A password was changed or reset: the old one works again.
    Password(UserId),
    /// Sessions of a user were ended, and may be live again.
    Sessions(UserId),
    /// The end of a key was planned, and no event says that it came.
    KeyEnd(ApiKeyId, DateTime<Utc>),
    /// A key was rotated, and its end is not recorded. The latest of its successors.
    Rotation {
        /// The key that was rotated.
        key: ApiKeyId,
        /// The key that took its place.
        successor: ApiKeyId,
    },
    /// The end of a membership was planned, and no event says that it came.
    MembershipEnd(MembershipId, DateTime<Utc>),
    /// New keys may manage keys only if that is asked for.
    KeyManagementOff(OrganizationId),
    /// New keys got a longest life.
    KeyLife(OrganizationId, LongestLife),
}

impl AccessRemoval {
    /// The change can be repeated where all of them exist.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        let (subject, project) = match *self {
            Self::ApiKey(key) => (Subject::ApiKey(key), None),
            Self::Membership(member) | Self::OwnerRole(member) => (Subject::Membership(member), None),
            Self::Invitation(invitation) => (Subject::Invitation(invitation), None),
            Self::Project(project) => (Subject::Project(project), None),
            Self::ProjectMember(project, member) => {
                (Subject::Membership(member), Some(Subject::Project(project)))
            }
        };
        std::iter::once(subject).chain(project)
    }
}

impl ManualRemoval {
    /// The object in an organization that it concerns; `None` if it concerns a user.
    #[must_use]
    pub const fn subject(&self) -> Option<Subject> {
        match *self {
            Self::KeyEnd(key, _) | Self::Rotation { key, .. } => Some(Subject::ApiKey(key)),
            Self::MembershipEnd(member, _) => Some(Subject::Membership(member)),
            Self::KeyManagementOff(organization) | Self::KeyLife(organization, _) => {
                Some(Subject::Organization(organization))
            }
            Self::Password(_) | Self::Sessions(_) => None,
        }
    }
}

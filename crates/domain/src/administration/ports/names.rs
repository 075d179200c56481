//! What people call things.

use std::collections::HashMap;

use async_trait::async_trait;
use uuid::Uuid;

use crate::audit::Subject;
use crate::id::{OrganizationId, UserId};
use crate::ports::StorageError;
use crate::user::{User, Username};

/// Knows the names of what audit events and revocations tell of.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Names: Send + Sync {
    /// The names of those of the subjects that belong to the organization and still exist: the organization's own name;
    /// the display name of a user who is or was a member, and of a membership's user; the name of a key and of a
    /// project; whom an invitation is for. Sessions and the installation have no name.
    async fn find(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, String>, StorageError>;

    /// The usernames of those of the subjects that [`Names::find`] calls by a display name: users, and memberships of
    /// users. A display name is chosen freely, and may be the same as somebody else's.
    async fn usernames(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, Username>, StorageError>;

    /// What of the organization has this identifier: the first, in this order, of a key, a membership, a user who is or was
    /// a member, a project, an invitation and the organization itself. What is gone is found if the organization's audit log
    /// tells of it, as who acted, the subject or the object of an event.
    ///
    /// MUST NOT take the longer the more events there are.
    async fn find_subject(
        &self,
        organization: OrganizationId,
        id: Uuid,
    ) -> Result<Option<Subject>, StorageError>;

    /// The user of this name who is or was a member of the organization. Everybody else MUST look like nobody.
    async fn find_user(
        &self,
        organization: OrganizationId,
        username: &Username,
    ) -> Result<Option<UserId>, StorageError>;

    /// Those of the users who exist, in any order and whatever organizations they are in: for whoever runs the server,
    /// and nobody else.
    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StorageError>;
}

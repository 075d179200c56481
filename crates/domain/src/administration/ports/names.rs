//! The port that finds names by identifier, and identifiers by name.

use std::collections::HashMap;

use async_trait::async_trait;
use uuid::Uuid;

use crate::administration::ports::Named;
use crate::audit::Subject;
use crate::id::{OrganizationId, UserId};
use crate::ports::StorageError;
use crate::user::{User, Username};

/// Finds the names of the subjects of audit events and revocations.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Names: Send + Sync {
    /// The names of the subjects that belong to the organization and still exist: the organization itself,
    /// users who are or were members, memberships, keys, projects and invitations. Sessions and the
    /// installation have no name.
    async fn identify(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, Named>, StorageError>;

    /// Like [`Self::identify`], but without usernames.
    async fn find(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, String>, StorageError> {
        let named = self.identify(organization, subjects).await?.into_iter();
        Ok(named.map(|(subject, named)| (subject, named.name)).collect())
    }

    /// The subject of the organization with this identifier: the first found, in this order, of a key, a
    /// membership, a user who is or was a member, a project, an invitation and the organization itself. A
    /// removed one is found if it is the actor, the subject or the object of an event in the organization's
    /// audit log.
    ///
    /// The time MUST NOT grow with the number of events.
    async fn find_subject(
        &self,
        organization: OrganizationId,
        id: Uuid,
    ) -> Result<Option<Subject>, StorageError>;

    /// The user with this username, if they are or were a member of the organization. For any other user,
    /// MUST return `None`, as if the user did not exist.
    async fn find_user(
        &self,
        organization: OrganizationId,
        username: &Username,
    ) -> Result<Option<UserId>, StorageError>;

    /// Those of the users who exist, in any order, of all organizations. Only for administrators of the
    /// server.
    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StorageError>;
}

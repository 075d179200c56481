//! Names for identifiers, and the other way round.

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
    /// What those of the subjects are called that belong to the organization and still exist: the
    /// organization itself, a user who is or was a member, a membership, a key, a project and an invitation.
    /// Sessions and the installation have no name.
    async fn identify(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, Named>, StorageError>;

    /// The same without usernames.
    async fn find(
        &self,
        organization: OrganizationId,
        subjects: &[Subject],
    ) -> Result<HashMap<Subject, String>, StorageError> {
        let named = self.identify(organization, subjects).await?.into_iter();
        Ok(named.map(|(subject, named)| (subject, named.name)).collect())
    }

    /// What of the organization has this identifier: the first, in this order, of a key, a membership, a user
    /// who is or was a member, a project, an invitation and the organization itself. What is gone is found if
    /// the organization's audit log tells of it, as who acted, the subject or the object of an event.
    ///
    /// MUST NOT take the longer the more events there are.
    async fn find_subject(
        &self,
        organization: OrganizationId,
        id: Uuid,
    ) -> Result<Option<Subject>, StorageError>;

    /// The user of this name who is or was a member of the organization. Everybody else MUST look like
    /// nobody.
    async fn find_user(
        &self,
        organization: OrganizationId,
        username: &Username,
    ) -> Result<Option<UserId>, StorageError>;

    /// Those of the users who exist, in any order and whatever organizations they are in: for whoever runs
    /// the server, and nobody else.
    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StorageError>;
}

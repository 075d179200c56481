//! The store of memberships.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::id::UserId;
use crate::membership::Member;
use crate::organization::{Organization, Slug};
use crate::ports::StorageError;

/// Knows who belongs where.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Memberships: Send + Sync {
    /// The user as member of the organization with this slug, live at this moment. An organization that the
    /// user does not belong to MUST look like one that does not exist.
    async fn find_live(
        &self,
        user: UserId,
        organization: &Slug,
        now: DateTime<Utc>,
    ) -> Result<Option<Member>, StorageError>;

    /// The user as live member of each organization that they belong to at this moment, by its name.
    async fn list_live(&self, user: UserId, now: DateTime<Utc>) -> Result<Vec<Member>, StorageError>;

    /// The organizations of [`Memberships::list_live`].
    async fn organizations_of(
        &self,
        user: UserId,
        now: DateTime<Utc>,
    ) -> Result<Vec<Organization>, StorageError> {
        let members = self.list_live(user, now).await?.into_iter();
        Ok(members.map(|member| member.organization).collect())
    }
}

//! The port for memberships of users.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::Member;
use keyward_domain::organization::Slug;
use keyward_domain::ports::{Memberships, StorageError};

use crate::directory;
use crate::store::{FileStore, failed};
use crate::tables::ORGANIZATIONS_BY_SLUG;

#[async_trait]
impl Memberships for FileStore {
    async fn find_live(
        &self,
        user: UserId,
        organization: &Slug,
        now: DateTime<Utc>,
    ) -> Result<Option<Member>, StorageError> {
        let slug = organization.as_str().to_owned();
        self.read(move |transaction| {
            let by_slug = transaction.open_table(ORGANIZATIONS_BY_SLUG).map_err(failed)?;
            let Some(organization) = by_slug.get(slug.as_str()).map_err(failed)? else {
                return Ok(None);
            };
            let organization = OrganizationId::from_uuid(organization.value());
            let live = directory::live_memberships(transaction, user, now)?;
            let mut here = live
                .into_iter()
                .filter(|membership| membership.organization_id == organization);
            let Some(membership) = here.next() else {
                return Ok(None);
            };
            Ok(Some(Member {
                user: directory::user(transaction, user)?,
                organization: directory::organization(transaction, organization)?,
                membership,
            }))
        })
        .await
    }

    async fn list_live(&self, user: UserId, now: DateTime<Utc>) -> Result<Vec<Member>, StorageError> {
        self.read(move |transaction| {
            let mut members = Vec::new();
            for membership in directory::live_memberships(transaction, user, now)? {
                members.push(Member {
                    user: directory::user(transaction, user)?,
                    organization: directory::organization(transaction, membership.organization_id)?,
                    membership,
                });
            }
            members.sort_by(|a, b| {
                let (a, b) = (&a.organization, &b.organization);
                a.name.as_str().cmp(b.name.as_str()).then(a.id.cmp(&b.id))
            });
            Ok(members)
        })
        .await
    }
}

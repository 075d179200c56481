use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::id::UserId;
use keyward_domain::membership::Member;
use keyward_domain::organization::Slug;
use keyward_domain::ports::{Memberships, StorageError};

use super::BrokenStore;

#[async_trait]
impl Memberships for BrokenStore {
    async fn find_live(
        &self,
        user: UserId,
        organization: &Slug,
        now: DateTime<Utc>,
    ) -> Result<Option<Member>, StorageError> {
        let found = self.sound.find_live(user, organization, now).await?;
        Ok(found.map(|member| self.member_as_read(member)))
    }

    async fn list_live(&self, user: UserId, now: DateTime<Utc>) -> Result<Vec<Member>, StorageError> {
        let listed = self.sound.list_live(user, now).await?;
        Ok(listed
            .into_iter()
            .map(|member| self.member_as_read(member))
            .collect())
    }
}

impl BrokenStore {
    fn member_as_read(&self, member: Member) -> Member {
        Member {
            user: self.user_as_read(member.user),
            organization: self.organization_as_read(member.organization),
            membership: self.membership_as_read(member.membership),
        }
    }
}

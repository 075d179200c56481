use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::MemoryStore;
use crate::id::UserId;
use crate::membership::Member;
use crate::organization::Slug;
use crate::ports::{Memberships, StorageError};

#[async_trait]
impl Memberships for MemoryStore {
    async fn find_live(
        &self,
        user: UserId,
        organization: &Slug,
        now: DateTime<Utc>,
    ) -> Result<Option<Member>, StorageError> {
        let state = self.state()?;
        let found = state
            .organizations
            .iter()
            .find(|candidate| candidate.slug == *organization)
            .and_then(|organization| {
                let mut live = state
                    .memberships
                    .iter()
                    .filter(|membership| membership.is_live(now));
                let membership = live.find(|membership| {
                    membership.user_id == user && membership.organization_id == organization.id
                })?;
                Some(Member {
                    user: state.user(user)?.clone(),
                    organization: organization.clone(),
                    membership: membership.clone(),
                })
            });
        Ok(found)
    }

    async fn list_live(&self, user: UserId, now: DateTime<Utc>) -> Result<Vec<Member>, StorageError> {
        let state = self.state()?;
        let live = state
            .memberships
            .iter()
            .filter(|membership| membership.is_live(now) && membership.user_id == user);
        let mut members: Vec<Member> = live
            .filter_map(|membership| {
                Some(Member {
                    user: state.user(user)?.clone(),
                    organization: state.organization(membership.organization_id)?.clone(),
                    membership: membership.clone(),
                })
            })
            .collect();
        members.sort_by(|a, b| {
            let (a, b) = (&a.organization, &b.organization);
            a.name.as_str().cmp(b.name.as_str()).then(a.id.cmp(&b.id))
        });
        Ok(members)
    }
}

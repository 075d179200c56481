use async_trait::async_trait;

use super::MemoryStore;
use crate::access::{CallerOrganization, CallingKey, Credential};
use crate::holder::Consumer;
use crate::ports::{Credentials, StorageError};
use crate::token::TokenDigest;

#[async_trait]
impl Credentials for MemoryStore {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let state = self.state()?;
        let Some(stored) = state.keys.iter().find(|stored| stored.digest == *digest) else {
            return Ok(None);
        };
        let key = &stored.key;
        let found = state.membership(key.consumer_id).and_then(|membership| {
            let user = state.user(membership.user_id)?;
            let organization = state.organization(membership.organization_id)?;
            Some(Credential {
                api_key: CallingKey {
                    id: key.id,
                    created_at: key.created_at,
                    can_manage_keys: key.can_manage_keys,
                },
                consumer: Consumer {
                    id: membership.id,
                    user_id: user.id,
                    username: user.username.clone(),
                },
                organization: CallerOrganization {
                    id: organization.id,
                    slug: organization.slug.clone(),
                    name: organization.name.clone(),
                },
                key_end: key.end(),
                membership_end: membership.end,
            })
        });
        Ok(found)
    }
}

//! The hot path: what decides about one token.

use async_trait::async_trait;
use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;

use crate::directory;
use crate::key_table::{self, KEYS};
use crate::store::{FileStore, failed};
use crate::tables::KEYS_BY_DIGEST;

#[async_trait]
impl Credentials for FileStore {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let digest = *digest.as_bytes();
        self.read(move |transaction| {
            let keys_by_digest = transaction.open_table(KEYS_BY_DIGEST).map_err(failed)?;
            let Some(path) = keys_by_digest.get(digest).map_err(failed)? else {
                return Ok(None);
            };
            let (consumer, key) = path.value();
            let consumer = MembershipId::from_uuid(consumer);
            let keys = transaction.open_table(KEYS).map_err(failed)?;
            let key = key_table::find(&keys, consumer, ApiKeyId::from_uuid(key))?
                .ok_or_else(|| StorageError::Defect("a digest stands for no key".into()))?;

            let membership = directory::membership(transaction, consumer)?;
            let user = directory::user(transaction, membership.user_id)?;
            let organization = directory::organization(transaction, membership.organization_id)?;
            Ok(Some(Credential {
                api_key: CallingKey {
                    id: key.id,
                    created_at: key.created_at,
                    can_manage_keys: key.can_manage_keys,
                },
                consumer: Consumer {
                    id: consumer,
                    user_id: user.id,
                    username: user.username,
                },
                organization: CallerOrganization {
                    id: organization.id,
                    slug: organization.slug,
                    name: organization.name,
                },
                key_end: key.end(),
                membership_end: membership.end,
            }))
        })
        .await
    }
}

//! Revoking a key.

use crate::api_key::RevocationReason;
use crate::audit::RequestSource;
use crate::holder::Holder;
use crate::id::ApiKeyId;
use crate::keys::PersonalKeys;
use crate::ports::{DescendantKeys, RevokeKeyError};

impl PersonalKeys {
    /// Revokes one of the holder's keys, for good. Returns the keys that were valid until now: none if it was revoked
    /// before and had no valid descendants to go with it.
    ///
    /// # Errors
    /// [`RevokeKeyError::HolderGone`] if the key that the holder acts through is accepted no more;
    /// [`RevokeKeyError::NotFound`] also for another consumer's key.
    pub async fn revoke(
        &self,
        holder: &Holder,
        id: ApiKeyId,
        descendants: DescendantKeys,
        source: RequestSource,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let act = self.act(holder, source);
        self.keys
            .revoke(
                holder.consumer().id,
                id,
                RevocationReason::Holder,
                descendants,
                act,
            )
            .await
    }
}

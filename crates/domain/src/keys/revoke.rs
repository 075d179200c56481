//! Revoking a key.

use crate::api_key::{KeyPrecondition, RevocationReason};
use crate::audit::RequestSource;
use crate::holder::{Holder, KeyReach};
use crate::id::ApiKeyId;
use crate::keys::PersonalKeys;
use crate::ports::{DescendantKeys, RevokeKeyError};

impl PersonalKeys {
    /// Revokes one of the holder's keys: when this returns, no server accepts it. Returns the keys that were
    /// valid until now: none if it was revoked before and no valid descendants were to be revoked with it.
    ///
    /// # Errors
    /// [`RevokeKeyError::HolderGone`] if the key that the holder acts through is accepted no more, then by no
    /// server; [`RevokeKeyError::NotFound`] also for a key out of the holder's [reach](Holder::reach);
    /// [`RevokeKeyError::PreconditionFailed`] only if there is something to revoke.
    pub async fn revoke(
        &self,
        holder: &Holder,
        id: ApiKeyId,
        descendants: DescendantKeys,
        precondition: KeyPrecondition,
        source: RequestSource,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let descendants = match holder.reach() {
            KeyReach::All => descendants,
            // A key that may not manage keys has no descendants.
            KeyReach::Only(key) if key == id => DescendantKeys::Keep,
            KeyReach::Only(_) => return Err(RevokeKeyError::NotFound),
        };
        let act = holder.act(&self.sources, source);
        let revoked = self
            .keys
            .revoke(
                holder.consumer().id,
                id,
                RevocationReason::Holder.into(),
                descendants,
                precondition,
                act,
            )
            .await;
        // A client that revokes its own key again learns in this way of the first revocation, if its answer
        // was lost.
        if let Ok(_) | Err(RevokeKeyError::HolderGone) = revoked {
            self.to_all_servers.wait().await;
        }
        revoked
    }
}

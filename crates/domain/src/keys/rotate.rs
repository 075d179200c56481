//! Rotating a key.

use crate::audit::RequestSource;
use crate::holder::{Holder, KeyReach};
use crate::id::ApiKeyId;
use crate::idempotency_key::IdempotencyKey;
use crate::keys::{IssuedKey, PersonalKeys};
use crate::ports::{NewRotation, RotateKeyError, RotationDraft};
use crate::token::Token;

impl PersonalKeys {
    /// Rotates one of the holder's keys, and returns its successor with its token. A key that may not manage
    /// keys rotates none, not even itself: a thief could keep the successor. When this returns, every server
    /// knows when the old key ends.
    ///
    /// # Errors
    /// See [`RotateKeyError`]; then this call created no key.
    pub async fn rotate(
        &self,
        holder: &Holder,
        id: ApiKeyId,
        draft: RotationDraft,
        idempotency_key: Option<IdempotencyKey>,
        source: RequestSource,
    ) -> Result<IssuedKey, RotateKeyError> {
        if holder.reach() != KeyReach::All {
            return Err(RotateKeyError::MayNotManageKeys);
        }
        let consumer = holder.consumer().id;
        let begun = self.in_progress.begin_request(consumer, idempotency_key);
        let _begun = begun.map_err(|_| RotateKeyError::InProgress)?;
        let token = Token::generate(&self.sources);
        let new = NewRotation {
            consumer_id: consumer,
            old_key: id,
            successor: self.sources.next_id(),
            hint: token.hint(),
            digest: token.digest(),
            draft,
            idempotency_key,
        };
        let act = holder.act(&self.sources, source);
        let rotated = self.keys.rotate(new, self.limits.changes, act).await;
        // Also after one that came too late: the first one may still be waiting.
        if let Ok(_)
        | Err(
            RotateKeyError::HolderGone
            | RotateKeyError::AlreadyCreated(_)
            | RotateKeyError::AlreadyRotated(_)
            | RotateKeyError::Revoked,
        ) = rotated
        {
            self.to_all_servers.wait().await;
        }
        Ok(IssuedKey { key: rotated?, token })
    }
}

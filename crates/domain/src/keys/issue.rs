//! Issuing a key.

use crate::api_key::{ApiKey, KeyDraft};
use crate::audit::RequestSource;
use crate::holder::{Holder, KeyReach};
use crate::idempotency_key::IdempotencyKey;
use crate::keys::PersonalKeys;
use crate::ports::{AddKeyError, NewApiKey};
use crate::token::Token;

/// A new key with its token, which is shown once.
#[derive(Debug)]
pub struct IssuedKey {
    /// As it is stored, without its token.
    pub key: ApiKey,
    /// The token, which is not stored.
    pub token: Token,
}

impl PersonalKeys {
    /// Issues a key to the holder. Its origin is how the holder acts: in the console, or through a key, which
    /// becomes the parent. A key that may not manage keys cannot issue keys.
    ///
    /// # Errors
    /// See [`AddKeyError`]; then this call created no key.
    pub async fn issue(
        &self,
        holder: &Holder,
        draft: KeyDraft,
        idempotency_key: Option<IdempotencyKey>,
        source: RequestSource,
    ) -> Result<IssuedKey, AddKeyError> {
        if holder.reach() != KeyReach::All {
            return Err(AddKeyError::MayNotManageKeys);
        }
        let begun = self
            .in_progress
            .begin_request(holder.consumer().id, idempotency_key);
        let _begun = begun.map_err(|_| AddKeyError::InProgress)?;
        let act = holder.act(&self.sources, source);
        let token = Token::generate(&self.sources);
        let organization_decides = draft.can_manage_keys.is_none();
        let key = ApiKey::new(
            self.sources.next_id(),
            holder.consumer().id,
            holder.acts_through(),
            draft,
            token.hint(),
            act.at,
        );
        let new = NewApiKey {
            key,
            organization_decides,
            digest: token.digest(),
            idempotency_key,
        };
        let key = self.keys.add(new, self.limits, act).await?;
        Ok(IssuedKey { key, token })
    }
}

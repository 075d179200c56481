//! Issuing a key.

use crate::api_key::{ApiKey, KeyDescription, KeyName};
use crate::audit::RequestSource;
use crate::form_nonce::FormNonce;
use crate::holder::{Holder, KeyReach};
use crate::keys::PersonalKeys;
use crate::ports::{AddKeyError, NewApiKey};
use crate::token::Token;

/// What a holder says about the key they want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDraft {
    /// Its name.
    pub name: KeyName,
    /// What it is for.
    pub description: KeyDescription,
    /// Whether it may manage keys; if absent, as the organization has chosen for new keys.
    pub can_manage_keys: Option<bool>,
}

/// A new key and, this once, its token.
#[derive(Debug)]
pub struct IssuedKey {
    /// The key.
    pub key: ApiKey,
    /// The token, which nobody can show again.
    pub token: Token,
}

impl PersonalKeys {
    /// Issues a key to the holder. Its origin is how the holder acts: in person, or through a key that becomes its
    /// parent. A key that may not manage keys issues none.
    ///
    /// # Errors
    /// See [`AddKeyError`]; then no key exists, but for [`AddKeyError::AlreadyCreated`].
    pub async fn issue(
        &self,
        holder: &Holder,
        draft: KeyDraft,
        nonce: Option<FormNonce>,
        source: RequestSource,
    ) -> Result<IssuedKey, AddKeyError> {
        if holder.reach() != KeyReach::All {
            return Err(AddKeyError::MayNotManageKeys);
        }
        let act = holder.act(&self.sources, source);
        let token = Token::generate(&self.sources);
        let key = ApiKey {
            id: self.sources.next_id(),
            consumer_id: holder.consumer().id,
            hint: token.hint(),
            name: draft.name,
            description: draft.description,
            origin: holder.acts_through(),
            adopted_by: None,
            can_manage_keys: draft.can_manage_keys.unwrap_or(true),
            created_at: act.at,
            revocation: None,
            last_use: None,
        };
        let new = NewApiKey {
            key,
            organization_decides: draft.can_manage_keys.is_none(),
            digest: token.digest(),
            nonce,
        };
        let key = self.keys.add(new, self.limits, act).await?;
        Ok(IssuedKey { key, token })
    }
}

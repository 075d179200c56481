//! Issuing a key.

use crate::api_key::{ApiKey, KeyDescription, KeyName};
use crate::audit::RequestSource;
use crate::form_nonce::FormNonce;
use crate::holder::{Holder, KeyReach};
use crate::id::ApiKeyId;
use crate::keys::PersonalKeys;
use crate::ports::{AddKeyError, KeyLimit, NewApiKey, StorageError};
use crate::rate::Throttled;
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

/// Why no key was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueKeyError {
    /// Between proving who they are and now, the holder's membership ended or their key was revoked.
    #[error("the holder may not create keys any more")]
    HolderGone,
    /// The holder acts through a key that may not manage keys.
    #[error("this key may not create keys")]
    MayNotManageKeys,
    /// The holder created and edited keys too often.
    #[error(transparent)]
    Throttled(Throttled),
    /// This form has created this key before; its token is not shown again.
    #[error("this form has created key {0} already")]
    AlreadyCreated(ApiKeyId),
    /// The holder has as many valid keys as they may.
    #[error("at most {} valid keys are allowed: revoke one first", .0.0)]
    LimitReached(KeyLimit),
    /// The key that the holder acts through ends a line of as many valid keys as may make each other.
    #[error(
        "at most {} valid keys may come from one another: create the key with one that was made earlier, or in the console",
        ApiKey::MAX_LINE
    )]
    TreeTooDeep,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PersonalKeys {
    /// Issues a key to the holder. Its origin is how the holder acts: in person, or through a key that becomes its
    /// parent. A key that may not manage keys issues none.
    ///
    /// # Errors
    /// See [`IssueKeyError`]; then no key exists, but for [`IssueKeyError::AlreadyCreated`].
    pub async fn issue(
        &self,
        holder: &Holder,
        draft: KeyDraft,
        nonce: Option<FormNonce>,
        source: RequestSource,
    ) -> Result<IssuedKey, IssueKeyError> {
        if holder.reach() != KeyReach::All {
            return Err(IssueKeyError::MayNotManageKeys);
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
        match self.keys.add(new, self.limits, act).await {
            Ok(key) => Ok(IssuedKey { key, token }),
            Err(AddKeyError::HolderGone) => Err(IssueKeyError::HolderGone),
            Err(AddKeyError::MayNotManageKeys) => Err(IssueKeyError::MayNotManageKeys),
            Err(AddKeyError::Throttled(throttled)) => Err(IssueKeyError::Throttled(throttled)),
            Err(AddKeyError::AlreadyCreated(key)) => Err(IssueKeyError::AlreadyCreated(key)),
            Err(AddKeyError::LimitReached) => Err(IssueKeyError::LimitReached(self.limits.valid)),
            Err(AddKeyError::TreeTooDeep) => Err(IssueKeyError::TreeTooDeep),
            Err(AddKeyError::Storage(error)) => Err(error.into()),
        }
    }
}

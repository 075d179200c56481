//! Issuing a key.

use crate::api_key::{ApiKey, KeyDescription, KeyName};
use crate::audit::{Action, RequestSource, Subject};
use crate::holder::Holder;
use crate::id::ApiKeyId;
use crate::keys::{FormNonce, PersonalKeys};
use crate::ports::{AddKeyError, KeyLimit, NewApiKey, StorageError};
use crate::token::Token;

/// What a holder says about the key they want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDraft {
    /// Its name.
    pub name: KeyName,
    /// What it is for.
    pub description: KeyDescription,
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
    /// parent.
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
        let act = self.act(holder, source);
        let token = Token::generate(&*self.random);
        let key = ApiKey {
            id: self.ids.next(),
            consumer_id: holder.consumer().id,
            hint: token.hint(),
            name: draft.name,
            description: draft.description,
            origin: holder.acts_through(),
            adopted_by: None,
            created_at: act.at,
            revocation: None,
            last_use: None,
        };
        let event = act.event(Action::CreateApiKey, Subject::ApiKey(key.id));
        let new = NewApiKey {
            key: key.clone(),
            digest: token.digest(),
            nonce,
        };
        match self.keys.add(new, self.limit, event).await {
            Ok(()) => Ok(IssuedKey { key, token }),
            Err(AddKeyError::HolderGone) => Err(IssueKeyError::HolderGone),
            Err(AddKeyError::AlreadyCreated(key)) => Err(IssueKeyError::AlreadyCreated(key)),
            Err(AddKeyError::LimitReached) => Err(IssueKeyError::LimitReached(self.limit)),
            Err(AddKeyError::TreeTooDeep) => Err(IssueKeyError::TreeTooDeep),
            Err(AddKeyError::Storage(error)) => Err(error.into()),
        }
    }
}

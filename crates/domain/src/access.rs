//! Access: which token is accepted, and whom it acts as.

use std::net::IpAddr;
use std::sync::Arc;

use crate::api_key::LastUse;
use crate::clock::Clock;
use crate::ports::{Credentials, StorageError};
use crate::recent_uses::RecentUses;
use crate::refused_uses::{RefusedUse, RefusedUses};
use crate::token::Token;

pub use crate::credential::{Caller, CallerOrganization, CallingKey, Credential};

/// Finds out who sends a token.
#[derive(Clone)]
pub struct Authenticate {
    credentials: Arc<dyn Credentials>,
    uses: Option<(Arc<RecentUses>, Arc<dyn Clock>)>,
    refused_uses: Option<(Arc<RefusedUses>, Arc<dyn Clock>)>,
}

/// Why a token was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Malformed, unknown, revoked, or its user is gone. Callers must not be able to tell these apart.
    #[error("the token is not accepted")]
    InvalidToken,
    /// Nobody can say at the moment.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Authenticate {
    /// Decides by the given store.
    #[must_use]
    pub fn new(credentials: Arc<dyn Credentials>) -> Self {
        Self {
            credentials,
            uses: None,
            refused_uses: None,
        }
    }

    /// Notes from now on when and from where each key is used. Whoever asks for this also writes it down: see
    /// [`RecentUses`].
    #[must_use]
    pub fn noting_uses_in(self, uses: Arc<RecentUses>, clock: Arc<dyn Clock>) -> Self {
        Self {
            uses: Some((uses, clock)),
            ..self
        }
    }

    /// Notes from now on who uses keys that no longer work. Whoever asks for this also reports it: see
    /// [`RefusedUses`].
    #[must_use]
    pub fn noting_refused_uses_in(self, uses: Arc<RefusedUses>, clock: Arc<dyn Clock>) -> Self {
        Self {
            refused_uses: Some((uses, clock)),
            ..self
        }
    }

    /// Who sends this token, from the given address. A text that is no token is refused before storage is asked.
    ///
    /// # Errors
    /// [`AuthenticateError::InvalidToken`] unless the key is valid and its membership is live.
    pub async fn caller(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, AuthenticateError> {
        let digest = Token::parse(token)
            .map_err(|_| AuthenticateError::InvalidToken)?
            .digest();
        let credential = self.credentials.find(&digest).await?;
        if let Some(refused) = credential.as_ref().filter(|found| !found.is_accepted()) {
            self.note_refused_use(refused, from);
        }
        let caller = credential
            .and_then(Credential::into_caller)
            .ok_or(AuthenticateError::InvalidToken)?;
        self.note_use(caller.api_key(), from);
        Ok(caller)
    }

    fn note_refused_use(&self, credential: &Credential, from: Option<IpAddr>) {
        if let Some((uses, clock)) = &self.refused_uses {
            uses.note(RefusedUse::of(credential, clock.now(), from));
        }
    }

    fn note_use(&self, key: CallingKey, from: Option<IpAddr>) {
        if let Some((uses, clock)) = &self.uses {
            let at = clock.now();
            uses.note(key.id, LastUse { at, from });
        }
    }
}

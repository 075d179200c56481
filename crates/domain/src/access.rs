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
    clock: Arc<dyn Clock>,
    uses: Option<Arc<RecentUses>>,
    refused_uses: Option<Arc<RefusedUses>>,
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
    /// Decides by the given store and clock.
    #[must_use]
    pub fn new(credentials: Arc<dyn Credentials>, clock: Arc<dyn Clock>) -> Self {
        Self {
            credentials,
            clock,
            uses: None,
            refused_uses: None,
        }
    }

    /// Notes from now on when and from where each key is used. Whoever asks for this also writes it down: see
    /// [`RecentUses`].
    #[must_use]
    pub fn noting_uses_in(self, uses: Arc<RecentUses>) -> Self {
        Self {
            uses: Some(uses),
            ..self
        }
    }

    /// Notes from now on who uses keys that no longer work. Whoever asks for this also reports it: see
    /// [`RefusedUses`].
    #[must_use]
    pub fn noting_refused_uses_in(self, uses: Arc<RefusedUses>) -> Self {
        Self {
            refused_uses: Some(uses),
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
        // Asked afterwards: an end that came while the store was asked has come.
        let now = self.clock.now();
        if let Some(refused) = credential.as_ref().filter(|found| !found.is_accepted(now))
            && let Some(uses) = &self.refused_uses
        {
            uses.note(RefusedUse::of(refused, now, from));
        }
        let caller = credential
            .and_then(|found| found.into_caller(now))
            .ok_or(AuthenticateError::InvalidToken)?;
        if let Some(uses) = &self.uses {
            uses.note(caller.api_key().id, LastUse { at: now, from });
        }
        Ok(caller)
    }
}

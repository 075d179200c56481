//! Authentication of tokens: which are accepted, and the consumer that each acts as.

use std::future::ready;
use std::net::IpAddr;
use std::sync::Arc;

use crate::api_key::LastUse;
use crate::clock::Clock;
use crate::ports::{Credentials, StorageError};
use crate::propagation::{Propagation, ToAllServers};
use crate::recent_uses::RecentUses;
use crate::refused_uses::{RefusedUse, RefusedUses};
use crate::token::Token;

pub use crate::credential::{Caller, CallerOrganization, CallingKey, Credential};

/// The use case that authenticates a token.
#[derive(Clone)]
pub struct Authenticate {
    credentials: Arc<dyn Credentials>,
    clock: Arc<dyn Clock>,
    uses: Option<Arc<RecentUses>>,
    refused_uses: Option<Arc<RefusedUses>>,
    to_all_servers: ToAllServers,
}

/// Why a token was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// The token is malformed, unknown or revoked, or its user has left. Clients must not be able to
    /// distinguish these.
    #[error("the token is not accepted")]
    InvalidToken,
    /// The store failed, so it is unknown whether the token is valid.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a token was not accepted, for adapters that act on the difference. Clients must not learn it.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The token is malformed, or no key has it.
    #[error("the token is malformed or unknown")]
    Unknown,
    /// Its key was revoked or has expired, or its user has left.
    #[error("the key or its membership has ended")]
    Ended,
    /// The store failed, so it is unknown whether the token is valid.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<Refused> for AuthenticateError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Unknown | Refused::Ended => Self::InvalidToken,
            Refused::Storage(error) => Self::Storage(error),
        }
    }
}

impl Authenticate {
    /// Creates the use case over a store and a clock.
    #[must_use]
    pub fn new(credentials: Arc<dyn Credentials>, clock: Arc<dyn Clock>) -> Self {
        Self {
            credentials,
            clock,
            uses: None,
            refused_uses: None,
            to_all_servers: ToAllServers::default(),
        }
    }

    /// Waits for other servers [before a revocation is refused](Authenticate::refused_everywhere).
    #[must_use]
    pub fn with_propagation(self, propagation: Arc<dyn Propagation>) -> Self {
        Self {
            to_all_servers: ToAllServers::by(propagation),
            ..self
        }
    }

    /// Records each accepted use in memory. The caller must also write these to the store: see
    /// [`RecentUses`].
    #[must_use]
    pub fn with_recent_uses(self, uses: Arc<RecentUses>) -> Self {
        Self {
            uses: Some(uses),
            ..self
        }
    }

    /// Records uses of dead keys in memory. The caller must also report these: see [`RefusedUses`].
    #[must_use]
    pub fn with_refused_uses(self, uses: Arc<RefusedUses>) -> Self {
        Self {
            refused_uses: Some(uses),
            ..self
        }
    }

    /// Authenticates a token that was sent from the given IP address. A malformed token is refused without
    /// asking the store.
    ///
    /// # Errors
    /// [`AuthenticateError::InvalidToken`] unless the key is valid and its membership is live.
    pub async fn caller(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, AuthenticateError> {
        Ok(self.caller_with_permit(token, from, ready(())).await?)
    }

    /// Authenticates like [`Authenticate::caller`], for an adapter that limits how often tokens are looked
    /// up: before the store is asked about a token that may be a guess, `permit` is awaited, and what it
    /// yields is held until the store has answered.
    ///
    /// # Errors
    /// [`Refused`] unless the key is valid and its membership is live.
    pub async fn caller_with_permit<T>(
        &self,
        token: &str,
        from: Option<IpAddr>,
        permit: impl Future<Output = T>,
    ) -> Result<Caller, Refused> {
        let digest = Token::parse(token).map_err(|_| Refused::Unknown)?.digest();
        let credential = match self.credentials.remembered(&digest) {
            Some(credential) => credential,
            None => {
                let _permit = match self.credentials.is_familiar(&digest) {
                    true => None,
                    false => Some(permit.await),
                };
                let found = self.credentials.find(&digest).await?;
                found.ok_or(Refused::Unknown)?
            }
        };
        // Read after the query, so that an end that came during the query counts.
        let now = self.clock.now();
        if let Some(uses) = self
            .refused_uses
            .as_ref()
            .filter(|_| !credential.is_accepted(now))
        {
            uses.note(RefusedUse::of(&credential, now, from));
        }
        let caller = credential.into_caller(now).ok_or(Refused::Ended)?;
        if let Some(uses) = &self.uses {
            uses.note(caller.api_key().id, LastUse { at: now, from });
        }
        Ok(caller)
    }

    /// Waits until no server accepts the refused key, before a request to revoke keys gets the refusal: if
    /// the answer was lost when a key revoked itself, its repeated request is refused, and that must promise
    /// the same.
    ///
    /// It does not wait because of an unknown token, so that strangers cannot make the servers read the
    /// database. The duration reveals to a client with a dead key's token that it was a key; tokens cannot be
    /// found by trying.
    pub async fn refused_everywhere(&self, refused: &Refused) {
        match refused {
            Refused::Ended => self.to_all_servers.wait().await,
            Refused::Unknown | Refused::Storage(_) => {}
        }
    }
}

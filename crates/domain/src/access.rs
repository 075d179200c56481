//! Authentication of tokens: which are accepted, and the consumer that each acts as.

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
    /// The token is malformed, unknown or revoked, or its user has left. Clients must not be able to distinguish these.
    #[error("the token is not accepted")]
    InvalidToken,
    /// The store failed, so it is unknown whether the token is valid.
    #[error(transparent)]
    Storage(#[from] StorageError),
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

    /// Waits for other servers before it refuses a [revoker](Authenticate::revoker).
    #[must_use]
    pub fn with_propagation(self, propagation: Arc<dyn Propagation>) -> Self {
        Self {
            to_all_servers: ToAllServers::by(propagation),
            ..self
        }
    }

    /// Records each accepted use in memory. The caller must also write these to the store: see [`RecentUses`].
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

    /// Authenticates a token that was sent from the given IP address. A malformed token is refused without asking the
    /// store.
    ///
    /// # Errors
    /// [`AuthenticateError::InvalidToken`] unless the key is valid and its membership is live.
    pub async fn caller(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, AuthenticateError> {
        let digest = Token::parse(token)
            .map_err(|_| AuthenticateError::InvalidToken)?
            .digest();
        let credential = self.credentials.find(&digest).await?;
        // Read after the query, so that an end that came during the query counts.
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

    /// Authenticates like [`Authenticate::caller`] the token of a request that revokes keys. If it is refused, no server
    /// accepts it: a key that revokes itself, and repeats that because the answer was lost, gets a refusal in its place.
    ///
    /// Every well-formed token is waited for alike, so that the time tells nobody which ones there were.
    ///
    /// # Errors
    /// As for [`Authenticate::caller`].
    pub async fn revoker(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, AuthenticateError> {
        let caller = self.caller(token, from).await;
        if let Err(AuthenticateError::InvalidToken) = caller
            && Token::parse(token).is_ok()
        {
            self.to_all_servers.wait().await;
        }
        caller
    }
}

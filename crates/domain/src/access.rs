//! Access: which token is accepted, and whom it acts as.

use std::net::IpAddr;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::api_key::{LastUse, Origin};
use crate::clock::Clock;
use crate::holder::{Consumer, Holder, KeyReach};
use crate::id::{ApiKeyId, OrganizationId};
use crate::organization::{OrganizationName, Slug};
use crate::ports::{Credentials, StorageError};
use crate::recent_uses::RecentUses;
use crate::refused_uses::{RefusedUse, RefusedUses};
use crate::token::Token;

/// Everything that decides about one token, as storage knew it at one moment. It proves nothing by itself: only
/// [`Authenticate`] makes a [`Caller`] of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The key.
    pub api_key: CallingKey,
    /// The identity it acts as.
    pub consumer: Consumer,
    /// The consumer's organization.
    pub organization: CallerOrganization,
    /// When the key was revoked, if it was.
    pub revoked_at: Option<DateTime<Utc>>,
    /// When the consumer's membership ended, if it did.
    pub membership_ended_at: Option<DateTime<Utc>>,
}

impl Credential {
    /// A key authenticates only while it is valid and its membership is live.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        self.revoked_at.is_none() && self.membership_ended_at.is_none()
    }

    /// Who sends the token, if it is accepted.
    fn into_caller(self) -> Option<Caller> {
        self.is_accepted().then_some(Caller {
            api_key: self.api_key,
            consumer: self.consumer,
            organization: self.organization,
        })
    }
}

/// A key that sends a request, and whom it acts as. It was accepted: [`Authenticate::caller`] is the only way to one.
///
/// ```compile_fail,E0451
/// use keyward_domain::access::{Caller, Credential};
///
/// fn forged(credential: Credential) -> Caller {
///     let Credential { api_key, consumer, organization, .. } = credential;
///     Caller { api_key, consumer, organization }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    api_key: CallingKey,
    consumer: Consumer,
    organization: CallerOrganization,
}

/// What every answer may say about the key of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallingKey {
    /// The key's identifier.
    pub id: ApiKeyId,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Whether it may create keys, and see and change the other keys of its consumer.
    pub can_manage_keys: bool,
}

/// What every answer may say about the organization of its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerOrganization {
    /// The organization's identifier.
    pub id: OrganizationId,
    /// Its place in addresses.
    pub slug: Slug,
    /// Its name.
    pub name: OrganizationName,
}

impl Caller {
    /// The key.
    #[must_use]
    pub const fn api_key(&self) -> CallingKey {
        self.api_key
    }

    /// The identity it acts as.
    #[must_use]
    pub const fn consumer(&self) -> &Consumer {
        &self.consumer
    }

    /// The consumer's organization.
    #[must_use]
    pub const fn organization(&self) -> &CallerOrganization {
        &self.organization
    }

    /// The caller as holder of its consumer's keys, acting through the key of this request.
    #[must_use]
    pub fn as_holder(&self) -> Holder {
        Holder {
            consumer: self.consumer.clone(),
            organization_id: self.organization.id,
            acts_through: Origin::Key(self.api_key.id),
            reach: KeyReach::of_key(self.api_key.id, self.api_key.can_manage_keys),
        }
    }
}

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
        self.note_use(caller.api_key, from);
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

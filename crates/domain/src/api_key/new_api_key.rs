//! A key that is about to be stored.

use chrono::{DateTime, Utc};

use super::{ApiKey, InvalidExpiry};
use crate::idempotency_key::IdempotencyKey;
use crate::token::TokenDigest;

/// A key to be stored, with what is kept of its token.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// As it is to be stored, without its token.
    pub key: ApiKey,
    /// Whether the organization's default for new keys replaces [`ApiKey::can_manage_keys`], because the
    /// request did not say.
    pub organization_decides: bool,
    /// Its token's digest; unique among all keys.
    pub digest: TokenDigest,
    /// The single use of the console form or the request that asks for it, if it has one.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl NewApiKey {
    /// Whether its planned end, if it has one, lies ahead of the moment at which it is stored.
    ///
    /// # Errors
    /// It has passed.
    pub fn check_expiry(&self, now: DateTime<Utc>) -> Result<(), InvalidExpiry> {
        if self.key.is_valid(now) {
            Ok(())
        } else {
            Err(InvalidExpiry::Past)
        }
    }
}

//! Recognizes browsers in which a user signed in before.

use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};

use crate::id::UserId;
use crate::ports::StorageError;
use crate::sign_in::account::Account;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::ports::InstallationStore;
use crate::sign_in::remembered_browser::{BrowserKey, BrowserToken, RememberedBrowser};
use crate::sources::Sources;

/// An identifier that no user has.
const NO_USER: UserId = UserId::from_uuid(uuid::Uuid::nil());

/// Makes the cookies of remembered browsers, and reads them.
#[derive(Clone)]
pub(super) struct BrowserMemory {
    installation: Arc<dyn InstallationStore>,
    sources: Sources,
    /// It never changes, so it is read once.
    key: Arc<OnceLock<BrowserKey>>,
}

/// Makes cookies without a request to the store.
pub(super) struct BrowserCookies {
    key: BrowserKey,
    sources: Sources,
}

impl BrowserMemory {
    pub(super) fn new(installation: Arc<dyn InstallationStore>, sources: Sources) -> Self {
        Self {
            installation,
            sources,
            key: Arc::default(),
        }
    }

    /// The browser that a cookie names, if the account's user signed in there. It takes as long without an
    /// account.
    pub(super) async fn recognize(
        &self,
        cookie: Option<&BrowserToken>,
        account: Option<&Account>,
        now: DateTime<Utc>,
    ) -> Result<Option<RememberedBrowser>, StorageError> {
        let Some(cookie) = cookie else { return Ok(None) };
        let key = self.key().await?;
        let no_password = PasswordHash::from_phc_string(String::new());
        let (user, password) = account.map_or((NO_USER, &no_password), |account| {
            (account.user.id, &account.password_hash)
        });
        let browser = cookie.browser_of(user, password, &key, now);
        Ok(browser.filter(|_| account.is_some()))
    }

    /// Fetches the key for cookies in advance, because later steps must not fail.
    pub(super) async fn cookies(&self) -> Result<BrowserCookies, StorageError> {
        Ok(BrowserCookies {
            key: self.key().await?,
            sources: self.sources.clone(),
        })
    }

    async fn key(&self) -> Result<BrowserKey, StorageError> {
        if let Some(key) = self.key.get() {
            return Ok(key.clone());
        }
        let candidate = BrowserKey::generate(&self.sources);
        let key = self.installation.browser_key(candidate).await?;
        Ok(self.key.get_or_init(|| key).clone())
    }
}

impl BrowserCookies {
    /// The cookie of a browser in which the user has just shown that they know their password.
    pub(super) fn remember(
        &self,
        user: UserId,
        password: &PasswordHash,
        before: Option<&BrowserToken>,
        now: DateTime<Utc>,
    ) -> Option<BrowserToken> {
        BrowserToken::remember(user, password, before, &self.key, now, &self.sources)
    }
}

//! Finding credentials in SQLite.

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;

use super::sql::credentials;
use super::store::SqliteStore;

#[async_trait]
impl Credentials for SqliteStore {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let digest = *digest;
        self.look_up(move |connection| Box::pin(credentials::find(connection, digest)))
            .await
    }
}

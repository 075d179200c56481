//! The state of the installation: one row, created by the first migration.

use std::convert::Infallible;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper};
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{
    CompleteSetupError, FirstOwner, InstallationStore, ReplaceSetupLinkError, SetupProof,
};
use keyward_domain::sign_in::remembered_browser::BrowserKey;
use keyward_domain::sign_in::setup::SetupDigest;

use super::dialect::{Connection, Database, RunQueryDsl, Store, locked, write_events};
use super::events::write_event;
use super::people::{NewUserRow, OrganizationRow, add_membership};
use super::schema::{installation, organizations, users};
use crate::abort::Abort;
use crate::columns::StoredMoment;
use crate::stored_row::StoredRow;

#[async_trait]
impl InstallationStore for Store {
    async fn browser_key(&self, candidate: BrowserKey) -> Result<BrowserKey, StorageError> {
        let stored = read!(self, browser_key())?;
        match stored {
            Some(key) => Ok(key),
            None => {
                change!(self, |connection| {
                    // Of concurrent updates, the second waits for the first and then changes nothing, because
                    // a key exists.
                    diesel::update(installation::table.filter(installation::browser_key.is_null()))
                        .set(installation::browser_key.eq(candidate.as_bytes().as_slice()))
                        .execute(connection)
                        .await?;
                    Ok(browser_key(connection).await?.unwrap_or(candidate))
                })
            }
        }
    }

    async fn is_set_up(&self) -> Result<bool, StorageError> {
        read!(self, |connection| {
            Ok(read(connection).await?.set_up_at.is_some())
        })
    }

    async fn replace_setup_link(
        &self,
        digest: SetupDigest,
        expires_at: DateTime<Utc>,
        event: AuditEvent,
    ) -> Result<(), ReplaceSetupLinkError> {
        change!(self, |connection| {
            if lock(connection).await?.set_up_at.is_some() {
                return Err(Abort::Refused(ReplaceSetupLinkError::AlreadySetUp));
            }
            diesel::update(installation::table)
                .set((
                    installation::setup_link_digest.eq(digest.as_bytes().as_slice()),
                    installation::setup_link_expires_at.eq(StoredMoment::from(expires_at)),
                ))
                .execute(connection)
                .await?;
            write_event(connection, event).await?;
            Ok(())
        })
    }

    async fn setup_link_works(&self, digest: &SetupDigest, now: DateTime<Utc>) -> Result<bool, StorageError> {
        let digest = *digest;
        read!(self, |connection| {
            Ok(read(connection).await?.has_link(&digest, now))
        })
    }

    async fn set_up(
        &self,
        proof: SetupProof,
        first_owner: FirstOwner,
        events: Vec<AuditEvent>,
    ) -> Result<(), CompleteSetupError> {
        change!(self, |connection| {
            let before = lock(connection).await?;
            if before.set_up_at.is_some() {
                return Err(Abort::Refused(CompleteSetupError::AlreadySetUp));
            }
            match proof {
                SetupProof::Link { digest, at } if !before.has_link(&digest, at) => {
                    return Err(Abort::Refused(CompleteSetupError::LinkInvalid));
                }
                SetupProof::Link { .. } | SetupProof::CommandLine => {}
            }
            let FirstOwner {
                organization,
                user,
                membership,
                password_hash,
            } = first_owner;
            diesel::update(installation::table)
                .set((
                    installation::set_up_at.eq(StoredMoment::from(organization.created_at)),
                    installation::setup_link_digest.eq(None::<Vec<u8>>),
                    installation::setup_link_expires_at.eq(None::<StoredMoment>),
                ))
                .execute(connection)
                .await?;
            diesel::insert_into(organizations::table)
                .values(OrganizationRow::from(organization))
                .execute(connection)
                .await?;
            diesel::insert_into(users::table)
                .values(NewUserRow::new(&user, &password_hash))
                .execute(connection)
                .await?;
            add_membership(connection, membership).await?;
            write_events(connection, events).await?;
            Ok(())
        })
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = installation, check_for_backend(Database))]
struct InstallationRow {
    set_up_at: Option<StoredMoment>,
    setup_link_digest: Option<Vec<u8>>,
    setup_link_expires_at: Option<StoredMoment>,
}

impl InstallationRow {
    /// Comparing digests needs no constant time: an attacker who can choose a digest cannot find its
    /// preimage.
    fn has_link(&self, digest: &SetupDigest, now: DateTime<Utc>) -> bool {
        let is_the_link = self.setup_link_digest.as_deref() == Some(digest.as_bytes().as_slice());
        let expires_at = self.setup_link_expires_at.and_then(|moment| moment.0.ok());
        is_the_link && expires_at.is_some_and(|moment| now < moment)
    }
}

async fn browser_key<E>(connection: &mut Connection) -> Result<Option<BrowserKey>, Abort<E>> {
    let stored: Option<Vec<u8>> = installation::table
        .select(installation::browser_key)
        .get_result(connection)
        .await?;
    let key = stored.map(|bytes| <[u8; BrowserKey::BYTES]>::try_from(bytes).map(BrowserKey::from_bytes));
    Ok(key.transpose().map_err(|bytes| {
        let stored = StoredRow::new("installation", "the only row");
        stored.corrupt("browser_key", format!("{} bytes long", bytes.len()))
    })?)
}

async fn read(connection: &mut Connection) -> Result<InstallationRow, Abort<Infallible>> {
    Ok(installation::table
        .select(InstallationRow::as_select())
        .get_result(connection)
        .await?)
}

/// Locks the installation's row: concurrent changes are serialized.
async fn lock(connection: &mut Connection) -> Result<InstallationRow, diesel::result::Error> {
    locked!(installation::table.select(InstallationRow::as_select()))
        .get_result(connection)
        .await
}

//! What is true of the installation as a whole: one row, which the first migration made.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{
    ExpressionMethods, QueryDsl, Queryable, RunQueryDsl, Selectable, SelectableHelper, SqliteConnection,
};
use diesel::sqlite::Sqlite;
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::ports::{
    FirstOwner, InstallationStore, ReplaceSetupLinkError, SetUpError, SetupProof,
};
use keyward_domain::sign_in::remembered_browser::BrowserKey;
use keyward_domain::sign_in::setup::SetupDigest;

use super::audit_log::{write_event, write_events};
use super::people::{MembershipRow, NewUserRow, OrganizationRow};
use super::schema::{installation, memberships, organizations, users};
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::browser_key::read_browser_key;

#[async_trait]
impl InstallationStore for SqliteStore {
    async fn browser_key(&self, candidate: BrowserKey) -> Result<BrowserKey, StorageError> {
        match self.read(browser_key).await? {
            Some(key) => Ok(key),
            None => {
                self.change(move |connection| keep_browser_key(connection, candidate))
                    .await
            }
        }
    }

    async fn is_set_up(&self) -> Result<bool, StorageError> {
        self.read(|connection| Ok(read(connection)?.set_up_at.is_some()))
            .await
    }

    async fn replace_setup_link(
        &self,
        digest: SetupDigest,
        expires_at: DateTime<Utc>,
        event: AuditEvent,
    ) -> Result<(), ReplaceSetupLinkError> {
        self.change(move |connection| replace_setup_link(connection, digest, expires_at, event))
            .await
    }

    async fn setup_link_works(&self, digest: &SetupDigest, now: DateTime<Utc>) -> Result<bool, StorageError> {
        let digest = *digest;
        self.read(move |connection| Ok(read(connection)?.has_link(&digest, now)))
            .await
    }

    async fn set_up(
        &self,
        proof: SetupProof,
        first_owner: FirstOwner,
        events: Vec<AuditEvent>,
    ) -> Result<(), SetUpError> {
        self.change(move |connection| set_up(connection, proof, first_owner, events))
            .await
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = installation, check_for_backend(Sqlite))]
struct InstallationRow {
    set_up_at: Option<i64>,
    setup_link_digest: Option<Vec<u8>>,
    setup_link_expires_at: Option<i64>,
}

impl InstallationRow {
    /// Comparing digests leaks nothing by its time: whoever can choose them cannot choose what they are digests of.
    fn has_link(&self, digest: &SetupDigest, now: DateTime<Utc>) -> bool {
        let is_the_link = self.setup_link_digest.as_deref() == Some(digest.as_bytes().as_slice());
        is_the_link
            && self
                .setup_link_expires_at
                .is_some_and(|moment| now.timestamp_millis() < moment)
    }
}

fn read(connection: &mut SqliteConnection) -> QueryResult<InstallationRow> {
    installation::table
        .select(InstallationRow::as_select())
        .get_result(connection)
}

fn browser_key<E>(connection: &mut SqliteConnection) -> Result<Option<BrowserKey>, Abort<E>> {
    let stored: Option<Vec<u8>> = installation::table
        .select(installation::browser_key)
        .get_result(connection)?;
    Ok(read_browser_key(stored)?)
}

fn keep_browser_key(
    connection: &mut SqliteConnection,
    candidate: BrowserKey,
) -> Result<BrowserKey, Abort<StorageError>> {
    diesel::update(installation::table.filter(installation::browser_key.is_null()))
        .set(installation::browser_key.eq(candidate.as_bytes().as_slice()))
        .execute(connection)?;
    Ok(browser_key(connection)?.unwrap_or(candidate))
}

fn replace_setup_link(
    connection: &mut SqliteConnection,
    digest: SetupDigest,
    expires_at: DateTime<Utc>,
    event: AuditEvent,
) -> Result<(), Abort<ReplaceSetupLinkError>> {
    if read(connection)?.set_up_at.is_some() {
        return Err(Abort::Refused(ReplaceSetupLinkError::AlreadySetUp));
    }
    diesel::update(installation::table)
        .set((
            installation::setup_link_digest.eq(digest.as_bytes().as_slice()),
            installation::setup_link_expires_at.eq(expires_at.timestamp_millis()),
        ))
        .execute(connection)?;
    write_event(connection, event)?;
    Ok(())
}

fn set_up(
    connection: &mut SqliteConnection,
    proof: SetupProof,
    first_owner: FirstOwner,
    events: Vec<AuditEvent>,
) -> Result<(), Abort<SetUpError>> {
    let before = read(connection)?;
    if before.set_up_at.is_some() {
        return Err(Abort::Refused(SetUpError::AlreadySetUp));
    }
    match proof {
        SetupProof::Link { digest, at } if !before.has_link(&digest, at) => {
            return Err(Abort::Refused(SetUpError::LinkInvalid));
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
            installation::set_up_at.eq(organization.created_at.timestamp_millis()),
            installation::setup_link_digest.eq(None::<Vec<u8>>),
            installation::setup_link_expires_at.eq(None::<i64>),
        ))
        .execute(connection)?;
    diesel::insert_into(organizations::table)
        .values(OrganizationRow::from(organization))
        .execute(connection)?;
    diesel::insert_into(users::table)
        .values(NewUserRow::new(&user, &password_hash))
        .execute(connection)?;
    diesel::insert_into(memberships::table)
        .values(MembershipRow::from(membership))
        .execute(connection)?;
    write_events(connection, events)?;
    Ok(())
}

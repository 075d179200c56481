//! The store, whatever database it is on.

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::administration::ports::{
    InvitationStore, MemberStore, Names, OrganizationKeyStore, OrganizationStore, ProjectStore,
};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::{
    AccessChanges, ApiKeys, AuditFeed, AuditLog, Credentials, LastUses, Memberships, ReachableProjects,
    StorageError,
};
use keyward_domain::retention::ports::RetentionStore;
use keyward_domain::sign_in::ports::{
    AccountStore, InstallationStore, LimitedAuditLog, OpenInvitations, SessionStore, SignInThrottle,
};
use keyward_persistence::postgres::{
    ConnectError, ConnectionRefused, PoolUsage, PostgresStore, WaitObserver,
};
use keyward_persistence::sqlite::{Moved, SqliteStore};
use keyward_persistence::transfer::Transfer;
use keyward_persistence::{SchemaState, TrialFailure};

/// Every storage port of the domain on one database, with probes of its state and its transfer.
pub(crate) trait Store:
    AccessChanges
    + ApiKeys
    + Credentials
    + Memberships
    + AuditLog
    + AuditFeed
    + AccountStore
    + SessionStore
    + SignInThrottle
    + LimitedAuditLog
    + InstallationStore
    + OrganizationStore
    + MemberStore
    + InvitationStore
    + OpenInvitations
    + ProjectStore
    + ReachableProjects
    + LastUses
    + OrganizationKeyStore
    + RetentionStore
    + PlannedEndStore
    + Names
    + ForReplica
    + StorageProbe
    + SchemaProbe
    + RefusalProbe
    + PoolProbe
    + Transfer
{
}

impl Store for PostgresStore {}
impl Store for SqliteStore {}

/// Gives the replica its own access, which other work does not delay.
pub(crate) trait ForReplica {
    /// The changes of access, for the one replica of this process.
    fn for_replica(&self) -> Result<Arc<dyn AccessChanges>, ConnectError>;
}

impl ForReplica for PostgresStore {
    fn for_replica(&self) -> Result<Arc<dyn AccessChanges>, ConnectError> {
        Ok(Arc::new(Self::for_replica(self)?))
    }
}

impl ForReplica for SqliteStore {
    /// Its reads do not wait for other work.
    fn for_replica(&self) -> Result<Arc<dyn AccessChanges>, ConnectError> {
        Ok(Arc::new(self.clone()))
    }
}

/// Checks whether the storage works.
#[async_trait]
pub(crate) trait StorageProbe: Send + Sync {
    /// Whether it answers with an up-to-date schema.
    async fn is_ready(&self) -> Result<bool, StorageError>;

    /// Makes a change without a visible effect.
    async fn try_change(&self) -> Result<(), TrialFailure>;
}

/// Compares the tables with this version.
#[async_trait]
pub(crate) trait SchemaProbe: Send + Sync {
    /// The version of the tables, relative to this version.
    async fn schema_state(&self) -> Result<SchemaState, StorageError>;
}

/// Distinguishes a storage that refuses from one that is unavailable.
#[async_trait]
pub(crate) trait RefusalProbe: Send + Sync {
    /// Why the storage refuses connections, so that waiting does not help; `None` if it answers or is
    /// unavailable. Of several servers, each must refuse.
    async fn refusal(&self) -> Option<StorageRefusal>;
}

/// Why a storage refuses this process for good.
pub(crate) enum StorageRefusal {
    Connection(ConnectionRefused),
    File(Moved),
}

/// Reports on the pool of connections.
pub(crate) trait PoolProbe: Send + Sync {
    /// The current use of the connections; `None` if there is no pool.
    fn pool_usage(&self) -> Option<PoolUsage>;

    /// Reports to this observer how long callers waited for a connection, if there is a pool.
    fn observe_pool_waits(&self, observer: WaitObserver);
}

impl PoolProbe for PostgresStore {
    fn pool_usage(&self) -> Option<PoolUsage> {
        Some(Self::pool_usage(self))
    }

    fn observe_pool_waits(&self, observer: WaitObserver) {
        Self::observe_pool_waits(self, observer);
    }
}

impl PoolProbe for SqliteStore {
    fn pool_usage(&self) -> Option<PoolUsage> {
        None
    }

    fn observe_pool_waits(&self, _: WaitObserver) {}
}

#[async_trait]
impl StorageProbe for PostgresStore {
    async fn is_ready(&self) -> Result<bool, StorageError> {
        Self::is_ready(self).await
    }

    async fn try_change(&self) -> Result<(), TrialFailure> {
        Self::try_change(self).await
    }
}

#[async_trait]
impl StorageProbe for SqliteStore {
    async fn is_ready(&self) -> Result<bool, StorageError> {
        Self::is_ready(self).await
    }

    async fn try_change(&self) -> Result<(), TrialFailure> {
        Self::try_change(self).await
    }
}

#[async_trait]
impl SchemaProbe for PostgresStore {
    async fn schema_state(&self) -> Result<SchemaState, StorageError> {
        Self::schema_state(self).await
    }
}

#[async_trait]
impl SchemaProbe for SqliteStore {
    async fn schema_state(&self) -> Result<SchemaState, StorageError> {
        Self::schema_state(self).await
    }
}

#[async_trait]
impl RefusalProbe for PostgresStore {
    async fn refusal(&self) -> Option<StorageRefusal> {
        Self::refusal(self).await.map(StorageRefusal::Connection)
    }
}

#[async_trait]
impl RefusalProbe for SqliteStore {
    async fn refusal(&self) -> Option<StorageRefusal> {
        self.replacement().map(StorageRefusal::File)
    }
}

//! The store over either database.

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::ports::{AccessChanges, StorageError};
use keyward_domain::storage_ports::StoragePorts;
use keyward_persistence::postgres::{
    ConnectError, ConnectionRefused, PoolUsage, PostgresStore, WaitObserver,
};
use keyward_persistence::sqlite::{Moved, SqliteStore};
use keyward_persistence::transfer::Transfer;
use keyward_persistence::{SchemaState, TrialFailure};

/// Every storage port of the domain on one database, with probes of its state and its transfer.
#[async_trait]
pub(crate) trait Store: StoragePorts + StorageProbe + SchemaProbe + Transfer {
    /// The changes of access, for the one replica of this process, which has its own access: other work does
    /// not delay it.
    fn for_replica(&self) -> Result<Arc<dyn AccessChanges>, ConnectError>;

    /// Why the storage refuses connections, so that waiting does not help; `None` if it answers or is
    /// unavailable. Of several servers, each must refuse.
    async fn refusal(&self) -> Option<StorageRefusal>;

    /// The current use of the pool of connections; `None` if there is none.
    fn pool_usage(&self) -> Option<PoolUsage> {
        None
    }

    /// Reports to this observer how long callers waited for a connection, if there is a pool.
    fn observe_pool_waits(&self, _: WaitObserver) {}
}

#[async_trait]
impl Store for PostgresStore {
    fn for_replica(&self) -> Result<Arc<dyn AccessChanges>, ConnectError> {
        Ok(Arc::new(Self::for_replica(self)?))
    }

    async fn refusal(&self) -> Option<StorageRefusal> {
        Self::refusal(self).await.map(StorageRefusal::Connection)
    }

    fn pool_usage(&self) -> Option<PoolUsage> {
        Some(Self::pool_usage(self))
    }

    fn observe_pool_waits(&self, observer: WaitObserver) {
        Self::observe_pool_waits(self, observer);
    }
}

#[async_trait]
impl Store for SqliteStore {
    /// Its reads do not wait for other work.
    fn for_replica(&self) -> Result<Arc<dyn AccessChanges>, ConnectError> {
        Ok(Arc::new(self.clone()))
    }

    async fn refusal(&self) -> Option<StorageRefusal> {
        self.replacement().map(StorageRefusal::File)
    }
}

/// Why a storage refuses this process permanently.
pub(crate) enum StorageRefusal {
    Connection(ConnectionRefused),
    File(Moved),
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

/// The stores have these methods themselves.
macro_rules! probes {
    ($($store:ident),+) => {$(
        #[async_trait]
        impl StorageProbe for $store {
            async fn is_ready(&self) -> Result<bool, StorageError> {
                Self::is_ready(self).await
            }

            async fn try_change(&self) -> Result<(), TrialFailure> {
                Self::try_change(self).await
            }
        }

        #[async_trait]
        impl SchemaProbe for $store {
            async fn schema_state(&self) -> Result<SchemaState, StorageError> {
                Self::schema_state(self).await
            }
        }
    )+};
}

probes!(PostgresStore, SqliteStore);

//! Which changes of access there were, and which replicas have seen them.

use async_trait::async_trait;

use crate::access_changes::{ChangeNumber, PolledChanges, RegisteredReplicas, ReplicaId};
use crate::ports::StorageError;

/// The numbered changes of access, and the replicas that acknowledge them.
///
/// Every change of what a key may do or reach MUST raise the counter in its own transaction: the end of a key
/// or membership, planned or come, a role, being added to a project or removed from it, and a project that is
/// archived, restored or renamed. Once a number was read, every later query MUST see the changes up to it.
#[async_trait]
pub trait AccessChanges: Send + Sync {
    /// Makes a replica known, as one that has seen everything up to the counter, which is returned. One that
    /// is known already becomes so again.
    async fn register(&self, replica: ReplicaId, name: &str) -> Result<ChangeNumber, StorageError>;

    /// The counter, what this replica acknowledged, and the changes after this number (none if no number is
    /// given), all as of one moment.
    async fn poll(
        &self,
        replica: ReplicaId,
        after: Option<ChangeNumber>,
    ) -> Result<PolledChanges, StorageError>;

    /// Returns when a change may have come. Only a hint, which a store may give late or never: replicas poll
    /// also without it.
    async fn hint(&self) {
        std::future::pending::<()>().await;
    }

    /// Writes down how far a replica has seen the changes. Whether it is known; if not, nothing is written.
    async fn acknowledge(&self, replica: ReplicaId, seen: ChangeNumber) -> Result<bool, StorageError>;

    /// Removes a replica.
    async fn leave(&self, replica: ReplicaId) -> Result<(), StorageError>;

    /// All replicas and the counter, as of one moment.
    async fn replicas(&self) -> Result<RegisteredReplicas, StorageError>;

    /// Removes a replica unless it has seen the changes up to this number. MUST NOT remove one whose
    /// acknowledgement of it is committed first.
    async fn strike_off(&self, replica: ReplicaId, unless_seen: ChangeNumber) -> Result<(), StorageError>;
}

use async_trait::async_trait;

use super::MemoryStore;
use crate::access_changes::{ChangeNumber, PolledChanges, RegisteredReplica, RegisteredReplicas, ReplicaId};
use crate::ports::{AccessChanges, StorageError};

#[async_trait]
impl AccessChanges for MemoryStore {
    async fn register(&self, replica: ReplicaId, name: &str) -> Result<ChangeNumber, StorageError> {
        let access = &mut self.state()?.access;
        let counter = access.counter();
        access.replicas.insert(replica, (name.to_owned(), counter));
        Ok(counter)
    }

    async fn poll(
        &self,
        replica: ReplicaId,
        after: Option<ChangeNumber>,
    ) -> Result<PolledChanges, StorageError> {
        let access = &self.state()?.access;
        let numbered = (1..)
            .map(ChangeNumber::from_u64)
            .zip(access.changes.iter().copied());
        let changes = numbered.filter(|(number, _)| after.is_some_and(|after| *number > after));
        Ok(PolledChanges {
            counter: access.counter(),
            acknowledged: access
                .replicas
                .get(&replica)
                .map(|(_, acknowledged)| *acknowledged),
            changes: changes.collect(),
        })
    }

    async fn acknowledge(&self, replica: ReplicaId, seen: ChangeNumber) -> Result<bool, StorageError> {
        let access = &mut self.state()?.access;
        let row = access.replicas.get_mut(&replica);
        Ok(row.map(|(_, acknowledged)| *acknowledged = seen).is_some())
    }

    async fn leave(&self, replica: ReplicaId) -> Result<(), StorageError> {
        self.state()?.access.replicas.remove(&replica);
        Ok(())
    }

    async fn replicas(&self) -> Result<RegisteredReplicas, StorageError> {
        let access = &self.state()?.access;
        let replicas = access.replicas.iter();
        Ok(RegisteredReplicas {
            counter: access.counter(),
            replicas: replicas
                .map(|(id, (name, acknowledged))| RegisteredReplica {
                    id: *id,
                    name: name.clone(),
                    acknowledged: *acknowledged,
                })
                .collect(),
        })
    }

    async fn strike_off(&self, replica: ReplicaId, unless_seen: ChangeNumber) -> Result<(), StorageError> {
        let replicas = &mut self.state()?.access.replicas;
        replicas.retain(|id, (_, acknowledged)| *id != replica || *acknowledged >= unless_seen);
        Ok(())
    }
}

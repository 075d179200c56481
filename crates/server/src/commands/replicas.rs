//! `keyward replicas`: which servers keep verifications in memory, and which changes they have seen.

use keyward_domain::access_changes::RegisteredReplicas;

use super::Failure;
use crate::options::StorageOptions;
use crate::output;
use crate::storage;

/// Prints one line for each replica.
pub(crate) async fn run(options: StorageOptions) -> Result<(), Failure> {
    let store = storage::open_existing(&options.database).await?;
    output::answer(&table(&store.replicas().await?))?;
    Ok(())
}

/// Columns separated by tabs, after a line that names them.
fn table(registered: &RegisteredReplicas) -> String {
    let counter = registered.counter.as_u64();
    let mut lines = "REPLICA\tNAME\tSEEN\tBEHIND\n".to_owned();
    for replica in &registered.replicas {
        let seen = replica.acknowledged.as_u64();
        let behind = counter.saturating_sub(seen);
        lines.push_str(&format!("{}\t{}\t{seen}\t{behind}\n", replica.id, replica.name));
    }
    lines
}

#[cfg(test)]
mod tests {
    use keyward_domain::access_changes::{ChangeNumber, RegisteredReplica, RegisteredReplicas, ReplicaId};

    use super::table;

    #[test]
    fn replica_line_shows_how_far_behind_it_is() {
        let registered = RegisteredReplicas {
            counter: ChangeNumber::from_u64(7),
            replicas: vec![RegisteredReplica {
                id: "019ab8f2-0000-7000-8000-000000000001"
                    .parse::<ReplicaId>()
                    .unwrap(),
                name: "web-1 0.0.0.0:8080".to_owned(),
                acknowledged: ChangeNumber::from_u64(5),
            }],
        };
        assert_eq!(
            table(&registered),
            "REPLICA\tNAME\tSEEN\tBEHIND\n019ab8f2-0000-7000-8000-000000000001\tweb-1 0.0.0.0:8080\t5\t2\n"
        );
    }
}

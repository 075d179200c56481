//! Changes of access and the replicas that acknowledge them. They are numbered by each adapter: see
//! `numbering`.

use std::convert::Infallible;

use async_trait::async_trait;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use diesel::{JoinOnDsl, NullableExpressionMethods};
use keyward_domain::access_changes::{
    ChangeNumber, PolledChanges, RegisteredReplica, RegisteredReplicas, ReplicaId,
};
use keyward_domain::ports::{AccessChanges, StorageError};

use super::dialect::{Connection, RunQueryDsl, Store};
use super::schema::{access_changes, access_counter, replicas};
use crate::abort::Abort;
use crate::claim::Claim;
use crate::columns::StoredId;
use crate::concern;

/// Without its row, changes are not counted. So no replica may get a lease, and no revocation may conclude
/// that all replicas have seen it.
const COUNTER_MISSING: QueryError = QueryError::NotFound;

#[async_trait]
impl AccessChanges for Store {
    async fn register(&self, replica: ReplicaId, name: &str) -> Result<ChangeNumber, StorageError> {
        let name = name.to_owned();
        change!(self, Claim::Revoking, register(replica, name))
    }

    async fn poll(
        &self,
        replica: ReplicaId,
        after: Option<ChangeNumber>,
    ) -> Result<PolledChanges, StorageError> {
        read!(self, poll(replica, after))
    }

    async fn hint(&self) {
        self.hint_of_change().await;
    }

    async fn acknowledge(&self, replica: ReplicaId, seen: ChangeNumber) -> Result<bool, StorageError> {
        change!(self, Claim::Revoking, |connection| {
            let row = replicas::table.filter(replicas::id.eq(StoredId(replica.as_uuid())));
            let written = diesel::update(row)
                .set(replicas::acknowledged.eq(to_column(seen)))
                .execute(connection)
                .await?;
            Ok(written > 0)
        })
    }

    async fn leave(&self, replica: ReplicaId) -> Result<(), StorageError> {
        change!(self, Claim::Revoking, |connection| {
            diesel::delete(replicas::table.filter(replicas::id.eq(StoredId(replica.as_uuid()))))
                .execute(connection)
                .await?;
            Ok(())
        })
    }

    async fn replicas(&self) -> Result<RegisteredReplicas, StorageError> {
        read!(self, all())
    }

    async fn strike_off(&self, replica: ReplicaId, unless_seen: ChangeNumber) -> Result<(), StorageError> {
        change!(self, Claim::Revoking, |connection| {
            let behind = replicas::table
                .filter(replicas::id.eq(StoredId(replica.as_uuid())))
                .filter(replicas::acknowledged.lt(to_column(unless_seen)));
            diesel::delete(behind).execute(connection).await?;
            Ok(())
        })
    }
}

/// The counter is read before the row is written, so nothing that is committed later counts as seen.
async fn register(
    connection: &mut Connection,
    replica: ReplicaId,
    name: String,
) -> Result<ChangeNumber, Abort<StorageError>> {
    let counter: i64 = access_counter::table
        .select(access_counter::number)
        .get_result(connection)
        .await?;
    diesel::insert_into(replicas::table)
        .values((
            replicas::id.eq(StoredId(replica.as_uuid())),
            replicas::name.eq(&name),
            replicas::acknowledged.eq(counter),
        ))
        .on_conflict(replicas::id)
        .do_update()
        .set((replicas::name.eq(&name), replicas::acknowledged.eq(counter)))
        .execute(connection)
        .await?;
    Ok(number(counter))
}

/// One statement, so that all of it is of one snapshot.
async fn poll(
    connection: &mut Connection,
    replica: ReplicaId,
    after: Option<ChangeNumber>,
) -> Result<PolledChanges, Abort<Infallible>> {
    // Without a number, no change comes after it.
    let after = after.map_or(i64::MAX, to_column);
    type Row = (i64, Option<i64>, Option<i64>, Option<String>, Option<StoredId>);
    let rows: Vec<Row> = access_counter::table
        .left_join(replicas::table.on(replicas::id.eq(StoredId(replica.as_uuid()))))
        .left_join(access_changes::table.on(access_changes::number.gt(after)))
        .order(access_changes::number)
        .select((
            access_counter::number,
            replicas::acknowledged.nullable(),
            access_changes::number.nullable(),
            access_changes::concerns_kind.nullable(),
            access_changes::concerns_id.nullable(),
        ))
        .load(connection)
        .await?;
    let [(counter, acknowledged, ..), ..] = *rows.as_slice() else {
        return Err(COUNTER_MISSING.into());
    };
    let changes = rows.into_iter().filter_map(|(_, _, changed, kind, id)| {
        let concern = concern::from_columns(&kind?, id.map(|id| id.0));
        Some((number(changed?), concern))
    });
    Ok(PolledChanges {
        counter: number(counter),
        acknowledged: acknowledged.map(number),
        changes: changes.collect(),
    })
}

/// One statement, like the one above.
async fn all(connection: &mut Connection) -> Result<RegisteredReplicas, Abort<Infallible>> {
    type Row = (i64, Option<StoredId>, Option<String>, Option<i64>);
    let rows: Vec<Row> = access_counter::table
        .left_join(replicas::table.on(access_counter::number.ge(0)))
        .order(replicas::id)
        .select((
            access_counter::number,
            replicas::id.nullable(),
            replicas::name.nullable(),
            replicas::acknowledged.nullable(),
        ))
        .load(connection)
        .await?;
    let [(counter, ..), ..] = *rows.as_slice() else {
        return Err(COUNTER_MISSING.into());
    };
    let replicas = rows.into_iter().filter_map(|(_, id, name, acknowledged)| {
        Some(RegisteredReplica {
            id: ReplicaId::from_uuid(id?.0),
            name: name?,
            acknowledged: number(acknowledged?),
        })
    });
    Ok(RegisteredReplicas {
        counter: number(counter),
        replicas: replicas.collect(),
    })
}

/// The tables hold no negative numbers.
fn number(stored: i64) -> ChangeNumber {
    ChangeNumber::from_u64(stored.unsigned_abs())
}

fn to_column(number: ChangeNumber) -> i64 {
    i64::try_from(number.as_u64()).unwrap_or(i64::MAX)
}

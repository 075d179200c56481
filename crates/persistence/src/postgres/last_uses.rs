//! When keys were last used.
//!
//! The columns are in no index and the table has a fillfactor, so these updates stay on the page of their row
//! and touch no index (*heap-only tuples*).

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::sql_types::{Array, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::{KeyUse, StorageError};
use uuid::Uuid;

use super::dialect::{begin, lock_keys, pipeline};
use super::prepared_once::PreparedOnce;
use crate::abort::Abort;

/// Begins the transaction, and records each use that is later than the stored last use of its key, or whose
/// stored one is wrong: later than this moment. All at once, because revocations of these keys wait from the
/// lock to the COMMIT.
pub(super) async fn record(
    connection: &mut AsyncPgConnection,
    uses: Vec<KeyUse>,
    wrong_after: DateTime<Utc>,
) -> Result<(), Abort<StorageError>> {
    let keys: Vec<Uuid> = uses.iter().map(|used| used.key.as_uuid()).collect();
    pipeline!(
        connection,
        begin(connection),
        lock_keys(connection, &keys),
        update(connection, &keys, &uses, wrong_after),
    );
    Ok(())
}

async fn update(
    mut connection: &AsyncPgConnection,
    keys: &[Uuid],
    uses: &[KeyUse],
    wrong_after: DateTime<Utc>,
) -> QueryResult<usize> {
    let moments: Vec<DateTime<Utc>> = uses.iter().map(|used| used.last.at).collect();
    let addresses: Vec<Option<String>> = uses
        .iter()
        .map(|used| used.last.from.map(|address| address.to_string()))
        .collect();
    let update = diesel::sql_query(
        "UPDATE api_keys SET last_used_at = used.at, last_used_from = used.address
         FROM unnest($1, $2, $3) AS used (id, at, address)
         WHERE api_keys.id = used.id
             AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < used.at OR api_keys.last_used_at > $4)",
    )
    .bind::<Array<SqlUuid>, _>(keys)
    .bind::<Array<Timestamptz>, _>(moments)
    .bind::<Array<Nullable<Text>>, _>(addresses)
    .bind::<Timestamptz, _>(wrong_after);
    PreparedOnce(update).execute(&mut connection).await
}

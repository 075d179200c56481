//! When keys were last used.
//!
//! The columns are in no index and the table has a fillfactor, so these updates stay on the page of their row
//! and touch no index (*heap-only tuples*).

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::sql_types::{Array, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::{KeyUse, StorageError};
use uuid::Uuid;

use super::schema::api_keys;
use crate::abort::Abort;

/// Records each use that is later than the stored last use of its key, or whose stored one is wrong: later
/// than this moment.
pub(super) async fn record(
    connection: &mut AsyncPgConnection,
    uses: Vec<KeyUse>,
    wrong_after: DateTime<Utc>,
) -> Result<(), Abort<StorageError>> {
    let keys: Vec<Uuid> = uses.iter().map(|used| used.key.as_uuid()).collect();
    let moments: Vec<DateTime<Utc>> = uses.iter().map(|used| used.last.at).collect();
    let addresses: Vec<Option<String>> = uses
        .iter()
        .map(|used| used.last.from.map(|address| address.to_string()))
        .collect();
    // In identifier order, like every lock of several keys, so that replicas and bulk revocations cannot
    // deadlock.
    api_keys::table
        .filter(api_keys::id.eq_any(&keys))
        .order(api_keys::id)
        .select(api_keys::id)
        .for_no_key_update()
        .load::<Uuid>(connection)
        .await?;
    diesel::sql_query(
        "UPDATE api_keys SET last_used_at = used.at, last_used_from = used.address
         FROM unnest($1, $2, $3) AS used (id, at, address)
         WHERE api_keys.id = used.id
             AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < used.at OR api_keys.last_used_at > $4)",
    )
    .bind::<Array<SqlUuid>, _>(keys)
    .bind::<Array<Timestamptz>, _>(moments)
    .bind::<Array<Nullable<Text>>, _>(addresses)
    .bind::<Timestamptz, _>(wrong_after)
    .execute(connection)
    .await?;
    Ok(())
}

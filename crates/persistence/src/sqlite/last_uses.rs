//! When keys were last used.

use chrono::{DateTime, Utc};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Text};
use keyward_domain::ports::{KeyUse, StorageError};

use super::dialect::{Connection, RunQueryDsl};
use crate::abort::Abort;

/// Records each use that is later than the stored last use of its key, or whose stored one is wrong: later
/// than this moment.
///
/// All in one statement: diesel compiles every update anew, which took longer than to run it.
pub(super) async fn record(
    connection: &mut Connection,
    uses: Vec<KeyUse>,
    wrong_after: DateTime<Utc>,
) -> Result<(), Abort<StorageError>> {
    sql_query(
        "UPDATE api_keys SET last_used_at = used.at, last_used_from = used.address
         FROM (
             SELECT unhex(value ->> 0) AS id, value ->> 1 AS at, value ->> 2 AS address FROM json_each(?)
         ) AS used
         WHERE api_keys.id = used.id
             AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < used.at OR api_keys.last_used_at > ?)",
    )
    .bind::<Text, _>(as_json(&uses))
    .bind::<BigInt, _>(wrong_after.timestamp_millis())
    .execute(connection)
    .await?;
    Ok(())
}

/// A list of `[identifier, milliseconds, address]`, none of which has a character that JSON escapes.
fn as_json(uses: &[KeyUse]) -> String {
    let uses: Vec<String> = uses
        .iter()
        .map(|KeyUse { key, last }| {
            let (id, at) = (key.as_uuid().simple(), last.at.timestamp_millis());
            match last.from {
                Some(address) => format!("[\"{id}\",{at},\"{address}\"]"),
                None => format!("[\"{id}\",{at},null]"),
            }
        })
        .collect();
    format!("[{}]", uses.join(","))
}

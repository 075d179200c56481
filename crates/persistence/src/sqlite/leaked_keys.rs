//! The leaked keys that an organization's owners are told of.

use chrono::{DateTime, Utc};
use diesel::prelude::{QueryResult, RunQueryDsl, SqliteConnection};
use diesel::sql_types::{BigInt, Binary};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use crate::columns::{StoredId, StoredMoment};
use crate::sqlite::found_keys::FoundKey;

/// Keys that leaked since this time: of each consumer the one revoked last, then the second of each, and so on.
///
/// Of each consumer, no more than the limit are read, however many leaked.
pub(crate) async fn leaked_keys(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    since: DateTime<Utc>,
    limit: i64,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundKey> = diesel::sql_query(
        "WITH RECURSIVE consumers (id) AS (
             SELECT (
                 SELECT consumer_id FROM api_keys WHERE organization_id = ?1 AND revoked_reason = 'leak'
                 ORDER BY consumer_id LIMIT 1
             )
             UNION ALL
             SELECT (
                 SELECT consumer_id FROM api_keys
                 WHERE organization_id = ?1 AND revoked_reason = 'leak' AND consumer_id > consumers.id
                 ORDER BY consumer_id LIMIT 1
             )
             FROM consumers WHERE consumers.id IS NOT NULL
         )
         SELECT leaked.id FROM consumers
         CROSS JOIN api_keys AS leaked ON leaked.id IN (
             SELECT id FROM api_keys
             WHERE organization_id = ?1 AND consumer_id = consumers.id AND revoked_reason = 'leak' AND revoked_at >= ?2
             ORDER BY revoked_at DESC, id LIMIT ?3
         )
         ORDER BY row_number() OVER (PARTITION BY leaked.consumer_id ORDER BY leaked.revoked_at DESC, leaked.id),
             leaked.revoked_at DESC, leaked.id
         LIMIT ?3",
    )
    .bind::<Binary, _>(StoredId(organization.as_uuid()))
    .bind::<BigInt, _>(StoredMoment::from(since))
    .bind::<BigInt, _>(limit)
    .load(connection)?;
    Ok(FoundKey::ids(found))
}

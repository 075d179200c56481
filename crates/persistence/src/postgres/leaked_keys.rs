//! The leaked keys that an organization's owners are told of.

use chrono::{DateTime, Utc};
use diesel::prelude::QueryResult;
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use crate::postgres::found_keys::FoundKey;

/// Keys that leaked since this time: of each consumer the one revoked last, then the second of each, and so on.
///
/// Of each consumer, no more than the limit are read, however many leaked.
pub(crate) async fn leaked_keys(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    since: DateTime<Utc>,
    limit: i64,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundKey> = diesel::sql_query(
        "WITH RECURSIVE consumers (id) AS (
             SELECT (
                 SELECT consumer_id FROM api_keys WHERE organization_id = $1 AND revoked_reason = 'leak'
                 ORDER BY consumer_id LIMIT 1
             )
             UNION ALL
             SELECT (
                 SELECT consumer_id FROM api_keys
                 WHERE organization_id = $1 AND revoked_reason = 'leak' AND consumer_id > consumers.id
                 ORDER BY consumer_id LIMIT 1
             )
             FROM consumers WHERE consumers.id IS NOT NULL
         )
         SELECT leaked.id FROM consumers
         CROSS JOIN LATERAL (
             SELECT id, revoked_at, row_number() OVER (ORDER BY revoked_at DESC, id) AS rank FROM api_keys
             WHERE organization_id = $1 AND consumer_id = consumers.id AND revoked_reason = 'leak' AND revoked_at >= $2
             ORDER BY revoked_at DESC, id LIMIT $3
         ) AS leaked
         ORDER BY leaked.rank, leaked.revoked_at DESC, leaked.id LIMIT $3",
    )
    .bind::<SqlUuid, _>(organization.as_uuid())
    .bind::<Timestamptz, _>(since)
    .bind::<BigInt, _>(limit)
    .load(connection)
    .await?;
    Ok(FoundKey::ids(found))
}

//! Which keys stop working when a membership ends.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::QueryableByName;
use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::{MembershipId, OrganizationId};
use uuid::Uuid;

use super::validity::not_over;
use crate::valid_keys::ValidKeys;

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = BigInt)]
    keys: i64,
    #[diesel(sql_type = BigInt)]
    recently_used: i64,
    #[diesel(sql_type = Array<SqlUuid>)]
    first: Vec<Uuid>,
}

/// The keys of one consumer are spread over the table, so one query reads both the count and the first keys.
pub(super) async fn valid_keys_of_member(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: MembershipId,
    used_after: DateTime<Utc>,
    now: DateTime<Utc>,
    shown: i64,
) -> QueryResult<ValidKeys> {
    let valid = not_over("api_keys", "revoked_at", "$5");
    let found: Found = diesel::sql_query(format!(
        "WITH valid AS MATERIALIZED (
             SELECT api_keys.id, api_keys.last_used_at
             FROM api_keys JOIN memberships ON memberships.id = api_keys.consumer_id
             WHERE api_keys.consumer_id = $1 AND memberships.organization_id = $2 AND {valid}
         )
         SELECT
             (SELECT count(*) FROM valid) AS keys,
             (SELECT count(*) FROM valid WHERE last_used_at > $3) AS recently_used,
             ARRAY(SELECT id FROM valid ORDER BY last_used_at DESC NULLS LAST, id DESC LIMIT $4) AS first"
    ))
    .bind::<SqlUuid, _>(id.as_uuid())
    .bind::<SqlUuid, _>(organization.as_uuid())
    .bind::<Timestamptz, _>(used_after)
    .bind::<BigInt, _>(shown)
    .bind::<Timestamptz, _>(now)
    .get_result(connection)
    .await?;
    Ok(ValidKeys {
        keys: found.keys,
        recently_used: found.recently_used,
        first: found.first,
    })
}

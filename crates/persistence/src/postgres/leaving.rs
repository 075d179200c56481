//! Which keys stop working when a membership ends.

use chrono::{DateTime, Utc};
use diesel::prelude::QueryableByName;
use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryResult};
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

/// The keys of one consumer are spread over the table. So they are counted in indexes, and the table is read
/// only for keys that were used on the last days.
pub(super) async fn valid_keys_of_member(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: MembershipId,
    used_after: DateTime<Utc>,
    now: DateTime<Utc>,
    shown: i64,
) -> QueryResult<ValidKeys> {
    let valid = not_over("api_keys", "revoked_at", "$5");
    let found: Option<Found> = diesel::sql_query(format!(
        "SELECT
             (SELECT count(*) FROM api_keys WHERE consumer_id = $1 AND {valid}) AS keys,
             (
                 SELECT count(*) FROM api_keys
                 WHERE consumer_id = $1 AND {valid}
                     AND used_on_day > CAST(floor(extract(epoch FROM $3) / 86400) AS integer)
             ) + (
                 SELECT count(*) FROM api_keys
                 WHERE consumer_id = $1 AND {valid}
                     AND used_on_day = CAST(floor(extract(epoch FROM $3) / 86400) AS integer) AND last_used_at > $3
             ) AS recently_used,
             ARRAY(
                 SELECT id FROM (
                     (
                         SELECT id, last_used_at FROM api_keys
                         WHERE consumer_id = $1 AND {valid} AND used_on_day IS NOT NULL
                         ORDER BY used_on_day DESC FETCH FIRST ($4) ROWS WITH TIES
                     )
                     UNION ALL
                     (
                         SELECT id, NULL FROM api_keys
                         WHERE consumer_id = $1 AND {valid} AND used_on_day IS NULL
                         ORDER BY used_on_day DESC, id DESC LIMIT $4
                     )
                 ) AS used
                 ORDER BY last_used_at DESC NULLS LAST, id DESC LIMIT $4
             ) AS first
         FROM memberships WHERE id = $1 AND organization_id = $2"
    ))
    .bind::<SqlUuid, _>(id.as_uuid())
    .bind::<SqlUuid, _>(organization.as_uuid())
    .bind::<Timestamptz, _>(used_after)
    .bind::<BigInt, _>(shown)
    .bind::<Timestamptz, _>(now)
    .get_result(connection)
    .await
    .optional()?;
    let Some(found) = found else {
        return Ok(ValidKeys::default());
    };
    Ok(ValidKeys {
        keys: found.keys,
        recently_used: found.recently_used,
        first: found.first,
    })
}

//! Which keys stop working when a membership ends.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::QueryableByName;
use diesel::sql_types::{BigInt, Binary};
use keyward_domain::id::{MembershipId, OrganizationId};

use super::dialect::{Connection, RunQueryDsl};
use super::validity::not_over;
use crate::columns::StoredId;
use crate::valid_keys::ValidKeys;

/// One of the keys used last.
#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Binary)]
    id: StoredId,
    /// How many there are in all.
    #[diesel(sql_type = BigInt)]
    keys: i64,
    #[diesel(sql_type = BigInt)]
    recently_used: i64,
}

/// Indexes have all that is asked for, but for the organization, for which the table is read as often as keys
/// are shown. (In SQLite, NULL sorts before all values.)
pub(super) async fn valid_keys_of_member(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    used_after: DateTime<Utc>,
    now: DateTime<Utc>,
    shown: i64,
) -> QueryResult<ValidKeys> {
    let valid = not_over("api_keys", "revoked_at", "?3");
    let found: Vec<Found> = diesel::sql_query(format!(
        "SELECT
             id,
             (SELECT count(*) FROM api_keys WHERE consumer_id = ?1 AND {valid} AND not_cancelled(id)) AS keys,
             (
                 SELECT count(*) FROM api_keys
                 WHERE consumer_id = ?1 AND {valid} AND last_used_at > ?4 AND not_cancelled(id)
             ) AS recently_used
         FROM api_keys
         WHERE consumer_id = ?1 AND +organization_id = ?2 AND {valid} AND not_cancelled(id)
         ORDER BY last_used_at DESC, id DESC
         LIMIT ?5"
    ))
    .bind::<Binary, _>(StoredId(id.as_uuid()))
    .bind::<Binary, _>(StoredId(organization.as_uuid()))
    .bind::<BigInt, _>(now.timestamp_millis())
    .bind::<BigInt, _>(used_after.timestamp_millis())
    .bind::<BigInt, _>(shown)
    .load(connection)
    .await?;
    let Some(any) = found.first() else {
        return Ok(ValidKeys::default());
    };
    Ok(ValidKeys {
        keys: any.keys,
        recently_used: any.recently_used,
        first: found.iter().map(|key| key.id.0).collect(),
    })
}

//! Which keys stop working when a membership ends.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::prelude::{QueryDsl, QueryableByName, SelectableHelper};
use diesel::sql_types::{BigInt, Binary};
use keyward_domain::administration::ports::LeavingPreview;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::ports::StorageError;

use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::at_most;
use crate::sqlite::dialect::{Connection, RunQueryDsl};
use crate::sqlite::listed::listed;
use crate::sqlite::schema::api_keys;
use crate::sqlite::sql::api_keys::row::KeyRow;
use crate::stored_row::counted;

/// One of the keys used last.
#[derive(QueryableByName)]
struct ValidKey {
    #[diesel(sql_type = Binary)]
    id: StoredId,
    /// How many there are in all.
    #[diesel(sql_type = BigInt)]
    keys: i64,
    #[diesel(sql_type = BigInt)]
    recently_used: i64,
}

pub(super) async fn preview(
    connection: &mut Connection,
    organization: OrganizationId,
    id: MembershipId,
    used_after: DateTime<Utc>,
) -> Result<LeavingPreview<ApiKey>, Abort<Infallible>> {
    // The keys of one consumer are spread over the table: they are looked at once. (For SQLite, NULL is less than anything.)
    let valid: Vec<ValidKey> = diesel::sql_query(
        "WITH valid AS MATERIALIZED (
             SELECT api_keys.id, api_keys.last_used_at
             FROM api_keys JOIN memberships ON memberships.id = api_keys.consumer_id
             WHERE api_keys.consumer_id = ? AND memberships.organization_id = ? AND api_keys.revoked_at IS NULL
                 AND still_awaited(api_keys.id)
         )
         SELECT
             id,
             (SELECT count(*) FROM valid) AS keys,
             (SELECT count(*) FROM valid WHERE last_used_at > ?) AS recently_used
         FROM valid
         ORDER BY last_used_at DESC, id DESC
         LIMIT ?",
    )
    .bind::<Binary, _>(StoredId(id.as_uuid()))
    .bind::<Binary, _>(StoredId(organization.as_uuid()))
    .bind::<BigInt, _>(used_after.timestamp_millis())
    .bind::<BigInt, _>(at_most(LeavingPreview::<ApiKey>::SHOWN))
    .load(connection)
        .await?;
    let rows: Vec<KeyRow> = api_keys::table
        .filter(listed(valid.iter().map(|key| key.id.0)))
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let first: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    let mut first = first?;
    first.sort_by_key(|key| valid.iter().position(|valid| valid.id.0 == key.id.as_uuid()));
    Ok(LeavingPreview {
        keys: counted(valid.first().map(|valid| valid.keys)),
        recently_used: counted(valid.first().map(|valid| valid.recently_used)),
        first,
    })
}

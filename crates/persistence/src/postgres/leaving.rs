//! Which keys stop working when a membership ends.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryableByName, SelectableHelper};
use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::LeavingPreview;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::abort::Abort;
use crate::limit::at_most;
use crate::postgres::schema::api_keys;
use crate::postgres::sql::api_keys::row::KeyRow;
use crate::stored_row::counted;

#[derive(QueryableByName)]
struct ValidKeys {
    #[diesel(sql_type = BigInt)]
    keys: i64,
    #[diesel(sql_type = BigInt)]
    recently_used: i64,
    #[diesel(sql_type = Array<SqlUuid>)]
    first: Vec<Uuid>,
}

pub(super) async fn preview(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: MembershipId,
    used_after: DateTime<Utc>,
) -> Result<LeavingPreview<ApiKey>, Abort<Infallible>> {
    // The keys of one consumer are spread over the table: they are looked at once.
    let valid: ValidKeys = diesel::sql_query(
        "WITH valid AS MATERIALIZED (
             SELECT api_keys.id, api_keys.last_used_at
             FROM api_keys JOIN memberships ON memberships.id = api_keys.consumer_id
             WHERE api_keys.consumer_id = $1 AND memberships.organization_id = $2 AND api_keys.revoked_at IS NULL
         )
         SELECT
             (SELECT count(*) FROM valid) AS keys,
             (SELECT count(*) FROM valid WHERE last_used_at > $3) AS recently_used,
             ARRAY(SELECT id FROM valid ORDER BY last_used_at DESC NULLS LAST, id DESC LIMIT $4) AS first",
    )
    .bind::<SqlUuid, _>(id.as_uuid())
    .bind::<SqlUuid, _>(organization.as_uuid())
    .bind::<Timestamptz, _>(used_after)
    .bind::<BigInt, _>(at_most(LeavingPreview::<ApiKey>::SHOWN))
    .get_result(connection)
    .await?;
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::id.eq_any(&valid.first))
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let first: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    let mut first = first?;
    first.sort_by_key(|key| valid.first.iter().position(|id| *id == key.id.as_uuid()));
    Ok(LeavingPreview {
        keys: counted(Some(valid.keys)),
        recently_used: counted(Some(valid.recently_used)),
        first,
    })
}

//! Which keys were created from which, directly or not, also through keys that are kept no longer.
//!
//! A consumer has few valid keys, but there is no end to those that it creates and revokes. So whatever is asked is worked
//! out from the valid ones upwards, or has a limit. `UNION` ends each search even if rows pointed at each other in a circle.

use std::convert::Infallible;

use diesel::QueryResult;
use diesel::prelude::{
    ExpressionMethods, QueryDsl, QueryableByName, RunQueryDsl, SelectableHelper, SqliteConnection,
};
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::limit;
use crate::lineage::{Lineage, Link};
use crate::sqlite::columns::StoredId;
use crate::sqlite::organization_keys::selection::{as_json, listed};
use crate::sqlite::schema::api_keys;

pub(super) fn valid_descendants(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let lineage = lineage_of_valid(connection, &[StoredId(consumer.as_uuid())])?;
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::id.ne(StoredId(id.as_uuid())))
        .filter(listed(lineage.valid_from([id.as_uuid()]).into_iter()))
        .order(api_keys::id.desc())
        .select(KeyRow::as_select())
        .load(connection)?;
    let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

/// The valid keys of these consumers and all that they came from; no step leads to another consumer's key. The `+` keeps
/// SQLite from going through all keys of the consumer at every step.
pub(in crate::sqlite) fn lineage_of_valid(
    connection: &mut SqliteConnection,
    consumers: &[StoredId],
) -> QueryResult<Lineage> {
    let links: Vec<LinkRow> = diesel::sql_query(
        "WITH RECURSIVE line AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above, consumer_id, 1 AS is_valid
             FROM api_keys WHERE consumer_id IN (SELECT unhex(value) FROM json_each(?)) AND revoked_at IS NULL
             UNION
             SELECT above.id, coalesce(above.adopted_by_key_id, above.created_by_key_id), above.consumer_id,
                 above.revoked_at IS NULL
             FROM line CROSS JOIN api_keys above ON above.id = line.next_above AND +above.consumer_id = line.consumer_id
             WHERE still_awaited(above.id)
         )
         SELECT id, next_above, is_valid FROM line",
    )
    .bind::<Text, _>(as_json(consumers.iter().map(|consumer| consumer.0)))
    .load(connection)?;
    Ok(Lineage::new(links.into_iter().map(LinkRow::into_link)))
}

/// A consumer's key and what it came from, so many keys at most, the key itself first.
pub(in crate::sqlite) fn line_above(
    connection: &mut SqliteConnection,
    consumer: StoredId,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let links: Vec<LinkRow> = diesel::sql_query(
        "WITH RECURSIVE line AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above, consumer_id,
                 revoked_at IS NULL AS is_valid
             FROM api_keys WHERE id = ? AND consumer_id = ?
             UNION
             SELECT above.id, coalesce(above.adopted_by_key_id, above.created_by_key_id), above.consumer_id,
                 above.revoked_at IS NULL
             FROM line CROSS JOIN api_keys above ON above.id = line.next_above AND +above.consumer_id = line.consumer_id
         )
         SELECT id, next_above, is_valid FROM line LIMIT ?",
    )
    .bind::<Binary, _>(StoredId(id))
    .bind::<Binary, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    let found = links.len();
    let lineage = Lineage::new(links.into_iter().map(LinkRow::into_link));
    Ok(lineage.upwards(id).take(found).collect())
}

/// A consumer's key and some of what came from it, so many keys at most. SQLite looks for no more than that.
pub(in crate::sqlite) fn some_below(
    connection: &mut SqliteConnection,
    consumer: StoredId,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundId> = diesel::sql_query(
        "WITH RECURSIVE below AS (
             SELECT id, consumer_id FROM api_keys WHERE id = ? AND consumer_id = ?
             UNION
             SELECT child.id, child.consumer_id
             FROM below CROSS JOIN api_keys child
                 ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = below.id
                 AND +child.consumer_id = below.consumer_id
             LIMIT ?
         )
         SELECT id FROM below",
    )
    .bind::<Binary, _>(StoredId(id))
    .bind::<Binary, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    Ok(found.into_iter().map(|row| row.id.0).collect())
}

#[derive(QueryableByName)]
struct LinkRow {
    #[diesel(sql_type = Binary)]
    id: StoredId,
    #[diesel(sql_type = Nullable<Binary>)]
    next_above: Option<StoredId>,
    #[diesel(sql_type = Bool)]
    is_valid: bool,
}

impl LinkRow {
    fn into_link(self) -> Link {
        (self.id.0, self.next_above.map(|above| above.0), self.is_valid)
    }
}

#[derive(QueryableByName)]
struct FoundId {
    #[diesel(sql_type = Binary)]
    id: StoredId,
}

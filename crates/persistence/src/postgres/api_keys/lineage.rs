//! Which keys were created from which, directly or not, also through keys that are kept no longer.
//!
//! A consumer has few valid keys, but there is no end to those that it creates and revokes. So whatever is asked is worked
//! out from the valid ones upwards, or has a limit. `UNION` ends each search even if rows pointed at each other in a circle.

use std::convert::Infallible;

use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryableByName, SelectableHelper};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::limit;
use crate::lineage::{Lineage, Link};
use crate::postgres::schema::api_keys;

pub(super) async fn valid_descendants(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let lineage = lineage_of_valid(connection, &[consumer.as_uuid()]).await?;
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::id.ne(id.as_uuid()))
        .filter(api_keys::id.eq_any(lineage.valid_from([id.as_uuid()])))
        .order(api_keys::id.desc())
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

/// The valid keys of these consumers and all that they came from; no step leads to another consumer's key.
///
/// `LIMIT 1` changes nothing, and makes PostgreSQL look each of them up, whatever it believes to know about the table:
/// where it expects many, it would read all keys at every step.
///
/// The type of its future is hidden, as of all that others are built of: the compiler looks at futures within futures
/// again and again, and takes minutes for it.
pub(in crate::postgres) fn lineage_of_valid<'a>(
    connection: &'a mut AsyncPgConnection,
    consumers: &'a [Uuid],
) -> BoxFuture<'a, QueryResult<Lineage>> {
    Box::pin(load_lineage_of_valid(connection, consumers))
}

async fn load_lineage_of_valid(
    connection: &mut AsyncPgConnection,
    consumers: &[Uuid],
) -> QueryResult<Lineage> {
    let links: Vec<LinkRow> = diesel::sql_query(
        "WITH RECURSIVE line AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above, consumer_id, true AS is_valid
             FROM api_keys WHERE consumer_id = ANY($1) AND revoked_at IS NULL
             UNION
             SELECT above.* FROM line CROSS JOIN LATERAL (
                 SELECT id, coalesce(adopted_by_key_id, created_by_key_id), consumer_id, revoked_at IS NULL
                 FROM api_keys WHERE id = line.next_above AND consumer_id = line.consumer_id LIMIT 1
             ) AS above
         )
         SELECT id, next_above, is_valid FROM line",
    )
    .bind::<Array<SqlUuid>, _>(consumers)
    .load(connection)
    .await?;
    Ok(Lineage::new(links.into_iter().map(LinkRow::into_link)))
}

/// A consumer's key and what it came from, so many keys at most, the key itself first.
pub(in crate::postgres) async fn line_above(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let links: Vec<LinkRow> = diesel::sql_query(
        "WITH RECURSIVE line AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above, revoked_at IS NULL AS is_valid
             FROM api_keys WHERE id = $1 AND consumer_id = $2
             UNION
             SELECT above.* FROM line CROSS JOIN LATERAL (
                 SELECT id, coalesce(adopted_by_key_id, created_by_key_id), revoked_at IS NULL
                 FROM api_keys WHERE id = line.next_above AND consumer_id = $2 LIMIT 1
             ) AS above
         )
         SELECT id, next_above, is_valid FROM line LIMIT $3",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    let found = links.len();
    let lineage = Lineage::new(links.into_iter().map(LinkRow::into_link));
    Ok(lineage.upwards(id).take(found).collect())
}

/// A consumer's key and some of what came from it, so many keys at most. PostgreSQL looks for no more than that.
pub(in crate::postgres) async fn some_below(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundId> = diesel::sql_query(
        "WITH RECURSIVE below AS (
             SELECT id FROM api_keys WHERE id = $1 AND consumer_id = $2
             UNION
             SELECT child.id FROM below CROSS JOIN LATERAL (
                 SELECT id FROM api_keys
                 WHERE coalesce(adopted_by_key_id, created_by_key_id) = below.id AND consumer_id = $2 LIMIT $3
             ) AS child
         )
         SELECT id FROM below LIMIT $3",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    Ok(found.into_iter().map(|row| row.id).collect())
}

#[derive(QueryableByName)]
struct LinkRow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    next_above: Option<Uuid>,
    #[diesel(sql_type = Bool)]
    is_valid: bool,
}

impl LinkRow {
    const fn into_link(self) -> Link {
        (self.id, self.next_above, self.is_valid)
    }
}

#[derive(QueryableByName)]
struct FoundId {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

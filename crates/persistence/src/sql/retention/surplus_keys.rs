//! Finding and purging the ended keys of which a consumer has too many.
//!
//! All queries use the index of each consumer's ended keys.

use diesel::OptionalExtension;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, QueryResult, SelectableHelper};
use keyward_domain::ports::StorageError;
use keyward_domain::retention::SurplusKeys;
use uuid::Uuid;

use super::super::dialect::{Connection, RunQueryDsl, retention, skip_locked};
use super::super::schema::api_keys;
use super::key_removal::{EndedRow, remove_keys};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::retention::{AdvisoryLock, KeyAndParent, PurgedBatch};

/// The consumer of the ended key after this many skipped ones, counted from the first of the given consumer
/// on, in the order of consumers. No consumer before the result has more ended keys than this; if the result
/// is the given consumer, it has more.
pub(super) async fn consumer_after(
    connection: &mut Connection,
    from: Uuid,
    skipped: u32,
) -> QueryResult<Option<Uuid>> {
    let consumer: Option<StoredId> = api_keys::table
        .filter(api_keys::consumer_id.ge(StoredId(from)))
        .filter(api_keys::end_came_at.is_not_null())
        .order((api_keys::consumer_id, api_keys::revoked_at, api_keys::id.desc()))
        .offset(i64::from(skipped))
        .limit(1)
        .select(api_keys::consumer_id)
        .get_result(connection)
        .await
        .optional()?;
    Ok(consumer.map(|id| id.0))
}

pub(super) async fn remove(
    connection: &mut Connection,
    surplus: SurplusKeys,
    at_most: u32,
) -> Result<PurgedBatch, Abort<StorageError>> {
    // The lock of dead keys, because these have the same parents and children.
    if !retention::try_lock(connection, AdvisoryLock::DeadKeys).await?
        || !retention::lock_membership(connection, surplus.consumer.as_uuid()).await?
    {
        return Ok(PurgedBatch::default());
    }
    let Some(last) = last_surplus(connection, surplus).await? else {
        return Ok(PurgedBatch::default());
    };
    let keys = first_ended(connection, surplus, last, at_most).await?;
    Ok(remove_keys(connection, keys).await?)
}

/// The place of a key among a consumer's ended keys: of keys that ended at the same time, children come
/// before their parents, who are older.
struct Place {
    ended_at: StoredMoment,
    id: StoredId,
}

/// The place of the last surplus key, whether or not it ended before the cut-off time.
async fn last_surplus(connection: &mut Connection, surplus: SurplusKeys) -> QueryResult<Option<Place>> {
    let last: Option<(Option<StoredMoment>, StoredId)> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(surplus.consumer.as_uuid())))
        .filter(api_keys::end_came_at.is_not_null())
        .order((api_keys::revoked_at.desc(), api_keys::id))
        .offset(i64::from(surplus.kept))
        .limit(1)
        .select((api_keys::revoked_at, api_keys::id))
        .get_result(connection)
        .await
        .optional()?;
    Ok(last.and_then(|(ended_at, id)| {
        Some(Place {
            ended_at: ended_at?,
            id,
        })
    }))
}

/// The surplus keys that ended first, which come first for the reason that dead keys do.
async fn first_ended(
    connection: &mut Connection,
    surplus: SurplusKeys,
    last: Place,
    at_most: u32,
) -> QueryResult<Vec<KeyAndParent>> {
    let before = StoredMoment::from(surplus.before);
    // One bound for the index. No key has the identifier that is greater than all.
    let last = if last.ended_at < before {
        last
    } else {
        Place {
            ended_at: before,
            id: StoredId(Uuid::max()),
        }
    };
    let keys = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(surplus.consumer.as_uuid())))
        .filter(api_keys::end_came_at.is_not_null())
        .filter(api_keys::revoked_at.le(last.ended_at))
        .filter(
            api_keys::revoked_at
                .lt(last.ended_at)
                .or(api_keys::id.ge(last.id)),
        )
        .filter(api_keys::created_at.lt(before))
        .order((api_keys::revoked_at, api_keys::id.desc()))
        .limit(i64::from(at_most))
        .select(EndedRow::as_select());
    let keys: Vec<EndedRow> = skip_locked!(keys).load(connection).await?;
    Ok(keys.into_iter().map(KeyAndParent::from).collect())
}

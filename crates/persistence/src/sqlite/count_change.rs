//! Counting what a consumer changes.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use keyward_domain::id::ConsumerId;
use keyward_domain::rate::{Rate, Throttled};

use super::dialect::{Pipelined, RunQueryDsl};
use super::schema::memberships;
use super::sql::api_keys::holder::changes_empty_at;
use crate::columns::{StoredId, StoredMoment};

/// Counts a change of a live consumer, if there is room for it.
pub(super) async fn count_change(
    connection: Pipelined<'_>,
    consumer: ConsumerId,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Result<(), Throttled>>, QueryError> {
    let Some(empty_at) = changes_empty_at(connection, consumer).await? else {
        return Ok(None);
    };
    let empty_at = match changes.take(empty_at, at) {
        Ok(empty_at) => StoredMoment::from(empty_at),
        Err(throttled) => return Ok(Some(Err(throttled))),
    };
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(consumer.as_uuid()))))
        .set(memberships::changes_empty_at.eq(empty_at))
        .execute(connection)
        .await?;
    Ok(Some(Ok(())))
}

//! Rate limiting of a consumer's changes.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::sql_types::{BigInt, Binary};
use keyward_domain::id::ConsumerId;
use keyward_domain::rate::{Rate, Room};

use super::dialect::{Pipelined, RunQueryDsl};
use super::validity::not_over;
use crate::columns::StoredId;

/// Counts a change of a live consumer, if the rate limit allows it. Returns whether the change was counted.
pub(super) async fn count_change(
    connection: Pipelined<'_>,
    consumer: ConsumerId,
    changes: Rate,
    at: DateTime<Utc>,
) -> QueryResult<bool> {
    let Room { latest, beyond } = changes.room(at);
    let live = not_over("memberships", "ended_at", "?1");
    // The same rule as `Rate::take`.
    let counted = diesel::sql_query(format!(
        "UPDATE memberships SET changes_empty_at = min(max(coalesce(changes_empty_at, ?1), ?1), ?2) + ?3
         WHERE id = ?4 AND {live}
             AND (changes_empty_at IS NULL OR changes_empty_at <= ?2 OR changes_empty_at > ?5)"
    ))
    .bind::<BigInt, _>(at.timestamp_millis())
    .bind::<BigInt, _>(latest.timestamp_millis())
    .bind::<BigInt, _>(changes.interval().num_milliseconds())
    .bind::<Binary, _>(StoredId(consumer.as_uuid()))
    .bind::<BigInt, _>(beyond.timestamp_millis())
    .execute(connection)
    .await?;
    Ok(counted == 1)
}

//! Rate limiting of a consumer's changes.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult};
use diesel::result::Error as QueryError;
use keyward_domain::id::MembershipId;
use keyward_domain::rate::Rate;

use super::dialect::{Pipelined, RunQueryDsl};
use super::schema::memberships;
use super::validity::membership_is_live;
use crate::columns::{StoredId, StoredMoment};

/// Counts a change of a live consumer, if the rate limit allows it. Returns whether the change was counted.
/// The file has one writer, so nothing is counted between the statements.
pub(super) async fn count_change(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    changes: Rate,
    at: DateTime<Utc>,
) -> QueryResult<bool> {
    let membership = || memberships::table.filter(memberships::id.eq(StoredId(consumer.as_uuid())));
    let found: Option<Option<StoredMoment>> = membership()
        .filter(membership_is_live(at.into()))
        .select(memberships::changes_empty_at)
        .get_result(&mut connection)
        .await
        .optional()?;
    let Some(empty_at) = found else {
        return Ok(false);
    };
    let empty_at = empty_at.map(|moment| moment.0).transpose();
    let empty_at = empty_at.map_err(|error| QueryError::DeserializationError(error.into()))?;
    let Ok(empty_at) = changes.admit(empty_at, at) else {
        return Ok(false);
    };
    diesel::update(membership())
        .set(memberships::changes_empty_at.eq(StoredMoment::from(empty_at)))
        .execute(&mut connection)
        .await?;
    Ok(true)
}

//! Rate limiting of a consumer's changes.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods};
use diesel::sql_types::{Nullable, Timestamptz};
use diesel_async::RunQueryDsl;
use keyward_domain::id::MembershipId;
use keyward_domain::rate::{Rate, Room};

use super::dialect::Pipelined;
use super::prepared_once::PreparedOnce;
use super::schema::memberships;
use super::validity::membership_is_live;

diesel::define_sql_function! {
    /// The later timestamp; nulls are ignored.
    fn greatest(one: Nullable<Timestamptz>, other: Nullable<Timestamptz>) -> Nullable<Timestamptz>;
}
diesel::define_sql_function! {
    /// The earlier timestamp; nulls are ignored.
    fn least(one: Nullable<Timestamptz>, other: Nullable<Timestamptz>) -> Nullable<Timestamptz>;
}

/// In one statement, counts a change of a live consumer and locks the consumer, if the rate limit allows it;
/// otherwise locks nothing. Returns whether the change was counted.
pub(super) async fn count_change(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    changes: Rate,
    at: DateTime<Utc>,
) -> QueryResult<bool> {
    let Room { latest, beyond } = changes.room(at);
    let interval = changes.interval();
    let empty_at = memberships::changes_empty_at;
    // The same rule as `Rate::admit`. The statement waits for a concurrent change and then re-evaluates its
    // conditions.
    let count = diesel::update(memberships::table)
        .filter(memberships::id.eq(consumer.as_uuid()))
        .filter(membership_is_live(at.into()))
        .filter(empty_at.is_null().or(empty_at.le(latest)).or(empty_at.gt(beyond)))
        .set(empty_at.eq(least(greatest(empty_at, at) + interval, latest + interval)));
    let counted = PreparedOnce(count).execute(&mut connection).await?;
    Ok(counted == 1)
}

//! The audit log in commit order.
//!
//! A transaction draws numbers when it writes events, and others see them when it commits: a lower number may
//! become visible after a higher one. So each transaction, before its first number, announces a number below
//! all of its own by an advisory lock that it holds until it ends (see the trigger `audit_events_announced`).
//! A reader stops at the lowest announced number. Neither side waits for the other.
//!
//! - A transaction whose numbers are not above `last`, the highest that the first statement sees, announced
//!   them before `last` was taken, and so before that statement began. If it has not ended by then, its lock
//!   is found.
//! - A transaction that has ended before the locks are looked at is seen by the second statement, which
//!   begins later: PostgreSQL releases locks after others can see what was committed.

use std::convert::Infallible;

use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryableByName, SelectableHelper};
use diesel::sql_types::{Array, BigInt, Nullable, Text, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::AuditEventId;
use keyward_domain::page::PageSize;
use keyward_domain::ports::{FeedPage, FeedPosition, ReadFeedError};
use uuid::Uuid;

use crate::abort::Abort;
use crate::feed::{LogState, REMOVED_THROUGH, log_id, page};
use crate::limit::at_most;
use crate::postgres::events::EventRow;
use crate::postgres::schema::audit_events;

pub(in crate::postgres) async fn events_after(
    connection: &mut AsyncPgConnection,
    after: Option<FeedPosition>,
    size: PageSize,
) -> Result<Result<FeedPage, ReadFeedError>, Abort<Infallible>> {
    let (mut log, settled) = look(connection, after).await?;
    let number = match log.number_of(after) {
        Ok(number) => number,
        Err(unknown) => return Ok(Err(unknown)),
    };
    let mut rows: Vec<(i64, EventRow, i64)> = Vec::new();
    if number < settled {
        rows = audit_events::table
            .filter(audit_events::position.gt(number))
            .filter(audit_events::position.le(settled))
            .order(audit_events::position)
            .limit(at_most(size.items()))
            .select((
                audit_events::position,
                EventRow::as_select(),
                sql::<BigInt>(REMOVED_THROUGH),
            ))
            .load(connection)
            .await?;
    }
    log.removed_through = rows.as_slice().first().map_or(log.removed_through, |row| row.2);
    let events = rows.into_iter().map(|(number, row, _)| (number, row.try_into()));
    Ok(Ok(page(&log, number, events)?))
}

pub(in crate::postgres) async fn last_position(
    connection: &mut AsyncPgConnection,
) -> Result<Option<FeedPosition>, Abort<Infallible>> {
    let (log, settled) = look(connection, None).await?;
    let rows: Vec<(i64, Uuid)> = audit_events::table
        .filter(audit_events::position.le(settled))
        .order(audit_events::position.desc())
        .limit(1)
        .select((audit_events::position, audit_events::id))
        .load(connection)
        .await?;
    let last = rows.into_iter().next();
    Ok(last.map(|(number, id)| log.position(number, AuditEventId::from_uuid(id))))
}

#[derive(QueryableByName)]
struct Look {
    #[diesel(sql_type = Text)]
    log_id: String,
    #[diesel(sql_type = BigInt)]
    removed_through: i64,
    #[diesel(sql_type = BigInt)]
    last: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    found: Option<i64>,
    #[diesel(sql_type = Array<BigInt>)]
    announced: Vec<i64>,
}

/// The state of the log, and the number up to which no further event can appear.
async fn look(
    connection: &mut AsyncPgConnection,
    after: Option<FeedPosition>,
) -> Result<(LogState, i64), Abort<Infallible>> {
    let look: Look = diesel::sql_query(
        "SELECT log_id, removed_through,
             (SELECT coalesce(max(position), 0) FROM audit_events) AS last,
             (SELECT position FROM audit_events WHERE id = $1) AS found,
             ARRAY(
                 SELECT objid::bigint FROM pg_locks
                 WHERE locktype = 'advisory' AND classid = 1635083369 AND objsubid = 2
                     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
             ) AS announced
         FROM audit_feed",
    )
    .bind::<Nullable<SqlUuid>, _>(after.map(|position| position.event.as_uuid()))
    .get_result(connection)
    .await?;
    let log = LogState {
        log: log_id(&look.log_id)?,
        removed_through: look.removed_through,
        found: look.found,
    };
    Ok((log, settled(look.last, &look.announced)))
}

/// The lowest of `last` and the announced numbers.
fn settled(last: i64, announced: &[i64]) -> i64 {
    let announced = announced.iter().map(|lower_bits| near(last, *lower_bits));
    announced.fold(last, i64::min)
}

/// The number with these lower 31 bits that is nearest to `last`: a transaction that began after `last` was
/// taken may have announced a higher one.
fn near(last: i64, lower_bits: i64) -> i64 {
    const MODULO: i64 = 1 << 31;
    let ahead = (lower_bits - last).rem_euclid(MODULO);
    if ahead < MODULO / 2 {
        last + ahead
    } else {
        last + ahead - MODULO
    }
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn no_announcement_means_all_numbers_are_settled() {
        assert_eq!(settled(7, &[]), 7);
    }

    #[test]
    fn lowest_announced_number_bounds_the_settled_ones() {
        assert_eq!(settled(7, &[7, 3, 5]), 3);
        assert_eq!(settled(7, &[0]), 0);
        assert_eq!(settled(7, &[9]), 7);
    }

    #[test]
    fn announced_numbers_are_restored_from_their_lower_bits() {
        let turn = 1_i64 << 31;
        assert_eq!(settled(turn + 2, &[turn - 1]), turn - 1);
        assert_eq!(settled(turn - 1, &[2]), turn - 1);
        assert_eq!(settled(5 * turn + 2, &[1]), 5 * turn + 1);
        assert_eq!(settled(5 * turn + 2, &[turn - 3]), 5 * turn - 3);
    }
}

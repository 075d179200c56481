//! The audit log in commit order. Changes are serialized, so numbers become visible in order.

use std::convert::Infallible;

use diesel::dsl::{max, sql};
use diesel::prelude::{
    ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl,
    SelectableHelper, SqliteConnection,
};
use diesel::sql_types::BigInt;
use keyward_domain::id::AuditEventId;
use keyward_domain::page::PageSize;
use keyward_domain::ports::{FeedPage, FeedPosition, ReadFeedError};

use crate::abort::Abort;
use crate::columns::StoredId;
use crate::feed::{LogState, REMOVED_THROUGH, log_id, page};
use crate::limit::at_most;
use crate::sqlite::events::EventRow;
use crate::sqlite::schema::{audit_events, audit_feed, audit_positions};

pub(in crate::sqlite) async fn events_after(
    connection: &mut SqliteConnection,
    after: Option<FeedPosition>,
    size: PageSize,
) -> Result<Result<FeedPage, ReadFeedError>, Abort<Infallible>> {
    let mut log = look(connection, after)?;
    let number = match log.number_of(after) {
        Ok(number) => number,
        Err(unknown) => return Ok(Err(unknown)),
    };
    let rows: Vec<(i64, EventRow, i64)> = audit_positions::table
        .inner_join(audit_events::table.on(audit_events::id.eq(audit_positions::event_id)))
        .filter(audit_positions::position.gt(number))
        .order(audit_positions::position)
        .limit(at_most(size.items()))
        .select((
            audit_positions::position,
            EventRow::as_select(),
            sql::<BigInt>(REMOVED_THROUGH),
        ))
        .load(connection)?;
    log.removed_through = rows.as_slice().first().map_or(log.removed_through, |row| row.2);
    let events = rows.into_iter().map(|(number, row, _)| (number, row.try_into()));
    Ok(Ok(page(&log, number, events)?))
}

pub(in crate::sqlite) async fn last_position(
    connection: &mut SqliteConnection,
) -> Result<Option<FeedPosition>, Abort<Infallible>> {
    let log = look(connection, None)?;
    let all = diesel::alias!(audit_positions as all_positions);
    let highest = all.select(max(all.field(audit_positions::position)));
    let last: Option<(i64, StoredId)> = audit_positions::table
        .filter(audit_positions::position.nullable().eq(highest.single_value()))
        .select((audit_positions::position, audit_positions::event_id))
        .get_result(connection)
        .optional()?;
    Ok(last.map(|(number, id)| log.position(number, AuditEventId::from_uuid(id.0))))
}

fn look(
    connection: &mut SqliteConnection,
    after: Option<FeedPosition>,
) -> Result<LogState, Abort<Infallible>> {
    // Read before `removed_through`: an event that is removed in between was either found, or counts as
    // removed.
    let found = match after {
        None => None,
        Some(position) => audit_positions::table
            .filter(audit_positions::event_id.eq(StoredId(position.event.as_uuid())))
            .select(audit_positions::position)
            .get_result(connection)
            .optional()?,
    };
    let (stored_log_id, removed_through): (String, i64) = audit_feed::table
        .select((audit_feed::log_id, audit_feed::removed_through))
        .get_result(connection)?;
    Ok(LogState {
        log: log_id(&stored_log_id)?,
        removed_through,
        found,
    })
}

//! Purging on SQLite: the triggers that protect audit events. A change holds the write lock, so nothing else
//! is locked.

use chrono::{DateTime, Utc};
use diesel::connection::DefaultLoadingMode;
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult};
use diesel::sql_types::Bool;
use uuid::Uuid;

use super::dialect::{Connection, RunQueryDsl};
use super::schema::{api_keys, audit_events_removal};
use crate::columns::{StoredId, StoredMoment};
use crate::retention::{AdvisoryLock, KeyOf};

pub(super) async fn try_lock(_: &mut Connection, _: AdvisoryLock) -> QueryResult<bool> {
    Ok(true)
}

pub(super) async fn lock(_: &mut Connection, _: AdvisoryLock) -> QueryResult<()> {
    Ok(())
}

/// Does nothing: a change holds SQLite's write lock.
pub(super) async fn lock_membership(_: &mut Connection, _: Uuid) -> QueryResult<bool> {
    Ok(true)
}

/// SQLite uses this machine's clock, so there is no second clock to compare with.
pub(super) async fn clock_of_database(_: &mut Connection) -> QueryResult<Option<DateTime<Utc>>> {
    Ok(None)
}

pub(super) async fn may_remove_events(_: &mut Connection) -> QueryResult<bool> {
    Ok(true)
}

pub(super) fn is_past_trigger_retention() -> SqlLiteral<Bool> {
    sql("occurred_at < (unixepoch('now') - 30 * 86400) * 1000")
}

/// While this row exists, the trigger allows deletion of events from before its time; no other transaction
/// ever sees the row.
pub(super) async fn allow_event_removal(
    connection: &mut Connection,
    before: DateTime<Utc>,
) -> QueryResult<()> {
    diesel::insert_into(audit_events_removal::table)
        .values(audit_events_removal::removable_before.eq(StoredMoment::from(before)))
        .execute(connection)
        .await
        .map(drop)
}

pub(super) async fn forbid_event_removal(connection: &mut Connection) -> QueryResult<()> {
    diesel::delete(audit_events_removal::table)
        .execute(connection)
        .await
        .map(drop)
}

/// Up to `at_most` never-revoked keys of these consumers, grouped by consumer. One query per consumer, until
/// there are enough: in a single statement, SQLite would sort the keys of all of them. A bound LIMIT would
/// make SQLite compile the statement again for each consumer, so surplus rows are left unread instead.
pub(super) async fn never_revoked_keys(
    connection: &mut Connection,
    consumers: &[Uuid],
    at_most: u32,
) -> QueryResult<Vec<KeyOf>> {
    let mut found = Vec::new();
    for consumer in consumers {
        let missing = (at_most as usize).saturating_sub(found.len());
        if missing == 0 {
            break;
        }
        let keys = api_keys::table
            .filter(api_keys::consumer_id.eq(StoredId(*consumer)))
            .filter(api_keys::end_came_at.is_null())
            .order(api_keys::id.desc())
            .select((
                api_keys::id,
                api_keys::adoptive_parent_key_id,
                api_keys::created_by_key_id,
            ));
        let keys = diesel::RunQueryDsl::load_iter::<_, DefaultLoadingMode>(keys, connection)?;
        for key in keys.take(missing) {
            let (id, adoptive_parent_id, created_by): (StoredId, Option<StoredId>, Option<StoredId>) = key?;
            found.push(KeyOf {
                consumer: *consumer,
                below: (id.0, adoptive_parent_id.or(created_by).map(|above| above.0)),
            });
        }
    }
    Ok(found)
}

/// Sets each key's adoptive parent.
pub(super) async fn set_adoptive_parents(
    connection: &mut Connection,
    new_parents: Vec<(Uuid, Uuid)>,
) -> QueryResult<()> {
    for (key, above) in new_parents {
        diesel::update(api_keys::table.find(StoredId(key)))
            .set(api_keys::adoptive_parent_key_id.eq(StoredId(above)))
            .execute(connection)
            .await?;
    }
    Ok(())
}

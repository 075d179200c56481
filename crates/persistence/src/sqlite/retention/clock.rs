//! Looking at the clock, with what the database knows of how late it is.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::ports::StorageError;
use keyward_domain::retention::{ClockDoubt, ClockWitnesses};

use crate::abort::Abort;
use crate::sqlite::columns::moment;
use crate::sqlite::schema::{audit_events, retention_clock};

pub(super) fn look(
    connection: &mut SqliteConnection,
    now: DateTime<Utc>,
    is_confirmed: bool,
) -> Result<Option<ClockDoubt>, Abort<StorageError>> {
    let believed_at: Option<i64> = retention_clock::table
        .select(retention_clock::believed_at)
        .get_result(connection)
        .optional()?;
    let newest_event: Option<i64> = audit_events::table
        .order(audit_events::id.desc())
        .select(audit_events::occurred_at)
        // Without LIMIT, which `first` binds, and which SQLite would compile the question again for. Only one row is read.
        .get_result(connection)
        .optional()?;
    let witnesses = ClockWitnesses {
        // SQLite has no clock but that of this machine.
        database: None,
        // What cannot be read says nothing, and is written anew.
        believed_at: believed_at.and_then(|at| moment(at).ok()),
        newest_event: newest_event.and_then(|at| moment(at).ok()),
    };
    if let Err(doubt) = witnesses.look(now, is_confirmed) {
        return Ok(Some(doubt));
    }
    let now = now.timestamp_millis();
    diesel::insert_into(retention_clock::table)
        .values((
            retention_clock::only_row.eq(1_i64),
            retention_clock::believed_at.eq(now),
        ))
        .on_conflict(retention_clock::only_row)
        .do_update()
        .set(retention_clock::believed_at.eq(now))
        .execute(connection)?;
    Ok(None)
}

//! Looking at the clock, with what the database knows of how late it is.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::ports::StorageError;
use keyward_domain::retention::{ClockDoubt, ClockRecord, ClockWitnesses};

use crate::abort::Abort;
use crate::sqlite::columns::moment;
use crate::sqlite::schema::{audit_events, retention_clock};

pub(super) fn look(
    connection: &mut SqliteConnection,
    now: DateTime<Utc>,
) -> Result<Option<ClockDoubt>, Abort<StorageError>> {
    let record: Option<(i64, Option<i64>)> = retention_clock::table
        .select((retention_clock::believed_at, retention_clock::leapt_to))
        .get_result(connection)
        .optional()?;
    let newest_event: Option<i64> = audit_events::table
        .order(audit_events::id.desc())
        .select(audit_events::occurred_at)
        // Without LIMIT, which `first` binds, and which SQLite would compile the question again for. Only one row is read.
        .get_result(connection)
        .optional()?;
    let look = ClockWitnesses {
        // SQLite has no clock but that of this machine.
        database: None,
        // What cannot be read says nothing, and is written anew.
        record: record.and_then(|(believed_at, leapt_to)| {
            Some(ClockRecord {
                believed_at: moment(believed_at).ok()?,
                leapt_to: leapt_to.and_then(|leapt_to| moment(leapt_to).ok()),
            })
        }),
        newest_event: newest_event.and_then(|at| moment(at).ok()),
    }
    .look(now);
    if let Some(record) = look.record {
        let columns = || {
            (
                retention_clock::believed_at.eq(record.believed_at.timestamp_millis()),
                retention_clock::leapt_to.eq(record.leapt_to.map(|leapt_to| leapt_to.timestamp_millis())),
            )
        };
        diesel::insert_into(retention_clock::table)
            .values((retention_clock::only_row.eq(1_i64), columns()))
            .on_conflict(retention_clock::only_row)
            .do_update()
            .set(columns())
            .execute(connection)?;
    }
    Ok(look.doubt)
}

//! Looking at the clock, with what the database knows of how late it is.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl, SqliteConnection};
use keyward_domain::ports::StorageError;
use keyward_domain::retention::{ClockDoubt, ClockWitnesses};

use crate::abort::Abort;
use crate::columns::moment;
use crate::sqlite::schema::retention_clock;

pub(in crate::sqlite) async fn look(
    connection: &mut SqliteConnection,
    now: DateTime<Utc>,
    is_confirmed: bool,
) -> Result<Option<ClockDoubt>, Abort<StorageError>> {
    let believed_at: Option<i64> = retention_clock::table
        .select(retention_clock::believed_at)
        .get_result(connection)
        .optional()?;
    let witnesses = ClockWitnesses {
        // SQLite has no clock but that of this machine.
        database: None,
        // Without the row, or with what cannot be read, no clock is believed, until somebody says that it is right.
        believed_at: believed_at.and_then(|at| moment(at).ok()).unwrap_or_default(),
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
